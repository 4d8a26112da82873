// command_guard.c: which commands open a house.
//
// in: a command's slots and the domains of what it names. out: whether it needs more certainty than
// others. By domain and device class as Home Assistant names them, in any language of the grammar.
#include <string.h>

#include "text/command_compiled.h"

static bool is_guarded_word(const char *word) {
    static const char *const words[] = {"lock", "alarm_control_panel", "door", "garage", "gate",
                                        "valve"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

bool kz_command_is_guarded(const kz_command_grammar *grammar, uint64_t domains,
                           const kz_command_result *result) {
    bool is_guarded = false;
    for (uint32_t d = 0; d < grammar->domain_count; d++) {
        is_guarded =
            is_guarded || ((domains >> d & 1) != 0 && is_guarded_word(grammar->domains[d]));
    }
    for (uint32_t i = 0; i < result->slot_count; i++) {
        const char *name = result->slots[i].name;
        is_guarded =
            is_guarded || ((strcmp(name, "domain") == 0 || strcmp(name, "device_class") == 0) &&
                           is_guarded_word(result->slots[i].text));
    }
    // Questions about a lock open nothing.
    return is_guarded && strstr(result->intent, "Get") == NULL;
}
