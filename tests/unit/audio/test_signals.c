// test_signals.c: the ring, the quiet cut and the wav writer.
//
// in:  samples made here
// out: cmocka's report
#include "audio/cut.h"
#include "audio/ring.h"
#include "audio/wav_writer.h"
#include "audio_test.h"
#include "base/thread.h"

static void ring_keeps_order_around_its_end(void **state) {
    (void)state;
    counting_memory memory = {0};
    const kazeia_allocator allocator = counting_allocator(&memory);
    kz_ring *ring;
    assert_int_equal(kz_ring_create(5, &allocator, &ring), KAZEIA_OK);
    const size_t after_create = memory.allocation_count;
    assert_int_equal(kz_ring_capacity(ring), 8);
    const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    float out[10];
    assert_int_equal(kz_ring_take(ring, out, 10), 0);
    assert_int_equal(kz_ring_feed(ring, numbers, 6), 6);
    assert_int_equal(kz_ring_take(ring, out, 4), 4);
    assert_int_equal(kz_ring_feed(ring, numbers, 10), 6); // only 6 fit
    assert_int_equal(kz_ring_count(ring), 8);
    assert_int_equal(kz_ring_feed(ring, numbers, 1), 0);
    assert_int_equal(kz_ring_take(ring, out, 10), 8);
    const float expected[] = {5, 6, 1, 2, 3, 4, 5, 6};
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(kz_ring_feed(ring, numbers, 3), 3);
    kz_ring_drop_all(ring);
    assert_int_equal(kz_ring_count(ring), 0);
    assert_int_equal(memory.allocation_count, after_create);
    kz_ring_destroy(ring);
    assert_int_equal(memory.live_count, 0);
    assert_int_equal(kz_ring_create(0, NULL, &ring), KAZEIA_BAD_ARGUMENT);
    assert_int_equal(kz_ring_create(SIZE_MAX, NULL, &ring), KAZEIA_BAD_ARGUMENT);
    for (size_t failing = 1; failing <= after_create; failing++) {
        memory = (counting_memory){.failing_allocation = failing};
        assert_int_equal(kz_ring_create(5, &allocator, &ring), KAZEIA_OUT_OF_MEMORY);
        assert_int_equal(memory.live_count, 0);
    }
}

#define SENT_COUNT 1000000u

// Feeds 0, 1, 2, ... in pieces of changing size. Values stay exact in a float.
static void feed_numbers(void *context) {
    kz_ring *ring = context;
    float piece[97];
    size_t sent = 0;
    while (sent < SENT_COUNT) {
        const size_t wanted = 1 + sent % 97;
        const size_t count = wanted < SENT_COUNT - sent ? wanted : SENT_COUNT - sent;
        for (size_t i = 0; i < count; i++) {
            piece[i] = (float)(sent + i);
        }
        const size_t taken = kz_ring_feed(ring, piece, count);
        sent += taken;
        if (taken == 0) {
            kz_thread_pause();
        }
    }
}

static void ring_joins_two_threads(void **state) {
    (void)state;
    kz_ring *ring;
    assert_int_equal(kz_ring_create(256, NULL, &ring), KAZEIA_OK);
    kz_thread feeder = {0};
    assert_int_equal(kz_thread_start(&feeder, feed_numbers, ring), KAZEIA_OK);
    size_t received = 0;
    size_t wrong = 0;
    float piece[61];
    while (received < SENT_COUNT) {
        const size_t count = kz_ring_take(ring, piece, 1 + received % 61);
        for (size_t i = 0; i < count; i++) {
            wrong += piece[i] != (float)(received + i);
        }
        received += count;
        wrong += kz_ring_count(ring) > kz_ring_capacity(ring);
    }
    kz_thread_join(&feeder);
    assert_int_equal(wrong, 0);
    assert_int_equal(kz_ring_count(ring), 0);
    kz_ring_destroy(ring);
}

static void cut_falls_into_the_pause(void **state) {
    (void)state;
    const uint32_t rate_hz = 16000;
    const size_t count = (size_t)40 * rate_hz;
    float *samples = malloc(count * sizeof(float));
    assert_non_null(samples);
    for (size_t i = 0; i < count; i++) {
        samples[i] = i % 2 ? 0.3f : -0.3f;
    }
    const size_t pause = (size_t)(27.3 * rate_hz);
    for (size_t i = 0; i < rate_hz / 5; i++) { // 0.2 s, a little noise in it
        samples[pause + i] *= 0.01f;
    }
    for (size_t i = 0; i < 40; i++) { // very short, hence no pause
        samples[(size_t)29 * rate_hz + i] = 0.0f;
    }
    memset(samples + (size_t)20 * rate_hz, 0, rate_hz * sizeof(float)); // before the search range
    const kz_cut_rule rule = kz_cut_rule_whisper(rate_hz);
    const size_t cut = kz_audio_find_quiet_cut(samples, count, &rule);
    assert_in_range(cut, pause + rate_hz / 10 - rate_hz / 50, pause + rate_hz / 10 + rate_hz / 50);
    // What fits is not cut.
    assert_int_equal(kz_audio_find_quiet_cut(samples, rule.window_count, &rule), rule.window_count);
    assert_int_equal(kz_audio_find_quiet_cut(samples, 0, &rule), 0);
    free(samples);
}

static void cut_of_equal_sound_is_late(void **state) {
    (void)state;
    float samples[2000] = {0};
    const kz_cut_rule rule = {.window_count = 1000, .search_count = 200, .quiet_count = 20};
    assert_int_equal(kz_audio_find_quiet_cut(samples, 2000, &rule), 990);
    samples[995] = 0.1f;
    assert_in_range(kz_audio_find_quiet_cut(samples, 2000, &rule), 980, 985);
    samples[985] = NAN; // silence, not poison
    assert_in_range(kz_audio_find_quiet_cut(samples, 2000, &rule), 980, 985);
    for (size_t i = 800; i < 2000; i++) {
        samples[i] = 1.0f - (float)(i < 830);
    }
    assert_in_range(kz_audio_find_quiet_cut(samples, 2000, &rule), 808, 822);
}

static uint32_t u32_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void wav_holds_what_was_written(void **state) {
    (void)state;
    char path[256];
    make_test_path("out.wav", path, sizeof path);
    kz_wav_writer *writer;
    assert_int_equal(kz_wav_writer_create(path, 22050, NULL, &writer), KAZEIA_OK);
    const float first[] = {0.0f, 1.0f / 32768.0f, -0.5f, 0.99999f, 1.0f, 7.0f};
    const float second[] = {-1.0f, -9.0f, NAN, INFINITY, -INFINITY, 0.4f / 32768.0f};
    assert_int_equal(kz_wav_writer_append(writer, first, 6), KAZEIA_OK);
    assert_int_equal(access(path, F_OK), -1); // not before commit
    assert_int_equal(kz_wav_writer_append(writer, second, 6), KAZEIA_OK);
    assert_int_equal(kz_wav_writer_sample_count(writer), 12);
    assert_int_equal(kz_wav_writer_commit(writer), KAZEIA_OK);
    size_t size;
    uint8_t *bytes = read_test_file(path, &size);
    assert_int_equal(size, 44 + 24);
    assert_memory_equal(bytes, "RIFF", 4);
    assert_int_equal(u32_at(bytes + 4), size - 8);
    assert_memory_equal(bytes + 8, "WAVEfmt ", 8);
    assert_int_equal(u32_at(bytes + 20), 0x00010001); // PCM, mono
    assert_int_equal(u32_at(bytes + 24), 22050);
    assert_int_equal(u32_at(bytes + 28), 44100);
    assert_int_equal(u32_at(bytes + 40), 24);
    const int16_t expected[] = {0,      1,      -16384, 32767, 32767,  32767,
                                -32768, -32768, 0,      32767, -32768, 0};
    assert_memory_equal(bytes + 44, expected, sizeof expected);
    free(bytes);
    remove_test_file(path);
}

static void abandoned_wav_leaves_nothing(void **state) {
    (void)state;
    char path[256];
    make_test_path("out.wav", path, sizeof path);
    write_test_file(path, "old", 3);
    kz_wav_writer *writer;
    assert_int_equal(kz_wav_writer_create(path, 16000, NULL, &writer), KAZEIA_OK);
    const float samples[3000] = {0};
    assert_int_equal(kz_wav_writer_append(writer, samples, 3000), KAZEIA_OK);
    assert_int_equal(kz_wav_writer_append(writer, samples, SIZE_MAX / 8), KAZEIA_UNSUPPORTED);
    kz_wav_writer_abandon(writer);
    size_t size;
    char *bytes = read_test_file(path, &size);
    assert_int_equal(size, 3);
    free(bytes);
    remove_test_file(path);
    assert_int_equal(kz_wav_writer_create("no/such/folder/a.wav", 16000, NULL, &writer),
                     KAZEIA_NOT_FOUND);
    assert_int_equal(kz_wav_writer_create("a.wav", 0, NULL, &writer), KAZEIA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_keeps_order_around_its_end),
        cmocka_unit_test(ring_joins_two_threads),
        cmocka_unit_test(cut_falls_into_the_pause),
        cmocka_unit_test(cut_of_equal_sound_is_late),
        cmocka_unit_test(wav_holds_what_was_written),
        cmocka_unit_test(abandoned_wav_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
