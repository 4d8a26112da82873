// codec.c: kazeia_codec: a voice's codec behind the public stages.
//   in   codes of frames
//   out  samples
// A context of its own: the talker's caches are part of it, but memory that is never written costs
// nothing.
#include <string.h>

#include "api/handles.h"
#include "api/stage.h"
#include "kazeia/speak.h"
#include "speak/codec.h"

typedef struct codec_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_context *context;
    kz_codec *codec;
    int32_t *codes; // [frame_limit][groups]
    float *sound;   // [frame_limit * samples_per_frame]
    size_t code_count, sound_count, sound_given;
    bool is_finished;
} codec_stage;

static codec_stage *of(kazeia_stage *stage) {
    return (codec_stage *)stage;
}

static kazeia_status feed(kazeia_stage *base, const void *in, size_t count, size_t *out_taken) {
    codec_stage *stage = of(base);
    const kz_codec_shape *shape = kz_codec_shape_of(stage->codec);
    const size_t room = (size_t)shape->frame_limit * shape->groups - stage->code_count;
    if (stage->is_finished) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "codec: fed after finish");
    }
    *out_taken = count < room ? count : room;
    memcpy(stage->codes + stage->code_count, in, *out_taken * sizeof *stage->codes);
    stage->code_count += *out_taken;
    return KAZEIA_OK;
}

static kazeia_status decode(codec_stage *stage) {
    const kz_codec_shape *shape = kz_codec_shape_of(stage->codec);
    const uint32_t frames = (uint32_t)(stage->code_count / shape->groups);
    const size_t used = (size_t)frames * shape->groups;
    if (frames == 0 && stage->is_finished && stage->code_count > 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "codec: %zu codes are left over, a frame has %u",
                       stage->code_count, shape->groups);
    }
    if (frames == 0) {
        return stage->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
    }
    KZ_TRY(kz_codec_decode(stage->codec, stage->codes, frames, stage->sound));
    stage->code_count -= used;
    memmove(stage->codes, stage->codes + used, stage->code_count * sizeof *stage->codes);
    stage->sound_given = 0;
    stage->sound_count = (size_t)frames * shape->samples_per_frame;
    return KAZEIA_OK;
}

static kazeia_status next(kazeia_stage *base, void *out, size_t capacity, size_t *out_count) {
    codec_stage *stage = of(base);
    if (stage->sound_given == stage->sound_count) {
        stage->sound_given = stage->sound_count = 0;
        KZ_TRY(decode(stage));
    }
    const size_t left = stage->sound_count - stage->sound_given;
    *out_count = left < capacity ? left : capacity;
    if (*out_count) {
        memcpy(out, stage->sound + stage->sound_given, *out_count * sizeof *stage->sound);
    }
    stage->sound_given += *out_count;
    return KAZEIA_OK;
}

static kazeia_status finish(kazeia_stage *base) {
    of(base)->is_finished = true;
    return KAZEIA_OK;
}

static void cancel(kazeia_stage *base) {
    kz_context_cancel(of(base)->context);
}

static kazeia_status reset(kazeia_stage *base) {
    codec_stage *stage = of(base);
    kz_context_resume(stage->context);
    kz_codec_reset(stage->codec);
    stage->code_count = stage->sound_count = stage->sound_given = 0;
    stage->is_finished = false;
    return KAZEIA_OK;
}

static void destroy(kazeia_stage *base) {
    codec_stage *stage = of(base);
    const kazeia_allocator memory = stage->allocator;
    kz_codec_destroy(stage->codec);
    kz_context_destroy(stage->context);
    kz_free(&memory, stage->codes);
    kz_free(&memory, stage->sound);
    kz_free(&memory, stage);
}

static const kz_stage_table codec_table = {.name = "codec",
                                           .feed = feed,
                                           .next = next,
                                           .finish = finish,
                                           .cancel = cancel,
                                           .reset = reset,
                                           .destroy = destroy};

static kazeia_status fill(codec_stage *stage, kazeia_runtime *runtime, kazeia_program *program) {
    KZ_TRY(kz_context_create(program->loaded, runtime->pool, KZ_PRIORITY_SPEAK,
                             runtime->session_memory_limit, &stage->allocator, &stage->context));
    KZ_TRY(kz_codec_create(stage->context, &stage->allocator, &stage->codec));
    const kz_codec_shape *shape = kz_codec_shape_of(stage->codec);
    KZ_TRY(kz_alloc(&stage->allocator, (size_t)shape->frame_limit * shape->groups, sizeof(int32_t),
                    "codes", (void **)&stage->codes));
    return kz_alloc(&stage->allocator, (size_t)shape->frame_limit * shape->samples_per_frame,
                    sizeof(float), "sound", (void **)&stage->sound);
}

kazeia_status kazeia_codec_create(kazeia_runtime *runtime, kazeia_program *program,
                                  kazeia_codec_shape *out_shape, kazeia_stage **out_stage) {
    KZ_TRY(kz_require(runtime, "codec: runtime"));
    KZ_TRY(kz_require(program, "codec: program"));
    KZ_TRY(kz_require(out_stage, "codec: out_stage"));
    codec_stage *stage = NULL;
    KZ_TRY(kz_alloc(&runtime->allocator, 1, sizeof *stage, "codec stage", (void **)&stage));
    stage->stage.table = &codec_table;
    stage->allocator = runtime->allocator;
    const kazeia_status status = fill(stage, runtime, program);
    if (status != KAZEIA_OK) {
        destroy(&stage->stage);
        return status;
    }
    if (out_shape) {
        const kz_codec_shape *shape = kz_codec_shape_of(stage->codec);
        *out_shape = (kazeia_codec_shape){shape->groups, shape->codes, shape->samples_per_frame,
                                          shape->sample_rate_hz};
    }
    *out_stage = &stage->stage;
    return KAZEIA_OK;
}
