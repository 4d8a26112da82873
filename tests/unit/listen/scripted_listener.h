// scripted_listener.h: a program that hears the same tokens in every sound.
//
// What follows a position is a row of a table, so that a test chooses the tokens; the encoder is a
// real one in form (two attentions over 1500 rows), so that there is something to cancel.
#ifndef KZ_TEST_LISTEN_SCRIPTED_LISTENER_H
#define KZ_TEST_LISTEN_SCRIPTED_LISTENER_H

#include "runtime/load.h"
#include "tiny_builder.h"

#define SCRIPT_VOCABULARY 64
#define SCRIPT_CONTEXT 256
#define SCRIPT_END 50
#define SCRIPT_START 51
#define SCRIPT_FRENCH 52
#define SCRIPT_ENGLISH 53
#define SCRIPT_BRETON 54
#define SCRIPT_SUPPRESSED 7
#define SCRIPT_SUPPRESSED_FIRST 8

typedef struct scripted_listener {
    tiny_builder builder;
    uint8_t *bytes;
    size_t count;
    kz_program *program;
} scripted_listener;

// Ends the test program on failure. After the start token comes `language`, after the prompt the
// `count` tokens and the end. The second choice everywhere is token 1.
void scripted_listener_open(scripted_listener *listener, int32_t language, const int32_t *tokens,
                            size_t count);
// The same in two steps: between them a test may change what the builder holds.
void scripted_listener_init(scripted_listener *listener, int32_t language, const int32_t *tokens,
                            size_t count);
void scripted_listener_finish(scripted_listener *listener);
void scripted_listener_close(scripted_listener *listener);

#endif
