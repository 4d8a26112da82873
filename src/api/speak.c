// speak.c: kazeia_speak: sentence cutter, spoken text and voice behind the public interface.
//   in   settings with a voice's name, or a program that speaks
//   out  a stage
#include "kazeia/speak.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/handles.h"
#include "api/speak.h"
#include "api/stage.h"
#include "base/clock.h"
#include "pipeline/pace.h"
#include "pipeline/say.h"
#include "speak/kokoro_voice.h"
#include "speak/qwen3_tts.h"
#include "speak/voice.h"

#define LANGUAGE_BYTES 16

typedef struct speak_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_voice *voice;
    kz_say *say;        // NULL: text goes to the voice as it is
    bool counts_frames; // the voice is a Qwen3-TTS
    bool follows_turn;
    char language[LANGUAGE_BYTES]; // of the text; "": unknown
    kazeia_speak_watch watch;
    void *watch_context;
    kz_pace pace;
    atomic_size_t fed_bytes; // since the last reset; fed and read by two threads
} speak_stage;

// --- The voice as the pipeline's table ----------------------------------------------------------

static kazeia_status feed_voice(void *self, const char *text, size_t bytes, size_t *out_taken) {
    kz_voice *voice = self;
    return voice->table->feed(voice, text, bytes, out_taken);
}

static kazeia_status next_of_voice(void *self, float *out_samples, size_t capacity,
                                   size_t *out_count) {
    kz_voice *voice = self;
    return voice->table->next(voice, out_samples, capacity, out_count);
}

static kazeia_status finish_voice(void *self) {
    kz_voice *voice = self;
    voice->table->finish(voice);
    return KAZEIA_OK;
}

static void cancel_voice(void *self) {
    kz_voice *voice = self;
    voice->table->cancel(voice);
}

static kazeia_status reset_voice(void *self) {
    kz_voice *voice = self;
    voice->table->reset(voice);
    return KAZEIA_OK;
}

// --- The stage ----------------------------------------------------------------------------------

static speak_stage *of(kazeia_stage *stage) {
    return (speak_stage *)stage;
}

static kazeia_status feed_speak(kazeia_stage *stage, const void *in, size_t count,
                                size_t *out_taken) {
    speak_stage *speak = of(stage);
    KZ_TRY(speak->say ? kz_say_feed(speak->say, in, count, out_taken)
                      : feed_voice(speak->voice, in, count, out_taken));
    atomic_fetch_add(&speak->fed_bytes, *out_taken);
    return KAZEIA_OK;
}

static kazeia_status next_of_speak(kazeia_stage *stage, void *out, size_t capacity,
                                   size_t *out_count) {
    speak_stage *speak = of(stage);
    const uint64_t start_ns = kz_clock_now_ns();
    const kazeia_status status = speak->say ? kz_say_next(speak->say, out, capacity, out_count)
                                            : next_of_voice(speak->voice, out, capacity, out_count);
    const double made_s =
        status == KAZEIA_OK ? (double)*out_count / speak->voice->sample_rate_hz : 0;
    kz_pace_work(&speak->pace, (double)(kz_clock_now_ns() - start_ns) / 1e9, made_s);
    return status;
}

static kazeia_status finish_speak(kazeia_stage *stage) {
    return of(stage)->say ? kz_say_finish(of(stage)->say) : finish_voice(of(stage)->voice);
}

static void cancel_speak(kazeia_stage *stage) {
    if (of(stage)->say) {
        kz_say_cancel(of(stage)->say);
    } else {
        cancel_voice(of(stage)->voice);
    }
}

static kazeia_status reset_speak(kazeia_stage *stage) {
    kz_pace_reset(&of(stage)->pace);
    atomic_store(&of(stage)->fed_bytes, 0);
    return of(stage)->say ? kz_say_reset(of(stage)->say) : reset_voice(of(stage)->voice);
}

// The cutter and cleaner first: they call the voice.
static void destroy_speak(kazeia_stage *stage) {
    speak_stage *speak = (speak_stage *)stage;
    const kazeia_allocator memory = speak->allocator;
    kz_say_destroy(speak->say);
    kz_voice_close(speak->voice);
    kz_free(&memory, speak);
}

const kz_stage_table kz_speak_stage_table = {.name = "speak",
                                             .feed = feed_speak,
                                             .next = next_of_speak,
                                             .finish = finish_speak,
                                             .cancel = cancel_speak,
                                             .reset = reset_speak,
                                             .destroy = destroy_speak};

kazeia_speak_settings kazeia_speak_settings_default(void) {
    return (kazeia_speak_settings){.voice = "espeak:fr", .speed = 1.0f};
}

static void keep_language(speak_stage *stage, const char *language) {
    (void)snprintf(stage->language, sizeof stage->language, "%s", language == NULL ? "" : language);
}

// The language of the text: as given, else the first two letters of "espeak:fr-be".
static void keep_espeak_language(speak_stage *stage, const kazeia_speak_settings *settings) {
    const char *colon = strchr(settings->voice, ':');
    if (settings->language || !colon || strlen(colon + 1) < 2) {
        keep_language(stage, settings->language);
    } else {
        const char own[3] = {colon[1], colon[2], '\0'};
        keep_language(stage, own);
    }
}

// --- The voice of a program ---------------------------------------------------------------------

static void show(void *context, kz_tts_tap_kind kind, const void *values, size_t rows,
                 size_t columns) {
    static const kazeia_speak_part parts[] = {[KZ_TTS_TAP_PREFILL] = KAZEIA_SPEAK_PREFILL,
                                              [KZ_TTS_TAP_LOGITS] = KAZEIA_SPEAK_LOGITS,
                                              [KZ_TTS_TAP_CODE] = KAZEIA_SPEAK_CODE,
                                              [KZ_TTS_TAP_FRAME] = KAZEIA_SPEAK_FRAME};
    const speak_stage *stage = context;
    stage->watch(stage->watch_context, parts[kind], values, rows, columns);
}

static kazeia_status open_qwen3(speak_stage *stage, kazeia_runtime *runtime,
                                const kazeia_speak_settings *settings) {
    const kz_tts_settings voice = {.language = settings->language,
                                   .speaker = settings->speaker,
                                   .instruct = settings->instruct,
                                   .vector = settings->vector,
                                   .vector_count = settings->vector_count,
                                   .reference_codes = settings->reference_codes,
                                   .reference_frames = (uint32_t)settings->reference_frames,
                                   .reference_text = settings->reference_text,
                                   .seed = settings->seed,
                                   .is_greedy = settings->is_greedy,
                                   .is_whole = settings->is_whole,
                                   .is_verbatim = settings->is_verbatim,
                                   .max_frames = settings->max_frames,
                                   .tap = {stage, settings->watch ? show : NULL},
                                   .memory_limit = runtime->session_memory_limit};
    if (settings->reference_frames > INT32_MAX) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "speak: a recording of %zu frames",
                       settings->reference_frames);
    }
    stage->counts_frames = true;
    keep_language(stage, kz_tts_language_code(settings->language));
    stage->watch = settings->watch;
    stage->watch_context = settings->watch_context;
    return kz_qwen3_tts_open(settings->program->loaded, runtime->pool, &voice, &stage->allocator,
                             &stage->voice);
}

static void show_symbols(void *context, const int32_t *ids, size_t count) {
    const speak_stage *stage = context;
    stage->watch(stage->watch_context, KAZEIA_SPEAK_SYMBOLS, ids, count, 1);
}

static kazeia_status open_kokoro(speak_stage *stage, kazeia_runtime *runtime,
                                 const kazeia_speak_settings *settings) {
    const kz_kokoro_settings voice = {.speaker = settings->speaker,
                                      .language = settings->language,
                                      .speed = settings->speed,
                                      .see = settings->watch ? show_symbols : NULL,
                                      .see_context = stage};
    stage->watch = settings->watch;
    stage->watch_context = settings->watch_context;
    KZ_TRY(kz_kokoro_voice_open(settings->program->loaded, runtime->pool, &voice, &stage->allocator,
                                &stage->voice));
    keep_language(stage, kz_kokoro_voice_language(stage->voice));
    return KAZEIA_OK;
}

static kazeia_status open_program(speak_stage *stage, kazeia_runtime *runtime,
                                  const kazeia_speak_settings *settings) {
    return kz_kokoro_is_spoken_by(settings->program->loaded) ? open_kokoro(stage, runtime, settings)
                                                             : open_qwen3(stage, runtime, settings);
}

static kazeia_status open_espeak(speak_stage *stage, const kazeia_speak_settings *settings) {
    // On the stack: the voice reads its options during opening only.
    const kz_voice_options options = {.language = settings->language, .speed = settings->speed};
    keep_espeak_language(stage, settings);
    return kz_voice_open(settings->voice, &options, &stage->allocator, &stage->voice);
}

static kazeia_status fill(speak_stage *stage, kazeia_runtime *runtime,
                          const kazeia_speak_settings *settings) {
    stage->follows_turn = settings->follows_turn;
    KZ_TRY(settings->program ? open_program(stage, runtime, settings)
                             : open_espeak(stage, settings));
    if (settings->program && settings->is_verbatim) {
        return KAZEIA_OK;
    }
    // Where the text follows frame by frame, a sentence need not be cut for its sound to come
    // early.
    const bool follows_text = stage->counts_frames && !settings->is_whole;
    const kz_say_options say = {.language = stage->language[0] ? stage->language : NULL,
                                .cuts_first_early = settings->cuts_first_early && !follows_text,
                                .is_polyglot = settings->follows_turn,
                                .gives_words_early = settings->cuts_first_early && follows_text};
    // No begun_bytes: kz_say counts the sentences that it draws and does not ask.
    const kz_speak_table table = {.self = stage->voice,
                                  .feed = feed_voice,
                                  .next = next_of_voice,
                                  .finish = finish_voice,
                                  .cancel = cancel_voice,
                                  .reset = reset_voice};
    return kz_say_create(&table, &say, &stage->allocator, &stage->say);
}

kazeia_status kazeia_speak_create(kazeia_runtime *runtime, const kazeia_speak_settings *settings,
                                  kazeia_stage **out_stage) {
    KZ_TRY(kz_require(runtime, "speak: runtime"));
    KZ_TRY(kz_require(out_stage, "speak: out_stage"));
    const kazeia_speak_settings chosen = settings ? *settings : kazeia_speak_settings_default();
    if (!chosen.program) {
        KZ_TRY(kz_require(chosen.voice, "speak: voice"));
    }
    const kazeia_allocator memory =
        kz_allocator_or_default(chosen.allocator ? chosen.allocator : &runtime->allocator);
    speak_stage *stage = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *stage, "speaking stage", (void **)&stage));
    stage->stage.table = &kz_speak_stage_table;
    stage->allocator = memory;
    const kazeia_status status = fill(stage, runtime, &chosen);
    if (status != KAZEIA_OK) {
        destroy_speak(&stage->stage);
        return status;
    }
    *out_stage = &stage->stage;
    return KAZEIA_OK;
}

size_t kz_speak_stage_begun_bytes(const kazeia_stage *speak) {
    const kz_say *say = ((const speak_stage *)speak)->say;
    return say ? kz_say_begun_bytes(say) : 0;
}

void kz_speak_stage_set_language(kazeia_stage *speak, const char *language) {
    speak_stage *stage = (speak_stage *)speak;
    kz_voice *voice = stage->voice;
    // A voice that has one language, or none of that name, goes on in its own.
    if (!stage->follows_turn || !stage->say || !voice->table->set_language ||
        voice->table->set_language(voice, language) != KAZEIA_OK) {
        return;
    }
    kz_say_set_language(stage->say, language);
    keep_language(stage, language);
}

kazeia_speak_statistics kazeia_speak_statistics_of(const kazeia_stage *speak) {
    kazeia_speak_statistics statistics = {0};
    if (kz_stage_require(speak, &kz_speak_stage_table) != KAZEIA_OK) {
        return statistics;
    }
    const speak_stage *stage = (const speak_stage *)speak;
    if (stage->counts_frames) {
        const kz_tts_counts counts = kz_qwen3_tts_counts(stage->voice);
        statistics = (kazeia_speak_statistics){.frames = counts.frames,
                                               .talker_ms = counts.talker_ms,
                                               .predictor_ms = counts.predictor_ms,
                                               .codec_ms = counts.codec_ms,
                                               .length_ends = counts.length_ends,
                                               .silence_ends = counts.silence_ends};
    }
    statistics.sample_rate_hz = stage->voice->sample_rate_hz;
    statistics.lead_s = kz_pace_lead_s(&stage->pace, atomic_load(&stage->fed_bytes));
    statistics.language = stage->language;
    return statistics;
}
