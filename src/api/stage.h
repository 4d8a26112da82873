// stage.h: the table behind kazeia_stage. Inside api/ only.
//
// A stage is a struct whose first member is a kazeia_stage; its file defines one static table.
#ifndef KZ_API_STAGE_H
#define KZ_API_STAGE_H

#include "kazeia/program.h"

// What kazeia_stage_* forward to once the pointers are known not to be NULL, feed's `count` to be
// above 0 and *out_taken and *out_count to be 0: a function that fails need not touch them.
typedef struct kz_stage_table {
    const char *name; // as "chat"
    kazeia_status (*feed)(kazeia_stage *stage, const void *in, size_t count, size_t *out_taken);
    kazeia_status (*next)(kazeia_stage *stage, void *out, size_t capacity, size_t *out_count);
    kazeia_status (*finish)(kazeia_stage *stage);
    void (*cancel)(kazeia_stage *stage);
    kazeia_status (*reset)(kazeia_stage *stage);
    void (*destroy)(kazeia_stage *stage);
} kz_stage_table;

// The public handle: a pointer to it is also one to the whole stage.
struct kazeia_stage {
    const kz_stage_table *table;
};

// The kinds of stages. A stage is of a kind when it has that table.
extern const kz_stage_table kz_listen_stage_table;
extern const kz_stage_table kz_chat_stage_table;
extern const kz_stage_table kz_speak_stage_table;
extern const kz_stage_table kz_vad_stage_table;

// BAD_ARGUMENT when the stage is NULL or of another kind than `table`.
KAZEIA_MUST_CHECK kazeia_status kz_stage_require(const kazeia_stage *stage,
                                                 const kz_stage_table *table);

#endif
