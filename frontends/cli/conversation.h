// conversation.h: all that a spoken conversation needs, opened and closed together.
//
// in:  the options --stt, --llm, --voice, --commands and those of their stages
// out: a voice that takes turns
#ifndef CLI_CONVERSATION_H
#define CLI_CONVERSATION_H

#include "cli.h"
#include "kazeia/voice.h"
#include "voice_program.h"

typedef struct cli_conversation {
    kazeia_runtime *runtime;
    kazeia_program *listener, *talker;
    cli_voice_program speaker; // whose voice answers, if a program's
    kazeia_program *vad;       // NULL: whatever is recorded is listened to
    kazeia_commands *commands; // NULL: none were given
    kazeia_timers *timers;     // NULL: no --timers
    cli_run *run;
    kazeia_stage *listen, *chat, *speak;
    kazeia_voice *voice;
} cli_conversation;

// Close it in any case.
kazeia_status cli_conversation_open(cli_run *run, cli_conversation *out_conversation);
void cli_conversation_close(cli_conversation *conversation);

#endif
