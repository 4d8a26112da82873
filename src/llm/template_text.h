// template_text.h: what templates do with strings, as Python's str does it.
//
// in:  strings with origins (template_value.h)
// out: the same; whatever is cut out of content stays content
#ifndef KZ_LLM_TEMPLATE_TEXT_H
#define KZ_LLM_TEMPLATE_TEXT_H

#include "llm/template_value.h"

// Strips characters of `set` (NULL: white space) from the ends that are asked for.
KAZEIA_MUST_CHECK kazeia_status kz_string_strip(kz_heap *heap, const kz_variant *string,
                                                const kz_variant *set, bool at_start, bool at_end,
                                                kz_variant *out_value);
// At `separator` (NULL: runs of white space), at most `most` times (below 0: as often as it is
// there), from the right when `from_right`. A list.
KAZEIA_MUST_CHECK kazeia_status kz_string_split(kz_heap *heap, const kz_variant *string,
                                                const kz_variant *separator, int64_t most,
                                                bool from_right, kz_variant *out_value);
// The first `most` places of `old` (below 0: all). What replaces content is content.
KAZEIA_MUST_CHECK kazeia_status kz_string_replace(kz_heap *heap, const kz_variant *string,
                                                  const kz_variant *old, const kz_variant *new_text,
                                                  int64_t most, kz_variant *out_value);
// Elements of a list as str(), with the string between them.
KAZEIA_MUST_CHECK kazeia_status kz_string_join(kz_heap *heap, const kz_variant *between,
                                               const kz_variant *items, uint32_t count,
                                               kz_variant *out_value);

typedef enum kz_letter_case {
    KZ_CASE_UPPER,
    KZ_CASE_LOWER,
    KZ_CASE_TITLE,      // the first letter of each word is a capital, the others are small
    KZ_CASE_CAPITALIZE, // the first letter of the string
} kz_letter_case;
// `joins_words`: only white space and -({[< part the words of a title (Jinja's filter; Python's
// method takes all that is no letter).
KAZEIA_MUST_CHECK kazeia_status kz_string_case(kz_heap *heap, const kz_variant *string,
                                               kz_letter_case letter_case, bool joins_words,
                                               kz_variant *out_value);
// `width` spaces in front of each line but the first (with `first`: it too) and, unless `blank`,
// but empty ones.
KAZEIA_MUST_CHECK kazeia_status kz_string_indent(kz_heap *heap, const kz_variant *string,
                                                 const kz_variant *indent, bool first, bool blank,
                                                 kz_variant *out_value);

// The place of the first `needle` at or after `from`, or UINT32_MAX.
uint32_t kz_string_find(const kz_variant *string, const kz_variant *needle, uint32_t from);
bool kz_string_starts_with(const kz_variant *string, const kz_variant *prefix);
bool kz_string_ends_with(const kz_variant *string, const kz_variant *suffix);
// Characters, not bytes.
uint32_t kz_string_length(const kz_variant *string);
// The byte at which character `index` begins; the end for any index beyond it.
uint32_t kz_string_offset(const kz_variant *string, uint32_t index);

#endif
