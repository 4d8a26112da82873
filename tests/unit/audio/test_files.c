// test_files.c: reading audio files: rates, channels, and files that lie.
//
// in:  tests/golden/audio and files made here
// out: cmocka's report
#include "audio/files.h"
#include "audio/resample.h"
#include "audio/wav_writer.h"
#include "audio_test.h"

#define LAMP "tests/golden/audio/turn_on_the_living_room_lamp.wav"
#define LAMP_16K "tests/golden/audio/turn_on_the_living_room_lamp_16k.wav"

typedef struct wav_claims {
    uint16_t format; // 1: PCM, 3: float
    uint16_t channels;
    uint32_t rate_hz;
    uint16_t bits;
    uint32_t data_bytes; // what the header says
} wav_claims;

// A wav with the given header over `count` bytes of content; returns its size.
static size_t make_wav(const wav_claims *claims, const void *content, size_t count,
                       uint8_t *out_bytes) {
    const uint32_t frame = claims->channels * claims->bits / 8u;
    const uint32_t riff = claims->data_bytes + 36, sixteen = 16, rate = claims->rate_hz * frame;
    memcpy(out_bytes, "RIFF", 4);
    memcpy(out_bytes + 4, &riff, 4);
    memcpy(out_bytes + 8, "WAVEfmt ", 8);
    memcpy(out_bytes + 16, &sixteen, 4);
    memcpy(out_bytes + 20, &claims->format, 2);
    memcpy(out_bytes + 22, &claims->channels, 2);
    memcpy(out_bytes + 24, &claims->rate_hz, 4);
    memcpy(out_bytes + 28, &rate, 4);
    memcpy(out_bytes + 32, &frame, 2);
    memcpy(out_bytes + 34, &claims->bits, 2);
    memcpy(out_bytes + 36, "data", 4);
    memcpy(out_bytes + 40, &claims->data_bytes, 4);
    if (count > 0) {
        memcpy(out_bytes + 44, content, count);
    }
    return count + 44;
}

static kazeia_status read_bytes(const void *bytes, size_t count, kz_samples *out_samples,
                                kz_audio_source *out_source) {
    char path[256];
    make_test_path("sound.wav", path, sizeof path);
    write_test_file(path, bytes, count);
    counting_memory memory = {0};
    const kazeia_allocator allocator = counting_allocator(&memory);
    const kazeia_status status =
        kz_audio_read_file(path, 16000, &allocator, out_samples, out_source);
    assert_int_equal(memory.live_count, status == KAZEIA_OK ? 1 : 0);
    remove_test_file(path);
    return status;
}

// libsoxr in two versions, and rounding to 16 bit on the golden's side: one step and a half.
static void stereo_44100_matches_the_golden(void **state) {
    (void)state;
    kz_samples samples, golden;
    kz_audio_source source;
    assert_int_equal(kz_audio_read_file(LAMP, 16000, NULL, &samples, &source), KAZEIA_OK);
    assert_int_equal(kz_audio_read_file(LAMP_16K, 16000, NULL, &golden, NULL), KAZEIA_OK);
    assert_int_equal(source.sample_rate_hz, 44100);
    assert_int_equal(source.channel_count, 2);
    assert_int_equal(source.silenced_count, 0);
    assert_int_equal(samples.sample_rate_hz, 16000);
    assert_int_equal(samples.count, golden.count);
    float largest = 0.0f;
    for (size_t i = 0; i < samples.count; i++) {
        largest = fmaxf(largest, fabsf(samples.samples[i] - golden.samples[i]));
    }
    print_message("resampler: largest difference %.2f of a 16-bit step\n",
                  (double)largest * 32768.0);
    assert_true(largest <= 1.5f / 32768.0f);
    kz_samples_clear(&samples, NULL);
    kz_samples_clear(&golden, NULL);
}

// A 1 kHz tone, at every rate that microphones have, stays the same tone in the same place.
// Of a file with another rate, and of one with the wanted rate.
static void pieces_are_the_whole(void **state) {
    (void)state;
    static const char *const paths[] = {LAMP, LAMP_16K};
    static const size_t pieces[] = {1, 77, 1000};
    for (size_t i = 0; i < 6; i++) {
        kz_samples whole = {0};
        kz_audio_reader *reader = NULL;
        float piece[1000];
        size_t at = 0, count = 1;
        const size_t capacity = pieces[i / 2];
        assert_int_equal(kz_audio_read_file(paths[i % 2], 16000, NULL, &whole, NULL), KAZEIA_OK);
        assert_int_equal(kz_audio_reader_open(paths[i % 2], 16000, 0, NULL, &reader), KAZEIA_OK);
        // A claim is a hint: the resampler may round its last sample up.
        assert_in_range(whole.count, kz_audio_reader_claim(reader),
                        kz_audio_reader_claim(reader) + 1);
        while (count > 0) {
            assert_int_equal(kz_audio_reader_next(reader, piece, capacity, &count), KAZEIA_OK);
            assert_true(at + count <= whole.count);
            assert_memory_equal(piece, whole.samples + at, count * sizeof *piece);
            at += count;
        }
        assert_int_equal(at, whole.count);
        kz_audio_reader_close(reader);
        kz_samples_clear(&whole, NULL);
    }
}

static void resampling_keeps_a_tone(void **state) {
    (void)state;
    const uint32_t rates[] = {8000, 11025, 22050, 24000, 32000, 48000, 96000};
    static float tone[96000];
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (size_t i = 0; i < rates[r]; i++) {
            tone[i] = 0.5f * (float)sin(6283.185307179586 * (double)i / rates[r]);
        }
        kz_resampler *resampler;
        assert_int_equal(kz_resampler_create(rates[r], 16000, NULL, &resampler), KAZEIA_OK);
        static float out[16100];
        size_t count = 0, fed = 0, given = 1;
        while (fed < rates[r] || given > 0) {
            const size_t left = rates[r] - fed;
            const bool is_ended = left == 0;
            size_t taken;
            assert_int_equal(kz_resampler_run(resampler, is_ended ? NULL : tone + fed,
                                              left < 777 ? left : 777, &taken, out + count, 100,
                                              &given),
                             KAZEIA_OK);
            fed += is_ended ? 0 : taken;
            count += given;
            given += !is_ended; // the end is asked for at least once
        }
        assert_int_equal(count, 16000);
        for (size_t i = 1000; i < 15000; i++) {
            assert_float_equal(out[i], 0.5 * sin(6283.185307179586 * (double)i / 16000.0), 2e-5);
        }
        kz_resampler_destroy(resampler);
    }
    kz_resampler *resampler;
    assert_int_equal(kz_resampler_create(999, 16000, NULL, &resampler), KAZEIA_UNSUPPORTED);
    assert_int_equal(kz_resampler_create(16000, 4000000, NULL, &resampler), KAZEIA_UNSUPPORTED);
}

static void channels_are_averaged(void **state) {
    (void)state;
    const int16_t content[] = {300, 600, -900, 32767, 32767, 32767};
    uint8_t bytes[128];
    const wav_claims claims = {1, 3, 16000, 16, sizeof content};
    const size_t count = make_wav(&claims, content, sizeof content, bytes);
    kz_samples samples;
    assert_int_equal(read_bytes(bytes, count, &samples, NULL), KAZEIA_OK);
    assert_int_equal(samples.count, 2);
    assert_float_equal(samples.samples[0], 0.0f, 1e-7);
    assert_float_equal(samples.samples[1], 32767.0f / 32768.0f, 1e-6);
    free(samples.samples);
}

static void damaged_values_become_silence(void **state) {
    (void)state;
    const float content[] = {0.5f, NAN, INFINITY, -INFINITY, 1.0e30f, -2.0f};
    uint8_t bytes[128];
    const wav_claims claims = {3, 1, 16000, 32, sizeof content};
    const size_t count = make_wav(&claims, content, sizeof content, bytes);
    kz_samples samples;
    kz_audio_source source;
    assert_int_equal(read_bytes(bytes, count, &samples, &source), KAZEIA_OK);
    const float expected[] = {0.5f, 0.0f, 0.0f, 0.0f, 0.0f, -2.0f};
    assert_int_equal(samples.count, 6);
    assert_memory_equal(samples.samples, expected, sizeof expected);
    assert_int_equal(source.silenced_count, 4);
    free(samples.samples);
}

static void no_samples_is_fine(void **state) {
    (void)state;
    uint8_t bytes[64];
    kz_samples samples;
    const wav_claims claims = {1, 1, 16000, 16, 0};
    assert_int_equal(read_bytes(bytes, make_wav(&claims, NULL, 0, bytes), &samples, NULL),
                     KAZEIA_OK);
    assert_int_equal(samples.count, 0);
    assert_non_null(samples.samples);
    free(samples.samples);
    const wav_claims other_rate = {1, 2, 44100, 16, 0};
    assert_int_equal(read_bytes(bytes, make_wav(&other_rate, NULL, 0, bytes), &samples, NULL),
                     KAZEIA_OK);
    assert_int_equal(samples.count, 0);
    free(samples.samples);
}

static void what_is_no_audio_is_named(void **state) {
    (void)state;
    kz_samples samples;
    assert_int_equal(kz_audio_read_file("tests/no such file.wav", 16000, NULL, &samples, NULL),
                     KAZEIA_NOT_FOUND);
    assert_sentence_has("tests/no such file.wav");
    assert_int_equal(kz_audio_read_file("tests", 16000, NULL, &samples, NULL), KAZEIA_BAD_ARGUMENT);
    assert_sentence_has("it is a folder");
    assert_int_equal(kz_audio_read_file(LAMP, 0, NULL, &samples, NULL), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(read_bytes("", 0, &samples, NULL), KAZEIA_BAD_FILE);
    assert_sentence_has("0 bytes");
    assert_int_equal(read_bytes("This is no sound at all.", 24, &samples, NULL), KAZEIA_BAD_FILE);
    assert_sentence_has("sound.wav");
}

// Headers that claim what is not there: refused, or read as far as the bytes go.
static void lying_headers_are_survived(void **state) {
    (void)state;
    const int16_t content[4] = {1, 2, 3, 4};
    uint8_t bytes[128];
    kz_samples samples;
    const wav_claims too_long = {1, 1, 16000, 16, 0xfffffff0u};
    size_t count = make_wav(&too_long, content, sizeof content, bytes);
    assert_int_equal(read_bytes(bytes, count, &samples, NULL), KAZEIA_OK);
    assert_int_equal(samples.count, 4);
    free(samples.samples);
    const wav_claims too_fast = {1, 1, 2000000000u, 16, 8};
    count = make_wav(&too_fast, content, sizeof content, bytes);
    assert_int_equal(read_bytes(bytes, count, &samples, NULL), KAZEIA_UNSUPPORTED);
    assert_sentence_has("2000000000 Hz");
    const wav_claims too_slow = {1, 1, 1, 16, 8};
    count = make_wav(&too_slow, content, sizeof content, bytes);
    assert_int_equal(read_bytes(bytes, count, &samples, NULL), KAZEIA_UNSUPPORTED);
    const wav_claims too_wide = {1, 1000, 16000, 16, 8};
    count = make_wav(&too_wide, content, sizeof content, bytes);
    assert_int_not_equal(read_bytes(bytes, count, &samples, NULL), KAZEIA_OK);
    const wav_claims no_channel = {1, 0, 16000, 16, 8};
    count = make_wav(&no_channel, content, sizeof content, bytes);
    assert_int_not_equal(read_bytes(bytes, count, &samples, NULL), KAZEIA_OK);
    const wav_claims plain = {1, 1, 16000, 16, 8};
    count = make_wav(&plain, content, sizeof content, bytes);
    for (size_t cut = 0; cut < count; cut++) {
        if (read_bytes(bytes, cut, &samples, NULL) == KAZEIA_OK) {
            assert_true(samples.count <= 4);
            free(samples.samples);
        }
    }
}

// A FLAC header holds 36 bits of length: this one claims 2^36 - 1 frames, 49 days.
static void absurd_lengths_allocate_nothing(void **state) {
    (void)state;
    uint8_t bytes[42 + 64] = {'f', 'L', 'a', 'C', 0x80, 0, 0, 34};
    bytes[8] = bytes[10] = 0x10;       // blocks of 4096 samples
    bytes[18] = 16000 >> 12;           // 20 bits of rate,
    bytes[19] = (uint8_t)(16000 >> 4); // then 3 of channels less 1,
    bytes[20] = (uint8_t)(16000 << 4); // 5 of bits a sample less 1,
    bytes[21] = 0xff;                  // 36 of length
    memset(bytes + 22, 0xff, 4);
    kz_samples samples;
    assert_int_equal(read_bytes(bytes, sizeof bytes, &samples, NULL), KAZEIA_BAD_FILE);
    assert_sentence_has("claims 68719476735 frames at 16000 Hz");
}

static void mutated_files_never_crash(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_test_file(LAMP_16K, &size);
    uint32_t random = 7;
    const size_t kept = 4096;
    for (int round = 0; round < 300; round++) {
        uint8_t mutated[4096];
        memcpy(mutated, bytes, kept);
        for (int flip = 0; flip < 4; flip++) {
            random = random * 1664525u + 1013904223u;
            mutated[(random >> 8) % 64] ^= (uint8_t)(1u << (random >> 29));
        }
        kz_samples samples;
        if (read_bytes(mutated, kept, &samples, NULL) == KAZEIA_OK) {
            for (size_t i = 0; i < samples.count; i++) {
                assert_true(isfinite(samples.samples[i]));
            }
            free(samples.samples);
        }
    }
    free(bytes);
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    counting_memory memory = {0};
    const kazeia_allocator allocator = counting_allocator(&memory);
    kz_samples samples;
    assert_int_equal(kz_audio_read_file(LAMP, 16000, &allocator, &samples, NULL), KAZEIA_OK);
    kz_samples_clear(&samples, &allocator);
    const size_t total = memory.allocation_count;
    assert_int_equal(memory.live_count, 0);
    for (size_t failing = 1; failing <= total; failing++) {
        memory = (counting_memory){.failing_allocation = failing};
        assert_int_equal(kz_audio_read_file(LAMP, 16000, &allocator, &samples, NULL),
                         KAZEIA_OUT_OF_MEMORY);
        assert_int_equal(memory.live_count, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stereo_44100_matches_the_golden),
        cmocka_unit_test(pieces_are_the_whole),
        cmocka_unit_test(resampling_keeps_a_tone),
        cmocka_unit_test(channels_are_averaged),
        cmocka_unit_test(damaged_values_become_silence),
        cmocka_unit_test(no_samples_is_fine),
        cmocka_unit_test(what_is_no_audio_is_named),
        cmocka_unit_test(lying_headers_are_survived),
        cmocka_unit_test(absurd_lengths_allocate_nothing),
        cmocka_unit_test(mutated_files_never_crash),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
