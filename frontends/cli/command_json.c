// command_json.c: commands as JSON.
//
// in:  a command; a test's expectation
// out: an object; whether the two are the same
#include "command_json.h"

#include <string.h>

#include "output.h"

static json_t *number_json(double number) {
    // 20 is a whole number of minutes, not 20.0.
    const bool is_whole = number >= -1e15 && number <= 1e15 && number == (double)(json_int_t)number;
    return is_whole ? json_integer((json_int_t)number) : cli_json_real(number);
}

static json_t *slot_json(const kazeia_slot *slot) {
    if (slot->is_number) {
        return number_json(slot->number);
    }
    json_t *list = slot->is_list ? json_loads(slot->text, 0, NULL) : NULL;
    return list != NULL ? list : cli_json_string(slot->text);
}

json_t *cli_command_slots_json(const kazeia_command *command) {
    json_t *slots = json_object();
    for (size_t i = 0; command->intent != NULL && i < command->slot_count; i++) {
        (void)json_object_set_new(slots, command->slots[i].name, slot_json(&command->slots[i]));
    }
    return slots;
}

json_t *cli_command_json(const kazeia_command *command, bool has_response) {
    json_t *object = json_pack("{s:o, s:o}", "intent", cli_json_string(command->intent), "slots",
                               cli_command_slots_json(command));
    if (has_response && command->intent != NULL) {
        (void)json_object_set_new(object, "response", cli_json_string(command->response));
        (void)json_object_set_new(object, "response_key", cli_json_string(command->response_key));
        (void)json_object_set_new(object, "found", cli_json_string(command->found));
        (void)json_object_set_new(object, "confidence", cli_json_real(command->confidence));
    }
    return object;
}

// One small letter of UTF-8 of up to two bytes; longer ones are taken byte by byte.
static unsigned next_letter(const char **text) {
    const unsigned char first = (unsigned char)**text;
    unsigned letter = first;
    (*text)++;
    if ((first & 0xe0u) == 0xc0u && ((unsigned char)**text & 0xc0u) == 0x80u) {
        letter = (first & 0x1fu) << 6 | ((unsigned char)**text & 0x3fu);
        (*text)++;
    }
    const bool is_latin = (letter >= 'A' && letter <= 'Z') ||
                          (letter >= 0xc0 && letter <= 0xde && letter != 0xd7) ||
                          (letter >= 0x391 && letter <= 0x3a9);
    return is_latin ? letter + 32 : letter == 0x152 ? 0x153 : letter;
}

bool cli_same_text(const char *left, const char *right) {
    while (*left != '\0' && *right != '\0') {
        if (next_letter(&left) != next_letter(&right)) {
            return false;
        }
    }
    return *left == *right;
}

static bool is_same_value(const json_t *left, const json_t *right) {
    if (json_is_array(left)) {
        for (size_t i = 0; i < json_array_size(left); i++) {
            if (is_same_value(json_array_get(left, i), right)) {
                return true;
            }
        }
        return false;
    }
    if (json_is_array(right)) {
        return is_same_value(right, left);
    }
    if (json_is_number(left) && json_is_number(right)) {
        return json_number_value(left) == json_number_value(right);
    }
    if (json_is_string(left) && json_is_string(right)) {
        return cli_same_text(json_string_value(left), json_string_value(right));
    }
    return json_equal(left, right);
}

bool cli_command_json_is(const json_t *found, const json_t *expected) {
    const json_t *slots = json_object_get(found, "slots");
    json_t *wanted = json_object_get(expected, "slots");
    const char *key;
    json_t *value;
    if (!json_equal(json_object_get(found, "intent"), json_object_get(expected, "intent")) ||
        json_object_size(slots) != json_object_size(wanted)) {
        return false;
    }
    json_object_foreach(wanted, key, value) {
        const json_t *own = json_object_get(slots, key);
        if (own == NULL || !is_same_value(own, value)) {
            return false;
        }
    }
    return true;
}
