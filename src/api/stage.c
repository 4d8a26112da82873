// stage.c: the verbs that all stages share.
//   in   a stage
//   out  what its table's function says
#include "api/stage.h"

#include "api/handles.h"

kazeia_status kz_require(const void *pointer, const char *what) {
    return pointer ? KAZEIA_OK
                   : kz_fail(KAZEIA_BAD_ARGUMENT, "%s: NULL is given, a pointer is expected", what);
}

kazeia_status kz_stage_require(const kazeia_stage *stage, const kz_stage_table *table) {
    KZ_TRY(kz_require(stage, table->name));
    if (stage->table != table) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "stage: a %s stage is given, a %s stage is expected",
                       stage->table->name, table->name);
    }
    return KAZEIA_OK;
}

kazeia_status kazeia_stage_feed(kazeia_stage *stage, const void *in, size_t count,
                                size_t *out_taken) {
    KZ_TRY(kz_require(stage, "feed: stage"));
    // Set before anything can fail, so that a caller who loops on it never reads an old value.
    KZ_TRY(kz_require(out_taken, "feed: out_taken"));
    *out_taken = 0;
    // Nothing may come with a NULL pointer.
    if (count == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_require(in, "feed: in"));
    return stage->table->feed(stage, in, count, out_taken);
}

kazeia_status kazeia_stage_next(kazeia_stage *stage, void *out, size_t capacity,
                                size_t *out_count) {
    KZ_TRY(kz_require(stage, "next: stage"));
    KZ_TRY(kz_require(out, "next: out"));
    KZ_TRY(kz_require(out_count, "next: out_count"));
    *out_count = 0;
    return stage->table->next(stage, out, capacity, out_count);
}

kazeia_status kazeia_stage_finish(kazeia_stage *stage) {
    KZ_TRY(kz_require(stage, "finish: stage"));
    return stage->table->finish(stage);
}

// NULL is let through: the caller is often a signal's thread, with nobody to tell.
void kazeia_stage_cancel(kazeia_stage *stage) {
    if (stage) {
        stage->table->cancel(stage);
    }
}

kazeia_status kazeia_stage_reset(kazeia_stage *stage) {
    KZ_TRY(kz_require(stage, "reset: stage"));
    return stage->table->reset(stage);
}

void kazeia_stage_destroy(kazeia_stage *stage) {
    if (stage) {
        stage->table->destroy(stage);
    }
}
