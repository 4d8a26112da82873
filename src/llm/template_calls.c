// template_calls.c: the methods, tests and functions of templates.
//   in   a value and arguments
//   out  a value
#include "llm/template_calls.h"

#include <stdio.h>
#include <string.h>

#include "llm/template_text.h"

#define RANGE_LIMIT 100000 // elements, as in Jinja's sandbox

static kz_heap *heap_of(const kz_call *call) {
    return &call->machine->heap;
}

// --- Arguments ----------------------------------------------------------------------------------

// The place of a name in a list with spaces between, or -1.
static int find_name(const char *names, const kz_variant *name) {
    int place = 0;
    while (*names) {
        const size_t count = strcspn(names, " ");
        if (name->kind == KZ_VARIANT_STRING && name->count == count &&
            memcmp(names, name->text, count) == 0) {
            return place;
        }
        names += count + (names[count] == ' ');
        place++;
    }
    return -1;
}

static uint32_t count_names(const char *names) {
    uint32_t count = *names != '\0';
    for (; *names; names++) {
        count += *names == ' ';
    }
    return count;
}

kazeia_status kz_call_arguments(const kz_call *call, const char *names,
                                const kz_variant *out_values[KZ_CALL_ARGUMENTS]) {
    const uint32_t most = count_names(names);
    if (call->count > most) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%u arguments are given; at most %u (%s) expected",
                       call->count, most, names);
    }
    for (uint32_t i = 0; i < call->count; i++) {
        out_values[i] = &call->values[i];
    }
    for (uint32_t i = 0; i < call->pair_count; i++) {
        const kz_variant *name = &call->pairs[2 * i];
        const int place = find_name(names, name);
        if (place < 0) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "an argument '%.*s' is given; one of (%s) expected",
                           (int)(name->count < 64 ? name->count : 64),
                           name->kind == KZ_VARIANT_STRING ? name->text : "", names);
        }
        out_values[place] = &call->pairs[2 * i + 1];
    }
    return KAZEIA_OK;
}

kazeia_status kz_call_integer(const kz_variant *argument, int64_t when_absent,
                              int64_t *out_integer) {
    *out_integer = when_absent;
    if (!argument) {
        return KAZEIA_OK;
    }
    if (argument->kind != KZ_VARIANT_INTEGER && argument->kind != KZ_VARIANT_BOOL) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s is given; a whole number expected",
                       kz_variant_kind_name(argument));
    }
    *out_integer = argument->integer;
    return KAZEIA_OK;
}

kazeia_status kz_call_string(const kz_variant *argument, kz_variant *out_string) {
    *out_string = argument ? *argument : kz_variant_text("", 0, KZ_FROM_TEMPLATE);
    return out_string->kind == KZ_VARIANT_STRING
               ? KAZEIA_OK
               : kz_fail(KAZEIA_BAD_ARGUMENT, "a %s is given; a str expected",
                         kz_variant_kind_name(out_string));
}

// --- Maps ---------------------------------------------------------------------------------------

kazeia_status kz_map_items(kz_heap *heap, const kz_variant *map, kz_variant *out_list) {
    kz_variant *tuples = NULL, *pairs = NULL;
    if (map->kind != KZ_VARIANT_MAP) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "items of a %s; a dict expected",
                       kz_variant_kind_name(map));
    }
    KZ_TRY(kz_heap_take(heap, map->count, sizeof *tuples, (void **)&tuples));
    KZ_TRY(kz_heap_take(heap, map->count, 2 * sizeof *pairs, (void **)&pairs));
    for (uint32_t i = 0; i < map->count; i++) {
        pairs[2 * i] = map->entries[i].key;
        pairs[2 * i + 1] = map->entries[i].value;
        tuples[i] = kz_variant_list(pairs + 2 * i, 2);
        tuples[i].kind = KZ_VARIANT_TUPLE;
    }
    *out_list = kz_variant_list(tuples, map->count);
    return KAZEIA_OK;
}

kazeia_status kz_variant_length(kz_heap *heap, const kz_variant *value, kz_variant *out_length) {
    switch (value->kind) {
    case KZ_VARIANT_UNDEFINED:
    case KZ_VARIANT_MISSING:
        *out_length = kz_variant_integer(0);
        return KAZEIA_OK;
    case KZ_VARIANT_STRING:
        *out_length = kz_variant_integer(kz_string_length(value));
        return kz_heap_work(heap, 1 + value->count / 4);
    case KZ_VARIANT_LIST:
    case KZ_VARIANT_TUPLE:
    case KZ_VARIANT_MAP:
        *out_length = kz_variant_integer(value->count);
        return KAZEIA_OK;
    default:
        return kz_fail(KAZEIA_BAD_ARGUMENT, "the length of a %s", kz_variant_kind_name(value));
    }
}

static kazeia_status do_map_method(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL}, *found = NULL;
    const kz_variant *map = call->subject;
    kz_variant *values = NULL;
    switch (call->number) {
    case KZ_METHOD_ITEMS:
        return kz_map_items(heap_of(call), map, out_value);
    case KZ_METHOD_KEYS:
        *out_value = kz_variant_list(NULL, 0);
        return kz_variant_elements(heap_of(call), map, &out_value->items, &out_value->count);
    case KZ_METHOD_VALUES:
        KZ_TRY(kz_heap_take(heap_of(call), map->count, sizeof *values, (void **)&values));
        for (uint32_t i = 0; i < map->count; i++) {
            values[i] = map->entries[i].value;
        }
        *out_value = kz_variant_list(values, map->count);
        return KAZEIA_OK;
    case KZ_METHOD_GET:
        KZ_TRY(kz_call_arguments(call, "key default", arguments));
        *out_value = arguments[1] ? *arguments[1] : kz_variant_none();
        if (arguments[0] && arguments[0]->kind == KZ_VARIANT_STRING) {
            found = kz_variant_find(map, arguments[0]->text, arguments[0]->count);
        }
        *out_value = found ? *found : *out_value;
        return KAZEIA_OK;
    default:
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a dict has no method '%s'",
                       kz_template_name(KZ_LIST_METHODS, call->number));
    }
}

// --- Methods of strings -------------------------------------------------------------------------

static const kz_variant *unless_none(const kz_variant *argument) {
    return argument && argument->kind == KZ_VARIANT_NONE ? NULL : argument;
}

static kazeia_status do_strip(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    kz_variant set;
    KZ_TRY(kz_call_arguments(call, "chars", arguments));
    const kz_variant *given = unless_none(arguments[0]);
    KZ_TRY(kz_call_string(given, &set));
    return kz_string_strip(heap_of(call), call->subject, given ? &set : NULL,
                           call->number != KZ_METHOD_RSTRIP, call->number != KZ_METHOD_LSTRIP,
                           out_value);
}

static kazeia_status do_split(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    kz_variant separator;
    int64_t most = 0;
    KZ_TRY(kz_call_arguments(call, "sep maxsplit", arguments));
    const kz_variant *given = unless_none(arguments[0]);
    KZ_TRY(kz_call_string(given, &separator));
    KZ_TRY(kz_call_integer(arguments[1], -1, &most));
    return kz_string_split(heap_of(call), call->subject, given ? &separator : NULL, most,
                           call->number == KZ_METHOD_RSPLIT, out_value);
}

// startswith and endswith take a string or a tuple of them.
static kazeia_status do_ends(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    KZ_TRY(kz_call_arguments(call, "text", arguments));
    const kz_variant *given = arguments[0];
    const bool is_many = given && given->kind == KZ_VARIANT_TUPLE;
    const kz_variant *texts = is_many ? given->items : given;
    bool is_so = false;
    for (uint32_t i = 0; i < (is_many ? given->count : 1); i++) {
        kz_variant text;
        KZ_TRY(kz_call_string(texts ? &texts[i] : NULL, &text));
        is_so = is_so ||
                (call->number == KZ_METHOD_STARTSWITH ? kz_string_starts_with(call->subject, &text)
                                                      : kz_string_ends_with(call->subject, &text));
    }
    *out_value = kz_variant_bool(is_so);
    return KAZEIA_OK;
}

static kazeia_status do_replace(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    kz_variant old, new_text;
    int64_t most = 0;
    KZ_TRY(kz_call_arguments(call, "old new count", arguments));
    KZ_TRY(kz_call_string(arguments[0], &old));
    KZ_TRY(kz_call_string(arguments[1], &new_text));
    KZ_TRY(kz_call_integer(arguments[2], -1, &most));
    return kz_string_replace(heap_of(call), call->subject, &old, &new_text, most, out_value);
}

static kazeia_status do_search(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    kz_variant needle;
    int64_t count = 0;
    KZ_TRY(kz_call_arguments(call, "text", arguments));
    KZ_TRY(kz_call_string(arguments[0], &needle));
    KZ_TRY(kz_heap_work(heap_of(call), 1 + call->subject->count / 4));
    uint32_t at = kz_string_find(call->subject, &needle, 0);
    if (call->number == KZ_METHOD_FIND) {
        const kz_variant before = kz_variant_text(call->subject->text, at, KZ_FROM_TEMPLATE);
        *out_value = kz_variant_integer(at == UINT32_MAX ? -1 : (int64_t)kz_string_length(&before));
        return KAZEIA_OK;
    }
    if (needle.count == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "count of an empty text");
    }
    for (; at != UINT32_MAX; count++) {
        at = kz_string_find(call->subject, &needle, at + needle.count);
    }
    *out_value = kz_variant_integer(count);
    return KAZEIA_OK;
}

static kazeia_status do_case(const kz_call *call, kz_variant *out_value) {
    const kz_letter_case letter_case = call->number == KZ_METHOD_UPPER   ? KZ_CASE_UPPER
                                       : call->number == KZ_METHOD_LOWER ? KZ_CASE_LOWER
                                       : call->number == KZ_METHOD_TITLE ? KZ_CASE_TITLE
                                                                         : KZ_CASE_CAPITALIZE;
    return kz_string_case(heap_of(call), call->subject, letter_case, false, out_value);
}

static kazeia_status do_join(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL}, *items = NULL;
    const kz_variant undefined = {.kind = KZ_VARIANT_UNDEFINED};
    uint32_t count = 0;
    KZ_TRY(kz_call_arguments(call, "items", arguments));
    KZ_TRY(kz_variant_elements(heap_of(call), arguments[0] ? arguments[0] : &undefined, &items,
                               &count));
    for (uint32_t i = 0; i < count; i++) {
        kz_variant text;
        KZ_TRY(kz_call_string(&items[i], &text));
    }
    return kz_string_join(heap_of(call), call->subject, items, count, out_value);
}

// "{}" takes the next value, "{{" is a brace; formats inside the braces are not read.
static kazeia_status do_format(const kz_call *call, kz_variant *out_value) {
    const kz_variant *format = call->subject;
    kz_variant strings[KZ_CHAT_ARGUMENT_LIMIT];
    kz_string_builder builder;
    uint32_t next = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        KZ_TRY(kz_variant_to_string(heap_of(call), &call->values[i], &strings[i]));
    }
    kz_string_begin(&builder, heap_of(call));
    for (uint32_t at = 0; at < format->count;) {
        const char c = format->text[at], after = at + 1 < format->count ? format->text[at + 1] : 0;
        if (c != '{' && c != '}') {
            kz_string_put_part(&builder, format, at, at + 1);
            at++;
        } else if (c == after) {
            kz_string_put_part(&builder, format, at, at + 1);
            at += 2;
        } else if (c == '{' && after == '}' && next < call->count) {
            kz_string_put_part(&builder, &strings[next], 0, strings[next].count);
            next++;
            at += 2;
        } else {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "format: other than {} for each of %u values",
                           call->count);
        }
    }
    return kz_string_end(&builder, out_value);
}

typedef kazeia_status (*method)(const kz_call *call, kz_variant *out_value);

static const method string_methods[KZ_METHOD_COUNT_OF_ALL] = {
    [KZ_METHOD_CAPITALIZE] = do_case, [KZ_METHOD_COUNT] = do_search,
    [KZ_METHOD_ENDSWITH] = do_ends,   [KZ_METHOD_FIND] = do_search,
    [KZ_METHOD_FORMAT] = do_format,   [KZ_METHOD_JOIN] = do_join,
    [KZ_METHOD_LOWER] = do_case,      [KZ_METHOD_LSTRIP] = do_strip,
    [KZ_METHOD_REPLACE] = do_replace, [KZ_METHOD_RSPLIT] = do_split,
    [KZ_METHOD_RSTRIP] = do_strip,    [KZ_METHOD_SPLIT] = do_split,
    [KZ_METHOD_STARTSWITH] = do_ends, [KZ_METHOD_STRIP] = do_strip,
    [KZ_METHOD_TITLE] = do_case,      [KZ_METHOD_UPPER] = do_case,
};

kazeia_status kz_call_method(const kz_call *call, kz_variant *out_value) {
    const method run = string_methods[call->number];
    KZ_TRY(kz_heap_work(heap_of(call), 1));
    if (call->subject->kind == KZ_VARIANT_MAP) {
        return do_map_method(call, out_value);
    }
    if (call->subject->kind != KZ_VARIANT_STRING || !run) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s has no method '%s'",
                       kz_variant_kind_name(call->subject),
                       kz_template_name(KZ_LIST_METHODS, call->number));
    }
    return run(call, out_value);
}

// --- Tests --------------------------------------------------------------------------------------

// Of the kind alone.
static bool test_kind(uint32_t number, const kz_variant *value) {
    const bool is_undefined =
        value->kind == KZ_VARIANT_UNDEFINED || value->kind == KZ_VARIANT_MISSING;
    const bool is_series = value->kind == KZ_VARIANT_STRING || kz_variant_is_list(value) ||
                           value->kind == KZ_VARIANT_MAP || is_undefined;
    switch (number) {
    case KZ_TEST_BOOLEAN:
        return value->kind == KZ_VARIANT_BOOL;
    case KZ_TEST_CALLABLE:
        return value->kind == KZ_VARIANT_MACRO || value->kind == KZ_VARIANT_METHOD;
    case KZ_TEST_DEFINED:
        return !is_undefined;
    case KZ_TEST_FALSE:
        return value->kind == KZ_VARIANT_BOOL && !value->integer;
    case KZ_TEST_FLOAT:
        return value->kind == KZ_VARIANT_REAL;
    case KZ_TEST_INTEGER:
        return value->kind == KZ_VARIANT_INTEGER || value->kind == KZ_VARIANT_BIG;
    case KZ_TEST_ITERABLE:
    case KZ_TEST_SEQUENCE:
        return is_series;
    case KZ_TEST_MAPPING:
        return value->kind == KZ_VARIANT_MAP;
    case KZ_TEST_NONE:
        return value->kind == KZ_VARIANT_NONE;
    case KZ_TEST_NUMBER:
        return kz_variant_is_number(value) || value->kind == KZ_VARIANT_BIG;
    case KZ_TEST_STRING:
        return value->kind == KZ_VARIANT_STRING;
    case KZ_TEST_TRUE:
        return value->kind == KZ_VARIANT_BOOL && value->integer;
    default:
        return is_undefined;
    }
}

static kazeia_status test_remainder(const kz_call *call, kz_variant *out_value) {
    const kz_variant two = kz_variant_integer(2),
                     wanted = kz_variant_integer(call->number == KZ_TEST_ODD);
    const bool is_given = call->number == KZ_TEST_DIVISIBLEBY && call->count > 0;
    bool is_equal = false;
    KZ_TRY(kz_variant_arithmetic(heap_of(call), KZ_DO_MODULO, call->subject,
                                 is_given ? &call->values[0] : &two, out_value));
    KZ_TRY(kz_variant_equal(heap_of(call), out_value, &wanted, &is_equal));
    *out_value = kz_variant_bool(is_equal);
    return KAZEIA_OK;
}

kazeia_status kz_call_test(const kz_call *call, kz_variant *out_value) {
    const kz_variant undefined = {.kind = KZ_VARIANT_UNDEFINED};
    const kz_variant *other = call->count ? &call->values[0] : &undefined;
    bool is_so = false;
    KZ_TRY(kz_heap_work(heap_of(call), 1));
    switch (call->number) {
    case KZ_TEST_EQ:
    case KZ_TEST_EQUALTO:
    case KZ_TEST_NE:
        KZ_TRY(kz_variant_equal(heap_of(call), call->subject, other, &is_so));
        is_so = is_so != (call->number == KZ_TEST_NE);
        break;
    case KZ_TEST_IN:
        KZ_TRY(kz_variant_contains(heap_of(call), call->subject, other, &is_so));
        break;
    case KZ_TEST_ODD:
    case KZ_TEST_EVEN:
    case KZ_TEST_DIVISIBLEBY:
        return test_remainder(call, out_value);
    default:
        is_so = test_kind(call->number, call->subject);
    }
    *out_value = kz_variant_bool(is_so);
    return KAZEIA_OK;
}

// --- Functions ----------------------------------------------------------------------------------

static kazeia_status make_range(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    kz_variant *items = NULL;
    int64_t from = 0, to = 0, step = 0;
    KZ_TRY(kz_call_arguments(call, "start stop step", arguments));
    KZ_TRY(kz_call_integer(arguments[1] ? arguments[0] : NULL, 0, &from));
    KZ_TRY(kz_call_integer(arguments[1] ? arguments[1] : arguments[0], 0, &to));
    KZ_TRY(kz_call_integer(arguments[2], 1, &step));
    int64_t distance = 0;
    if (step == 0 || step == INT64_MIN || __builtin_sub_overflow(to, from, &distance)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "range: in steps of %lld", (long long)step);
    }
    const bool is_empty = distance == 0 || (distance > 0) != (step > 0);
    const int64_t count = is_empty ? 0 : (distance + (step > 0 ? -1 : 1)) / step + 1;
    if (count > RANGE_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "range: %lld numbers, at most %d expected",
                       (long long)count, RANGE_LIMIT);
    }
    KZ_TRY(kz_heap_take(heap_of(call), (size_t)count, sizeof *items, (void **)&items));
    for (int64_t i = 0; i < count; i++) {
        items[i] = kz_variant_integer(from + i * step);
    }
    *out_value = kz_variant_list(items, (size_t)count);
    return KAZEIA_OK;
}

static kazeia_status make_namespace(const kz_call *call, kz_variant *out_value) {
    kz_namespace *space = NULL;
    KZ_TRY(kz_heap_take(heap_of(call), 1, sizeof *space, (void **)&space));
    *out_value = (kz_variant){.kind = KZ_VARIANT_NAMESPACE, .space = space};
    for (uint32_t i = 0; i < call->count; i++) {
        const kz_variant *map = &call->values[i];
        for (uint32_t j = 0; j < (map->kind == KZ_VARIANT_MAP ? map->count : 0); j++) {
            KZ_TRY(kz_variant_set(heap_of(call), out_value, &map->entries[j].key,
                                  &map->entries[j].value));
        }
    }
    for (uint32_t i = 0; i < call->pair_count; i++) {
        KZ_TRY(
            kz_variant_set(heap_of(call), out_value, &call->pairs[2 * i], &call->pairs[2 * i + 1]));
    }
    return KAZEIA_OK;
}

static kazeia_status make_map(const kz_call *call, kz_variant *out_value) {
    kz_variant space;
    KZ_TRY(make_namespace(call, &space));
    *out_value = (kz_variant){
        .kind = KZ_VARIANT_MAP, .count = space.space->count, .entries = space.space->entries};
    return KAZEIA_OK;
}

static kazeia_status raise(const kz_call *call, kz_variant *out_value) {
    kz_variant text = kz_variant_text("", 0, KZ_FROM_TEMPLATE);
    if (call->count) {
        KZ_TRY(kz_variant_to_string(heap_of(call), &call->values[0], &text));
    }
    *out_value = kz_variant_none();
    return kz_fail(KAZEIA_BAD_ARGUMENT, "%.*s", (int)(text.count < 512 ? text.count : 512),
                   text.text);
}

kazeia_status kz_call_function(const kz_call *call, kz_variant *out_value) {
    switch (call->number) {
    case KZ_FUNCTION_RANGE:
        return make_range(call, out_value);
    case KZ_FUNCTION_NAMESPACE:
        return make_namespace(call, out_value);
    case KZ_FUNCTION_DICT:
        return make_map(call, out_value);
    case KZ_FUNCTION_RAISE_EXCEPTION:
        return raise(call, out_value);
    default:
        return kz_date_format(heap_of(call), &call->machine->now,
                              call->count ? &call->values[0] : NULL, out_value);
    }
}
