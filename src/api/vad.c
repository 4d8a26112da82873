// vad.c: kazeia_vad: voice activity behind the public interface.
//   in   a runtime, a program, settings
//   out  a stage
#include "listen/vad.h"

#include "api/handles.h"
#include "api/stage.h"
#include "kazeia/listen.h"

// The stage comes first, so that a pointer to one is a pointer to the other.
typedef struct vad_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_vad *vad;
} vad_stage;

static kz_vad *vad_of(kazeia_stage *stage) {
    return ((vad_stage *)stage)->vad;
}

static kazeia_status feed_vad(kazeia_stage *stage, const void *in, size_t count,
                              size_t *out_taken) {
    return kz_vad_feed(vad_of(stage), in, count, out_taken);
}

static kazeia_status next_of_vad(kazeia_stage *stage, void *out, size_t capacity,
                                 size_t *out_count) {
    kazeia_speech_span *span = out;
    if (capacity < 1) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "vad: room for 0 spans is given, 1 is needed");
    }
    KZ_TRY(kz_vad_next(vad_of(stage), &span->start_s, &span->end_s));
    *out_count = 1;
    return KAZEIA_OK;
}

static kazeia_status finish_vad(kazeia_stage *stage) {
    kz_vad_finish(vad_of(stage));
    return KAZEIA_OK;
}

static void cancel_vad(kazeia_stage *stage) {
    kz_vad_cancel(vad_of(stage));
}

static kazeia_status reset_vad(kazeia_stage *stage) {
    kz_vad_reset(vad_of(stage));
    return KAZEIA_OK;
}

static void destroy_vad(kazeia_stage *stage) {
    vad_stage *vad = (vad_stage *)stage;
    const kazeia_allocator memory = vad->allocator;
    kz_vad_destroy(vad->vad);
    kz_free(&memory, vad);
}

const kz_stage_table kz_vad_stage_table = {.name = "vad",
                                           .feed = feed_vad,
                                           .next = next_of_vad,
                                           .finish = finish_vad,
                                           .cancel = cancel_vad,
                                           .reset = reset_vad,
                                           .destroy = destroy_vad};

kazeia_vad_settings kazeia_vad_settings_default(void) {
    return (kazeia_vad_settings){
        .threshold = 0.5f, .min_speech_ms = 250, .pre_roll_ms = 100, .hang_over_ms = 300};
}

kazeia_status kazeia_vad_create(kazeia_runtime *runtime, kazeia_program *program,
                                const kazeia_vad_settings *settings, kazeia_stage **out_stage) {
    KZ_TRY(kz_require(runtime, "vad: runtime"));
    KZ_TRY(kz_require(program, "vad: program"));
    KZ_TRY(kz_require(out_stage, "vad: out_stage"));
    const kazeia_vad_settings chosen = settings ? *settings : kazeia_vad_settings_default();
    const kazeia_allocator memory =
        kz_allocator_or_default(chosen.allocator ? chosen.allocator : &runtime->allocator);
    const kz_vad_settings vad_settings = {.threshold = chosen.threshold,
                                          .min_speech_ms = chosen.min_speech_ms,
                                          .pre_roll_ms = chosen.pre_roll_ms,
                                          .hang_over_ms = chosen.hang_over_ms,
                                          .memory_limit = runtime->session_memory_limit};
    vad_stage *stage = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *stage, "voice activity stage", (void **)&stage));
    stage->stage.table = &kz_vad_stage_table;
    stage->allocator = memory;
    const kazeia_status status =
        kz_vad_create(program->loaded, runtime->pool, &vad_settings, &memory, &stage->vad);
    if (status != KAZEIA_OK) {
        kz_free(&memory, stage);
        return status;
    }
    *out_stage = &stage->stage;
    return KAZEIA_OK;
}
