// cmd_commands.c: kazeia commands check|match|test.
//
// in:  a command grammar, perhaps a home; sentences on standard input, or a file of tests
// out: what was understood of each, a line for a line
//
// What needs a model is in cmd_hear.c and cmd_tune.c. A test file names for each line the fixtures
// (the home) that it was written for; with --union all homes are one, which is nearer to life.
#include "cmd_commands.h"

#include <stdlib.h>
#include <string.h>

#include "command_json.h"
#include "input.h"
#include "output.h"

kazeia_status cli_commands_open(cli_run *run, const char *grammar,
                                const kazeia_commands_options *options,
                                kazeia_commands **out_commands) {
    return cli_checked(run, kazeia_commands_open(grammar, options, NULL, out_commands));
}

kazeia_status cli_for_each_object(cli_run *run, const char *path,
                                  kazeia_status (*take)(void *context, json_t *object),
                                  void *context) {
    cli_sentence *failure = &run->failure;
    cli_lines lines = {.stream = fopen(path, "r"), .name = path};
    kazeia_status status = KAZEIA_OK;
    if (lines.stream == NULL) {
        return cli_fail(failure, KAZEIA_NOT_FOUND, "'%s' cannot be read. Is the path right?", path);
    }
    while (status == KAZEIA_OK && (status = cli_lines_next(&lines, failure)) == KAZEIA_OK) {
        json_error_t error;
        json_t *object = lines.bytes == 0 ? NULL : json_loadb(lines.text, lines.bytes, 0, &error);
        if (json_is_object(object)) {
            status = take(context, object);
        } else if (lines.bytes > 0) {
            status = cli_fail(failure, KAZEIA_BAD_FILE, "%s:%zu: expected a JSON object", path,
                              lines.number);
        }
        json_decref(object);
    }
    cli_lines_clear(&lines);
    (void)fclose(lines.stream);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

// ---- match

static kazeia_status print_matched(cli_run *run, const kazeia_command *command) {
    if (run->options.is_json) {
        return cli_print_json(cli_command_json(command, true), &run->failure);
    }
    if (command->intent == NULL) {
        return cli_print(&run->failure, "-\n");
    }
    CLI_TRY(cli_print(&run->failure, "%s", command->intent));
    for (size_t i = 0; i < command->slot_count; i++) {
        CLI_TRY(cli_print(&run->failure, "%s%s=%s", i == 0 ? " " : ", ", command->slots[i].name,
                          command->slots[i].text));
    }
    return cli_print(&run->failure, "%s%s\n", command->response[0] == '\0' ? "" : "  -> ",
                     command->response);
}

static kazeia_status match_lines(cli_run *run, kazeia_commands *commands) {
    cli_lines lines = {.stream = stdin, .name = "standard input"};
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK && (status = cli_lines_next(&lines, &run->failure)) == KAZEIA_OK) {
        kazeia_command command;
        status = cli_checked(run, kazeia_commands_match(commands, lines.text, &command));
        if (status == KAZEIA_OK) {
            status = print_matched(run, &command);
        }
    }
    cli_lines_clear(&lines);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

static kazeia_status run_match(cli_run *run) {
    const kazeia_commands_options options = {.home = run->options.home};
    kazeia_commands *commands = NULL;
    CLI_TRY(cli_commands_open(run, run->options.arguments[1], &options, &commands));
    const kazeia_status status = match_lines(run, commands);
    kazeia_commands_close(commands);
    return status;
}

// ---- check

static kazeia_status print_finding(void *context, const kazeia_commands_finding *finding) {
    cli_run *run = context;
    if (!run->options.is_json) {
        return cli_print(&run->failure, "%s:%u:%u: %s: %s\n", finding->file, finding->line,
                         finding->column, finding->kind, finding->text);
    }
    return cli_print_json(json_pack("{s:s, s:o, s:i, s:i, s:o}", "finding", finding->kind, "file",
                                    cli_json_string(finding->file), "line", (int)finding->line,
                                    "column", (int)finding->column, "text",
                                    cli_json_string(finding->text)),
                          &run->failure);
}

static kazeia_status print_counts(cli_run *run, const kazeia_commands_counts *counts) {
    if (!run->options.is_json) {
        return cli_print(
            &run->failure,
            "%u sentence templates in %u blocks, %u intents; %u rules, %u lists, %u "
            "names; %.3g sentences without wildcards; of %u templates tried %u unreachable, %u "
            "ambiguous\n",
            counts->sentences, counts->blocks, counts->intents, counts->rules, counts->lists,
            counts->names, counts->said, counts->tried, counts->unreachable, counts->ambiguous);
    }
    return cli_print_json(json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:i, s:i, s:i}",
                                    "templates", (int)counts->sentences, "blocks",
                                    (int)counts->blocks, "intents", (int)counts->intents, "rules",
                                    (int)counts->rules, "lists", (int)counts->lists, "names",
                                    (int)counts->names, "sentences", cli_json_real(counts->said),
                                    "tried", (int)counts->tried, "unreachable",
                                    (int)counts->unreachable, "ambiguous", (int)counts->ambiguous),
                          &run->failure);
}

static kazeia_status run_check(cli_run *run) {
    const kazeia_commands_options options = {.home = run->options.home};
    kazeia_commands_counts counts;
    kazeia_commands *commands = NULL;
    CLI_TRY(cli_commands_open(run, run->options.arguments[1], &options, &commands));
    kazeia_status status =
        cli_checked(run, kazeia_commands_check(commands, print_finding, run, &counts));
    if (status == KAZEIA_OK) {
        status = print_counts(run, &counts);
    }
    kazeia_commands_close(commands);
    return status;
}

// ---- test

typedef struct testing {
    cli_run *run;
    const char *grammar;
    json_t *homes;       // file -> fixtures
    json_t *everything;  // all fixtures in one
    const char *present; // whose home `commands` was compiled for
    kazeia_commands *commands;
    size_t count, right;
} testing;

// Names that differ only in case are one.
static bool has_name(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *text = json_is_object(item) ? json_object_get(item, "name") : item;
        if (json_is_string(text) && cli_same_text(json_string_value(text), name)) {
            return true;
        }
    }
    return false;
}

static void add_names(json_t *everything, const json_t *home, const char *key) {
    json_t *all = json_object_get(everything, key);
    const json_t *list = json_object_get(home, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        const json_t *text = json_is_object(item) ? json_object_get(item, "name") : item;
        if (json_is_string(text) && !has_name(all, json_string_value(text))) {
            (void)json_array_append(all, item);
        }
    }
}

static void add_home(testing *t, json_t *home) {
    json_t *area = json_object_get(home, "context_area");
    const char *file = json_string_value(json_object_get(home, "file"));
    add_names(t->everything, home, "entities");
    add_names(t->everything, home, "areas");
    add_names(t->everything, home, "floors");
    if (json_is_string(area)) {
        (void)json_object_set(t->everything, "context_area", area);
    }
    if (file != NULL) {
        (void)json_object_set(t->homes, file, home);
    }
}

static kazeia_status take_home(void *context, json_t *object) {
    add_home(context, object);
    return KAZEIA_OK;
}

// Compiles for the home of the test's file, unless that was done for the test before.
static kazeia_status compile_for(testing *t, const json_t *test) {
    const char *file = json_string_value(json_object_get(test, "file"));
    const json_t *home = file == NULL ? NULL : json_object_get(t->homes, file);
    const char *name = t->run->options.is_union || home == NULL ? "union of all fixtures" : file;
    if (t->commands != NULL && strcmp(t->present, name) == 0) {
        return KAZEIA_OK;
    }
    if (file != NULL && home == NULL && t->run->options.fixtures != NULL) {
        return cli_fail(&t->run->failure, KAZEIA_BAD_FILE, "%s: no line for the file '%s'",
                        t->run->options.fixtures, file);
    }
    char *bytes = json_dumps(name == file ? home : t->everything, JSON_COMPACT);
    if (bytes == NULL) {
        return cli_fail(&t->run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for fixtures");
    }
    kazeia_commands_close(t->commands);
    t->commands = NULL;
    const kazeia_commands_options options = {
        .home = t->run->options.fixtures, .home_bytes = bytes, .home_count = strlen(bytes)};
    const kazeia_status status = cli_commands_open(t->run, t->grammar, &options, &t->commands);
    free(bytes);
    t->present = name == file ? json_object_iter_key(json_object_iter_at(t->homes, file)) : name;
    return status;
}

// Prints what was understood; the place that the test's home adds is no part of the sentence.
static kazeia_status take_test(void *context, json_t *test) {
    testing *t = context;
    const json_t *sentence = json_object_get(test, "sentence");
    kazeia_command command;
    if (!json_is_string(sentence)) {
        return cli_fail(&t->run->failure, KAZEIA_BAD_FILE, "a test has no text 'sentence'");
    }
    CLI_TRY(compile_for(t, test));
    CLI_TRY(cli_checked(t->run,
                        kazeia_commands_match(t->commands, json_string_value(sentence), &command)));
    json_t *found = cli_command_json(&command, false);
    if (json_is_true(json_object_get(test, "context_area"))) {
        (void)json_object_del(json_object_get(found, "slots"), "area");
    }
    const bool is_right = cli_command_json_is(found, test);
    t->count++;
    t->right += is_right;
    if (!is_right && !t->run->options.is_json) {
        CLI_TRY(cli_print(&t->run->failure, "wrong: %s\n", json_string_value(sentence)));
    }
    if (t->run->options.is_json || !is_right) {
        return cli_print_json(found, &t->run->failure);
    }
    json_decref(found);
    return KAZEIA_OK;
}

static kazeia_status run_tests(testing *t) {
    const cli_options *options = &t->run->options;
    if (options->fixtures != NULL) {
        CLI_TRY(cli_for_each_object(t->run, options->fixtures, take_home, t));
    }
    for (size_t i = 2; i < options->argument_count; i++) {
        CLI_TRY(cli_for_each_object(t->run, options->arguments[i], take_test, t));
    }
    (void)fprintf(stderr, "%zu of %zu right\n", t->right, t->count);
    return KAZEIA_OK;
}

static kazeia_status run_test(cli_run *run) {
    testing t = {.run = run, .grammar = run->options.arguments[1], .homes = json_object()};
    if (run->options.argument_count < 3) {
        json_decref(t.homes);
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "TESTS.jsonl is missing. See 'kazeia commands --help'.");
    }
    t.everything = json_pack("{s:[], s:[], s:[]}", "entities", "areas", "floors");
    const kazeia_status status = run_tests(&t);
    kazeia_commands_close(t.commands);
    json_decref(t.homes);
    json_decref(t.everything);
    return status;
}

// ---- the command

static const struct {
    const char *name;
    kazeia_status (*function)(cli_run *run);
} verbs[] = {{"check", run_check},
             {"match", run_match},
             {"test", run_test},
             {"hear", cli_commands_hear},
             {"tune", cli_commands_tune}};

kazeia_status cli_commands_command(cli_run *run) {
    const char *verb = run->options.arguments[0];
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, verb) == 0) {
            return verbs[i].function(run);
        }
    }
    return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                    "'%s' is nothing that commands does; expected check, match, test, hear, tune. "
                    "See 'kazeia commands --help'.",
                    verb);
}
