// model_path.h: where the program file is that a person means by MODEL.
#ifndef CLI_MODEL_PATH_H
#define CLI_MODEL_PATH_H

#include <limits.h>

#include "failure.h"

typedef struct cli_model_path {
    char text[PATH_MAX];
} cli_model_path;

// The folder of models: $KAZEIA_MODELS, else ~/.cache/kazeia.
kazeia_status cli_models_folder(cli_model_path *out_folder, cli_sentence *out_sentence);
// MODEL is a path, or the name of NAME.kzp in the folder of models. The sentence of a failure lists
// what is there, and says how to make what is not.
kazeia_status cli_model_path_find(const char *model, cli_model_path *out_path,
                                  cli_sentence *out_sentence);

#endif
