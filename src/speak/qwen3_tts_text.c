// qwen3_tts_text.c: text as it comes, to tokens and rows.
//   in   the queue that feed fills
//   out  text_ids and text_rows of the present utterance, as far as they are certain
// No token of a word goes on behind the space that follows it: so speech may begin with the first
// word, and no token that was spoken is ever another one later.
#include <string.h>

#include "speak/qwen3_tts_state.h"

// What the chat template has before the text; its two tokens are part of the prompt's head.
static const char head[] = "assistant\n";
#define HEAD_BYTES (sizeof head - 1)
#define HEAD_TOKENS 2

void kz_tts_clear_text(kz_tts_voice *voice) {
    memcpy(voice->line, head, HEAD_BYTES);
    voice->line_count = HEAD_BYTES;
    voice->is_line_begun = voice->has_break = voice->is_text_ended = false;
    voice->text_count = voice->text_known = voice->text_followed = 0;
}

// Moves what belongs to the utterance from the queue to the line. A line that is full without a
// break is spoken as it is.
static void take_line(kz_tts_voice *voice) {
    const size_t room = sizeof voice->line - voice->line_count;
    const char *end = voice->is_verbatim || voice->queued_count == 0
                          ? NULL
                          : memchr(voice->queue, '\n', voice->queued_count);
    const size_t present = end ? (size_t)(end - voice->queue) : voice->queued_count;
    const size_t taken = present < room ? present : room;
    memcpy(voice->line + voice->line_count, voice->queue, taken);
    voice->line_count += taken;
    voice->has_break = end && taken == present;
    voice->is_text_ended = voice->has_break || taken < present || voice->is_finished;
    const size_t dropped = taken + voice->has_break;
    voice->queued_count -= dropped;
    memmove(voice->queue, voice->queue + dropped, voice->queued_count);
}

static bool is_white(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// Bytes of the line whose tokens are certain: up to the last space behind a visible character.
// White space itself is cut by what follows it.
static size_t certain_bytes(const kz_tts_voice *voice) {
    const size_t first = voice->is_line_begun ? 1 : HEAD_BYTES + 1;
    const char *line = voice->line;
    if (voice->is_text_ended) {
        return voice->line_count;
    }
    for (size_t i = voice->line_count; i-- > first;) {
        if (line[i] == ' ' && !is_white(line[i - 1])) {
            return i;
        }
    }
    return 0;
}

static void begin_with_reference(kz_tts_voice *voice) {
    if (voice->reference_count) {
        memcpy(voice->text_ids, voice->reference_ids,
               voice->reference_count * sizeof *voice->text_ids);
    }
    voice->text_count = voice->reference_count;
}

static kazeia_status add_tokens(kz_tts_voice *voice, size_t bytes) {
    size_t count = 0;
    if (!voice->is_line_begun) {
        begin_with_reference(voice);
    }
    uint32_t *ids = voice->text_ids + voice->text_count;
    KZ_TRY(kz_tts_encode(voice, voice->line, bytes, voice->is_line_begun ? 0 : HEAD_TOKENS, ids,
                         KZ_TTS_TEXT_TOKENS - voice->text_count, &count));
    voice->is_line_begun = true;
    voice->text_count += count;
    voice->line_count -= bytes;
    memmove(voice->line, voice->line + bytes, voice->line_count);
    return KAZEIA_OK;
}

kazeia_status kz_tts_read_text(kz_tts_voice *voice) {
    if (voice->is_text_ended) {
        return KAZEIA_OK;
    }
    kz_mutex_lock(&voice->text_lock);
    take_line(voice);
    kz_mutex_unlock(&voice->text_lock);
    const size_t bytes = voice->is_whole && !voice->is_text_ended ? 0 : certain_bytes(voice);
    const bool has_text = voice->is_line_begun || voice->line_count > HEAD_BYTES;
    if (bytes > 0 && has_text) {
        KZ_TRY(add_tokens(voice, bytes));
    }
    const size_t known = voice->text_known;
    KZ_TRY(kz_tts_text_rows(voice, voice->text_ids + known, voice->text_count - known,
                            voice->text_rows + known * voice->hidden));
    if (voice->is_text_ended) {
        memcpy(voice->text_rows + voice->text_count * voice->hidden, voice->eos_row,
               voice->hidden * sizeof *voice->eos_row);
    }
    voice->text_known = voice->text_count + voice->is_text_ended;
    return KAZEIA_OK;
}

void kz_tts_drop_text(kz_tts_voice *voice) {
    kz_mutex_lock(&voice->text_lock);
    if (!voice->is_text_ended) {
        voice->line_count = 0;
        take_line(voice);
    }
    kz_mutex_unlock(&voice->text_lock);
}

bool kz_tts_has_text(const kz_tts_voice *voice, size_t frame) {
    return voice->is_text_ended || voice->text_followed + frame < voice->text_known;
}
