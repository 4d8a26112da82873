// voice_loop.c: one turn of a spoken conversation, in order: listen, command, think, speak.
//   in   the person's samples
//   out  transcript, command or reply, the reply's samples
// All decisions are turn.c's. Here each state has one function that does a bounded piece of its
// work and says what came of it, and each action one that carries it out. Thinking and speaking
// share the caller's thread, the voice first: a token is written when the voice has nothing to say.
#include "pipeline/voice_loop.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/command.h"

// More than any context holds as text; taken whole at creation, as nothing may be allocated in a
// turn. Pages that no text reaches cost no memory.
#define TEXT_BYTES_LIMIT ((size_t)256 * 1024)
#define PIECE_BYTES 256
#define RESPONSE_BYTES 2048 // a command's answer

kazeia_status kz_voice_loop_init(kz_voice_loop *loop, const kazeia_allocator *allocator) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    // The rest of the struct is the creator's zeroed memory, so that clear works however far this
    // comes.
    atomic_init(&loop->is_cancelled, false);
    loop->turn = kz_turn_initial();
    KZ_TRY(kz_mutex_init(&loop->lock));
    loop->has_lock = true;
    KZ_TRY(kz_text_buffer_init(&loop->transcript, &memory, TEXT_BYTES_LIMIT, TEXT_BYTES_LIMIT));
    return kz_text_buffer_init(&loop->reply, &memory, TEXT_BYTES_LIMIT, TEXT_BYTES_LIMIT);
}

void kz_voice_loop_clear(kz_voice_loop *loop) {
    if (loop->has_lock) {
        kz_mutex_clear(&loop->lock);
    }
    kz_text_buffer_clear(&loop->transcript);
    kz_text_buffer_clear(&loop->reply);
}

// --- Cancelling ---------------------------------------------------------------------------------

// The lock keeps a cancellation from falling between two turns, where it would hit the wrong one.
void kz_voice_loop_cancel(kz_voice_loop *loop) {
    kz_mutex_lock(&loop->lock);
    if (loop->is_running) {
        atomic_store(&loop->is_cancelled, true);
        // All three, whichever is at work: the turn may pass from one to the next in this very
        // moment. Each forgets it again in `end`.
        loop->listen.cancel(loop->listen.self);
        loop->think.cancel(loop->think.self);
        loop->speak.cancel(loop->speak.self);
    }
    kz_mutex_unlock(&loop->lock);
}

// A stage reports a cancellation only when it is asked to work; between two stages this flag is the
// only sign.
static kazeia_status check_cancel(kz_voice_loop *loop) {
    return atomic_load(&loop->is_cancelled)
               ? kz_fail(KAZEIA_CANCELLED, "voice: the turn was stopped")
               : KAZEIA_OK;
}

// --- What each state waits for ------------------------------------------------------------------

static kazeia_status append_utterance(kz_voice_loop *loop, const kz_utterance *utterance) {
    // A window without speech must not add a space, nor set the language.
    if (utterance->text[0] == '\0') {
        return KAZEIA_OK;
    }
    (void)snprintf(loop->language, sizeof loop->language, "%s", utterance->language);
    if (loop->transcript.count) {
        KZ_TRY(kz_text_buffer_append(&loop->transcript, " ", 1));
    }
    return kz_text_buffer_append_string(&loop->transcript, utterance->text);
}

// The reply is in the language of the question: commands answer in theirs, models in what they were
// asked in.
static void tell_language(const kz_voice_loop *loop) {
    if (loop->speak.set_language != NULL && loop->language[0] != '\0') {
        loop->speak.set_language(loop->speak.self, loop->language);
    }
}

static kazeia_status hear(kz_voice_loop *loop, kz_turn_event *out_event) {
    kz_utterance utterance;
    const kazeia_status status = loop->listen.next(loop->listen.self, &utterance);
    if (status == KAZEIA_DONE) {
        // Only the end of listening decides: single windows may hold silence.
        *out_event = loop->transcript.count ? KZ_EVENT_HEARD : KZ_EVENT_HEARD_NOTHING;
        tell_language(loop);
        return KAZEIA_OK;
    }
    KZ_TRY(status);
    return append_utterance(loop, &utterance);
}

// The match was made by the action that led into this state; here its outcome becomes an event, so
// that both ways are in the table.
static kazeia_status judge(kz_voice_loop *loop, kz_turn_event *out_event) {
    *out_event = loop->command.is_match ? KZ_EVENT_COMMAND : KZ_EVENT_NO_COMMAND;
    return KAZEIA_OK;
}

// Gives the voice what it takes of the reply, and the reply's end after it.
static kazeia_status give_text(kz_voice_loop *loop, size_t *out_taken) {
    const kz_text_buffer *reply = &loop->reply;
    *out_taken = 0;
    if (loop->given_bytes < reply->count) {
        KZ_TRY(loop->speak.feed(loop->speak.self, reply->bytes + loop->given_bytes,
                                reply->count - loop->given_bytes, out_taken));
        loop->given_bytes += *out_taken;
    }
    if (!loop->is_reply_whole || loop->is_voice_told || loop->given_bytes < reply->count) {
        return KAZEIA_OK;
    }
    // Before the call: told once, even when it fails.
    loop->is_voice_told = true;
    return loop->speak.finish(loop->speak.self);
}

// KAZEIA_NEEDS_INPUT: the voice has nothing to say, and all text there is. Text first, then sound:
// a voice that runs dry with text waiting would make the person wait for a whole token more.
static kazeia_status speak(kz_voice_loop *loop, kz_turn_event *out_event) {
    size_t taken = 0;
    KZ_TRY(give_text(loop, &taken));
    const kazeia_status status =
        loop->speak.next(loop->speak.self, loop->sound, KZ_VOICE_LOOP_SAMPLES, &loop->sound_count);
    if (status == KAZEIA_DONE) {
        *out_event = KZ_EVENT_AUDIO_ENDED;
        return KAZEIA_OK;
    }
    // The voice was full a moment ago and is empty now: the next round gives it more. If it took
    // nothing just now, it never will.
    if (status == KAZEIA_NEEDS_INPUT && loop->given_bytes < loop->reply.count) {
        return taken ? KAZEIA_OK
                     : kz_fail(KAZEIA_UNSUPPORTED, "speak: the stage asks for text and takes none");
    }
    KZ_TRY(status);
    *out_event = loop->sound_count ? KZ_EVENT_AUDIO : KZ_EVENT_NOTHING;
    return KAZEIA_OK;
}

static kazeia_status speak_rest(kz_voice_loop *loop, kz_turn_event *out_event) {
    const kazeia_status status = speak(loop, out_event);
    // It has been told the end: asking for more would be asked for ever.
    return status == KAZEIA_NEEDS_INPUT
               ? kz_fail(KAZEIA_UNSUPPORTED, "speak: the stage asks for text after its end")
               : status;
}

static kazeia_status speak_or_think(kz_voice_loop *loop, kz_turn_event *out_event) {
    char piece[PIECE_BYTES];
    size_t count = 0;
    // A reader hears better than it reads: sound that is ready goes out before the next token is
    // computed, which may take 100 ms.
    const kazeia_status spoken = speak(loop, out_event);
    if (spoken != KAZEIA_NEEDS_INPUT) {
        return spoken;
    }
    const kazeia_status status = loop->think.next(loop->think.self, piece, sizeof piece, &count);
    if (status == KAZEIA_DONE) {
        *out_event = KZ_EVENT_REPLY_ENDED;
        return KAZEIA_OK;
    }
    KZ_TRY(status);
    *out_event = count ? KZ_EVENT_REPLY_TEXT : KZ_EVENT_NOTHING;
    return kz_text_buffer_append(&loop->reply, piece, count);
}

// --- Actions ------------------------------------------------------------------------------------

static kazeia_status end_listening(kz_voice_loop *loop) {
    return loop->listen.finish(loop->listen.self);
}

static kazeia_status match(kz_voice_loop *loop) {
    KZ_TRY(kz_command_judge(loop->matcher, loop->transcript.bytes, &loop->command));
    return loop->hear_command == NULL || loop->command.is_match
               ? KAZEIA_OK
               : loop->hear_command(loop->command_context, loop->transcript.bytes, &loop->command);
}

// A turn is fed whole or not at all; a stage that takes nothing is still busy with the last one.
static kazeia_status ask(kz_voice_loop *loop) {
    const kz_text_buffer *question = &loop->transcript;
    for (size_t fed = 0, taken = 0; fed < question->count; fed += taken) {
        KZ_TRY(loop->think.feed(loop->think.self, question->bytes + fed, question->count - fed,
                                &taken));
        if (taken == 0) {
            return kz_fail(KAZEIA_BUSY, "think: the last reply is still being written");
        }
        // From the first byte: a turn that was fed in part must be ended, too.
        loop->has_asked = true;
    }
    return loop->think.finish(loop->think.self);
}

static kazeia_status confirm(kz_voice_loop *loop) {
    char reply[RESPONSE_BYTES];
    (void)snprintf(reply, sizeof reply, "%s",
                   loop->command.response == NULL ? "" : loop->command.response);
    if (loop->carry_out != NULL) {
        KZ_TRY(loop->carry_out(loop->command_context, &loop->command, reply, sizeof reply));
    }
    return kz_text_buffer_append_string(&loop->reply, reply);
}

static kazeia_status give_reply(kz_voice_loop *loop) {
    size_t taken = 0;
    return give_text(loop, &taken);
}

static kazeia_status finish_speech(kz_voice_loop *loop) {
    loop->is_reply_whole = true;
    return give_reply(loop);
}

static kazeia_status play(kz_voice_loop *loop) {
    loop->spoken_count += loop->sound_count;
    loop->heard_bytes = loop->speak.begun_bytes(loop->speak.self);
    return loop->sink ? loop->sink(loop->sink_context, loop->sound, loop->sound_count) : KAZEIA_OK;
}

// A question that was never asked leaves the last reply alone: SIZE_MAX cuts nothing.
static kazeia_status forget(kz_voice_loop *loop) {
    return loop->think.end_turn(loop->think.self, loop->has_asked ? loop->heard_bytes : SIZE_MAX);
}

// --- The turn -----------------------------------------------------------------------------------

// In the order in which actions of one step are carried out. A table and not a switch, since a step
// may ask for several. FINISH_SPEECH stands behind CONFIRM and SPEAK: the end comes after the text
// that it ends.
static const struct {
    kz_turn_action action;
    kazeia_status (*carry_out)(kz_voice_loop *loop);
} actions[] = {
    {KZ_ACTION_LISTEN, end_listening},
    {KZ_ACTION_MATCH, match},
    {KZ_ACTION_THINK, ask},
    {KZ_ACTION_CONFIRM, confirm},
    {KZ_ACTION_SPEAK, give_reply},
    {KZ_ACTION_FINISH_SPEECH, finish_speech},
    {KZ_ACTION_PLAY, play},
    {KZ_ACTION_FORGET, forget},
};

static kazeia_status step(kz_voice_loop *loop, kz_turn_event event) {
    uint32_t asked = 0;
    loop->turn = kz_turn_step(&loop->turn, event, (double)kz_clock_now_ns() / 1e6, &asked);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        // A failure leaves the later actions out; `end` then brings every stage to rest.
        if (asked & (uint32_t)actions[i].action) {
            KZ_TRY(actions[i].carry_out(loop));
        }
    }
    return KAZEIA_OK;
}

// A stage that is full transcribes a window before it takes more. Also the only place that may run
// long before the turn's clock starts: a recording of minutes is transcribed window by window while
// it is fed.
static kazeia_status feed_listen(kz_voice_loop *loop, const float *samples, size_t count) {
    while (count) {
        size_t taken = 0;
        kz_utterance utterance;
        KZ_TRY(check_cancel(loop));
        KZ_TRY(loop->listen.feed(loop->listen.self, samples, count, &taken));
        samples += taken;
        count -= taken;
        if (count) {
            const kazeia_status status = loop->listen.next(loop->listen.self, &utterance);
            if (status == KAZEIA_OK) {
                KZ_TRY(append_utterance(loop, &utterance));
            } else if (status != KAZEIA_NEEDS_INPUT || taken == 0) {
                return status == KAZEIA_NEEDS_INPUT
                           ? kz_fail(KAZEIA_UNSUPPORTED,
                                     "listen: the stage asks for samples and takes none")
                           : status;
            }
        }
    }
    return KAZEIA_OK;
}

static kazeia_status run(kz_voice_loop *loop, const float *samples, size_t count) {
    static kazeia_status (*const work[KZ_TURN_STATE_COUNT])(kz_voice_loop *, kz_turn_event *) = {
        [KZ_TURN_HEARING] = hear,
        [KZ_TURN_JUDGING] = judge,
        [KZ_TURN_THINKING] = speak_or_think,
        [KZ_TURN_CONFIRMING] = speak_rest,
        [KZ_TURN_FINISHING] = speak_rest,
    };
    KZ_TRY(feed_listen(loop, samples, count));
    KZ_TRY(step(loop, KZ_EVENT_SOUND_ENDED));
    while (loop->turn.state != KZ_TURN_OVER) {
        kz_turn_event event = KZ_EVENT_NOTHING;
        KZ_TRY(check_cancel(loop));
        KZ_TRY(work[loop->turn.state](loop, &event));
        KZ_TRY(step(loop, event));
    }
    return KAZEIA_OK;
}

static void begin(kz_voice_loop *loop) {
    kz_text_buffer_reset(&loop->transcript);
    kz_text_buffer_reset(&loop->reply);
    loop->language[0] = '\0';
    loop->command = (kz_command_result){.is_match = false};
    loop->turn = kz_turn_initial();
    loop->spoken_count = 0;
    loop->heard_bytes = loop->given_bytes = 0;
    loop->has_asked = loop->is_reply_whole = loop->is_voice_told = false;
    // Last: from here a cancellation means this turn.
    kz_mutex_lock(&loop->lock);
    loop->is_running = true;
    kz_mutex_unlock(&loop->lock);
}

// The sentence of kazeia_last_error is the last one's in that case; the status is the first one's.
static kazeia_status first_failure(kazeia_status first, kazeia_status second) {
    return first != KAZEIA_OK ? first : second;
}

// Makes every stage ready for the next turn, even when one of them fails at that. A cancellation
// that came when all had been handed over ends here without having stopped anything.
static kazeia_status end(kz_voice_loop *loop, kazeia_status status) {
    kz_mutex_lock(&loop->lock);
    if (status != KAZEIA_OK) {
        status = first_failure(status, step(loop, KZ_EVENT_STOPPED));
    } else if (atomic_load(&loop->is_cancelled)) {
        status = loop->think.end_turn(loop->think.self, SIZE_MAX);
    }
    status = first_failure(status, loop->listen.reset(loop->listen.self));
    status = first_failure(status, loop->speak.reset(loop->speak.self));
    loop->is_running = false;
    atomic_store(&loop->is_cancelled, false);
    kz_mutex_unlock(&loop->lock);
    return status;
}

kazeia_status kz_voice_loop_turn(kz_voice_loop *loop, const float *samples, size_t count,
                                 kz_samples_sink sink, void *context) {
    begin(loop);
    loop->sink = sink;
    loop->sink_context = context;
    return end(loop, run(loop, samples, count));
}
