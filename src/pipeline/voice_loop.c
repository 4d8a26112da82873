// voice_loop.c: one turn of a spoken conversation, in order: listen, command, think, speak.
//   in   the person's samples
//   out  transcript, command or reply, the reply's samples
// All decisions are turn.c's; here its actions meet the stages. Thinking and speaking share the
// caller's thread: a token, then whatever the voice can make of it.
#include "pipeline/voice_loop.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/command.h"

#define TEXT_BYTES_LIMIT ((size_t)256 * 1024)
#define PIECE_BYTES 256
#define PIECE_SAMPLES 2048

kazeia_status kz_voice_loop_init(kz_voice_loop *loop, const kazeia_allocator *allocator) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    atomic_init(&loop->is_cancelled, false);
    loop->turn = kz_turn_initial();
    KZ_TRY(kz_text_buffer_init(&loop->transcript, &memory, TEXT_BYTES_LIMIT, TEXT_BYTES_LIMIT));
    return kz_text_buffer_init(&loop->reply, &memory, TEXT_BYTES_LIMIT, TEXT_BYTES_LIMIT);
}

void kz_voice_loop_clear(kz_voice_loop *loop) {
    kz_text_buffer_clear(&loop->transcript);
    kz_text_buffer_clear(&loop->reply);
}

void kz_voice_loop_cancel(kz_voice_loop *loop) {
    atomic_store(&loop->is_cancelled, true);
    loop->listen.cancel(loop->listen.self);
    loop->think.cancel(loop->think.self);
    loop->speak.cancel(loop->speak.self);
}

static uint32_t step(kz_voice_loop *loop, kz_turn_event event) {
    uint32_t actions = 0;
    const double now_ms = (double)kz_clock_now_ns() / 1e6;
    loop->turn = kz_turn_step(&loop->turn, event, now_ms, &actions);
    return actions;
}

// --- Listening ----------------------------------------------------------------------------------

static kazeia_status append_utterance(kz_voice_loop *loop, const kz_utterance *utterance) {
    if (utterance->text[0] == '\0') {
        return KAZEIA_OK;
    }
    (void)snprintf(loop->language, sizeof loop->language, "%s", utterance->language);
    if (loop->transcript.count) {
        KZ_TRY(kz_text_buffer_append(&loop->transcript, " ", 1));
    }
    return kz_text_buffer_append_string(&loop->transcript, utterance->text);
}

// Hears windows until the stage wants more (KAZEIA_NEEDS_INPUT) or has given all (KAZEIA_DONE).
static kazeia_status hear_windows(kz_voice_loop *loop, kazeia_status *out_end) {
    kz_utterance utterance;
    while ((*out_end = loop->listen.next(loop->listen.self, &utterance)) == KAZEIA_OK) {
        KZ_TRY(append_utterance(loop, &utterance));
    }
    return *out_end == KAZEIA_NEEDS_INPUT || *out_end == KAZEIA_DONE ? KAZEIA_OK : *out_end;
}

static kazeia_status feed_listen(kz_voice_loop *loop, const float *samples, size_t count) {
    kazeia_status end = KAZEIA_OK;
    while (count) {
        size_t taken = 0;
        KZ_TRY(loop->listen.feed(loop->listen.self, samples, count, &taken));
        samples += taken;
        count -= taken;
        if (count) {
            KZ_TRY(hear_windows(loop, &end));
        }
    }
    return loop->listen.finish(loop->listen.self);
}

static kazeia_status listen(kz_voice_loop *loop) {
    kazeia_status end = KAZEIA_OK;
    KZ_TRY(hear_windows(loop, &end));
    (void)step(loop, loop->transcript.count ? KZ_EVENT_HEARD : KZ_EVENT_HEARD_NOTHING);
    return KAZEIA_OK;
}

static kazeia_status judge(kz_voice_loop *loop) {
    KZ_TRY(kz_command_judge(loop->matcher, loop->transcript.bytes, &loop->command));
    (void)step(loop, loop->command.is_match ? KZ_EVENT_COMMAND : KZ_EVENT_NO_COMMAND);
    return KAZEIA_OK;
}

// --- Speaking -----------------------------------------------------------------------------------

// Lets the voice work until it wants text (KAZEIA_NEEDS_INPUT), has said all (KAZEIA_DONE), or has
// made one piece of sound.
static kazeia_status speak_piece(kz_voice_loop *loop, kazeia_status *out_end) {
    float samples[PIECE_SAMPLES];
    size_t count = 0;
    do {
        *out_end = loop->speak.next(loop->speak.self, samples, PIECE_SAMPLES, &count);
    } while (*out_end == KAZEIA_OK && count == 0);
    if (*out_end == KAZEIA_NEEDS_INPUT || *out_end == KAZEIA_DONE) {
        return KAZEIA_OK;
    }
    KZ_TRY(*out_end);
    (void)step(loop, KZ_EVENT_AUDIO);
    loop->spoken_count += count;
    return loop->sink ? loop->sink(loop->sink_context, samples, count) : KAZEIA_OK;
}

static kazeia_status speak_available(kz_voice_loop *loop) {
    kazeia_status end = KAZEIA_OK;
    while (end == KAZEIA_OK) {
        KZ_TRY(speak_piece(loop, &end));
    }
    return KAZEIA_OK;
}

static kazeia_status give_text(kz_voice_loop *loop, const char *text, size_t count) {
    while (count) {
        size_t taken = 0;
        KZ_TRY(loop->speak.feed(loop->speak.self, text, count, &taken));
        text += taken;
        count -= taken;
        KZ_TRY(speak_available(loop));
    }
    return KAZEIA_OK;
}

static kazeia_status confirm(kz_voice_loop *loop) {
    const char *response = loop->command.response ? loop->command.response : "";
    KZ_TRY(kz_text_buffer_append_string(&loop->reply, response));
    KZ_TRY(give_text(loop, response, strlen(response)));
    return loop->speak.finish(loop->speak.self);
}

static kazeia_status speak_rest(kz_voice_loop *loop) {
    kazeia_status end = KAZEIA_OK;
    while (end != KAZEIA_DONE) {
        KZ_TRY(speak_piece(loop, &end));
    }
    (void)step(loop, KZ_EVENT_AUDIO_ENDED);
    return KAZEIA_OK;
}

// --- Thinking -----------------------------------------------------------------------------------

static kazeia_status ask(kz_voice_loop *loop) {
    size_t fed = 0;
    while (fed < loop->transcript.count) {
        size_t taken = 0;
        KZ_TRY(loop->think.feed(loop->think.self, loop->transcript.bytes + fed,
                                loop->transcript.count - fed, &taken));
        if (taken == 0) {
            return kz_fail(KAZEIA_BUSY, "think: the last reply is still being written");
        }
        fed += taken;
    }
    loop->has_asked = true;
    return loop->think.finish(loop->think.self);
}

static kazeia_status think(kz_voice_loop *loop) {
    char piece[PIECE_BYTES];
    size_t count = 0;
    const kazeia_status status = loop->think.next(loop->think.self, piece, sizeof piece, &count);
    if (status == KAZEIA_DONE) {
        (void)step(loop, KZ_EVENT_REPLY_ENDED);
        return loop->speak.finish(loop->speak.self);
    }
    KZ_TRY(status);
    if (count == 0) {
        return KAZEIA_OK;
    }
    (void)step(loop, KZ_EVENT_REPLY_TEXT);
    KZ_TRY(kz_text_buffer_append(&loop->reply, piece, count));
    return give_text(loop, piece, count);
}

// --- The turn -----------------------------------------------------------------------------------

static void begin(kz_voice_loop *loop) {
    kz_text_buffer_reset(&loop->transcript);
    kz_text_buffer_reset(&loop->reply);
    loop->language[0] = '\0';
    loop->command = (kz_command_result){.is_match = false};
    loop->turn = kz_turn_initial();
    loop->spoken_count = 0;
    loop->has_asked = false;
}

static kazeia_status run(kz_voice_loop *loop) {
    KZ_TRY(feed_listen(loop, loop->samples, loop->sample_count));
    (void)step(loop, KZ_EVENT_SOUND_ENDED);
    KZ_TRY(listen(loop));
    if (loop->turn.state == KZ_TURN_JUDGING) {
        KZ_TRY(judge(loop));
    }
    if (loop->turn.state == KZ_TURN_CONFIRMING) {
        KZ_TRY(confirm(loop));
    }
    if (loop->turn.state == KZ_TURN_THINKING) {
        KZ_TRY(ask(loop));
    }
    while (loop->turn.state == KZ_TURN_THINKING) {
        KZ_TRY(think(loop));
    }
    return loop->turn.state == KZ_TURN_OVER ? KAZEIA_OK : speak_rest(loop);
}

// Makes the stages ready for the next turn. What was not handed over as sound was not heard; of a
// reply that was cut short the conversation keeps nothing when no sound came, else what was
// written: the voice does not say yet which word a sample belongs to.
static kazeia_status make_ready(kz_voice_loop *loop, bool is_whole) {
    KZ_TRY(loop->listen.reset(loop->listen.self));
    KZ_TRY(loop->speak.reset(loop->speak.self));
    if (!is_whole && loop->has_asked) {
        return loop->think.keep_heard(loop->think.self, loop->spoken_count ? loop->reply.count : 0);
    }
    return KAZEIA_OK;
}

kazeia_status kz_voice_loop_turn(kz_voice_loop *loop, const float *samples, size_t count,
                                 kz_samples_sink sink, void *context) {
    begin(loop);
    loop->samples = samples;
    loop->sample_count = count;
    loop->sink = sink;
    loop->sink_context = context;
    const kazeia_status status = run(loop);
    if (status != KAZEIA_OK) {
        (void)step(loop, KZ_EVENT_STOPPED);
    }
    const kazeia_status ready = make_ready(loop, status == KAZEIA_OK);
    atomic_store(&loop->is_cancelled, false);
    return status != KAZEIA_OK ? status : ready;
}
