// commands.c: kazeia_commands: a command grammar and its matcher behind the public interface.
//   in   a YAML file; transcripts
//   out  intents, slots, responses
#include "kazeia/commands.h"

#include "api/commands.h"
#include "api/handles.h"
#include "pipeline/command.h"

struct kazeia_commands {
    kazeia_allocator allocator;
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    // Room for the public form of the last match, so that a match allocates nothing; overwritten by
    // the next.
    kazeia_slot slots[KZ_COMMAND_MAX_SLOTS];
};

kazeia_status kazeia_commands_open(const char *path, const kazeia_allocator *allocator,
                                   kazeia_commands **out_commands) {
    KZ_TRY(kz_require(path, "commands: path"));
    KZ_TRY(kz_require(out_commands, "commands: out_commands"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kazeia_commands *commands = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *commands, "commands", (void **)&commands));
    commands->allocator = memory;
    kazeia_status status = kz_command_grammar_open(path, &memory, &commands->grammar);
    if (status == KAZEIA_OK) {
        status = kz_command_matcher_create(commands->grammar, &memory, &commands->matcher);
    }
    if (status != KAZEIA_OK) {
        kazeia_commands_close(commands);
        return status;
    }
    *out_commands = commands;
    return KAZEIA_OK;
}

void kazeia_commands_close(kazeia_commands *commands) {
    if (!commands) {
        return;
    }
    const kazeia_allocator memory = commands->allocator;
    // The matcher reads the grammar to its end, so it goes first.
    if (commands->matcher) {
        kz_command_matcher_destroy(commands->matcher);
    }
    if (commands->grammar) {
        kz_command_grammar_close(commands->grammar);
    }
    kz_free(&memory, commands);
}

kz_command_matcher *kz_commands_matcher(kazeia_commands *commands) {
    return commands ? commands->matcher : NULL;
}

// Texts are the matcher's own and last as long as its result. No match has intent NULL, but a
// response that can be printed.
kazeia_command kz_commands_present(kazeia_commands *commands, const kz_command_result *result) {
    if (!commands || !result->is_match) {
        return (kazeia_command){.intent = NULL, .response = ""};
    }
    for (uint32_t i = 0; i < result->slot_count; i++) {
        const kz_command_slot *slot = &result->slots[i];
        commands->slots[i] = (kazeia_slot){.name = slot->name,
                                           .text = slot->text,
                                           .number = slot->number,
                                           .is_number = slot->kind == KZ_SLOT_NUMBER};
    }
    return (kazeia_command){.intent = result->intent,
                            .slots = commands->slots,
                            .slot_count = result->slot_count,
                            .response = result->response ? result->response : ""};
}

kazeia_status kazeia_commands_match(kazeia_commands *commands, const char *transcript,
                                    kazeia_command *out_command) {
    KZ_TRY(kz_require(commands, "commands"));
    KZ_TRY(kz_require(transcript, "commands: transcript"));
    KZ_TRY(kz_require(out_command, "commands: out_command"));
    kz_command_result result;
    KZ_TRY(kz_command_judge(commands->matcher, transcript, &result));
    *out_command = kz_commands_present(commands, &result);
    return KAZEIA_OK;
}
