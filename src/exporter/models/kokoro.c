// kokoro.c: Kokoro-82M: symbols of phonemes -> speech at 24 kHz.
//   in   the ONNX file that quantises it to 8 bits (its nodes name the weights), vocab.json with
//   its
//        symbols, a folder of voices: NAME.bin, f32 [rows][style]
//   out  the graph of docs/abilities.md "speak", kind "kokoro"
// The original is hexgrad's Kokoro; docs/models/kokoro.md says what the file computes otherwise.
#include "exporter/models/kokoro.h"

#include <math.h>
#include <string.h>

#include "base/file_system.h"
#include "base/half.h"
#include "exporter/checkpoint/cursor.h"
#include "exporter/models/language.h"

#define FRAME_LIMIT 440u // of a piece, 11 s: what its memory is planned for
#define VOICE_LIMIT 64u
#define NAME_BYTES 64u
#define STYLE_ROWS_LIMIT 4096u

// --- Symbols ------------------------------------------------------------------------------------

static kazeia_status add_symbols(kz_kokoro_graph *k, uint64_t id_limit) {
    const json_t *root = NULL;
    const char *names[512];
    int64_t codes[512];
    size_t count = 0;
    KZ_TRY(kz_checkpoint_json(k->checkpoint, "vocab.json", &root));
    const json_t *symbols = json_object_get(root, "vocab");
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)symbols, key, value) {
        const json_int_t code = json_is_integer(value) ? json_integer_value(value) : -1;
        if (count == 512 || code < 0 || (uint64_t)code >= id_limit) {
            return kz_fail(KAZEIA_BAD_FILE, "vocab.json: symbol '%s' has no number below %llu", key,
                           (unsigned long long)id_limit);
        }
        names[count] = key;
        codes[count++] = code;
    }
    if (count == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "vocab.json: no object 'vocab' of symbols beside '%s'",
                       kz_checkpoint_path(k->checkpoint));
    }
    kz_graph_set_strings(k->graph, "speak.symbols", names, count);
    kz_graph_set_integers(k->graph, "speak.symbol_codes", codes, count);
    return KAZEIA_OK;
}

// --- Voices -------------------------------------------------------------------------------------

typedef struct voice_list {
    kz_kokoro_graph *k;
    const char *names[VOICE_LIMIT]; // without ".bin", ascending
    size_t count;
} voice_list;

static kazeia_status list_voice(void *context, const char *name) {
    voice_list *list = context;
    const size_t length = strlen(name);
    if (length < 5 || length - 4 >= NAME_BYTES || strcmp(name + length - 4, ".bin") != 0) {
        return KAZEIA_OK;
    }
    if (list->count == VOICE_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "kokoro: more than %u voices", VOICE_LIMIT);
    }
    const char *stem = kz_graph_name(list->k->graph, "%.*s", (int)(length - 4), name);
    size_t place = list->count++;
    for (; place > 0 && strcmp(list->names[place - 1], stem) > 0; place--) {
        list->names[place] = list->names[place - 1];
    }
    list->names[place] = stem;
    return kz_graph_status(list->k->graph);
}

// A voice's first letter says what it speaks.
static const char *language_of(const char *name) {
    static const struct {
        char letter;
        const char *language;
    } languages[] = {{'a', "en-us"}, {'b', "en-gb"}, {'e', "es"},    {'f', "fr"}, {'h', "hi"},
                     {'i', "it"},    {'j', "ja"},    {'p', "pt-br"}, {'z', "zh"}};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        if (languages[i].letter == name[0]) {
            return languages[i].language;
        }
    }
    return "";
}

static kazeia_status check_table(const kz_file_map *map, const char *path, size_t row_bytes,
                                 uint32_t *rows) {
    const size_t found = map->size / row_bytes;
    if (map->size % row_bytes != 0 || found == 0 || found > STYLE_ROWS_LIMIT ||
        (*rows != 0 && found != *rows)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "voice '%s' has %zu bytes, expected 1 to %u rows of %zu bytes, as many as "
                       "the others have",
                       path, map->size, STYLE_ROWS_LIMIT, row_bytes);
    }
    for (size_t i = 0; i < map->size; i += 4) {
        if (!isfinite(kz_float_from_bits(kz_read_u32(map->bytes + i)))) {
            return kz_fail(KAZEIA_BAD_FILE, "voice '%s': number %zu is not finite", path, i / 4);
        }
    }
    *rows = (uint32_t)found;
    return KAZEIA_OK;
}

// Appends the voice's rows to `table`, which is made when the first one tells how many there are.
static kazeia_status read_voice(voice_list *list, size_t index, const char *path, uint32_t style,
                                float **table) {
    kz_kokoro_graph *k = list->k;
    kz_file_map map = {0};
    KZ_TRY(kz_file_map_open(path, &map));
    kazeia_status status = check_table(&map, path, style * sizeof(float), &k->voice_rows);
    if (status == KAZEIA_OK && !*table) {
        *table = kz_kokoro_room(k, (uint64_t)list->count * k->voice_rows * style);
        status = kz_graph_status(k->graph);
    }
    if (status == KAZEIA_OK) {
        memcpy(*table + index * k->voice_rows * style, map.bytes, map.size);
    }
    kz_file_map_close(&map);
    return status;
}

static kazeia_status read_voices(voice_list *list, const char *folder, uint32_t style,
                                 float **table, kz_text_buffer *path) {
    KZ_TRY(kz_folder_list(folder, list_voice, list));
    if (list->count == 0) {
        return kz_fail(KAZEIA_NOT_FOUND, "'%s' holds no voice, NAME.bin", folder);
    }
    for (size_t i = 0; i < list->count; i++) {
        const char *file = kz_graph_name(list->k->graph, "%s.bin", list->names[i]);
        kz_text_buffer_reset(path);
        KZ_TRY(kz_path_join(folder, file, path));
        KZ_TRY(read_voice(list, i, path->bytes, style, table));
    }
    return KAZEIA_OK;
}

static kazeia_status add_voices(kz_kokoro_graph *k, const char *given, uint32_t style) {
    voice_list list = {.k = k};
    const char *languages[VOICE_LIMIT];
    float *table = NULL;
    kz_text_buffer folder = {0}, path = {0};
    kazeia_status status = kz_text_buffer_init(&folder, &k->graph->memory.allocator, 256, 4096);
    if (status == KAZEIA_OK) {
        status = kz_text_buffer_init(&path, &k->graph->memory.allocator, 256, 4096);
    }
    if (status == KAZEIA_OK && !given) {
        const char *beside = kz_checkpoint_folder(k->checkpoint);
        status = kz_path_join(beside ? beside : ".", "voices", &folder);
    }
    if (status == KAZEIA_OK) {
        status = read_voices(&list, given ? given : folder.bytes, style, &table, &path);
    }
    kz_text_buffer_clear(&path);
    kz_text_buffer_clear(&folder);
    KZ_TRY(status);
    for (size_t i = 0; i < list.count; i++) {
        languages[i] = language_of(list.names[i]);
    }
    kz_graph_set_strings(k->graph, "speak.speakers", list.names, list.count);
    kz_graph_set_strings(k->graph, "speak.speaker_languages", languages, list.count);
    kz_graph_set_integer(k->graph, "speak.style_rows", k->voice_rows);
    k->voices = kz_kokoro_constant(k, "voices", (uint64_t)list.count * k->voice_rows, style, table);
    k->voice_rows *= (uint32_t)list.count;
    return kz_graph_status(k->graph);
}

uint32_t kz_kokoro_add_style(kz_kokoro_graph *k) {
    const uint32_t voice = kz_method_input(k->method, "voice", KZ_I32, k->voice_rows, 1,
                                           kz_dim_constant(1), kz_dim_constant(1));
    return kz_node_embed(k->method, voice, k->voices, 1.0f);
}

// --- The program --------------------------------------------------------------------------------

static bool matches(const kz_checkpoint *checkpoint) {
    return kz_checkpoint_kind_of(checkpoint) == KZ_CHECKPOINT_ONNX &&
           kz_checkpoint_find(checkpoint, "/decoder/decoder/generator/conv_post/Conv[1]") &&
           kz_checkpoint_find(checkpoint, "/encoder/bert_encoder/MatMul[1]");
}

static kazeia_status refuse_chat_options(const kz_model_options *options) {
    if (!options->is_hybrid || options->context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "%s: is for language models; Kokoro has none: leave it out",
                       options->context ? "context" : "mode");
    }
    return KAZEIA_OK;
}

static kazeia_status build(kz_checkpoint *checkpoint, const kz_model_options *options,
                           kz_graph *graph) {
    kz_kokoro_graph k = {.checkpoint = checkpoint, .graph = graph, .frame_limit = FRAME_LIMIT};
    KZ_TRY(refuse_chat_options(options));
    KZ_TRY(kz_model_add_general(checkpoint, graph));
    const kz_checkpoint_tensor *positions =
        kz_kokoro_tensor(&k, "/encoder/bert/embeddings/position_embeddings/Gather[0]");
    const kz_checkpoint_tensor *style =
        kz_kokoro_tensor(&k, "/encoder/F0.0/norm1/fc/Gemm_MatMul[1]");
    const kz_checkpoint_tensor *words =
        kz_kokoro_tensor(&k, "/encoder/text_encoder/embedding/Gather[0]");
    KZ_TRY(kz_graph_status(graph));
    if (positions->dims[0] < 3 || positions->dims[0] > UINT16_MAX || style->dims[0] == 0 ||
        style->dims[0] > UINT16_MAX || words->dims[0] > UINT16_MAX) {
        return kz_fail(KAZEIA_BAD_FILE, "kokoro: %llu positions, %llu columns of style",
                       (unsigned long long)positions->dims[0], (unsigned long long)style->dims[0]);
    }
    k.symbol_limit = (uint32_t)positions->dims[0];
    kz_graph_set_string(graph, "general.architecture", "kokoro");
    kz_graph_set_string(graph, "ability", "speak");
    kz_graph_set_string(graph, "speak.kind", "kokoro");
    kz_graph_set_integer(graph, "speak.sample_rate_hz", 24000);
    kz_graph_set_integer(graph, "speak.samples_per_frame", 600);
    kz_graph_set_integer(graph, "speak.ids", (int64_t)words->dims[0]);
    // Durations decide what all that follows hears: their products get 16 bits.
    graph->has_fine_activations = true;
    KZ_TRY(add_symbols(&k, words->dims[0]));
    KZ_TRY(add_voices(&k, options->voices, 2 * (uint32_t)style->dims[0]));
    kz_kokoro_add_durations(&k);
    KZ_TRY(kz_graph_status(graph));
    kz_kokoro_add_waveform(&k);
    return kz_graph_status(graph);
}

const kz_model kz_model_kokoro = {"kokoro", matches, build};
