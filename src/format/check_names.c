// check_names.c: are names sound, and is each of them there once?
//
// in:  NUL-terminated strings from anywhere
// out: a status
// Names are compared after a heap sort: no hostile list makes it slow, and it needs no memory
// beyond the pointers (the C library's qsort may allocate).
#include <string.h>

#include "format/check_parts.h"

#define NAME_BYTES_LIMIT 255u

// Length of the UTF-8 sequence at `text`, 0 when it is none: overlong forms, surrogates and numbers
// over 0x10ffff are none. A NUL ends every sequence, so reading stops in time.
static size_t sequence_length(const uint8_t *text, uint32_t *out_character) {
    const uint8_t first = text[0];
    if (first < 0x80) {
        *out_character = first;
        return 1;
    }
    // 0xc0 and 0xc1 begin overlong forms only, and bytes below 0xc0 continue a sequence: no length.
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    uint32_t character = first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (text[i] & 0x3fu);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (length == 0 || character < least[length] || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff)) {
        return 0;
    }
    *out_character = character;
    return length;
}

// C0, DEL and C1: a name with them could move a terminal's cursor or hide itself in a log.
static bool is_control(uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

static kazeia_status check_characters(const char *text, const char *what, const char *also) {
    const uint8_t *next = (const uint8_t *)text;
    while (*next != 0) {
        uint32_t character = 0;
        const size_t length = sequence_length(next, &character);
        // A control character is below 0xa0, so it fits strchr's char; NUL ended the text.
        const bool is_allowed =
            length > 0 && (!is_control(character) || strchr(also, (int)character) != NULL);
        if (!is_allowed) {
            return kz_fail(KAZEIA_BAD_FILE, "%s '%.60s': byte %zu is %s, plain UTF-8 expected",
                           what, text, (size_t)(next - (const uint8_t *)text),
                           length == 0 ? "no UTF-8" : "a control character");
        }
        next += length;
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_text(const char *text, const char *what) {
    return check_characters(text, what, "\t\n\r");
}

kazeia_status kz_check_name(const char *name, const char *what) {
    const size_t length = strlen(name);
    if (length == 0 || length > NAME_BYTES_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "%s '%.60s': a name of %zu bytes, 1 to %u expected", what,
                       name, length, NAME_BYTES_LIMIT);
    }
    return check_characters(name, what, "");
}

// Lets the name at `root` sink until no child is greater.
// The heap has the greatest name in front: taking it off again and again sorts from the end.
static void sink(const char **names, size_t root, size_t count) {
    while (2 * root + 1 < count) {
        size_t child = 2 * root + 1;
        if (child + 1 < count && strcmp(names[child + 1], names[child]) > 0) {
            child++;
        }
        if (strcmp(names[root], names[child]) >= 0) {
            return;
        }
        const char *risen = names[child];
        names[child] = names[root];
        names[root] = risen;
        root = child;
    }
}

static void sort_names(const char **names, size_t count) {
    for (size_t i = count / 2; i > 0; i--) {
        sink(names, i - 1, count);
    }
    for (size_t end = count; end > 1; end--) {
        const char *greatest = names[0];
        names[0] = names[end - 1];
        names[end - 1] = greatest;
        sink(names, 0, end - 1);
    }
}

kazeia_status kz_check_name_list(const char **names, size_t count, const char *what) {
    for (size_t i = 0; i < count; i++) {
        KZ_TRY(kz_check_name(names[i], what));
    }
    sort_names(names, count);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            return kz_fail(KAZEIA_BAD_FILE, "%s '%s' is there twice", what, names[i]);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_names(const void *records, size_t count, size_t stride, const char *what,
                             const kazeia_allocator *allocator) {
    void *memory = NULL;
    KZ_TRY(kz_alloc(allocator, count, sizeof(char *), "a list of names", &memory));
    const char **names = memory;
    for (size_t i = 0; i < count; i++) {
        // The first member of each record is its name: copied as bytes, since records differ in
        // type.
        memcpy(&names[i], (const char *)records + i * stride, sizeof names[i]);
    }
    const kazeia_status status = kz_check_name_list(names, count, what);
    kz_free(allocator, memory);
    return status;
}
