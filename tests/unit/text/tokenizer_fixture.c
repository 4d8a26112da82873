// tokenizer_fixture.c: see tokenizer_fixture.h.
//
// in: files of tests/golden and, where they are, models. out: tokenizer sections.
#include "tokenizer_fixture.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/checkpoint/tokenizer_files.h"

static void *allocate_counted(void *context, size_t bytes) {
    counting_allocator *counting = context;
    counting->call_count++;
    if (counting->fail_at > 0 && counting->call_count >= counting->fail_at) {
        return NULL;
    }
    counting->live_count++;
    return malloc(bytes);
}

static void release_counted(void *context, void *memory) {
    counting_allocator *counting = context;
    counting->live_count -= memory != NULL ? 1 : 0;
    free(memory);
}

void counting_allocator_init(counting_allocator *counting) {
    *counting = (counting_allocator){.allocator = {counting, allocate_counted, release_counted}};
}

static void end_unless(bool is_good, const char *what) {
    if (!is_good) {
        fprintf(stderr, "%s: %s\n", what, kazeia_last_error());
        exit(1);
    }
}

char *read_whole_file(const char *path, size_t *out_count) {
    FILE *file = fopen(path, "rb");
    end_unless(file != NULL && fseek(file, 0, SEEK_END) == 0, path);
    const long size = ftell(file);
    char *bytes = malloc((size_t)size + 1);
    rewind(file);
    end_unless(bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size, path);
    fclose(file);
    bytes[size] = '\0';
    *out_count = (size_t)size;
    return bytes;
}

static json_t *read_json(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    end_unless(root != NULL, path);
    return root;
}

static kz_bytes build_draft(kz_tokenizer_draft *draft, uint32_t more_flags, const char *what) {
    uint8_t *bytes = NULL;
    size_t count = 0;
    kz_tokenizer_draft_source(draft)->flags |= more_flags;
    end_unless(kz_tokenizer_draft_build(draft, &bytes, &count) == KAZEIA_OK, what);
    kz_tokenizer_draft_destroy(draft);
    return (kz_bytes){bytes, count};
}

kz_bytes make_gpt2_section(void) {
    json_t *vocabulary = read_json(GPT2_FOLDER "/vocab.json");
    size_t count = 0;
    char *merges = read_whole_file(GPT2_FOLDER "/merges.txt", &count);
    kz_tokenizer_draft *draft = NULL;
    end_unless(kz_tokenizer_from_vocabulary(vocabulary, NULL, merges, count, "gpt-2", NULL,
                                            &draft) == KAZEIA_OK,
               GPT2_FOLDER);
    json_decref(vocabulary);
    free(merges);
    return build_draft(draft, 0, GPT2_FOLDER);
}

void free_section(kz_bytes section) {
    const kazeia_allocator allocator = kz_allocator_or_default(NULL);
    kz_free_aligned(&allocator, (void *)section.bytes);
}

static kz_tokenizer_token token_of(const char *text, uint8_t kind, float score) {
    return (kz_tokenizer_token){(const uint8_t *)text, (uint32_t)strlen(text), kind, score};
}

// The 256 single bytes as tokens; `bytes` must outlive the source.
static void fill_bytes(uint8_t bytes[256], kz_tokenizer_token *tokens, uint8_t kind) {
    for (unsigned i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        tokens[i] = (kz_tokenizer_token){&bytes[i], 1, kind, 0};
    }
}

static kz_bytes build_source(const kz_tokenizer_source *source) {
    uint8_t *section = NULL;
    size_t count = 0;
    end_unless(kz_tokenizer_build(source, NULL, &section, &count) == KAZEIA_OK, "small vocabulary");
    return (kz_bytes){section, count};
}

kz_bytes make_small_spm_section(uint32_t flags) {
    static uint8_t bytes[256];
    kz_tokenizer_token tokens[272] = {token_of("<unk>", KZ_TOKEN_UNKNOWN, 0),
                                      token_of("<s>", KZ_TOKEN_CONTROL, 0),
                                      token_of("</s>", KZ_TOKEN_CONTROL, 0)};
    fill_bytes(bytes, tokens + 3, KZ_TOKEN_BYTE);
    static const struct {
        const char *text;
        float score;
    } PIECES[] = {{" ", -10},  {"a", -11}, {"b", -12}, {"c", -13}, {"ab", -1},  {"bc", -1},
                  {"abc", -5}, {" a", -4}, {"é", -9},  {"  ", -2}, {" ab", -3}, {"<s", -3}};
    uint32_t count = 259;
    for (size_t i = 0; i < sizeof PIECES / sizeof PIECES[0]; i++) {
        tokens[count++] = token_of(PIECES[i].text, KZ_TOKEN_NORMAL, PIECES[i].score);
    }
    return build_source(&(kz_tokenizer_source){.kind = KZ_TOKENIZER_SENTENCEPIECE_BPE,
                                               .flags = flags,
                                               .bos = 1,
                                               .eos = 2,
                                               .unknown = 0,
                                               .tokens = tokens,
                                               .token_count = count});
}

kz_bytes make_small_byte_section(uint32_t flags, const char *const *patterns,
                                 uint32_t pattern_count) {
    static uint8_t bytes[256];
    kz_tokenizer_token tokens[264];
    fill_bytes(bytes, tokens, KZ_TOKEN_NORMAL);
    tokens[256] = token_of("ab", KZ_TOKEN_NORMAL, 0);
    tokens[257] = token_of("abc", KZ_TOKEN_NORMAL, 0);
    tokens[258] = token_of("bc", KZ_TOKEN_NORMAL, 0);
    tokens[259] = token_of("<|end|>", KZ_TOKEN_CONTROL, 0);
    tokens[260] = token_of("<mask>", KZ_TOKEN_USER | KZ_TOKEN_STRIPS_LEFT, 0);
    tokens[261] = token_of("<fill>", KZ_TOKEN_USER | KZ_TOKEN_STRIPS_RIGHT, 0);
    tokens[262] = token_of("<|end|>>", KZ_TOKEN_USER, 0);
    tokens[263] = token_of("\xc3\xa9", KZ_TOKEN_NORMAL, 0);
    static const kz_tokenizer_merge MERGES[] = {
        {'b', 'c', 258}, {'a', 'b', 256}, {256, 'c', 257}, {0xc3, 0xa9, 263}};
    return build_source(&(kz_tokenizer_source){.kind = KZ_TOKENIZER_BYTE_BPE,
                                               .flags = flags,
                                               .bos = 259,
                                               .eos = KZ_NO_TOKEN,
                                               .unknown = KZ_NO_TOKEN,
                                               .patterns = patterns,
                                               .pattern_count = pattern_count,
                                               .tokens = tokens,
                                               .token_count = 264,
                                               .merges = MERGES,
                                               .merge_count = 4});
}

// The first file that matches NAME in the folder of models; false when there is none.
static bool find_model_file(const char *name, char *out_path, size_t capacity) {
    const char *folder = getenv("KAZEIA_MODELS");
    const char *home = getenv("HOME");
    char pattern[4096];
    if (folder != NULL) {
        snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
    } else {
        snprintf(pattern, sizeof pattern, "%s/.cache/kazeia/%s", home != NULL ? home : ".", name);
    }
    glob_t found;
    const bool is_found = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
    if (is_found) {
        snprintf(out_path, capacity, "%s", found.gl_pathv[0]);
    } else {
        printf("left out: there is no '%s' (scripts/fetch-models brings models)\n", pattern);
    }
    globfree(&found);
    return is_found;
}

static kz_tokenizer_draft *read_gguf(const char *path) {
    kz_checkpoint *checkpoint = NULL;
    kz_tokenizer_draft *draft = NULL;
    end_unless(kz_checkpoint_open(path, NULL, &checkpoint) == KAZEIA_OK, path);
    end_unless(kz_tokenizer_from_gguf(checkpoint, NULL, &draft) == KAZEIA_OK, path);
    kz_checkpoint_close(checkpoint);
    return draft;
}

static kz_tokenizer_draft *read_tokenizer_json(const char *path) {
    kz_tokenizer_draft *draft = NULL;
    json_t *root = read_json(path);
    end_unless(kz_tokenizer_from_json(root, NULL, &draft) == KAZEIA_OK, path);
    json_decref(root);
    return draft;
}

kz_bytes make_model_section(const char *name, uint32_t more_flags) {
    char path[4096];
    if (!find_model_file(name, path, sizeof path)) {
        return (kz_bytes){NULL, 0};
    }
    const size_t length = strlen(path);
    const bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    return build_draft(is_json ? read_tokenizer_json(path) : read_gguf(path), more_flags, path);
}
