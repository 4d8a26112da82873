// check.h: is a description sound? Run on all that is read and on all that is about to be written.
//
// After it passes, the runtime may execute every method with any symbol values from 0 to their
// maxima without a further bounds check, except that i32 inputs are compared with their limits at
// each call (kz_input_limit of format/program.h, which also knows a row table that a symbol makes
// smaller).
//
// What is checked:
//   names       UTF-8 without control characters, 1 to 255 bytes, each once (a method's inputs and
//               outputs together); metadata strings may be long and hold tabs and line ends
//   tokenizer   as many tokens as the metadata 'tokenizer.tokens' says, not more than
//               'model.vocabulary'
//   tensors     type, layout, extents; bytes are those of the layout; place within the context
//   states      type, extents, size; i8 heads are a multiple of 4, so that their scales are aligned
//   symbols     maxima from 1 to 2^20
//   values      dimensions >= 0 for all symbol values; arena places aligned and within the arena at
//               the greatest dimensions; views within their parent's columns; inputs and outputs
//               are listed once each
//   operands    kinds, types, shapes (dimensions equal as expressions); attributes within ranges;
//               what a thread's scratch or a context's tables must hold (a8 columns, query heads of
//               a kv head, inverse frequency tensors of all methods together)
//   indices     token limits against embedding rows, an index's limit against the rows gathered,
//   row tables' limits against states' rows,
//               sequences' and positions' limits against the row table (its maxima)
//   order       what is read was written by an earlier instruction; every output is written
//   memory      what an instruction writes is arena or output and apart from what it reads. The
//               exceptions: ADD and MUL may write over either operand, LINEAR over its residual,
//               MAP, SCALE_SHIFT, COLUMN_NORM and COLUMN_SOFTMAX over x, and ROPE works in place
// Arena values may share memory otherwise: the exporter's planner answers for their life spans.
// That can make results wrong, but never reads or writes outside the arena.
#ifndef KZ_FORMAT_CHECK_H
#define KZ_FORMAT_CHECK_H

#include "base/alloc.h"
#include "format/program.h"

// Fails with BAD_FILE, UNSUPPORTED (an unknown op) or OUT_OF_MEMORY. Takes scratch for names and
// marks, at most 8 bytes a record, and gives it back.
KAZEIA_MUST_CHECK kazeia_status kz_check_description(const kz_program_description *description,
                                                     const kazeia_allocator *allocator);

#endif
