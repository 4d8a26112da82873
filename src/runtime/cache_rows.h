// cache_rows.h: which cache rows each sequence sees.
//
// Works in numbers only: what a row holds lies in the states. One thread at a time. Sequences are
// below the count given at creation, which is not checked.
//
// Cache rows are numbered and counted: a fork shares its parent's past and takes rows of its own
// only for what comes after. The table is the row_table input of attention:
// row_table[sequence][position]. One object serves all caches of a context that have the same
// length (every layer's keys and values use the same row numbers).
#ifndef KZ_RUNTIME_CACHE_ROWS_H
#define KZ_RUNTIME_CACHE_ROWS_H

#include "base/alloc.h"

typedef struct kz_cache_rows kz_cache_rows;

// `rows`: as many as the states have; `context`: longest sequence; all memory is taken here.
KAZEIA_MUST_CHECK kazeia_status kz_cache_rows_create(uint32_t rows, uint32_t sequences,
                                                     uint32_t context,
                                                     const kazeia_allocator *allocator,
                                                     kz_cache_rows **out_rows);
// Bytes that creation takes; the largest number when they overflow.
uint64_t kz_cache_rows_bytes(uint32_t rows, uint32_t sequences, uint32_t context);
// NULL is fine.
void kz_cache_rows_destroy(kz_cache_rows *rows);

// [sequences][context] of row numbers; entries past a sequence's length are 0. The memory stays in
// place until destroy, so that a call may be bound to it once.
const int32_t *kz_cache_rows_table(const kz_cache_rows *rows);
// Tokens that the sequence holds.
uint32_t kz_cache_rows_length(const kz_cache_rows *rows, uint32_t sequence);
// All rows, and those that no sequence holds.
uint32_t kz_cache_rows_count(const kz_cache_rows *rows);
uint32_t kz_cache_rows_free(const kz_cache_rows *rows);

// Gives the sequence `count` rows more. Fails with BAD_ARGUMENT (context full) or BUSY (no rows
// left), saying how many there are; nothing is taken then.
KAZEIA_MUST_CHECK kazeia_status kz_cache_rows_extend(kz_cache_rows *rows, uint32_t sequence,
                                                     uint32_t count);
// Shortens to `length` (a longer one changes nothing).
void kz_cache_rows_trim(kz_cache_rows *rows, uint32_t sequence, uint32_t length);
// `target` becomes a copy of the first `length` positions of `source`, sharing their rows: it takes
// none. What it held before is given back; a `length` beyond the source's end means all of it. Rows
// that are shared must not be written again, so both go on by extend alone.
void kz_cache_rows_fork(kz_cache_rows *rows, uint32_t source, uint32_t target, uint32_t length);

#endif
