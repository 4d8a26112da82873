// speak.c: kazeia_speak: sentence cutter, spoken text and voice behind the public interface.
//   in   settings with a voice's name
//   out  a stage
#include "kazeia/speak.h"

#include <string.h>

#include "api/handles.h"
#include "api/speak.h"
#include "api/stage.h"
#include "pipeline/say.h"
#include "speak/voice.h"

typedef struct speak_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_voice *voice;
    kz_say *say;
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

static kz_say *say_of(kazeia_stage *stage) {
    return ((speak_stage *)stage)->say;
}

static kazeia_status feed_speak(kazeia_stage *stage, const void *in, size_t count,
                                size_t *out_taken) {
    return kz_say_feed(say_of(stage), in, count, out_taken);
}

static kazeia_status next_of_speak(kazeia_stage *stage, void *out, size_t capacity,
                                   size_t *out_count) {
    return kz_say_next(say_of(stage), out, capacity, out_count);
}

static kazeia_status finish_speak(kazeia_stage *stage) {
    return kz_say_finish(say_of(stage));
}

static void cancel_speak(kazeia_stage *stage) {
    kz_say_cancel(say_of(stage));
}

static kazeia_status reset_speak(kazeia_stage *stage) {
    return kz_say_reset(say_of(stage));
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

// The language of the text: as given, else the first two letters of "espeak:fr-be".
static const char *text_language(const kazeia_speak_settings *settings, char out[3]) {
    // The abbreviations of the sentence cutter need a language, and a voice's name begins with its
    // own: "espeak:fr-be" reads French.
    const char *colon = strchr(settings->voice, ':');
    if (settings->language || !colon || strlen(colon + 1) < 2) {
        return settings->language;
    }
    memcpy(out, colon + 1, 2);
    out[2] = '\0';
    return out;
}

static kazeia_status fill(speak_stage *stage, const kazeia_speak_settings *settings) {
    // On the stack: the stages read their options during creation only.
    char language[3];
    const kz_voice_options options = {.language = settings->language, .speed = settings->speed};
    const kz_say_options say = {.language = text_language(settings, language),
                                .cuts_first_early = settings->cuts_first_early};
    KZ_TRY(kz_voice_open(settings->voice, &options, &stage->allocator, &stage->voice));
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
    KZ_TRY(kz_require(chosen.voice, "speak: voice"));
    const kazeia_allocator memory =
        kz_allocator_or_default(chosen.allocator ? chosen.allocator : &runtime->allocator);
    speak_stage *stage = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *stage, "speaking stage", (void **)&stage));
    stage->stage.table = &kz_speak_stage_table;
    stage->allocator = memory;
    const kazeia_status status = fill(stage, &chosen);
    if (status != KAZEIA_OK) {
        destroy_speak(&stage->stage);
        return status;
    }
    *out_stage = &stage->stage;
    return KAZEIA_OK;
}

size_t kz_speak_stage_begun_bytes(const kazeia_stage *speak) {
    return kz_say_begun_bytes(((const speak_stage *)speak)->say);
}

uint32_t kazeia_speak_sample_rate(const kazeia_stage *speak) {
    if (kz_stage_require(speak, &kz_speak_stage_table) != KAZEIA_OK) {
        return 0;
    }
    return ((const speak_stage *)speak)->voice->sample_rate_hz;
}
