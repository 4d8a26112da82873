// template_machine.c: the stack machine that runs a compiled chat template.
//   in   a template's instructions, variables
//   out  pieces of text to a sink
// One function for each instruction, found by its number. The list was checked at open only as far
// as each instruction alone can be: the stack's height and the frames are checked here, as they
// are used.
#include "llm/template_machine.h"

#include <string.h>

typedef kazeia_status (*operation)(kz_machine *machine, const kz_template_step *step);

// --- Stack --------------------------------------------------------------------------------------

static kazeia_status fail_machine(const char *what) {
    return kz_fail(KAZEIA_BAD_FILE, "the template's instructions are damaged: %s", what);
}

static kazeia_status push(kz_machine *machine, const kz_variant *value) {
    if (machine->height == KZ_MACHINE_STACK) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "more than %u values at once", KZ_MACHINE_STACK);
    }
    machine->stack[machine->height++] = *value;
    return KAZEIA_OK;
}

// The topmost `count` values, the lowest of them first; they are taken off but stay readable until
// the next push.
static kazeia_status pop(kz_machine *machine, uint32_t count, const kz_variant **out_values) {
    if (count > machine->height) {
        return fail_machine("a value is missing");
    }
    machine->height -= count;
    *out_values = machine->stack + machine->height;
    return KAZEIA_OK;
}

static kazeia_status push_bool(kz_machine *machine, bool is_true) {
    const kz_variant value = kz_variant_bool(is_true);
    return push(machine, &value);
}

static kz_variant string_of(const kz_machine *machine, uint32_t index) {
    const kz_bytes text = kz_chat_template_string(&machine->program, index);
    return kz_variant_text((const char *)text.bytes, text.count, KZ_FROM_TEMPLATE);
}

static kazeia_status do_string(kz_machine *machine, const kz_template_step *step) {
    const kz_variant value = string_of(machine, step->argument);
    return push(machine, &value);
}

static kazeia_status do_integer(kz_machine *machine, const kz_template_step *step) {
    const kz_variant value = kz_variant_integer((int32_t)step->argument);
    return push(machine, &value);
}

static kazeia_status do_real(kz_machine *machine, const kz_template_step *step) {
    const kz_variant value = {.kind = KZ_VARIANT_REAL,
                              .real = kz_chat_template_real(&machine->program, step->argument)};
    return push(machine, &value);
}

static kazeia_status do_constant(kz_machine *machine, const kz_template_step *step) {
    static const kz_variant constants[] = {
        [KZ_CONSTANT_UNDEFINED] = {.kind = KZ_VARIANT_UNDEFINED},
        [KZ_CONSTANT_NONE] = {.kind = KZ_VARIANT_NONE},
        [KZ_CONSTANT_FALSE] = {.kind = KZ_VARIANT_BOOL},
        [KZ_CONSTANT_TRUE] = {.kind = KZ_VARIANT_BOOL, .integer = 1},
    };
    return push(machine, &constants[step->argument]);
}

// --- Variables ----------------------------------------------------------------------------------

static kz_variable *find_between(kz_machine *machine, uint32_t from, uint32_t to, uint32_t name) {
    for (uint32_t i = to; i > from; i--) {
        if (machine->variables[i - 1].name == name) {
            return &machine->variables[i - 1];
        }
    }
    return NULL;
}

// Innermost first; a macro sees its own variables and the outermost ones.
static kz_variable *find_variable(kz_machine *machine, uint32_t name) {
    kz_variable *found = find_between(machine, machine->floor, machine->variable_count, name);
    return !found && machine->floor ? find_between(machine, 0, machine->top_count, name) : found;
}

static kazeia_status add_variable(kz_machine *machine, uint32_t name, const kz_variant *value) {
    if (machine->variable_count == KZ_MACHINE_VARIABLES) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "more than %u variables", KZ_MACHINE_VARIABLES);
    }
    machine->variables[machine->variable_count++] = (kz_variable){name, *value};
    return KAZEIA_OK;
}

static kazeia_status set_variable(kz_machine *machine, uint32_t name, const kz_variant *value) {
    kz_variable *found = find_between(machine, machine->scope, machine->variable_count, name);
    if (found) {
        found->value = *value;
        return KAZEIA_OK;
    }
    KZ_TRY(add_variable(machine, name, value));
    if (machine->frame_count == 0) {
        machine->top_count = machine->variable_count;
    }
    return KAZEIA_OK;
}

static kazeia_status do_load(kz_machine *machine, const kz_template_step *step) {
    const kz_variable *found = find_variable(machine, step->argument);
    const kz_variant undefined = {.kind = KZ_VARIANT_UNDEFINED};
    return push(machine,
                found && found->value.kind != KZ_VARIANT_MISSING ? &found->value : &undefined);
}

static kazeia_status do_store(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    KZ_TRY(pop(machine, 1, &value));
    return set_variable(machine, step->argument, value);
}

static kazeia_status do_is_given(kz_machine *machine, const kz_template_step *step) {
    const kz_variable *found = find_variable(machine, step->argument);
    return push_bool(machine, found && found->value.kind != KZ_VARIANT_MISSING);
}

static bool is_named(const kz_machine *machine, uint32_t index, const char *name, size_t count) {
    const kz_bytes text = kz_chat_template_string(&machine->program, index);
    return text.count == count && memcmp(text.bytes, name, count) == 0;
}

kazeia_status kz_machine_give(kz_machine *machine, const char *name, size_t count,
                              const kz_variant *value) {
    // Added, not set: what is given later hides what was given before, and can be taken away again.
    for (uint32_t i = 0; i < machine->program.string_count; i++) {
        if (is_named(machine, i, name, count)) {
            KZ_TRY(add_variable(machine, i, value));
        }
    }
    return KAZEIA_OK;
}

// --- Lists, maps, members -----------------------------------------------------------------------

static kazeia_status do_list(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant *items = NULL;
    KZ_TRY(pop(machine, step->argument, &values));
    KZ_TRY(kz_heap_take(&machine->heap, step->argument, sizeof *items, (void **)&items));
    memcpy(items, values, step->argument * sizeof *items);
    const kz_variant list = kz_variant_list(items, step->argument);
    return push(machine, &list);
}

static kazeia_status do_map(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_entry *entries = NULL;
    KZ_TRY(pop(machine, 2 * step->argument, &values));
    KZ_TRY(kz_heap_take(&machine->heap, step->argument, sizeof *entries, (void **)&entries));
    for (uint32_t i = 0; i < step->argument; i++) {
        entries[i] = (kz_entry){values[2 * i], values[2 * i + 1]};
    }
    const kz_variant map = {.kind = KZ_VARIANT_MAP, .count = step->argument, .entries = entries};
    return push(machine, &map);
}

static kazeia_status do_unpack(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL, *items = NULL;
    uint32_t count = 0;
    KZ_TRY(pop(machine, 1, &value));
    KZ_TRY(kz_variant_elements(&machine->heap, value, &items, &count));
    if (count != step->argument) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%u names for the %u elements of a %s", step->argument,
                       count, kz_variant_kind_name(value));
    }
    for (uint32_t i = count; i > 0; i--) {
        KZ_TRY(push(machine, &items[i - 1]));
    }
    return KAZEIA_OK;
}

static kazeia_status do_attribute(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *object = NULL;
    kz_variant value;
    const kz_bytes name = kz_chat_template_string(&machine->program, step->argument);
    KZ_TRY(pop(machine, 1, &object));
    KZ_TRY(kz_variant_attribute(object, (const char *)name.bytes, name.count, &value));
    return push(machine, &value);
}

static kazeia_status do_item(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant value;
    (void)step;
    KZ_TRY(pop(machine, 2, &values));
    KZ_TRY(kz_variant_item(&machine->heap, &values[0], &values[1], &value));
    return push(machine, &value);
}

static kazeia_status do_slice(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant value;
    (void)step;
    KZ_TRY(pop(machine, 4, &values));
    KZ_TRY(kz_variant_slice(&machine->heap, &values[0], values + 1, &value));
    return push(machine, &value);
}

static kazeia_status do_set_attribute(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    const kz_variant name = string_of(machine, step->argument);
    KZ_TRY(pop(machine, 2, &values));
    return kz_variant_set(&machine->heap, &values[0], &name, &values[1]);
}

// --- Operators ----------------------------------------------------------------------------------

static kazeia_status do_add(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant sum;
    if (step->argument == 0) {
        return fail_machine("a sum of nothing");
    }
    KZ_TRY(pop(machine, step->argument, &values));
    KZ_TRY(kz_variant_sum(&machine->heap, values, step->argument, &sum));
    return push(machine, &sum);
}

static kazeia_status do_join(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant strings[KZ_CHAT_COUNT_LIMIT], sum;
    if (step->argument == 0) {
        return fail_machine("a string of nothing");
    }
    KZ_TRY(pop(machine, step->argument, &values));
    for (uint32_t i = 0; i < step->argument; i++) {
        KZ_TRY(kz_variant_to_string(&machine->heap, &values[i], &strings[i]));
    }
    KZ_TRY(kz_variant_sum(&machine->heap, strings, step->argument, &sum));
    return push(machine, &sum);
}

static kazeia_status do_arithmetic(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant result;
    KZ_TRY(pop(machine, 2, &values));
    KZ_TRY(kz_variant_arithmetic(&machine->heap, step->op, &values[0], &values[1], &result));
    return push(machine, &result);
}

static kazeia_status do_negate(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    const kz_variant zero = kz_variant_integer(0);
    kz_variant result;
    (void)step;
    KZ_TRY(pop(machine, 1, &value));
    if (value->kind == KZ_VARIANT_REAL) {
        result = (kz_variant){.kind = KZ_VARIANT_REAL, .real = -value->real};
    } else {
        KZ_TRY(kz_variant_arithmetic(&machine->heap, KZ_DO_SUBTRACT, &zero, value, &result));
    }
    return push(machine, &result);
}

static kazeia_status do_equal(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    bool is_equal = false;
    KZ_TRY(pop(machine, 2, &values));
    KZ_TRY(kz_variant_equal(&machine->heap, &values[0], &values[1], &is_equal));
    return push_bool(machine, is_equal == (step->op == KZ_DO_EQUAL));
}

static kazeia_status do_order(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    int order = 0;
    KZ_TRY(pop(machine, 2, &values));
    KZ_TRY(kz_variant_compare(&machine->heap, &values[0], &values[1], &order));
    switch (step->op) {
    case KZ_DO_LESS:
        return push_bool(machine, order < 0);
    case KZ_DO_LESS_EQUAL:
        return push_bool(machine, order <= 0);
    case KZ_DO_GREATER:
        return push_bool(machine, order > 0);
    default:
        return push_bool(machine, order >= 0);
    }
}

static kazeia_status do_in(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    bool is_in = false;
    (void)step;
    KZ_TRY(pop(machine, 2, &values));
    KZ_TRY(kz_variant_contains(&machine->heap, &values[0], &values[1], &is_in));
    return push_bool(machine, is_in);
}

static kazeia_status do_not(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    (void)step;
    KZ_TRY(pop(machine, 1, &value));
    return push_bool(machine, !kz_variant_is_true(value));
}

// --- Jumps --------------------------------------------------------------------------------------

static kazeia_status do_jump(kz_machine *machine, const kz_template_step *step) {
    machine->next = step->argument;
    return KAZEIA_OK;
}

static kazeia_status do_jump_false(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    KZ_TRY(pop(machine, 1, &value));
    machine->next = kz_variant_is_true(value) ? machine->next : step->argument;
    return KAZEIA_OK;
}

static kazeia_status do_and_or(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    KZ_TRY(pop(machine, 1, &value));
    if (kz_variant_is_true(value) == (step->op == KZ_DO_OR)) {
        machine->next = step->argument;
        machine->height++; // it stays
    }
    return KAZEIA_OK;
}

// --- Output -------------------------------------------------------------------------------------

static kz_frame *capturing_frame(kz_machine *machine) {
    for (uint32_t i = machine->frame_count; i > 0; i--) {
        kz_frame *frame = &machine->frames[i - 1];
        if (frame->kind == KZ_FRAME_CAPTURE || frame->kind == KZ_FRAME_CALL) {
            return frame;
        }
    }
    return NULL;
}

static kazeia_status hand_over(kz_machine *machine, const kz_variant *string) {
    const kz_template_sink *sink = &machine->sink;
    uint32_t from = 0;
    if (string->span_count == 0) {
        return sink->put(sink->context, string->text, string->count, string->source);
    }
    for (uint32_t i = 0; i < string->span_count; i++) {
        const kz_span *span = &string->spans[i];
        KZ_TRY(sink->put(sink->context, string->text + from, span->end - from, span->source));
        from = span->end;
    }
    return KAZEIA_OK;
}

static kazeia_status print_string(kz_machine *machine, const kz_variant *string) {
    kz_frame *frame = capturing_frame(machine);
    KZ_TRY(kz_heap_work(&machine->heap, 1 + string->count / 16));
    if (!frame) {
        return hand_over(machine, string);
    }
    kz_chunk *chunk = NULL;
    KZ_TRY(kz_heap_take(&machine->heap, 1, sizeof *chunk, (void **)&chunk));
    chunk->text = *string;
    if (frame->last) {
        frame->last->next = chunk;
    } else {
        frame->first = chunk;
    }
    frame->last = chunk;
    return KAZEIA_OK;
}

static kazeia_status do_print(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    kz_variant string;
    (void)step;
    KZ_TRY(pop(machine, 1, &value));
    KZ_TRY(kz_variant_to_string(&machine->heap, value, &string));
    return print_string(machine, &string);
}

// Nothing is copied together only to be taken apart by the sink.
static kazeia_status do_print_sum(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_variant sum, string;
    uint32_t strings = 0;
    KZ_TRY(pop(machine, step->argument, &values));
    while (strings < step->argument && values[strings].kind == KZ_VARIANT_STRING) {
        strings++;
    }
    if (strings == step->argument) {
        for (uint32_t i = 0; i < strings; i++) {
            KZ_TRY(print_string(machine, &values[i]));
        }
        return KAZEIA_OK;
    }
    KZ_TRY(kz_variant_sum(&machine->heap, values, step->argument, &sum));
    KZ_TRY(kz_variant_to_string(&machine->heap, &sum, &string));
    return print_string(machine, &string);
}

static kazeia_status do_print_text(kz_machine *machine, const kz_template_step *step) {
    const kz_variant string = string_of(machine, step->argument);
    return print_string(machine, &string);
}

// --- Frames -------------------------------------------------------------------------------------

static kazeia_status push_frame(kz_machine *machine, kz_frame_kind kind, kz_frame **out_frame) {
    if (machine->frame_count == KZ_MACHINE_FRAMES) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "more than %u loops and macros in each other",
                       KZ_MACHINE_FRAMES);
    }
    kz_frame *frame = &machine->frames[machine->frame_count++];
    *frame = (kz_frame){.kind = kind,
                        .scope = machine->scope,
                        .floor = machine->floor,
                        .variable_count = machine->variable_count,
                        .height = machine->height};
    *out_frame = frame;
    return KAZEIA_OK;
}

static kz_frame *top_frame(kz_machine *machine) {
    return machine->frame_count ? &machine->frames[machine->frame_count - 1] : NULL;
}

// The top frame, which must be of one of two kinds.
static kazeia_status expect_frame(kz_machine *machine, kz_frame_kind a, kz_frame_kind b,
                                  kz_frame **out_frame) {
    *out_frame = top_frame(machine);
    if (!*out_frame || ((*out_frame)->kind != a && (*out_frame)->kind != b)) {
        return fail_machine("a loop, macro or block ends that did not begin");
    }
    return KAZEIA_OK;
}

static void pop_frame(kz_machine *machine) {
    const kz_frame *frame = &machine->frames[--machine->frame_count];
    machine->scope = frame->scope;
    machine->floor = frame->floor;
    machine->variable_count = frame->variable_count;
}

// --- Loops --------------------------------------------------------------------------------------

static kazeia_status do_for_begin(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL, *items = NULL;
    const bool is_sift = step->op == KZ_DO_SIFT_BEGIN;
    uint32_t count = 0;
    kz_frame *frame = NULL;
    KZ_TRY(pop(machine, 1, &value));
    KZ_TRY(kz_variant_elements(&machine->heap, value, &items, &count));
    if (count == 0) {
        const kz_variant empty = kz_variant_list(NULL, 0);
        machine->next = step->argument;
        return is_sift ? push(machine, &empty) : KAZEIA_OK;
    }
    KZ_TRY(push_frame(machine, is_sift ? KZ_FRAME_SIFT : KZ_FRAME_LOOP, &frame));
    frame->items = items;
    frame->count = count;
    return is_sift ? kz_heap_take(&machine->heap, count, sizeof *frame->kept, (void **)&frame->kept)
                   : KAZEIA_OK;
}

static kazeia_status do_for_item(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    (void)step;
    KZ_TRY(expect_frame(machine, KZ_FRAME_LOOP, KZ_FRAME_SIFT, &frame));
    machine->variable_count = frame->variable_count;
    machine->scope = frame->variable_count;
    return push(machine, &frame->items[frame->index]);
}

static kazeia_status do_for_next(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    KZ_TRY(expect_frame(machine, KZ_FRAME_LOOP, KZ_FRAME_LOOP, &frame));
    if (frame->index + 1 < frame->count) {
        frame->index++;
        machine->next = step->argument;
    } else {
        pop_frame(machine);
    }
    return KAZEIA_OK;
}

static kazeia_status do_keep(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *value = NULL;
    kz_frame *frame = NULL;
    (void)step;
    KZ_TRY(pop(machine, 1, &value));
    KZ_TRY(expect_frame(machine, KZ_FRAME_SIFT, KZ_FRAME_SIFT, &frame));
    if (kz_variant_is_true(value) && frame->kept_count < frame->count) {
        frame->kept[frame->kept_count++] = frame->items[frame->index];
    }
    return KAZEIA_OK;
}

static kazeia_status do_sift_next(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    KZ_TRY(expect_frame(machine, KZ_FRAME_SIFT, KZ_FRAME_SIFT, &frame));
    if (frame->index + 1 < frame->count) {
        frame->index++;
        machine->next = step->argument;
        return KAZEIA_OK;
    }
    const kz_variant kept = kz_variant_list(frame->kept, frame->kept_count);
    pop_frame(machine);
    return push(machine, &kept);
}

static kazeia_status do_break(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    KZ_TRY(expect_frame(machine, KZ_FRAME_LOOP, KZ_FRAME_LOOP, &frame));
    pop_frame(machine);
    machine->next = step->argument;
    return KAZEIA_OK;
}

static kz_variant loop_member(const kz_frame *frame, uint32_t member) {
    const kz_variant undefined = {.kind = KZ_VARIANT_UNDEFINED};
    const int64_t index = frame->index, count = frame->count;
    switch (member) {
    case KZ_LOOP_FIRST:
        return kz_variant_bool(index == 0);
    case KZ_LOOP_LAST:
        return kz_variant_bool(index + 1 == count);
    case KZ_LOOP_INDEX:
        return kz_variant_integer(index + 1);
    case KZ_LOOP_INDEX0:
        return kz_variant_integer(index);
    case KZ_LOOP_LENGTH:
        return kz_variant_integer(count);
    case KZ_LOOP_REVINDEX:
        return kz_variant_integer(count - index);
    case KZ_LOOP_REVINDEX0:
        return kz_variant_integer(count - index - 1);
    case KZ_LOOP_NEXTITEM:
        return index + 1 < count ? frame->items[index + 1] : undefined;
    default:
        return index > 0 ? frame->items[index - 1] : undefined;
    }
}

static kazeia_status do_loop(kz_machine *machine, const kz_template_step *step) {
    for (uint32_t i = machine->frame_count; i > 0; i--) {
        if (machine->frames[i - 1].kind == KZ_FRAME_LOOP) {
            const kz_variant value = loop_member(&machine->frames[i - 1], step->argument);
            return push(machine, &value);
        }
    }
    return fail_machine("a loop's member outside of a loop");
}

// --- Captures and macros ------------------------------------------------------------------------

static kazeia_status join_chunks(kz_heap *heap, const kz_chunk *chunk, kz_variant *out_value) {
    if (chunk && !chunk->next) {
        *out_value = chunk->text;
        return KAZEIA_OK;
    }
    kz_string_builder builder;
    kz_string_begin(&builder, heap);
    for (; chunk; chunk = chunk->next) {
        kz_string_put_part(&builder, &chunk->text, 0, chunk->text.count);
    }
    return kz_string_end(&builder, out_value);
}

static kazeia_status do_capture_begin(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    (void)step;
    KZ_TRY(push_frame(machine, KZ_FRAME_CAPTURE, &frame));
    machine->scope = machine->variable_count;
    return KAZEIA_OK;
}

static kazeia_status do_capture_end(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    kz_variant text;
    (void)step;
    KZ_TRY(expect_frame(machine, KZ_FRAME_CAPTURE, KZ_FRAME_CAPTURE, &frame));
    pop_frame(machine);
    KZ_TRY(join_chunks(&machine->heap, frame->first, &text));
    return push(machine, &text);
}

static kazeia_status do_macro(kz_machine *machine, const kz_template_step *step) {
    const kz_variant value = {.kind = KZ_VARIANT_MACRO, .integer = step->argument};
    return push(machine, &value);
}

static kazeia_status do_nothing(kz_machine *machine, const kz_template_step *step) {
    (void)machine;
    (void)step;
    return KAZEIA_OK;
}

// The value for the parameter `index`, named by a string of the template.
static kz_variant find_argument(const kz_machine *machine, const kz_template_step *step,
                                const kz_variant *values, uint32_t index, uint32_t name) {
    if (index < step->positional) {
        return values[index];
    }
    const kz_variant *pairs = values + step->positional;
    for (uint32_t i = 0; i < step->named; i++) {
        const kz_variant *key = &pairs[2 * i];
        if (key->kind == KZ_VARIANT_STRING && is_named(machine, name, key->text, key->count)) {
            return pairs[2 * i + 1];
        }
    }
    return (kz_variant){.kind = KZ_VARIANT_MISSING};
}

static kazeia_status bind_arguments(kz_machine *machine, const kz_template_step *step,
                                    const kz_variant *values, uint32_t *place) {
    uint32_t count = 0;
    for (;; ++*place, count++) {
        const kz_template_step parameter = kz_chat_template_step(&machine->program, *place);
        if (parameter.op != KZ_DO_PARAMETER) {
            break;
        }
        const kz_variant value = find_argument(machine, step, values, count, parameter.argument);
        KZ_TRY(add_variable(machine, parameter.argument, &value));
    }
    if (step->positional > count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a macro of %u parameters is given %u values", count,
                       step->positional);
    }
    return KAZEIA_OK;
}

static kazeia_status do_call(kz_machine *machine, const kz_template_step *step) {
    const kz_variant *values = NULL;
    kz_frame *frame = NULL;
    KZ_TRY(pop(machine, 1 + step->positional + 2u * step->named, &values));
    if (values[0].kind != KZ_VARIANT_MACRO) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "a %s is called; expected a macro",
                       kz_variant_kind_name(&values[0]));
    }
    KZ_TRY(push_frame(machine, KZ_FRAME_CALL, &frame));
    frame->next = machine->next;
    // Above 0 in any case: 0 says that no macro runs. A template's own macro is a variable itself.
    uint32_t place = (uint32_t)values[0].integer;
    machine->floor = machine->variable_count;
    machine->scope = machine->variable_count;
    KZ_TRY(bind_arguments(machine, step, values + 1, &place));
    machine->next = place;
    return KAZEIA_OK;
}

static kazeia_status do_return(kz_machine *machine, const kz_template_step *step) {
    kz_frame *frame = NULL;
    kz_variant text;
    (void)step;
    KZ_TRY(expect_frame(machine, KZ_FRAME_CALL, KZ_FRAME_CALL, &frame));
    machine->next = frame->next;
    machine->height = frame->height;
    pop_frame(machine);
    KZ_TRY(join_chunks(&machine->heap, frame->first, &text));
    return push(machine, &text);
}

// --- Calls --------------------------------------------------------------------------------------

static kazeia_status do_library(kz_machine *machine, const kz_template_step *step) {
    const bool has_subject = step->op != KZ_DO_FUNCTION;
    const kz_variant *values = NULL;
    kz_variant result;
    KZ_TRY(pop(machine, has_subject + step->positional + 2u * step->named, &values));
    const kz_call call = {.machine = machine,
                          .number = step->argument,
                          .subject = has_subject ? values : NULL,
                          .values = values + has_subject,
                          .pairs = values + has_subject + step->positional,
                          .count = step->positional,
                          .pair_count = step->named};
    kazeia_status (*const library)(const kz_call *, kz_variant *) =
        step->op == KZ_DO_FILTER   ? kz_call_filter
        : step->op == KZ_DO_METHOD ? kz_call_method
        : step->op == KZ_DO_TEST   ? kz_call_test
                                   : kz_call_function;
    KZ_TRY(library(&call, &result));
    return push(machine, &result);
}

// --- The run ------------------------------------------------------------------------------------

static const operation operations[KZ_DO_COUNT] = {
    [KZ_DO_END] = do_nothing,
    [KZ_DO_STRING] = do_string,
    [KZ_DO_INTEGER] = do_integer,
    [KZ_DO_REAL] = do_real,
    [KZ_DO_CONSTANT] = do_constant,
    [KZ_DO_LOAD] = do_load,
    [KZ_DO_STORE] = do_store,
    [KZ_DO_LIST] = do_list,
    [KZ_DO_MAP] = do_map,
    [KZ_DO_UNPACK] = do_unpack,
    [KZ_DO_ATTRIBUTE] = do_attribute,
    [KZ_DO_ITEM] = do_item,
    [KZ_DO_SLICE] = do_slice,
    [KZ_DO_SET_ATTRIBUTE] = do_set_attribute,
    [KZ_DO_ADD] = do_add,
    [KZ_DO_JOIN] = do_join,
    [KZ_DO_SUBTRACT] = do_arithmetic,
    [KZ_DO_MULTIPLY] = do_arithmetic,
    [KZ_DO_DIVIDE] = do_arithmetic,
    [KZ_DO_FLOOR_DIVIDE] = do_arithmetic,
    [KZ_DO_MODULO] = do_arithmetic,
    [KZ_DO_POWER] = do_arithmetic,
    [KZ_DO_NEGATE] = do_negate,
    [KZ_DO_EQUAL] = do_equal,
    [KZ_DO_NOT_EQUAL] = do_equal,
    [KZ_DO_LESS] = do_order,
    [KZ_DO_LESS_EQUAL] = do_order,
    [KZ_DO_GREATER] = do_order,
    [KZ_DO_GREATER_EQUAL] = do_order,
    [KZ_DO_IN] = do_in,
    [KZ_DO_NOT] = do_not,
    [KZ_DO_JUMP] = do_jump,
    [KZ_DO_JUMP_FALSE] = do_jump_false,
    [KZ_DO_AND] = do_and_or,
    [KZ_DO_OR] = do_and_or,
    [KZ_DO_PRINT] = do_print,
    [KZ_DO_PRINT_SUM] = do_print_sum,
    [KZ_DO_PRINT_TEXT] = do_print_text,
    [KZ_DO_FILTER] = do_library,
    [KZ_DO_METHOD] = do_library,
    [KZ_DO_TEST] = do_library,
    [KZ_DO_FUNCTION] = do_library,
    [KZ_DO_CALL] = do_call,
    [KZ_DO_FOR_BEGIN] = do_for_begin,
    [KZ_DO_FOR_ITEM] = do_for_item,
    [KZ_DO_FOR_NEXT] = do_for_next,
    [KZ_DO_SIFT_BEGIN] = do_for_begin,
    [KZ_DO_KEEP] = do_keep,
    [KZ_DO_SIFT_NEXT] = do_sift_next,
    [KZ_DO_LOOP] = do_loop,
    [KZ_DO_BREAK] = do_break,
    [KZ_DO_CAPTURE_BEGIN] = do_capture_begin,
    [KZ_DO_CAPTURE_END] = do_capture_end,
    [KZ_DO_MACRO] = do_macro,
    [KZ_DO_PARAMETER] = do_nothing,
    [KZ_DO_IS_GIVEN] = do_is_given,
    [KZ_DO_RETURN] = do_return,
};

// The last instruction is an END, and every jump leads to an instruction: `next` stays in the list.
static kazeia_status run_steps(kz_machine *machine) {
    for (;;) {
        const kz_template_step step = kz_chat_template_step(&machine->program, machine->next++);
        machine->line = step.line;
        if (step.op == KZ_DO_END) {
            return KAZEIA_OK;
        }
        KZ_TRY(kz_heap_work(&machine->heap, 1));
        KZ_TRY(operations[step.op](machine, &step));
    }
}

kazeia_status kz_machine_run(kz_machine *machine, const kz_template_sink *sink) {
    machine->sink = *sink;
    machine->next = 0;
    machine->height = 0;
    machine->frame_count = 0;
    machine->scope = 0;
    machine->floor = 0;
    machine->top_count = machine->variable_count;
    const kazeia_status status = run_steps(machine);
    return status == KAZEIA_OK ? status
                               : kz_fail_context(status, "chat template, line %u", machine->line);
}
