// nfc.c: NFC through utf8proc's functions that take the caller's memory.
//
// in:  valid UTF-8
// out: NFC
//
// utf8proc_map would allocate for each call; decomposing into our buffer and composing there does
// not. Below U+0300 nothing composes with anything, so text in plain Latin letters is passed
// through.
#include "text/nfc.h"

#include <utf8proc.h>

#define FIRST_CHANGING_BYTE 0xccu // first byte of U+0300

kazeia_status kz_nfc_init(kz_nfc *nfc, size_t max_characters, const kazeia_allocator *allocator) {
    *nfc = (kz_nfc){.allocator = kz_allocator_or_default(allocator), .capacity = max_characters};
    void *memory = NULL;
    KZ_TRY(kz_alloc(&nfc->allocator, max_characters, sizeof *nfc->characters, "NFC", &memory));
    nfc->characters = memory;
    return KAZEIA_OK;
}

void kz_nfc_clear(kz_nfc *nfc) {
    if (nfc->characters != NULL) {
        kz_free(&nfc->allocator, nfc->characters);
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

static kazeia_status check_marks(const uint8_t *text, size_t count) {
    uint32_t mark_count = 0;
    for (size_t i = 0; i < count;) {
        utf8proc_int32_t character = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(text + i, (utf8proc_ssize_t)(count - i), &character);
        if (length <= 0) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "text: byte %zu of %zu is not UTF-8", i, count);
        }
        // The class is what sorting goes by: only runs of marks are ever reordered.
        const bool is_mark = utf8proc_get_property(character)->combining_class != 0;
        mark_count = is_mark ? mark_count + 1 : 0;
        if (mark_count > KZ_NFC_MARK_LIMIT) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "text: more than %u combining marks in a row before byte %zu of %zu",
                           KZ_NFC_MARK_LIMIT, i, count);
        }
        i += (size_t)length;
    }
    return KAZEIA_OK;
}

kazeia_status kz_nfc_compose(kz_nfc *nfc, const uint8_t *text, size_t count,
                             const uint8_t **out_text, size_t *out_count) {
    if (!may_change(text, count)) {
        *out_text = text;
        *out_count = count;
        return KAZEIA_OK;
    }
    KZ_TRY(check_marks(text, count));
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    const utf8proc_ssize_t characters = utf8proc_decompose(
        text, (utf8proc_ssize_t)count, nfc->characters, (utf8proc_ssize_t)nfc->capacity, options);
    // One element stays free: the composed text gets a NUL that may need it.
    if (characters < 0 || (size_t)characters >= nfc->capacity) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "text: %zu bytes decompose into %lld characters; room was made for %zu",
                       count, (long long)characters, nfc->capacity);
    }
    const utf8proc_ssize_t bytes = utf8proc_reencode(nfc->characters, characters, options);
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
