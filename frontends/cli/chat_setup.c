// chat_setup.c: the settings of a conversation that the options ask for.
//
// in:  the options of generate, chat and turn; the files that they name
// out: settings for kazeia_chat_create
#include "chat_setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "numbers.h"

#define NUMBER_BYTES 32

static kazeia_status fail_bias(cli_run *run) {
    return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                    "--logit-bias is '%s'; expected up to %d of ID=X with ',' between them. See "
                    "'kazeia generate --help'.",
                    run->options.logit_bias, CLI_BIAS_LIMIT);
}

// The number that stands in [text, text + bytes).
static bool read_real(const char *text, size_t bytes, double *out_value) {
    char number[NUMBER_BYTES];
    if (bytes == 0 || bytes >= sizeof number) {
        return false;
    }
    memcpy(number, text, bytes);
    number[bytes] = '\0';
    if (strcmp(number, "-inf") == 0) {
        *out_value = -INFINITY;
        return true;
    }
    return cli_read_real(number, out_value);
}

static bool read_bias(const char *text, size_t bytes, kazeia_logit_bias *out_bias) {
    const char *equals = memchr(text, '=', bytes);
    double id = 0, value = 0;
    if (equals == NULL || !read_real(text, (size_t)(equals - text), &id) ||
        !read_real(equals + 1, bytes - (size_t)(equals + 1 - text), &value) || id < 0 ||
        id > INT32_MAX || id != floor(id)) {
        return false;
    }
    *out_bias = (kazeia_logit_bias){(int32_t)id, (float)value};
    return true;
}

static kazeia_status read_biases(cli_run *run, cli_chat_setup *setup) {
    kazeia_sampling *sampling = &setup->settings.sampling;
    const char *text = run->options.logit_bias;
    sampling->biases = setup->biases;
    while (text != NULL && *text != '\0') {
        const size_t bytes = strcspn(text, ",");
        if (sampling->bias_count == CLI_BIAS_LIMIT ||
            !read_bias(text, bytes, &setup->biases[sampling->bias_count])) {
            return fail_bias(run);
        }
        sampling->bias_count++;
        text += bytes + (text[bytes] == ',');
    }
    return KAZEIA_OK;
}

static kazeia_sampling sampling_of(const cli_options *options) {
    return (kazeia_sampling){
        .temperature = (float)options->temperature,
        .top_k = (uint32_t)options->top_k,
        .top_p = (float)options->top_p,
        .min_p = (float)options->min_p,
        .seed = options->seed,
        .repetition_penalty = (float)options->repetition_penalty,
        .frequency_penalty = (float)options->frequency_penalty,
        .presence_penalty = (float)options->presence_penalty,
        .penalty_window = (uint32_t)options->penalty_window,
    };
}

static kazeia_thinking thinking_of(const char *word) {
    if (word == NULL || strcmp(word, "default") == 0) {
        return KAZEIA_THINKING_DEFAULT;
    }
    return strcmp(word, "on") == 0 ? KAZEIA_THINKING_ON : KAZEIA_THINKING_OFF;
}

static bool is_drop(const char *word) {
    return word != NULL && strcmp(word, "drop") == 0;
}

// A file's whole text; nothing when there is no path.
static kazeia_status read_text(cli_run *run, const char *path, char **out_text) {
    size_t bytes = 0;
    if (path == NULL) {
        return KAZEIA_OK;
    }
    CLI_TRY(cli_read_file(path, out_text, &bytes, &run->failure));
    return strlen(*out_text) == bytes
               ? KAZEIA_OK
               : cli_fail(&run->failure, KAZEIA_BAD_FILE, "%s: it is no text: a byte is 0", path);
}

static kazeia_status read_texts(cli_run *run, cli_chat_setup *setup) {
    const cli_options *options = &run->options;
    CLI_TRY(cli_options_refuse_both(options, "--grammar", "--json-schema", &run->failure));
    CLI_TRY(read_text(run, options->tools, &setup->tools));
    CLI_TRY(read_text(run, options->grammar, &setup->grammar));
    CLI_TRY(read_text(run, options->json_schema, &setup->json_schema));
    setup->settings.tools = setup->tools;
    setup->settings.grammar = setup->grammar;
    setup->settings.json_schema = setup->json_schema;
    return KAZEIA_OK;
}

kazeia_status cli_chat_setup_read(cli_run *run, cli_chat_setup *out_setup) {
    const cli_options *options = &run->options;
    *out_setup = (cli_chat_setup){.settings = kazeia_chat_settings_default()};
    kazeia_chat_settings *settings = &out_setup->settings;
    settings->system = options->system;
    settings->is_raw = options->is_raw || options->ids != NULL;
    settings->max_tokens = (uint32_t)options->max_tokens;
    settings->sampling = sampling_of(options);
    settings->stop_strings = options->stops.items;
    settings->stop_string_count = options->stops.count;
    settings->ignores_stop_tokens = options->ignores_stop;
    settings->prompt_lookup = (uint32_t)options->prompt_lookup;
    settings->thinking = thinking_of(options->thinking);
    settings->overflow = is_drop(options->overflow) ? KAZEIA_OVERFLOW_DROP : KAZEIA_OVERFLOW_REFUSE;
    settings->reserve_tokens = (uint32_t)options->reserve;
    CLI_TRY(read_biases(run, out_setup));
    return read_texts(run, out_setup);
}

void cli_chat_setup_clear(cli_chat_setup *setup) {
    free(setup->tools);
    free(setup->grammar);
    free(setup->json_schema);
    *setup = (cli_chat_setup){0};
}
