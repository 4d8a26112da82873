// commands.c: the table of commands.
//
// in:  a name
// out: the command, or the one whose name it may be a slip of
#include <stdint.h>
#include <string.h>

#include "cli.h"
#include "nearest.h"

const cli_command cli_commands[] = {
#ifdef CLI_HAS_EXPORT
    {"export", "SOURCE", 1, 1, "turn a checkpoint into a program file", cli_export},
#endif
    {"inspect", "FILE", 1, 1, "show what a program file holds and needs", cli_inspect},
    {"transcribe", "FILE...", 1, SIZE_MAX, "write down what is said in sound files",
     cli_transcribe},
    {"generate", "", 0, 0, "let a language model answer a prompt", cli_generate},
    {"chat", "", 0, 0, "talk with a language model in the terminal", cli_chat},
    {"tokenize", "", 0, 0, "turn texts on standard input into token ids, and back", cli_tokenize},
    {"template", "", 0, 0, "turn conversations on standard input into prompts", cli_template},
    {"say", "TEXT|-", 1, 1, "speak a text, or standard input, into a sound file", cli_say},
    {"spoken", "", 0, 0, "put texts on standard input in the words that a voice says", cli_spoken},
    {"sentences", "", 0, 0, "cut texts on standard input into sentences", cli_sentences},
    {"codec", "decode CODES.npy|encode WAV", 2, 2, "turn a voice's codes into sound, and back",
     cli_codec},
    {"voice", "make|vector WAV, list [FOLDER]", 1, 2,
     "clone a voice from a recording, or list voices", cli_voice},
    {"turn", "IN.wav...", 1, SIZE_MAX, "answer spoken sentences aloud: a whole conversation",
     cli_turn},
    {"commands", "check|match|test|hear|tune GRAMMAR [FILE...]", 2, SIZE_MAX,
     "try out voice commands: check, match and test a grammar", cli_commands_command},
    {"vad", "FILE", 1, 1, "find the stretches of a sound file in which somebody speaks", cli_vad},
    {"timers", "list|run", 1, 1, "show the timers that were asked for, or wait and ring",
     cli_timers},
    {"bench", "", 0, 0, "measure how fast a language model is here", cli_bench},
    {"eval", "", 0, 0, "measure how well a language model predicts, or write its logits", cli_eval},
    // Ends the table, whose length depends on the build.
    {NULL, NULL, 0, 0, NULL, NULL},
};

const cli_command *cli_command_find(const char *name) {
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

const char *cli_command_nearest(const char *name) {
    const char *nearest = "help";
    size_t least = cli_edit_distance(nearest, name);
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        const size_t distance = cli_edit_distance(command->name, name);
        if (distance < least) {
            least = distance;
            nearest = command->name;
        }
    }
    return cli_is_slip(least, nearest, name) ? nearest : NULL;
}
