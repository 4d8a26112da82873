// cache_rows.c: which cache rows each sequence sees.
//   in   extend, trim, fork
//   out  the row table of attention
#include "runtime/cache_rows.h"

#include <string.h>

struct kz_cache_rows {
    kazeia_allocator allocator;
    uint32_t row_count, sequence_count, context;
    int32_t *table;     // [sequence_count][context]
    uint32_t *lengths;  // [sequence_count]
    uint32_t *uses;     // [row_count]: sequences that hold the row
    int32_t *free_rows; // stack of unused rows
    uint32_t free_count;
};

// A failure leaves what was taken so far to kz_cache_rows_destroy; kz_alloc gives zeros, so every
// sequence starts empty.
static kazeia_status allocate_tables(kz_cache_rows *rows) {
    const kazeia_allocator *memory = &rows->allocator;
    size_t cells = 0;
    if (!kz_size_mul(rows->sequence_count, rows->context, &cells)) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "cache rows: %u sequences of %u do not fit in memory",
                       rows->sequence_count, rows->context);
    }
    KZ_TRY(kz_alloc(memory, cells, sizeof *rows->table, "row table", (void **)&rows->table));
    KZ_TRY(kz_alloc(memory, rows->sequence_count, sizeof *rows->lengths, "sequence lengths",
                    (void **)&rows->lengths));
    KZ_TRY(kz_alloc(memory, rows->row_count, sizeof *rows->uses, "row uses", (void **)&rows->uses));
    return kz_alloc(memory, rows->row_count, sizeof *rows->free_rows, "free rows",
                    (void **)&rows->free_rows);
}

kazeia_status kz_cache_rows_create(uint32_t row_count, uint32_t sequences, uint32_t context,
                                   const kazeia_allocator *allocator, kz_cache_rows **out_rows) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_cache_rows *rows = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *rows, "cache rows", (void **)&rows));
    rows->allocator = memory;
    rows->row_count = row_count;
    rows->sequence_count = sequences;
    rows->context = context;
    const kazeia_status status = allocate_tables(rows);
    if (status != KAZEIA_OK) {
        kz_cache_rows_destroy(rows);
        return status;
    }
    // Low numbers are taken first, so that a single sequence lies in order in memory.
    for (uint32_t i = 0; i < row_count; i++) {
        rows->free_rows[i] = (int32_t)(row_count - 1 - i);
    }
    rows->free_count = row_count;
    *out_rows = rows;
    return KAZEIA_OK;
}

uint64_t kz_cache_rows_bytes(uint32_t row_count, uint32_t sequences, uint32_t context) {
    const uint64_t columns = (uint64_t)context + 1; // the table's and the length
    // Half of the range is left for the other sums, which are products of 32-bit numbers.
    if (columns > UINT64_MAX / 8 / ((uint64_t)sequences + 1)) {
        return UINT64_MAX;
    }
    return sizeof(kz_cache_rows) + sequences * columns * sizeof(int32_t) +
           (uint64_t)row_count * (sizeof(uint32_t) + sizeof(int32_t));
}

void kz_cache_rows_destroy(kz_cache_rows *rows) {
    if (!rows) {
        return;
    }
    const kazeia_allocator memory = rows->allocator;
    kz_free(&memory, rows->table);
    kz_free(&memory, rows->lengths);
    kz_free(&memory, rows->uses);
    kz_free(&memory, rows->free_rows);
    kz_free(&memory, rows);
}

const int32_t *kz_cache_rows_table(const kz_cache_rows *rows) {
    return rows->table;
}

uint32_t kz_cache_rows_length(const kz_cache_rows *rows, uint32_t sequence) {
    return rows->lengths[sequence];
}

uint32_t kz_cache_rows_count(const kz_cache_rows *rows) {
    return rows->row_count;
}

uint32_t kz_cache_rows_free(const kz_cache_rows *rows) {
    return rows->free_count;
}

kazeia_status kz_cache_rows_extend(kz_cache_rows *rows, uint32_t sequence, uint32_t count) {
    const uint32_t length = rows->lengths[sequence];
    // Both refusals come before anything is taken. A length never passes the context, so the
    // difference does not wrap.
    if (count > rows->context - length) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "context: %u tokens do not fit: %u of %u are in use",
                       count, length, rows->context);
    }
    if (count > rows->free_count) {
        return kz_fail(KAZEIA_BUSY, "cache: %u rows asked for, %u of %u are free", count,
                       rows->free_count, rows->row_count);
    }
    int32_t *table = rows->table + (size_t)sequence * rows->context;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t row = rows->free_rows[--rows->free_count];
        table[length + i] = row;
        // A free row belongs to nobody: taking it is its first use.
        rows->uses[row] = 1;
    }
    rows->lengths[sequence] = length + count;
    return KAZEIA_OK;
}

// A row that a fork still sees stays in use: its count falls, and the last holder frees it.
void kz_cache_rows_trim(kz_cache_rows *rows, uint32_t sequence, uint32_t length) {
    int32_t *table = rows->table + (size_t)sequence * rows->context;
    // Backwards, so that the rows come off the stack again in their old order.
    while (rows->lengths[sequence] > length) {
        const uint32_t position = --rows->lengths[sequence];
        const int32_t row = table[position];
        // A call compares the whole table with the states' rows, also entries that no token sees.
        table[position] = 0;
        if (--rows->uses[row] == 0) {
            rows->free_rows[rows->free_count++] = row;
        }
    }
}

void kz_cache_rows_fork(kz_cache_rows *rows, uint32_t source, uint32_t target, uint32_t length) {
    if (source == target) {
        kz_cache_rows_trim(rows, target, length);
        return;
    }
    const uint32_t available = rows->lengths[source];
    const uint32_t count = length < available ? length : available;
    const int32_t *from = rows->table + (size_t)source * rows->context;
    int32_t *to = rows->table + (size_t)target * rows->context;
    // Counted before the target lets go of its own rows: they may be the same ones.
    for (uint32_t i = 0; i < count; i++) {
        rows->uses[from[i]]++;
    }
    kz_cache_rows_trim(rows, target, 0);
    memcpy(to, from, count * sizeof *to);
    rows->lengths[target] = count;
}
