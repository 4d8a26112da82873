// fuzz_conversation.c: libFuzzer target for saved conversations.
//
// in:  changes to a sound file: 3 bytes each, place and value; the checksum is then put right, so
//      that what stands behind it is read
// out: a crash when reading goes wild, or when what was restored cannot be asked anything
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/llm/tiny_chat.h"
#include "format/byte_stream.h"
#include "format/checksum.h"
#include "llm/chat.h"

#define HEADER_BYTES 64
#define AT_CHECKSUM 32

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count);

static kz_chat *chat;
static char path[64];
static uint8_t sound[1 << 20];
static size_t sound_count;

static void require(bool is_true) {
    if (!is_true) {
        fprintf(stderr, "%s\n", kazeia_last_error());
        abort();
    }
}

// One turn; what a damaged cache makes of it does not matter.
static void ask(void) {
    char reply[64];
    size_t bytes = 0;
    kazeia_status status = kz_chat_feed(chat, "Oui ?", 5, &bytes);
    require(status == KAZEIA_OK && kz_chat_finish(chat) == KAZEIA_OK);
    while (status == KAZEIA_OK) {
        status = kz_chat_next(chat, reply, sizeof reply, &bytes);
    }
    require(status == KAZEIA_DONE || status == KAZEIA_BAD_ARGUMENT || status == KAZEIA_BAD_FILE);
}

static void write_file(const uint8_t *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    require(file != NULL);
    require(fwrite(bytes, 1, count, file) == count);
    fclose(file);
}

static void prepare(void) {
    static tiny_chat tiny;
    kz_program *program = NULL;
    kz_pool *pool = NULL;
    const kz_chat_settings settings = {.max_tokens = 3, .sampling = {.top_p = 1.0f}};
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/kazeia_fuzz_%d", folder ? folder : P_tmpdir, (int)getpid());
    tiny_chat_init(&tiny, "Sois bref.", true, NULL, 0);
    require(kz_program_open_memory(tiny.llama.bytes, tiny.llama.count, NULL, &program) ==
            KAZEIA_OK);
    require(kz_pool_create(1, NULL, &pool) == KAZEIA_OK);
    require(kz_chat_create(program, pool, &settings, NULL, &chat) == KAZEIA_OK);
    require(kz_chat_append(chat, "assistant", "!", 1, "[{\"name\": \"f\"}]") == KAZEIA_OK);
    ask();
    require(kz_chat_save(chat, path) == KAZEIA_OK);
    FILE *file = fopen(path, "rb");
    require(file != NULL);
    sound_count = fread(sound, 1, sizeof sound, file);
    fclose(file);
    require(sound_count > HEADER_BYTES && sound_count < sizeof sound);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t count) {
    static uint8_t bytes[sizeof sound];
    if (!chat) {
        prepare();
    }
    memcpy(bytes, sound, sound_count);
    for (size_t i = 0; i + 3 <= count; i += 3) {
        // The table and the texts stand in front: most of what can go wrong is there.
        bytes[(input[i] | (size_t)input[i + 1] << 8) % sound_count] = input[i + 2];
    }
    kz_store_u64(bytes + AT_CHECKSUM,
                 kz_checksum(bytes + HEADER_BYTES, sound_count - HEADER_BYTES));
    write_file(bytes, sound_count);
    if (kz_chat_restore(chat, path) == KAZEIA_OK) {
        ask();
    }
    kz_chat_reset(chat);
    remove(path);
    return 0;
}
