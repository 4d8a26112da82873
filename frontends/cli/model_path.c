// model_path.c: where the program file is that a person means by MODEL.
//
// in:  a path or a name; $KAZEIA_MODELS, $HOME
// out: a path
//
// A file of that very name wins over a name in the folder of models. A folder never does: the
// checkpoint "whisper-base/" often lies beside the program "whisper-base.kzp".
#include "model_path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool exists(const char *path, mode_t kind) {
    struct stat facts;
    return stat(path, &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

static bool ends_with(const char *text, const char *ending) {
    const size_t length = strlen(text), ending_length = strlen(ending);
    return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static kazeia_status join(cli_model_path *out_path, const char *folder, const char *name,
                          const char *ending, cli_sentence *out_sentence) {
    const int length =
        snprintf(out_path->text, sizeof out_path->text, "%s/%s%s", folder, name, ending);
    if (length < 0 || (size_t)length >= sizeof out_path->text) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "the path of model '%.64s...' has %d bytes; at most %zu expected", name,
                        length, sizeof out_path->text - 1);
    }
    return KAZEIA_OK;
}

kazeia_status cli_models_folder(cli_model_path *out_folder, cli_sentence *out_sentence) {
    const char *models = getenv("KAZEIA_MODELS");
    if (models != NULL && models[0] != '\0') {
        return join(out_folder, models, "", "", out_sentence);
    }
    const char *home = getenv("HOME");
    return join(out_folder, home == NULL ? "." : home, ".cache/kazeia", "", out_sentence);
}

// Adds the names of the programs that lie in the folder to the sentence.
static void list_programs(const char *folder, cli_sentence *sentence) {
    DIR *listing = opendir(folder);
    size_t count = 0;
    for (const struct dirent *entry = NULL;
         listing != NULL && (entry = readdir(listing)) != NULL;) {
        if (ends_with(entry->d_name, ".kzp") && entry->d_name[0] != '.') {
            cli_fail_more(sentence, "%s%.*s", count == 0 ? " (it has: " : ", ",
                          (int)(strlen(entry->d_name) - 4), entry->d_name);
            count++;
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    cli_fail_more(sentence, "%s", count == 0 ? " (it has no program yet)" : ")");
}

static kazeia_status fail_name(const char *model, const char *folder, cli_sentence *out_sentence) {
    cli_model_path checkpoint;
    cli_sentence ignored = {""};
    (void)cli_fail(out_sentence, KAZEIA_NOT_FOUND,
                   "model '%s' is neither a file here nor a program in '%s'", model, folder);
    list_programs(folder, out_sentence);
    if (join(&checkpoint, folder, model, "", &ignored) == KAZEIA_OK &&
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
    return cli_fail(out_sentence, KAZEIA_NOT_FOUND,
                    "model '%s': there is no such file; expected a program file, or its name in "
                    "$KAZEIA_MODELS without a folder",
                    model);
}

kazeia_status cli_model_path_find(const char *model, cli_model_path *out_path,
                                  cli_sentence *out_sentence) {
    cli_model_path folder;
    if (strchr(model, '/') != NULL || exists(model, S_IFREG)) {
        if (!exists(model, S_IFREG)) {
            return fail_path(model, out_sentence);
        }
        return join(out_path, model[0] == '/' ? "" : ".", model[0] == '/' ? model + 1 : model, "",
                    out_sentence);
    }
    CLI_TRY(cli_models_folder(&folder, out_sentence));
    const char *ending = ends_with(model, ".kzp") ? "" : ".kzp";
    CLI_TRY(join(out_path, folder.text, model, ending, out_sentence));
    if (!exists(out_path->text, S_IFREG)) {
        return fail_name(model, folder.text, out_sentence);
    }
    return KAZEIA_OK;
}
