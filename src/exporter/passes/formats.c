// formats.c: which number format each weight gets.
//   in   the user's choice and recipe
//   out  kz_graph_weight.type
// Vectors stay f32: they are small and everything they touch is computed in f32.
#include <fnmatch.h>
#include <string.h>

#include "exporter/passes/passes.h"

typedef struct recipe_line {
    char pattern[160];
    kz_type type;
    uint32_t number;
} recipe_line;

static kazeia_status keep_source_format(const kz_graph_weight *weight, kz_type *out_type) {
    const kz_checkpoint_tensor *first = NULL;
    for (uint32_t i = 0; i < weight->piece_count; i++) {
        const kz_checkpoint_tensor *tensor = weight->pieces[i].tensor;
        if (tensor && !first) {
            first = tensor;
            // One matrix has one type: rows of two would need two decoders in a panel.
        } else if (tensor && tensor->type != first->type) {
            return kz_fail(KAZEIA_UNSUPPORTED,
                           "export: tensors '%s' (%s) and '%s' (%s) are to be joined, but differ",
                           first->name, first->type_name, tensor->name, tensor->type_name);
        }
    }
    if (!first) {
        *out_type = KZ_F32;
        return KAZEIA_OK;
    }
    // CTranslate2's int8 has a scale a row, ONNX's one in all; blocks of 32 with that scale hold
    // the same values but for the scale's rounding to f16.
    const kz_type of_integers = weight->is_precise ? KZ_F32 : KZ_Q8_0;
    const kz_type type = first->type == KZ_I8 ? of_integers : first->type;
    if (!kz_layout_holds(KZ_TILE16, type)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "export: tensor '%s' is %s, which cannot be kept; choose --weights q8, q4, "
                       "bf16, f16 or f32",
                       first->name, first->type_name);
    }
    *out_type = type;
    return KAZEIA_OK;
}

static bool is_quantised(kz_type type) {
    return kz_type_block_elements(type) > 1;
}

static kazeia_status choose_type(kz_graph_weight *weight, const kz_format_choice *choice) {
    if (!weight->is_matrix) {
        weight->type = KZ_F32;
        return KAZEIA_OK;
    }
    if (choice->keeps) {
        return keep_source_format(weight, &weight->type);
    }
    // A recipe may still ask for it: it is applied after.
    weight->type = weight->is_precise && is_quantised(choice->type) ? KZ_F32 : choice->type;
    weight->type = weight->is_fine && weight->type == KZ_Q4_0 ? KZ_Q8_0 : weight->type;
    weight->type = weight->is_half && is_quantised(weight->type) ? KZ_F16 : weight->type;
    return KAZEIA_OK;
}

// --- Recipe -------------------------------------------------------------------------------------

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

// Copies [begin, end) without blanks at its ends; false when it does not fit or is empty.
// The text is a person's, with any length: what does not fit is refused, not cut.
static bool copy_trimmed(const char *begin, const char *end, char *out, size_t capacity) {
    while (begin < end && is_blank(*begin)) {
        begin++;
    }
    while (end > begin && is_blank(end[-1])) {
        end--;
    }
    const size_t count = (size_t)(end - begin);
    if (count == 0 || count >= capacity) {
        return false;
    }
    memcpy(out, begin, count);
    out[count] = '\0';
    return true;
}

static bool format_from_name(const char *name, kz_type *out_type) {
    static const struct {
        const char *name;
        kz_type type;
    } short_names[] = {{"q8", KZ_Q8_0}, {"q4", KZ_Q4_0}};
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++) {
        if (strcmp(name, short_names[i].name) == 0) {
            *out_type = short_names[i].type;
            return true;
        }
    }
    // Names of types that no matrix can have (i32, a8) are no formats.
    return kz_type_from_name(name, out_type) && kz_layout_holds(KZ_TILE16, *out_type);
}

static kazeia_status parse_line(const kz_format_choice *choice, const char *begin, const char *end,
                                recipe_line *line) {
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    char format[32];
    if (!equals || !copy_trimmed(begin, equals, line->pattern, sizeof line->pattern) ||
        !copy_trimmed(equals + 1, end, format, sizeof format)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "recipe %s, line %u: expected 'PATTERN = FORMAT'",
                       choice->recipe_path, line->number);
    }
    if (!format_from_name(format, &line->type)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "recipe %s, line %u: '%s' is no format; expected f32, f16, bf16, q8, q8_0, "
                       "q4, q4_0 or q4_1, or what the source has (q5_0, q5_1, iq4_nl, q4_k, q5_k, "
                       "q6_k)",
                       choice->recipe_path, line->number, format);
    }
    return KAZEIA_OK;
}

// True when every row is in the checkpoint in this very type.
static bool is_kept_as(const kz_graph_weight *weight, kz_type type) {
    bool is_kept = weight->shape == KZ_WEIGHT_PLAIN;
    for (uint32_t i = 0; i < weight->piece_count; i++) {
        const kz_checkpoint_tensor *tensor = weight->pieces[i].tensor;
        is_kept = is_kept && tensor && tensor->type == type;
    }
    return is_kept;
}

static kazeia_status set_type(kz_graph_weight *weight, const kz_format_choice *choice,
                              const recipe_line *line) {
    if (!kz_quant_can_encode(line->type) && !is_kept_as(weight, line->type)) {
        const kz_checkpoint_tensor *tensor = weight->pieces[0].tensor;
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "recipe %s, line %u: %s can be kept, not made, and the source has '%s' as "
                       "%s; choose q8, q4, bf16, f16 or f32",
                       choice->recipe_path, line->number, kz_type_name(line->type), weight->name,
                       tensor ? tensor->type_name : "numbers");
    }
    weight->type = line->type;
    return KAZEIA_OK;
}

static kazeia_status apply_line(kz_graph *graph, const kz_format_choice *choice,
                                const recipe_line *line) {
    size_t matches = 0;
    for (size_t i = 0; i < graph->weight_count; i++) {
        kz_graph_weight *weight = &graph->weights[i];
        // Lines are applied in order, so the last match wins without a search backwards.
        if (weight->is_matrix && fnmatch(line->pattern, weight->name, 0) == 0) {
            KZ_TRY(set_type(weight, choice, line));
            matches++;
        }
    }
    if (!matches) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "recipe %s, line %u: '%s' matches no matrix of this model",
                       choice->recipe_path, line->number, line->pattern);
    }
    return KAZEIA_OK;
}

static kazeia_status apply_recipe(kz_graph *graph, const kz_format_choice *choice) {
    recipe_line line = {.number = 0};
    for (const char *begin = choice->recipe; *begin;) {
        const char *newline = strchr(begin, '\n');
        const char *end = newline ? newline : begin + strlen(begin);
        // No weight's name has a '#': it begins a comment anywhere.
        const char *hash = memchr(begin, '#', (size_t)(end - begin));
        const char *text_end = hash ? hash : end;
        const char *first = begin;
        while (first < text_end && is_blank(*first)) {
            first++;
        }
        // Empty lines count as well: the number is what an editor shows.
        line.number++;
        if (first < text_end) {
            KZ_TRY(parse_line(choice, first, text_end, &line));
            KZ_TRY(apply_line(graph, choice, &line));
        }
        begin = newline ? newline + 1 : end;
    }
    return KAZEIA_OK;
}

// A block never reaches from one row into the next.
static kazeia_status check_blocks(const kz_graph_weight *weight) {
    const uint32_t block = kz_type_block_elements(weight->type);
    if (weight->columns % block == 0) {
        return KAZEIA_OK;
    }
    return kz_fail(KAZEIA_BAD_ARGUMENT,
                   "export: weight '%s' has %llu columns, %s needs a multiple of %u; give it "
                   "another format by a recipe line '%s = f16'",
                   weight->name, (unsigned long long)weight->columns, kz_type_name(weight->type),
                   block, weight->name);
}

kazeia_status kz_pass_formats(kz_graph *graph, const kz_format_choice *choice) {
    for (size_t i = 0; i < graph->weight_count; i++) {
        KZ_TRY(choose_type(&graph->weights[i], choice));
    }
    if (choice->recipe) {
        KZ_TRY(apply_recipe(graph, choice));
    }
    for (size_t i = 0; i < graph->weight_count; i++) {
        KZ_TRY(check_blocks(&graph->weights[i]));
    }
    return KAZEIA_OK;
}
