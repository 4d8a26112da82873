// nfc.h: Unicode's composed form (NFC) in memory that was reserved before.
//
// in:  valid UTF-8
// out: the same text with accents composed
#ifndef KZ_TEXT_NFC_H
#define KZ_TEXT_NFC_H

#include "base/alloc.h"

// The caller's memory; one thread at a time.
typedef struct kz_nfc {
    kazeia_allocator allocator;
    int32_t *characters; // [capacity]; after composing, the UTF-8 of the result
    int32_t *scratch;    // [capacity] for runs of marks out of order
    size_t capacity;
} kz_nfc;

// Room for texts whose decomposed form has up to `max_characters` characters.
KAZEIA_MUST_CHECK kazeia_status kz_nfc_init(kz_nfc *nfc, size_t max_characters,
                                            const kazeia_allocator *allocator);
// Frees the room; zeros are fine.
void kz_nfc_clear(kz_nfc *nfc);

// Composes. The result is `text` itself when nothing in it can change, else it lies in `nfc` until
// the next call; time is linear. BAD_ARGUMENT when the room is exceeded, or `text` is not UTF-8.
// The form is that of Unicode Standard Annex 15, in the version of the utf8proc library.
KAZEIA_MUST_CHECK kazeia_status kz_nfc_compose(kz_nfc *nfc, const uint8_t *text, size_t count,
                                               const uint8_t **out_text, size_t *out_count);

#endif
