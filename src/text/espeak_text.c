// espeak_text.c: keeps from espeak-ng the text that it cannot survive.
//
// in:  any bytes, and the voice that is to speak them
// out: valid UTF-8 in the voice's own script or Latin, in words of bounded length
// A list of what is allowed, rather than of what is known to crash: the next crash is not known
// yet.
#include "text/espeak_text.h"

#include <string.h>

#include "text/utf8.h"

typedef struct code_point_range {
    uint32_t first;
    uint32_t last;
} code_point_range;

// What every voice may see.
static const code_point_range common_ranges[] = {
    {0x0021, 0x007e}, {0x00a1, 0x00ac}, {0x00ae, 0x02af}, // Latin without the soft hyphen
    {0x0300, 0x036f},                                     // combining marks
    {0x1e00, 0x1eff},                                     // Latin with more marks
    {0x2010, 0x2027}, {0x2030, 0x205e},                   // punctuation
    {0x2070, 0x22ff}, // superscripts, currencies, letter-like signs, fractions, arrows, mathematics
};

typedef struct script_of_language {
    const char *language; // the first part of the voice's name
    code_point_range range;
} script_of_language;

// Languages whose script is not Latin; Japanese and Chinese share the ideographs.
static const script_of_language scripts[] = {
    {"am", {0x1200, 0x137f}},  {"ar", {0x0600, 0x06ff}},  {"as", {0x0980, 0x09ff}},
    {"ba", {0x0400, 0x052f}},  {"be", {0x0400, 0x052f}},  {"bg", {0x0400, 0x052f}},
    {"bn", {0x0980, 0x09ff}},  {"bpy", {0x0980, 0x09ff}}, {"chr", {0x13a0, 0x13ff}},
    {"cmn", {0x3000, 0x9fff}}, {"cv", {0x0400, 0x052f}},  {"el", {0x0370, 0x03ff}},
    {"fa", {0x0600, 0x06ff}},  {"grc", {0x0370, 0x03ff}}, {"gu", {0x0a80, 0x0aff}},
    {"hak", {0x3000, 0x9fff}}, {"he", {0x0590, 0x05ff}},  {"hi", {0x0900, 0x097f}},
    {"hy", {0x0530, 0x058f}},  {"hyw", {0x0530, 0x058f}}, {"ja", {0x3000, 0x9fff}},
    {"ka", {0x10a0, 0x10ff}},  {"kk", {0x0400, 0x052f}},  {"kn", {0x0c80, 0x0cff}},
    {"ko", {0xac00, 0xd7a3}},  {"kok", {0x0900, 0x097f}}, {"ky", {0x0400, 0x052f}},
    {"mk", {0x0400, 0x052f}},  {"ml", {0x0d00, 0x0d7f}},  {"mr", {0x0900, 0x097f}},
    {"my", {0x1000, 0x109f}},  {"ne", {0x0900, 0x097f}},  {"nog", {0x0400, 0x052f}},
    {"or", {0x0b00, 0x0b7f}},  {"pa", {0x0a00, 0x0a7f}},  {"ru", {0x0400, 0x052f}},
    {"sd", {0x0600, 0x06ff}},  {"shn", {0x1000, 0x109f}}, {"si", {0x0d80, 0x0dff}},
    {"sr", {0x0400, 0x052f}},  {"ta", {0x0b80, 0x0bff}},  {"te", {0x0c00, 0x0c7f}},
    {"th", {0x0e00, 0x0e7f}},  {"tt", {0x0400, 0x052f}},  {"ug", {0x0600, 0x06ff}},
    {"uk", {0x0400, 0x052f}},  {"ur", {0x0600, 0x06ff}},  {"yue", {0x3000, 0x9fff}},
};

static bool is_within(code_point_range range, uint32_t code_point) {
    return code_point >= range.first && code_point <= range.last;
}

// The voice's own range; an empty one for Latin languages.
static code_point_range find_script(const char *voice) {
    const size_t length = strcspn(voice, "-+");
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strlen(scripts[i].language) == length &&
            strncmp(scripts[i].language, voice, length) == 0) {
            return scripts[i].range;
        }
    }
    // First above last: no character lies within.
    return (code_point_range){1, 0};
}

static bool is_readable(code_point_range script, kz_utf8_char c) {
    bool is_found = is_within(script, c.code_point);
    for (size_t i = 0; !is_found && i < sizeof common_ranges / sizeof common_ranges[0]; i++) {
        is_found = is_within(common_ranges[i], c.code_point);
    }
    return c.is_valid && is_found;
}

// Dashes between signs are among what crashes espeak-ng, and it does not speak them.
static bool joins_words(char c, char before) {
    return c != '-' || strchr(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", before) == NULL;
}

size_t kz_espeak_prepare_text(const char *voice, const char *text, size_t count, char *out) {
    const code_point_range script = find_script(voice);
    size_t word_bytes = 0;
    size_t written = 0;
    for (size_t done = 0; done < count;) {
        const kz_utf8_char c = kz_utf8_read_last(text + done, count - done);
        const bool is_kept =
            is_readable(script, c) && joins_words(text[done], written > 0 ? out[written - 1] : ' ');
        if (!is_kept || word_bytes + c.length > KZ_ESPEAK_WORD_BYTES) {
            // At most one space for each character put out or dropped: hence twice the bytes of
            // room.
            out[written++] = ' ';
            word_bytes = 0;
        }
        if (is_kept) {
            memcpy(out + written, text + done, c.length);
            written += c.length;
            word_bytes += c.length;
        }
        done += c.length;
    }
    out[written] = '\0';
    return written;
}
