// spoken_measures.c: numbers with a unit, a currency or a percent sign.
//
// in:  a digit, or a currency's sign before one. out: words, the unit in full and in agreement.
#include <string.h>

#include "text/spoken_words.h"

#define MILLION UINT64_C(1000000)

// ---- units --------------------------------------------------------------------------------------

// The longest symbol that ends where a letter or digit does not go on.
size_t kz_words_match_unit(const kz_words *w, size_t at, const kz_unit **out_unit) {
    size_t longest = 0;
    for (const kz_unit *unit = w->language->units; unit->symbol != NULL; unit++) {
        const size_t length =
            w->segment[at] == unit->symbol[0] ? kz_words_match(w, at, unit->symbol, false) : 0;
        if (length > longest && !kz_words_is_alnum(w, at + length)) {
            longest = length;
            *out_unit = unit;
        }
    }
    return longest;
}

// One capital letter that stands against its number is a name ("5G", "12B") but for volts and
// watts.
static bool is_unit_after(const kz_words *w, size_t number_end, size_t at, size_t length) {
    const char first = w->segment[at];
    if (number_end < at || length != 1 || first < 'A' || first > 'Z') {
        return true;
    }
    return first == 'V' || first == 'W';
}

static bool begins_with_vowel(const kz_words *w, const char *word) {
    const kz_utf8_char first = kz_utf8_read(word, strlen(word));
    char letter[5] = {0};
    kz_utf8_write(first.code_point, letter);
    return strstr(w->language->vowels, letter) != NULL;
}

// "deux millions d'euros", "de kilomètres".
static void say_of(kz_words *w, const char *noun) {
    const bool is_elided = begins_with_vowel(w, noun);
    const char *of = is_elided ? w->language->of_elided : w->language->of;
    if (of[0] != '\0') {
        kz_words_say(w, of);
        w->is_word_end = false;
        w->is_space_owed = !is_elided;
    }
    for (size_t i = 0; i < strlen(noun);) {
        const kz_utf8_char c = kz_utf8_read(noun + i, strlen(noun) - i);
        kz_words_put(w, c.code_point);
        i += c.length;
    }
    w->is_word_end = true;
}

static bool is_round_million(const kz_numeral *n) {
    return n->whole >= MILLION && n->whole % MILLION == 0 && n->fraction_digits == 0;
}

static void say_with_noun(kz_words *w, const kz_numeral *n, const char *one, const char *many,
                          bool is_feminine) {
    kz_words_say_numeral(w, n, is_feminine, true);
    const char *noun = kz_words_is_singular(w, n) ? one : many;
    if (is_round_million(n)) {
        say_of(w, noun);
    } else {
        kz_words_say(w, noun);
    }
}

// "/h", "/mois", "/24" behind a unit; 0 when nothing of that kind follows.
static size_t read_per(kz_words *w, size_t at) {
    const kz_unit *unit = NULL;
    if (w->segment[at] != '/') {
        return 0;
    }
    const size_t digits = kz_words_digits(w, at + 1);
    if (digits > 0 && digits <= 3) {
        const size_t unit_at = kz_words_skip_space(w, at + 1 + digits);
        if (unit_at > at + 1 + digits && kz_words_match_unit(w, unit_at, &unit) > 0) {
            // "5 L/100 km": the quantity is read by its own rule.
            kz_words_say(w, w->language->per_many);
            return 1;
        }
        kz_words_say(w, w->language->over);
        kz_words_say_number(w, KZ_CARDINAL, kz_words_value(w, at + 1, digits));
        return 1 + digits;
    }
    const size_t length = kz_words_match_unit(w, at + 1, &unit);
    if (length > 0) {
        kz_words_say(w, w->language->per);
        kz_words_say(w, unit->one);
        return 1 + length;
    }
    if (kz_words_is_letter(w, at + 1)) {
        kz_words_say(w, w->language->per);
        return 1;
    }
    return 0;
}

// "1m70": the centimetres are said without their name.
static size_t read_height(kz_words *w, size_t at, const kz_numeral *n) {
    const kz_unit *unit = NULL;
    char saved = w->segment[n->end + 1];
    if (w->segment[n->end] != 'm' || n->fraction_digits > 0 ||
        kz_words_digits(w, n->end + 1) != 2 || kz_words_is_alnum(w, n->end + 3)) {
        return 0;
    }
    // The unit is looked up as if it stood alone.
    w->segment[n->end + 1] = ' ';
    const size_t length = kz_words_match_unit(w, n->end, &unit);
    w->segment[n->end + 1] = saved;
    if (length != 1) {
        return 0;
    }
    say_with_noun(w, n, unit->one, unit->many, unit->is_feminine);
    kz_words_say_number(w, KZ_CARDINAL, kz_words_value(w, n->end + 1, 2));
    return n->end + 3 - at;
}

size_t kz_words_read_measure(kz_words *w, size_t at) {
    kz_numeral n;
    const kz_unit *unit = NULL;
    if (!kz_words_numeral(w, at, &n) || n.is_long) {
        return 0;
    }
    const size_t height = read_height(w, at, &n);
    const size_t unit_at = kz_words_skip_space(w, n.end);
    const size_t length = height > 0 ? 0 : kz_words_match_unit(w, unit_at, &unit);
    if (height > 0) {
        return height;
    }
    if (length == 0 || !is_unit_after(w, n.end, unit_at, length)) {
        return 0;
    }
    // "2 h 05 min": behind a larger unit the zero is not said.
    n.zeros = w->number_end == kz_words_back_space(w, at) ? 0 : n.zeros;
    say_with_noun(w, &n, unit->one, unit->many, unit->is_feminine);
    const size_t end = unit_at + length;
    return end + read_per(w, end) - at;
}

// ---- money --------------------------------------------------------------------------------------

static size_t match_currency(const kz_words *w, size_t at, const kz_currency **out_currency) {
    for (const kz_currency *row = w->language->currencies; row->symbol != NULL; row++) {
        const size_t length = kz_words_match(w, at, row->symbol, false);
        if (length == 0) {
            continue;
        }
        const bool is_letters = row->symbol[0] >= 'A' && row->symbol[0] <= 'Z';
        if (!is_letters || !kz_words_is_letter(w, at + length)) {
            *out_currency = row;
            return length;
        }
    }
    return 0;
}

static size_t match_scale(const kz_words *w, size_t at, const kz_scale **out_scale) {
    for (const kz_scale *row = w->language->scales; row->symbol != NULL; row++) {
        const size_t length = kz_words_match(w, at, row->symbol, false);
        const bool is_word = length > 0 && w->segment[at + length] == ' ';
        if (length > 0 && (is_word || !kz_words_is_letter(w, at + length))) {
            *out_scale = row;
            return length;
        }
    }
    return 0;
}

static void say_cents(kz_words *w, const kz_numeral *n, const kz_currency *currency) {
    const uint32_t cents = kz_words_value(w, n->fraction, 2);
    if (n->whole > 0) {
        kz_words_say_number(w, currency->is_feminine ? KZ_CARDINAL_FEMININE : KZ_CARDINAL,
                            n->whole);
        kz_words_say(w, kz_words_is_singular(w, &(kz_numeral){.whole = n->whole}) ? currency->one
                                                                                  : currency->many);
    }
    if (cents == 0) {
        return;
    }
    if (n->whole > 0 && w->language->has_digit_decimals) {
        kz_words_say(w, w->language->ampersand);
    }
    kz_words_say_number(w, KZ_CARDINAL, cents);
    // French leaves the cents' name out behind euros.
    if (n->whole == 0 || w->language->has_digit_decimals) {
        kz_words_say(w, cents < 2 ? currency->cent : currency->cents);
    }
}

static void say_money(kz_words *w, const kz_numeral *n, const kz_currency *currency,
                      const kz_scale *scale) {
    if (scale != NULL) {
        kz_words_say_numeral(w, n, false, true);
        kz_words_say(w, kz_words_is_singular(w, n) ? scale->one : scale->many);
        // A thousand takes no "of".
        if (scale->symbol[0] == 'k' || scale->symbol[0] == 'K') {
            kz_words_say(w, currency->many);
        } else {
            say_of(w, currency->many);
        }
        return;
    }
    const bool has_whole_or_cents =
        n->whole > 0 || (n->fraction_digits == 2 && kz_words_value(w, n->fraction, 2) > 0);
    if (n->fraction_digits == 2 && currency->cents != NULL && has_whole_or_cents) {
        say_cents(w, n, currency);
    } else {
        say_with_noun(w, n, currency->one, currency->many, currency->is_feminine);
    }
}

// "12 €50": the cents stand behind the sign.
static size_t read_cents_behind(kz_words *w, size_t end, const kz_currency *currency) {
    if (currency->cents == NULL || kz_words_digits(w, end) != 2 || kz_words_is_letter(w, end + 2)) {
        return 0;
    }
    kz_words_say_number(w, KZ_CARDINAL, kz_words_value(w, end, 2));
    return 2;
}

size_t kz_words_read_money(kz_words *w, size_t at) {
    kz_numeral n;
    const kz_currency *currency = NULL;
    const kz_scale *scale = NULL;
    if (!kz_words_numeral(w, at, &n) || n.is_long) {
        return 0;
    }
    size_t sign_at = kz_words_skip_space(w, n.end);
    size_t length = match_currency(w, sign_at, &currency);
    if (length == 0) {
        const size_t skipped = match_scale(w, sign_at, &scale);
        sign_at = kz_words_skip_space(w, sign_at + skipped);
        length = skipped > 0 ? match_currency(w, sign_at, &currency) : 0;
    }
    if (length == 0) {
        return 0;
    }
    say_money(w, &n, currency, scale);
    size_t end = sign_at + length;
    end += n.fraction_digits == 0 && scale == NULL ? read_cents_behind(w, end, currency) : 0;
    return end + read_per(w, end) - at;
}

size_t kz_words_read_money_sign(kz_words *w, size_t at) {
    kz_numeral n;
    const kz_currency *currency = NULL;
    const kz_scale *scale = NULL;
    const size_t length = match_currency(w, at, &currency);
    if (length == 0 || !kz_words_numeral(w, kz_words_skip_space(w, at + length), &n) || n.is_long) {
        return 0;
    }
    size_t end = n.end;
    const size_t scale_at = kz_words_skip_space(w, end);
    const size_t scale_length = match_scale(w, scale_at, &scale);
    end = scale_length > 0 ? scale_at + scale_length : end;
    say_money(w, &n, currency, scale);
    end += read_per(w, end);
    w->number_end = end;
    return end - at;
}
