// conversation.c: all that a spoken conversation needs, opened and closed together.
//
// in:  the options --stt, --llm, --voice, --commands and those of their stages
// out: a voice that takes turns
#include "conversation.h"

#include "chat_setup.h"
#include "engine.h"

// A recording is one turn: a command that is said with a pause in it is heard in one window.
#define TURN_PAUSE_MS 2000

static kazeia_status open_listen(cli_run *run, cli_conversation *conversation) {
    kazeia_listen_settings settings = kazeia_listen_settings_default();
    settings.languages = run->options.language;
    settings.vad = conversation->vad;
    settings.pause_ms = TURN_PAUSE_MS;
    return cli_checked(run, kazeia_listen_create(conversation->runtime, conversation->listener,
                                                 &settings, &conversation->listen));
}

static kazeia_status open_chat(cli_run *run, cli_conversation *conversation) {
    cli_chat_setup setup;
    kazeia_status status = cli_chat_setup_read(run, &setup);
    if (status == KAZEIA_OK) {
        status = cli_checked(run, kazeia_chat_create(conversation->runtime, conversation->talker,
                                                     &setup.settings, &conversation->chat));
    }
    cli_chat_setup_clear(&setup);
    return status;
}

// A person waits for the first word here, and so it may come before its sentence is whole.
static kazeia_status open_speak(cli_run *run, cli_conversation *conversation) {
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    settings.voice = run->options.voice;
    settings.speed = (float)run->options.speed;
    settings.cuts_first_early = true;
    return cli_checked(run,
                       kazeia_speak_create(conversation->runtime, &settings, &conversation->speak));
}

static kazeia_status open_commands(cli_run *run, cli_conversation *conversation) {
    if (run->options.commands == NULL) {
        return KAZEIA_OK;
    }
    return cli_checked(run,
                       kazeia_commands_open(run->options.commands, NULL, &conversation->commands));
}

kazeia_status cli_conversation_open(cli_run *run, cli_conversation *out_conversation) {
    cli_conversation *conversation = out_conversation;
    *conversation = (cli_conversation){0};
    // The cheap parts first: a mistake in the commands file must not wait for a model to open.
    CLI_TRY(open_commands(run, conversation));
    CLI_TRY(cli_program_open(run, run->options.stt, "listen", &conversation->listener));
    CLI_TRY(cli_vad_open(run, &conversation->vad));
    CLI_TRY(cli_program_open(run, run->options.llm, "chat", &conversation->talker));
    CLI_TRY(cli_runtime_open(run, &conversation->runtime));
    CLI_TRY(open_speak(run, conversation));
    CLI_TRY(open_listen(run, conversation));
    CLI_TRY(open_chat(run, conversation));
    const kazeia_voice_parts parts = {
        .listen = conversation->listen,
        .commands = conversation->commands,
        .chat = conversation->chat,
        .speak = conversation->speak,
    };
    return cli_checked(run, kazeia_voice_create(&parts, &conversation->voice));
}

static void destroy_stage(kazeia_stage *stage) {
    if (stage != NULL) {
        kazeia_stage_destroy(stage);
    }
}

static void close_program(kazeia_program *program) {
    if (program != NULL) {
        kazeia_program_close(program);
    }
}

void cli_conversation_close(cli_conversation *conversation) {
    if (conversation->voice != NULL) {
        kazeia_voice_destroy(conversation->voice);
    }
    // The voice is gone by now, and the stages' programs and runtime go after them: everything is
    // closed in the order of use.
    destroy_stage(conversation->listen);
    destroy_stage(conversation->chat);
    destroy_stage(conversation->speak);
    close_program(conversation->listener);
    close_program(conversation->talker);
    close_program(conversation->vad);
    if (conversation->commands != NULL) {
        kazeia_commands_close(conversation->commands);
    }
    if (conversation->runtime != NULL) {
        kazeia_runtime_destroy(conversation->runtime);
    }
}
