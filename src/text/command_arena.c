// command_arena.c: a chain of blocks.
//
// in: sizes. out: memory that lives as long as the grammar. A grammar is thousands of small nodes
// that die together; one block each would cost more than the nodes.
#include "text/command_arena.h"

#include <stdalign.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16384)

struct kz_arena_block {
    kz_arena_block *previous;
    size_t capacity;
    alignas(16) char bytes[];
};

void kz_command_arena_init(kz_command_arena *arena, const kazeia_allocator *allocator,
                           size_t limit) {
    *arena = (kz_command_arena){.allocator = kz_allocator_or_default(allocator), .limit = limit};
}

void kz_command_arena_clear(kz_command_arena *arena) {
    while (arena->last != NULL) {
        kz_arena_block *previous = arena->last->previous;
        kz_free(&arena->allocator, arena->last);
        arena->last = previous;
    }
    arena->used = 0;
    arena->total = 0;
}

static kazeia_status add_block(kz_command_arena *arena, size_t bytes) {
    const size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    // Never below 0: the total only grows by what passed this test.
    if (capacity > arena->limit - arena->total) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY,
                       "command grammar: it needs more than the %zu bytes it may take",
                       arena->limit);
    }
    void *memory = NULL;
    KZ_TRY(kz_alloc(&arena->allocator, 1, sizeof(kz_arena_block) + capacity, "command grammar",
                    &memory));
    kz_arena_block *block = memory;
    block->previous = arena->last;
    block->capacity = capacity;
    arena->last = block;
    arena->used = 0;
    arena->total += capacity;
    return KAZEIA_OK;
}

kazeia_status kz_command_arena_take(kz_command_arena *arena, size_t count, size_t bytes_each,
                                    void **out_memory) {
    size_t bytes;
    if (!kz_size_mul(count, bytes_each, &bytes) || bytes > arena->limit) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "command grammar: %zu times %zu bytes are too many",
                       count, bytes_each);
    }
    // Every piece begins at a multiple of 16, so that any type may lie in it. No overflow: `bytes`
    // is at most the limit.
    bytes = (bytes + 15) & ~(size_t)15;
    // What is left of the last block is given up; a piece is never larger than a block, but for
    // those that get one of their own.
    if (arena->last == NULL || bytes > arena->last->capacity - arena->used) {
        KZ_TRY(add_block(arena, bytes));
    }
    *out_memory = arena->last->bytes + arena->used;
    arena->used += bytes;
    return KAZEIA_OK;
}

kazeia_status kz_command_arena_copy(kz_command_arena *arena, kz_text_view text,
                                    const char **out_copy) {
    void *memory = NULL;
    // Blocks are zeroed, so the NUL is there already.
    KZ_TRY(kz_command_arena_take(arena, text.count + 1, 1, &memory));
    if (text.count > 0) {
        memcpy(memory, text.bytes, text.count);
    }
    *out_copy = memory;
    return KAZEIA_OK;
}
