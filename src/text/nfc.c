// nfc.c: NFC through utf8proc's functions that take the caller's memory.
//
// in:  valid UTF-8
// out: NFC
//
// utf8proc_map would allocate for each call; decomposing into our buffer and composing there does
// not. Below U+0300 nothing composes with anything, so text in plain Latin letters is passed
// through.
#include "text/nfc.h"

#include <string.h>
#include <utf8proc.h>

#define FIRST_CHANGING_BYTE 0xccu // first byte of U+0300
#define COMPOSING ((utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE))

kazeia_status kz_nfc_init(kz_nfc *nfc, size_t max_characters, const kazeia_allocator *allocator) {
    *nfc = (kz_nfc){.allocator = kz_allocator_or_default(allocator), .capacity = max_characters};
    void *memory = NULL;
    KZ_TRY(kz_alloc(&nfc->allocator, max_characters, sizeof *nfc->characters, "NFC", &memory));
    nfc->characters = memory;
    KZ_TRY(kz_alloc(&nfc->allocator, max_characters, sizeof *nfc->scratch, "NFC", &memory));
    nfc->scratch = memory;
    return KAZEIA_OK;
}

void kz_nfc_clear(kz_nfc *nfc) {
    if (nfc->characters != NULL) { // zeros have no allocator
        kz_free(&nfc->allocator, nfc->characters);
        kz_free(&nfc->allocator, nfc->scratch);
    }
    *nfc = (kz_nfc){0};
}

static bool may_change(const uint8_t *text, size_t count) {
    for (size_t i = 0; i < count; i++) {
        // Lead bytes grow with the code point and continuation bytes are all below: one comparison
        // a byte is enough.
        if (text[i] >= FIRST_CHANGING_BYTE) {
            return true;
        }
    }
    return false;
}

// --- Order of marks -----------------------------------------------------------------------------

static uint32_t class_of(int32_t character) {
    return (uint32_t)utf8proc_get_property(character)->combining_class & 0xffu;
}

// By class, marks of one class in the order of the text. utf8proc exchanges neighbours, which costs
// the square of a run: a hostile text has a million in a row.
static void sort_marks(int32_t *marks, int32_t *scratch, size_t count) {
    size_t starts[257] = {0};
    for (size_t i = 0; i < count; i++) {
        starts[class_of(marks[i]) + 1]++;
    }
    for (size_t class = 0; class < 256; class ++) {
        starts[class + 1] += starts[class];
    }
    for (size_t i = 0; i < count; i++) {
        scratch[starts[class_of(marks[i])]++] = marks[i];
    }
    memcpy(marks, scratch, count * sizeof *marks);
}

static bool are_sorted(const int32_t *marks, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (class_of(marks[i]) < class_of(marks[i - 1])) {
            return false;
        }
    }
    return true;
}

static void order_marks(const kz_nfc *nfc, size_t count) {
    for (size_t i = 0; i < count;) {
        const size_t first = i;
        while (i < count && class_of(nfc->characters[i]) != 0) {
            i++;
        }
        // Nearly all texts have them in order.
        if (!are_sorted(nfc->characters + first, i - first)) {
            sort_marks(nfc->characters + first, nfc->scratch, i - first);
        }
        i = i > first ? i : i + 1;
    }
}

// --- Composing ----------------------------------------------------------------------------------

static kazeia_status decompose(const kz_nfc *nfc, const uint8_t *text, size_t count,
                               size_t *out_characters) {
    size_t used = 0;
    for (size_t i = 0; i < count;) {
        utf8proc_int32_t character = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(text + i, (utf8proc_ssize_t)(count - i), &character);
        if (length <= 0) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "text: byte %zu of %zu is not UTF-8", i, count);
        }
        const utf8proc_ssize_t parts =
            utf8proc_decompose_char(character, nfc->characters + used,
                                    (utf8proc_ssize_t)(nfc->capacity - used), COMPOSING, NULL);
        // One element stays free: the composed text gets a NUL that may need it.
        if (parts < 0 || (size_t)parts >= nfc->capacity - used) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "text: %zu bytes decompose into more than the %zu characters that room "
                           "was made for",
                           count, nfc->capacity);
        }
        used += (size_t)parts;
        i += (size_t)length;
    }
    *out_characters = used;
    return KAZEIA_OK;
}

kazeia_status kz_nfc_compose(kz_nfc *nfc, const uint8_t *text, size_t count,
                             const uint8_t **out_text, size_t *out_count) {
    size_t characters = 0;
    if (!may_change(text, count)) {
        *out_text = text;
        *out_count = count;
        return KAZEIA_OK;
    }
    KZ_TRY(decompose(nfc, text, count, &characters));
    order_marks(nfc, characters);
    const utf8proc_ssize_t bytes =
        utf8proc_reencode(nfc->characters, (utf8proc_ssize_t)characters, COMPOSING);
    if (bytes < 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "text: %zu bytes have no composed form: %s", count,
                       utf8proc_errmsg(bytes));
    }
    // utf8proc writes the UTF-8 over the characters, each of which takes four bytes and never needs
    // more.
    *out_text = (const uint8_t *)nfc->characters;
    *out_count = (size_t)bytes;
    return KAZEIA_OK;
}
