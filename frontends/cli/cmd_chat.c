// cmd_chat.c: kazeia chat.
//
// in:  lines of standard input: what the user says, or a directive (see DIRECTIVES)
// out: the answers as they are written, each followed by how fast it was; with --json a line each
//
// A new system prompt needs a new stage, since a conversation begins with it.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat_setup.h"
#include "cli.h"
#include "engine.h"
#include "input.h"
#include "output.h"
#include "reply.h"

typedef struct chatting {
    cli_run *run;
    cli_talker talker;
    cli_chat_setup setup;
    char *system;        // of /system; NULL before
    bool is_terminal;    // a person types: print prompts
    cli_reply_show show; // thoughts, where a person can tell them from the answer
    bool is_over;
} chatting;

typedef struct directive {
    const char *name;
    kazeia_status (*function)(chatting *chat, const char *text);
    const char *help;
} directive;

static kazeia_status say_for_people(chatting *chat, const char *sentence) {
    return chat->run->options.is_json ? KAZEIA_OK
                                      : cli_print(&chat->run->failure, "%s\n", sentence);
}

static kazeia_status reset(chatting *chat, const char *text) {
    (void)text;
    CLI_TRY(cli_checked(chat->run, kazeia_stage_reset(chat->talker.stage)));
    return say_for_people(chat, "(a new conversation)");
}

static kazeia_status set_system(chatting *chat, const char *text) {
    char *system = strdup(text);
    if (system == NULL) {
        return cli_fail(&chat->run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for the text");
    }
    chat->setup.settings.system = system;
    // The old stage goes first: two of them would need twice the memory of the cache. Should the
    // new one fail, the program ends with that sentence.
    kazeia_stage_destroy(chat->talker.stage);
    chat->talker.stage = NULL;
    free(chat->system);
    chat->system = system;
    CLI_TRY(cli_checked(chat->run, kazeia_chat_create(chat->talker.runtime, chat->talker.program,
                                                      &chat->setup.settings, &chat->talker.stage)));
    return say_for_people(chat, "(a new conversation with these instructions)");
}

// A wrong path is a slip of a person, who goes on talking.
static kazeia_status save_or_load(chatting *chat, const char *path, kazeia_status status,
                                  const char *done) {
    if (path[0] == '\0') {
        return say_for_people(chat, "(a file's name is missing behind it)");
    }
    if (status != KAZEIA_OK && chat->is_terminal) {
        return cli_print(&chat->run->failure, "(%s)\n", kazeia_last_error());
    }
    CLI_TRY(cli_checked(chat->run, status));
    return say_for_people(chat, done);
}

static kazeia_status save(chatting *chat, const char *path) {
    const kazeia_status status =
        path[0] == '\0' ? KAZEIA_OK : kazeia_chat_save(chat->talker.stage, path);
    return save_or_load(chat, path, status, "(saved)");
}

static kazeia_status load(chatting *chat, const char *path) {
    const kazeia_status status =
        path[0] == '\0' ? KAZEIA_OK : kazeia_chat_restore(chat->talker.stage, path);
    return save_or_load(chat, path, status, "(the conversation goes on)");
}

static kazeia_status undo(chatting *chat, const char *text) {
    (void)text;
    const kazeia_status status = kazeia_chat_rewind(chat->talker.stage, 2);
    if (status == KAZEIA_BAD_ARGUMENT) {
        return say_for_people(chat, "(there is nothing to take back)");
    }
    CLI_TRY(cli_checked(chat->run, status));
    return say_for_people(chat, "(the last question and its answer are forgotten)");
}

static kazeia_status show_state(chatting *chat, const char *text) {
    (void)text;
    const kazeia_chat_statistics measures = kazeia_chat_statistics_of(chat->talker.stage);
    if (chat->run->options.is_json) {
        return KAZEIA_OK;
    }
    return cli_print(&chat->run->failure,
                     "(%u tokens in the context, room for %u; cache %.1f MB; last answer: %u "
                     "tokens, %u of %u guessed ones accepted; opened in %.0f ms)\n",
                     measures.context_tokens, measures.room_tokens,
                     (double)measures.cache_bytes / 1e6, measures.generated_tokens,
                     measures.accepted_tokens, measures.drafted_tokens, chat->talker.load_ms);
}

static kazeia_status quit(chatting *chat, const char *text) {
    (void)text;
    chat->is_over = true;
    return KAZEIA_OK;
}

static kazeia_status help(chatting *chat, const char *text);

static const directive DIRECTIVES[] = {
    {"/reset", reset, "forget the conversation"},
    {"/system", set_system, "TEXT: begin anew with these instructions to the model"},
    {"/undo", undo, "forget the last question and its answer"},
    {"/save", save, "FILE: keep the conversation"},
    {"/load", load, "FILE: go on with one that was kept"},
    {"/stats", show_state, "how full the context is, and more"},
    {"/help", help, "these lines"},
    {"/quit", quit, "end; so does the end of input"},
};
#define DIRECTIVE_COUNT (sizeof DIRECTIVES / sizeof DIRECTIVES[0])

static kazeia_status help(chatting *chat, const char *text) {
    (void)text;
    for (size_t i = 0; i < DIRECTIVE_COUNT; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "%-8s %s", DIRECTIVES[i].name, DIRECTIVES[i].help);
        CLI_TRY(say_for_people(chat, line));
    }
    return KAZEIA_OK;
}

// The directive that a line begins with, or NULL; *out_text is what stands behind it.
static const directive *find_directive(const char *line, const char **out_text) {
    const size_t length = strcspn(line, " ");
    for (size_t i = 0; i < DIRECTIVE_COUNT; i++) {
        if (strlen(DIRECTIVES[i].name) == length && memcmp(DIRECTIVES[i].name, line, length) == 0) {
            *out_text = line + length + strspn(line + length, " ");
            return &DIRECTIVES[i];
        }
    }
    return NULL;
}

static kazeia_status print_measures(chatting *chat) {
    const kazeia_chat_statistics measures = kazeia_chat_statistics_of(chat->talker.stage);
    return cli_print(&chat->run->failure,
                     "\n[%u tokens, %.1f/s; first after %.0f ms; prompt %u tokens, %u of them "
                     "kept; stop: %s]\n",
                     measures.generated_tokens, measures.decode_tokens_per_s, measures.ttft_ms,
                     measures.prompt_tokens, measures.cached_tokens,
                     kazeia_stop_reason_name(measures.stop_reason));
}

static kazeia_status answer(chatting *chat, const char *line) {
    cli_run *run = chat->run;
    cli_reply reply = {0};
    kazeia_status status = cli_reply_hear(run, chat->talker.stage, line, chat->show, &reply);
    if (status == KAZEIA_OK) {
        status = run->options.is_json
                     ? cli_print_json(cli_reply_json(&chat->talker, &reply), &run->failure)
                     : print_measures(chat);
    }
    cli_reply_clear(&reply);
    return status;
}

static kazeia_status handle_line(chatting *chat, const char *line) {
    const char *text = NULL;
    const directive *found = find_directive(line, &text);
    if (found != NULL) {
        return found->function(chat, text);
    }
    // Taken for a slip and not for something to say: a model would answer it.
    if (line[0] == '/') {
        return say_for_people(chat, "(no such directive; /help lists them)");
    }
    return line[0] == '\0' ? KAZEIA_OK : answer(chat, line);
}

// Whatever fails ends the program, but for an unknown directive: a stage that failed once is in no
// state to promise anything.
static kazeia_status talk(chatting *chat) {
    cli_run *run = chat->run;
    cli_lines lines = {.stream = stdin, .name = "standard input"};
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK && !chat->is_over) {
        if (chat->is_terminal) {
            status = cli_print(&run->failure, "> ");
        }
        if (status == KAZEIA_OK) {
            status = cli_lines_next(&lines, &run->failure);
        }
        if (status == KAZEIA_OK) {
            status = handle_line(chat, lines.text);
        }
    }
    cli_lines_clear(&lines);
    return status == KAZEIA_DONE ? KAZEIA_OK : status;
}

static cli_reply_show shown(const cli_run *run) {
    if (run->options.is_json) {
        return CLI_SHOW_NOTHING;
    }
    return isatty(STDOUT_FILENO) == 1 ? CLI_SHOW_THOUGHTS : CLI_SHOW_ANSWER;
}

kazeia_status cli_chat(cli_run *run) {
    chatting chat = {
        .run = run,
        .is_terminal = !run->options.is_json && isatty(STDIN_FILENO) == 1,
        .show = shown(run),
    };
    kazeia_status status = cli_chat_setup_read(run, &chat.setup);
    if (status == KAZEIA_OK) {
        status = cli_talker_open(run, &chat.setup.settings, &chat.talker);
    }
    // A script that pipes its lines in reads answers, no help.
    if (status == KAZEIA_OK && chat.is_terminal) {
        status = help(&chat, "");
    }
    if (status == KAZEIA_OK) {
        status = talk(&chat);
    }
    cli_talker_close(&chat.talker);
    cli_chat_setup_clear(&chat.setup);
    free(chat.system);
    return status;
}
