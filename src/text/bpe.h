// bpe.h: merges the symbols of one piece of text into tokens, best pair first.
//
// in:  a piece (byte-level BPE: what the pre-tokeniser cut; SentencePiece: a whole text)
// out: token ids
//
// Both kinds do the same: symbols in a linked list, pairs in a heap ordered by rank, then by place;
// only how a pair's rank is found differs. n symbols cost O(n log n), whatever they are. The merges
// are those of Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
// Units", 2016.
#ifndef KZ_TEXT_BPE_H
#define KZ_TEXT_BPE_H

#include "base/alloc.h"
#include "format/tokenizer.h"

typedef struct kz_bpe kz_bpe;

// Where tokens go: the caller's array, counted on beyond its end so that the caller learns the
// need.
typedef struct kz_token_list {
    uint32_t *ids; // [capacity]
    size_t capacity;
    size_t count;
} kz_token_list;

// Beyond the capacity it only counts.
void kz_token_list_append(kz_token_list *list, uint32_t id);

// Room for pieces of up to `max_bytes` bytes; `view` must outlive it. Merging never allocates. One
// thread at a time. BAD_ARGUMENT for 4 GB and more, OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_bpe_create(const kz_tokenizer_view *view, size_t max_bytes,
                                              const kazeia_allocator *allocator, kz_bpe **out_bpe);
// NULL is fine.
void kz_bpe_destroy(kz_bpe *bpe);

// Bytes of memory that a kz_bpe for `max_bytes` takes; SIZE_MAX when that cannot be counted.
size_t kz_bpe_bytes(size_t max_bytes);

// `count` is at most max_bytes. Byte-level: bytes without a token are left out, as Hugging Face's
// library does. SentencePiece: characters without a piece become byte tokens, or the unknown token.
void kz_bpe_encode(kz_bpe *bpe, const uint8_t *piece, size_t count, kz_token_list *list);

// Pairs looked up and taken from the heap since creation: what the work is measured by.
uint64_t kz_bpe_step_count(const kz_bpe *bpe);

#endif
