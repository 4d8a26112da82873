// tokenizer.h: the tokenizer section of a program: its bytes, a checked view of them, and a
// builder.
//
// The section is used as it lies in the mapped file: numbers are little-endian u32, parts follow in
// the order of kz_tokenizer_view's pointers, without gaps, so that no part's place is stored and
// none can be wrong. Token bytes are what a token stands for in the text: GPT-2's printable
// stand-ins for bytes and SentencePiece's U+2581 are undone by the exporter.
//
// Header (18 u32): magic "KZTK", version, kind, flags, token_count, vocabulary_bytes,
// max_token_bytes, merge_count, merge_slot_count, merge_probe_limit, piece_slot_count,
// piece_probe_limit, special_count, pattern_count, pattern_bytes, bos, eos, unknown.
#ifndef KZ_FORMAT_TOKENIZER_H
#define KZ_FORMAT_TOKENIZER_H

#include "base/alloc.h"
#include "format/program.h"

#define KZ_TOKENIZER_VERSION 1u
#define KZ_NO_TOKEN 0xffffffffu
#define KZ_TOKENIZER_COUNT_LIMIT (1u << 24) // tokens, merges
#define KZ_TOKEN_BYTES_LIMIT 65536u         // of one token
#define KZ_SPECIAL_BYTES_LIMIT 512u         // of one special token: bounds the search in a text
#define KZ_PATTERN_LIMIT 16u                // patterns
#define KZ_PATTERN_BYTES_LIMIT 16384u       // of all patterns, their NULs included
#define KZ_PROBE_LIMIT 256u                 // slots looked at for one key

typedef enum kz_tokenizer_kind {
    KZ_TOKENIZER_BYTE_BPE = 1,          // merges of byte sequences within pre-tokeniser pieces
    KZ_TOKENIZER_SENTENCEPIECE_BPE = 2, // merges of characters of a whole text; byte fallback
} kz_tokenizer_kind;

typedef enum kz_tokenizer_flag {
    KZ_TOKENIZER_NFC = 1,     // text is brought to NFC first
    KZ_TOKENIZER_ADD_BOS = 2, // the model's rule for whole prompts
    KZ_TOKENIZER_ADD_EOS = 4,
    KZ_TOKENIZER_SPACE_PREFIX = 8,  // kind 2: a space goes in front of text after a special token
    KZ_TOKENIZER_WHOLE_PIECES = 16, // kind 1: a piece that is a token is not merged up
    KZ_TOKENIZER_SPECIAL_IN_TEXT = 32, // control tokens are recognised in plain text too
    KZ_TOKENIZER_RANKED_MERGES = 64,   // kind 2: merges by the list, not by rank of the result
    KZ_TOKENIZER_PREFIX_ONCE = 128,    // kind 2: SPACE_PREFIX at the start of the whole text alone
    KZ_TOKENIZER_PREFIX_MISSING = 256, // kind 2: SPACE_PREFIX where no space begins the text
    KZ_TOKENIZER_FLAG_MASK = 511,
} kz_tokenizer_flag;

// What a token is; the low four bits of its kind byte.
typedef enum kz_token_kind {
    KZ_TOKEN_NORMAL = 0,
    KZ_TOKEN_CONTROL = 1, // recognised only where special tokens are parsed; never shown
    KZ_TOKEN_USER = 2,    // recognised in any text before all else
    KZ_TOKEN_BYTE = 3,    // kind 2: stands for one byte
    KZ_TOKEN_UNUSED = 4,  // never made from text
    KZ_TOKEN_UNKNOWN = 5,
    KZ_TOKEN_KIND_COUNT
} kz_token_kind;

#define KZ_TOKEN_KIND_MASK 15u
#define KZ_TOKEN_STRIPS_LEFT 16u  // white space before it belongs to it
#define KZ_TOKEN_STRIPS_RIGHT 32u // white space after it belongs to it
#define KZ_TOKEN_MERGED_ONLY 64u  // a USER token that merging makes; not searched for in raw text

typedef struct kz_tokenizer_merge {
    uint32_t left, right, merged; // tokens
} kz_tokenizer_merge;

// Pointers lie in the section; a merge's rank is its place in `merges`.
typedef struct kz_tokenizer_view {
    kz_tokenizer_kind kind;
    uint32_t flags;
    uint32_t token_count;
    uint32_t vocabulary_bytes;
    uint32_t max_token_bytes;
    uint32_t merge_count, merge_slot_count, merge_probe_limit;
    uint32_t piece_slot_count, piece_probe_limit;
    uint32_t special_count;
    uint32_t pattern_count, pattern_bytes;
    uint32_t bos, eos, unknown;       // KZ_NO_TOKEN when absent
    const uint32_t *byte_tokens;      // [256] the token of each byte, or KZ_NO_TOKEN
    const uint32_t *offsets;          // [token_count + 1] into vocabulary
    const uint32_t *ranks;            // kind 2: [token_count] smaller merges first; else NULL
    const kz_tokenizer_merge *merges; // kind 1 and RANKED_MERGES: [merge_count]
    const uint32_t *merge_slots;      // [merge_slot_count] merges by hash of (left, right)
    const uint32_t *piece_slots;      // [piece_slot_count] tokens by hash of their bytes
    const uint32_t *specials;         // [special_count] CONTROL and USER tokens, by their bytes
    const uint8_t *token_kinds;       // [token_count]
    const char *patterns;             // pattern_count texts in PCRE2's syntax, each with its NUL
    const uint8_t *vocabulary;        // [vocabulary_bytes]
} kz_tokenizer_view;

// Checks all of a section (hostile input) in one pass without allocating. The section must start at
// a multiple of 4 and outlive the view.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_view_open(const kz_bytes *section,
                                                       kz_tokenizer_view *out_view);

// Bytes of a token; `token` < token_count.
kz_bytes kz_tokenizer_view_token(const kz_tokenizer_view *view, uint32_t token);
kz_token_kind kz_tokenizer_view_kind(const kz_tokenizer_view *view, uint32_t token);

// The rank of the merge of (left, right), or KZ_NO_TOKEN.
uint32_t kz_tokenizer_view_find_merge(const kz_tokenizer_view *view, uint32_t left, uint32_t right);
// The token that merging may make with exactly these bytes, or KZ_NO_TOKEN: NORMAL ones, for kind 2
// MERGED_ONLY ones too.
uint32_t kz_tokenizer_view_find_piece(const kz_tokenizer_view *view, const uint8_t *bytes,
                                      size_t count);
// The longest CONTROL (when `with_control`) or USER token at the start of `bytes`, or KZ_NO_TOKEN.
uint32_t kz_tokenizer_view_match_special(const kz_tokenizer_view *view, const uint8_t *bytes,
                                         size_t count, bool with_control);

// Hashes of the two slot tables. A table has a power of two of slots; a key's slots are those from
// the hash's low 32 bits modulo the count onwards, round the end, at most the probe limit; a free
// slot (KZ_NO_TOKEN) ends the search. The pair's hash, modulo 2^64: h = (left * 2^32 + right) *
// 0x9e3779b97f4a7c15; h ^= h >> 29; h *= 0xbf58476d1ce4e5b9; h ^= h >> 32.
uint64_t kz_tokenizer_pair_hash(uint32_t left, uint32_t right);
uint64_t kz_tokenizer_piece_hash(const uint8_t *bytes, size_t count); // FNV-1a, 64 bits

// The places of the parts follow from the header's counts: sets the view's pointers into `section`
// (to NULL when that is NULL) and returns the size that the whole must have.
#define KZ_TOKENIZER_HEADER_WORDS 18u
#define KZ_TOKENIZER_MAGIC 0x4b545a4bu // "KZTK"
uint64_t kz_tokenizer_view_place(kz_tokenizer_view *view, const uint8_t *section);

// --- Builder (the exporter's side) --------------------------------------------------------------
typedef struct kz_tokenizer_token {
    const uint8_t *bytes;
    uint32_t count;
    uint8_t kind; // kz_token_kind and KZ_TOKEN_ bits
    float score;  // kind 2: larger merges first; ties are one rank
} kz_tokenizer_token;

typedef struct kz_tokenizer_source {
    kz_tokenizer_kind kind;
    uint32_t flags;
    uint32_t bos, eos, unknown;
    const char *const *patterns;
    uint32_t pattern_count;
    const kz_tokenizer_token *tokens;
    uint32_t token_count;
    const kz_tokenizer_merge *merges; // in order of rank; of two with one pair the first counts
    uint32_t merge_count;
} kz_tokenizer_source;

// The section's bytes, aligned to KZ_ALIGNMENT; free with kz_free_aligned. Fails with UNSUPPORTED
// or BAD_FILE when the vocabulary cannot be stated.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_build(const kz_tokenizer_source *source,
                                                   const kazeia_allocator *allocator,
                                                   uint8_t **out_bytes, size_t *out_count);

#endif
