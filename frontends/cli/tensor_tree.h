// tensor_tree.h: the tensors of a program as a tree, for people.
//
// in:  the list "tensors" of a description
// out: a line each on standard output; those of equal layers on one line with their number
#ifndef CLI_TENSOR_TREE_H
#define CLI_TENSOR_TREE_H

#include <jansson.h>

#include "cli.h"

// With `is_whole` every tensor has its own line.
kazeia_status cli_print_tensor_tree(cli_run *run, const json_t *tensors, bool is_whole);
// As "1.5 GB": thousands and not 1024, as disks and file managers count.
kazeia_status cli_print_size(cli_run *run, double bytes);

#endif
