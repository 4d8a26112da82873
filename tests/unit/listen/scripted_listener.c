// scripted_listener.c: a program that hears the same tokens in every sound.
//
// in:  a language, tokens
// out: an opened program with the ability "listen"
#include "scripted_listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "base/alloc.h"

#define MELS 80
#define POSITIONS (KZ_MEL_ROWS / 2)
#define STEP_TOKENS 16
#define ENCODER_LAYERS 2

static const int64_t language_tokens[] = {SCRIPT_FRENCH, SCRIPT_ENGLISH, SCRIPT_BRETON};
static const char *const languages[] = {"fr", "en", "br"};
static const int64_t suppressed[] = {SCRIPT_SUPPRESSED};
static const int64_t suppressed_first[] = {SCRIPT_SUPPRESSED_FIRST};

// A matrix with given values: [rows][SCRIPT_VOCABULARY].
static uint32_t add_matrix(tiny_builder *builder, const char *name, uint32_t rows,
                           const float *values) {
    const size_t place = builder->weight_bytes;
    const uint32_t tensor = tiny_matrix(builder, name, KZ_F32, rows, SCRIPT_VOCABULARY, 0);
    const size_t panel_bytes = kz_layout_panel_bytes(KZ_F32, SCRIPT_VOCABULARY);
    for (uint32_t row = 0; row < rows; row += KZ_PANEL_ROWS) {
        const void *pointers[KZ_PANEL_ROWS];
        for (uint32_t i = 0; i < KZ_PANEL_ROWS; i++) {
            pointers[i] = values + (size_t)(row + i) * SCRIPT_VOCABULARY;
        }
        kz_layout_pack_panel(KZ_F32, pointers, KZ_PANEL_ROWS, SCRIPT_VOCABULARY,
                             builder->weights + place + row / KZ_PANEL_ROWS * panel_bytes);
    }
    return tensor;
}

static uint32_t add_script(tiny_builder *builder, int32_t language, const int32_t *tokens,
                           size_t count) {
    static float rows[SCRIPT_CONTEXT * SCRIPT_VOCABULARY];
    memset(rows, 0, sizeof rows);
    for (size_t p = 0; p < SCRIPT_CONTEXT; p++) {
        const size_t first = 3; // the position of the prompt's last token
        const int32_t follows = p < first           ? language
                                : p - first < count ? tokens[p - first]
                                                    : SCRIPT_END;
        rows[p * SCRIPT_VOCABULARY + 1] = 5;
        rows[p * SCRIPT_VOCABULARY + (size_t)follows] = 10;
    }
    return add_matrix(builder, "script", SCRIPT_CONTEXT, rows);
}

static uint32_t add_head(tiny_builder *builder) {
    static float rows[SCRIPT_VOCABULARY * SCRIPT_VOCABULARY];
    for (size_t i = 0; i < SCRIPT_VOCABULARY; i++) {
        rows[i * SCRIPT_VOCABULARY + i] = 1;
    }
    return add_matrix(builder, "head", SCRIPT_VOCABULARY, rows);
}

static void add_encode(tiny_builder *builder) {
    const uint32_t state = tiny_state(builder, "cross_key.0", KZ_F32, POSITIONS, 1, MELS);
    tiny_method *method = tiny_begin_method(builder, "encode");
    const kz_dim frames = kz_dim_symbol(tiny_symbol(method, "frames", KZ_MEL_ROWS));
    const kz_dim slots = kz_dim_symbol(tiny_symbol(method, "slots", 1));
    const kz_dim none = kz_dim_constant(1);
    kz_dim rows = none;
    (void)kz_dim_window(&frames, 0, 2, &rows);
    const uint32_t mel = tiny_input(method, "mel", KZ_F32, 0, 2, frames, kz_dim_constant(MELS));
    const uint32_t table =
        tiny_input(method, "cross_table", KZ_I32, POSITIONS, 2, slots, kz_dim_constant(POSITIONS));
    const uint32_t sequences = tiny_input(method, "cross_sequences", KZ_I32, 1, 1, rows, none);
    const uint32_t positions =
        tiny_input(method, "cross_positions", KZ_I32, POSITIONS, 1, rows, none);
    uint32_t x = tiny_rows(method, KZ_F32, rows, MELS);
    kz_instruction *unfold = tiny_add(method, KZ_OP_UNFOLD, (uint32_t[]){mel, x}, 2);
    unfold->ints[0] = 1;
    unfold->ints[1] = 2;
    unfold->ints[2] = 1;
    for (int i = 0; i < ENCODER_LAYERS; i++) {
        const uint32_t out = tiny_rows(method, KZ_F32, rows, MELS);
        kz_instruction *attention =
            tiny_add(method, KZ_OP_ATTENTION_FULL, (uint32_t[]){x, x, x, out}, 4);
        attention->ints[0] = 1;
        attention->floats[0] = 0.1f;
        x = out;
    }
    tiny_add(method, KZ_OP_CACHE_WRITE,
             (uint32_t[]){x, table, sequences, positions, tiny_state_value(method, state)}, 5);
}

static void add_decode(tiny_builder *builder, const char *name, uint32_t script) {
    tiny_method *method = tiny_begin_method(builder, name);
    const kz_dim tokens = kz_dim_symbol(tiny_symbol(method, "tokens", STEP_TOKENS));
    const kz_dim sequences = kz_dim_symbol(tiny_symbol(method, "sequences", 1));
    const kz_dim slots = kz_dim_symbol(tiny_symbol(method, "slots", 1));
    const kz_dim none = kz_dim_constant(1);
    (void)tiny_input(method, "tokens", KZ_I32, SCRIPT_VOCABULARY, 1, tokens, none);
    const uint32_t positions =
        tiny_input(method, "positions", KZ_I32, SCRIPT_CONTEXT, 1, tokens, none);
    (void)tiny_input(method, "sequences", KZ_I32, 1, 1, tokens, none);
    (void)tiny_input(method, "row_table", KZ_I32, SCRIPT_CONTEXT, 2, sequences,
                     kz_dim_constant(SCRIPT_CONTEXT));
    (void)tiny_input(method, "cross_table", KZ_I32, POSITIONS, 2, slots,
                     kz_dim_constant(POSITIONS));
    (void)tiny_input(method, "cross_sequences", KZ_I32, 1, 1, tokens, none);
    (void)tiny_input(method, "cross_last", KZ_I32, POSITIONS, 1, tokens, none);
    const uint32_t out = tiny_output(method, "hidden", tokens, SCRIPT_VOCABULARY);
    tiny_add(method, KZ_OP_EMBED, (uint32_t[]){positions, tiny_weight_value(method, script), out},
             3)
        ->floats[0] = 1.0f;
}

static void add_logits(tiny_builder *builder, uint32_t head) {
    tiny_method *method = tiny_begin_method(builder, "logits");
    const kz_dim rows = kz_dim_symbol(tiny_symbol(method, "rows", STEP_TOKENS));
    const uint32_t hidden =
        tiny_input(method, "hidden", KZ_F32, 0, 2, rows, kz_dim_constant(SCRIPT_VOCABULARY));
    const uint32_t out = tiny_output(method, "logits", rows, SCRIPT_VOCABULARY);
    tiny_add(method, KZ_OP_LINEAR,
             (uint32_t[]){hidden, tiny_weight_value(method, head), KZ_NO_VALUE, KZ_NO_VALUE, out},
             5);
}

static kz_metadata *add_list(tiny_builder *builder, const char *key, kz_metadata_type type,
                             size_t count) {
    tiny_set_integer(builder, key, 0);
    kz_metadata *entry = &builder->metadata[builder->description.metadata_count - 1];
    entry->type = type;
    entry->count = count;
    return entry;
}

static void add_metadata(tiny_builder *builder) {
    static const struct {
        const char *key;
        int64_t value;
    } integers[] = {{"listen.sample_rate_hz", KZ_MEL_RATE_HZ},
                    {"listen.mels", MELS},
                    {"listen.positions", POSITIONS},
                    {"model.vocabulary", SCRIPT_VOCABULARY},
                    {"listen.start", SCRIPT_START},
                    {"listen.end", SCRIPT_END},
                    {"listen.transcribe", 55},
                    {"listen.no_speech", 56},
                    {"listen.no_timestamps", 57}};
    tiny_set_string(builder, "ability", "listen");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        tiny_set_integer(builder, integers[i].key, integers[i].value);
    }
    add_list(builder, "listen.languages", KZ_METADATA_STRINGS, 3)->strings = languages;
    add_list(builder, "listen.language_tokens", KZ_METADATA_INTEGERS, 3)->integers =
        language_tokens;
    add_list(builder, "listen.suppress", KZ_METADATA_INTEGERS, 1)->integers = suppressed;
    add_list(builder, "listen.suppress_begin", KZ_METADATA_INTEGERS, 1)->integers =
        suppressed_first;
}

void scripted_listener_init(scripted_listener *listener, int32_t language, const int32_t *tokens,
                            size_t count) {
    tiny_builder *builder = &listener->builder;
    tiny_builder_init(builder, 1);
    const uint32_t script = add_script(builder, language, tokens, count);
    const uint32_t head = add_head(builder);
    add_encode(builder);
    add_decode(builder, "decode_prefill", script);
    add_decode(builder, "decode_step", script);
    add_logits(builder, head);
    add_metadata(builder);
}

void scripted_listener_finish(scripted_listener *listener) {
    if (tiny_write(&listener->builder, &listener->bytes, &listener->count) != KAZEIA_OK ||
        kz_program_open_memory(listener->bytes, listener->count, NULL, &listener->program) !=
            KAZEIA_OK) {
        fprintf(stderr, "scripted listener: %s\n", kazeia_last_error());
        abort();
    }
}

void scripted_listener_open(scripted_listener *listener, int32_t language, const int32_t *tokens,
                            size_t count) {
    scripted_listener_init(listener, language, tokens, count);
    scripted_listener_finish(listener);
}

void scripted_listener_close(scripted_listener *listener) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_program_release(listener->program);
    kz_free_aligned(&memory, listener->bytes);
    tiny_builder_clear(&listener->builder);
}
