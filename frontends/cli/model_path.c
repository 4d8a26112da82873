// model_path.c: where the program file is that a person means by MODEL.
//
// in:  a path or a name; $KAZEIA_MODELS, $HOME
// out: a path
//
// A file of that very name wins over a name in the folder of models. A folder never does: the
// checkpoint "whisper-base/" often lies beside the program "whisper-base.kzp".
#include "model_path.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_NAMES 12

static bool exists(const char *path, mode_t kind) {
    struct stat facts;
    return stat(path, &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

// Longer than the ending: ".kzp" alone is a hidden file without a name.
static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), ending_length = strlen(ending);
    return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static kazeia_status compose(cli_model_path *out_path, cli_sentence *out_sentence,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));
static kazeia_status compose(cli_model_path *out_path, cli_sentence *out_sentence,
                             const char *format, ...) {
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(out_path->text, sizeof out_path->text, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= sizeof out_path->text) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "the path '%.64s...' has %d bytes; at most %zu expected", out_path->text,
                        length, sizeof out_path->text - 1);
    }
    return KAZEIA_OK;
}

kazeia_status cli_models_folder(cli_model_path *out_folder, cli_sentence *out_sentence) {
    const char *models = getenv("KAZEIA_MODELS");
    if (models != NULL && models[0] != '\0') {
        return compose(out_folder, out_sentence, "%s", models);
    }
    const char *home = getenv("HOME");
    // Without $HOME, as in some containers, the working folder takes its place.
    return compose(out_folder, out_sentence, "%s/.cache/kazeia", home == NULL ? "." : home);
}

static int is_program(const struct dirent *entry) {
    return entry->d_name[0] != '.' && ends_with(entry->d_name, ".kzp");
}

// Adds the names of the programs that lie in the folder to the sentence.
static void list_programs(const char *folder, cli_sentence *sentence) {
    struct dirent **entries = NULL;
    // -1 where the folder does not exist: the loop does not run and the sentence says that nothing
    // is there.
    const int count = scandir(folder, &entries, is_program, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (i < MOST_NAMES) {
            cli_fail_more(sentence, "%s%.*s", i == 0 ? " (it has: " : ", ", (int)(strlen(name) - 4),
                          name);
        }
        free(entries[i]);
    }
    free(entries);
    if (count > MOST_NAMES) {
        cli_fail_more(sentence, " and %d more", count - MOST_NAMES);
    }
    cli_fail_more(sentence, "%s", count > 0 ? ")" : " (it has no program yet)");
}

static kazeia_status fail_name(const char *model, const char *folder, cli_sentence *out_sentence) {
    cli_model_path checkpoint;
    cli_sentence ignored = {""};
    (void)cli_fail(out_sentence, KAZEIA_NOT_FOUND,
                   "model '%s' is neither a file here nor a program in '%s'", model, folder);
    list_programs(folder, out_sentence);
    // Too long a path is no folder; the other hint serves as well.
    if (compose(&checkpoint, &ignored, "%s/%s", folder, model) == KAZEIA_OK &&
        exists(checkpoint.text, S_IFDIR)) {
        cli_fail_more(out_sentence, ". Its checkpoint is there: kazeia export %s/%s -o %s/%s.kzp",
                      folder, model, folder, model);
    } else {
        cli_fail_more(out_sentence,
                      ". To make it: ./scripts/fetch-models %s, then kazeia export %s/%s -o "
                      "%s/%s.kzp",
                      model, folder, model, folder, model);
    }
    return KAZEIA_NOT_FOUND;
}

static kazeia_status fail_path(const char *model, cli_sentence *out_sentence) {
    if (exists(model, S_IFDIR)) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "model '%s' is a folder; expected a program file. To make one of a "
                        "checkpoint: kazeia export %s -o NAME.kzp",
                        model, model);
    }
    struct stat facts;
    if (stat(model, &facts) == 0) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "model '%s' is no plain file; expected a program file, which can be mapped",
                        model);
    }
    const int error = errno;
    return cli_fail(out_sentence, error == EACCES ? KAZEIA_IO : KAZEIA_NOT_FOUND,
                    "model '%s': %s; expected a program file, or its name in $KAZEIA_MODELS "
                    "without a folder",
                    model, error == ENOENT ? "there is no such file" : strerror(error));
}

kazeia_status cli_model_path_find(const char *model, cli_model_path *out_path,
                                  cli_sentence *out_sentence) {
    cli_model_path folder;
    // A slash means a path, whose mistakes are told as a path's; a bare word may be either.
    if (strchr(model, '/') != NULL || exists(model, S_IFREG)) {
        if (!exists(model, S_IFREG)) {
            return fail_path(model, out_sentence);
        }
        return compose(out_path, out_sentence, "%s", model);
    }
    CLI_TRY(cli_models_folder(&folder, out_sentence));
    const char *ending = ends_with(model, ".kzp") ? "" : ".kzp";
    CLI_TRY(compose(out_path, out_sentence, "%s/%s%s", folder.text, model, ending));
    if (!exists(out_path->text, S_IFREG)) {
        return fail_name(model, folder.text, out_sentence);
    }
    return KAZEIA_OK;
}
