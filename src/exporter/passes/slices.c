// slices.c: rows of the checkpoint into bytes of the program, a slice at a time.
//   in   weights: where their rows come from, the type they get
//   out  panels of matrices, rows of f32
// A source that has the weight's own type is packed from where it lies: decoding and encoding again
// would lose.
#include "exporter/passes/slices.h"

#include <string.h>

#include "format/layout.h"

// Large enough that handing slices around costs nothing, small enough for a few to be no memory.
#define SLICE_BYTES ((size_t)1 << 20)

// --- Cutting ------------------------------------------------------------------------------------

// Rows that are packed together, and their bytes.
static uint64_t unit_rows(const kz_graph_weight *weight) {
    return weight->is_matrix ? KZ_PANEL_ROWS : 1;
}

static size_t unit_bytes(const kz_graph_weight *weight) {
    const size_t columns = (size_t)weight->columns;
    return weight->is_matrix ? kz_layout_panel_bytes(weight->type, columns)
                             : columns * sizeof(float);
}

static uint64_t rows_of_slice(const kz_graph_weight *weight) {
    const size_t bytes = unit_bytes(weight);
    return unit_rows(weight) * (bytes < SLICE_BYTES && bytes > 0 ? SLICE_BYTES / bytes : 1);
}

static kz_slice cut_slice(const kz_graph_weight *weight, uint64_t first) {
    const uint64_t left = weight->rows - first;
    const uint64_t most = rows_of_slice(weight);
    const uint64_t count = left < most ? left : most;
    const uint64_t units = (count + unit_rows(weight) - 1) / unit_rows(weight);
    return (kz_slice){weight, first, count, (size_t)units * unit_bytes(weight)};
}

bool kz_slice_next(kz_slice_cursor *cursor, kz_slice *out_slice) {
    while (cursor->weight < cursor->graph->weight_count) {
        const kz_graph_weight *weight = &cursor->graph->weights[cursor->weight];
        if (cursor->row < weight->rows) {
            *out_slice = cut_slice(weight, cursor->row);
            cursor->row += out_slice->count;
            return true;
        }
        cursor->weight++;
        cursor->row = 0;
    }
    return false;
}

kazeia_status kz_slices_measure(const kz_graph *graph, kz_slice_sizes *out_sizes) {
    *out_sizes = (kz_slice_sizes){0};
    for (size_t i = 0; i < graph->weight_count; i++) {
        const kz_graph_weight *weight = &graph->weights[i];
        const size_t columns = (size_t)weight->columns;
        size_t bytes = 0;
        KZ_TRY(kz_layout_tensor_bytes(weight->is_matrix ? KZ_TILE16 : KZ_ROWS, weight->type,
                                      (size_t)weight->rows, columns, &bytes));
        out_sizes->bytes_total += bytes;
        // Work memory is taken once, for the widest weight: packing allocates nothing.
        const size_t slice = weight->rows > 0 ? cut_slice(weight, 0).bytes : 0;
        out_sizes->largest_bytes =
            slice > out_sizes->largest_bytes ? slice : out_sizes->largest_bytes;
        out_sizes->widest_columns =
            columns > out_sizes->widest_columns ? columns : out_sizes->widest_columns;
    }
    return KAZEIA_OK;
}

// --- Work memory --------------------------------------------------------------------------------

kazeia_status kz_slice_maker_init(kz_slice_maker *maker, size_t widest_columns,
                                  const kazeia_allocator *allocator) {
    // No row form is longer than the row as f32.
    maker->stride = widest_columns * sizeof(float);
    KZ_TRY(kz_alloc(allocator, widest_columns, sizeof(float), "row", (void **)&maker->floats));
    KZ_TRY(kz_alloc(allocator, widest_columns, sizeof(float), "row", (void **)&maker->reordered));
    return kz_alloc(allocator, widest_columns, KZ_PANEL_ROWS * sizeof(float), "16 rows",
                    (void **)&maker->row_forms);
}

void kz_slice_maker_clear(kz_slice_maker *maker, const kazeia_allocator *allocator) {
    kz_free(allocator, maker->floats);
    kz_free(allocator, maker->reordered);
    kz_free(allocator, maker->row_forms);
    *maker = (kz_slice_maker){0};
}

// --- Rows ---------------------------------------------------------------------------------------

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
    const size_t given = weight->channels > 0 ? (size_t)weight->channels : channels;
    for (size_t channel = 0; channel < channels; channel++) {
        for (size_t k = 0; k < kernel; k++) {
            out[k * channels + channel] = channel < given ? row[channel * kernel + k] : 0.0f;
        }
    }
}

// One column of channels and kernels out of each row of the checkpoint, without decoding the rest
// of them: kz_model_transposed has seen that they are f32.
static void gather_transposed(const kz_graph_weight *weight, const kz_checkpoint_tensor *tensor,
                              uint64_t row, float *out) {
    const uint64_t channels = weight->rows / weight->kernel;
    const uint64_t element = row % channels * weight->kernel + row / channels;
    for (uint64_t i = 0; i < weight->columns; i++) {
        memcpy(&out[i], kz_checkpoint_row(tensor, i) + element * sizeof(float), sizeof(float));
    }
}

// A column of the checkpoint.
static void gather_turned(const kz_graph_weight *weight, const kz_checkpoint_tensor *tensor,
                          uint64_t column, float *out) {
    for (uint64_t i = 0; i < weight->columns; i++) {
        out[i] = kz_checkpoint_element(tensor, i, column);
    }
}

static void multiply(float *values, size_t count, float factor) {
    for (size_t i = 0; i < count; i++) {
        values[i] *= factor;
    }
}

static kazeia_status decode_row(kz_slice_maker *maker, const kz_graph_weight *weight,
                                const kz_weight_piece *piece, uint64_t row, float **out_values) {
    const size_t columns = (size_t)weight->columns;
    if (piece->tensor && weight->shape == KZ_WEIGHT_TRANSPOSED) {
        gather_transposed(weight, piece->tensor, row, maker->floats);
    } else if (piece->tensor && weight->shape == KZ_WEIGHT_TURNED) {
        gather_turned(weight, piece->tensor, piece->first_row + row, maker->floats);
    } else if (piece->tensor) {
        KZ_TRY(kz_checkpoint_decode_row(piece->tensor, piece->first_row + row, maker->floats));
    } else if (piece->constant) {
        memcpy(maker->floats, piece->constant + row * columns, columns * sizeof(float));
    } else {
        memset(maker->floats, 0, columns * sizeof(float));
    }
    float *values = maker->floats;
    if (weight->shape == KZ_WEIGHT_CONV) {
        reorder_convolution(weight, maker->floats, maker->reordered);
        values = maker->reordered;
    }
    *out_values = values;
    return KAZEIA_OK;
}

// The row form of one row: in place in the checkpoint when nothing changes, else made in slot
// `slot`.
static kazeia_status make_row_form(kz_slice_maker *maker, const kz_graph_weight *weight,
                                   uint64_t row, size_t slot, const void **out_row) {
    const kz_weight_piece *piece = NULL;
    uint64_t piece_row = 0;
    KZ_TRY(find_piece(weight, row, &piece, &piece_row));
    const kz_checkpoint_tensor *tensor = piece->tensor;
    // The source's own blocks, byte for byte.
    if (tensor && tensor->type == weight->type && weight->shape == KZ_WEIGHT_PLAIN &&
        !weight->factors) {
        *out_row = kz_checkpoint_row(tensor, piece->first_row + piece_row);
        return KAZEIA_OK;
    }
    float *values = NULL;
    KZ_TRY(decode_row(maker, weight, piece, piece_row, &values));
    if (weight->factors) {
        multiply(values, (size_t)weight->columns, weight->factors[row]);
    }
    uint8_t *row_form = maker->row_forms + slot * maker->stride;
    // A value that is not finite, or too large for the type's f16 scale.
    if (!kz_quant_encode_row(weight->type, values, (size_t)weight->columns, row_form)) {
        return kz_fail(KAZEIA_UNSUPPORTED, "export: weight '%s' cannot be written as %s",
                       weight->name, kz_type_name(weight->type));
    }
    *out_row = row_form;
    return KAZEIA_OK;
}

// --- The three kinds of slices ------------------------------------------------------------------

static kazeia_status make_panels(kz_slice_maker *maker, const kz_slice *slice, uint8_t *out_bytes) {
    const kz_graph_weight *weight = slice->weight;
    const size_t columns = (size_t)weight->columns;
    for (uint64_t done = 0; done < slice->count; done += KZ_PANEL_ROWS) {
        const void *rows[KZ_PANEL_ROWS] = {NULL};
        size_t count = 0;
        for (; count < KZ_PANEL_ROWS && done + count < slice->count; count++) {
            KZ_TRY(make_row_form(maker, weight, slice->first + done + count, count, &rows[count]));
        }
        kz_layout_pack_panel(weight->type, rows, count, columns, out_bytes);
        out_bytes += unit_bytes(weight);
    }
    return KAZEIA_OK;
}

static kazeia_status make_rows(kz_slice_maker *maker, const kz_slice *slice, uint8_t *out_bytes) {
    const kz_graph_weight *weight = slice->weight;
    for (uint64_t i = 0; i < slice->count; i++) {
        const kz_weight_piece *piece = NULL;
        float *values = NULL;
        uint64_t piece_row = 0;
        KZ_TRY(find_piece(weight, slice->first + i, &piece, &piece_row));
        KZ_TRY(decode_row(maker, weight, piece, piece_row, &values));
        memcpy(out_bytes, values, unit_bytes(weight));
        out_bytes += unit_bytes(weight);
    }
    return KAZEIA_OK;
}

// Elements of a vector, whatever rank the checkpoint gives it ([n] or [n][1]).
static kazeia_status make_vector_piece(const kz_graph_weight *weight, const kz_weight_piece *piece,
                                       float *out_values) {
    if (!piece->tensor) {
        const size_t bytes = (size_t)piece->row_count * sizeof(float);
        if (piece->constant) {
            memcpy(out_values, piece->constant, bytes);
        } else {
            memset(out_values, 0, bytes);
        }
        return KAZEIA_OK;
    }
    const uint64_t elements = kz_checkpoint_row_elements(piece->tensor);
    // vector_piece (models/source.c) has compared the product with row_count, so it ends exactly
    // and is never 0 a row.
    for (uint64_t row = 0; row * elements < piece->row_count; row++) {
        float *values = out_values + row * elements;
        KZ_TRY(kz_checkpoint_decode_row(piece->tensor, row, values));
        for (uint64_t i = 0; i < elements; i++) {
            values[i] += weight->added;
        }
    }
    return KAZEIA_OK;
}

static kazeia_status make_vector(const kz_slice *slice, uint8_t *out_bytes) {
    const kz_graph_weight *weight = slice->weight;
    float *values = (float *)(void *)out_bytes;
    uint64_t made = 0;
    for (uint32_t i = 0; i < weight->piece_count; i++) {
        const kz_weight_piece *piece = &weight->pieces[i];
        // The buffer has room for the vector and for nothing behind it.
        if (piece->row_count > weight->columns - made) {
            break;
        }
        KZ_TRY(make_vector_piece(weight, piece, values + made));
        made += piece->row_count;
    }
    for (uint64_t i = 0; weight->factors && i < made; i++) {
        values[i] *= weight->factors[i];
    }
    if (made != weight->columns) {
        return kz_fail(KAZEIA_BAD_FILE, "export: the parts of weight '%s' do not make %llu values",
                       weight->name, (unsigned long long)weight->columns);
    }
    return KAZEIA_OK;
}

kazeia_status kz_slice_make(kz_slice_maker *maker, const kz_slice *slice, uint8_t *out_bytes) {
    if (slice->weight->is_matrix) {
        return make_panels(maker, slice, out_bytes);
    }
    return slice->weight->rank == 1 ? make_vector(slice, out_bytes)
                                    : make_rows(maker, slice, out_bytes);
}

// --- Advice -------------------------------------------------------------------------------------

void kz_slice_advise(const kz_slice *slice, const kz_checkpoint *checkpoint, bool will_need) {
    uint64_t before = 0;
    // Vectors are small; their rows are no rows of the checkpoint.
    // Nor are those of a transposed or turned weight, each of which touches all of the
    // checkpoint's.
    const bool has_rows = slice->weight->rank > 1 && slice->weight->shape != KZ_WEIGHT_TRANSPOSED &&
                          slice->weight->shape != KZ_WEIGHT_TURNED;
    for (uint32_t i = 0; i < slice->weight->piece_count && has_rows; i++) {
        const kz_weight_piece *piece = &slice->weight->pieces[i];
        const uint64_t first = slice->first > before ? slice->first - before : 0;
        const uint64_t end =
            slice->first + slice->count > before ? slice->first + slice->count - before : 0;
        const uint64_t last = end < piece->row_count ? end : piece->row_count;
        if (piece->tensor && first < last) {
            kz_checkpoint_advise(checkpoint, piece->tensor, piece->first_row + first, last - first,
                                 will_need);
        }
        before += piece->row_count;
    }
}
