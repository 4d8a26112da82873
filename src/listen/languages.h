// languages.h: which languages may be heard, and which one it is.
#ifndef KZ_LISTEN_LANGUAGES_H
#define KZ_LISTEN_LANGUAGES_H

#include "runtime/load.h"

#define KZ_LANGUAGE_LIMIT 128

typedef struct kz_languages {
    const char *const *codes; // of the program, [count]
    const int64_t *tokens;    // [count]
    size_t count;
    bool is_allowed[KZ_LANGUAGE_LIMIT];
    size_t allowed_count;
} kz_languages;

// `wished`: "auto" (all), one code, or several separated by commas (an allow-list: a detector that
// may say anything hears Latin in short clips). BAD_ARGUMENT names an unknown code and the known
// ones.
KAZEIA_MUST_CHECK kazeia_status kz_languages_init(kz_languages *languages,
                                                  const kz_program *program, const char *wished);

// The allowed language whose token has the largest logit. Where only one is allowed the logits are
// not read and may be NULL.
size_t kz_languages_detect(const kz_languages *languages, const float *logits);

#endif
