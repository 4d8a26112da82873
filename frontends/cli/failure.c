// failure.c: the sentence that explains a failure.
//
// in:  formats and what fills them
// out: a sentence of bounded length; the end of a longer one is cut off
//
// The first sentence stays: what goes wrong while cleaning up after a failure explains nothing.
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A name from outside may hold line ends and escape codes: a terminal must not obey them.
static void show_controls(char *text) {
    for (unsigned char *byte = (unsigned char *)text; *byte != '\0'; byte++) {
        if (*byte < 0x20 || *byte == 0x7f) {
            *byte = '?';
        }
    }
}

kazeia_status cli_fail(cli_sentence *out_sentence, kazeia_status status, const char *format, ...) {
    if (out_sentence->text[0] == '\0') {
        va_list values;
        va_start(values, format);
        (void)vsnprintf(out_sentence->text, sizeof out_sentence->text, format, values);
        va_end(values);
        show_controls(out_sentence->text);
    }
    return status;
}

void cli_fail_more(cli_sentence *sentence, const char *format, ...) {
    // Behind a full sentence there is room for the NUL alone, which vsnprintf respects.
    const size_t length = strlen(sentence->text);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(sentence->text + length, sizeof sentence->text - length, format, values);
    va_end(values);
    show_controls(sentence->text + length);
}
