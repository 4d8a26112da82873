// test_goldens.c: every golden of a folder, whatever it holds.
//
// in:  tests/golden/decoders, or the folder that $KAZEIA_GOLDENS names, of the same layout:
//        NAME-tiny/VARIANT                                a Hugging Face folder
//        NAME-tiny/expected/ids.json                      {"N": [ids]}
//        NAME-tiny/expected/VARIANT/logits_N.npy          of a variant's weights in float32
//        NAME-tiny/expected/VARIANT/greedy.json           {"greedy": {"N": {"ids"}}, "vocab_size"},
//        if any gguf/FILE.gguf                                   NAME-tiny-TYPE or NAME-tiny-k-TYPE
//        gguf/expected/NAME.ids.json, NAME-k.ids.json
//        gguf/expected/FILE.logits_f32_N.npy              of the dequantised weights in float32
//        gguf/expected/FILE.logits_llamacpp_N.npy         of llama.cpp
//      tests/golden/checkpoint for GGUF files that are there already, if expected/ has their logits
// out: cmocka's report, and each figure
//
// A NAME-tiny without ids.json is none of these. There is no list of cases: a file that is there is
// tested, so that a new golden needs no line here. A folder VARIANT-sharded without its own
// expected/ has VARIANT's.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder.h"

#define EXACT 1e-4 // of a row's largest logit
#define NAMES_LIMIT 256
#define NAME_BYTES 128
#define KL_OVER_LLAMA_CPP 1.5
#define TOP1_BELOW_LLAMA_CPP 0.03

static const char *const cpus[] = {"ref", NULL};
static const char *const modes[] = {"hybrid", "kv"};

static const char *goldens(void) {
    const char *folder = getenv("KAZEIA_GOLDENS");
    return folder && *folder ? folder : "tests/golden/decoders";
}

// --- Folders ------------------------------------------------------------------------------------

typedef struct name_list {
    char names[NAMES_LIMIT][NAME_BYTES]; // sorted
    size_t count;
} name_list;

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static bool ends_with(const char *name, const char *ending) {
    const size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

// Names in `folder` that begin and end so; none when there is no such folder.
static void list_names(const char *folder, const char *beginning, const char *ending,
                       name_list *out) {
    out->count = 0;
    DIR *directory = opendir(folder);
    const struct dirent *entry = NULL;
    while (directory && (entry = readdir(directory)) != NULL) {
        const char *name = entry->d_name;
        if (name[0] != '.' && strncmp(name, beginning, strlen(beginning)) == 0 &&
            ends_with(name, ending)) {
            assert_true(out->count < NAMES_LIMIT && strlen(name) < NAME_BYTES);
            snprintf(out->names[out->count++], NAME_BYTES, "%s", name);
        }
    }
    if (directory) {
        closedir(directory);
    }
    qsort(out->names, out->count, NAME_BYTES, by_name);
}

static void path_of(char out[PARITY_PATH_BYTES], const char *folder, const char *name) {
    const int length = snprintf(out, PARITY_PATH_BYTES, "%s/%s", folder, name);
    assert_true(length > 0 && length < PARITY_PATH_BYTES);
}

// "300" of "logits_300.npy".
static void key_of(const char *name, char out[NAME_BYTES]) {
    const char *digits = strrchr(name, '_') + 1;
    snprintf(out, NAME_BYTES, "%.*s", (int)strcspn(digits, "."), digits);
}

// --- One program --------------------------------------------------------------------------------

typedef struct golden {
    const char *source, *ids;       // paths
    char folder[PARITY_PATH_BYTES]; // of its logits
    char prefix[NAME_BYTES];        // of their names
    const char *greedy;             // NULL or a path
} golden;

typedef struct scores {
    double rows, top1, divergence; // sums over rows
} scores;

static float *compute(const decoder_model *model, const golden *test, const char *name,
                      parity_rows *out_expected) {
    char path[PARITY_PATH_BYTES], key[NAME_BYTES];
    size_t count = 0;
    path_of(path, test->folder, name);
    key_of(name, key);
    *out_expected = parity_read_rows(path);
    json_t *sequences = parity_read_json(test->ids);
    int32_t *ids = parity_ids(json_object_get(sequences, key), &count);
    assert_int_equal(count, out_expected->rows);
    float *values = decoder_logits(model, ids, count, 0, out_expected->columns);
    free(ids);
    json_decref(sequences);
    return values;
}

static void check_logits(const decoder_model *model, const golden *test) {
    name_list names;
    list_names(test->folder, test->prefix, ".npy", &names);
    assert_true(names.count > 0);
    for (size_t i = 0; i < names.count; i++) {
        parity_rows expected;
        float *values = compute(model, test, names.names[i], &expected);
        const double difference = parity_difference(values, &expected);
        print_message("%s, %s, %s: %.1e\n", test->source, names.names[i],
                      kazeia_runtime_kernel(model->runtime, NULL), difference);
        assert_true(difference <= EXACT);
        free(values);
        free(expected.values);
    }
}

static void check_continuations(const decoder_model *model, const golden *test) {
    json_t *greedy = parity_read_json(test->greedy);
    const char *key = NULL;
    json_t *entry = NULL;
    assert_true(json_object_size(json_object_get(greedy, "greedy")) > 0);
    json_object_foreach(json_object_get(greedy, "greedy"), key, entry) {
        decoder_check_greedy(model, test->ids, test->greedy, key);
    }
    json_decref(greedy);
}

static void export_to(const char *source, const char *weights, const char *kv, const char *mode,
                      uint32_t activation_bits, const char *folder,
                      char out_path[PARITY_PATH_BYTES]) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.activation_bits = activation_bits;
    settings.source = source;
    settings.weights = weights;
    settings.kv = kv;
    settings.mode = mode;
    parity_export(&settings, folder, out_path);
}

static void check_exact(const golden *test) {
    for (size_t i = 0; i < 2; i++) {
        char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
        parity_folder_create(folder);
        export_to(test->source, "f32", "f32", modes[i], 0, folder, path);
        for (size_t j = 0; j < 2; j++) {
            decoder_model model = decoder_open(path, cpus[j]);
            check_logits(&model, test);
            if (test->greedy) {
                check_continuations(&model, test);
            }
            decoder_close(&model);
        }
        parity_folder_remove(folder);
    }
}

// --- Hugging Face folders -----------------------------------------------------------------------

static bool has_file(const char *folder, const char *name) {
    char path[PARITY_PATH_BYTES];
    path_of(path, folder, name);
    FILE *file = fopen(path, "rb");
    if (file) {
        fclose(file);
    }
    return file != NULL;
}

static size_t check_variant(const char *family, const char *variant) {
    char source[PARITY_PATH_BYTES], ids[PARITY_PATH_BYTES], greedy[PARITY_PATH_BYTES];
    char expected[NAME_BYTES];
    golden test = {.source = source, .ids = ids, .prefix = "logits_"};
    path_of(source, family, variant);
    path_of(ids, family, "expected/ids.json");
    if (!has_file(source, "config.json")) { // "expected"
        return 0;
    }
    snprintf(expected, sizeof expected, "expected/%s", variant);
    path_of(test.folder, family, expected);
    if (ends_with(variant, "-sharded") && !has_file(test.folder, "greedy.json")) {
        test.folder[strlen(test.folder) - strlen("-sharded")] = '\0';
    }
    path_of(greedy, test.folder, "greedy.json");
    test.greedy = has_file(test.folder, "greedy.json") ? greedy : NULL;
    check_exact(&test);
    return 1;
}

static void folders_give_the_same_logits_and_tokens(void **state) {
    name_list families, variants;
    size_t count = 0;
    (void)state;
    list_names(goldens(), "", "-tiny", &families);
    for (size_t i = 0; i < families.count; i++) {
        char family[PARITY_PATH_BYTES];
        path_of(family, goldens(), families.names[i]);
        if (!has_file(family, "expected/ids.json")) { // of a voice or a Whisper, say
            continue;
        }
        list_names(family, "", "", &variants);
        for (size_t j = 0; j < variants.count; j++) {
            count += check_variant(family, variants.names[j]);
        }
    }
    assert_true(count > 0);
}

// --- GGUF files ---------------------------------------------------------------------------------

typedef struct gguf_file {
    char path[PARITY_PATH_BYTES], ids[PARITY_PATH_BYTES];
    char stem[NAME_BYTES - 32];    // "qwen3-tiny-k-Q4_K"
    char architecture[NAME_BYTES]; // "qwen3"
    char expected[PARITY_PATH_BYTES];
} gguf_file;

#define CHECKPOINTS "tests/golden/checkpoint"

static void describe_gguf(const char *name, gguf_file *out) {
    char gguf[PARITY_PATH_BYTES], ids[2 * NAME_BYTES];
    path_of(gguf, goldens(), "gguf");
    path_of(out->path, has_file(gguf, name) ? gguf : CHECKPOINTS, name);
    path_of(out->expected, gguf, "expected");
    snprintf(out->stem, sizeof out->stem, "%.*s", (int)(strlen(name) - strlen(".gguf")), name);
    const char *tiny = strstr(name, "-tiny-");
    assert_non_null(tiny);
    snprintf(out->architecture, NAME_BYTES, "%.*s", (int)(tiny - name), name);
    const bool is_wide = strncmp(tiny, "-tiny-k-", 8) == 0;
    snprintf(ids, sizeof ids, "%s%s.ids.json", out->architecture, is_wide ? "-k" : "");
    path_of(out->ids, out->expected, ids);
}

static golden golden_of(const gguf_file *file, const char *engine) {
    golden test = {.source = file->path, .ids = file->ids};
    snprintf(test.folder, sizeof test.folder, "%s", file->expected);
    snprintf(test.prefix, sizeof test.prefix, "%s.logits_%s_", file->stem, engine);
    return test;
}

// One name for each file that has logits.
static void list_gguf(name_list *out) {
    static const char mark[] = ".logits_f32_";
    char folder[PARITY_PATH_BYTES];
    name_list logits;
    path_of(folder, goldens(), "gguf/expected");
    list_names(folder, "", ".npy", &logits);
    out->count = 0;
    for (size_t i = 0; i < logits.count; i++) {
        const char *end = strstr(logits.names[i], mark);
        char name[NAME_BYTES];
        if (end) {
            snprintf(name, sizeof name, "%.*s.gguf", (int)(end - logits.names[i]), logits.names[i]);
        }
        // Sorted: the sequences of one file are neighbours.
        if (end && (out->count == 0 || strcmp(out->names[out->count - 1], name) != 0)) {
            snprintf(out->names[out->count++], NAME_BYTES, "%s", name);
        }
    }
    assert_true(out->count > 0);
}

static void gguf_files_mean_what_they_dequantise_to(void **state) {
    name_list names;
    (void)state;
    list_gguf(&names);
    for (size_t i = 0; i < names.count; i++) {
        gguf_file file;
        describe_gguf(names.names[i], &file);
        const golden test = golden_of(&file, "f32");
        check_exact(&test);
    }
}

static bool is_quantised(const char *stem) {
    return !ends_with(stem, "-F32") && !ends_with(stem, "-F16") && !ends_with(stem, "-BF16");
}

static void add_scores(scores *sum, const float *values, const parity_rows *expected) {
    const decoder_agreement found = decoder_compare(values, expected);
    sum->rows += (double)expected->rows;
    sum->top1 += found.top1 * (double)expected->rows;
    sum->divergence += found.divergence * (double)expected->rows;
}

// Ours and llama.cpp's distance from the float32 logits of one file, kept as it is.
static void add_file(const gguf_file *file, const char *cpu, uint32_t bits, scores *ours,
                     scores *theirs) {
    char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    name_list names;
    const golden test = golden_of(file, "f32");
    scores before = *ours;
    parity_folder_create(folder);
    export_to(file->path, "keep", "f16", "hybrid", bits, folder, path);
    decoder_model model = decoder_open(path, cpu);
    list_names(test.folder, test.prefix, ".npy", &names);
    for (size_t i = 0; i < names.count; i++) {
        char key[NAME_BYTES], other[2 * PARITY_PATH_BYTES];
        parity_rows expected;
        float *values = compute(&model, &test, names.names[i], &expected);
        key_of(names.names[i], key);
        snprintf(other, sizeof other, "%s/%s.logits_llamacpp_%s.npy", file->expected, file->stem,
                 key);
        parity_rows yardstick = parity_read_rows(other);
        add_scores(ours, values, &expected);
        add_scores(theirs, yardstick.values, &expected);
        free(yardstick.values);
        free(expected.values);
        free(values);
    }
    print_message("%s, keep, %s: top-1 %.3f, KL %.1e\n", file->stem,
                  kazeia_runtime_kernel(model.runtime, NULL),
                  (ours->top1 - before.top1) / (ours->rows - before.rows),
                  (ours->divergence - before.divergence) / (ours->rows - before.rows));
    decoder_close(&model);
    parity_folder_remove(folder);
}

static void check_pool(const char *architecture, const scores *ours, const scores *theirs) {
    print_message("%s, all quantised files: top-1 %.3f (llama.cpp %.3f), KL %.2e (llama.cpp "
                  "%.2e)\n",
                  architecture, ours->top1 / ours->rows, theirs->top1 / theirs->rows,
                  ours->divergence / ours->rows, theirs->divergence / theirs->rows);
    assert_true(ours->divergence <= KL_OVER_LLAMA_CPP * theirs->divergence);
    assert_true(ours->top1 / ours->rows >= theirs->top1 / theirs->rows - TOP1_BELOW_LLAMA_CPP);
}

// Single rows of random weights are easily upset; all rows of all files together are not.
static void check_kept(const char *cpu, uint32_t bits) {
    name_list names;
    list_gguf(&names);
    scores ours = {0}, theirs = {0};
    char architecture[NAME_BYTES] = "";
    for (size_t i = 0; i < names.count; i++) {
        gguf_file file;
        describe_gguf(names.names[i], &file);
        // Sorted names: all files of an architecture are neighbours.
        if (strcmp(file.architecture, architecture) != 0 && ours.rows > 0) {
            check_pool(architecture, &ours, &theirs);
            ours = theirs = (scores){0};
        }
        snprintf(architecture, sizeof architecture, "%s", file.architecture);
        if (is_quantised(file.stem)) {
            add_file(&file, cpu, bits, &ours, &theirs);
        }
    }
    assert_true(ours.rows > 0);
    check_pool(architecture, &ours, &theirs);
}

static void quantised_files_stay_as_near_as_llama_cpp(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check_kept(cpus[i], 0); // as the exporter chooses for models of this width
        check_kept(cpus[i], 8);
    }
}

// The first test has shown that ids are computed.
static void text_is_refused_without_a_tokenizer(void **state) {
    char folder[PARITY_PATH_BYTES], path[PARITY_PATH_BYTES];
    kazeia_stage *chat = NULL;
    size_t taken = 1, tokens = 0;
    double perplexity = 0;
    (void)state;
    parity_folder_create(folder);
    export_to("tests/golden/decoders/gemma3-tiny/bf16", "f32", "f32", "hybrid", 0, folder, path);
    decoder_model model = decoder_open(path, NULL);
    assert_int_equal(kazeia_stage_feed(model.chat, "hello", 5, &taken), KAZEIA_UNSUPPORTED);
    assert_int_equal(taken, 0);
    assert_non_null(strstr(kazeia_last_error(), "takes token ids only"));
    assert_int_equal(kazeia_stage_finish(model.chat), KAZEIA_UNSUPPORTED);
    assert_int_equal(kazeia_chat_perplexity(model.chat, "hello", 5, 4, &perplexity, &tokens),
                     KAZEIA_UNSUPPORTED);
    // With a template there is nothing that such a chat could do.
    assert_int_equal(kazeia_chat_create(model.runtime, model.program, NULL, &chat),
                     KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "takes token ids only"));
    decoder_close(&model);
    parity_folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_give_the_same_logits_and_tokens),
        cmocka_unit_test(gguf_files_mean_what_they_dequantise_to),
        cmocka_unit_test(quantised_files_stay_as_near_as_llama_cpp),
        cmocka_unit_test(text_is_refused_without_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
