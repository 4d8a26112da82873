// voice.c: kazeia_voice: the stages plugged into the pipeline.
//   in   a listen, a chat and a speak stage, commands
//   out  turns
#include "kazeia/voice.h"

#include <stdatomic.h>

#include "api/chat.h"
#include "api/commands.h"
#include "api/handles.h"
#include "api/speak.h"
#include "api/stage.h"
#include "pipeline/voice_loop.h"

// Whether the chat makes room after a turn, and a cancellation is on its way to it.
enum { VOICE_RESTS, VOICE_SETTLES, VOICE_IS_STOPPED };

struct kazeia_voice {
    atomic_int settling;
    kazeia_allocator allocator;
    kazeia_commands *commands;
    kazeia_status (*on_command)(void *context, const kazeia_command *command, char *reply,
                                size_t reply_capacity);
    void *on_command_context;
    kz_voice_loop loop;
    uint32_t sample_rate_hz;
};

// --- Stages as the pipeline's tables ------------------------------------------------------------

static kazeia_status feed_samples(void *self, const float *samples, size_t count,
                                  size_t *out_taken) {
    return kazeia_stage_feed(self, samples, count, out_taken);
}

static kazeia_status next_utterance(void *self, kz_utterance *out_utterance) {
    kazeia_heard heard;
    size_t count = 0;
    // OK always comes with one result here: listening has no smaller step.
    KZ_TRY(kazeia_stage_next(self, &heard, 1, &count));
    *out_utterance = (kz_utterance){.text = heard.text,
                                    .language = heard.language,
                                    .start_s = heard.start_s,
                                    .end_s = heard.end_s,
                                    .avg_logprob = heard.avg_logprob,
                                    .no_speech_prob = heard.no_speech_prob};
    return KAZEIA_OK;
}

static kazeia_status feed_text(void *self, const char *text, size_t bytes, size_t *out_taken) {
    return kazeia_stage_feed(self, text, bytes, out_taken);
}

// The last sentence must not wait until the chat has made room for the next turn: the turn's end
// sees to that.
static kazeia_status next_text(void *self, char *out, size_t capacity, size_t *out_bytes) {
    KZ_TRY(kazeia_stage_next(self, out, capacity, out_bytes));
    return *out_bytes == 0 && kz_chat_stage_is_reply_given(self) ? KAZEIA_DONE : KAZEIA_OK;
}

static kazeia_status next_samples(void *self, float *out, size_t capacity, size_t *out_count) {
    return kazeia_stage_next(self, out, capacity, out_count);
}

static kazeia_status finish_stage(void *self) {
    return kazeia_stage_finish(self);
}

static void cancel_stage(void *self) {
    kazeia_stage_cancel(self);
}

static kazeia_status reset_stage(void *self) {
    return kazeia_stage_reset(self);
}

static kazeia_status end_turn(void *self, size_t heard_bytes) {
    return kazeia_chat_end_turn(self, heard_bytes);
}

static size_t begun_bytes(const void *self) {
    return kz_speak_stage_begun_bytes(self);
}

static void set_language(void *self, const char *language) {
    kz_speak_stage_set_language(self, language);
}

static kazeia_status hear_command(void *context, const char *transcript,
                                  kz_command_result *out_result) {
    return kz_commands_hear(((kazeia_voice *)context)->commands, transcript, out_result);
}

// A question back is no command: nobody carries it out.
static kazeia_status carry_out(void *context, const kz_command_result *result, char *reply,
                               size_t capacity) {
    const kazeia_voice *voice = context;
    if (kz_commands_is_question(result)) {
        return KAZEIA_OK;
    }
    const kazeia_command command = kz_commands_present(voice->commands, result);
    return voice->on_command(voice->on_command_context, &command, reply, capacity);
}

static void plug_commands(kazeia_voice *voice, const kazeia_voice_parts *parts) {
    voice->on_command = parts->on_command;
    voice->on_command_context = parts->on_command_context;
    voice->loop.matcher = kz_commands_matcher(parts->commands);
    voice->loop.command_context = voice;
    voice->loop.hear_command = parts->commands == NULL ? NULL : hear_command;
    voice->loop.carry_out = parts->on_command == NULL ? NULL : carry_out;
}

// Through the public functions, whose checks cost nothing beside a token; the tables' signatures
// differ only in void pointers.
static void plug(kz_voice_loop *loop, const kazeia_voice_parts *parts) {
    loop->listen = (kz_listen_table){.self = parts->listen,
                                     .feed = feed_samples,
                                     .next = next_utterance,
                                     .finish = finish_stage,
                                     .cancel = cancel_stage,
                                     .reset = reset_stage};
    loop->think = (kz_think_table){.self = parts->chat,
                                   .feed = feed_text,
                                   .next = next_text,
                                   .finish = finish_stage,
                                   .cancel = cancel_stage,
                                   .end_turn = end_turn};
    loop->speak = (kz_speak_table){.self = parts->speak,
                                   .feed = feed_text,
                                   .next = next_samples,
                                   .finish = finish_stage,
                                   .cancel = cancel_stage,
                                   .reset = reset_stage,
                                   .begun_bytes = begun_bytes,
                                   .set_language = set_language};
}

kazeia_status kazeia_voice_create(const kazeia_voice_parts *parts, kazeia_voice **out_voice) {
    KZ_TRY(kz_require(parts, "voice: parts"));
    KZ_TRY(kz_require(out_voice, "voice: out_voice"));
    // A stage in the wrong place would be fed bytes for samples: the kind is checked by its table.
    KZ_TRY(kz_stage_require(parts->listen, &kz_listen_stage_table));
    KZ_TRY(kz_stage_require(parts->chat, &kz_chat_stage_table));
    KZ_TRY(kz_stage_require(parts->speak, &kz_speak_stage_table));
    const kazeia_allocator memory = kz_allocator_or_default(parts->allocator);
    kazeia_voice *voice = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *voice, "voice", (void **)&voice));
    voice->allocator = memory;
    // Its slots are turned into the public form after each turn.
    voice->commands = parts->commands;
    voice->sample_rate_hz = kazeia_speak_statistics_of(parts->speak).sample_rate_hz;
    // The loop lies inside the zeroed voice: destroy clears however much of it is there.
    const kazeia_status status = kz_voice_loop_init(&voice->loop, &memory);
    if (status != KAZEIA_OK) {
        kazeia_voice_destroy(voice);
        return status;
    }
    plug(&voice->loop, parts);
    plug_commands(voice, parts);
    *out_voice = voice;
    return KAZEIA_OK;
}

void kazeia_voice_destroy(kazeia_voice *voice) {
    if (!voice) {
        return;
    }
    const kazeia_allocator memory = voice->allocator;
    kz_voice_loop_clear(&voice->loop);
    kz_free(&memory, voice);
}

void kazeia_voice_cancel(kazeia_voice *voice) {
    if (!voice) {
        return;
    }
    int settling = VOICE_SETTLES;
    if (atomic_compare_exchange_strong(&voice->settling, &settling, VOICE_IS_STOPPED)) {
        kazeia_stage_cancel(voice->loop.think.self);
    } else {
        kz_voice_loop_cancel(&voice->loop);
    }
}

// Views into the loop, which the next turn begins by emptying.
static kazeia_turn present(kazeia_voice *voice) {
    // In the order of kz_turn_stage; these words are part of the interface.
    static const char *const names[KZ_STAGE_COUNT] = {"listen", "command", "think", "speak"};
    const kz_voice_loop *loop = &voice->loop;
    kazeia_turn turn = {.transcript = loop->transcript.bytes,
                        .language = loop->language,
                        .command = kz_commands_present(voice->commands, &loop->command),
                        .reply = loop->reply.bytes,
                        .voice_to_voice_ms = loop->turn.stages[KZ_STAGE_SPEAK].first_ms,
                        .audio_s = (double)loop->spoken_count / voice->sample_rate_hz};
    for (size_t i = 0; i < KZ_STAGE_COUNT; i++) {
        const kz_turn_times *times = &loop->turn.stages[i];
        turn.stages[i] =
            (kazeia_stage_times){names[i], times->start_ms, times->first_ms, times->end_ms};
    }
    return turn;
}

// False when a cancellation came before.
static bool rest(kazeia_voice *voice) {
    int settling = VOICE_SETTLES;
    return atomic_compare_exchange_strong(&voice->settling, &settling, VOICE_RESTS);
}

// The person hears the end of the reply meanwhile. A cancellation that came is waited for, since
// its thread is about to stop the chat; what is not computed now is computed with the next turn.
static kazeia_status settle(kazeia_voice *voice) {
    kazeia_stage *chat = voice->loop.think.self;
    kazeia_status status = KAZEIA_DONE;
    if (!kz_chat_stage_is_reply_given(chat)) {
        return KAZEIA_OK;
    }
    atomic_store(&voice->settling, VOICE_SETTLES);
    do {
        char none[4];
        size_t count = 0;
        status = kazeia_stage_next(chat, none, sizeof none, &count);
    } while (status == KAZEIA_OK || (status == KAZEIA_DONE && !rest(voice)));
    atomic_store(&voice->settling, VOICE_RESTS);
    if (status == KAZEIA_CANCELLED) {
        return kazeia_chat_end_turn(chat, SIZE_MAX);
    }
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

// A turn that fails or is cancelled leaves *out_turn alone; the conversation goes on with the next
// one.
kazeia_status kazeia_voice_turn(kazeia_voice *voice, const float *samples, size_t count,
                                kazeia_sample_sink sink, void *context, kazeia_turn *out_turn) {
    KZ_TRY(kz_require(voice, "voice"));
    KZ_TRY(kz_require(out_turn, "voice: out_turn"));
    // No samples are a turn in which nothing was heard.
    if (count) {
        KZ_TRY(kz_require(samples, "voice: samples"));
    }
    KZ_TRY(kz_voice_loop_turn(&voice->loop, samples, count, sink, context));
    KZ_TRY(settle(voice));
    *out_turn = present(voice);
    return KAZEIA_OK;
}
