// spoken_tags.c: angle brackets and ampersands: HTML tags, special tokens, hidden blocks, entities.
//
// in: a window that starts with '<' or '&', or lies in a hidden block. out: nothing, a decoded
// character, or the sign itself when it opens nothing. "a < b" and "si a<b et c>d" are text: a tag
// with words inside must be written with '='.
#include <string.h>

#include "text/spoken_state.h"

enum { TAG_BYTES = 256, TOKEN_BYTES = 64, ENTITY_BYTES = 12, NAME_BYTES = 24 };

static const struct hidden_block {
    const char *name, *until;
    // What is not meant for the ear: a model's thinking, calls of tools, code inside a page.
} hidden_blocks[] = {
    {"think", "</think>"},   {"thinking", "</thinking>"}, {"tool_call", "</tool_call>"},
    {"script", "</script>"}, {"style", "</style>"},
};

// Tags that part words; all others ("<b>", "<sup>") are dropped without a trace.
static const char line_tags[] = " br p div li ul ol tr table hr blockquote h1 h2 h3 h4 h5 h6 ";
static const char cell_tags[] = " td th ";
// Tokens that a role's name follows.
static const char role_tokens[] = " im_start start_of_turn start_header_id ";

static const struct entity {
    const char *name;
    uint32_t code_point;
    // The ones that French and English pages use; an unknown one is read as it is written.
} entities[] = {
    {"amp", '&'},       {"lt", '<'},        {"gt", '>'},       {"quot", '"'},     {"apos", '\''},
    {"nbsp", 0xa0},     {"eacute", 0xe9},   {"egrave", 0xe8},  {"ecirc", 0xea},   {"euml", 0xeb},
    {"agrave", 0xe0},   {"acirc", 0xe2},    {"ccedil", 0xe7},  {"icirc", 0xee},   {"iuml", 0xef},
    {"ocirc", 0xf4},    {"ugrave", 0xf9},   {"ucirc", 0xfb},   {"uuml", 0xfc},    {"oelig", 0x153},
    {"Eacute", 0xc9},   {"Egrave", 0xc8},   {"Agrave", 0xc0},  {"Ccedil", 0xc7},  {"euro", 0x20ac},
    {"deg", 0xb0},      {"hellip", 0x2026}, {"ndash", 0x2013}, {"mdash", 0x2014}, {"laquo", 0xab},
    {"raquo", 0xbb},    {"lsquo", 0x2018},  {"rsquo", 0x2019}, {"ldquo", 0x201c}, {"rdquo", 0x201d},
    {"times", 0xd7},    {"copy", 0xa9},     {"reg", 0xae},     {"trade", 0x2122}, {"middot", 0xb7},
    {"thinsp", 0x2009}, {"pound", 0xa3},    {"sect", 0xa7},    {"frac12", 0xbd},  {"plusmn", 0xb1},
};

static char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static bool is_listed(const char *list, const char *name) {
    char key[NAME_BYTES + 3] = " ";
    const size_t count = strlen(name);
    memcpy(key + 1, name, count);
    memcpy(key + 1 + count, " ", 2);
    return count > 0 && strstr(list, key) != NULL;
}

static size_t literal(kz_spoken_stream *s, uint32_t sign) {
    kz_spoken_put(s, sign);
    return 1;
}

static bool may_wait(kz_spoken_window window, size_t limit) {
    return !window.is_final && window.count < limit;
}

// ---- hidden blocks

size_t kz_spoken_read_hidden(kz_spoken_stream *s, kz_spoken_window window) {
    // All that comes before its first byte is dropped at once: a block may be megabytes long, and
    // each byte is looked at once.
    const char *until = s->state.hidden_until;
    const char *start = memchr(window.bytes, until[0], window.count);
    if (start == NULL) {
        return window.count;
    }
    if (start > window.bytes) {
        return (size_t)(start - window.bytes);
    }
    size_t same = 0;
    while (same < window.count && until[same] != '\0' && to_lower(start[same]) == until[same]) {
        same++;
    }
    if (until[same] == '\0') {
        s->state.hidden_until = NULL;
        return same;
    }
    // The window ends inside what may be the end: wait. Else this byte was no end, and one is
    // consumed.
    return same == window.count && !window.is_final ? 0 : 1;
}

// ---- tags

typedef struct tag {
    size_t length; // with the brackets; 0: no tag
    bool is_cut;   // the window ends inside what may be a tag
    bool is_closing;
    bool is_link; // <https://...> or <a@b.c>
    char name[NAME_BYTES + 1];
} tag;

static size_t read_name(kz_spoken_window window, size_t at, tag *found) {
    size_t count = 0;
    while (at < window.count && is_name_char(window.bytes[at])) {
        // Longer names are cut: they match no list, but their end is found.
        if (count < NAME_BYTES) {
            found->name[count++] = to_lower(window.bytes[at]);
        }
        at++;
    }
    found->name[count] = '\0';
    return at;
}

// What stands between the name and '>' decides: nothing, attributes with '=', or a link. Written by
// people: "<b>" has nothing inside, "<a href=...>" an equals sign after a space, "<https://...>" no
// space at all.
static bool is_tag_inside(const char *inside, size_t count, const tag *found, bool *out_is_link) {
    size_t spaces = 0, letters = 0;
    bool has_equals = false, has_at = false, has_scheme = false;
    for (size_t i = 0; i < count; i++) {
        spaces += inside[i] == ' ';
        letters += inside[i] != ' ' && inside[i] != '/';
        has_equals = has_equals || inside[i] == '=';
        has_at = has_at || inside[i] == '@';
        has_scheme = has_scheme || (inside[i] == ':' && !found->is_closing);
    }
    *out_is_link = spaces == 0 && (has_at || has_scheme) && found->name[0] != '\0';
    return *out_is_link || (found->name[0] != '\0' && (letters == 0 || (has_equals && spaces > 0)));
}

static tag parse_tag(kz_spoken_window window) {
    tag found = {0};
    size_t at = 1;
    if (at < window.count && window.bytes[at] == '/') {
        found.is_closing = true;
        at++;
    }
    const size_t inside = read_name(window, at, &found);
    const size_t limit = window.count < TAG_BYTES ? window.count : TAG_BYTES;
    for (at = inside; at < limit; at++) {
        const char c = window.bytes[at];
        if (c == '>') {
            const bool is_tag =
                is_tag_inside(window.bytes + inside, at - inside, &found, &found.is_link);
            found.length = is_tag ? at + 1 : 0;
            return found;
        }
        // A tag of a chat reply stays in its line; "<" followed by no name is a comparison.
        if (c == '<' || c == '\n' || (found.name[0] == '\0')) {
            return found;
        }
    }
    // Or longer than TAG_BYTES: then it is no tag, since waiting has an end.
    found.is_cut = true;
    return found;
}

static void apply_tag(kz_spoken_stream *s, const tag *found) {
    for (size_t i = 0; i < sizeof hidden_blocks / sizeof hidden_blocks[0]; i++) {
        if (!found->is_closing && strcmp(hidden_blocks[i].name, found->name) == 0) {
            s->state.hidden_until = hidden_blocks[i].until;
        }
    }
    if (is_listed(line_tags, found->name)) {
        kz_spoken_end_line(s);
    } else if (is_listed(cell_tags, found->name) && s->state.space < KZ_SPACE_LINE) {
        kz_spoken_owe(s, KZ_SPACE_COMMA);
    }
    // The role stands after the token as plain letters: "<|im_start|>assistant".
    s->state.is_in_role = !found->is_closing && is_listed(role_tokens, found->name);
}

// ---- special tokens: <|name|>, with the bar of ASCII or the full-width one

static size_t bar_length(kz_spoken_window window, size_t at) {
    if (at < window.count && window.bytes[at] == '|') {
        return 1;
    }
    return at + 3 <= window.count && memcmp(window.bytes + at, "\xef\xbd\x9c", 3) == 0 ? 3 : 0;
}

static size_t read_token(kz_spoken_stream *s, kz_spoken_window window, size_t bar) {
    tag found = {0};
    // Of the whole window, before it is shortened to what a token may be.
    const bool is_waiting = may_wait(window, TOKEN_BYTES);
    window.count = window.count < TOKEN_BYTES ? window.count : TOKEN_BYTES;
    read_name(window, 1 + bar, &found);
    for (size_t at = 1 + bar; at < window.count; at++) {
        const size_t closing = bar_length(window, at);
        if (closing > 0 && at + closing < window.count && window.bytes[at + closing] == '>') {
            s->state.is_in_role = is_listed(role_tokens, found.name);
            return at + closing + 1;
        }
        if (window.bytes[at] == '\n' || window.bytes[at] == '<') {
            return literal(s, '<');
        }
    }
    return is_waiting ? 0 : literal(s, '<');
}

size_t kz_spoken_read_tag(kz_spoken_stream *s, kz_spoken_window window) {
    static const char comment[] = "<!--";
    if (window.count < 4 && !window.is_final) {
        const bool may_be_more = window.count == 1 ||
                                 memcmp(window.bytes, comment, window.count) == 0 ||
                                 (unsigned char)window.bytes[1] == 0xef;
        if (may_be_more) {
            return 0;
        }
    }
    if (window.count >= 4 && memcmp(window.bytes, comment, 4) == 0) {
        s->state.hidden_until = "-->";
        return 4;
    }
    const size_t bar = bar_length(window, 1);
    if (bar > 0) {
        return read_token(s, window, bar);
    }
    const tag found = parse_tag(window);
    if (found.length > 0 && found.is_link) {
        s->state.is_in_autolink = true;
        return 1;
    }
    if (found.length > 0) {
        apply_tag(s, &found);
        return found.length;
    }
    return found.is_cut && may_wait(window, TAG_BYTES) ? 0 : literal(s, '<');
}

// ---- entities

static uint32_t number_entity(const char *digits, size_t count) {
    const bool is_hex = count > 0 && (digits[0] == 'x' || digits[0] == 'X');
    uint32_t value = 0;
    for (size_t i = is_hex ? 1 : 0; i < count; i++) {
        const char c = to_lower(digits[i]);
        const uint32_t digit = c >= '0' && c <= '9'             ? (uint32_t)(c - '0')
                               : is_hex && c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                                                                : UINT32_MAX;
        // Checked before the next digit: below this limit sixteen times the value fits 32 bits.
        if (digit == UINT32_MAX || value > 0x10ffff) {
            return 0;
        }
        value = value * (is_hex ? 16 : 10) + digit;
    }
    return value > 0x10ffff ? 0 : value;
}

static uint32_t find_entity(const char *name, size_t count) {
    if (count > 1 && name[0] == '#') {
        return number_entity(name + 1, count - 1);
    }
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        if (strlen(entities[i].name) == count && memcmp(entities[i].name, name, count) == 0) {
            return entities[i].code_point;
        }
    }
    return 0;
}

size_t kz_spoken_read_entity(kz_spoken_stream *s, kz_spoken_window window) {
    const size_t limit = window.count < ENTITY_BYTES ? window.count : ENTITY_BYTES;
    size_t at = 1;
    while (at < limit && (window.bytes[at] == '#' || is_name_char(window.bytes[at]))) {
        at++;
    }
    if (at == limit && may_wait(window, ENTITY_BYTES)) {
        return 0;
    }
    const uint32_t decoded =
        at < limit && window.bytes[at] == ';' ? find_entity(window.bytes + 1, at - 1) : 0;
    if (decoded == 0) {
        return literal(s, '&');
    }
    kz_spoken_take(s, decoded);
    return at + 1;
}
