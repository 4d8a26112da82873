// tokenizer_draft.h: a vocabulary while it is gathered: tokens, merges and patterns, in any order
// that a file has them, then a kz_tokenizer_source to build the section from.
#ifndef KZ_EXPORTER_CHECKPOINT_TOKENIZER_DRAFT_H
#define KZ_EXPORTER_CHECKPOINT_TOKENIZER_DRAFT_H

#include "base/alloc.h"
#include "format/tokenizer.h"

typedef struct kz_tokenizer_draft kz_tokenizer_draft;

// How a file spells a token.
typedef enum kz_token_spelling {
    KZ_SPELLED_RAW = 0,   // its text
    KZ_SPELLED_BYTES = 1, // GPT-2's printable stand-ins, a character for each byte
    KZ_SPELLED_MARKS = 2, // SentencePiece: U+2581 for a space
    KZ_SPELLED_HEX = 3,   // SentencePiece's byte tokens: <0x0A>
} kz_token_spelling;

// An empty draft for `token_count` tokens, all UNUSED and empty.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_create(kz_tokenizer_kind kind,
                                                          size_t token_count,
                                                          const kazeia_allocator *allocator,
                                                          kz_tokenizer_draft **out_draft);
void kz_tokenizer_draft_destroy(kz_tokenizer_draft *draft);

// Sets token `id`. `kind` holds kz_token_kind and bits. A token whose text is not what `spelling`
// allows keeps it and becomes UNUSED: merging cannot make it.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_set_token(kz_tokenizer_draft *draft, size_t id,
                                                             const char *text, size_t count,
                                                             kz_token_spelling spelling,
                                                             uint8_t kind, float score);

// After all tokens: adds the next merge by the texts of its halves, spelled as the NORMAL tokens
// were (all in one way). BAD_FILE when one of them or the whole is no such token.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_add_merge(kz_tokenizer_draft *draft,
                                                             const char *left, size_t left_count,
                                                             const char *right, size_t right_count);
// The same from one text, the halves apart by the first space that is not the first character.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_add_merge_line(kz_tokenizer_draft *draft,
                                                                  const char *line, size_t count);

// Adds a pattern in Oniguruma's syntax.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_add_pattern(kz_tokenizer_draft *draft,
                                                               const char *pattern);
// Adds the patterns and flags of a GGUF name.
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_add_named(kz_tokenizer_draft *draft,
                                                             const char *pretokenizer);

kz_tokenizer_kind kz_tokenizer_draft_kind(const kz_tokenizer_draft *draft);

// The source as gathered; flags, bos, eos and unknown may be changed before building. Valid until
// the next call with the draft.
kz_tokenizer_source *kz_tokenizer_draft_source(kz_tokenizer_draft *draft);

// Builds the section (format/tokenizer.h).
KAZEIA_MUST_CHECK kazeia_status kz_tokenizer_draft_build(kz_tokenizer_draft *draft,
                                                         uint8_t **out_bytes, size_t *out_count);

#endif
