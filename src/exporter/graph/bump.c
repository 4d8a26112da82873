// bump.c: memory that is freed all at once.
//   in   sizes
//   out  zeroed pieces of large chunks
#include "exporter/graph/bump.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)
#define PIECE_ALIGNMENT ((size_t)16)

struct kz_bump_chunk {
    kz_bump_chunk *next;
    _Alignas(16) uint8_t bytes[];
};

void kz_bump_init(kz_bump *bump, const kazeia_allocator *allocator) {
    *bump = (kz_bump){.allocator = *allocator};
}

void kz_bump_clear(kz_bump *bump) {
    while (bump->chunks) {
        kz_bump_chunk *next = bump->chunks->next;
        kz_free(&bump->allocator, bump->chunks);
        bump->chunks = next;
    }
    bump->used = bump->capacity = 0;
}

static kazeia_status add_chunk(kz_bump *bump, size_t bytes) {
    const size_t capacity = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    size_t total = 0;
    // Before the chunk is linked: a failure leaves the bump as it was.
    if (!kz_size_add(capacity, sizeof(kz_bump_chunk), &total)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "export: %zu bytes asked for", bytes);
    }
    kz_bump_chunk *chunk = NULL;
    // What is left of the chunk before is given up: pieces are small beside a chunk.
    KZ_TRY(kz_alloc(&bump->allocator, 1, total, "export tables", (void **)&chunk));
    chunk->next = bump->chunks;
    bump->chunks = chunk;
    bump->capacity = capacity;
    bump->used = 0;
    return KAZEIA_OK;
}

kazeia_status kz_bump_take(kz_bump *bump, size_t count, size_t bytes_each, void **out_memory) {
    size_t bytes = 0;
    if (!kz_size_mul(count, bytes_each, &bytes) || bytes > SIZE_MAX - PIECE_ALIGNMENT) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "export: %zu elements of %zu bytes asked for", count,
                       bytes_each);
    }
    bytes = (bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
    if (!bump->chunks || bytes > bump->capacity - bump->used) {
        KZ_TRY(add_chunk(bump, bytes));
    }
    *out_memory = bump->chunks->bytes + bump->used;
    bump->used += bytes;
    return KAZEIA_OK;
}

kazeia_status kz_bump_format(kz_bump *bump, const char **out_text, const char *format, ...) {
    va_list arguments, measured;
    va_start(arguments, format);
    // An argument list can be walked once.
    va_copy(measured, arguments);
    const int length = vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    char *text = NULL;
    const kazeia_status status =
        kz_bump_take(bump, length > 0 ? (size_t)length + 1 : 1, 1, (void **)&text);
    if (status == KAZEIA_OK) {
        (void)vsnprintf(text, (size_t)length + 1, format, arguments);
        *out_text = text;
    }
    va_end(arguments);
    return status;
}

kazeia_status kz_bump_grow(kz_bump *bump, size_t count, size_t bytes_each, size_t *capacity,
                           void **array) {
    if (count < *capacity) {
        return KAZEIA_OK;
    }
    // The old array stays in its chunk until all is freed: doubling wastes as much again, and
    // pointers into it would be stale.
    const size_t larger = *capacity ? *capacity * 2 : 32;
    void *copy = NULL;
    KZ_TRY(kz_bump_take(bump, larger, bytes_each, &copy));
    if (count) {
        memcpy(copy, *array, count * bytes_each);
    }
    *array = copy;
    *capacity = larger;
    return KAZEIA_OK;
}
