// spoken_marks.c: markdown signs and emoticons.
//
// in: a window that starts with the sign. out: most signs are dropped; a few are text after all
// ("2*5", "a_b", "~ 3", "- 4"), which the neighbours decide. Each looks at most a few bytes ahead.
#include <string.h>

#include "text/spoken_state.h"

enum { LONG_RUN = 4, FOOTNOTE_BYTES = 12, EMOTICON_BYTES = 4 };

typedef struct run {
    size_t count;  // equal signs at the window's start, counted up to LONG_RUN
    bool is_open;  // the window ends with the run: more may come
    uint32_t next; // the character after it, 0 at the text's end
} run;

static run measure_run(kz_spoken_window window) {
    run found = {0};
    // A run that is longer is consumed in pieces of LONG_RUN: no mark has more than four signs.
    while (found.count < window.count && found.count < LONG_RUN &&
           window.bytes[found.count] == window.bytes[0]) {
        found.count++;
    }
    const size_t rest = window.count - found.count;
    const kz_utf8_char next = kz_utf8_read(window.bytes + found.count, rest);
    // The character after the run decides, and it may be cut short as well.
    found.is_open = next.length == 0 && !window.is_final;
    found.next = next.length == 0 ? 0 : next.code_point;
    return found;
}

static size_t put_run(kz_spoken_stream *s, char sign, size_t count) {
    for (size_t i = 0; i < count; i++) {
        kz_spoken_put(s, (unsigned char)sign);
    }
    return count;
}

static bool is_blank(uint32_t c) {
    return c == 0 || kz_char_is_space(c);
}

static bool is_word_char(uint32_t c) {
    return c != 0 && (kz_char_is_letter(c) || kz_char_is_digit(c));
}

static size_t read_hash(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    const bool is_heading = s->state.is_line_start && (is_blank(signs.next) || signs.next == '#');
    // "## Title ##": the closing signs stand at the end, after a space.
    const bool is_tail =
        s->state.space != KZ_SPACE_NONE && (signs.next == 0 || kz_char_is_line_break(signs.next));
    return is_heading || is_tail ? signs.count : put_run(s, '#', signs.count);
}

static size_t read_angle(kz_spoken_stream *s, kz_spoken_window window) {
    (void)window;
    if (!s->state.is_line_start && !s->state.is_in_autolink) {
        kz_spoken_put(s, '>');
    }
    s->state.is_in_autolink = false;
    return 1;
}

// Rules and the rule rows of tables; a bullet; else the sign itself.
static size_t read_dash(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    const bool may_be_rule = s->state.is_line_start || s->state.is_cell_start;
    // In a table one dash is enough for a rule; at a line's start it may be a bullet.
    const bool is_cell_rule = s->state.is_cell_start && (signs.count > 1 || is_blank(signs.next) ||
                                                         signs.next == '|' || signs.next == ':');
    if (may_be_rule && (signs.count >= 3 || is_cell_rule)) {
        s->state.is_in_rule = true;
        return signs.count;
    }
    const bool is_bullet = s->state.is_line_start && signs.count == 1 && is_blank(signs.next);
    return is_bullet ? 1 : put_run(s, '-', signs.count);
}

static size_t read_equals(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    if (s->state.is_line_start && signs.count >= 3) {
        s->state.is_in_rule = true;
        return signs.count;
    }
    return put_run(s, '=', signs.count);
}

static size_t read_star(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    const bool is_alone = s->state.space != KZ_SPACE_NONE && is_blank(signs.next);
    // "2*5" and "2 * 5" are products, "*très*" is stress.
    const bool is_product = s->state.space == KZ_SPACE_NONE &&
                            kz_char_is_digit(s->state.previous) && kz_char_is_digit(signs.next);
    // At the start of a line a star alone is a bullet.
    if (signs.count < LONG_RUN && !s->state.is_line_start && (is_alone || is_product)) {
        return put_run(s, '*', signs.count);
    }
    return signs.count;
}

static size_t read_underscore(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    if (s->state.space == KZ_SPACE_NONE && is_word_char(s->state.previous) &&
        is_word_char(signs.next)) {
        // A name of a program's variable is read as its words; in an address the sign has a name.
        if (s->words != NULL) {
            return put_run(s, '_', signs.count);
        }
        kz_spoken_owe(s, KZ_SPACE_WORD);
    }
    return signs.count;
}

static size_t read_fence_sign(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    if (s->state.is_line_start && signs.count >= 3) {
        s->state.fence_sign = window.bytes[0];
        s->state.fence_length = (uint32_t)signs.count;
        s->state.fence_run = 0;
        s->state.is_fence_line_start = false;
        return signs.count;
    }
    // "~ 3 km" means about; two of them strike words out.
    return window.bytes[0] == '~' && signs.count == 1 ? put_run(s, '~', 1) : signs.count;
}

static size_t read_pipe(kz_spoken_stream *s, kz_spoken_window window) {
    (void)window;
    if (!s->state.is_line_start && s->state.space != KZ_SPACE_LINE) {
        // A cell's end is heard as a short pause.
        kz_spoken_owe(s, KZ_SPACE_COMMA);
    }
    s->state.is_cell_start = true;
    return 1;
}

// A rule row may begin with a colon: "|:--|".
static size_t read_colon(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    if (s->state.is_cell_start && signs.count == 1 && signs.next == '-') {
        s->state.is_in_rule = true;
        return 1;
    }
    return put_run(s, ':', signs.count);
}

static bool is_number(const char *label, size_t count) {
    size_t digits = 0;
    while (digits < count && label[digits] >= '0' && label[digits] <= '9') {
        digits++;
    }
    return count > 0 && count <= 3 && digits == count;
}

// "[1]", "[^note]", "[ ]", "[x]", "[INST]": dropped whole.
static bool is_dropped_label(const char *label, size_t count) {
    return is_number(label, count) || (count > 0 && label[0] == '^') ||
           (count == 1 && (label[0] == ' ' || label[0] == 'x' || label[0] == 'X')) ||
           (count == 4 && memcmp(label, "INST", 4) == 0) ||
           (count == 5 && memcmp(label, "/INST", 5) == 0);
}

static size_t read_opening_bracket(kz_spoken_stream *s, kz_spoken_window window) {
    // Labels are short: past FOOTNOTE_BYTES it is the text of a link, or a remark in brackets.
    const size_t limit = window.count < FOOTNOTE_BYTES ? window.count : FOOTNOTE_BYTES;
    size_t at = 1;
    while (at < limit && window.bytes[at] != ']' && window.bytes[at] != '\n') {
        at++;
    }
    const bool is_undecided = at == limit || at + 1 == window.count;
    if (is_undecided && !window.is_final && window.count < FOOTNOTE_BYTES + 2) {
        return 0;
    }
    const bool is_link = at + 1 < window.count && window.bytes[at + 1] == '(';
    if (at < limit && window.bytes[at] == ']' && !is_link &&
        is_dropped_label(window.bytes + 1, at - 1)) {
        // "[1]: https://exemple.fr" says where a link of the text leads: nothing to hear.
        const bool is_target = s->state.is_line_start && is_number(window.bytes + 1, at - 1) &&
                               at + 1 < window.count && window.bytes[at + 1] == ':';
        s->state.is_in_reference = is_target;
        return at + 1;
    }
    // Saturates: a hostile text of brackets must not wrap to 0.
    s->state.bracket_depth += s->state.bracket_depth < UINT32_MAX;
    return 1;
}

static size_t read_closing_bracket(kz_spoken_stream *s, kz_spoken_window window) {
    if (s->state.bracket_depth == 0) {
        return 1;
    }
    if (window.count < 2 && !window.is_final) {
        return 0;
    }
    s->state.bracket_depth--;
    const char next = window.count > 1 ? window.bytes[1] : '\0';
    // The label is spoken, its target is not.
    s->state.target_depth = next == '(' ? 1 : 0;
    s->state.is_in_reference = next == '[';
    return next == '(' || next == '[' ? 2 : 1;
}

static size_t read_bang(kz_spoken_stream *s, kz_spoken_window window) {
    if (window.count < 2 && !window.is_final) {
        return 0;
    }
    if (window.count < 2 || window.bytes[1] != '[') {
        kz_spoken_put(s, '!');
    }
    return 1;
}

static size_t read_backslash(kz_spoken_stream *s, kz_spoken_window window) {
    if (window.count < 2 && !window.is_final) {
        return 0;
    }
    const char next = window.count > 1 ? window.bytes[1] : '\0';
    // CommonMark lets any ASCII punctuation be escaped; a backslash before a letter is a backslash.
    const bool is_escape = next != '\0' && strchr("\\`*_{}[]()#+-.!|<>~&\"'", next) != NULL;
    if (!is_escape) {
        if (next != '\n') {
            kz_spoken_put(s, '\\');
        }
        return 1;
    }
    kz_spoken_put(s, (unsigned char)next);
    return 2;
}

static size_t read_plus(kz_spoken_stream *s, kz_spoken_window window) {
    const run signs = measure_run(window);
    if (signs.is_open) {
        return 0;
    }
    const bool is_bullet = s->state.is_line_start && signs.count == 1 && is_blank(signs.next);
    return is_bullet ? 1 : put_run(s, '+', signs.count);
}

// By sign, looked through from the front: a dozen comparisons for each character that no faster
// test has taken.
static const struct mark {
    char sign;
    size_t (*read)(kz_spoken_stream *stream, kz_spoken_window window);
} marks[] = {
    {'#', read_hash},
    {'>', read_angle},
    {'-', read_dash},
    {'=', read_equals},
    {'*', read_star},
    {'_', read_underscore},
    {'`', read_fence_sign},
    {'~', read_fence_sign},
    {'|', read_pipe},
    {':', read_colon},
    {'[', read_opening_bracket},
    {']', read_closing_bracket},
    {'!', read_bang},
    {'\\', read_backslash},
    {'+', read_plus},
    {'<', kz_spoken_read_tag},
    {'&', kz_spoken_read_entity},
};

// ---- emoticons

static const char *const emoticons[] = {":-)", ":)",  ";-)", ";)",  ":-(", ":(",  ":'(", ":-D",
                                        ":D",  ":-P", ":P",  ":-p", ":p",  ":-/", ":/",  ":-|",
                                        ":|",  ":-O", ":O",  ":o",  ":-*", ":*",  "=)",  "=D",
                                        "XD",  "xD",  "^^",  "<3",  "8-)", "B-)", ";D",  ">:("};

static bool ends_emoticon(uint32_t next) {
    return is_blank(next) || next == '.' || next == ',' || next == '!' || next == '?' ||
           next == ')';
}

// The bytes of an emoticon at the window's start; 0: none. *out_is_cut: more text decides.
static size_t match_emoticon(kz_spoken_window window, bool *out_is_cut) {
    *out_is_cut = false;
    for (size_t i = 0; i < sizeof emoticons / sizeof emoticons[0]; i++) {
        const size_t length = strlen(emoticons[i]);
        const size_t shown = window.count < length ? window.count : length;
        if (memcmp(emoticons[i], window.bytes, shown) != 0) {
            continue;
        }
        const kz_utf8_char next = kz_utf8_read(window.bytes + shown, window.count - shown);
        if (shown < length || next.length == 0) {
            // The longer ones are tried all the same: ":-" may yet become ":-)", and ":D" must not
            // hide behind a longer one that fails.
            *out_is_cut = !window.is_final;
        }
        if (shown == length &&
            (next.length == 0 ? window.is_final : ends_emoticon(next.code_point))) {
            return length;
        }
    }
    return 0;
}

// Bullets that are no ASCII signs, and the dash of dialogue, at the start of a line.
static bool is_bullet_sign(uint32_t c) {
    return c == 0x2022 || c == 0x2023 || c == 0x25aa || c == 0x25cf || c == 0x25e6 || c == 0x2013 ||
           c == 0x2014;
}

static bool may_start_emoticon(const kz_spoken_state *state, uint32_t c) {
    return (state->space != KZ_SPACE_NONE || !state->has_output) && c < 0x80 &&
           strchr(":;=XxB8^<>", (int)c) != NULL;
}

size_t kz_spoken_read_mark(kz_spoken_stream *s, kz_spoken_window window, kz_utf8_char sign,
                           bool *out_is_mark) {
    const uint32_t c = sign.code_point;
    *out_is_mark = true;
    if (s->state.is_line_start && is_bullet_sign(c)) {
        return sign.length;
    }
    // Right after a table's bar ":-" is a rule row.
    if (may_start_emoticon(&s->state, c) && !s->state.is_cell_start) {
        bool is_cut;
        const size_t length = match_emoticon(window, &is_cut);
        if (length > 0 || is_cut) {
            s->state.has_dropped_sign = s->state.has_dropped_sign || length > 0;
            return length;
        }
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if ((unsigned char)marks[i].sign == c) {
            return marks[i].read(s, window);
        }
    }
    *out_is_mark = false;
    return 0;
}
