// voice.h: the whole conversation: speech in, commands or the language model, speech out.
//
//     const kazeia_voice_parts parts = {.listen = listen, .chat = chat, .speak = speak};
//     kazeia_voice *voice = NULL;
//     kazeia_turn turn;
//     TRY(kazeia_voice_create(&parts, &voice));
//     TRY(kazeia_voice_turn(voice, samples, count, play, player, &turn));
//     printf("%s -> %s\n", turn.transcript, turn.reply);
//
// A voice drives the three stages in the caller's thread; docs/life_of_an_utterance.md follows one
// turn through the code.
#ifndef KAZEIA_VOICE_H
#define KAZEIA_VOICE_H

#include "kazeia/chat.h"
#include "kazeia/commands.h"
#include "kazeia/listen.h"
#include "kazeia/speak.h"

#ifdef __cplusplus
extern "C" {
#endif

// One thread at a time; cancel may come from any.
typedef struct kazeia_voice kazeia_voice;

// What a voice is made of. The parts stay the caller's and must outlive the voice; while a turn
// runs nobody else may use them. The three stages are needed, each of its kind.
typedef struct kazeia_voice_parts {
    kazeia_stage *listen;
    kazeia_commands *commands; // NULL: everything goes to the language model
    kazeia_stage *chat;
    kazeia_stage *speak;
    const kazeia_allocator *allocator; // NULL: malloc
    // Called on the turn's thread when a command was understood, before its answer is spoken.
    // `reply` [reply_capacity] holds the grammar's answer, NUL-terminated, and may be written anew.
    // A status other than KAZEIA_OK ends the turn. NULL: nobody is told.
    kazeia_status (*on_command)(void *context, const kazeia_command *command, char *reply,
                                size_t reply_capacity);
    void *on_command_context;
} kazeia_voice_parts;

// When each stage of a turn worked, in ms since the turn's last input sample was fed. A stage that
// did not work has start_ms < 0; first_ms is its first result, < 0 when it gave none.
typedef struct kazeia_stage_times {
    const char *stage; // "listen", "command", "think", "speak"
    double start_ms, first_ms, end_ms;
} kazeia_stage_times;

// One finished turn; pointers are valid until the next call, those of `command` also until the next
// match of its kazeia_commands.
typedef struct kazeia_turn {
    const char *transcript; // "" when nothing was said: there is no reply then
    const char *language;   // ISO 639-1, of the last window with words; "" when nothing was said
    kazeia_command command; // intent NULL: the language model answered
    const char *reply;      // the whole reply as text
    kazeia_stage_times stages[4]; // in the order listen, command, think, speak
    double voice_to_voice_ms; // last input sample fed to first output sample ready; < 0: no reply
    double audio_s;           // length of the spoken reply
} kazeia_turn;

// Receives the reply's samples as they are ready: `count` >= 1, f32 mono at the speaking stage's
// rate, valid during the call. It runs on the turn's thread and holds the turn up while it runs. A
// status other than KAZEIA_OK ends the turn.
typedef kazeia_status (*kazeia_sample_sink)(void *context, const float *samples, size_t count);

// BAD_ARGUMENT when a stage is missing or of the wrong kind, OUT_OF_MEMORY.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_voice_create(const kazeia_voice_parts *parts,
                                                               kazeia_voice **out_voice);
KAZEIA_API void kazeia_voice_destroy(kazeia_voice *voice);
// Listens to one utterance (f32 mono, 16 kHz, any length), answers it, and returns when the reply
// has been handed over. `sink` may be NULL: the samples are then dropped. Turns of one voice share
// a conversation; an answer to a command is not part of it. After a failure too the next turn may
// be taken: the conversation then holds only what was heard, to the end of the last sentence whose
// samples had begun to be handed over, and nothing of a turn whose reply had not begun. A status
// that the sink returns ends the turn and is passed on, as are all failures of the stages;
// CANCELLED after kazeia_voice_cancel; OUT_OF_MEMORY when transcript or reply pass 256 KiB.
// *out_turn is only written on KAZEIA_OK. Does not allocate.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_voice_turn(kazeia_voice *voice,
                                                             const float *samples, size_t count,
                                                             kazeia_sample_sink sink, void *context,
                                                             kazeia_turn *out_turn);
// From any thread: the present turn ends within 50 ms with KAZEIA_CANCELLED, or with KAZEIA_OK if
// all had been handed over. Between turns it does nothing.
KAZEIA_API void kazeia_voice_cancel(kazeia_voice *voice);

#ifdef __cplusplus
}
#endif

#endif
