// voice_file.c: a cloned voice as a file.
//
// in:  numbers, or a file
// out: a file, or numbers
#include "voice_file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "description.h"
#include "input.h"
#include "new_file.h"

#define VERSION 1
#define NUMBER_LIMIT ((size_t)1 << 24)

kazeia_status cli_program_id(cli_run *run, const kazeia_program *program,
                             char out_id[CLI_PROGRAM_ID_BYTES]) {
    json_t *description = NULL;
    CLI_TRY(cli_describe(run, program, &description));
    const char *id = json_string_value(json_object_get(description, "id"));
    (void)snprintf(out_id, CLI_PROGRAM_ID_BYTES, "%s", id == NULL ? "" : id);
    json_decref(description);
    return KAZEIA_OK;
}

static json_t *json_of(const cli_array *array) {
    json_t *list = json_array();
    for (size_t i = 0; i < array->rows * array->columns; i++) {
        const char *value = (const char *)array->values + 4 * i;
        float real;
        int32_t integer;
        memcpy(&real, value, 4);
        memcpy(&integer, value, 4);
        (void)json_array_append_new(list, array->is_integer ? json_integer(integer)
                                                            : json_real((double)real));
    }
    return list;
}

kazeia_status cli_voice_file_write(const cli_voice_file *file, const char *path,
                                   cli_sentence *out_sentence) {
    json_t *root =
        json_pack("{s:i, s:s, s:o, s:o, s:I, s:s*}", "kazeia_voice", VERSION, "program",
                  file->program, "vector", json_of(&file->vector), "codes", json_of(&file->codes),
                  "groups", (json_int_t)file->codes.columns, "text", file->text);
    // Nine digits give a float32 back.
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    if (text == NULL) {
        return cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY, "no memory for '%s'", path);
    }
    cli_new_file out;
    kazeia_status status = cli_new_file_open(path, &out, out_sentence);
    if (status == KAZEIA_OK) {
        status = cli_new_file_write(&out, text, strlen(text), out_sentence);
        if (status == KAZEIA_OK) {
            status = cli_new_file_commit(&out, out_sentence);
        } else {
            cli_new_file_drop(&out);
        }
    }
    free(text);
    return status;
}

static bool take_numbers(const json_t *list, size_t columns, cli_array *array,
                         cli_sentence *out_sentence) {
    const size_t count = json_array_size(list);
    array->columns = 1;
    if (!json_is_array(list) || count > NUMBER_LIMIT || columns == 0 || count % columns != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);
        const float real = (float)json_number_value(number);
        const int32_t integer = (int32_t)json_integer_value(number);
        if (!json_is_number(number) ||
            cli_array_append(array, array->is_integer ? (const void *)&integer : &real, 1, 1,
                             out_sentence) != KAZEIA_OK) {
            return false;
        }
    }
    array->rows = count / columns;
    array->columns = columns;
    return true;
}

static bool read_root(const json_t *root, cli_voice_file *file, cli_sentence *out_sentence) {
    const char *program = json_string_value(json_object_get(root, "program"));
    const char *text = json_string_value(json_object_get(root, "text"));
    const json_int_t groups = json_integer_value(json_object_get(root, "groups"));
    if (json_integer_value(json_object_get(root, "kazeia_voice")) != VERSION || program == NULL ||
        strlen(program) >= sizeof file->program || groups < 0 || groups > 64) {
        return false;
    }
    memcpy(file->program, program, strlen(program) + 1);
    file->codes.is_integer = true;
    file->text = text == NULL ? NULL : strdup(text);
    return take_numbers(json_object_get(root, "vector"), 1, &file->vector, out_sentence) &&
           take_numbers(json_object_get(root, "codes"), groups > 0 ? (size_t)groups : 1,
                        &file->codes, out_sentence);
}

kazeia_status cli_voice_file_read(const char *path, cli_voice_file *out_file,
                                  cli_sentence *out_sentence) {
    char *text = NULL;
    size_t bytes = 0;
    *out_file = (cli_voice_file){.text = NULL};
    CLI_TRY(cli_read_file(path, &text, &bytes, out_sentence));
    json_t *root = json_loadb(text, bytes, 0, NULL);
    free(text);
    const bool is_voice = read_root(root, out_file, out_sentence);
    json_decref(root);
    return is_voice ? KAZEIA_OK
                    : cli_fail(out_sentence, KAZEIA_BAD_FILE,
                               "'%s' is no voice file; 'kazeia voice make' writes one", path);
}

void cli_voice_file_clear(cli_voice_file *file) {
    cli_array_clear(&file->vector);
    cli_array_clear(&file->codes);
    free(file->text);
    file->text = NULL;
}
