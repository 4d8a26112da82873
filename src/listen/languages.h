// languages.h: which languages may be heard, and which one it is.
#ifndef KZ_LISTEN_LANGUAGES_H
#define KZ_LISTEN_LANGUAGES_H

#include "runtime/load.h"

#define KZ_LANGUAGE_LIMIT 128

// Points into the program, which must outlive it; needs no clearing.
typedef struct kz_languages {
    const char *const *codes; // of the program, [count]
    const int64_t *tokens;    // [count]: of the decoder's vocabulary, in the order of the codes
    size_t count;
    bool is_allowed[KZ_LANGUAGE_LIMIT];
    size_t allowed_count;
} kz_languages;

// `wished`: "auto" (all), one code, or several separated by commas (an allow-list: a detector that
// may say anything hears Latin in short clips). NULL counts as "auto". BAD_ARGUMENT names a code
// that is none of the program's; BAD_FILE when its metadata names no languages or too many.
KAZEIA_MUST_CHECK kazeia_status kz_languages_init(kz_languages *languages,
                                                  const kz_program *program, const char *wished);

// Index of the allowed language whose token has the largest logit; `logits` [vocabulary] are those
// after the start token. Where only one is allowed the logits are not read and may be NULL.
size_t kz_languages_detect(const kz_languages *languages, const float *logits);

#endif
