// id_lists.h: lists of token ids from a JSON file.
//
// in:  [1, 2], [[1, 2], [3]], or {"any name": [1, 2], ...}
// out: the lists in the order of the file
#ifndef CLI_ID_LISTS_H
#define CLI_ID_LISTS_H

#include <stdint.h>

#include "failure.h"

typedef struct cli_id_list {
    int32_t *ids; // [count], of at least 1
    size_t count;
} cli_id_list;

typedef struct cli_id_lists {
    cli_id_list *lists; // [count], of at least 1
    size_t count;
    size_t id_count; // of all lists
} cli_id_lists;

// BAD_ARGUMENT for another value, for an empty list, for what is no id. Clear in any case.
kazeia_status cli_id_lists_read(const char *path, cli_id_lists *out_lists,
                                cli_sentence *out_sentence);
// Keeps the one list that has `count` ids; false, and all stay, when none or several have.
bool cli_id_lists_keep(cli_id_lists *lists, size_t count);
void cli_id_lists_clear(cli_id_lists *lists);

#endif
