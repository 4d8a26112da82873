// phonemes.c: written words -> IPA, clause by clause, with their punctuation.
//
// in:  text, the voice that is to read it
// out: IPA and marks
// A clause is: marks and white space, words, marks that close, white space. The words are one call
// of espeak-ng, so that liaisons within them are its own.
#include "text/phonemes.h"

#include <string.h>

#include "text/espeak_library.h"
#include "text/utf8.h"

typedef enum sign_kind { IN_WORD, SPACE, OPENS, CLOSES, STOPS, QUOTES, DASHES } sign_kind;

typedef struct sign {
    uint32_t code_point;
    sign_kind kind;
    const char *mark; // as it is written out
} sign;

static const sign signs[] = {
    {'!', STOPS, "!"},     {'"', QUOTES, "\""},  {'(', OPENS, "("},     {')', CLOSES, ")"},
    {',', STOPS, ","},     {'-', DASHES, "—"},   {'.', STOPS, "."},     {':', STOPS, ":"},
    {';', STOPS, ";"},     {'?', STOPS, "?"},    {'[', OPENS, "("},     {']', CLOSES, ")"},
    {'{', OPENS, "("},     {'}', CLOSES, ")"},   {0x00a1, OPENS, ""},   {0x00ab, OPENS, "“"},
    {0x00bb, CLOSES, "”"}, {0x00bf, OPENS, ""},  {0x2013, DASHES, "—"}, {0x2014, STOPS, "—"},
    {0x2015, STOPS, "—"},  {0x201c, OPENS, "“"}, {0x201d, CLOSES, "”"}, {0x201e, OPENS, "“"},
    {0x2026, STOPS, "…"},
};

// A place in the text, one character wide.
typedef struct reading {
    const char *text;
    size_t count;
    size_t at;
    kz_utf8_char now;
    uint32_t before; // the character in front; ' ' at the start
} reading;

static reading read_at(const char *text, size_t count) {
    return (reading){text, count, 0, kz_utf8_read_last(text, count), ' '};
}

static void step(reading *place) {
    place->before = place->now.code_point;
    place->at += place->now.length;
    place->now = kz_utf8_read_last(place->text + place->at, place->count - place->at);
}

static bool is_over(const reading *place) {
    return place->at >= place->count;
}

// White space, and what is neither seen nor heard.
static bool is_blank(uint32_t c) {
    return c <= ' ' || kz_char_is_space(c);
}

static bool is_in_word(uint32_t c) {
    return kz_char_is_letter(c) || kz_char_is_digit(c);
}

static uint32_t next_character(const reading *place) {
    const size_t next = place->at + place->now.length;
    return next < place->count
               ? kz_utf8_read_last(place->text + next, place->count - next).code_point
               : ' ';
}

// "10:30", "3,5", "kazeia.org": no mark but a part of what is said.
static bool joins(const reading *place) {
    const uint32_t c = place->now.code_point;
    return (c == '.' || c == ',' || c == ':') && is_in_word(place->before) &&
           is_in_word(next_character(place));
}

// "mot-clé" and "1990–2000" are words; "oui - non" and "oui--non" are not.
static bool is_dash(const reading *place) {
    const uint32_t next = next_character(place);
    return (is_blank(place->before) && is_blank(next)) || place->before == '-' || next == '-';
}

static sign classify(const reading *place) {
    const uint32_t c = place->now.code_point;
    if (is_blank(c)) {
        return (sign){c, SPACE, ""};
    }
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        sign found = signs[i];
        if (found.code_point != c) {
            continue;
        }
        if (found.kind == QUOTES) {
            const bool opens = is_blank(place->before) || place->before == '(';
            return (sign){c, opens ? OPENS : CLOSES, opens ? "“" : "”"};
        }
        if (found.kind == DASHES) {
            found.kind = is_dash(place) ? STOPS : IN_WORD;
        }
        return found.kind == STOPS && joins(place) ? (sign){c, IN_WORD, ""} : found;
    }
    return (sign){c, IN_WORD, ""};
}

static bool ends_with(const kz_text_buffer *ipa, size_t start, const char *mark) {
    const size_t length = strlen(mark);
    return ipa->count - start >= length &&
           memcmp(ipa->bytes + ipa->count - length, mark, length) == 0;
}

// "..." is a mark of its own, so a second dot takes the first one back; any other stop that is
// repeated says no more than one. True: nothing is to be written.
static bool absorb_mark(kz_text_buffer *ipa, size_t start, const sign *found) {
    const bool is_repeated = ends_with(ipa, start, found->mark);
    if (found->code_point == '.' && is_repeated) {
        kz_text_buffer_cut(ipa, ipa->count - 1);
        return false;
    }
    return found->mark[0] == '\0' || (is_repeated && found->kind == STOPS) ||
           (found->code_point == '.' && ends_with(ipa, start, "…"));
}

// A space stands around dashes and before what opens; never at the start of the clause.
static kazeia_status append_mark(kz_text_buffer *ipa, size_t start, const sign *found,
                                 bool is_spaced) {
    const size_t count = ipa->count;
    if (absorb_mark(ipa, start, found)) {
        return KAZEIA_OK;
    }
    const char *mark = ipa->count < count ? "…" : found->mark;
    const bool is_apart = found->kind == OPENS || strcmp(mark, "—") == 0;
    const bool follows_opening = ends_with(ipa, start, "(") || ends_with(ipa, start, "“");
    if (is_spaced && is_apart && ipa->count > start && !follows_opening) {
        KZ_TRY(kz_text_buffer_append_string(ipa, " "));
    }
    return kz_text_buffer_append_string(ipa, mark);
}

// Marks and white space, up to the words or, behind them, up to what belongs to the next clause.
static kazeia_status pass_marks(reading *place, bool is_behind, size_t start,
                                kz_text_buffer *out_ipa, bool *out_is_spaced) {
    *out_is_spaced = is_behind && is_blank(place->before);
    for (; !is_over(place); step(place)) {
        const sign found = classify(place);
        if (found.kind == IN_WORD || (is_behind && found.kind == OPENS)) {
            return KAZEIA_OK;
        }
        if (found.kind != SPACE) {
            KZ_TRY(append_mark(out_ipa, start, &found, *out_is_spaced));
        }
        *out_is_spaced = found.kind == SPACE;
    }
    return KAZEIA_OK;
}

// The end of the words that begin here: before a mark; in a text that is cut, after a space.
static size_t find_words_end(reading place, bool is_cut) {
    size_t after_space = 0;
    for (; !is_over(&place); step(&place)) {
        const sign_kind kind = classify(&place).kind;
        if (kind != IN_WORD && kind != SPACE) {
            return place.at;
        }
        after_space = kind == SPACE ? place.at + place.now.length : after_space;
    }
    return is_cut && after_space > 0 ? after_space : place.count;
}

// espeak-ng's own line breaks and its remarks on foreign words, as "(en)", go.
static void clean_ipa(kz_text_buffer *ipa, size_t start) {
    size_t kept = start;
    bool is_remark = false;
    for (size_t i = start; i < ipa->count; i++) {
        const char c = ipa->bytes[i];
        is_remark = is_remark || c == '(';
        const bool is_blank_here = c == ' ' || c == '\n';
        const bool is_first = kept == start || ipa->bytes[kept - 1] == ' ';
        if (!is_remark && !(is_blank_here && is_first)) {
            ipa->bytes[kept++] = is_blank_here ? ' ' : c;
        }
        is_remark = is_remark && c != ')';
    }
    kept -= kept > start && ipa->bytes[kept - 1] == ' ';
    kz_text_buffer_cut(ipa, kept);
}

static kazeia_status append_words(const char *voice, reading *place, size_t end, bool is_spaced,
                                  size_t start, kz_text_buffer *out_ipa) {
    const size_t begin = place->at;
    // Behind the words in any case, so that a clause that fails can be left out.
    while (!is_over(place) && place->at < end) {
        step(place);
    }
    if (is_spaced && ends_with(out_ipa, start, "—")) {
        KZ_TRY(kz_text_buffer_append_string(out_ipa, " "));
    }
    const size_t words = out_ipa->count;
    KZ_TRY(kz_espeak_phonemes(voice, place->text + begin, end - begin, out_ipa));
    clean_ipa(out_ipa, words);
    return KAZEIA_OK;
}

kazeia_status kz_phonemes_of_clause(const char *voice, const char *text, size_t count,
                                    kz_text_buffer *out_ipa, size_t *out_taken) {
    const size_t start = out_ipa->count;
    const bool is_cut = count > KZ_PHONEMES_TEXT_BYTES;
    reading place = read_at(text, is_cut ? KZ_PHONEMES_TEXT_BYTES : count);
    bool is_spaced = false;
    kazeia_status status = pass_marks(&place, false, start, out_ipa, &is_spaced);
    if (status == KAZEIA_OK && !is_over(&place)) {
        const size_t end = find_words_end(place, is_cut);
        status = append_words(voice, &place, end, is_spaced, start, out_ipa);
    }
    if (status == KAZEIA_OK) {
        status = pass_marks(&place, true, start, out_ipa, &is_spaced);
    }
    *out_taken = place.at;
    return status;
}
