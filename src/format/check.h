// check.h: is a description sound? Run on all that is read and on all that is about to be written.
//
// After it passes, the runtime may execute every method with any symbol values from 1 (0 for
// symbols whose maximum allows no less) to their maxima without a further bounds check, except that
// i32 inputs are compared with their limits at each call. It checks: tensor sizes against layouts
// and contexts, name uniqueness, value kinds, types and shapes of every operand (dimensions are
// equal as expressions), arena places within the arena at the symbols' maxima and aligned, states'
// sizes, attributes' ranges, outputs written, row tables' limits against states' rows, positions'
// limits against row tables' width, token limits against embedding rows, sequences' limits against
// the table's height (a symbol's maximum may stand there).
#ifndef KZ_FORMAT_CHECK_H
#define KZ_FORMAT_CHECK_H

#include "base/alloc.h"
#include "format/program.h"

KAZEIA_MUST_CHECK kazeia_status kz_check_description(const kz_program_description *description,
                                                     const kazeia_allocator *allocator);

#endif
