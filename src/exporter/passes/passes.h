// passes.h: what happens to a graph between the model definition and the file, in this order.
//
//   in   a graph without failure, its weights still in the checkpoint
//   out  the same graph with types, A8 activations and an arena plan; then the weights' bytes
//
// A pass that fails leaves the graph half changed: it can only be cleared.
#ifndef KZ_EXPORTER_PASSES_PASSES_H
#define KZ_EXPORTER_PASSES_PASSES_H

#include "exporter/graph/graph.h"
#include "format/writer.h"

// What the user asked of the weights. Vectors stay f32 whatever is asked: they are small, and all
// that they touch is computed in f32.
typedef struct kz_format_choice {
    bool keeps;              // the source's own formats
    kz_type type;            // otherwise: of every matrix
    const char *recipe;      // text of a recipe ("PATTERN = FORMAT" lines), or NULL
    const char *recipe_path; // for sentences
} kz_format_choice;

// Sets every weight's type. A recipe line overrides the choice for the matrices whose name its
// pattern matches ('*' and '?'); the last matching line wins; a pattern that matches nothing and an
// unknown format are refused with the line's number: BAD_ARGUMENT, as for a format whose blocks do
// not divide the columns. UNSUPPORTED for a source's own format that has no tile.
KAZEIA_MUST_CHECK kazeia_status kz_pass_formats(kz_graph *graph, const kz_format_choice *choice);

// Gives LINEARs with quantised weights their KZ_A8 activations, KZ_A16 where the graph asks for
// fine ones: the producer writes them where it can, else a QUANTISE is put in.
KAZEIA_MUST_CHECK kazeia_status kz_pass_quantise(kz_graph *graph);

// Places every arena value of every method by its live range, at the symbols' maxima: largest
// first, each at the lowest place that nothing alive at the same time takes. Sets arena_bytes.
KAZEIA_MUST_CHECK kazeia_status kz_pass_plan_memory(kz_graph *graph);

// Weight bytes written and in all, the weight at work: kazeia_export_progress.
typedef kazeia_status (*kz_pack_progress)(void *context, uint64_t bytes_done, uint64_t bytes_total,
                                          const char *tensor);
#define KZ_PACK_THREAD_LIMIT 64u
typedef struct kz_pack_settings {
    uint32_t thread_count;     // the caller's among them; 0: one for each core, at most 64
    kz_pack_progress progress; // on the caller's thread, or NULL
    void *progress_context;
} kz_pack_settings;
// Streams all weights into the writer, slice by slice, and calls `progress` after each; its failure
// ends the pass. The bytes do not depend on the number of threads, and memory does not grow with
// the checkpoint. BAD_FILE when a tensor has too few rows, UNSUPPORTED when one holds values that
// its format cannot (infinite ones, say).
KAZEIA_MUST_CHECK kazeia_status kz_pass_pack(kz_graph *graph, const kz_checkpoint *checkpoint,
                                             kz_program_writer *writer,
                                             const kz_pack_settings *settings);

#endif
