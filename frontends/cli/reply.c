// reply.c: one answer of a language model, as it comes and as a whole.
//
// in:  the user's turn
// out: the answer's bytes, printed piece by piece when wanted, and its measures as JSON
#include "reply.h"

#include <stdlib.h>
#include <string.h>

#include "peak_memory.h"

#define PIECE_BYTES 4096
#define DIM "\033[2m"
#define UNDIM "\033[0m\n\n"

static kazeia_status keep_piece(cli_reply *reply, const void *out, size_t count) {
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
    return KAZEIA_OK;
}

// Thoughts come through no stream of their own: what is new since the last look is printed.
static kazeia_status show_thoughts(cli_reply *reply) {
    size_t bytes = 0;
    const char *thoughts = kazeia_chat_part_of(reply->chat, KAZEIA_PART_THINKING, &bytes);
    if (bytes <= reply->thought_bytes) {
        return KAZEIA_OK;
    }
    if (!reply->is_dimmed) {
        CLI_TRY(cli_print_bytes(DIM, strlen(DIM), reply->failure));
        reply->is_dimmed = true;
    }
    const size_t shown = reply->thought_bytes;
    reply->thought_bytes = bytes;
    return cli_print_bytes(thoughts + shown, bytes - shown, reply->failure);
}

static kazeia_status end_thoughts(cli_reply *reply) {
    if (!reply->is_dimmed) {
        return KAZEIA_OK;
    }
    reply->is_dimmed = false;
    return cli_print_bytes(UNDIM, strlen(UNDIM), reply->failure);
}

static kazeia_status take_piece(void *context, const void *out, size_t count) {
    cli_reply *reply = context;
    if (reply->show == CLI_SHOW_THOUGHTS) {
        CLI_TRY(show_thoughts(reply));
    }
    if (count == 0) {
        return KAZEIA_OK;
    }
    CLI_TRY(end_thoughts(reply));
    CLI_TRY(keep_piece(reply, out, count));
    return reply->show == CLI_SHOW_NOTHING ? KAZEIA_OK
                                           : cli_print_bytes(out, count, reply->failure);
}

kazeia_status cli_reply_hear(cli_run *run, kazeia_stage *chat, const char *prompt,
                             cli_reply_show show, cli_reply *out_reply) {
    char piece[PIECE_BYTES];
    const cli_drive drive = {
        .stage = chat,
        .element_bytes = 1,
        .out = piece,
        .capacity = sizeof piece,
        .take = take_piece,
        .context = out_reply,
        .takes_nothing = show == CLI_SHOW_THOUGHTS,
    };
    *out_reply = (cli_reply){.show = show, .chat = chat, .failure = &run->failure};
    // Cancelled by its own verb: the stage stops within a token, and what it wrote stays.
    cli_interrupt_enter(&run->interrupt, cli_cancel_stage, chat);
    kazeia_status status = KAZEIA_OK;
    if (prompt != NULL) {
        status = cli_drive_feed(run, &drive, prompt, strlen(prompt));
    }
    if (status == KAZEIA_OK) {
        status = cli_drive_finish(run, &drive);
    }
    cli_interrupt_leave(&run->interrupt);
    // A terminal must not stay dim, whatever happened.
    const kazeia_status ended = end_thoughts(out_reply);
    return status != KAZEIA_OK ? status : ended;
}

void cli_reply_clear(cli_reply *reply) {
    free(reply->text);
    *reply = (cli_reply){0};
}

json_t *cli_reply_ids(const kazeia_stage *chat) {
    size_t count = 0;
    const int32_t *ids = kazeia_chat_tokens_of(chat, &count);
    return cli_json_ids(ids, count);
}

// null for a part that the reply does not have.
static json_t *part_json(const kazeia_stage *chat, kazeia_reply_part part) {
    size_t bytes = 0;
    const char *text = kazeia_chat_part_of(chat, part, &bytes);
    if (bytes == 0) {
        return json_null();
    }
    return part == KAZEIA_PART_CALLS ? json_loadb(text, bytes, 0, NULL)
                                     : cli_json_text(text, bytes);
}

// What a run took, beside the reply itself.
static json_t *measures_json(const cli_talker *talker) {
    const kazeia_chat_statistics measures = kazeia_chat_statistics_of(talker->stage);
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "prompt_tokens",
        (json_int_t)measures.prompt_tokens, "cached_tokens", (json_int_t)measures.cached_tokens,
        "generated_tokens", (json_int_t)measures.generated_tokens, "load_ms",
        cli_json_real(talker->load_ms), "prefill_tokens_per_s",
        cli_json_real(measures.prefill_tokens_per_s), "ttft_ms", cli_json_real(measures.ttft_ms),
        "decode_tokens_per_s", cli_json_real(measures.decode_tokens_per_s), "drafted_tokens",
        (json_int_t)measures.drafted_tokens, "accepted_tokens",
        (json_int_t)measures.accepted_tokens, "room_tokens", (json_int_t)measures.room_tokens,
        "kv_bytes", (json_int_t)measures.cache_bytes, "peak_rss_bytes",
        (json_int_t)cli_peak_memory());
}

json_t *cli_reply_json(const cli_talker *talker, const cli_reply *reply) {
    const kazeia_stage *chat = talker->stage;
    const kazeia_chat_statistics measures = kazeia_chat_statistics_of(chat);
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "text", cli_json_text(reply->text, reply->bytes),
                  "tokens", cli_reply_ids(chat), "thinking", part_json(chat, KAZEIA_PART_THINKING),
                  "tool_calls", part_json(chat, KAZEIA_PART_CALLS), "stop_reason",
                  cli_json_string(kazeia_stop_reason_name(measures.stop_reason)));
    json_t *taken = measures_json(talker);
    if (object == NULL || taken == NULL || json_object_update(object, taken) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(taken);
    return object;
}
