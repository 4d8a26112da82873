// check_parts.h: the parts of kz_check_description, one file each.
//
// All fail with BAD_FILE and a sentence that names the part, what was found and what was expected.
// The caller puts the place (method, instruction) in front.
#ifndef KZ_FORMAT_CHECK_PARTS_H
#define KZ_FORMAT_CHECK_PARTS_H

#include "base/alloc.h"
#include "format/program.h"

// --- check_names.c ---

// A name is 1 to 255 bytes of UTF-8 without control characters. `what` is as "tensor".
KAZEIA_MUST_CHECK kazeia_status kz_check_name(const char *name, const char *what);
// Text may be any length and hold tabs and line ends.
KAZEIA_MUST_CHECK kazeia_status kz_check_text(const char *text, const char *what);
// Names of `count` records, `stride` bytes apart, whose first member is the name: each sound, and
// no two alike.
KAZEIA_MUST_CHECK kazeia_status kz_check_names(const void *records, size_t count, size_t stride,
                                               const char *what, const kazeia_allocator *allocator);
// The same for a list, which is sorted in place.
KAZEIA_MUST_CHECK kazeia_status kz_check_name_list(const char **names, size_t count,
                                                   const char *what);

// --- check_tables.c ---

// One table each, whole: names, types, extents, sizes (the list in format/check.h).
KAZEIA_MUST_CHECK kazeia_status kz_check_metadata(const kz_program_description *description,
                                                  const kazeia_allocator *allocator);
KAZEIA_MUST_CHECK kazeia_status kz_check_tensors(const kz_program_description *description,
                                                 const kazeia_allocator *allocator);
KAZEIA_MUST_CHECK kazeia_status kz_check_states(const kz_program_description *description,
                                                const kazeia_allocator *allocator);

// --- check_texts.c ---
// The tokenizer section against the metadata 'tokenizer.tokens' and 'model.vocabulary'.
KAZEIA_MUST_CHECK kazeia_status kz_check_tokenizer(const kz_program_description *description);

// --- check_values.c ---

// Symbols, values, inputs and outputs of a method.
KAZEIA_MUST_CHECK kazeia_status kz_check_values(const kz_program_description *description,
                                                const kz_method *method,
                                                const kazeia_allocator *allocator);
const char *kz_value_kind_name(kz_value_kind kind);
// The value whose memory `value` is: its parent for a view, else itself.
uint32_t kz_value_root(const kz_method *method, uint32_t value);

// --- check_ops.c, check_ops_cache.c, check_ops_signal.c ---

// One instruction of a method, for the rules of its op.
typedef struct kz_check_site {
    const kz_program_description *description;
    const kz_method *method;
    const kz_instruction *instruction;
    const kz_op_shape *shape;
} kz_check_site;

// Types, shapes and attributes of one instruction whose operands are values of the method.
KAZEIA_MUST_CHECK kazeia_status kz_check_op(const kz_check_site *site);

// Rules of the ops on states, in a file of their own.
KAZEIA_MUST_CHECK kazeia_status kz_check_rope(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_cache_write(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_attention(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_attention_full(const kz_check_site *site);
// Rules of the ops that see a signal along its rows, likewise.
KAZEIA_MUST_CHECK kazeia_status kz_check_unfold(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_map(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_mul(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_snake(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_join_tail(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_fold(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_depthwise(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_gather(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_lstm(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_column_norm(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_scale_shift(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_column_pool(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_column_softmax(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_copy(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_pad(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_magnitude(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_convolve(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_polar(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_sines(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_column_fit(const kz_check_site *site);
KAZEIA_MUST_CHECK kazeia_status kz_check_adapt(const kz_check_site *site);

// --- check_operands.c: what rules are made of; `i` is an operand, `k` an attribute ---

// The value that operand `i` names, which must be there.
const kz_value *kz_operand(const kz_check_site *site, uint32_t i);
// "operand 2 (view f32 of rank 2): EXPECTED expected".
KAZEIA_MUST_CHECK kazeia_status kz_operand_fail(const kz_check_site *site, uint32_t i,
                                                const char *expected);
// [rows][columns] with constant columns, f32 or, with `may_be_a8`, also KZ_A8. Not a weight.
KAZEIA_MUST_CHECK kazeia_status kz_expect_rows(const kz_check_site *site, uint32_t i,
                                               bool may_be_a8, uint32_t *out_columns);
// Rows with these columns and as many of them as operand `like`.
KAZEIA_MUST_CHECK kazeia_status kz_expect_rows_like(const kz_check_site *site, uint32_t i,
                                                    bool may_be_a8, uint32_t like,
                                                    uint32_t columns);
// i32 input [rows of operand `like`].
KAZEIA_MUST_CHECK kazeia_status kz_expect_tokens(const kz_check_site *site, uint32_t i,
                                                 uint32_t like);
// f32 weight [length] in rows.
KAZEIA_MUST_CHECK kazeia_status kz_expect_vector(const kz_check_site *site, uint32_t i,
                                                 uint32_t length);
// Weight [rows][columns] in `layout`.
KAZEIA_MUST_CHECK kazeia_status kz_expect_matrix(const kz_check_site *site, uint32_t i,
                                                 kz_layout layout, const kz_tensor **out_tensor);
KAZEIA_MUST_CHECK kazeia_status kz_expect_state(const kz_check_site *site, uint32_t i,
                                                const kz_state **out_state);
// The attribute lies within [least, greatest]; `name` is for the sentence.
KAZEIA_MUST_CHECK kazeia_status kz_expect_int(const kz_check_site *site, uint32_t k,
                                              const char *name, int32_t least, int32_t greatest);
// Finite and >= least.
KAZEIA_MUST_CHECK kazeia_status kz_expect_float(const kz_check_site *site, uint32_t k,
                                                const char *name, float least);

#endif
