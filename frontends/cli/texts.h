// texts.h: a model's texts (tokenizer, chat template), whatever the model comes as.
//
// in:  MODEL: a program or a checkpoint, as a path or as a name in the folder of models
// out: a program; a checkpoint's is made in memory, without weights
#ifndef CLI_TEXTS_H
#define CLI_TEXTS_H

#include "cli.h"
#include "kazeia/program.h"

typedef struct cli_texts {
    kazeia_program *program;
    void *image; // of a program in memory; else NULL
} cli_texts;

// Which of a checkpoint's texts are wanted.
typedef enum cli_texts_part {
    CLI_TEXTS_TOKENIZER,
    CLI_TEXTS_TEMPLATE,
} cli_texts_part;

// NOT_FOUND when MODEL is none of these: a caller may then know it as something else. Close also
// after a failure.
kazeia_status cli_texts_open(cli_run *run, const char *model, cli_texts_part part,
                             cli_texts *out_texts);
// All that was made of the program must be gone.
void cli_texts_close(cli_texts *texts);

#endif
