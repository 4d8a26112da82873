// spoken_look.c: what stands where in a segment.
//
// in:  a segment and a place. out: characters, words, numbers of digits.
// A segment ends with a NUL, which is no letter, digit or space: so looking one byte ahead needs no
// test for the end.
#include <string.h>

#include "text/spoken_words.h"

uint32_t kz_words_char(const kz_words *w, size_t at) {
    return at < w->count ? kz_utf8_read_last(w->segment + at, w->count - at).code_point : 0;
}

uint32_t kz_words_char_before(const kz_words *w, size_t at) {
    size_t start = at;
    if (at == 0) {
        return 0;
    }
    do {
        start--;
    } while (start > 0 && ((unsigned char)w->segment[start] & 0xc0) == 0x80);
    return kz_utf8_read_last(w->segment + start, at - start).code_point;
}

bool kz_char_is_alnum(uint32_t c) {
    if (c < 0x80) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    return kz_char_is_letter(c);
}

bool kz_words_is_letter(const kz_words *w, size_t at) {
    const uint32_t c = kz_words_char(w, at);
    return kz_char_is_alnum(c) && !(c >= '0' && c <= '9');
}

bool kz_words_is_alnum(const kz_words *w, size_t at) {
    return kz_char_is_alnum(kz_words_char(w, at));
}

// Runs of white space are one space by now.
size_t kz_words_skip_space(const kz_words *w, size_t at) {
    return w->segment[at] == ' ' && at < w->count ? at + 1 : at;
}

size_t kz_words_back_space(const kz_words *w, size_t at) {
    return at > 0 && w->segment[at - 1] == ' ' ? at - 1 : at;
}

size_t kz_words_digits(const kz_words *w, size_t at) {
    size_t end = at;
    while (end < w->count && end - at < KZ_WORDS_DIGITS && w->segment[end] >= '0' &&
           w->segment[end] <= '9') {
        end++;
    }
    return end - at;
}

uint32_t kz_words_value(const kz_words *w, size_t at, size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        value = value * 10 + (uint32_t)(w->segment[at + i] - '0');
    }
    return value;
}

size_t kz_words_match(const kz_words *w, size_t at, const char *text, bool any_first) {
    const size_t count = strlen(text);
    if (at + count > w->count) {
        return 0;
    }
    const char first = w->segment[at];
    const char lower = any_first && first >= 'A' && first <= 'Z' ? (char)(first + 32) : first;
    const bool is_same = lower == text[0] && memcmp(w->segment + at + 1, text + 1, count - 1) == 0;
    return is_same ? count : 0;
}

size_t kz_words_word_end(const kz_words *w, size_t at) {
    const size_t most = at + KZ_WORDS_PART_BYTES < w->count ? at + KZ_WORDS_PART_BYTES : w->count;
    while (at < most) {
        const kz_utf8_char c = kz_utf8_read_last(w->segment + at, w->count - at);
        if (!kz_char_is_alnum(c.code_point) || (c.code_point >= '0' && c.code_point <= '9')) {
            break;
        }
        at += c.length;
    }
    return at;
}

// Looks back no further than a word of the lists may be long.
size_t kz_words_word_start(const kz_words *w, size_t end) {
    size_t at = end;
    while (at > 0 && end - at < KZ_WORDS_WORD_BYTES) {
        const uint32_t c = kz_words_char_before(w, at);
        if (!kz_char_is_alnum(c) || (c >= '0' && c <= '9')) {
            break;
        }
        do {
            at--;
        } while (at > 0 && ((unsigned char)w->segment[at] & 0xc0) == 0x80);
    }
    return at;
}

static void fold(const kz_words *w, size_t at, size_t end, char out[KZ_WORDS_WORD_BYTES]) {
    size_t count = 0;
    if (end - at < KZ_WORDS_WORD_BYTES / 2) {
        count = kz_text_fold(w->segment + at, end - at, out, KZ_WORDS_WORD_BYTES - 1);
    }
    out[count == SIZE_MAX ? 0 : count] = '\0';
}

void kz_words_word(const kz_words *w, size_t at, char out[KZ_WORDS_WORD_BYTES]) {
    fold(w, at, kz_words_word_end(w, at), out);
}

void kz_words_word_before(const kz_words *w, size_t at, char out[KZ_WORDS_WORD_BYTES]) {
    const size_t end = kz_words_back_space(w, at);
    fold(w, kz_words_word_start(w, end), end, out);
}

bool kz_words_is_listed_count(const char *list, const char *word, size_t count) {
    char key[KZ_WORDS_WORD_BYTES + 3] = " ";
    if (count == 0 || count > KZ_WORDS_WORD_BYTES) {
        return false;
    }
    memcpy(key + 1, word, count);
    memcpy(key + 1 + count, " ", 2);
    return strstr(list, key) != NULL;
}

bool kz_words_is_listed(const char *list, const char *word) {
    return kz_words_is_listed_count(list, word, strlen(word));
}

bool kz_words_ends_here(const kz_words *w, size_t at) {
    while (at < w->count && strchr(" )\"]}", w->segment[at]) != NULL) {
        at++;
    }
    return at >= w->count;
}
