// slices.h: the program's weights cut into slices, and the bytes of each.
//
//   in   weights of a graph whose formats are chosen, still in the checkpoint
//   out  the bytes of a slice, as they stand in the program
//
// A slice is some rows of one weight, whole panels of a matrix; a vector is one slice. Slices
// follow one another in the order of the file. What a slice's bytes are depends on nothing but the
// slice: any thread may make any of them, each with a maker of its own.
#ifndef KZ_EXPORTER_PASSES_SLICES_H
#define KZ_EXPORTER_PASSES_SLICES_H

#include "exporter/graph/graph.h"

typedef struct kz_slice {
    const kz_graph_weight *weight;
    uint64_t first, count; // rows; vectors: 0 and 1
    size_t bytes;
} kz_slice;

// Zeros but for the graph: before the first slice.
typedef struct kz_slice_cursor {
    const kz_graph *graph;
    size_t weight;
    uint64_t row;
} kz_slice_cursor;

// Bytes of all weights, of the largest slice, and the longest row in elements.
typedef struct kz_slice_sizes {
    uint64_t bytes_total;
    size_t largest_bytes, widest_columns;
} kz_slice_sizes;

// OUT_OF_MEMORY when a size overflows. The functions below are for weights that passed it.
KAZEIA_MUST_CHECK kazeia_status kz_slices_measure(const kz_graph *graph, kz_slice_sizes *out_sizes);
// The next slice of about a megabyte, at least one panel or row; false after the last.
bool kz_slice_next(kz_slice_cursor *cursor, kz_slice *out_slice);

// Work memory of one thread; zeros are an empty one.
typedef struct kz_slice_maker {
    float *floats, *reordered; // [columns]
    uint8_t *row_forms;        // [KZ_PANEL_ROWS] rows of `stride` bytes
    size_t stride;
} kz_slice_maker;

// Clear it also after a failure.
KAZEIA_MUST_CHECK kazeia_status kz_slice_maker_init(kz_slice_maker *maker, size_t widest_columns,
                                                    const kazeia_allocator *allocator);
void kz_slice_maker_clear(kz_slice_maker *maker, const kazeia_allocator *allocator);

// Writes slice->bytes bytes; `out_bytes` is aligned to KZ_ALIGNMENT. BAD_FILE when a tensor has too
// few rows, UNSUPPORTED when one holds values that its format cannot.
KAZEIA_MUST_CHECK kazeia_status kz_slice_make(kz_slice_maker *maker, const kz_slice *slice,
                                              uint8_t *out_bytes);
// Advice: the slice's rows will be read soon, or not again.
void kz_slice_advise(const kz_slice *slice, const kz_checkpoint *checkpoint, bool will_need);

#endif
