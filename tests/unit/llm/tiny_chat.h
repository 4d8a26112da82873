// tiny_chat.h: a tiny llama with a byte tokenizer and a ChatML template.
//
// Tokens 0-255 are the bytes, 256-265 merges of common pairs, 266 and 267 the special tokens
// <|im_start|> and <|im_end|>; the weights are random, so replies are any bytes. Marks of thoughts
// and calls are <think>, </think>, <call> and </call>.
#ifndef KZ_TEST_LLM_TINY_CHAT_H
#define KZ_TEST_LLM_TINY_CHAT_H

#include "format/chat_template.h"
#include "tiny_llama.h"

#define TINY_START 266
#define TINY_END 267
#define TINY_VOCABULARY 268
#define TINY_CONTEXT 240

typedef struct tiny_chat {
    tiny_llama llama;
    uint8_t *tokenizer, *chat_template; // sections
    size_t tokenizer_bytes, chat_template_bytes;
} tiny_chat;

// `default_system` may be NULL. `stop_tokens` must stay; count 0 for none.
void tiny_chat_init(tiny_chat *chat, const char *default_system, bool has_prefill,
                    const int64_t *stop_tokens, size_t stop_count);
void tiny_chat_clear(tiny_chat *chat);

#endif
