// description.h: what a program says about itself, as JSON.
//
// in:  an opened program
// out: kazeia_program_describe's object, parsed
#ifndef CLI_DESCRIPTION_H
#define CLI_DESCRIPTION_H

#include <jansson.h>

#include "cli.h"
#include "kazeia/program.h"

// Release *out_description with json_decref.
kazeia_status cli_describe(cli_run *run, const kazeia_program *program, json_t **out_description);
// The product of a tensor's shape.
double cli_element_count(const json_t *shape);

#endif
