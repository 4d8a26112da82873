// texts.c: a model's texts (tokenizer, chat template), whatever the model comes as.
//
// in:  MODEL
// out: a program, opened from its file or made of a checkpoint
//
// A path wins over a name, and a name over a template's family. Under a name the program wins over
// the checkpoint that it was made of: it opens at once. What a file is is told by its first bytes,
// never by its ending.
#include "texts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "model_path.h"
#ifdef CLI_HAS_EXPORT
#include "kazeia/export.h"
#endif

// The start of a program file (docs/format.md).
static const char program_magic[4] = "\x8bKZP";

static bool is_there(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0;
}

// A file that cannot be read is taken for a program: the library says why it cannot.
static bool is_program(const char *path) {
    struct stat facts;
    char start[sizeof program_magic];
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        return false;
    }
    FILE *file = fopen(path, "rb");
    const size_t count = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return file == NULL ||
           (count == sizeof start && memcmp(start, program_magic, sizeof start) == 0);
}

static kazeia_status find_model(const char *model, cli_model_path *out_path,
                                cli_sentence *out_sentence) {
    static const char *const endings[] = {".kzp", "", ".gguf"};
    cli_model_path folder;
    if (strlen(model) < sizeof out_path->text && is_there(model)) {
        memcpy(out_path->text, model, strlen(model) + 1);
        return KAZEIA_OK;
    }
    CLI_TRY(cli_models_folder(&folder, out_sentence));
    // A slash means a path and nothing else.
    for (size_t i = 0; strchr(model, '/') == NULL && i < sizeof endings / sizeof *endings; i++) {
        const int length = snprintf(out_path->text, sizeof out_path->text, "%s/%s%s", folder.text,
                                    model, endings[i]);
        if (length > 0 && (size_t)length < sizeof out_path->text && is_there(out_path->text)) {
            return KAZEIA_OK;
        }
    }
    return cli_fail(out_sentence, KAZEIA_NOT_FOUND,
                    "model '%s' is neither a program nor a checkpoint here, nor the name of one in "
                    "'%s'",
                    model, folder.text);
}

#ifdef CLI_HAS_EXPORT
static kazeia_status open_checkpoint(cli_run *run, const char *path, cli_texts_part part,
                                     cli_texts *texts) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    const uint32_t parts =
        part == CLI_TEXTS_TEMPLATE ? KAZEIA_EXPORT_TEMPLATE : KAZEIA_EXPORT_TOKENIZER;
    size_t count = 0;
    settings.source = path;
    CLI_TRY(cli_checked(run, kazeia_export_text(&settings, parts, &texts->image, &count)));
    return cli_checked(run, kazeia_program_open_memory(texts->image, count, NULL, &texts->program));
}

// A family's template, by its name; the exporter knows them.
static kazeia_status open_family(cli_run *run, const char *name, cli_texts *texts) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    size_t count = 0;
    settings.chat_template = name;
    if (kazeia_export_text(&settings, KAZEIA_EXPORT_TEMPLATE, &texts->image, &count) != KAZEIA_OK) {
        cli_fail_more(&run->failure, ", nor one of the families qwen3, chatml, gemma3, llama3");
        return KAZEIA_NOT_FOUND;
    }
    // That no model was found is no failure any more.
    run->failure = (cli_sentence){""};
    return cli_checked(run, kazeia_program_open_memory(texts->image, count, NULL, &texts->program));
}

static void free_image(void *image) {
    kazeia_export_text_free(image, NULL);
}
#else
static kazeia_status open_family(cli_run *run, const char *name, cli_texts *texts) {
    (void)run;
    (void)name;
    (void)texts;
    return KAZEIA_NOT_FOUND; // families live in the exporter
}

static kazeia_status open_checkpoint(cli_run *run, const char *path, cli_texts_part part,
                                     cli_texts *texts) {
    (void)part;
    (void)texts;
    return cli_fail(&run->failure, KAZEIA_UNSUPPORTED,
                    "'%s' is no program, and this kazeia was built without the exporter, which "
                    "reads checkpoints",
                    path);
}

static void free_image(void *image) {
    (void)image; // never made
}
#endif

kazeia_status cli_texts_open(cli_run *run, const char *model, cli_texts_part part,
                             cli_texts *out_texts) {
    cli_model_path path;
    *out_texts = (cli_texts){0};
    const kazeia_status status = find_model(model, &path, &run->failure);
    if (status == KAZEIA_NOT_FOUND && part == CLI_TEXTS_TEMPLATE) {
        return open_family(run, model, out_texts);
    }
    CLI_TRY(status);
    if (is_program(path.text)) {
        return cli_checked(run, kazeia_program_open(path.text, NULL, &out_texts->program));
    }
    return open_checkpoint(run, path.text, part, out_texts);
}

void cli_texts_close(cli_texts *texts) {
    if (texts->program != NULL) {
        kazeia_program_close(texts->program);
    }
    free_image(texts->image);
    *texts = (cli_texts){0};
}
