// source.c: what model definitions share: program weights from checkpoint tensors.
//   in   names and shapes
//   out  graph weights whose shapes have been compared with the checkpoint's
#include <string.h>

#include "exporter/models/model.h"

const char *kz_layer_name(kz_graph *graph, const char *pattern, uint32_t layer) {
    // Patterns without a mark are names already: one table serves tensors of layers and of the
    // whole.
    const char *mark = strchr(pattern, '#');
    if (!mark) {
        return pattern;
    }
    return kz_graph_name(graph, "%.*s%u%s", (int)(mark - pattern), pattern, layer, mark + 1);
}

// NULL after any failure, also an earlier one: callers add their weight all the same, and the
// graph's status tells.
static const kz_checkpoint_tensor *require(kz_graph *graph, const kz_checkpoint *checkpoint,
                                           const char *name, uint32_t rank, const uint64_t *dims) {
    const kz_checkpoint_tensor *tensor = NULL;
    if (kz_graph_status(graph) == KAZEIA_OK) {
        kz_graph_note(graph, kz_checkpoint_require(checkpoint, name, rank, dims, &tensor));
    }
    return tensor;
}

static void check_rows(kz_graph *graph, const kz_graph_weight *weight) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < weight->piece_count; i++) {
        rows += weight->pieces[i].row_count;
    }
    if (kz_graph_status(graph) == KAZEIA_OK && rows != weight->rows) {
        kz_graph_note(graph,
                      kz_fail(KAZEIA_BAD_FILE,
                              "weight '%s': its tensors have %llu rows in all, expected %llu",
                              weight->name, (unsigned long long)rows,
                              (unsigned long long)weight->rows));
    }
}

uint32_t kz_model_matrix(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                         uint64_t rows, uint64_t columns, const char *const *sources) {
    kz_graph_weight weight = {
        .name = name, .is_matrix = true, .rank = 2, .rows = rows, .columns = columns};
    for (uint32_t i = 0; i < KZ_PIECE_LIMIT && sources[i]; i++) {
        // Any number of rows: how the sum of them must come out is checked once all pieces are
        // known.
        const uint64_t dims[] = {0, columns};
        const kz_checkpoint_tensor *tensor = require(graph, checkpoint, sources[i], 2, dims);
        if (tensor) {
            weight.pieces[weight.piece_count++] =
                (kz_weight_piece){.tensor = tensor, .row_count = tensor->dims[0]};
        }
    }
    check_rows(graph, &weight);
    return kz_graph_add_weight(graph, &weight);
}

uint32_t kz_model_convolution(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                              uint64_t rows, uint64_t channels, uint32_t kernel,
                              const char *source) {
    const uint64_t dims[] = {rows, channels, kernel}; // [out channels][in channels][kernel]
    const kz_checkpoint_tensor *tensor = require(graph, checkpoint, source, 3, dims);
    // UNFOLD copies x row by row: the packer turns each kernel's row round to match.
    return kz_graph_add_weight(graph,
                               &(kz_graph_weight){.name = name,
                                                  .is_matrix = true,
                                                  .rank = 2,
                                                  .rows = rows,
                                                  .columns = channels * kernel,
                                                  .pieces = {{.tensor = tensor, .row_count = rows}},
                                                  .piece_count = 1,
                                                  .shape = KZ_WEIGHT_CONV,
                                                  .kernel = kernel});
}

uint32_t kz_model_table(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                        uint64_t rows, uint64_t columns, const char *source) {
    const uint64_t dims[] = {rows, columns};
    const kz_checkpoint_tensor *tensor = require(graph, checkpoint, source, 2, dims);
    return kz_graph_add_weight(graph,
                               &(kz_graph_weight){.name = name,
                                                  .rank = 2,
                                                  .rows = rows,
                                                  .columns = columns,
                                                  .pieces = {{.tensor = tensor, .row_count = rows}},
                                                  .piece_count = 1});
}

void kz_model_mark_precise(kz_graph *graph, uint32_t weight) {
    if (weight < graph->weight_count) {
        graph->weights[weight].is_precise = true;
    }
}

static kz_weight_piece vector_piece(kz_graph *graph, const kz_checkpoint *checkpoint,
                                    const char *source, uint64_t count) {
    kz_weight_piece piece = {.row_count = count};
    if (!source) {
        return piece;
    }
    // Of any rank: containers keep biases as [n] or [n][1].
    piece.tensor = require(graph, checkpoint, source, 0, NULL);
    if (piece.tensor) {
        const uint64_t elements =
            kz_checkpoint_row_elements(piece.tensor) * kz_checkpoint_row_count(piece.tensor);
        if (elements != count) {
            kz_graph_note(graph,
                          kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has %llu elements, expected %llu",
                                  source, (unsigned long long)elements, (unsigned long long)count));
        }
    }
    return piece;
}

uint32_t kz_model_joined_vector(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                                uint64_t part_count, const char *const *sources,
                                uint32_t source_count) {
    kz_graph_weight weight = {.name = name,
                              .rank = 1,
                              .rows = 1,
                              .columns = part_count * source_count,
                              .piece_count = source_count};
    for (uint32_t i = 0; i < source_count; i++) {
        // Callers give KZ_PIECE_LIMIT sources at most.
        weight.pieces[i] = vector_piece(graph, checkpoint, sources[i], part_count);
    }
    return kz_graph_add_weight(graph, &weight);
}

uint32_t kz_model_vector(kz_graph *graph, const kz_checkpoint *checkpoint, const char *name,
                         uint64_t count, const char *source) {
    return kz_model_joined_vector(graph, checkpoint, name, count, &source, 1);
}

void kz_model_add_to(kz_graph *graph, uint32_t weight, float added) {
    if (weight < graph->weight_count) {
        graph->weights[weight].added = added;
    }
}

bool kz_model_can_join(const kz_checkpoint *checkpoint, const char *const *sources,
                       uint32_t source_count) {
    const kz_checkpoint_tensor *first = kz_checkpoint_find(checkpoint, sources[0]);
    for (uint32_t i = 1; first && i < source_count; i++) {
        const kz_checkpoint_tensor *tensor = kz_checkpoint_find(checkpoint, sources[i]);
        // A matrix has one type; a missing tensor gets its sentence where it is read alone.
        if (!tensor || tensor->type != first->type) {
            return false;
        }
    }
    return first != NULL;
}

int64_t kz_config_integer(const json_t *object, const char *key, int64_t otherwise) {
    const json_t *member = json_object_get(object, key);
    // A null, as some files write for "not set", counts as absent.
    return json_is_integer(member) ? (int64_t)json_integer_value(member) : otherwise;
}

double kz_config_real(const json_t *object, const char *key, double otherwise) {
    const json_t *member = json_object_get(object, key);
    return json_is_number(member) ? json_number_value(member) : otherwise;
}

kazeia_status kz_config_require(const json_t *object, const char *file, const char *key,
                                int64_t minimum, int64_t maximum, int64_t *out_value) {
    const json_t *member = json_object_get(object, key);
    if (!json_is_integer(member)) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: no integer '%s'", file, key);
    }
    const int64_t value = (int64_t)json_integer_value(member);
    if (value < minimum || value > maximum) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: '%s' is %lld, expected %lld to %lld", file, key,
                       (long long)value, (long long)minimum, (long long)maximum);
    }
    *out_value = value;
    return KAZEIA_OK;
}

float *kz_model_floats(kz_graph *graph, const kz_checkpoint_tensor *tensor, uint64_t count) {
    const uint64_t columns = kz_checkpoint_row_elements(tensor);
    const uint64_t rows = kz_checkpoint_row_count(tensor);
    float *values = NULL;
    if (rows == 0 || columns * rows != count) {
        kz_graph_note(graph,
                      kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has %llu elements, expected %llu",
                              tensor->name, (unsigned long long)(columns * rows),
                              (unsigned long long)count));
        return NULL;
    }
    kz_graph_note(graph,
                  kz_bump_take(&graph->memory, (size_t)count, sizeof *values, (void **)&values));
    for (uint64_t row = 0; values && row < rows; row++) {
        kz_graph_note(graph, kz_checkpoint_decode_row(tensor, row, values + row * columns));
    }
    return kz_graph_status(graph) == KAZEIA_OK ? values : NULL;
}
