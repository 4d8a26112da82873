// clone.c: kazeia_clone: a recording as codes or as a speaker's vector, behind the public stages.
//   in   samples
//   out  4-byte elements: codes or floats
#include <string.h>

#include "api/handles.h"
#include "api/stage.h"
#include "kazeia/speak.h"
#include "speak/clone.h"

#define FIRST_SAMPLES ((size_t)1 << 16)
#define SAMPLE_LIMIT ((size_t)1 << 26) // 46 minutes: no program takes as much

typedef struct clone_stage {
    kazeia_stage stage;
    kazeia_allocator allocator;
    kz_context *context;
    kazeia_clone_part part;
    float *samples;
    size_t count, capacity;
    bool is_finished, is_made;
    void *result; // 4-byte elements
    size_t result_count, given;
} clone_stage;

static clone_stage *of(kazeia_stage *stage) {
    return (clone_stage *)stage;
}

static kazeia_status grow(clone_stage *stage, size_t needed) {
    size_t capacity = stage->capacity ? stage->capacity : FIRST_SAMPLES;
    float *larger = NULL;
    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity > SAMPLE_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "clone: a recording of more than %zu samples",
                       SAMPLE_LIMIT);
    }
    KZ_TRY(kz_alloc(&stage->allocator, capacity, sizeof *larger, "recording", (void **)&larger));
    if (stage->count) {
        memcpy(larger, stage->samples, stage->count * sizeof *larger);
    }
    kz_free(&stage->allocator, stage->samples);
    stage->samples = larger;
    stage->capacity = capacity;
    return KAZEIA_OK;
}

static kazeia_status feed(kazeia_stage *base, const void *in, size_t count, size_t *out_taken) {
    clone_stage *stage = of(base);
    if (stage->is_finished) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "clone: fed after finish");
    }
    if (count > SAMPLE_LIMIT || stage->count + count > stage->capacity) {
        KZ_TRY(grow(stage, count > SAMPLE_LIMIT ? SAMPLE_LIMIT + 1 : stage->count + count));
    }
    memcpy(stage->samples + stage->count, in, count * sizeof *stage->samples);
    stage->count += count;
    *out_taken = count;
    return KAZEIA_OK;
}

static kazeia_status make(clone_stage *stage) {
    size_t groups = 1;
    if (stage->part == KAZEIA_CLONE_VECTOR) {
        KZ_TRY(kz_clone_vector(stage->context, stage->samples, stage->count, &stage->allocator,
                               (float **)&stage->result, &stage->result_count));
    } else {
        int64_t value = 0;
        KZ_TRY(kz_program_require_integer(kz_context_program(stage->context), "speak.groups", 1, 64,
                                          &value));
        groups = (size_t)value;
        KZ_TRY(kz_clone_encode(stage->context, stage->samples, stage->count, &stage->allocator,
                               (int32_t **)&stage->result, &stage->result_count));
    }
    stage->result_count *= groups;
    stage->is_made = true;
    return KAZEIA_OK;
}

static kazeia_status next(kazeia_stage *base, void *out, size_t capacity, size_t *out_count) {
    clone_stage *stage = of(base);
    if (!stage->is_finished) {
        return KAZEIA_NEEDS_INPUT;
    }
    if (!stage->is_made) {
        KZ_TRY(make(stage));
    }
    const size_t left = stage->result_count - stage->given;
    if (left == 0) {
        return KAZEIA_DONE;
    }
    *out_count = left < capacity ? left : capacity;
    memcpy(out, (const char *)stage->result + 4 * stage->given, 4 * *out_count);
    stage->given += *out_count;
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
    clone_stage *stage = of(base);
    kz_context_resume(stage->context);
    kz_free(&stage->allocator, stage->result);
    stage->result = NULL;
    stage->count = stage->result_count = stage->given = 0;
    stage->is_finished = stage->is_made = false;
    return KAZEIA_OK;
}

static void destroy(kazeia_stage *base) {
    clone_stage *stage = of(base);
    const kazeia_allocator memory = stage->allocator;
    kz_context_destroy(stage->context);
    kz_free(&memory, stage->samples);
    kz_free(&memory, stage->result);
    kz_free(&memory, stage);
}

static const kz_stage_table clone_table = {.name = "clone",
                                           .feed = feed,
                                           .next = next,
                                           .finish = finish,
                                           .cancel = cancel,
                                           .reset = reset,
                                           .destroy = destroy};

kazeia_status kazeia_clone_create(kazeia_runtime *runtime, kazeia_program *program,
                                  kazeia_clone_part part, kazeia_stage **out_stage) {
    static const char *const methods[] = {"codec_hear", "voice_vector"};
    clone_stage *stage = NULL;
    uint32_t method = 0;
    KZ_TRY(kz_require(runtime, "clone: runtime"));
    KZ_TRY(kz_require(program, "clone: program"));
    KZ_TRY(kz_require(out_stage, "clone: out_stage"));
    if ((uint32_t)part > KAZEIA_CLONE_VECTOR) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "clone: part %d, expected 0 or 1", (int)part);
    }
    KZ_TRY(kz_program_require_method(program->loaded, methods[part], &method));
    KZ_TRY(kz_alloc(&runtime->allocator, 1, sizeof *stage, "clone stage", (void **)&stage));
    stage->stage.table = &clone_table;
    stage->allocator = runtime->allocator;
    stage->part = part;
    const kazeia_status status =
        kz_context_create(program->loaded, runtime->pool, KZ_PRIORITY_SPEAK,
                          runtime->session_memory_limit, &stage->allocator, &stage->context);
    if (status != KAZEIA_OK) {
        destroy(&stage->stage);
        return status;
    }
    *out_stage = &stage->stage;
    return KAZEIA_OK;
}
