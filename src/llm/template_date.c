// template_date.c: the date that a template prints.
//   in   the caller's date and time, a format of strftime
//   out  a string, in English whatever the locale
// The caller gives the date: a rendering depends on nothing but what it is given.
#include <stdio.h>
#include <string.h>

#include "llm/template_calls.h"

typedef struct date {
    int year, month, day, hour, minute, second;
} date;

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

static kazeia_status read_date(const kz_variant *now, date *out_date) {
    char text[32] = "";
    *out_date = (date){0};
    if (now->kind == KZ_VARIANT_STRING && now->count < sizeof text) {
        memcpy(text, now->text, now->count);
    }
    const int count =
        sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &out_date->year, &out_date->month,
               &out_date->day, &out_date->hour, &out_date->minute, &out_date->second);
    const bool is_date = count >= 3 && out_date->year > 0 && out_date->month >= 1 &&
                         out_date->month <= 12 && out_date->day >= 1 && out_date->day <= 31 &&
                         out_date->hour >= 0 && out_date->hour < 24 && out_date->minute >= 0 &&
                         out_date->minute < 60 && out_date->second >= 0 && out_date->second < 61;
    return is_date ? KAZEIA_OK
                   : kz_fail(KAZEIA_BAD_ARGUMENT,
                             "the date '%s' is asked for; give strftime_now as 2026-01-31 or "
                             "2026-01-31T12:00:00",
                             text);
}

// 0: Sunday.
static int day_of_week(const date *now) {
    static const int offsets[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    const int year = now->year - (now->month < 3);
    return (year + year / 4 - year / 100 + year / 400 + offsets[now->month - 1] + now->day) % 7;
}

static int hour_of_twelve(int hour) {
    return hour % 12 == 0 ? 12 : hour % 12;
}

// False for a letter that is not known.
static bool write_field(const date *now, char letter, char out[32]) {
    const struct {
        char letter;
        int width, value;
    } numbers[] = {{'Y', 1, now->year},       {'m', 2, now->month},
                   {'d', 2, now->day},        {'H', 2, now->hour},
                   {'M', 2, now->minute},     {'S', 2, now->second},
                   {'y', 2, now->year % 100}, {'I', 2, hour_of_twelve(now->hour)}};
    const struct {
        char letter;
        int length;
        const char *text;
    } words[] = {{'B', 31, months[now->month - 1]},       {'b', 3, months[now->month - 1]},
                 {'A', 31, days[day_of_week(now)]},       {'a', 3, days[day_of_week(now)]},
                 {'p', 31, now->hour < 12 ? "AM" : "PM"}, {'%', 31, "%"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].letter == letter) {
            return snprintf(out, 32, "%0*d", numbers[i].width, numbers[i].value) > 0;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].letter == letter) {
            return snprintf(out, 32, "%.*s", words[i].length, words[i].text) > 0;
        }
    }
    return false;
}

kazeia_status kz_date_format(kz_heap *heap, const kz_variant *now, const kz_variant *format,
                             kz_variant *out_string) {
    kz_variant text;
    date read;
    kz_string_builder builder;
    KZ_TRY(kz_call_string(format, &text));
    KZ_TRY(read_date(now, &read));
    kz_string_begin(&builder, heap);
    for (uint32_t at = 0; at < text.count; at++) {
        char field[32];
        if (text.text[at] != '%') {
            kz_string_put(&builder, text.text + at, 1, KZ_FROM_TEMPLATE);
            continue;
        }
        at++;
        if (at == text.count || !write_field(&read, text.text[at], field)) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "strftime_now: the format '%.*s' is not known",
                           (int)(text.count < 64 ? text.count : 64), text.text);
        }
        kz_string_put(&builder, field, strlen(field), KZ_FROM_TEMPLATE);
    }
    return kz_string_end(&builder, out_string);
}
