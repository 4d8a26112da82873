// tokenizer_fixture.h: vocabularies for the tokenizer's tests, and an allocator that counts.
#ifndef KZ_TOKENIZER_FIXTURE_H
#define KZ_TOKENIZER_FIXTURE_H

#include <jansson.h>

#include "format/tokenizer.h"

#define GPT2_FOLDER "tests/golden/tokenizer/gpt-2"

// Memory that is counted, and refused from the `fail_at`-th call on (0: never).
typedef struct counting_allocator {
    kazeia_allocator allocator;
    size_t call_count;
    size_t live_count;
    size_t fail_at;
} counting_allocator;

void counting_allocator_init(counting_allocator *counting);

// GPT-2's section from tests/golden; ends the program when it cannot be made. Freed by
// free_section.
kz_bytes make_gpt2_section(void);
// A small SentencePiece vocabulary: <unk> <s> </s>, the bytes, and a few pieces.
kz_bytes make_small_spm_section(uint32_t flags);
// A small byte-level vocabulary with patterns: the bytes, "ab", "abc", "bc", special tokens.
kz_bytes make_small_byte_section(uint32_t flags, const char *const *patterns,
                                 uint32_t pattern_count);
// From a checkpoint (GGUF) or a tokenizer.json; count 0 and a printed sentence when it is not
// there.
kz_bytes make_model_section(const char *name, uint32_t more_flags);
void free_section(kz_bytes section);

// A whole file, NUL-terminated; ends the program when there is none.
char *read_whole_file(const char *path, size_t *out_count);

#endif
