// template_filters.c: the filters of templates, as Jinja's with what transformers changes.
//   in   a value and arguments
//   out  a value
#include <math.h>
#include <string.h>

#include "base/number_text.h"
#include "llm/template_calls.h"
#include "llm/template_text.h"

typedef kazeia_status (*filter)(const kz_call *call, const kz_variant **arguments,
                                kz_variant *out_value);

static kz_heap *heap_of(const kz_call *call) {
    return &call->machine->heap;
}

static bool is_undefined(const kz_variant *value) {
    return value->kind == KZ_VARIANT_UNDEFINED || value->kind == KZ_VARIANT_MISSING;
}

// --- Strings ------------------------------------------------------------------------------------

static kazeia_status to_case(const kz_call *call, kz_letter_case letter_case,
                             kz_variant *out_value) {
    kz_variant string;
    KZ_TRY(kz_variant_to_string(heap_of(call), call->subject, &string));
    return kz_string_case(heap_of(call), &string, letter_case, true, out_value);
}

static kazeia_status do_upper(const kz_call *call, const kz_variant **arguments,
                              kz_variant *out_value) {
    (void)arguments;
    return to_case(call, KZ_CASE_UPPER, out_value);
}

static kazeia_status do_lower(const kz_call *call, const kz_variant **arguments,
                              kz_variant *out_value) {
    (void)arguments;
    return to_case(call, KZ_CASE_LOWER, out_value);
}

static kazeia_status do_title(const kz_call *call, const kz_variant **arguments,
                              kz_variant *out_value) {
    (void)arguments;
    return to_case(call, KZ_CASE_TITLE, out_value);
}

static kazeia_status do_capitalize(const kz_call *call, const kz_variant **arguments,
                                   kz_variant *out_value) {
    (void)arguments;
    return to_case(call, KZ_CASE_CAPITALIZE, out_value);
}

static kazeia_status do_string(const kz_call *call, const kz_variant **arguments,
                               kz_variant *out_value) {
    (void)arguments;
    return kz_variant_to_string(heap_of(call), call->subject, out_value);
}

static kazeia_status do_trim(const kz_call *call, const kz_variant **arguments,
                             kz_variant *out_value) {
    kz_variant string;
    KZ_TRY(kz_variant_to_string(heap_of(call), call->subject, &string));
    return kz_string_strip(heap_of(call), &string, arguments[0], true, true, out_value);
}

static kazeia_status do_replace(const kz_call *call, const kz_variant **arguments,
                                kz_variant *out_value) {
    kz_variant string, old, new_text;
    int64_t most = 0;
    KZ_TRY(kz_variant_to_string(heap_of(call), call->subject, &string));
    KZ_TRY(kz_call_string(arguments[0], &old));
    KZ_TRY(kz_call_string(arguments[1], &new_text));
    KZ_TRY(kz_call_integer(arguments[2], -1, &most));
    return kz_string_replace(heap_of(call), &string, &old, &new_text, most, out_value);
}

static kazeia_status do_indent(const kz_call *call, const kz_variant **arguments,
                               kz_variant *out_value) {
    kz_variant string, indent;
    kz_string_builder builder;
    KZ_TRY(kz_call_string(call->subject, &string));
    if (arguments[0] && arguments[0]->kind == KZ_VARIANT_STRING) {
        indent = *arguments[0];
    } else {
        int64_t width = 0;
        KZ_TRY(kz_call_integer(arguments[0], 4, &width));
        kz_string_begin(&builder, heap_of(call));
        for (int64_t i = 0; i < width && builder.status == KAZEIA_OK; i++) {
            kz_string_put(&builder, " ", 1, KZ_FROM_TEMPLATE);
        }
        KZ_TRY(kz_string_end(&builder, &indent));
    }
    const bool first = arguments[1] && kz_variant_is_true(arguments[1]);
    const bool blank = arguments[2] && kz_variant_is_true(arguments[2]);
    return kz_string_indent(heap_of(call), &string, &indent, first, blank, out_value);
}

// --- JSON ---------------------------------------------------------------------------------------

static kazeia_status read_separator(kz_heap *heap, const kz_variant *value, const char **out_text) {
    char *copy = NULL;
    kz_variant text;
    KZ_TRY(kz_call_string(value, &text));
    KZ_TRY(kz_heap_take(heap, (size_t)text.count + 1, 1, (void **)&copy));
    memcpy(copy, text.text, text.count);
    *out_text = copy;
    return KAZEIA_OK;
}

static kazeia_status do_tojson(const kz_call *call, const kz_variant **arguments,
                               kz_variant *out_value) {
    kz_json_style style = {.indent = -1, .item_separator = ", ", .key_separator = ": "};
    const kz_variant *indent = arguments[1], *separators = arguments[2];
    style.is_ascii = arguments[0] && kz_variant_is_true(arguments[0]);
    style.is_sorted = arguments[3] && kz_variant_is_true(arguments[3]);
    if (indent && indent->kind != KZ_VARIANT_NONE) {
        int64_t width = 0;
        KZ_TRY(kz_call_integer(indent, 0, &width));
        style.indent = width < 0 ? 0 : width > 64 ? 64 : (int)width;
        style.item_separator = ",";
    }
    if (separators && separators->kind != KZ_VARIANT_NONE) {
        if (!kz_variant_is_list(separators) || separators->count != 2) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "tojson: separators are two strings");
        }
        KZ_TRY(read_separator(heap_of(call), &separators->items[0], &style.item_separator));
        KZ_TRY(read_separator(heap_of(call), &separators->items[1], &style.key_separator));
    }
    return kz_variant_to_json(heap_of(call), call->subject, &style, out_value);
}

// --- Numbers ------------------------------------------------------------------------------------

static bool read_number(const kz_variant *value, double *out_number) {
    char text[KZ_NUMBER_BYTES];
    if (kz_variant_is_number(value)) {
        *out_number = kz_variant_as_real(value);
        return true;
    }
    if (value->kind != KZ_VARIANT_STRING || value->count >= sizeof text) {
        return false;
    }
    memcpy(text, value->text, value->count);
    text[value->count] = '\0';
    return kz_number_read(text, out_number);
}

static kazeia_status do_int(const kz_call *call, const kz_variant **arguments,
                            kz_variant *out_value) {
    double number = 0;
    if (call->subject->kind == KZ_VARIANT_INTEGER || call->subject->kind == KZ_VARIANT_BIG) {
        *out_value = *call->subject;
        return KAZEIA_OK;
    }
    if (read_number(call->subject, &number) && fabs(number) < 9e18) {
        *out_value = kz_variant_integer((int64_t)number);
        return KAZEIA_OK;
    }
    *out_value = arguments[0] ? *arguments[0] : kz_variant_integer(0);
    return KAZEIA_OK;
}

static kazeia_status do_float(const kz_call *call, const kz_variant **arguments,
                              kz_variant *out_value) {
    double number = 0;
    if (!read_number(call->subject, &number) && arguments[0]) {
        *out_value = *arguments[0];
        return KAZEIA_OK;
    }
    *out_value = (kz_variant){.kind = KZ_VARIANT_REAL, .real = number};
    return KAZEIA_OK;
}

static kazeia_status do_abs(const kz_call *call, const kz_variant **arguments,
                            kz_variant *out_value) {
    const kz_variant zero = kz_variant_integer(0);
    int order = 0;
    (void)arguments;
    KZ_TRY(kz_variant_compare(heap_of(call), call->subject, &zero, &order));
    *out_value = *call->subject;
    return order < 0 ? kz_variant_arithmetic(heap_of(call), KZ_DO_SUBTRACT, &zero, call->subject,
                                             out_value)
                     : KAZEIA_OK;
}

// --- Lists --------------------------------------------------------------------------------------

static kazeia_status elements(const kz_call *call, kz_variant *out_list) {
    *out_list = kz_variant_list(NULL, 0);
    return kz_variant_elements(heap_of(call), call->subject, &out_list->items, &out_list->count);
}

static kazeia_status do_list(const kz_call *call, const kz_variant **arguments,
                             kz_variant *out_value) {
    (void)arguments;
    return elements(call, out_value);
}

static kazeia_status do_length(const kz_call *call, const kz_variant **arguments,
                               kz_variant *out_value) {
    (void)arguments;
    return kz_variant_length(heap_of(call), call->subject, out_value);
}

static kazeia_status do_end_of_list(const kz_call *call, const kz_variant **arguments,
                                    kz_variant *out_value) {
    const kz_variant index = kz_variant_integer(call->number == KZ_FILTER_FIRST ? 0 : -1);
    kz_variant list;
    (void)arguments;
    if (call->subject->kind == KZ_VARIANT_STRING) {
        return kz_variant_item(heap_of(call), call->subject, &index, out_value);
    }
    KZ_TRY(elements(call, &list));
    return kz_variant_item(heap_of(call), &list, &index, out_value);
}

static kazeia_status do_reverse(const kz_call *call, const kz_variant **arguments,
                                kz_variant *out_value) {
    const kz_variant bounds[3] = {kz_variant_none(), kz_variant_none(), kz_variant_integer(-1)};
    kz_variant list = *call->subject;
    (void)arguments;
    if (list.kind != KZ_VARIANT_STRING) {
        KZ_TRY(elements(call, &list));
    }
    return kz_variant_slice(heap_of(call), &list, bounds, out_value);
}

static kazeia_status do_items(const kz_call *call, const kz_variant **arguments,
                              kz_variant *out_value) {
    (void)arguments;
    *out_value = kz_variant_list(NULL, 0);
    return is_undefined(call->subject) ? KAZEIA_OK
                                       : kz_map_items(heap_of(call), call->subject, out_value);
}

static kazeia_status do_unique(const kz_call *call, const kz_variant **arguments,
                               kz_variant *out_value) {
    kz_variant list;
    kz_variant *kept = NULL;
    uint32_t count = 0;
    (void)arguments;
    KZ_TRY(elements(call, &list));
    KZ_TRY(kz_heap_take(heap_of(call), list.count, sizeof *kept, (void **)&kept));
    for (uint32_t i = 0; i < list.count; i++) {
        const kz_variant so_far = kz_variant_list(kept, count);
        bool is_known = false;
        KZ_TRY(kz_variant_contains(heap_of(call), &list.items[i], &so_far, &is_known));
        kept[count] = list.items[i];
        count += !is_known;
    }
    *out_value = kz_variant_list(kept, count);
    return KAZEIA_OK;
}

// Small and capital letters are the same.
static kazeia_status fold_case(kz_heap *heap, kz_variant *key) {
    return key->kind == KZ_VARIANT_STRING ? kz_string_case(heap, key, KZ_CASE_LOWER, true, key)
                                          : KAZEIA_OK;
}

// Puts an element behind those that are not after it. Insertion: what templates sort is small.
static kazeia_status insert_sorted(kz_heap *heap, kz_variant *keys, kz_variant *items,
                                   uint32_t count, const kz_variant *key, const kz_variant *item,
                                   bool is_reverse) {
    uint32_t place = count;
    for (int order = 1; place > 0; place--) {
        KZ_TRY(kz_heap_work(heap, 1));
        KZ_TRY(kz_variant_compare(heap, &keys[place - 1], key, &order));
        if (is_reverse ? order >= 0 : order <= 0) {
            break;
        }
        keys[place] = keys[place - 1];
        items[place] = items[place - 1];
    }
    keys[place] = *key;
    items[place] = *item;
    return KAZEIA_OK;
}

// By key.
static kazeia_status do_dictsort(const kz_call *call, const kz_variant **arguments,
                                 kz_variant *out_value) {
    kz_heap *heap = heap_of(call);
    kz_variant *items = NULL, *keys = NULL;
    KZ_TRY(kz_map_items(heap, call->subject, out_value));
    if (arguments[0] || arguments[1] || arguments[2]) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "dictsort: by anything but keys in their usual order");
    }
    const uint32_t count = out_value->count;
    KZ_TRY(kz_heap_take(heap, count, sizeof *items, (void **)&items));
    KZ_TRY(kz_heap_take(heap, count, sizeof *keys, (void **)&keys));
    for (uint32_t i = 0; i < count; i++) {
        kz_variant key = out_value->items[i].items[0];
        KZ_TRY(fold_case(heap, &key));
        KZ_TRY(insert_sorted(heap, keys, items, i, &key, &out_value->items[i], false));
    }
    *out_value = kz_variant_list(items, count);
    return KAZEIA_OK;
}

static kazeia_status do_default(const kz_call *call, const kz_variant **arguments,
                                kz_variant *out_value) {
    const bool looks_at_truth = arguments[1] && kz_variant_is_true(arguments[1]);
    *out_value = *call->subject;
    if (is_undefined(call->subject) || (looks_at_truth && !kz_variant_is_true(call->subject))) {
        *out_value = arguments[0] ? *arguments[0] : kz_variant_text("", 0, KZ_FROM_TEMPLATE);
    }
    return KAZEIA_OK;
}

// --- Filters of elements ------------------------------------------------------------------------

// "a.b" of an object.
static kazeia_status attribute_path(kz_heap *heap, const kz_variant *object, const kz_variant *path,
                                    kz_variant *out_value) {
    uint32_t from = 0;
    *out_value = *object;
    if (path->kind != KZ_VARIANT_STRING) {
        return kz_variant_item(heap, object, path, out_value);
    }
    while (from <= path->count) {
        const char *dot = memchr(path->text + from, '.', path->count - from);
        const uint32_t to = dot ? (uint32_t)(dot - path->text) : path->count;
        const kz_variant name = kz_variant_text(path->text + from, to - from, KZ_FROM_TEMPLATE);
        const kz_variant inner = *out_value;
        KZ_TRY(kz_variant_item(heap, &inner, &name, out_value));
        from = to + 1;
    }
    return KAZEIA_OK;
}

static kazeia_status do_join(const kz_call *call, const kz_variant **arguments,
                             kz_variant *out_value) {
    kz_variant list, between;
    KZ_TRY(elements(call, &list));
    KZ_TRY(kz_call_string(arguments[0], &between));
    if (arguments[1]) {
        kz_variant *items = NULL;
        KZ_TRY(kz_heap_take(heap_of(call), list.count, sizeof *items, (void **)&items));
        for (uint32_t i = 0; i < list.count; i++) {
            KZ_TRY(attribute_path(heap_of(call), &list.items[i], arguments[1], &items[i]));
        }
        list.items = items;
    }
    return kz_string_join(heap_of(call), &between, list.items, list.count, out_value);
}

// These find no elements in None, where others refuse it.
static kazeia_status elements_if_true(const kz_call *call, kz_variant *out_list) {
    *out_list = kz_variant_list(NULL, 0);
    return kz_variant_is_true(call->subject) ? elements(call, out_list) : KAZEIA_OK;
}

// map(attribute="a.b") or map("filter", its arguments).
static kazeia_status map_element(const kz_call *call, const kz_variant *element,
                                 kz_variant *out_value) {
    if (call->pair_count > 0 && kz_variant_spells(&call->pairs[0], "attribute")) {
        KZ_TRY(attribute_path(heap_of(call), element, &call->pairs[1], out_value));
        const bool has_default = call->pair_count > 1 && is_undefined(out_value) &&
                                 kz_variant_spells(&call->pairs[2], "default");
        *out_value = has_default ? call->pairs[3] : *out_value;
        return KAZEIA_OK;
    }
    const int number =
        call->count > 0 && call->values[0].kind == KZ_VARIANT_STRING
            ? kz_template_number(KZ_LIST_FILTERS, call->values[0].text, call->values[0].count)
            : -1;
    // Not itself and its like: their elements' filters would nest without bound.
    if (number < 0 || number == KZ_FILTER_MAP || number == KZ_FILTER_SELECT ||
        number == KZ_FILTER_REJECT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "map: neither an attribute nor a known filter");
    }
    kz_call inner = *call;
    inner.number = (uint32_t)number;
    inner.subject = element;
    inner.values++;
    inner.count--;
    return kz_call_filter(&inner, out_value);
}

static kazeia_status do_map(const kz_call *call, const kz_variant **arguments,
                            kz_variant *out_value) {
    kz_variant list;
    kz_variant *items = NULL;
    (void)arguments;
    KZ_TRY(elements_if_true(call, &list));
    KZ_TRY(kz_heap_take(heap_of(call), list.count, sizeof *items, (void **)&items));
    for (uint32_t i = 0; i < list.count; i++) {
        KZ_TRY(map_element(call, &list.items[i], &items[i]));
    }
    *out_value = kz_variant_list(items, list.count);
    return KAZEIA_OK;
}

// Values from `first` on: the test's name and its arguments; none: whether it is true.
static kazeia_status is_chosen(const kz_call *call, const kz_variant *value, uint32_t first,
                               bool *out_is_chosen) {
    kz_variant result;
    if (call->count <= first) {
        *out_is_chosen = kz_variant_is_true(value);
        return KAZEIA_OK;
    }
    const kz_variant *name = &call->values[first];
    int number = name->kind == KZ_VARIANT_STRING
                     ? kz_template_number(KZ_LIST_TESTS, name->text, name->count)
                     : -1;
    number = kz_variant_spells(name, "==") ? KZ_TEST_EQ : number;
    if (number < 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "select: no test is called so");
    }
    const kz_call inner = {.machine = call->machine,
                           .number = (uint32_t)number,
                           .subject = value,
                           .values = call->values + first + 1,
                           .count = call->count - first - 1};
    KZ_TRY(kz_call_test(&inner, &result));
    *out_is_chosen = kz_variant_is_true(&result);
    return KAZEIA_OK;
}

static kazeia_status do_select(const kz_call *call, const kz_variant **arguments,
                               kz_variant *out_value) {
    const bool by_attribute =
        call->number == KZ_FILTER_SELECTATTR || call->number == KZ_FILTER_REJECTATTR;
    const bool rejects = call->number == KZ_FILTER_REJECT || call->number == KZ_FILTER_REJECTATTR;
    kz_variant list;
    kz_variant *items = NULL;
    uint32_t count = 0;
    (void)arguments;
    if (by_attribute && call->count == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "selectattr: of which attribute is not said");
    }
    KZ_TRY(elements_if_true(call, &list));
    KZ_TRY(kz_heap_take(heap_of(call), list.count, sizeof *items, (void **)&items));
    for (uint32_t i = 0; i < list.count; i++) {
        kz_variant value = list.items[i];
        bool is_wanted = false;
        if (by_attribute) {
            KZ_TRY(attribute_path(heap_of(call), &list.items[i], &call->values[0], &value));
        }
        KZ_TRY(is_chosen(call, &value, by_attribute, &is_wanted));
        items[count] = list.items[i];
        count += is_wanted != rejects;
    }
    *out_value = kz_variant_list(items, count);
    return KAZEIA_OK;
}

// sort, min and max: by the elements themselves or by an attribute of theirs.
static kazeia_status do_sort(const kz_call *call, const kz_variant **arguments,
                             kz_variant *out_value) {
    kz_heap *heap = heap_of(call);
    const bool is_sort = call->number == KZ_FILTER_SORT;
    const kz_variant *attribute = arguments[is_sort ? 2 : 1];
    const kz_variant *case_sensitive = arguments[is_sort ? 1 : 0];
    const bool is_reverse = call->number == KZ_FILTER_MAX ||
                            (is_sort && arguments[0] && kz_variant_is_true(arguments[0]));
    kz_variant list;
    kz_variant *items = NULL, *keys = NULL;
    KZ_TRY(elements(call, &list));
    KZ_TRY(kz_heap_take(heap, list.count, sizeof *items, (void **)&items));
    KZ_TRY(kz_heap_take(heap, list.count, sizeof *keys, (void **)&keys));
    for (uint32_t i = 0; i < list.count; i++) {
        kz_variant key = list.items[i];
        if (attribute && attribute->kind != KZ_VARIANT_NONE) {
            KZ_TRY(attribute_path(heap, &list.items[i], attribute, &key));
        }
        if (!case_sensitive || !kz_variant_is_true(case_sensitive)) {
            KZ_TRY(fold_case(heap, &key));
        }
        KZ_TRY(insert_sorted(heap, keys, items, i, &key, &list.items[i], is_reverse));
    }
    *out_value = kz_variant_list(items, list.count);
    if (!is_sort) {
        *out_value = list.count ? items[0] : (kz_variant){.kind = KZ_VARIANT_UNDEFINED};
    }
    return KAZEIA_OK;
}

// --- The table ----------------------------------------------------------------------------------

// `names` NULL: any arguments, which the filter reads itself.
static const struct {
    filter run;
    const char *names;
} filters[KZ_FILTER_COUNT_OF_ALL] = {
    [KZ_FILTER_ABS] = {do_abs, ""},
    [KZ_FILTER_CAPITALIZE] = {do_capitalize, ""},
    [KZ_FILTER_COUNT] = {do_length, ""},
    [KZ_FILTER_D] = {do_default, "default_value boolean"},
    [KZ_FILTER_DEFAULT] = {do_default, "default_value boolean"},
    [KZ_FILTER_DICTSORT] = {do_dictsort, "case_sensitive by reverse"},
    [KZ_FILTER_FIRST] = {do_end_of_list, ""},
    [KZ_FILTER_FLOAT] = {do_float, "default"},
    [KZ_FILTER_INDENT] = {do_indent, "width first blank"},
    [KZ_FILTER_INT] = {do_int, "default"},
    [KZ_FILTER_ITEMS] = {do_items, ""},
    [KZ_FILTER_JOIN] = {do_join, "d attribute"},
    [KZ_FILTER_LAST] = {do_end_of_list, ""},
    [KZ_FILTER_LENGTH] = {do_length, ""},
    [KZ_FILTER_LIST] = {do_list, ""},
    [KZ_FILTER_LOWER] = {do_lower, ""},
    [KZ_FILTER_MAX] = {do_sort, "case_sensitive attribute"},
    [KZ_FILTER_MIN] = {do_sort, "case_sensitive attribute"},
    [KZ_FILTER_MAP] = {do_map, NULL},
    [KZ_FILTER_REJECT] = {do_select, NULL},
    [KZ_FILTER_REJECTATTR] = {do_select, NULL},
    [KZ_FILTER_REPLACE] = {do_replace, "old new count"},
    [KZ_FILTER_REVERSE] = {do_reverse, ""},
    [KZ_FILTER_SAFE] = {do_string, ""},
    [KZ_FILTER_SELECT] = {do_select, NULL},
    [KZ_FILTER_SELECTATTR] = {do_select, NULL},
    [KZ_FILTER_SORT] = {do_sort, "reverse case_sensitive attribute"},
    [KZ_FILTER_STRING] = {do_string, ""},
    [KZ_FILTER_TITLE] = {do_title, ""},
    [KZ_FILTER_TOJSON] = {do_tojson, "ensure_ascii indent separators sort_keys"},
    [KZ_FILTER_TRIM] = {do_trim, "chars"},
    [KZ_FILTER_UNIQUE] = {do_unique, ""},
    [KZ_FILTER_UPPER] = {do_upper, ""},
};

kazeia_status kz_call_filter(const kz_call *call, kz_variant *out_value) {
    const kz_variant *arguments[KZ_CALL_ARGUMENTS] = {NULL};
    KZ_TRY(kz_heap_work(heap_of(call), 1));
    if (filters[call->number].names) {
        KZ_TRY(kz_call_arguments(call, filters[call->number].names, arguments));
    }
    return filters[call->number].run(call, arguments, out_value);
}
