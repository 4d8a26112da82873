// test_whisper_vocabulary.c: what a whisper.cpp file leaves out is found again: merges and
// suppressed tokens.
//
// in:  $KAZEIA_MODELS/whisper-base/tokenizer.json, tests/golden/whisper/base
// out: cmocka's report; without the model, a sentence and nothing tested
// The file is made here from the same vocabulary: a header, empty mel filters, the tokens' bytes.
#include <stdlib.h>
#include <string.h>

#include "checkpoint_samples.h"
#include "exporter/models/whisper.h"
#include "parity.h"

#define ORDINARY_TOKENS 50257u
#define MERGES 50000u

typedef struct fixture {
    kz_checkpoint *folder; // with tokenizer.json
    kz_tokenizer_draft *published;
    byte_string bytes;
    kz_checkpoint *ggml;
} fixture;

static void append_header(byte_string *string) {
    // n_vocab, n_audio_ctx, _state, _head, _layer, n_text_ctx, _state, _head, _layer, n_mels, ftype
    static const uint32_t header[] = {51865, 1500, 512, 8, 6, 448, 512, 8, 6, 80, 1};
    bytes_u32(string, 0x67676d6c);
    for (size_t i = 0; i < sizeof header / sizeof *header; i++) {
        bytes_u32(string, header[i]);
    }
    bytes_u32(string, 1);
    bytes_u32(string, 1);
    bytes_f32(string, 0.0f);
}

static void append_tokens(byte_string *string, const kz_tokenizer_source *source,
                          uint32_t repeated) {
    bytes_u32(string, ORDINARY_TOKENS);
    for (uint32_t i = 0; i < ORDINARY_TOKENS; i++) {
        const kz_tokenizer_token *token = &source->tokens[repeated && i == repeated ? i - 1 : i];
        bytes_u32(string, token->count);
        bytes_append(string, token->bytes, token->count);
    }
}

static void append_tensor(byte_string *string) {
    bytes_u32(string, 1);
    bytes_u32(string, 1);
    bytes_u32(string, 0);
    bytes_u32(string, 1);
    bytes_append_text(string, "t");
    bytes_f32(string, 0.0f);
}

// `repeated`: this token has the bytes of the one before it; 0 for none.
static bool open_fixture(fixture *f, uint32_t repeated) {
    char path[PARITY_PATH_BYTES];
    const json_t *root = NULL;
    *f = (fixture){0};
    if (!parity_find_model("whisper-base", path)) {
        return false;
    }
    CHECK(kz_checkpoint_open(path, NULL, &f->folder));
    CHECK(kz_checkpoint_json(f->folder, "tokenizer.json", &root));
    CHECK(kz_tokenizer_from_json(root, NULL, &f->published));
    const kz_tokenizer_source *source = kz_tokenizer_draft_source(f->published);
    append_header(&f->bytes);
    append_tokens(&f->bytes, source, repeated);
    append_tensor(&f->bytes);
    CHECK(kz_checkpoint_open_memory(f->bytes.bytes, f->bytes.count, "made.bin", NULL, &f->ggml));
    return true;
}

static void close_fixture(fixture *f) {
    kz_checkpoint_close(f->ggml);
    bytes_clear(&f->bytes);
    kz_tokenizer_draft_destroy(f->published);
    kz_checkpoint_close(f->folder);
}

static kazeia_status draft_vocabulary(const kz_checkpoint *ggml, kz_tokenizer_draft **out_draft) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    return kz_whisper_draft_vocabulary(ggml, &memory, out_draft);
}

static void merges_are_those_published(void **state) {
    fixture f;
    kz_tokenizer_draft *draft = NULL;
    (void)state;
    if (!open_fixture(&f, 0)) {
        skip();
    }
    CHECK(draft_vocabulary(f.ggml, &draft));
    const kz_tokenizer_source *found = kz_tokenizer_draft_source(draft);
    const kz_tokenizer_source *wanted = kz_tokenizer_draft_source(f.published);
    assert_int_equal(wanted->merge_count, MERGES);
    assert_int_equal(found->merge_count, wanted->merge_count);
    assert_memory_equal(found->merges, wanted->merges, MERGES * sizeof *found->merges);
    assert_int_equal(found->token_count, wanted->token_count);
    for (uint32_t i = 0; i < ORDINARY_TOKENS; i++) {
        assert_int_equal(found->tokens[i].count, wanted->tokens[i].count);
        assert_memory_equal(found->tokens[i].bytes, wanted->tokens[i].bytes,
                            wanted->tokens[i].count);
    }
    kz_tokenizer_draft_destroy(draft);
    close_fixture(&f);
}

static void check_list(const int64_t *found, size_t found_count, const json_t *wanted) {
    size_t count = 0;
    int32_t *ids = parity_ids(wanted, &count);
    assert_int_equal(found_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i], ids[i]);
    }
    free(ids);
}

static void suppressed_tokens_are_those_published(void **state) {
    fixture f;
    kz_whisper_tokens *tokens = calloc(1, sizeof *tokens);
    (void)state;
    assert_non_null(tokens);
    if (!open_fixture(&f, 0)) {
        free(tokens);
        skip();
    }
    json_t *golden = parity_read_json("tests/golden/whisper/base/expected.json");
    tokens->end = 50257;
    tokens->start = 50258;
    tokens->transcribe = 50359;
    tokens->no_speech = 50362;
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    CHECK(kz_whisper_find_suppressed(f.ggml, &memory, tokens));
    check_list(tokens->suppress, tokens->suppress_count, json_object_get(golden, "suppress"));
    check_list(tokens->suppress_begin, tokens->suppress_begin_count,
               json_object_get(golden, "suppress_begin"));
    json_decref(golden);
    free(tokens);
    close_fixture(&f);
}

// Converters that write tokens as text lose the bytes that are none.
static void lost_bytes_are_refused(void **state) {
    fixture f;
    kz_tokenizer_draft *draft = NULL;
    (void)state;
    if (!open_fixture(&f, 200)) {
        skip();
    }
    assert_int_equal(draft_vocabulary(f.ggml, &draft), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "tokens 199 and 200 have the same bytes"));
    close_fixture(&f);
}

// Whisper's tokens are found in any text, also where only the folder's texts are opened.
static void a_folder_of_texts_is_known_for_a_whisper(void **state) {
    (void)state;
    char path[PARITY_PATH_BYTES];
    if (!parity_find_model("whisper-base", path)) {
        skip();
    }
    kz_checkpoint *folder = NULL;
    CHECK(kz_checkpoint_open_text(path, NULL, &folder));
    assert_true(kz_model_whisper.matches(folder));
    kz_checkpoint_close(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_are_those_published),
        cmocka_unit_test(suppressed_tokens_are_those_published),
        cmocka_unit_test(lost_bytes_are_refused),
        cmocka_unit_test(a_folder_of_texts_is_known_for_a_whisper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
