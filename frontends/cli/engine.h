// engine.h: opening what a command computes with, and driving its stages.
//
// in:  the options --model, --threads, --memory-limit
// out: a runtime, a program, a stage; pieces of a stage's output
#ifndef CLI_ENGINE_H
#define CLI_ENGINE_H

#include "cli.h"
#include "kazeia/chat.h"
#include "kazeia/listen.h"
#include "kazeia/program.h"
#include "model_path.h"

kazeia_status cli_runtime_open(cli_run *run, kazeia_runtime **out_runtime);
// Opens MODEL. `ability` is what it must be able to do ("chat", "listen"), or NULL for anything.
kazeia_status cli_program_open(cli_run *run, const char *model, const char *ability,
                               kazeia_program **out_program);

// Whether the folder of models has a program of that name, which a command uses when none is named.
// Only there: a file here that has the name by chance was not asked for.
bool cli_usual_program(const char *name, cli_model_path *out_path);

// The program that tells speech from silence: that of --vad, else "silero-vad" where the folder of
// models has it and the guards are on, else NULL; "none" is NULL, too.
kazeia_status cli_vad_open(cli_run *run, kazeia_program **out_program);

// The usual ones, with --language and --audio-context.
kazeia_listen_settings cli_listen_settings(const cli_run *run);

// A language model, ready to answer.
typedef struct cli_talker {
    kazeia_runtime *runtime;
    kazeia_program *program;
    kazeia_stage *stage;
    double load_ms; // from the file's name to a stage that can be fed
} cli_talker;

// After a failure it holds what was opened before it: close in any case.
kazeia_status cli_talker_open(cli_run *run, const kazeia_chat_settings *settings,
                              cli_talker *out_talker);
void cli_talker_close(cli_talker *talker);

// How a stage is driven: what it writes goes to `take` piece by piece, a piece of at most
// `capacity` elements in `out`. KAZEIA_DONE from `take` says that nobody wants the rest: driving
// then ends well.
typedef struct cli_drive {
    kazeia_stage *stage;
    size_t element_bytes; // of the input
    void *out;
    size_t capacity;
    kazeia_status (*take)(void *context, const void *out, size_t count);
    void *context;
    bool takes_nothing; // `take` is also called when a piece of work gave no element
} cli_drive;

// Feeds all of `in` and takes what comes meanwhile.
kazeia_status cli_drive_feed(cli_run *run, const cli_drive *drive, const void *in, size_t count);
// Takes what can be had without more input.
kazeia_status cli_drive_drain(cli_run *run, const cli_drive *drive);
// Ends the input and takes the rest.
kazeia_status cli_drive_finish(cli_run *run, const cli_drive *drive);

// To be given to cli_interrupt_enter with a stage.
void cli_cancel_stage(void *stage);

#endif
