// voice.h: the whole conversation: speech in, commands or the language model, speech out.
#ifndef KAZEIA_VOICE_H
#define KAZEIA_VOICE_H

#include "kazeia/chat.h"
#include "kazeia/commands.h"
#include "kazeia/listen.h"
#include "kazeia/speak.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kazeia_voice kazeia_voice;

// The stages stay the caller's and must outlive the voice. commands may be NULL.
typedef struct kazeia_voice_parts {
    kazeia_stage *listen;
    kazeia_commands *commands;
    kazeia_stage *chat;
    kazeia_stage *speak;
    const kazeia_allocator *allocator;
} kazeia_voice_parts;

// When each stage of a turn worked, in ms since the turn's last input sample was fed. A stage that
// did not work has start_ms < 0.
typedef struct kazeia_stage_times {
    const char *stage; // "listen", "command", "think", "speak"
    double start_ms, first_ms, end_ms;
} kazeia_stage_times;

// One finished turn; pointers are valid until the next call.
typedef struct kazeia_turn {
    const char *transcript; // "" when nothing was said: there is no reply then
    const char *language;
    kazeia_command command; // intent NULL: the language model answered
    const char *reply;      // the whole reply as text
    kazeia_stage_times stages[4];
    double voice_to_voice_ms; // last input sample fed to first output sample ready; < 0: no reply
    double audio_s;           // length of the spoken reply
} kazeia_turn;

// Receives the reply's samples as they are ready.
typedef kazeia_status (*kazeia_sample_sink)(void *context, const float *samples, size_t count);

KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_voice_create(const kazeia_voice_parts *parts,
                                                               kazeia_voice **out_voice);
KAZEIA_API void kazeia_voice_destroy(kazeia_voice *voice);
// Listens to one utterance (f32 mono, 16 kHz), answers it, and returns when the reply has been
// handed over. Turns of one voice share a conversation. After a failure too the next turn may be
// taken: the conversation then holds only what was heard, to the end of the last sentence whose
// samples had begun to be handed over, and nothing of a turn whose reply had not begun. A status
// that the sink returns ends the turn and is passed on.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_voice_turn(kazeia_voice *voice,
                                                             const float *samples, size_t count,
                                                             kazeia_sample_sink sink, void *context,
                                                             kazeia_turn *out_turn);
// From any thread: the present turn ends within 50 ms with KAZEIA_CANCELLED. Between turns it does
// nothing.
KAZEIA_API void kazeia_voice_cancel(kazeia_voice *voice);

#ifdef __cplusplus
}
#endif

#endif
