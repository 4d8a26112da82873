// command_text.c: normalising a transcript.
//
// in: a transcript. out: folded text. Punctuation is only removed at the ends of words: "20,5" and
// "1.5" are numbers, "s.v.p." keeps its dots since they are what makes it a word.
#include "text/command_text.h"

#include <string.h>

// Ellipsis, inverted marks, dashes, guillemets and curly quotes by number: a source of ASCII needs
// no editor that shows them.
static bool is_word_end_sign(uint32_t c) {
    switch (c) {
    case '.':
    case ',':
    case ';':
    case ':':
    case '!':
    case '?':
    case '"':
    case 0x2026:
    case 0xbf:
    case 0xa1:
    case 0x2013:
    case 0x2014:
    case 0xab:
    case 0xbb:
    case 0x201c:
    case 0x201d:
        return true;
    default:
        return false;
    }
}

// "s.v.p.": single letters, each with its dot.
static bool is_dotted(const char *word, size_t count) {
    size_t letters = 0;
    for (size_t at = 0; at < count; letters++) {
        const kz_utf8_char c = kz_utf8_read_last(word + at, count - at);
        at += c.length;
        if (!c.is_valid || !kz_char_is_letter(c.code_point) || at >= count || word[at] != '.') {
            return false;
        }
        at++;
    }
    return letters > 1;
}

// Backwards at most four bytes, the longest character.
static kz_utf8_char last_char(const char *word, size_t count) {
    size_t start = count;
    while (start > 0 && count - start < 4) {
        start--;
        const kz_utf8_char c = kz_utf8_read(word + start, count - start);
        if (c.is_valid && c.length == count - start) {
            return c;
        }
    }
    return (kz_utf8_char){KZ_REPLACEMENT_CHARACTER, 1, false};
}

static kz_text_view strip_word(kz_text_view word) {
    if (is_dotted(word.bytes, word.count)) {
        return word;
    }
    while (word.count > 0) {
        const kz_utf8_char first = kz_utf8_read_last(word.bytes, word.count);
        if (first.is_valid && !is_word_end_sign(first.code_point)) {
            break;
        }
        word.bytes += first.length;
        word.count -= first.length;
    }
    while (word.count > 0) {
        const kz_utf8_char last = last_char(word.bytes, word.count);
        if (last.is_valid && !is_word_end_sign(last.code_point)) {
            break;
        }
        word.count -= last.length;
    }
    return word;
}

// Appends one character in both forms. A combining mark is composed with what stands before it.
static bool add_char(kz_command_text *text, kz_text_view bytes) {
    char pair[16];
    size_t from = text->count;
    const bool has_base = text->count > 0 && text->folded[text->count - 1] != ' ';
    // To the first byte of the last character: a mark is folded together with its base, since NFC
    // may make one of the two.
    while (has_base && from > 0 && ((unsigned char)text->folded[--from] & 0xc0u) == 0x80u) {
    }
    const size_t base = text->count - from;
    memcpy(pair, text->folded + from, base);
    memcpy(pair + base, bytes.bytes, bytes.count);
    const size_t folded =
        kz_text_fold(pair, base + bytes.count, text->folded + from, KZ_COMMAND_TEXT_BYTES - from);
    if (folded == SIZE_MAX || text->written_count + bytes.count > sizeof text->written - 1) {
        return false;
    }
    memcpy(text->written + text->written_count, bytes.bytes, bytes.count);
    // A composed character may be shorter than its two parts; then no byte is new and none needs an
    // origin.
    for (size_t i = text->count; i < from + folded; i++) {
        text->origin[i] = (uint16_t)text->written_count;
    }
    text->count = from + folded;
    text->written_count += bytes.count;
    // One more than there are bytes: the end of a range is looked up like its beginning.
    text->origin[text->count] = (uint16_t)text->written_count;
    return true;
}

static bool add_word(kz_command_text *text, kz_text_view word) {
    if (word.count > 0 && text->count > 0 && !add_char(text, (kz_text_view){" ", 1})) {
        return false;
    }
    for (size_t at = 0; at < word.count;) {
        const kz_utf8_char c = kz_utf8_read_last(word.bytes + at, word.count - at);
        if (c.is_valid && !add_char(text, (kz_text_view){word.bytes + at, c.length})) {
            return false;
        }
        at += c.length;
    }
    return true;
}

bool kz_command_text_prepare(const char *transcript, kz_command_text *out_text) {
    const size_t count = strlen(transcript);
    out_text->count = 0;
    out_text->written_count = 0;
    out_text->origin[0] = 0;
    for (size_t at = 0; at < count;) {
        size_t end = at;
        kz_utf8_char c = kz_utf8_read_last(transcript + end, count - end);
        while (end < count && !kz_char_is_space(c.code_point)) {
            end += c.length;
            c = kz_utf8_read_last(transcript + end, count - end);
        }
        // Too long for the room is too long for a command: the caller treats it as none, and the
        // sentence goes to the language model.
        if (!add_word(out_text, strip_word((kz_text_view){transcript + at, end - at}))) {
            return false;
        }
        at = end + (end < count ? c.length : 0);
    }
    return true;
}

size_t kz_command_text_said(const kz_command_text *text, size_t start, size_t end, char *out,
                            size_t capacity) {
    size_t used = 0;
    for (size_t at = start; at < end;) {
        const size_t next = at + kz_utf8_read_last(text->folded + at, text->count - at).length;
        // Folded and written text differ in length ("ẞ" and "ß"), so each is walked by its own
        // characters.
        const size_t from = text->origin[at];
        size_t length = text->origin[next] - from; // with combining marks; too long over a gap
        if (text->origin[next] < from || length == 0 || length > 12 ||
            memchr(text->written + from + 1, ' ', length - 1) != NULL) {
            length = kz_utf8_read_last(text->written + from, text->written_count - from).length;
        }
        if (used + length >= capacity) {
            break;
        }
        memcpy(out + used, text->written + from, length);
        used += length;
        at = next;
    }
    out[used] = '\0';
    return used;
}

// ---- skip words

// Whole words only: "s'il te plaît" is skipped, and "le" not inside "lettre". The list is sorted,
// longest first.
static size_t skip_word_at(const kz_command_text *text, size_t at, const kz_text_view *words,
                           uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const size_t end = at + words[i].count;
        if (end <= text->count && memcmp(text->folded + at, words[i].bytes, words[i].count) == 0 &&
            (end == text->count || text->folded[end] == ' ')) {
            return words[i].count;
        }
    }
    return 0;
}

static void copy_range(const kz_command_text *from, size_t start, size_t end, kz_command_text *to) {
    for (size_t i = start; i < end; i++) {
        to->folded[to->count] = from->folded[i];
        to->origin[to->count++] = from->origin[i];
    }
    to->origin[to->count] = from->origin[end];
}

// Where a skip word at the text's end begins; the text's count when there is none.
static size_t skip_at_end(const kz_command_text *text, const kz_text_view *words, uint32_t count) {
    for (size_t at = 0; at < text->count; at++) {
        if (at == 0 || text->folded[at - 1] == ' ') {
            const size_t length = skip_word_at(text, at, words, count);
            if (length > 0 && at + length == text->count) {
                return at;
            }
        }
    }
    return text->count;
}

static bool skip_ends(kz_command_text *text, const kz_text_view *words, uint32_t count) {
    bool is_changed = false;
    for (;;) {
        const size_t at = skip_at_end(text, words, count);
        if (at == text->count) {
            return is_changed;
        }
        // With the space before it, so that the next round finds the end of a word.
        text->count = at > 0 ? at - 1 : 0;
        is_changed = true;
    }
}

bool kz_command_text_skip(const kz_command_text *text, const kz_text_view *skip_words,
                          uint32_t skip_count, kz_skip_where where, kz_command_text *out_text) {
    bool is_changed = false, is_open = true;
    memcpy(out_text->written, text->written, text->written_count);
    out_text->written_count = text->written_count;
    out_text->count = 0;
    out_text->origin[0] = 0;
    for (size_t at = 0; at < text->count;) {
        const bool may_skip = where == KZ_SKIP_ALL || (where == KZ_SKIP_AT_START && is_open);
        const size_t length = may_skip ? skip_word_at(text, at, skip_words, skip_count) : 0;
        size_t end = at + length;
        if (length == 0) {
            is_open = false;
            while (end < text->count && text->folded[end] != ' ') {
                end++;
            }
            if (out_text->count > 0) {
                // The space before the word, which a word at the start does not have.
                copy_range(text, at - 1, at, out_text);
            }
            copy_range(text, at, end, out_text);
        }
        is_changed = is_changed || length > 0;
        at = end + 1;
    }
    return where == KZ_SKIP_AT_END ? skip_ends(out_text, skip_words, skip_count) : is_changed;
}
