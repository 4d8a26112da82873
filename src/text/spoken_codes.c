// spoken_codes.c: versions, telephone numbers, e-mail and web addresses, file names.
//
// in:  a digit, or the start of a run without spaces. out: words, the signs by name.
#include <string.h>

#include "text/spoken_words.h"

enum { MOST_PARTS = 8, MOST_PART_DIGITS = 9 };

// ---- versions -----------------------------------------------------------------------------------

// Groups of digits between dots; 0 when there are too many, or one is too long.
static size_t measure_parts(const kz_words *w, size_t at, size_t *out_parts, bool *out_is_ip) {
    size_t end = at;
    *out_parts = 0;
    *out_is_ip = true;
    for (;;) {
        const size_t digits = kz_words_digits(w, end);
        if (digits == 0 || digits > MOST_PART_DIGITS || *out_parts == MOST_PARTS) {
            return 0;
        }
        *out_is_ip = *out_is_ip && kz_words_value(w, end, digits) <= 255;
        (*out_parts)++;
        end += digits;
        if (w->segment[end] != '.' || kz_words_digits(w, end + 1) == 0) {
            *out_is_ip = *out_is_ip && *out_parts == 4;
            return end - at;
        }
        end++;
    }
}

static void say_parts(kz_words *w, size_t at, size_t end, bool is_ip) {
    for (size_t i = at; i < end;) {
        const size_t digits = kz_words_digits(w, i);
        if (i > at) {
            kz_words_say(w, is_ip ? w->language->address_dot : w->language->dot_word);
        }
        kz_words_say_padded(w, i, digits);
        i += digits + 1;
    }
}

// "1.2.3", "192.168.1.1".
size_t kz_words_read_version(kz_words *w, size_t at) {
    size_t parts;
    bool is_ip;
    kz_numeral n;
    const size_t length = measure_parts(w, at, &parts, &is_ip);
    // "1.234.567" is one number in French.
    const bool is_number =
        kz_words_numeral(w, at, &n) && n.end >= at + length && n.fraction_digits == 0;
    if (length == 0 || parts < 3 || is_number) {
        return 0;
    }
    say_parts(w, at, at + length, is_ip);
    // A port: "10.0.0.1:8080".
    if (is_ip && w->segment[at + length] == ':' && kz_words_digits(w, at + length + 1) > 0) {
        kz_words_say(w, w->language->colon);
        return length + 1;
    }
    return length;
}

size_t kz_words_read_v(kz_words *w, size_t at) {
    size_t parts;
    bool is_ip;
    const size_t digits_at = at + 1 + (w->segment[at + 1] == '.');
    if ((w->segment[at] | 0x20) != 'v' || kz_words_digits(w, digits_at) == 0 ||
        (at > 0 && kz_char_is_alnum(kz_words_char_before(w, at)))) {
        return 0;
    }
    const size_t length = measure_parts(w, digits_at, &parts, &is_ip);
    // "V8" is an engine.
    if (length == 0 || (w->segment[at] == 'V' && parts == 1)) {
        return 0;
    }
    kz_words_say(w, w->language->version);
    say_parts(w, digits_at, digits_at + length, false);
    return digits_at + length - at;
}

// ---- telephone numbers --------------------------------------------------------------------------

// The bytes of a number of this pattern at `at`. A group's borders lie at '_' and '|'.
static size_t match_phone(const kz_words *w, size_t at, const char *pattern) {
    char separator = '\0';
    size_t end = at;
    for (const char *p = pattern; *p != '\0'; p++) {
        const char c = w->segment[end];
        bool is_same = c == *p;
        if (*p == '|') {
            continue;
        }
        if (*p == 'd') {
            is_same = c >= '0' && c <= '9';
        } else if (*p == '_') {
            is_same = separator == '\0' ? c != '\0' && strchr(" .-", c) != NULL : c == separator;
            separator = c;
        }
        if (!is_same) {
            return 0;
        }
        end++;
    }
    // Neither a digit nor one more group may follow.
    const bool goes_on =
        kz_words_is_alnum(w, end) || (separator != '\0' && w->segment[end] == separator &&
                                      separator != '.' && kz_words_digits(w, end + 1) > 0);
    return goes_on ? 0 : end - at;
}

static void say_phone(kz_words *w, size_t at, const char *pattern) {
    size_t group_at = at, end = at;
    for (const char *p = pattern;; p++) {
        const bool is_digit = (*p >= '0' && *p <= '9') || *p == 'd';
        if (!is_digit && end > group_at) {
            if (w->language->has_digit_phones) {
                kz_words_say_digits(w, group_at, end - group_at);
            } else {
                kz_words_say_padded(w, group_at, end - group_at);
            }
            if (*p != '\0') {
                kz_words_pause(w);
            }
        }
        if (*p == '\0') {
            return;
        }
        if (*p == '+') {
            kz_words_say(w, w->language->plus);
        }
        end += *p != '|';
        group_at = is_digit ? group_at : end;
    }
}

size_t kz_words_read_phone(kz_words *w, size_t at) {
    // "1-800-555-0142" must not be taken from its second group on.
    const uint32_t before = kz_words_char_before(w, at);
    if (before == '-' || before == '.' || before == '/') {
        return 0;
    }
    for (const char *const *pattern = w->language->phones; *pattern != NULL; pattern++) {
        const size_t length = match_phone(w, at, *pattern);
        if (length > 0) {
            say_phone(w, at, *pattern);
            return length;
        }
    }
    return 0;
}

// ---- addresses ----------------------------------------------------------------------------------

// Last parts that make a run with dots an address or a file's name.
static const char endings[] =
    " com org net info biz edu gov int eu fr be ch ca uk us de es it lu io ai app dev tv me co re "
    "gouv museum blog shop pdf txt md json xml yaml yml csv html htm css js ts py c h cpp rs go "
    "java sh exe zip gz tar doc docx xls xlsx ppt pptx odt ods jpg jpeg png gif svg mp mp3 mp4 wav "
    "ogg avi mkv log ini cfg conf toml sql db php ";
// Endings that are words, and not spelled.
static const char read_endings[] =
    " com org net info biz app dev museum blog shop json toml yaml zip log doc java gouv tar php "
    "conf go ";

static bool is_run_start(const kz_words *w, size_t at) {
    const uint32_t before = kz_words_char_before(w, at);
    return before == 0 || before == ' ' || before == '(' || before == '"' || before == '\'' ||
           before == 0xab || before == 0x201c || before == '[' || before == '<' || before == ':';
}

static size_t find_run_end(const kz_words *w, size_t at) {
    size_t end = at + strcspn(w->segment + at, " \"<>|");
    end = end < w->count ? end : w->count;
    while (end > at && strchr(".,;:!?)]}'*", w->segment[end - 1]) != NULL) {
        // A bracket that is open inside belongs to the address.
        if (w->segment[end - 1] == ')' && memchr(w->segment + at, '(', end - at) != NULL) {
            break;
        }
        end--;
    }
    return end;
}

static bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

// Letters, digits and dots up to a slash, with a known ending behind the last dot.
static bool is_dotted_name(const kz_words *w, size_t at, size_t end) {
    size_t host_end = at, dot = 0, first_dot = 0;
    while (host_end < end && is_host_char(w->segment[host_end])) {
        if (w->segment[host_end] == '.') {
            dot = host_end;
            first_dot = first_dot == 0 ? host_end : first_dot;
        }
        host_end++;
    }
    if (dot <= at || first_dot < at + 1 || dot + 1 >= host_end) {
        return false;
    }
    const bool is_all = host_end == end || strchr("/:?#", w->segment[host_end]) != NULL;
    return is_all && host_end - dot <= 8 &&
           kz_words_is_listed_count(endings, w->segment + dot + 1, host_end - dot - 1) &&
           (first_dot > at + 1 || dot > first_dot || host_end - dot > 2);
}

static bool is_mail(const kz_words *w, size_t at, size_t end) {
    const char *sign = memchr(w->segment + at, '@', end - at);
    if (sign == NULL || sign == w->segment + at) {
        return false;
    }
    return memchr(sign, '.', (size_t)(w->segment + end - sign)) != NULL;
}

// The bytes of "https://", else of "www."; both are not said.
static size_t skip_scheme(const kz_words *w, size_t at, size_t end) {
    size_t name = at;
    while (name < end && w->segment[name] >= 'a' && w->segment[name] <= 'z') {
        name++;
    }
    if (name > at && kz_words_match(w, name, "://", false) > 0) {
        at = name + 3;
    } else if (kz_words_match(w, at, "mailto:", false) > 0) {
        at += 7;
    }
    return at + kz_words_match(w, at, "www.", false);
}

size_t kz_words_find_address(kz_words *w, size_t at) {
    if (at < w->run_checked || !is_run_start(w, at) || !kz_words_is_alnum(w, at)) {
        return 0;
    }
    // "l'exemple.org": the address begins behind the apostrophe.
    const size_t elided = kz_words_char(w, at + 1) == '\''   ? 2
                          : kz_words_char(w, at + 2) == '\'' ? 3
                                                             : 0;
    if (elided > 0) {
        w->run_checked = at + elided;
        return 0;
    }
    // Each run is searched once: hostile text has no spaces.
    const size_t end = find_run_end(w, at);
    w->run_checked = end;
    const size_t start = skip_scheme(w, at, end);
    if (start > at || is_mail(w, at, end) || is_dotted_name(w, at, end)) {
        w->address_end = end;
        return start - at;
    }
    return 0;
}

static void say_label(kz_words *w, size_t at, size_t end) {
    char word[KZ_WORDS_WORD_BYTES];
    kz_words_word(w, at, word);
    const bool is_ending = at > 0 && w->segment[at - 1] == '.' &&
                           kz_words_is_listed(endings, word) &&
                           !kz_words_is_listed(read_endings, word);
    const bool is_short = end - at == 1;
    if (is_ending || is_short || kz_words_is_spelled(w, at, end)) {
        kz_words_spell(w, at, end);
    } else {
        kz_words_say_count(w, w->segment + at, end - at);
    }
}

static const char *address_sign(const kz_spoken_language *l, char c) {
    const struct {
        char sign;
        const char *spoken;
    } rows[] = {
        {'.', l->address_dot}, {'@', l->at},    {'/', l->slash},    {'-', l->dash},
        {'_', l->underscore},  {':', l->colon}, {'?', l->question}, {'=', l->equals},
        {'&', l->ampersand},   {'#', l->sharp}, {'+', l->plus},     {'~', l->tilde},
        {'%', l->percent},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].sign == c) {
            return rows[i].spoken;
        }
    }
    return "";
}

// One label, number or sign of an address.
size_t kz_words_read_address(kz_words *w, size_t at) {
    const size_t digits = kz_words_digits(w, at);
    const kz_utf8_char c = kz_utf8_read_last(w->segment + at, w->count - at);
    size_t end = kz_words_word_end(w, at);
    end = end < w->address_end ? end : w->address_end;
    if (digits > 0) {
        const size_t part = digits < MOST_PART_DIGITS ? digits : MOST_PART_DIGITS;
        kz_words_say_padded(w, at, part);
        return part;
    }
    if (end > at) {
        say_label(w, at, end);
        return end - at;
    }
    // A slash at the very end is not said.
    if (at + 1 < w->address_end || c.code_point != '/') {
        kz_words_say(w, c.length == 1 ? address_sign(w->language, w->segment[at]) : "");
    }
    return c.length;
}
