// conversation.c: all that a spoken conversation needs, opened and closed together.
//
// in:  the options --stt, --llm, --voice, --commands and those of their stages
// out: a voice that takes turns
#include "conversation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chat_setup.h"
#include "command_json.h"
#include "command_program.h"
#include "engine.h"

// A recording is one turn: a command that is said with a pause in it is heard in one window.
#define TURN_PAUSE_MS 2000

static kazeia_status open_listen(cli_run *run, cli_conversation *conversation) {
    kazeia_listen_settings settings = cli_listen_settings(run);
    if (run->options.commands != NULL) {
        settings.audio_context = KAZEIA_AUDIO_CONTEXT_FULL; // commands are told apart in no other
    }
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

// One language that is listened for is also the one that is spoken.
static const char *only_language(const char *languages) {
    return strchr(languages, ',') != NULL || strcmp(languages, "auto") == 0 ? NULL : languages;
}

// A person waits for the first word here, and so it may come before its sentence is whole. A voice
// that nobody chose speaks the language of each turn.
static kazeia_status open_speak(cli_run *run, cli_conversation *conversation) {
    const char *language = only_language(run->options.language);
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    settings.voice = run->options.voice;
    settings.speed = (float)run->options.speed;
    settings.cuts_first_early = true;
    settings.follows_turn = run->options.voice == NULL && language == NULL;
    settings.language = settings.voice == NULL ? language : NULL;
    CLI_TRY(cli_voice_program_open(run, &settings, &conversation->speaker));
    // "espeak:fr" says its language itself.
    if (settings.program != NULL && settings.language == NULL) {
        settings.language = language;
    }
    return cli_checked(run,
                       kazeia_speak_create(conversation->runtime, &settings, &conversation->speak));
}

// A timer is carried out here; every command then goes to the user's program, which may answer in
// its own words.
static kazeia_status carry_out(void *context, const kazeia_command *command, char *reply,
                               size_t capacity) {
    const cli_conversation *conversation = context;
    cli_run *run = conversation->run;
    bool is_timer = false;
    if (conversation->timers != NULL) {
        CLI_TRY(kazeia_timers_apply(conversation->timers, command, (int64_t)time(NULL), reply,
                                    capacity, &is_timer));
    }
    if (run->options.on_command == NULL) {
        return KAZEIA_OK;
    }
    json_t *object = cli_command_json(command, true);
    char *line = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (line == NULL) {
        return cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for a command");
    }
    const kazeia_status status =
        cli_command_program_run(run->options.on_command, line, reply, capacity, &run->failure);
    free(line);
    return status;
}

// Hearing is a help that a program without vocabulary, say, cannot give: text is matched then.
static kazeia_status open_hearing(cli_run *run, cli_conversation *conversation) {
    if (conversation->commands == NULL) {
        return KAZEIA_OK;
    }
    const kazeia_commands_hearing hearing = {.tuned = run->options.tuned};
    const kazeia_status status =
        kazeia_commands_listen(conversation->commands, conversation->listen, &hearing);
    // A file that was asked for is not left out in silence.
    return status == KAZEIA_UNSUPPORTED && hearing.tuned == NULL ? KAZEIA_OK
                                                                 : cli_checked(run, status);
}

static kazeia_status open_commands(cli_run *run, cli_conversation *conversation) {
    if (run->options.commands == NULL) {
        return KAZEIA_OK;
    }
    const kazeia_commands_options home = {.home = run->options.home};
    CLI_TRY(cli_checked(
        run, kazeia_commands_open(run->options.commands, &home, NULL, &conversation->commands)));
    return run->options.timers == NULL
               ? KAZEIA_OK
               : cli_checked(run,
                             kazeia_timers_open(run->options.timers, NULL, &conversation->timers));
}

kazeia_status cli_conversation_open(cli_run *run, cli_conversation *out_conversation) {
    cli_conversation *conversation = out_conversation;
    *conversation = (cli_conversation){.run = run};
    // The cheap parts first: a mistake in the commands file must not wait for a model to open.
    CLI_TRY(open_commands(run, conversation));
    CLI_TRY(cli_program_open(run, run->options.stt, "listen", &conversation->listener));
    CLI_TRY(cli_vad_open(run, &conversation->vad));
    CLI_TRY(cli_program_open(run, run->options.llm, "chat", &conversation->talker));
    CLI_TRY(cli_runtime_open(run, &conversation->runtime));
    CLI_TRY(open_speak(run, conversation));
    CLI_TRY(open_listen(run, conversation));
    CLI_TRY(open_chat(run, conversation));
    CLI_TRY(open_hearing(run, conversation));
    const kazeia_voice_parts parts = {
        .on_command = conversation->commands == NULL ? NULL : carry_out,
        .on_command_context = conversation,
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
    cli_voice_program_close(&conversation->speaker);
    close_program(conversation->listener);
    close_program(conversation->talker);
    close_program(conversation->vad);
    if (conversation->commands != NULL) {
        kazeia_commands_close(conversation->commands);
    }
    kazeia_timers_close(conversation->timers);
    if (conversation->runtime != NULL) {
        kazeia_runtime_destroy(conversation->runtime);
    }
}
