// tiny_chat.c: a tiny llama with a byte tokenizer and a ChatML template.
//
// in:  a default system message, stop tokens
// out: a program's bytes
#include "tiny_chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "format/tokenizer.h"

static const char *const merges[] = {"us", "er", "as", "si", "st", "an", "nt", "sy", "em", "te"};

static void require(kazeia_status status) {
    if (status != KAZEIA_OK) {
        fprintf(stderr, "tiny chat: %s\n", kazeia_last_error());
        abort();
    }
}

static void build_tokenizer(tiny_chat *chat) {
    static uint8_t bytes[256];
    static kz_tokenizer_token tokens[TINY_VOCABULARY];
    kz_tokenizer_merge pairs[10];
    for (uint32_t i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        tokens[i] = (kz_tokenizer_token){.bytes = &bytes[i], .count = 1, .kind = KZ_TOKEN_NORMAL};
    }
    for (uint32_t i = 0; i < 10; i++) {
        tokens[256 + i] = (kz_tokenizer_token){
            .bytes = (const uint8_t *)merges[i], .count = 2, .kind = KZ_TOKEN_NORMAL};
        pairs[i] = (kz_tokenizer_merge){(uint8_t)merges[i][0], (uint8_t)merges[i][1], 256 + i};
    }
    tokens[TINY_START] = (kz_tokenizer_token){
        .bytes = (const uint8_t *)"<|im_start|>", .count = 12, .kind = KZ_TOKEN_CONTROL};
    tokens[TINY_END] = (kz_tokenizer_token){
        .bytes = (const uint8_t *)"<|im_end|>", .count = 10, .kind = KZ_TOKEN_CONTROL};
    static const char *const pattern = "[^\\s]+|\\s+";
    const kz_tokenizer_source source = {.kind = KZ_TOKENIZER_BYTE_BPE,
                                        .bos = KZ_NO_TOKEN,
                                        .eos = TINY_END,
                                        .unknown = KZ_NO_TOKEN,
                                        .patterns = &pattern,
                                        .pattern_count = 1,
                                        .tokens = tokens,
                                        .token_count = TINY_VOCABULARY,
                                        .merges = pairs,
                                        .merge_count = 10};
    require(kz_tokenizer_build(&source, NULL, &chat->tokenizer, &chat->tokenizer_bytes));
}

static void build_template(tiny_chat *chat, const char *default_system) {
    const kz_chat_template chatml = {
        .start = "",
        .default_system = default_system,
        .generation = "<|im_start|>assistant\n",
        .roles = {{"system", "<|im_start|>system\n", "<|im_end|>\n"},
                  {"user", "<|im_start|>user\n", "<|im_end|>\n"},
                  {"assistant", "<|im_start|>assistant\n", "<|im_end|>\n"}},
        .role_count = 3,
    };
    require(
        kz_chat_template_build(&chatml, NULL, &chat->chat_template, &chat->chat_template_bytes));
}

void tiny_chat_init(tiny_chat *chat, const char *default_system, bool has_prefill,
                    const int64_t *stop_tokens, size_t stop_count) {
    tiny_llama_shape shape = tiny_llama_shape_default();
    shape.vocabulary = TINY_VOCABULARY;
    shape.context = TINY_CONTEXT;
    shape.rows = TINY_CONTEXT;
    shape.sequences = 3;
    shape.has_prefill = has_prefill;
    memset(chat, 0, sizeof *chat);
    build_tokenizer(chat);
    build_template(chat, default_system);
    tiny_llama_init(&chat->llama, &shape);
    tiny_builder *builder = &chat->llama.builder;
    builder->description.tokenizer = (kz_bytes){chat->tokenizer, chat->tokenizer_bytes};
    builder->description.chat_template = (kz_bytes){chat->chat_template, chat->chat_template_bytes};
    if (stop_count > 0) {
        builder->metadata[builder->description.metadata_count++] =
            (kz_metadata){.key = "chat.stop_tokens",
                          .type = KZ_METADATA_INTEGERS,
                          .integers = stop_tokens,
                          .count = stop_count};
    }
    tiny_llama_finish(&chat->llama);
}

void tiny_chat_clear(tiny_chat *chat) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free_aligned(&memory, chat->tokenizer);
    kz_free_aligned(&memory, chat->chat_template);
    tiny_llama_clear(&chat->llama);
}
