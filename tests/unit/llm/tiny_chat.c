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

// Strings of the template, by their places in `texts`.
enum {
    MESSAGES,
    MESSAGE,
    ROLE,
    CONTENT,
    SYSTEM,
    START,
    LINE,
    FINISH,
    ASKED,
    REPLY,
    DEFAULT,
    TEXT_COUNT
};

static size_t write_steps(kz_template_step *steps, bool has_default) {
    static const kz_template_step head[] = {{.op = KZ_DO_LOAD, .argument = MESSAGES},
                                            {.op = KZ_DO_FOR_BEGIN},
                                            {.op = KZ_DO_FOR_ITEM},
                                            {.op = KZ_DO_STORE, .argument = MESSAGE}};
    // In front of the first message, where that is no system message.
    static const kz_template_step start[] = {{.op = KZ_DO_LOOP, .argument = KZ_LOOP_FIRST},
                                             {.op = KZ_DO_JUMP_FALSE, .argument = 12},
                                             {.op = KZ_DO_LOAD, .argument = MESSAGE},
                                             {.op = KZ_DO_ATTRIBUTE, .argument = ROLE},
                                             {.op = KZ_DO_STRING, .argument = SYSTEM},
                                             {.op = KZ_DO_NOT_EQUAL},
                                             {.op = KZ_DO_JUMP_FALSE, .argument = 12},
                                             {.op = KZ_DO_PRINT_TEXT, .argument = DEFAULT}};
    static const kz_template_step body[] = {{.op = KZ_DO_STRING, .argument = START},
                                            {.op = KZ_DO_LOAD, .argument = MESSAGE},
                                            {.op = KZ_DO_ATTRIBUTE, .argument = ROLE},
                                            {.op = KZ_DO_STRING, .argument = LINE},
                                            {.op = KZ_DO_LOAD, .argument = MESSAGE},
                                            {.op = KZ_DO_ATTRIBUTE, .argument = CONTENT},
                                            {.op = KZ_DO_STRING, .argument = FINISH},
                                            {.op = KZ_DO_PRINT_SUM, .argument = 5},
                                            {.op = KZ_DO_FOR_NEXT, .argument = 2},
                                            {.op = KZ_DO_LOAD, .argument = ASKED},
                                            {.op = KZ_DO_JUMP_FALSE},
                                            {.op = KZ_DO_PRINT_TEXT, .argument = REPLY},
                                            {.op = KZ_DO_END}};
    size_t count = 4;
    memcpy(steps, head, sizeof head);
    if (has_default) {
        memcpy(steps + count, start, sizeof start);
        count += 8;
    }
    memcpy(steps + count, body, sizeof body);
    steps[1].argument = (uint32_t)count + 9;
    steps[count + 10].argument = (uint32_t)count + 12;
    return count + 13;
}

static void build_template(tiny_chat *chat, const char *default_system) {
    static const char *const texts[TEXT_COUNT] = {"messages",
                                                  "message",
                                                  "role",
                                                  "content",
                                                  "system",
                                                  "<|im_start|>",
                                                  "\n",
                                                  "<|im_end|>\n",
                                                  "add_generation_prompt",
                                                  "<|im_start|>assistant\n"};
    kz_template_step steps[32];
    kz_bytes strings[TEXT_COUNT];
    char first[256] = "";
    if (default_system) {
        (void)snprintf(first, sizeof first, "<|im_start|>system\n%s<|im_end|>\n", default_system);
    }
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        const char *text = i == DEFAULT ? first : texts[i];
        strings[i] = (kz_bytes){(const uint8_t *)text, strlen(text)};
    }
    const kz_chat_template_source chatml = {
        .marks = {"<think>", "</think>", "<call>", "</call>"},
        .code = steps,
        .code_count = (uint32_t)write_steps(steps, default_system != NULL),
        .strings = strings,
        .string_count = TEXT_COUNT};
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
