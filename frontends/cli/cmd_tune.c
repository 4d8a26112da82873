// cmd_tune.c: kazeia commands tune.
//
// in:  a command grammar, a program that listens, files of labels: sound files with their texts
// out: thresholds that carry out nothing wrong, in a file that names the program
//
// What a sound means is what the text matcher gives for its text; without a text it is no command.
// A sound in which nothing is found teaches nothing, since no threshold can change that.
#include <stdlib.h>
#include <string.h>

#include "cmd_commands.h"
#include "command_json.h"
#include "engine.h"
#include "output.h"

typedef struct tuning {
    cli_hearer hearer;
    const char *labels_path; // whose folder the sound files are named from
    kazeia_commands_label *labels;
    size_t count, capacity;
    size_t sounds, commands; // heard; of which this many are commands
} tuning;

static kazeia_status keep_label(tuning *t, const kazeia_heard_command *heard, bool is_right) {
    cli_sentence *failure = &t->hearer.run->failure;
    if (t->count == t->capacity) {
        const size_t larger = t->capacity == 0 ? 64 : 2 * t->capacity;
        kazeia_commands_label *labels = realloc(t->labels, larger * sizeof *labels);
        if (labels == NULL) {
            return cli_fail(failure, KAZEIA_OUT_OF_MEMORY, "no memory for %zu labels", larger);
        }
        t->labels = labels;
        t->capacity = larger;
    }
    char *text = strdup(heard->text);
    if (text == NULL) {
        return cli_fail(failure, KAZEIA_OUT_OF_MEMORY, "no memory for a label");
    }
    t->labels[t->count++] = (kazeia_commands_label){.text = text,
                                                    .score = heard->score,
                                                    .end = heard->end,
                                                    .margin = heard->margin,
                                                    .is_right = is_right};
    return KAZEIA_OK;
}

// What was said, as JSON; intent null where it is no command.
static kazeia_status expect(tuning *t, const json_t *label, json_t **out_expected) {
    kazeia_command command = {.intent = NULL};
    const char *text = json_string_value(json_object_get(label, "text"));
    if (text != NULL) {
        CLI_TRY(
            cli_checked(t->hearer.run, kazeia_commands_match(t->hearer.commands, text, &command)));
    }
    t->commands += command.intent != NULL;
    *out_expected = cli_command_json(&command, false);
    return KAZEIA_OK;
}

// A file is named from the folder of the labels' file.
static char *path_of(const tuning *t, const char *file) {
    const char *slash = strrchr(t->labels_path, '/');
    const size_t folder =
        file[0] == '/' || slash == NULL ? 0 : (size_t)(slash - t->labels_path) + 1;
    const size_t bytes = strlen(file) + 1; // the NUL included
    char *path = malloc(folder + bytes);
    if (path != NULL) {
        memcpy(path, t->labels_path, folder);
        memcpy(path + folder, file, bytes);
    }
    return path;
}

static kazeia_status hear_label(tuning *t, const char *path, const json_t *expected) {
    kazeia_heard_command heard;
    CLI_TRY(cli_hearer_hear(&t->hearer, path, &heard));
    t->sounds++;
    if (heard.text[0] == '\0') {
        return KAZEIA_OK;
    }
    json_t *found = cli_command_json(&heard.command, false);
    const bool is_right = heard.command.intent != NULL && cli_command_json_is(found, expected);
    json_decref(found);
    return keep_label(t, &heard, is_right);
}

static kazeia_status take_label(void *context, json_t *label) {
    tuning *t = context;
    const char *file = json_string_value(json_object_get(label, "file"));
    json_t *expected = NULL;
    if (file == NULL) {
        return cli_fail(&t->hearer.run->failure, KAZEIA_BAD_FILE, "%s: a label has no text 'file'",
                        t->labels_path);
    }
    char *path = path_of(t, file);
    if (path == NULL) {
        return cli_fail(&t->hearer.run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for a path");
    }
    kazeia_status status = expect(t, label, &expected);
    if (status == KAZEIA_OK) {
        status = hear_label(t, path, expected);
    }
    json_decref(expected);
    free(path);
    return status;
}

// ---- what comes of it

static json_t *json_thresholds(const kazeia_commands_thresholds *thresholds) {
    const struct {
        const char *name;
        double value;
    } values[] = {{"score", thresholds->score},
                  {"word_score", thresholds->word_score},
                  {"end", thresholds->end},
                  {"margin", thresholds->margin},
                  {"guarded_score", thresholds->guarded_score},
                  {"lone_score", thresholds->lone_score},
                  {"lone_word_score", thresholds->lone_word_score},
                  {"lone_margin", thresholds->lone_margin},
                  {"near_score", thresholds->near_score},
                  {"near_margin", thresholds->near_margin},
                  {"tie_margin", thresholds->tie_margin},
                  {"fair_end", thresholds->fair_end}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        (void)json_object_set_new(object, values[i].name, cli_json_real(values[i].value));
    }
    return object;
}

static kazeia_status print_tuned(const tuning *t, const kazeia_commands_thresholds *thresholds) {
    cli_run *run = t->hearer.run;
    if (run->options.is_json) {
        return cli_print_json(
            json_pack("{s:I, s:I, s:I, s:o, s:o}", "sounds", (json_int_t)t->sounds, "commands",
                      (json_int_t)t->commands, "labels", (json_int_t)t->count, "thresholds",
                      json_thresholds(thresholds), "output", cli_json_string(run->options.output)),
            &run->failure);
    }
    return cli_print(
        &run->failure,
        "%zu sounds, %zu of them commands: score %g, %g more a word; end %g; margin %g; "
        "%g less and %g less a word when the next is %g away; locks %g; %g more when the next is "
        "nearer than "
        "%g or the end below %g, twice that when it is nearer than %g\n",
        t->sounds, t->commands, thresholds->score, thresholds->word_score, thresholds->end,
        thresholds->margin, thresholds->lone_score, thresholds->lone_word_score,
        thresholds->lone_margin, thresholds->guarded_score, thresholds->near_score,
        thresholds->near_margin, thresholds->fair_end, thresholds->tie_margin);
}

static kazeia_status hear_all(tuning *t) {
    cli_run *run = t->hearer.run;
    for (size_t i = 2; i < run->options.argument_count; i++) {
        t->labels_path = run->options.arguments[i];
        CLI_TRY(cli_for_each_object(run, t->labels_path, take_label, t));
    }
    return KAZEIA_OK;
}

static kazeia_status tune(tuning *t) {
    cli_run *run = t->hearer.run;
    kazeia_commands_thresholds thresholds;
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, t->hearer.stage);
    const kazeia_status status = hear_all(t);
    cli_interrupt_leave(&run->interrupt);
    CLI_TRY(status);
    CLI_TRY(cli_checked(run, kazeia_commands_tune(t->hearer.commands, t->labels, t->count,
                                                  run->options.output, &thresholds)));
    return print_tuned(t, &thresholds);
}

kazeia_status cli_commands_tune(cli_run *run) {
    tuning t = {.count = 0};
    if (run->options.argument_count < 3 || run->options.output == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "%s is missing. See 'kazeia commands --help'.",
                        run->options.output == NULL ? "-o TUNED" : "LABELS.jsonl");
    }
    kazeia_status status = cli_hearer_open(run, &t.hearer);
    if (status == KAZEIA_OK) {
        status = tune(&t);
    }
    for (size_t i = 0; i < t.count; i++) {
        free((void *)(uintptr_t)t.labels[i].text);
    }
    free(t.labels);
    cli_hearer_close(&t.hearer);
    return status;
}
