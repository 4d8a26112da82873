// failure.h: the sentence that explains a failure, and how a status travels up.
//
// in:  a status and what to say
// out: the same status, the sentence kept for whoever reports it
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "kazeia/common.h"

// The first failure's sentence; "" while nothing has failed. What, where, found, expected, and the
// next step.
typedef struct cli_sentence {
    char text[4096];
} cli_sentence;

// Keeps the sentence unless there is one already, and returns `status`.
kazeia_status cli_fail(cli_sentence *out_sentence, kazeia_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Puts more words, the next step say, behind the sentence.
void cli_fail_more(cli_sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Returns from the calling function with any status that is not KAZEIA_OK.
#define CLI_TRY(expression)                                \
    do {                                                   \
        const kazeia_status cli_try_status = (expression); \
        if (cli_try_status != KAZEIA_OK) {                 \
            return cli_try_status;                         \
        }                                                  \
    } while (0)

#endif
