// description.c: what a program says about itself, as JSON.
//
// in:  an opened program
// out: kazeia_program_describe's object, parsed
#include "description.h"

#include <stdlib.h>
#include <string.h>

typedef struct collected {
    char *text;
    size_t bytes, capacity;
} collected;

static kazeia_status collect(void *context, const char *text, size_t bytes) {
    collected *whole = context;
    if (whole->bytes + bytes > whole->capacity) {
        const size_t capacity = (whole->bytes + bytes) * 2;
        char *larger = realloc(whole->text, capacity);
        if (larger == NULL) {
            return KAZEIA_OUT_OF_MEMORY;
        }
        whole->text = larger;
        whole->capacity = capacity;
    }
    memcpy(whole->text + whole->bytes, text, bytes);
    whole->bytes += bytes;
    return KAZEIA_OK;
}

kazeia_status cli_describe(cli_run *run, const kazeia_program *program, json_t **out_description) {
    collected whole = {0};
    // For a failure that jansson itself does not explain.
    json_error_t error = {.text = "out of memory"};
    kazeia_status status = cli_checked(run, kazeia_program_describe(program, collect, &whole));
    if (status == KAZEIA_OK) {
        // A tensor's name may hold an escaped NUL: the file is shown as it is.
        *out_description = json_loadb(whole.text, whole.bytes, JSON_ALLOW_NUL, &error);
        if (*out_description == NULL) {
            status = cli_fail(&run->failure, KAZEIA_BAD_FILE,
                              "the program's description is no JSON: %s", error.text);
        }
    }
    free(whole.text);
    return status;
}

// Sizes of tensors are below 2^53, where a double is exact.
double cli_element_count(const json_t *shape) {
    double count = 1;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        count *= json_number_value(json_array_get(shape, i));
    }
    return count;
}
