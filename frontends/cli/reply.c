// reply.c: one answer of a language model, as it comes and as a whole.
//
// in:  the user's turn
// out: the answer's bytes, printed piece by piece when wanted, and its measures as JSON
#include "reply.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 4096

static kazeia_status take_piece(void *context, const void *out, size_t count) {
    cli_reply *reply = context;
    if (reply->bytes + count > reply->capacity) {
        // Doubled, so that a long reply is copied a few times and not for each token.
        const size_t capacity = (reply->capacity + count) * 2;
        char *larger = realloc(reply->text, capacity);
        if (larger == NULL) {
            return cli_fail(reply->failure, KAZEIA_OUT_OF_MEMORY,
                            "no memory for a reply of %zu bytes", reply->bytes + count);
        }
        reply->text = larger;
        reply->capacity = capacity;
    }
    memcpy(reply->text + reply->bytes, out, count);
    reply->bytes += count;
    return reply->is_printed ? cli_print_bytes(out, count, reply->failure) : KAZEIA_OK;
}

kazeia_status cli_reply_hear(cli_run *run, kazeia_stage *chat, const char *prompt, bool is_printed,
                             cli_reply *out_reply) {
    char piece[PIECE_BYTES];
    const cli_drive drive = {
        .stage = chat,
        .element_bytes = 1,
        .out = piece,
        .capacity = sizeof piece,
        .take = take_piece,
        .context = out_reply,
    };
    *out_reply = (cli_reply){.is_printed = is_printed, .failure = &run->failure};
    // Cancelled by its own verb: the stage stops within a token, and what it wrote stays.
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, chat);
    kazeia_status status = cli_drive_feed(run, &drive, prompt, strlen(prompt));
    if (status == KAZEIA_OK) {
        status = cli_drive_finish(run, &drive);
    }
    cli_interrupt_leave(&run->interrupt);
    return status;
}

void cli_reply_clear(cli_reply *reply) {
    free(reply->text);
    *reply = (cli_reply){0};
}

json_t *cli_reply_json(const kazeia_stage *chat, const cli_reply *reply) {
    const kazeia_chat_statistics measures = kazeia_chat_statistics_of(chat);
    size_t count = 0;
    const int32_t *ids = kazeia_chat_tokens_of(chat, &count);
    return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "text",
                     cli_json_text(reply->text, reply->bytes), "tokens", cli_json_ids(ids, count),
                     "prompt_tokens", (json_int_t)measures.prompt_tokens, "prefill_tokens_per_s",
                     cli_json_real(measures.prefill_tokens_per_s), "ttft_ms",
                     cli_json_real(measures.ttft_ms), "decode_tokens_per_s",
                     cli_json_real(measures.decode_tokens_per_s), "stop_reason",
                     cli_json_string(kazeia_stop_reason_name(measures.stop_reason)));
}
