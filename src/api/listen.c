// listen.c: kazeia_listen: the listening stage behind the public interface.
//   in   a runtime, a program, settings
//   out  a stage
#include "kazeia/listen.h"

#include "api/commands.h"
#include "api/handles.h"
#include "api/stage.h"
#include "listen/attentive.h"

// The stage comes first, so that a pointer to one is a pointer to the other.
typedef struct listen_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_whisper *whisper;
    kz_attentive *attentive; // owns the whisper; NULL: no voice activity
} listen_stage;

static kz_whisper *whisper_of(kazeia_stage *stage) {
    return ((listen_stage *)stage)->whisper;
}

static kz_attentive *attentive_of(kazeia_stage *stage) {
    return ((listen_stage *)stage)->attentive;
}

static kazeia_status feed_listen(kazeia_stage *stage, const void *in, size_t count,
                                 size_t *out_taken) {
    return attentive_of(stage) ? kz_attentive_feed(attentive_of(stage), in, count, out_taken)
                               : kz_whisper_feed(whisper_of(stage), in, count, out_taken);
}

static kazeia_status next_of_listen(kazeia_stage *stage, void *out, size_t capacity,
                                    size_t *out_count) {
    kz_heard heard;
    // `out` has room for whole results: one window may hold minutes of work, so at most one is
    // given.
    if (capacity < 1) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "listen: room for 0 results is given, 1 is needed");
    }
    KZ_TRY(attentive_of(stage) ? kz_attentive_next(attentive_of(stage), &heard)
                               : kz_whisper_next(whisper_of(stage), &heard));
    // Field by field: the two structs are alike today and must not need to be.
    *(kazeia_heard *)out = (kazeia_heard){.text = heard.text,
                                          .language = heard.language,
                                          .tokens = heard.tokens,
                                          .token_count = heard.token_count,
                                          .avg_logprob = heard.avg_logprob,
                                          .no_speech_prob = heard.no_speech_prob,
                                          .start_s = heard.start_s,
                                          .end_s = heard.end_s};
    *out_count = 1;
    return KAZEIA_OK;
}

static kazeia_status finish_listen(kazeia_stage *stage) {
    return attentive_of(stage) ? kz_attentive_finish(attentive_of(stage))
                               : kz_whisper_finish(whisper_of(stage));
}

static void cancel_listen(kazeia_stage *stage) {
    if (attentive_of(stage)) {
        kz_attentive_cancel(attentive_of(stage));
    } else {
        kz_whisper_cancel(whisper_of(stage));
    }
}

static kazeia_status reset_listen(kazeia_stage *stage) {
    if (attentive_of(stage)) {
        kz_attentive_reset(attentive_of(stage));
    } else {
        kz_whisper_reset(whisper_of(stage));
    }
    return KAZEIA_OK;
}

static void destroy_listen(kazeia_stage *stage) {
    listen_stage *listen = (listen_stage *)stage;
    const kazeia_allocator memory = listen->allocator;
    if (listen->attentive) {
        kz_attentive_destroy(listen->attentive);
    } else {
        kz_whisper_destroy(listen->whisper);
    }
    kz_free(&memory, listen);
}

const kz_stage_table kz_listen_stage_table = {.name = "listen",
                                              .feed = feed_listen,
                                              .next = next_of_listen,
                                              .finish = finish_listen,
                                              .cancel = cancel_listen,
                                              .reset = reset_listen,
                                              .destroy = destroy_listen};

kz_whisper *kz_listen_stage_whisper(kazeia_stage *stage) {
    return stage->table == &kz_listen_stage_table ? whisper_of(stage) : NULL;
}

kazeia_listen_settings kazeia_listen_settings_default(void) {
    return (kazeia_listen_settings){.languages = "auto", .has_guards = true, .pause_ms = 800};
}

// The limit holds for each session by itself, as it does for all stages. A pause is the only
// setting that listening changes.
static kazeia_status add_attention(kazeia_runtime *runtime, const kazeia_listen_settings *settings,
                                   listen_stage *stage) {
    const kazeia_vad_settings defaults = kazeia_vad_settings_default();
    const kz_vad_settings vad_settings = {.threshold = defaults.threshold,
                                          .min_speech_ms = defaults.min_speech_ms,
                                          .pre_roll_ms = defaults.pre_roll_ms,
                                          .hang_over_ms = settings->pause_ms,
                                          .memory_limit = runtime->session_memory_limit};
    kz_vad *vad = NULL;
    KZ_TRY(kz_vad_create(settings->vad->loaded, runtime->pool, &vad_settings, &stage->allocator,
                         &vad));
    const kazeia_status status =
        kz_attentive_create(stage->whisper, vad, &stage->allocator, &stage->attentive);
    if (status != KAZEIA_OK) {
        kz_vad_destroy(vad);
    }
    return status;
}

kazeia_status kazeia_listen_create(kazeia_runtime *runtime, kazeia_program *program,
                                   const kazeia_listen_settings *settings,
                                   kazeia_stage **out_stage) {
    KZ_TRY(kz_require(runtime, "listen: runtime"));
    KZ_TRY(kz_require(program, "listen: program"));
    KZ_TRY(kz_require(out_stage, "listen: out_stage"));
    const kazeia_listen_settings chosen = settings ? *settings : kazeia_listen_settings_default();
    const kazeia_allocator memory =
        // Copied below by everything that is created with it.
        kz_allocator_or_default(chosen.allocator ? chosen.allocator : &runtime->allocator);
    // The settings' strings are only read during creation.
    const kz_whisper_settings whisper = {.languages = chosen.languages,
                                         .has_guards = chosen.has_guards,
                                         .fits_context =
                                             chosen.audio_context == KAZEIA_AUDIO_CONTEXT_AUTO,
                                         .memory_limit = runtime->session_memory_limit};
    listen_stage *stage = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *stage, "listening stage", (void **)&stage));
    stage->stage.table = &kz_listen_stage_table;
    stage->allocator = memory;
    kazeia_status status =
        kz_whisper_create(program->loaded, runtime->pool, &whisper, &memory, &stage->whisper);
    if (status == KAZEIA_OK && chosen.vad) {
        status = add_attention(runtime, &chosen, stage);
    }
    if (status != KAZEIA_OK) {
        destroy_listen(&stage->stage);
        return status;
    }
    *out_stage = &stage->stage;
    return KAZEIA_OK;
}
