// pack.c: weights from the checkpoint's rows into the program's tiles, as a stream.
//   in   weights: where their rows come from, the type they get
//   out  tensor bytes, in the order of the description
// Memory is one panel and a few rows, whatever the model's size: pages already read are let go.
#include <string.h>

#include "exporter/passes/passes.h"

#define FORGET_ROWS 256 // rows read between two pieces of advice

typedef struct weight_packer {
    kz_graph *graph;
    const kz_checkpoint *checkpoint;
    kz_program_writer *writer;
    kz_pack_progress progress;
    void *progress_context;
    uint64_t bytes_done, bytes_total;
    // Work memory for the widest weight.
    float *floats, *reordered; // [columns]
    uint8_t *row_forms;        // [16] rows
    size_t row_form_stride;
    uint8_t *panel;
} weight_packer;

static kazeia_status find_piece(const kz_graph_weight *weight, uint64_t row,
                                const kz_weight_piece **out_piece, uint64_t *out_row) {
    for (uint32_t i = 0; i < weight->piece_count; i++) {
        const kz_weight_piece *piece = &weight->pieces[i];
        if (row < piece->row_count) {
            *out_piece = piece;
            *out_row = row;
            return KAZEIA_OK;
        }
        // Rows of one piece after the other: see kz_weight_piece.
        row -= piece->row_count;
    }
    return kz_fail(KAZEIA_BAD_FILE, "export: weight '%s' has too few rows", weight->name);
}

// [channels][kernel] -> [kernel][channels].
// UNFOLD lays x out as [kernel][channels], so that it copies whole rows.
static void reorder_convolution(const kz_graph_weight *weight, const float *row, float *out) {
    const size_t kernel = weight->kernel;
    const size_t channels = (size_t)weight->columns / kernel;
    for (size_t channel = 0; channel < channels; channel++) {
        for (size_t k = 0; k < kernel; k++) {
            out[k * channels + channel] = row[channel * kernel + k];
        }
    }
}

static kazeia_status decode_row(weight_packer *packer, const kz_graph_weight *weight,
                                const kz_weight_piece *piece, uint64_t row,
                                const float **out_values) {
    const size_t columns = (size_t)weight->columns;
    if (piece->tensor) {
        KZ_TRY(kz_checkpoint_decode_row(piece->tensor, piece->first_row + row, packer->floats));
    } else if (piece->constant) {
        memcpy(packer->floats, piece->constant + row * columns, columns * sizeof(float));
    } else {
        memset(packer->floats, 0, columns * sizeof(float));
    }
    float *values = packer->floats;
    if (weight->shape == KZ_WEIGHT_CONV) {
        reorder_convolution(weight, packer->floats, packer->reordered);
        values = packer->reordered;
    }
    *out_values = values;
    return KAZEIA_OK;
}

// The row form of one row: in place in the checkpoint when nothing changes, else made in slot
// `slot`.
static kazeia_status make_row_form(weight_packer *packer, const kz_graph_weight *weight,
                                   uint64_t row, size_t slot, const void **out_row) {
    const kz_weight_piece *piece = NULL;
    uint64_t piece_row = 0;
    KZ_TRY(find_piece(weight, row, &piece, &piece_row));
    const kz_checkpoint_tensor *tensor = piece->tensor;
    // The source's own blocks, byte for byte: decoding and encoding again would lose.
    if (tensor && tensor->type == weight->type && weight->shape == KZ_WEIGHT_PLAIN) {
        *out_row = kz_checkpoint_row(tensor, piece->first_row + piece_row);
        return KAZEIA_OK;
    }
    const float *values = NULL;
    KZ_TRY(decode_row(packer, weight, piece, piece_row, &values));
    uint8_t *row_form = packer->row_forms + slot * packer->row_form_stride;
    // A value that is not finite, or too large for the type's f16 scale.
    if (!kz_quant_encode_row(weight->type, values, (size_t)weight->columns, row_form)) {
        return kz_fail(KAZEIA_UNSUPPORTED, "export: weight '%s' cannot be written as %s",
                       weight->name, kz_type_name(weight->type));
    }
    *out_row = row_form;
    return KAZEIA_OK;
}

// The caller may end the export by a failure of its own.
static kazeia_status report(weight_packer *packer, const kz_graph_weight *weight, size_t bytes) {
    packer->bytes_done += bytes;
    if (!packer->progress) {
        return KAZEIA_OK;
    }
    return packer->progress(packer->progress_context, packer->bytes_done, packer->bytes_total,
                            weight->name);
}

static void forget_rows(const weight_packer *packer, const kz_graph_weight *weight) {
    for (uint32_t i = 0; i < weight->piece_count; i++) {
        const kz_weight_piece *piece = &weight->pieces[i];
        if (piece->tensor) {
            kz_checkpoint_forget(packer->checkpoint, piece->tensor, 0,
                                 kz_checkpoint_row_count(piece->tensor));
        }
    }
}

static kazeia_status pack_matrix(weight_packer *packer, const kz_graph_weight *weight) {
    const size_t columns = (size_t)weight->columns;
    const size_t panel_bytes = kz_layout_panel_bytes(weight->type, columns);
    for (uint64_t first = 0; first < weight->rows; first += KZ_PANEL_ROWS) {
        const void *rows[KZ_PANEL_ROWS] = {NULL};
        size_t count = 0;
        for (; count < KZ_PANEL_ROWS && first + count < weight->rows; count++) {
            KZ_TRY(make_row_form(packer, weight, first + count, count, &rows[count]));
        }
        kz_layout_pack_panel(weight->type, rows, count, columns, packer->panel);
        KZ_TRY(kz_program_writer_append(packer->writer, packer->panel, panel_bytes));
        KZ_TRY(report(packer, weight, panel_bytes));
        // Pages of rows to come are not there yet, so letting go of the whole tensor loses nothing.
        if (first % FORGET_ROWS == 0) {
            forget_rows(packer, weight);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status append_floats(weight_packer *packer, const kz_graph_weight *weight,
                                   const float *values, uint64_t count) {
    const size_t bytes = (size_t)count * sizeof(float);
    KZ_TRY(kz_program_writer_append(packer->writer, values, bytes));
    return report(packer, weight, bytes);
}

// Elements of a vector, whatever rank the checkpoint gives it ([n] or [n][1]).
static kazeia_status pack_vector_piece(weight_packer *packer, const kz_graph_weight *weight,
                                       const kz_weight_piece *piece) {
    if (!piece->tensor) {
        if (!piece->constant) {
            // A part of a vector is no longer than the vector, for which there is room.
            memset(packer->floats, 0, (size_t)piece->row_count * sizeof(float));
        }
        return append_floats(packer, weight, piece->constant ? piece->constant : packer->floats,
                             piece->row_count);
    }
    const uint64_t elements = kz_checkpoint_row_elements(piece->tensor);
    // vector_piece (models/source.c) has compared the product with row_count, so it ends exactly
    // and is never 0 a row.
    for (uint64_t row = 0; row * elements < piece->row_count; row++) {
        KZ_TRY(kz_checkpoint_decode_row(piece->tensor, row, packer->floats));
        for (uint64_t i = 0; i < elements; i++) {
            packer->floats[i] += weight->added;
        }
        KZ_TRY(append_floats(packer, weight, packer->floats, elements));
    }
    return KAZEIA_OK;
}

static kazeia_status pack_rows(weight_packer *packer, const kz_graph_weight *weight) {
    if (weight->rank == 1) {
        for (uint32_t i = 0; i < weight->piece_count; i++) {
            KZ_TRY(pack_vector_piece(packer, weight, &weight->pieces[i]));
        }
        return KAZEIA_OK;
    }
    for (uint64_t row = 0; row < weight->rows; row++) {
        const kz_weight_piece *piece = NULL;
        const float *values = NULL;
        uint64_t piece_row = 0;
        KZ_TRY(find_piece(weight, row, &piece, &piece_row));
        KZ_TRY(decode_row(packer, weight, piece, piece_row, &values));
        KZ_TRY(append_floats(packer, weight, values, weight->columns));
    }
    return KAZEIA_OK;
}

static kazeia_status measure(weight_packer *packer, size_t *out_columns, size_t *out_panel) {
    for (size_t i = 0; i < packer->graph->weight_count; i++) {
        const kz_graph_weight *weight = &packer->graph->weights[i];
        const size_t columns = (size_t)weight->columns;
        size_t bytes = 0;
        KZ_TRY(kz_layout_tensor_bytes(weight->is_matrix ? KZ_TILE16 : KZ_ROWS, weight->type,
                                      (size_t)weight->rows, (size_t)weight->columns, &bytes));
        packer->bytes_total += bytes;
        // Work memory is taken once, for the widest weight: packing allocates nothing.
        *out_columns = columns > *out_columns ? columns : *out_columns;
        const size_t panel = weight->is_matrix ? kz_layout_panel_bytes(weight->type, columns) : 0;
        *out_panel = panel > *out_panel ? panel : *out_panel;
    }
    return KAZEIA_OK;
}

static kazeia_status allocate_work(weight_packer *packer) {
    const kazeia_allocator *memory = &packer->graph->memory.allocator;
    size_t columns = 0, panel = 0;
    KZ_TRY(measure(packer, &columns, &panel));
    // No row form is longer than the row as f32.
    packer->row_form_stride = columns * sizeof(float);
    KZ_TRY(kz_alloc(memory, columns, sizeof(float), "row", (void **)&packer->floats));
    KZ_TRY(kz_alloc(memory, columns, sizeof(float), "row", (void **)&packer->reordered));
    KZ_TRY(kz_alloc(memory, columns, KZ_PANEL_ROWS * sizeof(float), "16 rows",
                    (void **)&packer->row_forms));
    return kz_alloc_aligned(memory, panel ? panel : 1, KZ_ALIGNMENT, "panel",
                            (void **)&packer->panel);
}

static kazeia_status pack_all(weight_packer *packer) {
    KZ_TRY(allocate_work(packer));
    for (size_t i = 0; i < packer->graph->weight_count; i++) {
        const kz_graph_weight *weight = &packer->graph->weights[i];
        KZ_TRY(weight->is_matrix ? pack_matrix(packer, weight) : pack_rows(packer, weight));
        forget_rows(packer, weight);
    }
    return KAZEIA_OK;
}

kazeia_status kz_pass_pack(kz_graph *graph, const kz_checkpoint *checkpoint,
                           kz_program_writer *writer, kz_pack_progress progress, void *context) {
    weight_packer packer = {.graph = graph,
                            .checkpoint = checkpoint,
                            .writer = writer,
                            .progress = progress,
                            .progress_context = context};
    // Freed whatever happened: what was not taken is NULL.
    const kazeia_status status = pack_all(&packer);
    const kazeia_allocator *memory = &graph->memory.allocator;
    kz_free(memory, packer.floats);
    kz_free(memory, packer.reordered);
    kz_free(memory, packer.row_forms);
    kz_free_aligned(memory, packer.panel);
    return status;
}
