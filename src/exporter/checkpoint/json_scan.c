// json_scan.c: reads JSON in place, value by value.
//
// in:  a document's bytes, hostile
// out: strings and numbers as they come, or a sentence with line and column
//
// Skipping counts brackets in a word of bits instead of recursing: depth is bounded and cheap.
#include "exporter/checkpoint/json_scan.h"

#include <string.h>

// Counts lines only now: reading does not pay for sentences that are not needed.
// Lines and columns count from 1, as editors do; columns are bytes.
kazeia_status kz_json_scan_fail(const kz_json_scan *scan, const char *expected) {
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < scan->at && i < scan->size; i++) {
        line += scan->bytes[i] == '\n';
        column = scan->bytes[i] == '\n' ? 1 : column + 1;
    }
    if (scan->at >= scan->size) {
        return kz_fail(KAZEIA_BAD_FILE, "JSON line %zu, column %zu: the text ends, expected %s",
                       line, column, expected);
    }
    return kz_fail(KAZEIA_BAD_FILE, "JSON line %zu, column %zu: found '%c', expected %s", line,
                   column, scan->bytes[scan->at], expected);
}

uint8_t kz_json_scan_peek(kz_json_scan *scan) {
    while (scan->at < scan->size) {
        const uint8_t byte = scan->bytes[scan->at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') {
            return byte;
        }
        scan->at++;
    }
    // No JSON value begins with NUL, so 0 can stand for the end.
    return 0;
}

kazeia_status kz_json_scan_expect(kz_json_scan *scan, char character) {
    if (kz_json_scan_peek(scan) != (uint8_t)character || scan->at >= scan->size) {
        // The character as a sentence quotes it.
        const char expected[] = {'\'', character, '\'', '\0'};
        return kz_json_scan_fail(scan, expected);
    }
    scan->at++;
    return KAZEIA_OK;
}

// --- Strings ------------------------------------------------------------------------------------

static kazeia_status read_hex(kz_json_scan *scan, uint32_t *out_value) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const uint8_t byte = scan->at < scan->size ? scan->bytes[scan->at] : 0;
        const uint8_t letter = byte | 0x20;
        const bool is_digit = byte >= '0' && byte <= '9';
        if (!is_digit && (letter < 'a' || letter > 'f')) {
            return kz_json_scan_fail(scan, "four hexadecimal digits");
        }
        value = value << 4 | (is_digit ? (uint32_t)(byte - '0') : (uint32_t)(letter - 'a' + 10));
        scan->at++;
    }
    *out_value = value;
    return KAZEIA_OK;
}

// After "\u": a code point, of two escapes when it is a surrogate pair.
static kazeia_status read_code_point(kz_json_scan *scan, uint32_t *out_code) {
    uint32_t code = 0;
    KZ_TRY(read_hex(scan, &code));
    // JSON writes characters above U+FFFF as two UTF-16 halves (RFC 8259, section 7).
    if (code >= 0xd800 && code <= 0xdbff) {
        uint32_t low = 0;
        if (scan->size - scan->at < 2 || memcmp(scan->bytes + scan->at, "\\u", 2) != 0) {
            return kz_json_scan_fail(scan, "the second half of a surrogate pair");
        }
        scan->at += 2;
        KZ_TRY(read_hex(scan, &low));
        if (low < 0xdc00 || low > 0xdfff) {
            return kz_json_scan_fail(scan, "the second half of a surrogate pair");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        // A lone half is no character, and NUL would cut the C string that it stands in.
    } else if ((code >= 0xdc00 && code <= 0xdfff) || code == 0) {
        return kz_json_scan_fail(scan, "a character");
    }
    *out_code = code;
    return KAZEIA_OK;
}

// At most 4 bytes; the caller has kept room for them and a NUL.
static size_t write_utf8(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

// After the backslash.
static kazeia_status read_escape(kz_json_scan *scan, uint32_t *out_code) {
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const uint8_t byte = scan->at < scan->size ? scan->bytes[scan->at] : 0;
    if (byte == 'u') {
        scan->at++;
        return read_code_point(scan, out_code);
    }
    // strchr would find the table's own NUL.
    const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
    if (letter == NULL) {
        return kz_json_scan_fail(scan, "an escape");
    }
    scan->at++;
    *out_code = (uint8_t)meanings[letter - letters];
    return KAZEIA_OK;
}

kazeia_status kz_json_scan_string(kz_json_scan *scan, size_t capacity, char *out_text,
                                  size_t *out_count) {
    size_t count = 0;
    KZ_TRY(kz_json_scan_expect(scan, '"'));
    for (;;) {
        const uint8_t byte = scan->at < scan->size ? scan->bytes[scan->at] : 0;
        if (byte < 0x20) {
            return kz_json_scan_fail(scan, "the end of a string");
        }
        // Before anything is written, whatever comes next.
        if (count + 5 > capacity) { // the longest character and the NUL
            return kz_json_scan_fail(scan, "a shorter string");
        }
        scan->at++;
        if (byte == '"') {
            break;
        }
        if (byte != '\\') {
            out_text[count++] = (char)byte;
            continue;
        }
        uint32_t code = 0;
        KZ_TRY(read_escape(scan, &code));
        count += write_utf8(code, out_text + count);
    }
    out_text[count] = '\0';
    *out_count = count;
    return KAZEIA_OK;
}

// Escapes are not decoded: only an escaped quote matters.
static kazeia_status skip_string(kz_json_scan *scan) {
    scan->at++;
    while (scan->at < scan->size && scan->bytes[scan->at] != '"') {
        scan->at += scan->bytes[scan->at] == '\\' ? 2 : 1;
    }
    if (scan->at >= scan->size) {
        // An escape at the end stepped one too far.
        scan->at = scan->size;
        return kz_json_scan_fail(scan, "the end of a string");
    }
    scan->at++;
    return KAZEIA_OK;
}

// --- Values -------------------------------------------------------------------------------------

kazeia_status kz_json_scan_u64(kz_json_scan *scan, uint64_t *out_value) {
    uint8_t byte = kz_json_scan_peek(scan);
    uint64_t value = 0;
    if (byte < '0' || byte > '9') {
        return kz_json_scan_fail(scan, "a whole number");
    }
    while (byte >= '0' && byte <= '9') {
        // Offsets and sizes: a number that wraps would point elsewhere in the file.
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(byte - '0'), &value)) {
            return kz_json_scan_fail(scan, "a number below 2^64");
        }
        scan->at++;
        byte = scan->at < scan->size ? scan->bytes[scan->at] : 0;
    }
    // A real that happens to begin like a whole number.
    if (byte == '.' || byte == 'e' || byte == 'E') {
        return kz_json_scan_fail(scan, "a whole number");
    }
    *out_value = value;
    return KAZEIA_OK;
}

// Numbers and words: the characters that they are made of.
static kazeia_status skip_word(kz_json_scan *scan) {
    const size_t start = scan->at;
    while (scan->at < scan->size) {
        const uint8_t byte = scan->bytes[scan->at];
        const uint8_t letter = byte | 0x20;
        const bool is_part = (byte >= '0' && byte <= '9') || (letter >= 'a' && letter <= 'z') ||
                             byte == '-' || byte == '+' || byte == '.';
        if (!is_part) {
            break;
        }
        scan->at++;
    }
    return scan->at > start ? KAZEIA_OK : kz_json_scan_fail(scan, "a value");
}

// One bracket, comma, colon, string or word. `brackets` has a bit for each open bracket.
static kazeia_status skip_piece(kz_json_scan *scan, uint32_t *depth, uint64_t *brackets) {
    const uint8_t byte = kz_json_scan_peek(scan);
    if (byte == '{' || byte == '[') {
        if (*depth == KZ_JSON_DEPTH_LIMIT) {
            return kz_json_scan_fail(scan, "at most 64 brackets within each other");
        }
        // 64 brackets fit the word exactly, so none is shifted out.
        *brackets = *brackets << 1 | (byte == '{');
        ++*depth;
        scan->at++;
        return KAZEIA_OK;
    }
    if (byte == '}' || byte == ']') {
        if (*depth == 0 || (*brackets & 1) != (byte == '}')) {
            return kz_json_scan_fail(scan, "the bracket that belongs here");
        }
        *brackets >>= 1;
        --*depth;
        scan->at++;
        return KAZEIA_OK;
    }
    // Order within brackets is not checked: what is skipped has no meaning here, only an end.
    if (*depth > 0 && (byte == ',' || byte == ':')) {
        scan->at++;
        return KAZEIA_OK;
    }
    return byte == '"' ? skip_string(scan) : skip_word(scan);
}

kazeia_status kz_json_scan_skip(kz_json_scan *scan) {
    uint32_t depth = 0;
    uint64_t brackets = 0;
    do {
        KZ_TRY(skip_piece(scan, &depth, &brackets));
    } while (depth > 0);
    return KAZEIA_OK;
}

kazeia_status kz_json_scan_next(kz_json_scan *scan, size_t index, char closing, bool *out_more) {
    if (kz_json_scan_peek(scan) == (uint8_t)closing) {
        scan->at++;
        *out_more = false;
        return KAZEIA_OK;
    }
    // "[,1]" is refused: the first element follows its bracket.
    if (index > 0) {
        KZ_TRY(kz_json_scan_expect(scan, ','));
    }
    *out_more = true;
    return KAZEIA_OK;
}

kazeia_status kz_json_scan_member(kz_json_scan *scan, size_t index, size_t capacity, char *out_key,
                                  size_t *out_count, bool *out_more) {
    KZ_TRY(kz_json_scan_next(scan, index, '}', out_more));
    if (!*out_more) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_json_scan_string(scan, capacity, out_key, out_count));
    return kz_json_scan_expect(scan, ':');
}
