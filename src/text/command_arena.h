// command_arena.h: memory of one grammar, taken piece by piece and given back at once.
#ifndef KZ_TEXT_COMMAND_ARENA_H
#define KZ_TEXT_COMMAND_ARENA_H

#include "base/alloc.h"
#include "text/utf8.h"

typedef struct kz_arena_block kz_arena_block;

// The caller's memory; one thread at a time.
typedef struct kz_command_arena {
    kazeia_allocator allocator;
    kz_arena_block *last;
    size_t used;  // bytes of the last block
    size_t total; // bytes of all blocks
    size_t limit; // total never grows beyond this
} kz_command_arena;

// Allocates nothing yet; the allocator is copied. `limit`: bytes of all blocks together.
void kz_command_arena_init(kz_command_arena *arena, const kazeia_allocator *allocator,
                           size_t limit);
// Frees all pieces at once.
void kz_command_arena_clear(kz_command_arena *arena);

// Zeroed, aligned as malloc's, valid until clear. OUT_OF_MEMORY beyond the limit.
KAZEIA_MUST_CHECK kazeia_status kz_command_arena_take(kz_command_arena *arena, size_t count,
                                                      size_t bytes_each, void **out_memory);
// A NUL-terminated copy.
KAZEIA_MUST_CHECK kazeia_status kz_command_arena_copy(kz_command_arena *arena, kz_text_view text,
                                                      const char **out_copy);

#endif
