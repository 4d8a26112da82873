// status.h: the failure sentence and how it travels.
//
// A function that fails calls kz_fail once, where the values are known; callers pass the status up
// with KZ_TRY and may put a path or name in front with kz_fail_context. The sentence is
// thread-local, needs no heap and works before any object exists. Clean-up functions return void
// and never fail.
#ifndef KZ_BASE_STATUS_H
#define KZ_BASE_STATUS_H

#include <stdarg.h>

#include "kazeia/common.h"

// Longest sentence, its NUL included; a longer one is cut at a character border and ends in "...".
#define KZ_SENTENCE_BYTES 1024

// Returns `status` after it has set this thread's sentence. Arguments may point into the present
// sentence. Never allocates. Control characters and bytes that are
// not UTF-8 in the result are shown as '?', so that a hostile file cannot write to a terminal.
kazeia_status kz_fail(kazeia_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Puts "context: " in front of the present sentence, which is cut at its end where both are too
// long; returns `status`.
kazeia_status kz_fail_context(kazeia_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Puts "; advice" behind the present sentence: the next step, once, where it is known. A sentence
// that leaves no room stays as it is. Returns `status`.
kazeia_status kz_fail_advice(kazeia_status status, const char *advice);

// Returns from the calling function with any status but KAZEIA_OK, NEEDS_INPUT and DONE among them.
#define KZ_TRY(expression)                                 \
    do {                                                   \
        const kazeia_status kz_try_status_ = (expression); \
        if (kz_try_status_ != KAZEIA_OK) {                 \
            return kz_try_status_;                         \
        }                                                  \
    } while (0)

// The same for a function with clean-up: sets `status` and jumps to `done`.
#define KZ_TRY_DONE(status, expression) \
    do {                                \
        (status) = (expression);        \
        if ((status) != KAZEIA_OK) {    \
            goto done;                  \
        }                               \
    } while (0)

#endif
