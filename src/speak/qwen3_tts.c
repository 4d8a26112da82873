// qwen3_tts.c: the voice as a stage.
//   in   sentences as they are written, each ended by a line break
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
        const size_t room = KZ_TTS_QUEUE_BYTES - voice->queued_count;
        *out_taken = count < room ? count : room;
        if (*out_taken) {
            memcpy(voice->queue + voice->queued_count, text, *out_taken);
        }
        voice->queued_count += *out_taken;
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
    voice->queued_count = 0;
    voice->is_finished = false;
    kz_tts_clear_text(voice);
    drop_sound(voice);
    kz_session_resume(voice->session);
    kz_session_trim(voice->session, 0, 0);
    kz_sampler_reset(voice->talker_sampler);
    kz_sampler_reset(voice->predictor_sampler);
    atomic_store(&voice->is_cancelled, false);
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

// What must be known of the text before the first frame: all of it, or what the prompt has beside
// the recording, or one token.
static bool can_begin(const kz_tts_voice *voice) {
    const size_t needed = voice->reference_frames ? voice->reference_frames + (size_t)1 : 1;
    return voice->is_text_ended || (!voice->is_whole && voice->text_count >= needed);
}

static kazeia_status begin(kz_tts_voice *voice) {
    KZ_TRY(kz_tts_read_text(voice));
    if (!can_begin(voice)) {
        return KAZEIA_NEEDS_INPUT;
    }
    if (!voice->is_line_begun) {
        // An empty line, or the end of all text.
        const bool has_break = voice->has_break;
        kz_tts_clear_text(voice);
        return has_break ? KAZEIA_OK : KAZEIA_DONE;
    }
    KZ_TRY(kz_tts_build_prompt(voice));
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

// Frames that wait are heard before the text is waited for.
static kazeia_status make_or_decode(kz_tts_voice *voice) {
    const kazeia_status status = make_frame(voice);
    return status == KAZEIA_NEEDS_INPUT && voice->waiting_frames > 0 ? decode_waiting(voice)
                                                                     : status;
}

// The rest of an utterance's text is dropped when it ends before that: it would be spoken as the
// next one. It may not all be here yet.
static kazeia_status end_utterance(kz_tts_voice *voice) {
    kz_tts_drop_text(voice);
    if (!voice->is_text_ended) {
        return KAZEIA_NEEDS_INPUT;
    }
    voice->is_speaking = false;
    kz_tts_clear_text(voice);
    return KAZEIA_OK;
}

// One piece of work.
static kazeia_status work(kz_tts_voice *voice) {
    if (!voice->is_speaking) {
        return begin(voice);
    }
    if (!voice->has_ended && voice->waiting_frames < voice->chunk_frames) {
        return make_or_decode(voice);
    }
    return voice->waiting_frames > 0 ? decode_waiting(voice) : end_utterance(voice);
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
