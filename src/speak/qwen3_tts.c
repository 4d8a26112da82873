// qwen3_tts.c: the voice as a stage.
//   in   sentences, each ended by a line break
//   out  samples
// One `next` does one bounded piece: it takes a sentence, makes a frame, or decodes the frames that
// wait. The first frame is decoded alone, so that sound comes early; then by twos, fours and
// eights, each while the sound before it is heard: eight at once take the codec a third less time.
#include <string.h>

#include "base/clock.h"
#include "speak/qwen3_tts_state.h"

#define CHUNK_FRAMES 8u
// Drawn codes now and then fall into a silence that never ends. Three seconds are longer than any
// pause within a sentence, and quieter than any room that was recorded.
#define SILENCE_SECONDS 3.0f
#define SILENCE_LEVEL 1e-3f // of full scale, root mean square

static kz_tts_voice *of(kz_voice *base) {
    return (kz_tts_voice *)base;
}

static kazeia_status refuse_cancelled(void) {
    return kz_fail(KAZEIA_CANCELLED, "voice: cancelled");
}

// --- Text ---------------------------------------------------------------------------------------

static kazeia_status feed(kz_voice *base, const char *text, size_t count, size_t *out_taken) {
    kz_tts_voice *voice = of(base);
    kazeia_status status = KAZEIA_OK;
    if (atomic_load(&voice->is_cancelled)) {
        return refuse_cancelled();
    }
    kz_mutex_lock(&voice->text_lock);
    if (voice->is_finished) {
        status = kz_fail(KAZEIA_BAD_ARGUMENT, "voice: fed after finish");
    } else {
        const size_t room = KZ_TTS_QUEUE_BYTES - voice->text_count;
        *out_taken = count < room ? count : room;
        if (*out_taken) {
            memcpy(voice->text + voice->text_count, text, *out_taken);
        }
        voice->text_count += *out_taken;
    }
    kz_mutex_unlock(&voice->text_lock);
    return status;
}

static void finish(kz_voice *base) {
    kz_tts_voice *voice = of(base);
    kz_mutex_lock(&voice->text_lock);
    voice->is_finished = true;
    kz_mutex_unlock(&voice->text_lock);
}

static void cancel(kz_voice *base) {
    kz_tts_voice *voice = of(base);
    atomic_store(&voice->is_cancelled, true);
    kz_session_cancel(voice->session);
}

static void drop_sound(kz_tts_voice *voice) {
    voice->is_speaking = voice->has_ended = false;
    voice->waiting_frames = 0;
    voice->sound_count = voice->sound_given = 0;
}

static void reset(kz_voice *base) {
    kz_tts_voice *voice = of(base);
    voice->text_count = 0;
    voice->is_finished = false;
    drop_sound(voice);
    kz_session_resume(voice->session);
    kz_session_trim(voice->session, 0, 0);
    kz_sampler_reset(voice->talker_sampler);
    kz_sampler_reset(voice->predictor_sampler);
    atomic_store(&voice->is_cancelled, false);
}

// Bytes of the utterance that can begin, and with its line break; 0 when more text has to come. A
// queue that is full without a break is spoken as it is.
static size_t find_utterance(const kz_tts_voice *voice, size_t *out_taken) {
    const char *end = voice->is_verbatim || voice->text_count == 0
                          ? NULL
                          : memchr(voice->text, '\n', voice->text_count);
    if (end) {
        *out_taken = (size_t)(end - voice->text) + 1;
        return *out_taken - 1;
    }
    const bool is_all = voice->is_finished || voice->text_count == KZ_TTS_QUEUE_BYTES;
    *out_taken = is_all ? voice->text_count : 0;
    return *out_taken;
}

// Copies the next utterance behind its head; *out_count 0: it was an empty line.
static kazeia_status take_line(kz_tts_voice *voice, size_t *out_count) {
    static const char head[] = "assistant\n";
    kazeia_status status = KAZEIA_OK;
    size_t taken = 0;
    kz_mutex_lock(&voice->text_lock);
    const size_t count = find_utterance(voice, &taken);
    if (taken == 0) {
        status = voice->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
    }
    memcpy(voice->line, head, sizeof head - 1);
    memcpy(voice->line + sizeof head - 1, voice->text, count);
    voice->text_count -= taken;
    memmove(voice->text, voice->text + taken, voice->text_count);
    kz_mutex_unlock(&voice->text_lock);
    *out_count = count ? sizeof head - 1 + count : 0;
    return status;
}

// --- Sound --------------------------------------------------------------------------------------

static kazeia_status decode(kz_tts_voice *voice, const int32_t *codes, uint32_t frames) {
    const double start_ms = (double)kz_clock_now_ns() / 1e6;
    KZ_TRY(kz_codec_decode(voice->codec, codes, frames, voice->sound));
    voice->done.codec_ms += (double)kz_clock_now_ns() / 1e6 - start_ms;
    return KAZEIA_OK;
}

// The recording is decoded first and not heard: the codec goes on from it.
static kazeia_status hear_reference(kz_tts_voice *voice) {
    const uint32_t limit = kz_codec_shape_of(voice->codec)->frame_limit;
    kz_codec_reset(voice->codec);
    for (uint32_t done = 0; done < voice->reference_frames;) {
        const uint32_t left = voice->reference_frames - done;
        const uint32_t frames = left < limit ? left : limit;
        KZ_TRY(decode(voice, voice->reference_codes + (size_t)done * voice->groups, frames));
        done += frames;
    }
    return KAZEIA_OK;
}

static kazeia_status begin(kz_tts_voice *voice) {
    size_t count = 0;
    KZ_TRY(take_line(voice, &count));
    if (count == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_tts_build_prompt(voice, count));
    KZ_TRY(hear_reference(voice));
    KZ_TRY(kz_tts_start(voice));
    voice->is_speaking = true;
    voice->has_ended = false;
    voice->chunk_frames = 1;
    voice->silent_samples = 0;
    return KAZEIA_OK;
}

static kazeia_status make_frame(kz_tts_voice *voice) {
    int32_t *codes = voice->waiting_codes + (size_t)voice->waiting_frames * voice->groups;
    const kazeia_status status = kz_tts_next_frame(voice, codes);
    if (status == KAZEIA_DONE) {
        voice->has_ended = true;
        return KAZEIA_OK;
    }
    voice->waiting_frames += status == KAZEIA_OK;
    return status;
}

static bool is_silent(const float *samples, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += samples[i] * samples[i];
    }
    return sum <= SILENCE_LEVEL * SILENCE_LEVEL * (float)count;
}

// Ends an utterance that has fallen silent for good; with a number of frames asked for, none is.
static void guard_silence(kz_tts_voice *voice) {
    const kz_codec_shape *codec = kz_codec_shape_of(voice->codec);
    const float limit = SILENCE_SECONDS * (float)codec->sample_rate_hz;
    voice->silent_samples = is_silent(voice->sound, voice->sound_count)
                                ? voice->silent_samples + voice->sound_count
                                : 0;
    if (voice->max_frames == 0 && !voice->has_ended && (float)voice->silent_samples >= limit) {
        voice->has_ended = true;
        voice->done.silence_ends++;
    }
}

static kazeia_status decode_waiting(kz_tts_voice *voice) {
    const kz_codec_shape *codec = kz_codec_shape_of(voice->codec);
    const uint32_t most = CHUNK_FRAMES < codec->frame_limit ? CHUNK_FRAMES : codec->frame_limit;
    KZ_TRY(decode(voice, voice->waiting_codes, voice->waiting_frames));
    voice->sound_count = (size_t)voice->waiting_frames * codec->samples_per_frame;
    voice->sound_given = 0;
    voice->waiting_frames = 0;
    voice->chunk_frames = 2 * voice->chunk_frames < most ? 2 * voice->chunk_frames : most;
    guard_silence(voice);
    return KAZEIA_OK;
}

// One piece of work.
static kazeia_status work(kz_tts_voice *voice) {
    if (!voice->is_speaking) {
        return begin(voice);
    }
    if (!voice->has_ended && voice->waiting_frames < voice->chunk_frames) {
        return make_frame(voice);
    }
    if (voice->waiting_frames > 0) {
        return decode_waiting(voice);
    }
    voice->is_speaking = false;
    return KAZEIA_OK;
}

static kazeia_status next(kz_voice *base, float *out_samples, size_t capacity, size_t *out_count) {
    kz_tts_voice *voice = of(base);
    *out_count = 0;
    if (atomic_load(&voice->is_cancelled)) {
        return refuse_cancelled();
    }
    if (voice->sound_given == voice->sound_count) {
        voice->sound_given = voice->sound_count = 0;
        KZ_TRY(work(voice));
    }
    const size_t left = voice->sound_count - voice->sound_given;
    *out_count = left < capacity ? left : capacity;
    if (*out_count) {
        memcpy(out_samples, voice->sound + voice->sound_given, *out_count * sizeof *out_samples);
    }
    voice->sound_given += *out_count;
    return KAZEIA_OK;
}

kz_tts_counts kz_qwen3_tts_counts(const kz_voice *voice) {
    return ((const kz_tts_voice *)voice)->done;
}

// Not among the built-in ones: it is opened with a program.
static kazeia_status refuse_open(const char *speaker, const kz_voice_options *options,
                                 const kazeia_allocator *allocator, kz_voice **out_voice) {
    (void)speaker;
    (void)options;
    (void)allocator;
    (void)out_voice;
    return kz_fail(KAZEIA_UNSUPPORTED, "voice: this kind is opened with a program");
}

const kz_voice_table kz_qwen3_tts_voice_table = {
    .kind = "qwen3_tts",
    .open = refuse_open,
    .feed = feed,
    .next = next,
    .finish = finish,
    .cancel = cancel,
    .reset = reset,
    .close = kz_tts_close,
};
