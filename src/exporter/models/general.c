// general.c: what a program says of its origin: name, architecture, licence, source.
//   in   GGUF's general.* keys; config.json, README.md and the name of the folder
//   out  metadata general.*
// For people, never for decisions: what is not known is left out. Only the front matter of
// README.md is read, where model cards state the licence.
#include <stdio.h>
#include <string.h>

#include "exporter/models/language.h"

// Front matter stands at the very beginning: the rest of a card is not looked at.
#define CARD_BYTES 16384
#define WORDS_BYTES 160

static const char *first_string(const kz_checkpoint *checkpoint, const char *const *keys) {
    for (; *keys; keys++) {
        const char *text = kz_checkpoint_string(checkpoint, *keys);
        if (text && *text) {
            return text;
        }
    }
    return NULL;
}

// --- Name ---------------------------------------------------------------------------------------

// The last part of `path`, without its ending where `has_ending`; false for "." and the like.
static bool take_last_part(const char *path, bool has_ending, char out[WORDS_BYTES]) {
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    // A dot in front hides a file and begins no ending.
    for (size_t i = end; has_ending && i > begin + 1; i--) {
        if (path[i - 1] == '.') {
            end = i - 1;
            break;
        }
    }
    if (end == begin || path[begin] == '.' || end - begin >= WORDS_BYTES) {
        return false;
    }
    memcpy(out, path + begin, end - begin);
    out[end - begin] = '\0';
    return true;
}

// Hugging Face's repository, where config.json names one and not somebody's folder.
static kazeia_status find_repository(kz_checkpoint *checkpoint, const char **out_name) {
    const json_t *config = NULL;
    KZ_TRY(kz_checkpoint_json(checkpoint, "config.json", &config));
    const char *name = json_string_value(json_object_get(config, "_name_or_path"));
    // transformers writes the path it loaded from, which may name somebody's machine.
    const bool is_repository = name && *name && *name != '.' && *name != '/' && *name != '~' &&
                               !strchr(name, '\\') && strlen(name) < WORDS_BYTES;
    *out_name = is_repository ? name : NULL;
    return KAZEIA_OK;
}

static kazeia_status add_name(kz_checkpoint *checkpoint, kz_graph *graph) {
    static const char *const keys[] = {"general.name", NULL};
    char text[WORDS_BYTES];
    const char *name = first_string(checkpoint, keys);
    if (!name) {
        KZ_TRY(find_repository(checkpoint, &name));
    }
    if (!name) {
        const kz_checkpoint_kind kind = kz_checkpoint_kind_of(checkpoint);
        // Of these the file is named after the model; of the others, whose file is called model.bin
        // or so, the folder.
        const bool is_one_file = kind == KZ_CHECKPOINT_GGUF || kind == KZ_CHECKPOINT_WHISPER_GGML;
        const char *path =
            is_one_file ? kz_checkpoint_path(checkpoint) : kz_checkpoint_folder(checkpoint);
        name = path && take_last_part(path, is_one_file, text) ? text : NULL;
    }
    kz_graph_set_string(graph, "general.name", name);
    return KAZEIA_OK;
}

// --- Licence ------------------------------------------------------------------------------------

// The value of "license:" between the two "---" lines; false when there is none.
static bool find_licence(const char *text, size_t count, char out[WORDS_BYTES]) {
    static const char key[] = "license:";
    if (count < 4 || memcmp(text, "---\n", 4) != 0) { // a missing card is no text at all
        return false;
    }
    const char *end = text + (count < CARD_BYTES ? count : CARD_BYTES);
    const char *line = text;
    for (;;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
        // 8 bytes at least, so that both comparisons stay inside; "license:" alone has as many.
        if (end - line < 8 || memcmp(line, "---", 3) == 0) {
            return false;
        }
        if (memcmp(line, key, sizeof key - 1) == 0) {
            break;
        }
    }
    char words[WORDS_BYTES];
    size_t used = 0;
    for (line += sizeof key - 1; line < end && *line != '\n' && used + 1 < sizeof words; line++) {
        // The words reach terminals and web pages: plain characters only.
        if (*line > ' ' && *line < 127 && *line != '"' && *line != '\'') {
            words[used++] = *line;
        }
    }
    words[used] = '\0';
    memcpy(out, words, used + 1);
    return used > 0;
}

static kazeia_status add_licence(kz_checkpoint *checkpoint, kz_graph *graph) {
    static const char *const keys[] = {"general.license", NULL};
    char text[WORDS_BYTES];
    kz_file_map card = {0};
    const char *licence = first_string(checkpoint, keys);
    if (!licence) {
        KZ_TRY(kz_checkpoint_map_file(checkpoint, "README.md", &card));
        licence = find_licence((const char *)card.bytes, card.size, text) ? text : NULL;
        // The words were copied: nothing points into the card any more.
        kz_file_map_close(&card);
    }
    kz_graph_set_string(graph, "general.license", licence);
    return KAZEIA_OK;
}

kazeia_status kz_model_add_general(kz_checkpoint *checkpoint, kz_graph *graph) {
    static const char *const sources[] = {"general.source.url", "general.repo_url", "general.url",
                                          "general.source.huggingface.repository", NULL};
    const char *architecture = kz_checkpoint_architecture(checkpoint);
    // The checkpoint's word for "no file says it": a definition that knows better adds its own.
    kz_graph_set_string(graph, "general.architecture",
                        strcmp(architecture, "unknown") == 0 ? NULL : architecture);
    KZ_TRY(add_name(checkpoint, graph));
    KZ_TRY(add_licence(checkpoint, graph));
    kz_graph_set_string(graph, "general.source", first_string(checkpoint, sources));
    kz_graph_set_string(graph, "general.checkpoint",
                        kz_checkpoint_kind_name(kz_checkpoint_kind_of(checkpoint)));
    return KAZEIA_OK;
}
