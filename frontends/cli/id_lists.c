// id_lists.c: lists of token ids from a JSON file.
//
// in:  [1, 2], [[1, 2], [3]], or {"any name": [1, 2], ...}
// out: the lists in the order of the file
#include "id_lists.h"

#include <jansson.h>
#include <stdlib.h>

#include "input.h"

static kazeia_status add_list(const json_t *array, const char *path, cli_id_lists *lists,
                              cli_sentence *out_sentence) {
    cli_id_list *list = &lists->lists[lists->count];
    CLI_TRY(cli_ids_of_json(array, path, &list->ids, &list->count, out_sentence));
    lists->count++;
    lists->id_count += list->count;
    return list->count > 0
               ? KAZEIA_OK
               : cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                          "%s: an empty array found; expected at least one token id", path);
}

static kazeia_status allocate(size_t count, const char *path, cli_id_lists *lists,
                              cli_sentence *out_sentence) {
    lists->lists = calloc(count + 1, sizeof *lists->lists);
    return lists->lists != NULL ? KAZEIA_OK
                                : cli_fail(out_sentence, KAZEIA_OUT_OF_MEMORY,
                                           "%s: no memory for %zu lists", path, count);
}

static kazeia_status add_named(json_t *object, const char *path, cli_id_lists *lists,
                               cli_sentence *out_sentence) {
    const char *name = NULL;
    json_t *array = NULL;
    CLI_TRY(allocate(json_object_size(object), path, lists, out_sentence));
    json_object_foreach(object, name, array) {
        CLI_TRY(add_list(array, path, lists, out_sentence));
    }
    return KAZEIA_OK;
}

static kazeia_status add_all(json_t *value, const char *path, cli_id_lists *lists,
                             cli_sentence *out_sentence) {
    if (json_is_object(value) && json_object_size(value) > 0) {
        return add_named(value, path, lists, out_sentence);
    }
    CLI_TRY(allocate(json_array_size(value), path, lists, out_sentence));
    // One list of ids, unless its first element is a list itself.
    if (!json_is_array(json_array_get(value, 0))) {
        return add_list(value, path, lists, out_sentence);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        CLI_TRY(add_list(json_array_get(value, i), path, lists, out_sentence));
    }
    return KAZEIA_OK;
}

kazeia_status cli_id_lists_read(const char *path, cli_id_lists *out_lists,
                                cli_sentence *out_sentence) {
    char *text = NULL;
    size_t bytes = 0;
    json_error_t error;
    *out_lists = (cli_id_lists){0};
    CLI_TRY(cli_read_file(path, &text, &bytes, out_sentence));
    json_t *value = json_loadb(text, bytes, JSON_DECODE_ANY, &error);
    free(text);
    if (value == NULL) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "%s: %s found; expected a JSON array of ids, as [1, 2, 3], or several",
                        path, error.text);
    }
    const kazeia_status status = add_all(value, path, out_lists, out_sentence);
    json_decref(value);
    return status;
}

bool cli_id_lists_keep(cli_id_lists *lists, size_t count) {
    size_t found = 0, fitting = 0;
    for (size_t i = 0; i < lists->count; i++) {
        if (lists->lists[i].count == count) {
            found = i;
            fitting++;
        }
    }
    if (fitting != 1) {
        return false;
    }
    const cli_id_list kept = lists->lists[found];
    lists->lists[found] = lists->lists[0];
    lists->lists[0] = kept;
    for (size_t i = 1; i < lists->count; i++) {
        free(lists->lists[i].ids);
    }
    lists->count = 1;
    lists->id_count = count;
    return true;
}

void cli_id_lists_clear(cli_id_lists *lists) {
    for (size_t i = 0; i < lists->count; i++) {
        free(lists->lists[i].ids);
    }
    free(lists->lists);
    *lists = (cli_id_lists){0};
}
