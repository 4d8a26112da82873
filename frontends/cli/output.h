// output.h: what the program says, as text or as JSON lines.
//
// in:  texts and JSON objects
// out: standard output, flushed piece by piece; failures where the mode wants them
//
// All return KAZEIA_OK, KAZEIA_DONE when nobody reads any more (a closed pipe: stop, quietly), or
// KAZEIA_IO with a sentence.
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>

#include "failure.h"

kazeia_status cli_print_bytes(const char *text, size_t bytes, cli_sentence *out_sentence);
kazeia_status cli_print(cli_sentence *out_sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// One line. Takes the reference; NULL says that memory ran out while it was made.
kazeia_status cli_print_json(json_t *value, cli_sentence *out_sentence);
// Tells of a failure: {"error"} (with "file" unless it is NULL) or a sentence on standard error.
void cli_report(bool is_json, const char *command, const char *file, const char *sentence);

// Bytes as a JSON string; what is not UTF-8 becomes U+FFFD.
json_t *cli_json_text(const char *text, size_t bytes);
// null when there is no such text.
json_t *cli_json_string(const char *text);
// null for what JSON has no number for.
json_t *cli_json_real(double value);
json_t *cli_json_ids(const int32_t *ids, size_t count);

#endif
