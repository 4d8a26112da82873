// chunks.c: many small pieces of memory that are freed together.
//
// in:  sizes
// out: zeroed memory
#include "format/chunks.h"

#include <stdalign.h>

// Some hundreds of records: few calls to the allocator, little left over.
#define CHUNK_BYTES ((size_t)32 * 1024)
#define LARGE_BYTES ((size_t)2 * 1024) // from here on a piece has its own chunk
#define PIECE_ALIGNMENT ((size_t)8)    // enough for pointers, u64 and double

// The link is padded, so that the first piece behind it is aligned as well.
struct kz_chunk {
    alignas(16) kz_chunk *older;
};

void kz_chunks_init(kz_chunks *chunks, const kazeia_allocator *allocator) {
    *chunks = (kz_chunks){.allocator = kz_allocator_or_default(allocator)};
}

void kz_chunks_clear(kz_chunks *chunks) {
    while (chunks->newest != NULL) {
        kz_chunk *older = chunks->newest->older;
        kz_free(&chunks->allocator, chunks->newest);
        chunks->newest = older;
    }
    chunks->free_bytes = NULL;
    chunks->free_count = 0;
}

// A new chunk with room for `bytes` behind its link.
static kazeia_status add_chunk(kz_chunks *chunks, size_t bytes, const char *what,
                               uint8_t **out_room) {
    size_t whole;
    void *memory = NULL;
    if (!kz_size_add(bytes, sizeof(kz_chunk), &whole)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "%zu bytes for %s are more than memory", bytes, what);
    }
    KZ_TRY(kz_alloc(&chunks->allocator, whole, 1, what, &memory));
    kz_chunk *chunk = memory;
    chunk->older = chunks->newest;
    chunks->newest = chunk;
    *out_room = (uint8_t *)memory + sizeof(kz_chunk);
    return KAZEIA_OK;
}

kazeia_status kz_chunks_take(kz_chunks *chunks, size_t count, size_t bytes_each, const char *what,
                             void **out_memory) {
    size_t bytes;
    uint8_t *room = NULL;
    *out_memory = NULL;
    if (count == 0) {
        return KAZEIA_OK;
    }
    if (!kz_size_mul(count, bytes_each, &bytes) || bytes > SIZE_MAX - PIECE_ALIGNMENT) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "%zu x %zu bytes for %s are more than memory", count,
                       bytes_each, what);
    }
    // The present chunk stays in use: a large table must not throw away its rest.
    if (bytes >= LARGE_BYTES) {
        KZ_TRY(add_chunk(chunks, bytes, what, &room));
        *out_memory = room;
        return KAZEIA_OK;
    }
    const size_t padded = (bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
    if (padded > chunks->free_count) {
        KZ_TRY(add_chunk(chunks, CHUNK_BYTES, what, &room));
        chunks->free_bytes = room;
        chunks->free_count = CHUNK_BYTES;
    }
    *out_memory = chunks->free_bytes;
    chunks->free_bytes += padded;
    chunks->free_count -= padded;
    return KAZEIA_OK;
}
