// scripted_stages.c: stages that follow a script.
//
// in:  scripts
// out: tables for the pipeline
#include "scripted_stages.h"

#include <string.h>

#include "base/thread.h"

kazeia_status script_reach(script_trouble *trouble, script_moment moment,
                           atomic_bool *is_cancelled) {
    if (!trouble) {
        return KAZEIA_OK;
    }
    if (trouble->fails_at == moment) {
        return kz_fail(KAZEIA_IO, "script: moment %d fails", (int)moment);
    }
    if (trouble->waits_at != moment) {
        return KAZEIA_OK;
    }
    atomic_store(&trouble->waiting, (int)moment);
    while (!atomic_load(is_cancelled)) {
        kz_thread_yield();
    }
    return kz_fail(KAZEIA_CANCELLED, "script: moment %d was cancelled", (int)moment);
}

static kazeia_status check_cancel(atomic_bool *is_cancelled) {
    return atomic_load(is_cancelled) ? kz_fail(KAZEIA_CANCELLED, "script: cancelled") : KAZEIA_OK;
}

// --- Listening ----------------------------------------------------------------------------------

static kazeia_status feed_listener(void *self, const float *samples, size_t count,
                                   size_t *out_taken) {
    script_listener *listener = self;
    (void)samples;
    KZ_TRY(script_reach(listener->trouble, MOMENT_LISTEN_FEED, &listener->is_cancelled));
    const size_t room =
        listener->window_samples ? listener->window_samples - listener->held_samples : count;
    *out_taken = count < room ? count : room;
    listener->held_samples += *out_taken;
    return KAZEIA_OK;
}

static kazeia_status next_of_listener(void *self, kz_utterance *out_utterance) {
    script_listener *listener = self;
    KZ_TRY(check_cancel(&listener->is_cancelled));
    KZ_TRY(script_reach(listener->trouble, MOMENT_LISTEN, &listener->is_cancelled));
    const bool is_full =
        listener->window_samples > 0 && listener->held_samples == listener->window_samples;
    if (!listener->is_finished && !is_full) {
        return KAZEIA_NEEDS_INPUT;
    }
    const char *text = listener->window < 4 ? listener->texts[listener->window] : NULL;
    if (!text) {
        return KAZEIA_DONE;
    }
    listener->window++;
    listener->held_samples = 0;
    *out_utterance = (kz_utterance){.text = text, .language = "fr"};
    return KAZEIA_OK;
}

static kazeia_status finish_listener(void *self) {
    ((script_listener *)self)->is_finished = true;
    return KAZEIA_OK;
}

static void cancel_listener(void *self) {
    atomic_store(&((script_listener *)self)->is_cancelled, true);
}

static kazeia_status reset_listener(void *self) {
    script_listener *listener = self;
    listener->held_samples = 0;
    listener->window = 0;
    listener->is_finished = false;
    listener->resets++;
    atomic_store(&listener->is_cancelled, false);
    return KAZEIA_OK;
}

kz_listen_table script_listener_table(script_listener *listener) {
    return (kz_listen_table){.self = listener,
                             .feed = feed_listener,
                             .next = next_of_listener,
                             .finish = finish_listener,
                             .cancel = cancel_listener,
                             .reset = reset_listener};
}

// --- Thinking -----------------------------------------------------------------------------------

static void append(char *text, const char *more, size_t count) {
    const size_t length = strlen(text);
    if (length + count < SCRIPT_BYTES) {
        memcpy(text + length, more, count);
        text[length + count] = '\0';
    }
}

static kazeia_status feed_thinker(void *self, const char *text, size_t bytes, size_t *out_taken) {
    script_thinker *thinker = self;
    KZ_TRY(script_reach(thinker->trouble, MOMENT_THINK_FEED, &thinker->is_cancelled));
    append(thinker->question, text, bytes);
    *out_taken = bytes;
    return KAZEIA_OK;
}

static void start_turn(script_thinker *thinker) {
    thinker->calls = thinker->given = 0;
    thinker->is_finished = false;
    thinker->question[0] = '\0';
}

// Writes the turn into the history.
static void close_turn(script_thinker *thinker, size_t heard) {
    append(thinker->history, thinker->question, strlen(thinker->question));
    append(thinker->history, ">", 1);
    append(thinker->history, thinker->reply, heard);
    append(thinker->history, ";", 1);
    start_turn(thinker);
}

static kazeia_status next_of_thinker(void *self, char *out, size_t capacity, size_t *out_bytes) {
    script_thinker *thinker = self;
    KZ_TRY(check_cancel(&thinker->is_cancelled));
    *out_bytes = 0;
    if (!thinker->is_finished) {
        return KAZEIA_NEEDS_INPUT;
    }
    const bool is_prefill = thinker->calls++ < thinker->prefill_calls;
    if (is_prefill) {
        return script_reach(thinker->trouble, MOMENT_PREFILL, &thinker->is_cancelled);
    }
    const size_t left = strlen(thinker->reply) - thinker->given;
    if (left == 0) {
        close_turn(thinker, strlen(thinker->reply));
        return KAZEIA_DONE;
    }
    if (thinker->given > 0) {
        KZ_TRY(script_reach(thinker->trouble, MOMENT_DECODE, &thinker->is_cancelled));
    }
    size_t count = thinker->bytes_per_call < left ? thinker->bytes_per_call : left;
    count = count < capacity ? count : capacity;
    memcpy(out, thinker->reply + thinker->given, count);
    thinker->given += count;
    *out_bytes = count;
    return KAZEIA_OK;
}

static kazeia_status finish_thinker(void *self) {
    script_thinker *thinker = self;
    thinker->is_finished = true;
    thinker->asked++;
    return KAZEIA_OK;
}

static void cancel_thinker(void *self) {
    atomic_store(&((script_thinker *)self)->is_cancelled, true);
}

// A reply that was given to its end is in the history already: what was not heard goes from it.
static void shorten_last(script_thinker *thinker, size_t heard) {
    char *reply = strrchr(thinker->history, '>');
    if (reply && heard < strlen(thinker->reply)) {
        reply[1 + heard] = '\0';
        append(thinker->history, ";", 1);
    }
}

static kazeia_status end_thinker_turn(void *self, size_t heard_bytes) {
    script_thinker *thinker = self;
    thinker->ends++;
    if (thinker->given > 0) {
        close_turn(thinker, heard_bytes < thinker->given ? heard_bytes : thinker->given);
    } else if (thinker->question[0] == '\0' && heard_bytes != SIZE_MAX) {
        shorten_last(thinker, heard_bytes);
    }
    start_turn(thinker);
    atomic_store(&thinker->is_cancelled, false);
    return KAZEIA_OK;
}

kz_think_table script_thinker_table(script_thinker *thinker) {
    return (kz_think_table){.self = thinker,
                            .feed = feed_thinker,
                            .next = next_of_thinker,
                            .finish = finish_thinker,
                            .cancel = cancel_thinker,
                            .end_turn = end_thinker_turn};
}

// --- Speaking -----------------------------------------------------------------------------------

static kazeia_status feed_voice(void *self, const char *text, size_t bytes, size_t *out_taken) {
    script_voice *voice = self;
    KZ_TRY(check_cancel(&voice->is_cancelled));
    KZ_TRY(script_reach(voice->trouble, MOMENT_SPEAK_FEED, &voice->is_cancelled));
    size_t taken = voice->room && voice->room < bytes ? voice->room : bytes;
    taken = taken < SCRIPT_BYTES - 1 - voice->fed_count ? taken : 0;
    memcpy(voice->fed + voice->fed_count, text, taken);
    voice->fed_count += taken;
    *out_taken = taken;
    return KAZEIA_OK;
}

// The bytes of the next whole line, or of what is longer than the voice takes, or of the rest.
static size_t count_ready(const script_voice *voice) {
    const char *text = voice->fed + voice->spoken_bytes;
    const size_t left = voice->fed_count - voice->spoken_bytes;
    const char *line_end = memchr(text, '\n', left);
    if (line_end) {
        return (size_t)(line_end - text) + 1;
    }
    return voice->is_finished || (voice->room && left >= voice->room) ? left : 0;
}

static kazeia_status next_of_voice(void *self, float *out_samples, size_t capacity,
                                   size_t *out_count) {
    script_voice *voice = self;
    *out_count = 0;
    KZ_TRY(check_cancel(&voice->is_cancelled));
    if (voice->samples_left == 0) {
        const size_t bytes = count_ready(voice);
        if (bytes == 0) {
            return voice->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
        }
        KZ_TRY(script_reach(voice->trouble, MOMENT_SPEAK, &voice->is_cancelled));
        voice->spoken_bytes += bytes;
        voice->samples_left = voice->gives_nothing ? 0 : bytes * SAMPLES_PER_BYTE;
        return KAZEIA_OK; // the work is done, the sound comes with the next call
    }
    const size_t most = voice->samples_per_call ? voice->samples_per_call : capacity;
    size_t count = voice->samples_left < most ? voice->samples_left : most;
    count = count < capacity ? count : capacity;
    for (size_t i = 0; i < count; i++) {
        out_samples[i] = 0.5f;
    }
    voice->samples_left -= count;
    *out_count = count;
    return KAZEIA_OK;
}

static kazeia_status finish_voice(void *self) {
    ((script_voice *)self)->is_finished = true;
    return KAZEIA_OK;
}

static void cancel_voice(void *self) {
    atomic_store(&((script_voice *)self)->is_cancelled, true);
}

static kazeia_status reset_voice(void *self) {
    script_voice *voice = self;
    voice->fed_count = voice->spoken_bytes = voice->samples_left = 0;
    voice->is_finished = false;
    voice->resets++;
    atomic_store(&voice->is_cancelled, false);
    return KAZEIA_OK;
}

kz_speak_table script_voice_table(script_voice *voice) {
    return (kz_speak_table){.self = voice,
                            .feed = feed_voice,
                            .next = next_of_voice,
                            .finish = finish_voice,
                            .cancel = cancel_voice,
                            .reset = reset_voice};
}
