// tokenizer_patterns.h: pre-tokenisers, by GGUF's names for them or as a tokenizer.json writes
// them.
//
// in:  a name ("qwen2"), or a pattern in the syntax of Oniguruma, Hugging Face's library
// out: patterns in PCRE2's syntax
#ifndef KZ_EXPORTER_CHECKPOINT_TOKENIZER_PATTERNS_H
#define KZ_EXPORTER_CHECKPOINT_TOKENIZER_PATTERNS_H

#include "base/text_buffer.h"
#include "format/tokenizer.h"

typedef struct kz_named_pretokenizer {
    const char *name;        // GGUF's tokenizer.ggml.pre
    uint32_t flags;          // kz_tokenizer_flag that the name implies
    const char *patterns[8]; // Oniguruma's syntax, ended by NULL
} kz_named_pretokenizer;

// UNSUPPORTED says which names are known.
KAZEIA_MUST_CHECK kazeia_status kz_find_pretokenizer(const char *name,
                                                     const kz_named_pretokenizer **out_found);

// GPT-2's pattern, which a tokenizer.json's ByteLevel implies.
const char *kz_gpt2_pattern(void);

// Appends `pattern` in PCRE2's syntax (without a NUL). UNSUPPORTED names what means another thing
// there and is not rewritten.
KAZEIA_MUST_CHECK kazeia_status kz_translate_pattern(const char *pattern, kz_text_buffer *out);

#endif
