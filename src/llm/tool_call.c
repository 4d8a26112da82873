// tool_call.c: a call of a tool -> an element of a JSON array.
//   in   a text that should be a JSON object
//   out  the message's calls
// The text stays as the model wrote it, numbers and all; it is only made sure that whoever reads
// the array can.
#include "llm/tool_call.h"

#include <string.h>

#include "text/utf8.h"

#define DEPTH_LIMIT 64u

typedef struct json_scan {
    const char *at, *end;
    char closings[DEPTH_LIMIT]; // of the objects and arrays that are open
    uint32_t depth;
} json_scan;

static void skip_space(json_scan *scan) {
    while (scan->at < scan->end && memchr(" \t\r\n", *scan->at, 4)) {
        scan->at++;
    }
}

static bool take(json_scan *scan, char character) {
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != character) {
        return false;
    }
    scan->at++;
    return true;
}

static bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

static bool is_hexadecimal(char character) {
    return is_digit(character) || (character >= 'a' && character <= 'f') ||
           (character >= 'A' && character <= 'F');
}

// Behind a backslash.
static bool take_escape(json_scan *scan) {
    if (scan->at == scan->end || !memchr("\"\\/bfnrtu", *scan->at, 9)) {
        return false;
    }
    const size_t digits = *scan->at++ == 'u' ? 4 : 0;
    for (size_t i = 0; i < digits; i++) {
        if (scan->at == scan->end || !is_hexadecimal(*scan->at++)) {
            return false;
        }
    }
    return true;
}

static bool take_string(json_scan *scan) {
    if (!take(scan, '"')) {
        return false;
    }
    while (scan->at < scan->end && *scan->at != '"') {
        const kz_utf8_char character = kz_utf8_read(scan->at, (size_t)(scan->end - scan->at));
        if (!character.is_valid || (uint8_t)*scan->at < 0x20) {
            return false;
        }
        const bool is_escape = *scan->at == '\\';
        scan->at += character.length;
        if (is_escape && !take_escape(scan)) {
            return false;
        }
    }
    return take(scan, '"');
}

static bool take_digits(json_scan *scan) {
    const char *start = scan->at;
    while (scan->at < scan->end && is_digit(*scan->at)) {
        scan->at++;
    }
    return scan->at > start;
}

static bool has(const json_scan *scan, const char *characters) {
    return scan->at < scan->end && strchr(characters, *scan->at) && *scan->at != '\0';
}

static bool take_number(json_scan *scan) {
    scan->at += has(scan, "-");
    const bool is_zero = has(scan, "0");
    const char *start = scan->at;
    if (!take_digits(scan) || (is_zero && scan->at - start > 1)) {
        return false;
    }
    if (has(scan, ".")) {
        scan->at++;
        if (!take_digits(scan)) {
            return false;
        }
    }
    if (has(scan, "eE")) {
        scan->at++;
        scan->at += has(scan, "+-");
        return take_digits(scan);
    }
    return true;
}

static bool take_word(json_scan *scan) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= length && memcmp(scan->at, words[i], length) == 0) {
            scan->at += length;
            return true;
        }
    }
    return false;
}

static bool take_scalar(json_scan *scan) {
    skip_space(scan);
    if (scan->at == scan->end) {
        return false;
    }
    if (*scan->at == '"') {
        return take_string(scan);
    }
    return has(scan, "-0123456789") ? take_number(scan) : take_word(scan);
}

static bool take_key(json_scan *scan) {
    return scan->closings[scan->depth - 1] != '}' || (take_string(scan) && take(scan, ':'));
}

// A value, or the opening of one: then *out_is_open, and its first element or its end comes next.
static bool take_value(json_scan *scan, bool *out_is_open) {
    const bool is_object = take(scan, '{');
    *out_is_open = is_object || take(scan, '[');
    if (!*out_is_open) {
        return take_scalar(scan);
    }
    if (scan->depth == DEPTH_LIMIT) {
        return false;
    }
    scan->closings[scan->depth++] = is_object ? '}' : ']';
    return true;
}

// Behind a value: ends what it ends; a comma leads to the next one.
static bool take_closings(json_scan *scan) {
    while (scan->depth > 0 && take(scan, scan->closings[scan->depth - 1])) {
        scan->depth--;
    }
    return scan->depth == 0 || (take(scan, ',') && take_key(scan));
}

bool kz_json_is_whole(const char *text, size_t bytes, char opening) {
    json_scan scan = {.at = text, .end = text + bytes};
    skip_space(&scan);
    if (scan.at == scan.end || *scan.at != opening) {
        return false;
    }
    do {
        bool is_open = false;
        if (!take_value(&scan, &is_open)) {
            return false;
        }
        const bool is_empty = is_open && take(&scan, scan.closings[scan.depth - 1]);
        scan.depth -= is_empty;
        const bool is_led_on = is_open && !is_empty;
        if (is_led_on ? !take_key(&scan) : !take_closings(&scan)) {
            return false;
        }
    } while (scan.depth > 0);
    skip_space(&scan);
    return scan.at == scan.end;
}

bool kz_tool_call_append(kz_history *history, const char *text, size_t bytes) {
    while (bytes > 0 && memchr(" \t\r\n", text[bytes - 1], 4)) {
        bytes--;
    }
    while (bytes > 0 && memchr(" \t\r\n", *text, 4)) {
        text++;
        bytes--;
    }
    const kz_message *message = &history->messages[history->count - 1];
    const bool is_first = message->tool_calls_bytes == 0;
    // With the bracket, or with the comma and no second bracket.
    if (!kz_json_is_whole(text, bytes, '{') ||
        bytes + 2 > history->text_limit - history->text_bytes) {
        return false;
    }
    if (!is_first) {
        kz_history_shorten_calls(history); // the closing bracket
    }
    return kz_history_append(history, KZ_PART_CALLS, is_first ? "[" : ",", 1) &&
           kz_history_append(history, KZ_PART_CALLS, text, bytes) &&
           kz_history_append(history, KZ_PART_CALLS, "]", 1);
}
