// options.h: the command line as values.
//
// in:  the arguments behind the command's name; docs/options through option_rows.h
// out: one struct with every option's value, and what stands between the options
//
// One struct serves all commands: an option means the same wherever it is taken, and a command
// reads only its own.
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "failure.h"
#include "option_rows.h"

// The values of an option that may be repeated.
typedef struct cli_repeated {
    const char *items[16];
    size_t count;
} cli_repeated;
#define CLI_REPEATED_LIMIT (sizeof((cli_repeated *)NULL)->items / sizeof(char *))

typedef struct cli_options {
    bool is_help, is_json;
    // Numbers without a value of their own are 0, texts NULL.
    const char *output, *mode, *weights, *recipe, *voices, *kv, *chat_template;
    const char *model, *stt, *llm, *vad, *audio_context, *voice, *language, *commands, *timeline;
    const char *home, *fixtures, *timers, *on_command, *tuned;
    const char *prompt, *system, *perplexity, *logits, *against;
    const char *grammar, *json_schema; // files
    const char *ids, *tools, *thinking, *overflow, *logit_bias;
    cli_repeated stops;
    bool ignores_stop, shows_spoken;
    bool is_raw, has_no_guards, is_special, is_decoding, is_union, is_verifying, is_every_tensor,
        has_times;
    uint64_t threads, memory_limit, context, activations, shards, max_tokens, top_k, seed;
    uint64_t prefill, decode, depth, repeat;
    uint64_t penalty_window, prompt_lookup, reserve;
    double temperature, top_p, min_p, speed;
    double repetition_penalty, frequency_penalty, presence_penalty;
    char **arguments; // what is no option, in order
    size_t argument_count;
    uint64_t given[2]; // a bit for each row of the parser's table: stood on the line
    const char *dump, *instruct, *voice_vector, *ref_codes, *ref_text, *clone, *text;
    bool is_greedy, is_whole, is_streamed;
    uint64_t max_frames, chunk;
} cli_options;

// Reads a command's arguments. They are reordered: out_options->arguments points into them. The
// sentence of a failure names the argument and the next step. Stops at --help.
kazeia_status cli_options_read(const char *command, size_t count, char **arguments,
                               cli_options *out_options, cli_sentence *out_sentence);
// Whether an option stood on the line; its name with dashes.
bool cli_option_is_given(const cli_options *options, const char *name);
// Fails when both options stood on the line.
kazeia_status cli_options_refuse_both(const cli_options *options, const char *one,
                                      const char *other, cli_sentence *out_sentence);
// True when --json is among the arguments: how to report that they cannot be read.
bool cli_options_want_json(size_t count, char **arguments);
// The row of an option that a command takes, by its long or short name; or NULL.
const cli_option_row *cli_option_find(const char *command, const char *name, size_t length);

#endif
