// command_response.c: confirmations with placeholders.
//
// in: a response text of the file, and a match. out: the sentence to say. Placeholders of our own
// and no Jinja: a voice needs a value, a unit in the right number, and parts that fall away; a
// template engine would run a stranger's program.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number_text.h"
#include "text/command_compiled.h"

static kazeia_status fail_in(const kz_yaml_node *source, const char *what) {
    return kz_command_fail(&source->place, KAZEIA_BAD_FILE, "%s in response '%.200s'", what,
                           source->text.bytes);
}

// An upper bound: each sign ends one text and begins another part.
static uint32_t count_parts(kz_text_view text) {
    uint32_t parts = 1;
    for (size_t i = 0; i < text.count; i++) {
        parts += strchr("{}[]", text.bytes[i]) != NULL ? 1 : 0;
    }
    return parts;
}

typedef struct response_parser {
    kz_command_arena *arena;
    const kz_yaml_node *source;
    kz_command_response *response;
    size_t at;
    uint32_t group, group_count;
} response_parser;

// The array is large enough by count_parts.
static kz_response_part *add_part(response_parser *p, bool is_slot) {
    kz_response_part *part = &p->response->parts[p->response->part_count++];
    part->group = p->group;
    part->is_slot = is_slot;
    return part;
}

static kazeia_status parse_text(response_parser *p) {
    const char *bytes = p->source->text.bytes + p->at;
    const size_t count = strcspn(bytes, "{}[]");
    p->at += count;
    return kz_command_arena_copy(p->arena, (kz_text_view){bytes, count}, &add_part(p, false)->text);
}

// "{slot}" or "{slot|singular|plural}".
static kazeia_status parse_placeholder(response_parser *p) {
    const char *bytes = p->source->text.bytes + p->at + 1;
    const size_t count = strcspn(bytes, "}");
    if (bytes[count] == '\0') {
        return fail_in(p->source, "a { that is not closed");
    }
    // Home Assistant's own sentence files use Jinja; a person who copies from there is told.
    if (bytes[0] == '{' || bytes[0] == '%') {
        return kz_command_fail(&p->source->place, KAZEIA_UNSUPPORTED,
                               "Jinja is not handled in responses: write {slot}");
    }
    kz_response_part *part = add_part(p, true);
    const char *copy;
    KZ_TRY(kz_command_arena_copy(p->arena, (kz_text_view){bytes, count}, &copy));
    part->text = copy;
    p->at += count + 2;
    char *singular = strchr(copy, '|');
    if (singular == NULL) {
        return KAZEIA_OK;
    }
    char *plural = strchr(singular + 1, '|');
    if (plural == NULL) {
        return fail_in(p->source, "a unit without its plural, expected {slot|one|many}");
    }
    // Cut in our copy; the tree's text stays whole for later sentences of failure.
    *singular = '\0';
    *plural = '\0';
    part->singular = singular + 1;
    part->plural = plural + 1;
    return KAZEIA_OK;
}

static kazeia_status parse_bracket(response_parser *p, char c) {
    if ((c == '[') == (p->group != 0)) {
        return fail_in(p->source, "a [ or ] that has no partner");
    }
    // Groups count from 1 and do not nest; 0 is what is always said.
    p->group = c == '[' ? ++p->group_count : 0;
    p->at++;
    return KAZEIA_OK;
}

kazeia_status kz_command_response_parse(kz_command_arena *arena, const kz_yaml_node *source,
                                        kz_command_response *out_response) {
    void *memory;
    response_parser p = {.arena = arena, .source = source, .response = out_response};
    out_response->source = source;
    // Twice, since each sign may end a placeholder and begin a text.
    KZ_TRY(kz_command_arena_take(arena, 2 * (size_t)count_parts(source->text),
                                 sizeof(kz_response_part), &memory));
    out_response->parts = memory;
    while (p.at < source->text.count) {
        const char c = source->text.bytes[p.at];
        if (c == '{') {
            KZ_TRY(parse_placeholder(&p));
        } else if (c == '[' || c == ']') {
            KZ_TRY(parse_bracket(&p, c));
        } else if (c == '}') {
            return fail_in(source, "a } that nothing opened");
        } else {
            KZ_TRY(parse_text(&p));
        }
    }
    return p.group == 0 ? KAZEIA_OK : fail_in(source, "a [ that is not closed");
}

// ---- the clock

// French first, English second: indexed by is_english.
static const char *const months[2][12] = {
    {"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
     "octobre", "novembre", "décembre"},
    {"January", "February", "March", "April", "May", "June", "July", "August", "September",
     "October", "November", "December"}};
static const char *const weekdays[2][7] = {
    {"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
    {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}};
static const char *const clock_names[] = {"clock_hour",  "clock_minute",  "clock_day",
                                          "clock_month", "clock_weekday", "clock_year"};

typedef struct spoken_value {
    const char *text; // NULL: missing
    double number;
    char digits[32];
} spoken_value;

static bool is_english(const char *language) {
    return strcmp(language, "en") == 0;
}

// A full hour has no minute to say. A name that begins with clock_ is never looked for among the
// slots, even when there is no clock.
static bool find_clock_value(const char *name, const char *language, const kz_command_clock *clock,
                             spoken_value *out_value) {
    const bool english = is_english(language);
    if (strncmp(name, "clock_", 6) != 0) {
        return false;
    }
    out_value->text = NULL;
    if (clock == NULL) {
        return true;
    }
    if (strcmp(name, "clock_month") == 0) {
        out_value->text =
            clock->month >= 1 && clock->month <= 12 ? months[english][clock->month - 1] : NULL;
    } else if (strcmp(name, "clock_weekday") == 0) {
        out_value->text =
            clock->weekday >= 0 && clock->weekday <= 6 ? weekdays[english][clock->weekday] : NULL;
    } else {
        const int number = strcmp(name, "clock_hour") == 0     ? clock->hour
                           : strcmp(name, "clock_minute") == 0 ? clock->minute
                           : strcmp(name, "clock_day") == 0    ? clock->day
                                                               : clock->year;
        out_value->number = number;
        kz_command_number_text(number, language, out_value->digits, sizeof out_value->digits);
        out_value->text =
            strcmp(name, "clock_minute") == 0 && number == 0 ? NULL : out_value->digits;
    }
    return true;
}

kazeia_status kz_command_response_check(const kz_command_response *response,
                                        bool (*has_slot)(const void *context, const char *name),
                                        const void *context) {
    for (uint32_t i = 0; i < response->part_count; i++) {
        const kz_response_part *part = &response->parts[i];
        bool is_known = !part->is_slot || has_slot(context, part->text);
        for (size_t k = 0; k < sizeof clock_names / sizeof clock_names[0]; k++) {
            is_known = is_known || strcmp(clock_names[k], part->text) == 0;
        }
        if (!is_known) {
            return kz_command_fail(&response->source->place, KAZEIA_BAD_FILE,
                                   "the placeholder {%.60s} is no slot of a sentence that answers "
                                   "with this response",
                                   part->text);
        }
    }
    return KAZEIA_OK;
}

// ---- rendering

void kz_command_number_text(double number, const char *language, char *out, size_t capacity) {
    // Up to there a double holds every whole number and "%.0f" prints it exactly.
    if (number == floor(number) && fabs(number) < 1e15) {
        snprintf(out, capacity, "%.0f", number);
        return;
    }
    char digits[KZ_NUMBER_BYTES];
    kz_number_write(number, 6, digits);
    snprintf(out, capacity, "%s", digits);
    char *point = strchr(out, '.');
    if (point != NULL && !is_english(language)) {
        *point = ',';
    }
}

// What is said for a slot: the words of the transcript, or a number in digits.
static void find_value(const char *name, const char *language, const kz_command_result *result,
                       const kz_command_clock *clock, spoken_value *out_value) {
    out_value->text = NULL;
    if (find_clock_value(name, language, clock, out_value)) {
        return;
    }
    for (uint32_t i = 0; i < result->slot_count; i++) {
        const kz_command_slot *slot = &result->slots[i];
        if (strcmp(slot->name, name) != 0) {
            continue;
        }
        out_value->number = slot->number;
        out_value->text = slot->said[0] != '\0' ? slot->said : slot->text;
        if (slot->kind == KZ_SLOT_NUMBER) {
            // Without the sign: responses say "baisse de 5", the intent knows the direction.
            kz_command_number_text(fabs(slot->number), language, out_value->digits,
                                   sizeof out_value->digits);
            out_value->text = out_value->digits;
        }
        return;
    }
}

// A bracket with a placeholder that has no value falls away as a whole, its words included.
static bool is_group_said(const kz_command_response *response, uint32_t group, const char *language,
                          const kz_command_result *result, const kz_command_clock *clock) {
    for (uint32_t i = 0; group != 0 && i < response->part_count; i++) {
        const kz_response_part *part = &response->parts[i];
        spoken_value value;
        if (part->group != group || !part->is_slot) {
            continue;
        }
        find_value(part->text, language, result, clock, &value);
        if (value.text == NULL) {
            return false;
        }
    }
    return true;
}

static size_t add_text(char *out, size_t used, size_t capacity, const char *text) {
    const size_t count = strlen(text);
    // Whole parts or nothing: half a word would be spoken.
    const size_t fits = used + count < capacity ? count : 0;
    memcpy(out + used, text, fits);
    out[used + fits] = '\0';
    return used + fits;
}

// French has the plural from 2 on, English everywhere but at 1.
static bool is_plural(double number, const char *language) {
    return is_english(language) ? fabs(number) != 1 : fabs(number) >= 2;
}

size_t kz_command_response_render(const kz_command_response *response, const char *language,
                                  const kz_command_result *result, const kz_command_clock *clock,
                                  char *out, size_t capacity) {
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < response->part_count; i++) {
        const kz_response_part *part = &response->parts[i];
        if (!is_group_said(response, part->group, language, result, clock)) {
            continue;
        }
        if (!part->is_slot) {
            used = add_text(out, used, capacity, part->text);
            continue;
        }
        spoken_value value = {.text = NULL};
        find_value(part->text, language, result, clock, &value);
        const char *said = value.text == NULL ? "" : value.text;
        used = add_text(out, used, capacity, said);
        if (part->singular != NULL && said[0] != '\0') {
            used = add_text(out, used, capacity, " ");
            used = add_text(out, used, capacity,
                            is_plural(value.number, language) ? part->plural : part->singular);
        }
    }
    return used;
}
