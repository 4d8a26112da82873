// spoken_words.c: the stream of words: cuts segments, reads them rule by rule, writes words.
//
// in:  clean text. out: words, with the punctuation that a voice needs for its melody.
// A reader would question why this is no set of regular expressions: most rules need what stands
// before (a number, a king's name), values (31 days, 24 hours) and agreement with the noun behind;
// and time must be linear for hostile text.
#include "text/spoken_words.h"

#include <string.h>

// A segment is cut where a sentence surely ends: the word before the stop has so many small letters
// that it is no abbreviation with a name or number to come.
enum { SURE_LETTERS = 5, PUT_BYTES = 8 };

static const kz_spoken_language *const languages[] = {&kz_spoken_french, &kz_spoken_english};

const kz_spoken_language *kz_spoken_language_find(const char *code) {
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        // "fr-CA" and "en_GB" are read as their language.
        const size_t count = strlen(languages[i]->code);
        if (strncmp(code, languages[i]->code, count) == 0 &&
            (code[count] == '\0' || code[count] == '-' || code[count] == '_')) {
            return languages[i];
        }
    }
    return NULL;
}

kazeia_status kz_words_init(kz_words *w, const kz_spoken_language *language,
                            const kazeia_allocator *allocator) {
    memset(w, 0, sizeof *w);
    w->language = language;
    return kz_numbers_create(&language->numbers, allocator, &w->numbers);
}

void kz_words_clear(kz_words *w) {
    kz_numbers_destroy(w->numbers);
    w->numbers = NULL;
}

void kz_words_start_sentence(kz_words *w) {
    w->previous = 0;
    w->is_space_owed = w->is_pause_owed = w->is_word_end = false;
}

void kz_words_reset(kz_words *w) {
    w->held = w->scanned = w->count = w->at = 0;
    w->is_open = false;
    w->output_count = 0;
    kz_words_start_sentence(w);
}

// ---- output -------------------------------------------------------------------------------------

static bool is_pause_sign(uint32_t c) {
    return c == ',' || c == ';' || c == ':' || c == '.' || c == '!' || c == '?' || c == 0x2026;
}

// Signs that stand against the word before them. French writes a space before ! and ?, which stays.
static bool sticks_to_word(uint32_t c) {
    return c == ',' || c == '.' || c == 0x2026;
}

static void write_char(kz_words *w, uint32_t c) {
    // KZ_WORDS_STEP_BYTES are free when a step begins; a step that wrote more would be a mistake of
    // its rule and loses its end.
    if (w->output_count + PUT_BYTES <= sizeof w->output) {
        w->output_count += kz_utf8_write(c, w->output + w->output_count);
        w->previous = c;
    }
}

void kz_words_put(kz_words *w, uint32_t c) {
    if (c == ' ') {
        w->is_space_owed = true;
        return;
    }
    if (w->is_pause_owed && !is_pause_sign(c) && w->previous != 0) {
        write_char(w, ',');
        w->is_space_owed = true;
    }
    w->is_pause_owed = false;
    const bool needs_space = w->is_space_owed || (w->is_word_end && kz_char_is_alnum(c));
    if (needs_space && w->previous != 0 && !sticks_to_word(c)) {
        write_char(w, ' ');
    }
    w->is_space_owed = w->is_word_end = false;
    write_char(w, c);
}

void kz_words_say_count(kz_words *w, const char *text, size_t count) {
    if (count > 0 && kz_char_is_alnum(w->previous)) {
        w->is_space_owed = true;
    }
    for (size_t i = 0; i < count;) {
        const kz_utf8_char c = kz_utf8_read_last(text + i, count - i);
        kz_words_put(w, c.code_point);
        i += c.length;
    }
    w->is_word_end = kz_char_is_alnum(w->previous);
}

void kz_words_say(kz_words *w, const char *text) {
    kz_words_say_count(w, text, strlen(text));
}

void kz_words_pause(kz_words *w) {
    w->is_pause_owed = w->previous != 0 && !is_pause_sign(w->previous);
    w->is_word_end = false;
    w->is_space_owed = true;
}

void kz_words_copy(kz_words *w, size_t at, size_t count) {
    for (size_t i = at; i < at + count;) {
        const kz_utf8_char c = kz_utf8_read_last(w->segment + i, at + count - i);
        kz_words_put(w, c.code_point);
        i += c.length;
    }
}

// ---- segments -----------------------------------------------------------------------------------

// One way of writing for each sign that comes in several, so that rules know one.
static uint32_t plain(uint32_t c) {
    static const struct {
        uint32_t from, to;
    } rows[] = {
        {0x2019, '\''}, {0x02bc, '\''}, {0x2010, '-'},   {0x2011, '-'},  {0x2212, '-'},
        {0xba, 0xb0},   {0x1d52, 0xb0}, {0x1d49, 'e'},   {0x02b3, 'r'},  {0x02e2, 's'},
        {0x1d48, 'd'},  {0x207f, 'n'},  {0x2126, 0x3a9}, {0xb5, 0x3bc},  {0x2215, '/'},
        {0x2044, '/'},  {0x2219, 0xb7}, {0x22c5, 0xb7},  {0x2715, 0xd7},
    };
    if (c < 0x80) {
        return c;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].from == c) {
            return rows[i].to;
        }
    }
    return kz_char_is_space(c) && !kz_char_is_line_break(c) ? ' ' : c;
}

static bool is_capital_at(const kz_words *w, size_t at) {
    return kz_char_is_upper(kz_utf8_read_last(w->segment + at, w->held - at).code_point);
}

// "... dehors. Il": the border lies before the capital.
static bool is_sentence_border(const kz_words *w, size_t at) {
    if (at < 2 || w->segment[at - 1] != ' ' || !is_capital_at(w, at)) {
        return false;
    }
    const char stop = w->segment[at - 2];
    if (stop == '!' || stop == '?') {
        return true;
    }
    size_t letters = 0;
    while (stop == '.' && letters + 2 < at && letters < SURE_LETTERS &&
           w->segment[at - 3 - letters] >= 'a' && w->segment[at - 3 - letters] <= 'z') {
        letters++;
    }
    return letters == SURE_LETTERS;
}

// The best place for a cut in a text without a border: after the last comma, else after the last
// space, of its second half; else anywhere between characters.
static size_t find_cut(const kz_words *w) {
    size_t space = 0;
    for (size_t at = w->held; at-- > KZ_WORDS_SEGMENT_BYTES / 2;) {
        if (w->segment[at] == ' ' && strchr(",;:.!?", w->segment[at - 1]) != NULL) {
            return at + 1;
        }
        space = space == 0 && w->segment[at] == ' ' ? at + 1 : space;
    }
    return space > 0 ? space : w->held;
}

static bool is_digit_at(const kz_words *w, size_t at) {
    return w->segment[at] >= '0' && w->segment[at] <= '9';
}

// "30x20 cm": an x between two numbers is a sign of its own; in "0x1F", "img_30x20" it is none.
static void mark_products(kz_words *w) {
    bool is_quantity = true; // only what numbers are written with came since a space
    for (size_t at = 0; at < w->count; at++) {
        const char c = w->segment[at];
        const bool is_behind_number = at > 0 && is_digit_at(w, at - 1);
        const bool is_behind_zero =
            is_behind_number && w->segment[at - 1] == '0' && (at < 2 || w->segment[at - 2] == ' ');
        if (c == 'x' && is_quantity && is_behind_number && !is_behind_zero &&
            is_digit_at(w, at + 1)) {
            w->segment[at] = '*';
        } else if (!is_digit_at(w, at) && c != ',' && c != '.') {
            is_quantity = c == ' ' || c == '(';
        }
    }
}

static void open_segment(kz_words *w, size_t count, bool ends_line) {
    w->is_open = true;
    w->count = count;
    w->at = 0;
    w->ends_line = ends_line;
    w->behind = w->segment[count];
    w->segment[count] = '\0';
    w->number_end = SIZE_MAX;
    w->run_checked = w->address_end = w->capitals_end = 0;
    mark_products(w);
    w->is_capitals = kz_words_is_capitals(w);
    w->has_equation = strpbrk(w->segment, "=<>") != NULL || strstr(w->segment, "\xe2\x89") != NULL;
}

// The line break behind the segment, whose place the NUL had, goes with it.
static void close_segment(kz_words *w) {
    w->segment[w->count] = w->behind;
    const size_t used = w->count + w->ends_line;
    memmove(w->segment, w->segment + used, w->held - used);
    w->held -= used;
    w->scanned = 0;
    w->is_open = false;
}

// A line's end is heard: a heading or an item of a list falls like a sentence.
static void end_line(kz_words *w) {
    if (kz_char_is_alnum(w->previous)) {
        write_char(w, '.');
    }
    w->is_pause_owed = w->is_word_end = false;
    w->is_space_owed = true;
}

static bool find_border(kz_words *w) {
    while (w->scanned < w->held) {
        const size_t at = w->scanned;
        if (w->segment[at] == '\n') {
            open_segment(w, at, true);
            return true;
        }
        if (is_sentence_border(w, at)) {
            open_segment(w, at, false);
            return true;
        }
        w->scanned += kz_utf8_read_last(w->segment + at, w->held - at).length;
    }
    if (w->held > KZ_WORDS_SEGMENT_BYTES - 4) {
        open_segment(w, find_cut(w), false);
        return true;
    }
    return false;
}

size_t kz_words_feed(kz_words *w, const char *bytes, size_t count) {
    size_t taken = 0;
    // Character by character: a border found earlier than the text's end leaves the rest with the
    // cleaner, and where it is found does not depend on the feeding.
    while (taken < count && !w->is_open && !find_border(w)) {
        const kz_utf8_char c = kz_utf8_read_last(bytes + taken, count - taken);
        const uint32_t sign = plain(c.code_point);
        const bool is_double = sign == ' ' && w->held > 0 && w->segment[w->held - 1] == ' ';
        if (!is_double) {
            w->held += kz_utf8_write(sign, w->segment + w->held);
        }
        taken += c.length;
    }
    return taken;
}

void kz_words_close(kz_words *w) {
    if (!w->is_open && !find_border(w) && w->held > 0) {
        open_segment(w, w->held, false);
    }
}

// ---- reading ------------------------------------------------------------------------------------

typedef size_t rule(kz_words *words, size_t at);

// In order of how much a rule wants to see: the first that holds reads.
static rule *const number_rules[] = {
    kz_words_read_phone,   kz_words_read_date,    kz_words_read_version,  kz_words_read_time,
    kz_words_read_ordinal, kz_words_read_day,     kz_words_read_fraction, kz_words_read_decade,
    kz_words_read_money,   kz_words_read_measure, kz_words_read_year,     kz_words_read_plain,
};

static rule *const word_rules[] = {
    kz_words_read_v,        kz_words_read_month, kz_words_read_abbreviation,
    kz_words_read_initials, kz_words_read_roman, kz_words_read_word,
};

#define RULE_COUNT(rules) (sizeof(rules) / sizeof((rules)[0]))

static size_t read_by(kz_words *w, rule *const *rules, size_t count, size_t at) {
    size_t taken = 0;
    for (size_t i = 0; i < count && taken == 0; i++) {
        taken = rules[i](w, at);
    }
    return taken;
}

static size_t read_digits(kz_words *w, size_t at) {
    // Digits inside a word ("CO2") and behind a number that was too long are no quantity.
    const bool is_inside = at > 0 && kz_char_is_alnum(kz_words_char_before(w, at));
    const size_t taken = is_inside ? kz_words_read_plain(w, at)
                                   : read_by(w, number_rules, RULE_COUNT(number_rules), at);
    w->number_end = at + taken;
    return taken;
}

static size_t read_something(kz_words *w, size_t at) {
    const uint32_t c = kz_words_char(w, at);
    size_t taken = 0;
    if (at >= w->address_end) {
        taken = kz_words_find_address(w, at);
    }
    if (at < w->address_end) {
        return taken > 0 ? taken : kz_words_read_address(w, at);
    }
    if (c >= '0' && c <= '9') {
        return read_digits(w, at);
    }
    if (kz_char_is_alnum(c)) {
        taken = read_by(w, word_rules, RULE_COUNT(word_rules), at);
    } else {
        taken = kz_words_read_sign(w, at);
    }
    return taken;
}

bool kz_words_next(kz_words *w, kz_text_view *out_text) {
    w->output_count = 0;
    while (w->output_count == 0) {
        if (!w->is_open && !find_border(w)) {
            return false;
        }
        while (w->at < w->count && w->output_count < KZ_WORDS_STEP_BYTES) {
            w->at += read_something(w, w->at);
        }
        if (w->at >= w->count) {
            if (w->ends_line) {
                end_line(w);
            }
            close_segment(w);
        }
    }
    *out_text = (kz_text_view){w->output, w->output_count};
    return true;
}
