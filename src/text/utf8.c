// utf8.c: UTF-8 by hand, character classes by utf8proc.
//
// in: any bytes. out: code points and their classes. The decoder is our own because utf8proc's does
// not tell a sequence that is cut short from one that is wrong, and a stream must wait for the
// first.
#include "text/utf8.h"

#include <string.h>
#include <utf8proc.h>

static uint32_t sequence_length(unsigned char lead) {
    if (lead < 0x80) {
        return 1;
    }
    // 80 to BF only continue; C0 and C1 would be overlong; F5 and above lie past U+10FFFF.
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// The second byte decides about overlong forms, surrogates and the upper end.
static bool second_byte_fits(unsigned char lead, unsigned char second) {
    const unsigned char lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return second >= lowest && second <= highest;
}

kz_utf8_char kz_utf8_read(const char *bytes, size_t count) {
    kz_utf8_char result = {KZ_REPLACEMENT_CHARACTER, 0, false};
    if (count == 0) {
        return result;
    }
    const unsigned char lead = (unsigned char)bytes[0];
    const uint32_t length = sequence_length(lead);
    result.length = 1;
    if (length == 0) {
        return result;
    }
    // A lead byte of n bytes has n ones and a zero before its bits.
    uint32_t code_point = length == 1 ? lead : lead & (0x7fu >> length);
    for (uint32_t i = 1; i < length; i++) {
        // Length 0: more bytes decide. A byte that cannot continue is found before the end is
        // reached.
        if (i >= count) {
            result.length = 0;
            return result;
        }
        const unsigned char byte = (unsigned char)bytes[i];
        if ((byte & 0xc0u) != 0x80u || (i == 1 && !second_byte_fits(lead, byte))) {
            return result;
        }
        code_point = (code_point << 6) | (byte & 0x3fu);
    }
    return (kz_utf8_char){code_point, length, true};
}

kz_utf8_char kz_utf8_read_last(const char *bytes, size_t count) {
    kz_utf8_char result = kz_utf8_read(bytes, count);
    // The text ends inside a character: its first byte is given up, and the rest is read again.
    if (result.length == 0 && count > 0) {
        result.length = 1;
    }
    return result;
}

size_t kz_utf8_write(uint32_t code_point, char out_bytes[4]) {
    // utf8proc writes nothing for such numbers; an entity like &#xd800; can ask for one.
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
        code_point = KZ_REPLACEMENT_CHARACTER;
    }
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)code_point,
                                        (utf8proc_uint8_t *)out_bytes);
}

bool kz_char_is_line_break(uint32_t code_point) {
    return (code_point >= 0x0a && code_point <= 0x0d) || code_point == 0x85 ||
           code_point == 0x2028 || code_point == 0x2029;
}

static utf8proc_category_t category_of(uint32_t code_point) {
    return utf8proc_category((utf8proc_int32_t)code_point);
}

bool kz_char_is_space(uint32_t code_point) {
    if (code_point < 0x80) {
        return code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0d);
    }
    return kz_char_is_line_break(code_point) || category_of(code_point) == UTF8PROC_CATEGORY_ZS;
}

bool kz_char_is_upper(uint32_t code_point) {
    const utf8proc_category_t category = category_of(code_point);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
}

bool kz_char_is_lower(uint32_t code_point) {
    return category_of(code_point) == UTF8PROC_CATEGORY_LL;
}

// Marks are letters too: a decomposed "é" must not end a word.
bool kz_char_is_letter(uint32_t code_point) {
    const utf8proc_category_t category = category_of(code_point);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
           (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME);
}

bool kz_char_is_digit(uint32_t code_point) {
    if (code_point < 0x80) {
        return code_point >= '0' && code_point <= '9';
    }
    return category_of(code_point) == UTF8PROC_CATEGORY_ND;
}

// Zero width joiner, keycap, variation selectors, and the tags of flags: signs that only belong to
// a picture.
static bool is_emoji_joiner(uint32_t c) {
    return c == 0x200d || c == 0x20e3 || (c >= 0xfe00 && c <= 0xfe0f) ||
           (c >= 0xe0020 && c <= 0xe007f);
}

bool kz_char_is_emoji(uint32_t c) {
    // Digits, # and * are emoji by Unicode's table, since a keycap may follow them; below U+203D
    // only the joiner is a sign of pictures.
    if (c < 0x203d) {
        return c == 0x200d;
    }
    if (is_emoji_joiner(c) || (c >= 0x1f1e6 && c <= 0x1f1ff) || (c >= 0x1f3fb && c <= 0x1f3ff)) {
        return true;
    }
    // Unicode calls them pictures, but they stand in running text: "!?" as one sign, the trade
    // mark, arrows.
    if (c == 0x2049 || c == 0x2122 || c == 0x2139 || (c >= 0x2190 && c <= 0x21ff)) {
        return false;
    }
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    return property->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

uint32_t kz_char_lower(uint32_t code_point) {
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point);
}

static size_t last_char_start(const char *bytes, size_t count) {
    size_t start = count;
    do {
        start--;
    } while (start > 0 && ((unsigned char)bytes[start] & 0xc0u) == 0x80u);
    return start;
}

// Composes the last two characters of `out`, the second a combining mark, where NFC does so.
// Returns the new count; composing never makes text longer than the two were.
static size_t compose_last_two(char *out, size_t count) {
    const size_t mark_at = last_char_start(out, count);
    // A mark at the very start has nothing to stand on.
    if (mark_at == 0) {
        return count;
    }
    const size_t base_at = last_char_start(out, mark_at);
    utf8proc_int32_t pair[2] = {
        (utf8proc_int32_t)kz_utf8_read(out + base_at, mark_at - base_at).code_point,
        (utf8proc_int32_t)kz_utf8_read(out + mark_at, count - mark_at).code_point};
    char written[4];
    if (utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) != 1) {
        return count;
    }
    const size_t length = kz_utf8_write((uint32_t)pair[0], written);
    // Never in practice (a composed character is no longer than its parts); the buffer must not
    // depend on that.
    if (length > count - base_at) {
        return count;
    }
    memcpy(out + base_at, written, length);
    return base_at + length;
}

size_t kz_text_fold(const char *bytes, size_t count, char *out, size_t capacity) {
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        const kz_utf8_char c = kz_utf8_read_last(bytes + at, count - at);
        at += c.length;
        if (!c.is_valid) {
            continue;
        }
        // The typographic apostrophe becomes the plain one, so that tables hold each word once.
        const uint32_t lower = c.code_point == 0x2019 ? '\'' : kz_char_lower(c.code_point);
        char written[4];
        const size_t length = kz_utf8_write(lower, written);
        if (length > capacity - used) {
            return SIZE_MAX;
        }
        memcpy(out + used, written, length);
        used += length;
        if (utf8proc_get_property((utf8proc_int32_t)lower)->combining_class != 0) {
            used = compose_last_two(out, used);
        }
    }
    return used;
}
