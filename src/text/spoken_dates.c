// spoken_dates.c: dates, years and times of day.
//
// in:  a digit, or the name of a month before one. out: words.
#include <string.h>

#include "text/spoken_words.h"

enum { FIRST_YEAR = 1010, LAST_YEAR = 2199, YEAR_DIGITS = 4, PIVOT_YEAR = 50 };

// ---- years --------------------------------------------------------------------------------------

static void say_year_pairs(kz_words *w, uint32_t year) {
    const kz_spoken_language *l = w->language;
    const uint32_t century = year / 100, rest = year % 100;
    if (century % 10 == 0 && rest < 10) {
        kz_words_say_number(w, KZ_CARDINAL, year);
        return;
    }
    kz_words_say_number(w, KZ_CARDINAL, century);
    if (rest == 0) {
        kz_words_say(w, l->hundred);
        return;
    }
    if (rest < 10) {
        kz_words_say(w, l->oh);
    }
    kz_words_say_number(w, KZ_CARDINAL, rest);
}

void kz_words_say_year(kz_words *w, uint32_t year) {
    if (w->language->has_year_pairs && year >= FIRST_YEAR && year <= LAST_YEAR) {
        say_year_pairs(w, year);
    } else {
        kz_words_say_number(w, KZ_CARDINAL, year);
    }
}

// "the 1980s", "the 2000s": the plural of the last word.
static void say_decade(kz_words *w, uint32_t year) {
    char text[KZ_NUMBER_BYTES + 4];
    const uint32_t rest = year % 100;
    const bool is_thousand = year >= 1000 && year % 1000 == 0;
    if (year >= 100 && !is_thousand) {
        kz_words_say_number(w, KZ_CARDINAL, year / 100);
    }
    size_t count = kz_numbers_write(w->numbers, KZ_CARDINAL, is_thousand ? year : rest, text);
    if (rest == 0 && !is_thousand) {
        count = strlen(w->language->hundred);
        memcpy(text, w->language->hundred, count);
    }
    // "eighty" becomes "eighties".
    if (count > 0 && text[count - 1] == 'y') {
        text[count - 1] = 'i';
        text[count++] = 'e';
    }
    text[count++] = 's';
    kz_words_say_count(w, text, count);
}

static bool has_year_before(const kz_words *w, size_t at) {
    char before[KZ_WORDS_WORD_BYTES];
    kz_words_word_before(w, at, before);
    if (kz_words_is_listed(w->language->years_before, before)) {
        return true;
    }
    const uint32_t sign = kz_words_char_before(w, kz_words_back_space(w, at));
    // "2019-2024"
    if (sign == '-' && at > YEAR_DIGITS &&
        kz_words_digits(w, at - 1 - YEAR_DIGITS) == YEAR_DIGITS) {
        return true;
    }
    return sign == '(' || sign == ',' || sign == 0x2013;
}

// "1980s", "80's"; a language without pairs leaves years to the other rules.
size_t kz_words_read_decade(kz_words *w, size_t at) {
    const size_t digits = kz_words_digits(w, at);
    const size_t end = at + digits;
    if (!w->language->has_year_pairs || (digits != YEAR_DIGITS && digits != 2)) {
        return 0;
    }
    const uint32_t year = kz_words_value(w, at, digits);
    const size_t plural = kz_words_match(w, end, "'s", false) > 0 ? 2 : w->segment[end] == 's';
    if (plural == 0 || kz_words_is_alnum(w, end + plural) || year % 10 != 0) {
        return 0;
    }
    say_decade(w, year);
    return digits + plural;
}

size_t kz_words_read_year(kz_words *w, size_t at) {
    const size_t digits = kz_words_digits(w, at);
    const size_t end = at + digits;
    const uint32_t year = digits == YEAR_DIGITS ? kz_words_value(w, at, digits) : 0;
    if (!w->language->has_year_pairs || year < FIRST_YEAR || year > LAST_YEAR ||
        kz_words_is_alnum(w, end) || !has_year_before(w, at) ||
        (w->segment[end] == '.' && kz_words_digits(w, end + 1) > 0)) {
        return 0;
    }
    kz_words_say_year(w, year);
    return digits;
}

// ---- dates --------------------------------------------------------------------------------------

static void say_day_month(kz_words *w, uint32_t day, uint32_t month) {
    const kz_spoken_language *l = w->language;
    if (l->has_month_first) {
        kz_words_say(w, l->months[month - 1]);
        kz_words_say_number(w, KZ_ORDINAL, day);
        return;
    }
    kz_words_say_number(w, day == 1 ? KZ_ORDINAL : KZ_CARDINAL, day);
    kz_words_say(w, l->months[month - 1]);
}

static void say_date(kz_words *w, uint32_t day, uint32_t month, uint32_t year, size_t year_digits) {
    say_day_month(w, day, month);
    if (year_digits > 0) {
        if (w->language->has_month_first) {
            kz_words_pause(w);
        }
        kz_words_say_year(w, year);
    }
}

static bool is_day(uint32_t day) {
    return day >= 1 && day <= 31;
}

static bool is_month(uint32_t month) {
    return month >= 1 && month <= 12;
}

static size_t read_iso_date(kz_words *w, size_t at) {
    if (kz_words_digits(w, at) != 4 || kz_words_digits(w, at + 5) != 2 ||
        kz_words_digits(w, at + 8) != 2 || w->segment[at + 4] != w->segment[at + 7] ||
        strchr("-/", w->segment[at + 4]) == NULL) {
        return 0;
    }
    const uint32_t month = kz_words_value(w, at + 5, 2), day = kz_words_value(w, at + 8, 2);
    if (!is_month(month) || !is_day(day)) {
        return 0;
    }
    say_date(w, day, month, kz_words_value(w, at, 4), 4);
    const size_t end = at + 10;
    // "2026-01-01T10:00": the time is read by its own rule.
    const bool has_time = w->segment[end] == 'T' && kz_words_digits(w, end + 1) == 2;
    w->is_space_owed = has_time;
    return 10 + has_time;
}

// "14/07": both with two digits, a day and a month; a mark such as 12/20 has no month.
static bool is_short_date(const kz_words *w, size_t at, size_t first, size_t second) {
    char before[KZ_WORDS_WORD_BYTES];
    kz_words_word_before(w, at, before);
    if (w->segment[at + first] != '/') {
        return false;
    }
    return kz_words_is_listed(w->language->date_before, before) ||
           (first == 2 && second == 2 &&
            (w->segment[at] == '0' || w->segment[at + first + 1] == '0'));
}

size_t kz_words_read_date(kz_words *w, size_t at) {
    const size_t iso = read_iso_date(w, at);
    const size_t first = kz_words_digits(w, at);
    const char sign = w->segment[at + first];
    if (iso > 0 || first == 0 || first > 2 || strchr("/-.", sign) == NULL || sign == '\0') {
        return iso;
    }
    const size_t second_at = at + first + 1;
    const size_t second = kz_words_digits(w, second_at);
    const size_t year_at = second_at + second + 1;
    const size_t year_digits =
        second > 0 && w->segment[second_at + second] == sign ? kz_words_digits(w, year_at) : 0;
    uint32_t day = kz_words_value(w, at, first), month = kz_words_value(w, second_at, second % 3);
    if (second == 0 || second > 2 || (year_digits == 0 && !is_short_date(w, at, first, second)) ||
        (year_digits != 0 && year_digits != 4 && (year_digits != 2 || sign == '.'))) {
        return 0;
    }
    if (w->language->has_month_first && is_month(day) && (is_day(month) || month > 12)) {
        const uint32_t swapped = day;
        day = month;
        month = swapped;
    }
    const size_t end = year_digits > 0 ? year_at + year_digits : second_at + second;
    if (!is_day(day) || !is_month(month) || kz_words_is_alnum(w, end) || w->segment[end] == sign) {
        if (w->segment[end] != sign || sign != '.' || kz_words_is_alnum(w, end + 1) ||
            !is_day(day) || !is_month(month)) {
            return 0;
        }
    }
    uint32_t year = kz_words_value(w, year_at, year_digits);
    if (year_digits == 2) {
        year += year < PIVOT_YEAR ? 2000 : 1900;
    }
    say_date(w, day, month, year, year_digits);
    return end - at;
}

// The month whose name or abbreviation stands at `at`; 0: none. An abbreviation's dot is taken.
static uint32_t match_month(const kz_words *w, size_t at, size_t *out_length) {
    char word[KZ_WORDS_WORD_BYTES];
    kz_words_word(w, at, word);
    if (word[0] == '\0') {
        return 0;
    }
    const size_t end = kz_words_word_end(w, at);
    for (uint32_t month = 1; month <= 12; month++) {
        char name[KZ_WORDS_WORD_BYTES];
        const char *full = w->language->months[month - 1];
        const size_t length = kz_text_fold(full, strlen(full), name, sizeof name - 1);
        name[length] = '\0';
        if (strcmp(name, word) == 0) {
            *out_length = end - at;
            return month;
        }
        if (kz_words_is_listed(w->language->month_abbreviations[month - 1], word)) {
            *out_length = end - at + (w->segment[end] == '.' && !kz_words_ends_here(w, end + 1));
            return month;
        }
    }
    return 0;
}

// A year right behind a date, with what stands between: ", 1776" or " 2024".
static size_t read_year_behind(kz_words *w, size_t end, bool has_day) {
    const bool has_comma = w->language->has_month_first && w->segment[end] == ',';
    const size_t year_at = kz_words_skip_space(w, end + has_comma);
    if (year_at <= end + has_comma || kz_words_digits(w, year_at) != YEAR_DIGITS ||
        kz_words_is_alnum(w, year_at + YEAR_DIGITS) || w->segment[year_at + YEAR_DIGITS] == ':') {
        return 0;
    }
    const uint32_t year = kz_words_value(w, year_at, YEAR_DIGITS);
    if (w->language->has_month_first && has_day) {
        kz_words_pause(w);
    }
    kz_words_say_year(w, year);
    return year_at + YEAR_DIGITS - end;
}

static size_t ordinal_suffix(const kz_words *w, size_t at) {
    for (const kz_ordinal_suffix *row = w->language->ordinals; row->suffix != NULL; row++) {
        const size_t length = kz_words_match(w, at, row->suffix, false);
        if (length > 0 && !kz_words_is_alnum(w, at + length)) {
            return length;
        }
    }
    return 0;
}

static bool follows_the(const kz_words *w, size_t at) {
    char before[KZ_WORDS_WORD_BYTES];
    kz_words_word_before(w, at, before);
    return strcmp(before, "the") == 0;
}

// "8 sept.", "1 May 2024", "4th of July" without the of.
size_t kz_words_read_day(kz_words *w, size_t at) {
    const kz_spoken_language *l = w->language;
    size_t length = 0;
    const size_t digits = kz_words_digits(w, at);
    const uint32_t day = digits <= 2 ? kz_words_value(w, at, digits) : 0;
    const size_t month_at = kz_words_skip_space(w, at + digits);
    if (!is_day(day) || month_at == at + digits) {
        return 0;
    }
    const uint32_t month = match_month(w, month_at, &length);
    if (month == 0) {
        return 0;
    }
    const size_t end = month_at + length;
    if (l->has_month_first) {
        if (!follows_the(w, at)) {
            kz_words_say(w, l->the);
        }
        kz_words_say_number(w, KZ_ORDINAL, day);
        kz_words_say(w, l->of_month);
        kz_words_say(w, l->months[month - 1]);
    } else {
        say_day_month(w, day, month);
    }
    return end + read_year_behind(w, end, true) - at;
}

// "July 4, 1776", "Dec. 3rd"; only where the month comes first.
size_t kz_words_read_month(kz_words *w, size_t at) {
    size_t length = 0;
    if (!w->language->has_month_first || !kz_char_is_upper(kz_words_char(w, at))) {
        return 0;
    }
    const uint32_t month = match_month(w, at, &length);
    const size_t day_at = kz_words_skip_space(w, at + length);
    if (month == 0 || day_at == at + length) {
        return 0;
    }
    const size_t digits = kz_words_digits(w, day_at);
    const uint32_t day = digits <= 2 ? kz_words_value(w, day_at, digits) : 0;
    const size_t end = day_at + digits + ordinal_suffix(w, day_at + digits);
    if (digits == YEAR_DIGITS) {
        kz_words_say(w, w->language->months[month - 1]);
        return length + read_year_behind(w, at + length, false);
    }
    if (!is_day(day) || kz_words_is_alnum(w, end) || w->segment[end] == ':') {
        return 0;
    }
    say_day_month(w, day, month);
    const size_t taken = end + read_year_behind(w, end, true) - at;
    w->number_end = at + taken;
    return taken;
}

// ---- times --------------------------------------------------------------------------------------

static void say_clock(kz_words *w, uint32_t hour, uint32_t minute, bool has_period) {
    const kz_spoken_language *l = w->language;
    if (l->has_hour_names) {
        kz_words_say_number(w, KZ_CARDINAL_FEMININE, hour);
        kz_words_say(w, hour < 2 ? l->hour : l->hours);
        if (minute > 0) {
            kz_words_say_number(w, KZ_CARDINAL, minute);
        }
        return;
    }
    kz_words_say_number(w, KZ_CARDINAL, hour);
    if (minute == 0 && !has_period) {
        kz_words_say(w, hour > 12 || hour == 0 ? l->hundred : l->even_hour);
    }
    if (minute > 0 && minute < 10) {
        kz_words_say(w, l->oh);
    }
    if (minute > 0) {
        kz_words_say_number(w, KZ_CARDINAL, minute);
    }
}

// "a.m.", "PM": said as letters. Returns the bytes, with the space before.
static size_t match_period(const kz_words *w, size_t at, size_t *out_letter) {
    const size_t first = kz_words_skip_space(w, at);
    const char c = (char)(w->segment[first] | 0x20);
    if (w->language->day_periods == NULL || (c != 'a' && c != 'p')) {
        return 0;
    }
    size_t end = first + 1;
    const bool is_dotted = w->segment[end] == '.';
    end += is_dotted;
    if ((w->segment[end] | 0x20) != 'm') {
        return 0;
    }
    end++;
    if (kz_words_is_alnum(w, end)) {
        return 0;
    }
    *out_letter = first;
    // The last dot may end the sentence as well.
    const bool ends_sentence =
        kz_words_ends_here(w, end + 1) ||
        (w->segment[end + 1] == ' ' && kz_char_is_upper(kz_words_char(w, end + 2)));
    return end - at + (is_dotted && w->segment[end] == '.' && !ends_sentence);
}

static void say_period(kz_words *w, size_t letter) {
    const char text[2] = {(char)(w->segment[letter] | 0x20), '\0'};
    kz_words_say(w, text);
    kz_words_say(w, "m");
}

// "24h/24", behind an hour.
static size_t read_over(kz_words *w, size_t at) {
    const size_t digits = w->segment[at] == '/' ? kz_words_digits(w, at + 1) : 0;
    if (digits == 0 || digits > 2) {
        return 0;
    }
    kz_words_say(w, w->language->over);
    kz_words_say_number(w, KZ_CARDINAL, kz_words_value(w, at + 1, digits));
    return 1 + digits;
}

// "14h30", "8 h", "1 h 45"; minutes that carry their own unit are left to it.
static size_t read_hour_sign(kz_words *w, size_t at, size_t digits) {
    const kz_unit *unit = NULL;
    const size_t sign = kz_words_skip_space(w, at + digits);
    if ((w->segment[sign] != 'h' && w->segment[sign] != 'H') || kz_words_is_letter(w, sign + 1)) {
        return 0;
    }
    size_t minute_at = kz_words_skip_space(w, sign + 1);
    size_t minute_digits = kz_words_digits(w, minute_at);
    uint32_t minute = minute_digits == 2 ? kz_words_value(w, minute_at, 2) : 60;
    const size_t behind = minute_at + minute_digits;
    const bool is_apart = minute_at > sign + 1;
    if (minute > 59 || kz_words_is_letter(w, behind) ||
        (is_apart && kz_words_match_unit(w, kz_words_skip_space(w, behind), &unit) > 0)) {
        minute = 0;
        minute_at = sign + 1;
        minute_digits = 0;
    }
    say_clock(w, kz_words_value(w, at, digits), minute, false);
    const size_t end = minute_at + minute_digits;
    return end + read_over(w, end) - at;
}

static size_t read_clock(kz_words *w, size_t at, size_t digits) {
    size_t letter = 0;
    const size_t minute_at = at + digits + 1;
    const uint32_t hour = kz_words_value(w, at, digits);
    if (w->segment[at + digits] != ':') {
        const size_t period = match_period(w, at + digits, &letter);
        if (period > 0 && hour <= 12) {
            kz_words_say_number(w, KZ_CARDINAL, hour);
            say_period(w, letter);
            return digits + period;
        }
        return 0;
    }
    if (kz_words_digits(w, minute_at) != 2 || hour > 24 || kz_words_value(w, minute_at, 2) > 59) {
        return 0;
    }
    size_t end = minute_at + 2;
    const size_t period = match_period(w, end, &letter);
    // "5:30am" is a time, "5:30x" is none.
    if (period == 0 && kz_words_is_letter(w, end)) {
        return 0;
    }
    say_clock(w, hour, kz_words_value(w, minute_at, 2), period > 0);
    if (period > 0) {
        say_period(w, letter);
    }
    end += period;
    if (w->segment[end] == ':' && kz_words_digits(w, end + 1) == 2) {
        kz_words_say_padded(w, end + 1, 2);
        end += 3;
    }
    return end - at;
}

size_t kz_words_read_time(kz_words *w, size_t at) {
    const size_t digits = kz_words_digits(w, at);
    if (digits == 0 || digits > 3) {
        return 0;
    }
    const size_t named = w->language->has_hour_names ? read_hour_sign(w, at, digits) : 0;
    return named > 0 || digits > 2 ? named : read_clock(w, at, digits);
}
