// voice_list.c: the voices that are here.
//
// in:  a folder
// out: a line for each program that speaks, then one for each voice file, with the program it fits
//
// A file that cannot be read is listed with the sentence that says why. Only the programs of the
// folder are known: the voice of one that lies elsewhere fits none of them.
#include "voice_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "description.h"
#include "engine.h"
#include "output.h"
#include "voice_file.h"

typedef struct listing {
    cli_run *run;
    const char *folder;
    json_t *names; // program id -> name
} listing;

static bool ends_with(const char *name, const char *ending) {
    const size_t length = strlen(name), count = strlen(ending);
    return name[0] != '.' && length > count && strcmp(name + length - count, ending) == 0;
}

static int is_program(const struct dirent *entry) {
    return ends_with(entry->d_name, ".kzp");
}

static int is_voice(const struct dirent *entry) {
    return ends_with(entry->d_name, ".kzv");
}

static kazeia_status print_unread(listing *list, const char *name) {
    cli_run *run = list->run;
    return run->options.is_json
               ? cli_print_json(json_pack("{s:s, s:s}", "file", name, "error", run->failure.text),
                                &run->failure)
               : cli_print(&run->failure, "%s: %s\n", name, run->failure.text);
}

static const char *join(const json_t *names, char *out, size_t capacity) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(names) && used < capacity; i++) {
        used += (size_t)snprintf(out + used, capacity - used, "%s%s", i ? ", " : "",
                                 json_string_value(json_array_get(names, i)));
    }
    return out;
}

static kazeia_status print_program(listing *list, const char *name, const json_t *metadata) {
    cli_run *run = list->run;
    json_t *speakers = json_object_get(metadata, "speak.speakers");
    json_t *languages = json_object_get(metadata, "speak.languages");
    const char *kind = json_string_value(json_object_get(metadata, "speak.kind"));
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:s, s:o, s:O?, s:O?}", "program", name, "kind",
                                        cli_json_string(kind), "speakers", speakers, "languages",
                                        languages),
                              &run->failure);
    }
    char line[512];
    CLI_TRY(cli_print(&run->failure, "%s: %s", name, kind == NULL ? "a voice" : kind));
    if (json_array_size(speakers) > 0) {
        CLI_TRY(cli_print(&run->failure, "; speakers: %s", join(speakers, line, sizeof line)));
    }
    return cli_print(&run->failure, "\n");
}

// Programs that do something else are passed over.
static kazeia_status list_program(listing *list, const char *name, const char *path) {
    cli_run *run = list->run;
    kazeia_program *program = NULL;
    json_t *description = NULL;
    kazeia_status status = cli_program_open(run, path, NULL, &program);
    if (status == KAZEIA_OK) {
        status = cli_describe(run, program, &description);
        kazeia_program_close(program);
    }
    if (status != KAZEIA_OK) {
        return print_unread(list, name);
    }
    const json_t *metadata = json_object_get(description, "metadata");
    const char *ability = json_string_value(json_object_get(metadata, "ability"));
    if (ability != NULL && strcmp(ability, "speak") == 0) {
        (void)json_object_set_new(
            list->names, json_string_value(json_object_get(description, "id")), json_string(name));
        status = print_program(list, name, metadata);
    }
    json_decref(description);
    return status;
}

static kazeia_status list_voice(listing *list, const char *name, const char *path) {
    cli_run *run = list->run;
    cli_voice_file file;
    kazeia_status status = cli_voice_file_read(path, &file, &run->failure);
    if (status != KAZEIA_OK) {
        status = print_unread(list, name);
        cli_voice_file_clear(&file);
        return status;
    }
    const char *fits = json_string_value(json_object_get(list->names, file.program));
    if (run->options.is_json) {
        status = cli_print_json(json_pack("{s:s, s:s, s:o, s:I, s:o}", "voice", name, "program_id",
                                          file.program, "program", cli_json_string(fits), "frames",
                                          (json_int_t)file.codes.rows, "text",
                                          cli_json_string(file.text)),
                                &run->failure);
    } else {
        status = cli_print(&run->failure, "%s: a voice of %s%s; %s\n", name,
                           fits == NULL ? "program " : "", fits == NULL ? file.program : fits,
                           file.text == NULL ? "the speaker alone" : "a recording and its text");
    }
    cli_voice_file_clear(&file);
    return status;
}

static kazeia_status list_all(listing *list, int (*is_wanted)(const struct dirent *),
                              kazeia_status (*show)(listing *, const char *, const char *)) {
    struct dirent **entries = NULL;
    kazeia_status status = KAZEIA_OK;
    const int count = scandir(list->folder, &entries, is_wanted, alphasort);
    if (count < 0) {
        return cli_fail(&list->run->failure, errno == ENOENT ? KAZEIA_NOT_FOUND : KAZEIA_IO,
                        "cannot list '%s': %s", list->folder, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s/%s", list->folder, entries[i]->d_name);
        if (status == KAZEIA_OK && length > 0 && (size_t)length < sizeof path) {
            status = show(list, entries[i]->d_name, path);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

kazeia_status cli_voice_list(cli_run *run, const char *folder) {
    cli_model_path models;
    listing list = {.run = run, .folder = folder, .names = json_object()};
    kazeia_status status = KAZEIA_OK;
    if (folder == NULL) {
        status = cli_models_folder(&models, &run->failure);
        list.folder = models.text;
    }
    if (status == KAZEIA_OK) {
        status = list_all(&list, is_program, list_program);
    }
    if (status == KAZEIA_OK) {
        status = list_all(&list, is_voice, list_voice);
    }
    json_decref(list.names);
    return status;
}
