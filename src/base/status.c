// status.c: keeps the failure sentence of each thread.
//
// in:  a status and a printf format from whoever found the fault
// out: the sentence that kazeia_last_error gives
//
// Every sentence is formatted in a second buffer first: its arguments may point into the present
// sentence, and what they quote from outside is only made harmless once all of it is there.
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char last_sentence[KZ_SENTENCE_BYTES];

static bool is_continuation(unsigned char byte) {
    return (byte & 0xc0u) == 0x80u;
}

// Bytes of the printable character at `text`, 0 when it is a control character or no UTF-8. The
// NUL at the end is no continuation byte, so this never reads past it.
static size_t printable_length(const unsigned char *text) {
    const unsigned char lead = text[0];
    if (lead < 0x80u) {
        return lead >= 0x20u && lead != 0x7fu ? 1 : 0;
    }
    if (lead < 0xc2u || lead > 0xf4u || !is_continuation(text[1])) {
        return 0;
    }
    if (lead < 0xe0u) {
        return lead == 0xc2u && text[1] < 0xa0u ? 0 : 2; // U+0080 to U+009F are controls
    }
    if (!is_continuation(text[2])) {
        return 0;
    }
    if (lead < 0xf0u) {
        const bool is_overlong = lead == 0xe0u && text[1] < 0xa0u;
        const bool is_surrogate = lead == 0xedu && text[1] > 0x9fu;
        return is_overlong || is_surrogate ? 0 : 3;
    }
    const bool is_overlong = lead == 0xf0u && text[1] < 0x90u;
    const bool is_too_high = lead == 0xf4u && text[1] > 0x8fu;
    return is_overlong || is_too_high || !is_continuation(text[3]) ? 0 : 4;
}

// Every byte that cannot be shown becomes one '?', so a sentence never grows here.
static void set_sentence(const char *raw, bool is_cut) {
    static const char cut_mark[] = "...";
    const size_t limit = is_cut ? KZ_SENTENCE_BYTES - sizeof cut_mark : KZ_SENTENCE_BYTES - 1;
    size_t at = 0;
    while (at < limit && raw[at] != '\0') {
        const size_t length = printable_length((const unsigned char *)raw + at);
        if (at + length > limit) {
            break;
        }
        if (length == 0) {
            last_sentence[at++] = '?';
            continue;
        }
        memcpy(last_sentence + at, raw + at, length);
        at += length;
    }
    memcpy(last_sentence + at, is_cut ? cut_mark : "", is_cut ? sizeof cut_mark : 1);
}

// Formats into raw[KZ_SENTENCE_BYTES]; returns the length that the whole text would have. Never
// allocates: the sentence for "out of memory" is made here, too.
static size_t format_raw(char *raw, const char *format, va_list arguments) {
    const int length = vsnprintf(raw, KZ_SENTENCE_BYTES, format, arguments);
    if (length >= 0) {
        return (size_t)length;
    }
    // The C library could not format it (out of memory, over INT_MAX): the bare format still tells
    // what failed.
    const int bare_length = snprintf(raw, KZ_SENTENCE_BYTES, "%s", format);
    return bare_length > 0 ? (size_t)bare_length : 0;
}

kazeia_status kz_fail(kazeia_status status, const char *format, ...) {
    char raw[KZ_SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const size_t length = format_raw(raw, format, arguments);
    va_end(arguments);
    set_sentence(raw, length >= KZ_SENTENCE_BYTES);
    return status;
}

kazeia_status kz_fail_context(kazeia_status status, const char *format, ...) {
    // Both sentences at full length and the ": " between them; set_sentence cuts the sum.
    char raw[2 * KZ_SENTENCE_BYTES + 2];
    va_list arguments;
    va_start(arguments, format);
    size_t length = format_raw(raw, format, arguments);
    va_end(arguments);
    if (length < KZ_SENTENCE_BYTES && last_sentence[0] != '\0') {
        const size_t sentence_length = strlen(last_sentence);
        memcpy(raw + length, ": ", 2);
        memcpy(raw + length + 2, last_sentence, sentence_length + 1);
        length += 2 + sentence_length;
    }
    set_sentence(raw, length >= KZ_SENTENCE_BYTES);
    return status;
}

kazeia_status kz_fail_advice(kazeia_status status, const char *advice) {
    char raw[KZ_SENTENCE_BYTES + 1];
    const size_t length = strlen(last_sentence);
    const size_t advice_length = strlen(advice);
    // Half an advice helps nobody.
    if (length == 0 || length + advice_length + 3 > KZ_SENTENCE_BYTES) {
        return status;
    }
    memcpy(raw, last_sentence, length);
    memcpy(raw + length, "; ", 2);
    memcpy(raw + length + 2, advice, advice_length + 1);
    set_sentence(raw, false);
    return status;
}

const char *kazeia_status_name(kazeia_status status) {
    static const char *const names[] = {
#define STATUS_NAME(name, value, text) [value] = #name,
        KAZEIA_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    };
    // The names' table is indexed by value: a negative status becomes a large index.
    const size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "UNKNOWN";
}

const char *kazeia_last_error(void) {
    return last_sentence;
}

const char *kazeia_version(void) {
    return KAZEIA_VERSION;
}
