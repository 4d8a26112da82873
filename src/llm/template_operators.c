// template_operators.c: what the operators and brackets of a template mean, as in Python.
//   in   values
//   out  values
#include <math.h>
#include <string.h>

#include "llm/template_machine.h"
#include "llm/template_text.h"

// --- Members ------------------------------------------------------------------------------------

kazeia_status kz_variant_attribute(const kz_variant *object, const char *name, size_t count,
                                   kz_variant *out_value) {
    *out_value = (kz_variant){.kind = KZ_VARIANT_UNDEFINED};
    if (object->kind == KZ_VARIANT_UNDEFINED || object->kind == KZ_VARIANT_MISSING) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "the member '%.*s' of an undefined value is read",
                       (int)(count < 64 ? count : 64), name);
    }
    // Python looks for a method first: {"items": 1}.items is the method.
    const int method = kz_template_number(KZ_LIST_METHODS, name, count);
    if (object->kind == KZ_VARIANT_MAP && (method == KZ_METHOD_ITEMS || method == KZ_METHOD_KEYS ||
                                           method == KZ_METHOD_VALUES || method == KZ_METHOD_GET)) {
        out_value->kind = KZ_VARIANT_METHOD;
        return KAZEIA_OK;
    }
    const kz_variant *found = kz_variant_find(object, name, count);
    if (found) {
        *out_value = *found;
    }
    return KAZEIA_OK;
}

static kazeia_status character_at(kz_heap *heap, const kz_variant *string, int64_t index,
                                  kz_variant *out_value) {
    KZ_TRY(kz_heap_work(heap, 1 + string->count / 4));
    index += index < 0 ? kz_string_length(string) : 0;
    if (index < 0 || index >= (int64_t)string->count) {
        return KAZEIA_OK;
    }
    const uint32_t from = kz_string_offset(string, (uint32_t)index);
    const uint32_t to = kz_string_offset(string, (uint32_t)index + 1);
    return from < to ? kz_string_cut(heap, string, from, to, out_value) : KAZEIA_OK;
}

kazeia_status kz_variant_item(kz_heap *heap, const kz_variant *object, const kz_variant *key,
                              kz_variant *out_value) {
    *out_value = (kz_variant){.kind = KZ_VARIANT_UNDEFINED};
    if (key->kind == KZ_VARIANT_STRING && object->kind == KZ_VARIANT_MAP) {
        const kz_variant *found = kz_variant_find(object, key->text, key->count);
        *out_value = found ? *found : *out_value;
        return KAZEIA_OK;
    }
    if (key->kind == KZ_VARIANT_STRING) {
        return kz_variant_attribute(object, key->text, key->count, out_value);
    }
    if (object->kind == KZ_VARIANT_UNDEFINED || object->kind == KZ_VARIANT_MISSING) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "an element of an undefined value is read");
    }
    if (key->kind != KZ_VARIANT_INTEGER && key->kind != KZ_VARIANT_BOOL) {
        return KAZEIA_OK;
    }
    if (object->kind == KZ_VARIANT_STRING) {
        return character_at(heap, object, key->integer, out_value);
    }
    const int64_t index = key->integer + (key->integer < 0 ? (int64_t)object->count : 0);
    if (kz_variant_is_list(object) && index >= 0 && index < (int64_t)object->count) {
        *out_value = object->items[index];
    }
    return KAZEIA_OK;
}

// --- Slices -------------------------------------------------------------------------------------

// A bound as Python's slice.indices brings it into the range of `count` elements.
static kazeia_status read_bound(const kz_variant *bound, int64_t count, int64_t step,
                                int64_t when_none, int64_t *out_bound) {
    *out_bound = when_none;
    if (bound->kind == KZ_VARIANT_NONE) {
        return KAZEIA_OK;
    }
    if (bound->kind != KZ_VARIANT_INTEGER && bound->kind != KZ_VARIANT_BOOL) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a slice from or to a %s", kz_variant_kind_name(bound));
    }
    int64_t place = bound->integer;
    place += place < 0 ? count : 0;
    const int64_t least = step < 0 ? -1 : 0, most = step < 0 ? count - 1 : count;
    *out_bound = place < least ? least : place > most ? most : place;
    return KAZEIA_OK;
}

static kazeia_status pick(kz_heap *heap, const kz_variant *list, int64_t from, int64_t to,
                          int64_t step, kz_variant *out_value) {
    kz_variant *items = NULL;
    uint32_t count = 0;
    KZ_TRY(kz_heap_take(heap, list->count, sizeof *items, (void **)&items));
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
        items[count++] = list->items[i];
    }
    *out_value = kz_variant_list(items, count);
    out_value->kind = list->kind;
    return KAZEIA_OK;
}

static kazeia_status slice_string(kz_heap *heap, const kz_variant *string, int64_t from, int64_t to,
                                  int64_t step, kz_variant *out_value) {
    const kz_variant empty = kz_variant_text("", 0, KZ_FROM_TEMPLATE);
    kz_variant list = {0}, picked;
    KZ_TRY(kz_heap_work(heap, 1 + string->count / 4));
    if (step == 1) {
        const uint32_t first = kz_string_offset(string, (uint32_t)from);
        const uint32_t end = from < to ? kz_string_offset(string, (uint32_t)to) : first;
        return kz_string_cut(heap, string, first, end, out_value);
    }
    KZ_TRY(kz_variant_elements(heap, string, &list.items, &list.count));
    KZ_TRY(pick(heap, &list, from, to, step, &picked));
    return kz_string_join(heap, &empty, picked.items, picked.count, out_value);
}

kazeia_status kz_variant_slice(kz_heap *heap, const kz_variant *object, const kz_variant bounds[3],
                               kz_variant *out_value) {
    const bool is_string = object->kind == KZ_VARIANT_STRING;
    const int64_t step = bounds[2].kind == KZ_VARIANT_NONE ? 1 : bounds[2].integer;
    if ((!is_string && !kz_variant_is_list(object)) || step == 0 || step > INT32_MAX ||
        step < -INT32_MAX ||
        (bounds[2].kind != KZ_VARIANT_NONE && bounds[2].kind != KZ_VARIANT_INTEGER)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a slice of a %s in steps of %lld",
                       kz_variant_kind_name(object), (long long)step);
    }
    const int64_t count = is_string ? kz_string_length(object) : object->count;
    int64_t from = 0, to = 0;
    KZ_TRY(read_bound(&bounds[0], count, step, step < 0 ? count - 1 : 0, &from));
    KZ_TRY(read_bound(&bounds[1], count, step, step < 0 ? -1 : count, &to));
    if (is_string) {
        return slice_string(heap, object, from, to, step, out_value);
    }
    if (step == 1) {
        // A view: lists never change.
        *out_value = kz_variant_list(object->items + from, from < to ? (size_t)(to - from) : 0);
        out_value->kind = object->kind;
        return KAZEIA_OK;
    }
    return pick(heap, object, from, to, step, out_value);
}

// --- In -----------------------------------------------------------------------------------------

kazeia_status kz_variant_contains(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                                  bool *out_is_in) {
    *out_is_in = false;
    if (b->kind == KZ_VARIANT_STRING && a->kind == KZ_VARIANT_STRING) {
        *out_is_in = kz_string_find(b, a, 0) != UINT32_MAX;
        return kz_heap_work(heap, 1 + b->count / 16);
    }
    if (b->kind == KZ_VARIANT_MAP) {
        *out_is_in = a->kind == KZ_VARIANT_STRING && kz_variant_find(b, a->text, a->count) != NULL;
        return kz_heap_work(heap, 1 + b->count / 4);
    }
    if (b->kind == KZ_VARIANT_STRING) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s is searched in a str", kz_variant_kind_name(a));
    }
    const kz_variant *items = NULL;
    uint32_t count = 0;
    KZ_TRY(kz_variant_elements(heap, b, &items, &count));
    for (uint32_t i = 0; i < count && !*out_is_in; i++) {
        KZ_TRY(kz_variant_equal(heap, a, &items[i], out_is_in));
    }
    return KAZEIA_OK;
}

// --- Numbers ------------------------------------------------------------------------------------

static kazeia_status fail_operands(const char *verb, const kz_variant *a, const kz_variant *b) {
    return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s and a %s are %s", kz_variant_kind_name(a),
                   kz_variant_kind_name(b), verb);
}

static kazeia_status real_arithmetic(uint8_t op, double a, double b, kz_variant *out_value) {
    double result = 0;
    if (b == 0 && (op == KZ_DO_DIVIDE || op == KZ_DO_FLOOR_DIVIDE || op == KZ_DO_MODULO)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a division by zero");
    }
    switch (op) {
    case KZ_DO_ADD:
        result = a + b;
        break;
    case KZ_DO_SUBTRACT:
        result = a - b;
        break;
    case KZ_DO_MULTIPLY:
        result = a * b;
        break;
    case KZ_DO_DIVIDE:
        result = a / b;
        break;
    case KZ_DO_FLOOR_DIVIDE:
        result = floor(a / b);
        break;
    case KZ_DO_MODULO:
        result = a - floor(a / b) * b;
        break;
    default:
        result = pow(a, b);
    }
    *out_value = (kz_variant){.kind = KZ_VARIANT_REAL, .real = result};
    return KAZEIA_OK;
}

// False when the result does not fit 64 bits.
static bool power(int64_t base, int64_t exponent, int64_t *out_result) {
    *out_result = 1;
    // Every factor but 0, 1 and -1 doubles it at least: 64 of them do not fit.
    if (exponent > 64 && (base > 1 || base < -1)) {
        return false;
    }
    for (int64_t i = 0; i < (exponent > 64 ? 64 + (exponent & 1) : exponent); i++) {
        if (__builtin_mul_overflow(*out_result, base, out_result)) {
            return false;
        }
    }
    return true;
}

static bool integer_arithmetic(uint8_t op, int64_t a, int64_t b, int64_t *out_result) {
    switch (op) {
    case KZ_DO_ADD:
        return !__builtin_add_overflow(a, b, out_result);
    case KZ_DO_SUBTRACT:
        return !__builtin_sub_overflow(a, b, out_result);
    case KZ_DO_MULTIPLY:
        return !__builtin_mul_overflow(a, b, out_result);
    case KZ_DO_FLOOR_DIVIDE:
        // The one quotient that does not fit.
        if (a == INT64_MIN && b == -1) {
            return false;
        }
        *out_result = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return true;
    case KZ_DO_MODULO:
        *out_result = b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
        return true;
    default:
        return power(a, b, out_result);
    }
}

static kazeia_status number_arithmetic(uint8_t op, const kz_variant *a, const kz_variant *b,
                                       kz_variant *out_value) {
    const bool is_real = a->kind == KZ_VARIANT_REAL || b->kind == KZ_VARIANT_REAL ||
                         op == KZ_DO_DIVIDE || (op == KZ_DO_POWER && b->integer < 0);
    if (is_real) {
        return real_arithmetic(op, kz_variant_as_real(a), kz_variant_as_real(b), out_value);
    }
    if (b->integer == 0 && (op == KZ_DO_FLOOR_DIVIDE || op == KZ_DO_MODULO)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a division by zero");
    }
    int64_t result = 0;
    if (!integer_arithmetic(op, a->integer, b->integer, &result)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a whole number beyond 64 bits");
    }
    *out_value = kz_variant_integer(result);
    return KAZEIA_OK;
}

static kazeia_status repeat(kz_heap *heap, const kz_variant *string, int64_t times,
                            kz_variant *out_value) {
    kz_string_builder builder;
    kz_string_begin(&builder, heap);
    for (int64_t i = 0; i < times && string->count && builder.status == KAZEIA_OK; i++) {
        kz_string_put_part(&builder, string, 0, string->count);
    }
    return kz_string_end(&builder, out_value);
}

kazeia_status kz_variant_arithmetic(kz_heap *heap, uint8_t op, const kz_variant *a,
                                    const kz_variant *b, kz_variant *out_value) {
    if (kz_variant_is_number(a) && kz_variant_is_number(b)) {
        return number_arithmetic(op, a, b, out_value);
    }
    if (op == KZ_DO_MULTIPLY && a->kind == KZ_VARIANT_STRING && b->kind == KZ_VARIANT_INTEGER) {
        return repeat(heap, a, b->integer, out_value);
    }
    return fail_operands("computed with", a, b);
}

// --- Sums ---------------------------------------------------------------------------------------

static kazeia_status join_lists(kz_heap *heap, const kz_variant *a, const kz_variant *b,
                                kz_variant *out_value) {
    kz_variant *items = NULL;
    const size_t count = (size_t)a->count + b->count;
    KZ_TRY(kz_heap_take(heap, count, sizeof *items, (void **)&items));
    if (a->count) {
        memcpy(items, a->items, a->count * sizeof *items);
    }
    if (b->count) {
        memcpy(items + a->count, b->items, b->count * sizeof *items);
    }
    *out_value = kz_variant_list(items, count);
    out_value->kind = a->kind;
    return KAZEIA_OK;
}

static uint32_t count_strings(const kz_variant *values, uint32_t count) {
    uint32_t strings = 0;
    while (strings < count && values[strings].kind == KZ_VARIANT_STRING) {
        strings++;
    }
    return strings;
}

// Strings in a row are copied once, whatever their number.
kazeia_status kz_variant_sum(kz_heap *heap, const kz_variant *values, uint32_t count,
                             kz_variant *out_value) {
    const uint32_t strings = count_strings(values, count);
    kz_variant sum = values[0];
    uint32_t i = 1;
    if (strings > 1) {
        kz_string_builder builder;
        kz_string_begin(&builder, heap);
        for (i = 0; i < strings; i++) {
            kz_string_put_part(&builder, &values[i], 0, values[i].count);
        }
        KZ_TRY(kz_string_end(&builder, &sum));
    }
    for (; i < count; i++) {
        const kz_variant *next = &values[i];
        if (kz_variant_is_number(&sum) && kz_variant_is_number(next)) {
            KZ_TRY(number_arithmetic(KZ_DO_ADD, &sum, next, &sum));
        } else if (kz_variant_is_list(&sum) && sum.kind == next->kind) {
            KZ_TRY(join_lists(heap, &sum, next, &sum));
        } else {
            return fail_operands("added", &sum, next);
        }
    }
    *out_value = sum;
    return KAZEIA_OK;
}
