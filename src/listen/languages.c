// languages.c: which languages may be heard, and which one it is.
//   in   the user's list; the decoder's logits after its start token
//   out  an index into the program's languages
#include "listen/languages.h"

#include <string.h>

// Counted once, however often the list names it: one language must mean one.
static kazeia_status allow(kz_languages *languages, const char *code, size_t count) {
    for (size_t i = 0; i < languages->count; i++) {
        if (strlen(languages->codes[i]) == count && memcmp(languages->codes[i], code, count) == 0) {
            languages->allowed_count += !languages->is_allowed[i];
            languages->is_allowed[i] = true;
            return KAZEIA_OK;
        }
    }
    return kz_fail(KAZEIA_BAD_ARGUMENT,
                   "language: '%.*s' is none of the %zu languages of this program (ISO 639-1 codes "
                   "as 'fr' and 'en', or 'auto')",
                   (int)(count < 32 ? count : 32), code, languages->count);
}

static kazeia_status allow_list(kz_languages *languages, const char *wished) {
    const char *code = wished;
    for (;;) {
        const char *comma = strchr(code, ',');
        KZ_TRY(allow(languages, code, comma ? (size_t)(comma - code) : strlen(code)));
        if (!comma) {
            return KAZEIA_OK;
        }
        code = comma + 1;
    }
}

kazeia_status kz_languages_init(kz_languages *languages, const kz_program *program,
                                const char *wished) {
    size_t token_count = 0;
    *languages = (kz_languages){0};
    if (!kz_program_strings(program, "listen.languages", &languages->codes, &languages->count) ||
        !kz_program_integers(program, "listen.language_tokens", &languages->tokens, &token_count) ||
        // The two lists are read side by side, so they must be of one length. That each token is in
        // the vocabulary is checked where the tokens are read.
        token_count != languages->count || token_count == 0 || token_count > KZ_LANGUAGE_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: metadata 'listen.languages' and 'listen.language_tokens' do not "
                       "name 1 to %d languages",
                       KZ_LANGUAGE_LIMIT);
    }
    if (!wished || strcmp(wished, "auto") == 0) {
        memset(languages->is_allowed, true, languages->count);
        languages->allowed_count = languages->count;
        return KAZEIA_OK;
    }
    return allow_list(languages, wished);
}

static size_t first_allowed(const kz_languages *languages) {
    size_t first = 0;
    while (!languages->is_allowed[first]) {
        first++;
    }
    return first;
}

// Only the allowed languages compete: a decoder that prefers another is not asked. At least one is
// allowed, so the first search ends.
size_t kz_languages_detect(const kz_languages *languages, const float *logits) {
    size_t best = first_allowed(languages);
    for (size_t i = best + 1; languages->allowed_count > 1 && i < languages->count; i++) {
        if (languages->is_allowed[i] &&
            logits[languages->tokens[i]] > logits[languages->tokens[best]]) {
            best = i;
        }
    }
    return best;
}
