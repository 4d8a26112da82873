// test_tokenizer_golden.c: the ids of the published tokenizers, line by line.
//
// in: tests/golden/tokenizer; vocabularies from there and from the folder of models. A vocabulary
// that is not there is named and left out; GPT-2's always is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text_test.h"
#include "tokenizer_fixture.h"

#define FOLDER "tests/golden/tokenizer/"
#define IDS_LIMIT 65536

typedef struct golden_run {
    kz_tokenizer *tokenizer;
    uint32_t flags;
    size_t wrong_count;
    uint32_t ids[IDS_LIMIT];
} golden_run;

static void print_difference(const json_t *line, const uint32_t *ids, size_t count) {
    char *text = json_dumps(line, JSON_COMPACT);
    print_error("expected %s\nfound   ", text);
    for (size_t i = 0; i < count; i++) {
        print_error(" %u", ids[i]);
    }
    print_error("\n");
    free(text);
}

static void check_encoding(void *context, json_t *line) {
    golden_run *run = context;
    const json_t *text = json_object_get(line, "text");
    const json_t *expected = json_object_get(line, "ids");
    size_t count = 0;
    assert_int_equal(kz_tokenizer_encode(run->tokenizer, json_string_value(text),
                                         json_string_length(text), run->flags, run->ids, IDS_LIMIT,
                                         &count),
                     KAZEIA_OK);
    bool is_equal = count == json_array_size(expected);
    for (size_t i = 0; is_equal && i < count; i++) {
        is_equal = json_integer_value(json_array_get(expected, i)) == run->ids[i];
    }
    if (!is_equal) {
        run->wrong_count++;
        print_difference(line, run->ids, count);
    }
}

static void check_decoding(void *context, json_t *line) {
    golden_run *run = context;
    const json_t *text = json_object_get(line, "text");
    const json_t *ids = json_object_get(line, "ids");
    const size_t room = kz_detokenizer_room(run->tokenizer);
    char *found = malloc((json_array_size(ids) + 1) * room);
    size_t count = 0;
    kz_detokenizer detokenizer;
    kz_detokenizer_init(&detokenizer, run->tokenizer, KZ_DECODE_TEXT);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const uint32_t id = (uint32_t)json_integer_value(json_array_get(ids, i));
        count += kz_detokenizer_push(&detokenizer, id, found + count);
    }
    count += kz_detokenizer_flush(&detokenizer, found + count);
    if (count != json_string_length(text) || memcmp(found, json_string_value(text), count) != 0) {
        run->wrong_count++;
        print_error("expected '%s'\nfound    '%.*s'\n", json_string_value(text), (int)count, found);
    }
    free(found);
}

static void run_file(golden_run *run, const char *path, uint32_t flags, size_t line_count,
                     void (*check)(void *context, json_t *line)) {
    run->flags = flags;
    run->wrong_count = 0;
    assert_int_equal(for_each_line(path, check, run), line_count);
    printf("%s: %zu of %zu\n", path, line_count - run->wrong_count, line_count);
    assert_int_equal(run->wrong_count, 0);
}

// lines.T and special.T of one vocabulary; the section is freed.
static void run_vocabulary(kz_bytes section, const char *name, bool has_specials) {
    golden_run *run = calloc(1, sizeof *run);
    char path[256];
    assert_int_equal(kz_tokenizer_open(&section, NULL, NULL, &run->tokenizer), KAZEIA_OK);
    snprintf(path, sizeof path, FOLDER "lines.%s.jsonl", name);
    run_file(run, path, KZ_ENCODE_PLAIN, 285, check_encoding);
    if (has_specials) {
        snprintf(path, sizeof path, FOLDER "special.%s.jsonl", name);
        run_file(run, path, KZ_ENCODE_PARSE_SPECIAL | KZ_ENCODE_ADD_BOS_EOS, 12, check_encoding);
    }
    if (strcmp(name, "whisper") == 0) {
        run_file(run, FOLDER "decode.whisper.jsonl", 0, 60, check_decoding);
    }
    if (strcmp(name, "gpt-2") == 0) {
        run_file(run, GPT2_FOLDER "/public.jsonl", KZ_ENCODE_PLAIN, 46, check_encoding);
    }
    kz_tokenizer_close(run->tokenizer);
    free(run);
    free_section(section);
}

static void gpt2_gives_the_published_ids(void **state) {
    (void)state;
    run_vocabulary(make_gpt2_section(), "gpt-2", true);
}

static void run_model(const char *file, const char *name, uint32_t more_flags) {
    const kz_bytes section = make_model_section(file, more_flags);
    if (section.count == 0) {
        skip();
    }
    run_vocabulary(section, name, strcmp(name, "whisper") != 0);
}

static void smollm2_gives_the_published_ids(void **state) {
    (void)state;
    run_model("smollm2-135m/*.gguf", "smollm2", 0);
}

static void whisper_gives_the_published_ids(void **state) {
    (void)state;
    run_model("whisper-base/tokenizer.json", "whisper", KZ_TOKENIZER_SPECIAL_IN_TEXT);
}

static void gemma3_gives_the_published_ids(void **state) {
    (void)state;
    run_model("gemma3-270m/*.gguf", "gemma3", 0);
}

static void qwen2_gives_the_published_ids(void **state) {
    (void)state;
    run_model("vocabularies/ggml-vocab-qwen2.gguf", "qwen2", 0);
}

static void llama_spm_gives_the_published_ids(void **state) {
    (void)state;
    run_model("vocabularies/ggml-vocab-llama-spm.gguf", "llama-spm", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_gives_the_published_ids),
        cmocka_unit_test(smollm2_gives_the_published_ids),
        cmocka_unit_test(whisper_gives_the_published_ids),
        cmocka_unit_test(gemma3_gives_the_published_ids),
        cmocka_unit_test(qwen2_gives_the_published_ids),
        cmocka_unit_test(llama_spm_gives_the_published_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
