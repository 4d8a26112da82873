// options.c: the command line as values.
//
// in:  the arguments behind the command's name; docs/options through option_rows.h
// out: one struct with every option's value, and what stands between the options
//
// A value that begins like one of the command's options is refused ("--prompt --json" is nearly
// always a forgotten value); "--prompt=--json" is the way to mean it.
#include "options.h"

#include <string.h>

#include "nearest.h"
#include "numbers.h"

typedef enum option_kind {
    KIND_SWITCH,
    KIND_TEXT, // may be empty
    KIND_NAME, // may not
    KIND_CHOICE,
    KIND_WHOLE,
    KIND_BYTES,
    KIND_REAL,
    KIND_TEXTS, // may be repeated; none may be empty
} option_kind;

typedef struct option_binding {
    const char *name;
    option_kind kind;
    size_t offset;        // of the value in cli_options
    uint64_t least, most; // of a whole number
    double low, high;     // of a real one
} option_binding;

typedef struct option_reader {
    const char *command;
    cli_options *options;
    cli_sentence *sentence;
} option_reader;

// An option that is a switch for one command and a number for another has two rows.
#define SWITCH(name, field) \
    { name, KIND_SWITCH, offsetof(cli_options, field), 0, 0, 0, 0 }
#define TEXT(name, field) \
    { name, KIND_TEXT, offsetof(cli_options, field), 0, 0, 0, 0 }
#define NAME(name, field) \
    { name, KIND_NAME, offsetof(cli_options, field), 0, 0, 0, 0 }
#define CHOICE(name, field) \
    { name, KIND_CHOICE, offsetof(cli_options, field), 0, 0, 0, 0 }
#define WHOLE(name, field, least, most) \
    { name, KIND_WHOLE, offsetof(cli_options, field), least, most, 0, 0 }
#define BYTES(name, field) \
    { name, KIND_BYTES, offsetof(cli_options, field), 1, UINT64_MAX, 0, 0 }
#define TEXTS(name, field) \
    { name, KIND_TEXTS, offsetof(cli_options, field), 0, 0, 0, 0 }
#define REAL(name, field, low, high) \
    { name, KIND_REAL, offsetof(cli_options, field), 0, 0, low, high }

static const option_binding BINDINGS[] = {
    SWITCH("--help", is_help),
    SWITCH("--json", is_json),
    WHOLE("--threads", threads, 1, 64),
    BYTES("--memory-limit", memory_limit),
    NAME("--output", output),
    CHOICE("--mode", mode),
    CHOICE("--weights", weights),
    NAME("--recipe", recipe),
    NAME("--voices", voices),
    CHOICE("--kv", kv),
    WHOLE("--context", context, 2, 1 << 24),
    WHOLE("--activations", activations, 8, 16),
    WHOLE("--shards", shards, 1, 999),
    SWITCH("--verify", is_verifying),
    SWITCH("--tensors", is_every_tensor),
    NAME("--model", model),
    NAME("--template", chat_template),
    NAME("--language", language),
    SWITCH("--no-guards", has_no_guards),
    NAME("--vad", vad),
    CHOICE("--audio-context", audio_context),
    SWITCH("--times", has_times),
    TEXT("--prompt", prompt),
    TEXT("--system", system),
    TEXT("--grammar", grammar),
    TEXT("--json-schema", json_schema),
    SWITCH("--raw", is_raw),
    WHOLE("--max-tokens", max_tokens, 1, 1 << 24),
    REAL("--temperature", temperature, 0, 100),
    WHOLE("--top-k", top_k, 0, UINT32_MAX),
    REAL("--top-p", top_p, 0, 1),
    REAL("--min-p", min_p, 0, 1),
    WHOLE("--seed", seed, 0, UINT64_MAX),
    REAL("--repetition-penalty", repetition_penalty, 0.01, 100),
    REAL("--frequency-penalty", frequency_penalty, -100, 100),
    REAL("--presence-penalty", presence_penalty, -100, 100),
    WHOLE("--penalty-window", penalty_window, 0, UINT32_MAX),
    NAME("--logit-bias", logit_bias),
    TEXTS("--stop", stops),
    SWITCH("--ignore-stop", ignores_stop),
    WHOLE("--prompt-lookup", prompt_lookup, 0, 15),
    CHOICE("--thinking", thinking),
    NAME("--tools", tools),
    NAME("--ids", ids),
    CHOICE("--overflow", overflow),
    WHOLE("--reserve", reserve, 1, 1 << 24),
    SWITCH("--special", is_special),
    SWITCH("--show-spoken", shows_spoken),
    // "--decode" is a switch of tokenize and a number of bench: binding_of chooses by whether
    // docs/options gives it an argument.
    SWITCH("--decode", is_decoding),
    WHOLE("--decode", decode, 1, 1 << 24),
    WHOLE("--prefill", prefill, 1, 1 << 24),
    WHOLE("--depth", depth, 0, 1 << 24),
    WHOLE("--repeat", repeat, 1, 1000),
    NAME("--perplexity", perplexity),
    NAME("--logits", logits),
    NAME("--against", against),
    NAME("--voice", voice),
    SWITCH("--greedy", is_greedy),
    SWITCH("--whole", is_whole),
    SWITCH("--stream", is_streamed),
    WHOLE("--max-frames", max_frames, 1, 1 << 20),
    NAME("--dump", dump),
    TEXT("--instruct", instruct),
    NAME("--voice-vector", voice_vector),
    NAME("--clone", clone),
    NAME("--text", text),
    NAME("--ref-codes", ref_codes),
    TEXT("--ref-text", ref_text),
    WHOLE("--chunk", chunk, 1, 1 << 20),
    // Wider than any one voice takes; the voice names its own range when it refuses.
    REAL("--speed", speed, 0.25, 4),
    NAME("--stt", stt),
    NAME("--llm", llm),
    NAME("--commands", commands),
    NAME("--timeline", timeline),
    NAME("--home", home),
    NAME("--fixtures", fixtures),
    NAME("--timers", timers),
    NAME("--tuned", tuned),
    NAME("--on-command", on_command),
    SWITCH("--union", is_union),
};
#define BINDING_COUNT (sizeof BINDINGS / sizeof BINDINGS[0])
#define GIVEN_BITS (8 * sizeof((cli_options *)NULL)->given)
_Static_assert(BINDING_COUNT <= GIVEN_BITS, "cli_options.given has a bit for each");

static bool is_same(const char *whole, const char *text, size_t length) {
    return strlen(whole) == length && memcmp(whole, text, length) == 0;
}

static bool belongs_to(const cli_option_row *row, const char *command) {
    return strcmp(row->command, "*") == 0 || strcmp(row->command, command) == 0;
}

const cli_option_row *cli_option_find(const char *command, const char *name, size_t length) {
    for (size_t i = 0; i < cli_option_row_count; i++) {
        const cli_option_row *row = &cli_option_rows[i];
        const bool is_named =
            is_same(row->name, name, length) ||
            (row->short_name[0] != '\0' && is_same(row->short_name, name, length));
        if (is_named && belongs_to(row, command)) {
            return row;
        }
    }
    return NULL;
}

// Never NULL: a test looks up every row of docs/options.
static const option_binding *binding_of(const cli_option_row *row) {
    const bool is_switch = row->argument[0] == '\0';
    for (size_t i = 0; i < BINDING_COUNT; i++) {
        if (strcmp(BINDINGS[i].name, row->name) == 0 &&
            (BINDINGS[i].kind == KIND_SWITCH) == is_switch) {
            return &BINDINGS[i];
        }
    }
    return NULL;
}

static void *value_of(const option_reader *reader, const option_binding *binding) {
    return (char *)reader->options + binding->offset;
}

static bool is_choice(const char *choices, const char *value) {
    const size_t length = strlen(value);
    // An empty value is no choice, though it would be found between two bars.
    while (length > 0) {
        const size_t choice_length = strcspn(choices, "|");
        if (choice_length == length && memcmp(choices, value, length) == 0) {
            return true;
        }
        if (choices[choice_length] == '\0') {
            return false;
        }
        choices += choice_length + 1;
    }
    return false;
}

static kazeia_status fail_value(const option_reader *reader, const char *name, const char *value,
                                const char *expected) {
    return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                    "%s is '%s'; expected %s. See 'kazeia %s --help'.", name, value, expected,
                    reader->command);
}

static kazeia_status fail_whole(const option_reader *reader, const option_binding *binding,
                                const char *value) {
    return cli_fail(
        reader->sentence, KAZEIA_BAD_ARGUMENT,
        "%s is '%s'; expected a whole number from %llu to %llu%s. See 'kazeia %s "
        "--help'.",
        binding->name, value, (unsigned long long)binding->least, (unsigned long long)binding->most,
        binding->kind == KIND_BYTES ? ", perhaps with K, M or G behind it" : "", reader->command);
}

static kazeia_status fail_real(const option_reader *reader, const option_binding *binding,
                               const char *value) {
    return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                    "%s is '%s'; expected a number from %g to %g. See 'kazeia %s --help'.",
                    binding->name, value, binding->low, binding->high, reader->command);
}

static kazeia_status set_whole(const option_reader *reader, const option_binding *binding,
                               const char *value) {
    uint64_t number = 0;
    const bool is_number = binding->kind == KIND_BYTES ? cli_read_bytes(value, &number)
                                                       : cli_read_whole(value, &number);
    if (!is_number || number < binding->least || number > binding->most) {
        return fail_whole(reader, binding, value);
    }
    // Every whole number of cli_options has 64 bits, whatever its range.
    memcpy(value_of(reader, binding), &number, sizeof number);
    return KAZEIA_OK;
}

static kazeia_status set_real(const option_reader *reader, const option_binding *binding,
                              const char *value) {
    double number = 0;
    if (!cli_read_real(value, &number) || number < binding->low || number > binding->high) {
        return fail_real(reader, binding, value);
    }
    memcpy(value_of(reader, binding), &number, sizeof number);
    return KAZEIA_OK;
}

static kazeia_status set_text(const option_reader *reader, const option_binding *binding,
                              const cli_option_row *row, const char *value) {
    if (binding->kind == KIND_NAME && value[0] == '\0') {
        return fail_value(reader, row->name, value, row->argument);
    }
    if (binding->kind == KIND_CHOICE && !is_choice(row->argument, value)) {
        return fail_value(reader, row->name, value, row->argument);
    }
    // The pointer, not the text: arguments live as long as main.
    memcpy(value_of(reader, binding), &value, sizeof value);
    return KAZEIA_OK;
}

static kazeia_status add_text(const option_reader *reader, const option_binding *binding,
                              const cli_option_row *row, const char *value) {
    cli_repeated *texts = value_of(reader, binding);
    if (value[0] == '\0') {
        return fail_value(reader, row->name, value, row->argument);
    }
    if (texts->count == CLI_REPEATED_LIMIT) {
        return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                        "%s is given more than %zu times. Leave some out.", row->name,
                        CLI_REPEATED_LIMIT);
    }
    texts->items[texts->count++] = value;
    return KAZEIA_OK;
}

static kazeia_status set_value(const option_reader *reader, const option_binding *binding,
                               const cli_option_row *row, const char *value) {
    switch (binding->kind) {
    case KIND_SWITCH:
        *(bool *)value_of(reader, binding) = true;
        return KAZEIA_OK;
    case KIND_WHOLE:
    case KIND_BYTES:
        return set_whole(reader, binding, value);
    case KIND_REAL:
        return set_real(reader, binding, value);
    case KIND_TEXTS:
        return add_text(reader, binding, row, value);
    default:
        return set_text(reader, binding, row, value);
    }
}

// A default in parentheses is for people.
static kazeia_status set_defaults(const option_reader *reader) {
    for (size_t i = 0; i < cli_option_row_count; i++) {
        const cli_option_row *row = &cli_option_rows[i];
        const char first = row->default_value[0];
        if (belongs_to(row, reader->command) && first != '\0' && first != '(') {
            // Through the same checks as a person's value, so that a default in docs/options that
            // is out of range does not pass.
            CLI_TRY(set_value(reader, binding_of(row), row, row->default_value));
        }
    }
    return KAZEIA_OK;
}

// NULL: none is near enough to be meant.
static const char *nearest_option(const char *command, const char *name) {
    const char *nearest = "--help";
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < cli_option_row_count; i++) {
        const cli_option_row *row = &cli_option_rows[i];
        const size_t distance = cli_edit_distance(row->name, name);
        if (belongs_to(row, command) && distance < least) {
            least = distance;
            nearest = row->name;
        }
    }
    return cli_is_slip(least, nearest, name) ? nearest : NULL;
}

static kazeia_status fail_unknown(const option_reader *reader, const char *name, size_t length) {
    char word[64];
    // The name may be as long as an argument; the sentence needs its beginning.
    const size_t kept = length < sizeof word ? length : sizeof word - 1;
    memcpy(word, name, kept);
    word[kept] = '\0';
    (void)cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT, "unknown option '%s' of %s", word,
                   reader->command);
    const char *separator = " (it belongs to ";
    for (size_t i = 0; i < cli_option_row_count; i++) {
        if (is_same(cli_option_rows[i].name, name, length)) {
            cli_fail_more(reader->sentence, "%s%s", separator, cli_option_rows[i].command);
            separator = ", ";
        }
    }
    cli_fail_more(reader->sentence, "%s", separator[0] == ',' ? ")" : "");
    const char *nearest = nearest_option(reader->command, word);
    if (nearest != NULL) {
        cli_fail_more(reader->sentence, "; the nearest is '%s'", nearest);
    }
    cli_fail_more(reader->sentence, ". 'kazeia %s --help' lists all.", reader->command);
    return KAZEIA_BAD_ARGUMENT;
}

// Remembers that the option stood on the line; twice is a slip, since only one value can count.
static kazeia_status mark_given(const option_reader *reader, const option_binding *binding) {
    const size_t place = (size_t)(binding - BINDINGS);
    const uint64_t bit = UINT64_C(1) << place % 64;
    uint64_t *given = &reader->options->given[place / 64];
    if ((*given & bit) != 0 && binding->kind != KIND_SWITCH && binding->kind != KIND_TEXTS) {
        return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                        "%s is given twice; once expected. Leave one out.", binding->name);
    }
    *given |= bit;
    return KAZEIA_OK;
}

static kazeia_status fail_without_value(const option_reader *reader, const cli_option_row *row,
                                        const char *next) {
    if (next == NULL) {
        return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                        "%s stands last; expected a value behind it: %s, %s.", row->name,
                        row->argument, row->help);
    }
    return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                    "%s is followed by the option '%s'; expected a value: %s, %s. If '%s' is the "
                    "value, write %s=%s.",
                    row->name, next, row->argument, row->help, next, row->name, next);
}

// Reads one option; *out_used is how many of the `left` arguments it took.
static kazeia_status read_option(const option_reader *reader, size_t left, char **arguments,
                                 size_t *out_used) {
    const char *name = arguments[0];
    const bool is_long = name[1] == '-';
    const size_t length = is_long ? strcspn(name, "=") : strlen(name);
    const cli_option_row *row = cli_option_find(reader->command, name, length);
    if (row == NULL) {
        return fail_unknown(reader, name, length);
    }
    const option_binding *binding = binding_of(row);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    *out_used = 1;
    if (binding->kind == KIND_SWITCH && value != NULL) {
        return fail_value(reader, row->name, value, "no value: it is a switch");
    }
    if (binding->kind != KIND_SWITCH && value == NULL) {
        value = left > 1 ? arguments[1] : NULL;
        // A value like "-5" is one, as long as the command has no option of that name.
        if (value == NULL ||
            (value[0] == '-' && cli_option_find(reader->command, value, strlen(value)) != NULL)) {
            return fail_without_value(reader, row, value);
        }
        *out_used = 2;
    }
    CLI_TRY(mark_given(reader, binding));
    return set_value(reader, binding, row, value);
}

static bool is_option(const char *argument) {
    return argument[0] == '-' && argument[1] != '\0';
}

static kazeia_status read_all(const option_reader *reader, size_t count, char **arguments) {
    cli_options *options = reader->options;
    bool are_options_over = false;
    options->arguments = arguments;
    // What stands behind --help is not read: a person who asks for help may have a broken line.
    for (size_t i = 0; i < count && !options->is_help;) {
        size_t used = 1;
        if (!are_options_over && strcmp(arguments[i], "--") == 0) {
            are_options_over = true;
        } else if (!are_options_over && is_option(arguments[i])) {
            CLI_TRY(read_option(reader, count - i, arguments + i, &used));
        } else {
            // In place: there are never more of them than arguments read.
            arguments[options->argument_count++] = arguments[i];
        }
        i += used;
    }
    return KAZEIA_OK;
}

static kazeia_status check_required(const option_reader *reader) {
    for (size_t i = 0; i < cli_option_row_count; i++) {
        const cli_option_row *row = &cli_option_rows[i];
        if (belongs_to(row, reader->command) && strcmp(row->default_value, "(required)") == 0 &&
            !cli_option_is_given(reader->options, row->name)) {
            return cli_fail(reader->sentence, KAZEIA_BAD_ARGUMENT,
                            "%s %s is missing: %s. See 'kazeia %s --help'.",
                            row->short_name[0] != '\0' ? row->short_name : row->name, row->argument,
                            row->help, reader->command);
        }
    }
    return KAZEIA_OK;
}

bool cli_option_is_given(const cli_options *options, const char *name) {
    for (size_t i = 0; i < BINDING_COUNT; i++) {
        if (strcmp(BINDINGS[i].name, name) == 0 && (options->given[i / 64] >> i % 64 & 1) != 0) {
            return true;
        }
    }
    return false;
}

kazeia_status cli_options_refuse_both(const cli_options *options, const char *one,
                                      const char *other, cli_sentence *out_sentence) {
    if (cli_option_is_given(options, one) && cli_option_is_given(options, other)) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "%s and %s exclude each other; one expected. Leave one out.", one, other);
    }
    return KAZEIA_OK;
}

// A look at the bare arguments, for failures that come before they are read.
bool cli_options_want_json(size_t count, char **arguments) {
    for (size_t i = 0; i < count && strcmp(arguments[i], "--") != 0; i++) {
        if (strcmp(arguments[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

kazeia_status cli_options_read(const char *command, size_t count, char **arguments,
                               cli_options *out_options, cli_sentence *out_sentence) {
    const option_reader reader = {command, out_options, out_sentence};
    *out_options = (cli_options){0};
    CLI_TRY(set_defaults(&reader));
    CLI_TRY(read_all(&reader, count, arguments));
    return out_options->is_help ? KAZEIA_OK : check_required(&reader);
}
