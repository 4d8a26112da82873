// template_text.c: what templates do with strings, as Python's str does it.
//   in   strings with origins
//   out  likewise
#include "llm/template_text.h"

#include <string.h>
#include <utf8proc.h>

#include "text/utf8.h"

#define BYTES_PER_WORK 16u

// --- Looking ------------------------------------------------------------------------------------

uint32_t kz_string_find(const kz_variant *string, const kz_variant *needle, uint32_t from) {
    if (from > string->count || needle->count > string->count - from) {
        return UINT32_MAX;
    }
    if (needle->count == 0) {
        return from;
    }
    const char *place =
        memmem(string->text + from, string->count - from, needle->text, needle->count);
    return place ? (uint32_t)(place - string->text) : UINT32_MAX;
}

static uint32_t find_last(const kz_variant *string, const kz_variant *needle, uint32_t end) {
    for (uint32_t at = end; at >= needle->count && at > 0; at--) {
        if (memcmp(string->text + at - needle->count, needle->text, needle->count) == 0) {
            return at - needle->count;
        }
    }
    return UINT32_MAX;
}

bool kz_string_starts_with(const kz_variant *string, const kz_variant *prefix) {
    return prefix->count <= string->count && memcmp(string->text, prefix->text, prefix->count) == 0;
}

bool kz_string_ends_with(const kz_variant *string, const kz_variant *suffix) {
    return suffix->count <= string->count &&
           memcmp(string->text + string->count - suffix->count, suffix->text, suffix->count) == 0;
}

uint32_t kz_string_length(const kz_variant *string) {
    uint32_t characters = 0;
    for (uint32_t at = 0; at < string->count; characters++) {
        at += kz_utf8_read_last(string->text + at, string->count - at).length;
    }
    return characters;
}

uint32_t kz_string_offset(const kz_variant *string, uint32_t index) {
    uint32_t at = 0;
    for (; index > 0 && at < string->count; index--) {
        at += kz_utf8_read_last(string->text + at, string->count - at).length;
    }
    return at;
}

// What Python's str.isspace says yes to.
static bool is_space(uint32_t code_point) {
    return (code_point >= 9 && code_point <= 13) || (code_point >= 28 && code_point <= 32) ||
           code_point == 0x85 || (code_point > 0x85 && kz_char_is_space(code_point));
}

static kz_utf8_char last_char(const kz_variant *string, uint32_t end) {
    uint32_t from = end - 1;
    while (from > 0 && end - from < 4 && ((uint8_t)string->text[from] & 0xc0) == 0x80) {
        from--;
    }
    const kz_utf8_char c = kz_utf8_read_last(string->text + from, end - from);
    const kz_utf8_char byte = {KZ_REPLACEMENT_CHARACTER, 1, false};
    return c.length == end - from ? c : byte;
}

// --- Strip --------------------------------------------------------------------------------------

static bool is_stripped(const kz_variant *set, const char *text, const kz_utf8_char *c) {
    if (!set) {
        return is_space(c->code_point);
    }
    const kz_variant character = kz_variant_text(text, c->length, KZ_FROM_TEMPLATE);
    for (uint32_t at = 0; at < set->count;) {
        const uint32_t length = kz_utf8_read_last(set->text + at, set->count - at).length;
        if (length == character.count && memcmp(set->text + at, text, length) == 0) {
            return true;
        }
        at += length;
    }
    return false;
}

kazeia_status kz_string_strip(kz_heap *heap, const kz_variant *string, const kz_variant *set,
                              bool at_start, bool at_end, kz_variant *out_value) {
    uint32_t from = 0, to = string->count;
    while (at_start && from < to) {
        const kz_utf8_char c = kz_utf8_read_last(string->text + from, to - from);
        if (!is_stripped(set, string->text + from, &c)) {
            break;
        }
        from += c.length;
    }
    while (at_end && from < to) {
        const kz_utf8_char c = last_char(string, to);
        if (!is_stripped(set, string->text + to - c.length, &c)) {
            break;
        }
        to -= c.length;
    }
    KZ_TRY(kz_heap_work(heap, 1 + (string->count - (to - from)) * (set ? 1 + set->count : 1)));
    return kz_string_cut(heap, string, from, to, out_value);
}

// --- Split --------------------------------------------------------------------------------------

typedef struct piece {
    uint32_t from, to;
} piece;

static uint32_t skip(const kz_variant *string, uint32_t at, bool over_space) {
    while (at < string->count) {
        const kz_utf8_char c = kz_utf8_read_last(string->text + at, string->count - at);
        if (is_space(c.code_point) != over_space) {
            break;
        }
        at += c.length;
    }
    return at;
}

// The next piece at or after *at; false when there is none. Behind `most` cuts the rest is one.
static bool next_word(const kz_variant *string, bool takes_rest, uint32_t *at, piece *out_piece) {
    out_piece->from = skip(string, *at, true);
    out_piece->to = takes_rest ? string->count : skip(string, out_piece->from, false);
    *at = out_piece->to;
    return out_piece->from < string->count;
}

static kazeia_status split_words(kz_heap *heap, const kz_variant *string, int64_t most,
                                 kz_variant *out_value) {
    kz_variant *items = NULL;
    uint32_t count = 0, at = 0;
    piece word = {0, 0};
    while (next_word(string, most >= 0 && count >= most, &at, &word)) {
        count++;
    }
    KZ_TRY(kz_heap_work(heap, 1 + string->count / 4));
    KZ_TRY(kz_heap_take(heap, count, sizeof *items, (void **)&items));
    at = 0;
    for (uint32_t i = 0; i < count; i++) {
        (void)next_word(string, most >= 0 && i >= most, &at, &word);
        KZ_TRY(kz_string_cut(heap, string, word.from, word.to, &items[i]));
    }
    *out_value = kz_variant_list(items, count);
    return KAZEIA_OK;
}

static uint32_t count_places(const kz_variant *string, const kz_variant *needle, int64_t most) {
    uint32_t count = 0, at = 0;
    while ((most < 0 || count < most) && (at = kz_string_find(string, needle, at)) != UINT32_MAX) {
        count++;
        at += needle->count;
    }
    return count;
}

static kazeia_status split_left(kz_heap *heap, const kz_variant *string,
                                const kz_variant *separator, kz_variant *items, uint32_t cuts) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < cuts; i++) {
        const uint32_t place = kz_string_find(string, separator, at);
        KZ_TRY(kz_string_cut(heap, string, at, place, &items[i]));
        at = place + separator->count;
    }
    return kz_string_cut(heap, string, at, string->count, &items[cuts]);
}

static kazeia_status split_right(kz_heap *heap, const kz_variant *string,
                                 const kz_variant *separator, kz_variant *items, uint32_t cuts) {
    uint32_t end = string->count;
    for (uint32_t i = cuts; i > 0; i--) {
        const uint32_t place = find_last(string, separator, end);
        // Overlapping separators may lie fewer times from the right than from the left: then what
        // is left is empty.
        if (place == UINT32_MAX) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "rsplit at overlapping places");
        }
        KZ_TRY(kz_string_cut(heap, string, place + separator->count, end, &items[i]));
        end = place;
    }
    return kz_string_cut(heap, string, 0, end, &items[0]);
}

kazeia_status kz_string_split(kz_heap *heap, const kz_variant *string, const kz_variant *separator,
                              int64_t most, bool from_right, kz_variant *out_value) {
    kz_variant *items = NULL;
    if (!separator) {
        if (from_right && most >= 0) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "rsplit counts words");
        }
        return split_words(heap, string, most, out_value);
    }
    if (separator->count == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "split at an empty separator");
    }
    const uint32_t cuts = count_places(string, separator, most);
    const uint64_t width = from_right ? separator->count : 1;
    KZ_TRY(kz_heap_work(heap, 1 + string->count * width / BYTES_PER_WORK));
    KZ_TRY(kz_heap_take(heap, (size_t)cuts + 1, sizeof *items, (void **)&items));
    KZ_TRY(from_right ? split_right(heap, string, separator, items, cuts)
                      : split_left(heap, string, separator, items, cuts));
    *out_value = kz_variant_list(items, (size_t)cuts + 1);
    return KAZEIA_OK;
}

// --- Putting together ---------------------------------------------------------------------------

static void put_replacement(kz_string_builder *builder, const kz_variant *string, uint32_t at,
                            const kz_variant *new_text) {
    if (kz_string_source(string, at) == KZ_FROM_TEMPLATE) {
        kz_string_put_part(builder, new_text, 0, new_text->count);
    } else {
        kz_string_put(builder, new_text->text, new_text->count, KZ_FROM_CONTENT);
    }
}

// An empty `old` is found in front of each character and at the end.
static kazeia_status replace_between(kz_heap *heap, const kz_variant *string,
                                     const kz_variant *new_text, int64_t most,
                                     kz_variant *out_value) {
    kz_string_builder builder;
    kz_string_begin(&builder, heap);
    for (uint32_t at = 0; most != 0; most--) {
        put_replacement(&builder, string, at, new_text);
        if (at >= string->count) {
            break;
        }
        const uint32_t length = kz_utf8_read_last(string->text + at, string->count - at).length;
        kz_string_put_part(&builder, string, at, most == 1 ? string->count : at + length);
        at += length;
    }
    return kz_string_end(&builder, out_value);
}

kazeia_status kz_string_replace(kz_heap *heap, const kz_variant *string, const kz_variant *old,
                                const kz_variant *new_text, int64_t most, kz_variant *out_value) {
    const uint32_t places = old->count ? count_places(string, old, most) : 0;
    KZ_TRY(kz_heap_work(heap, 1 + string->count / BYTES_PER_WORK));
    if (old->count == 0 && most != 0) {
        return replace_between(heap, string, new_text, most, out_value);
    }
    // Nothing replaced: still the whole content of its message.
    if (places == 0) {
        *out_value = *string;
        return KAZEIA_OK;
    }
    kz_string_builder builder;
    kz_string_begin(&builder, heap);
    uint32_t at = 0;
    for (uint32_t i = 0; i < places; i++) {
        const uint32_t place = kz_string_find(string, old, at);
        kz_string_put_part(&builder, string, at, place);
        put_replacement(&builder, string, place, new_text);
        at = place + old->count;
    }
    kz_string_put_part(&builder, string, at, string->count);
    return kz_string_end(&builder, out_value);
}

kazeia_status kz_string_join(kz_heap *heap, const kz_variant *between, const kz_variant *items,
                             uint32_t count, kz_variant *out_value) {
    kz_variant *strings = NULL;
    kz_string_builder builder;
    KZ_TRY(kz_heap_take(heap, count, sizeof *strings, (void **)&strings));
    // All are turned to text first: one string is built at a time.
    for (uint32_t i = 0; i < count; i++) {
        KZ_TRY(kz_variant_to_string(heap, &items[i], &strings[i]));
    }
    if (count == 1) {
        *out_value = strings[0];
        return KAZEIA_OK;
    }
    kz_string_begin(&builder, heap);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            kz_string_put_part(&builder, between, 0, between->count);
        }
        kz_string_put_part(&builder, &strings[i], 0, strings[i].count);
    }
    return kz_string_end(&builder, out_value);
}

// --- Letters ------------------------------------------------------------------------------------

static uint32_t change_case(uint32_t code_point, bool is_upper) {
    return (uint32_t)(is_upper ? utf8proc_toupper((utf8proc_int32_t)code_point)
                               : utf8proc_tolower((utf8proc_int32_t)code_point));
}

static bool begins_word(uint32_t last, bool joins_words) {
    return joins_words ? is_space(last) || (last < 128 && strchr("-({[<", (int)last))
                       : !kz_char_is_letter(last);
}

kazeia_status kz_string_case(kz_heap *heap, const kz_variant *string, kz_letter_case letter_case,
                             bool joins_words, kz_variant *out_value) {
    kz_string_builder builder;
    uint32_t last = ' ';
    kz_string_begin(&builder, heap);
    for (uint32_t at = 0; at < string->count;) {
        char bytes[4];
        const kz_utf8_char c = kz_utf8_read_last(string->text + at, string->count - at);
        // Other letters are no longer the message's whole content.
        const uint32_t source =
            kz_string_source(string, at) == KZ_FROM_TEMPLATE ? KZ_FROM_TEMPLATE : KZ_FROM_CONTENT;
        const bool is_upper = letter_case == KZ_CASE_UPPER ||
                              (letter_case == KZ_CASE_CAPITALIZE && at == 0) ||
                              (letter_case == KZ_CASE_TITLE && begins_word(last, joins_words));
        if (is_upper && c.code_point == 0xdf) {
            // The sharp s has no capital of its own in Python.
            kz_string_put(&builder, letter_case == KZ_CASE_UPPER ? "SS" : "Ss", 2, source);
        } else if (c.is_valid) {
            kz_string_put(&builder, bytes,
                          kz_utf8_write(change_case(c.code_point, is_upper), bytes), source);
        } else {
            kz_string_put_part(&builder, string, at, at + c.length);
        }
        last = c.code_point;
        at += c.length;
    }
    return kz_string_end(&builder, out_value);
}

kazeia_status kz_string_indent(kz_heap *heap, const kz_variant *string, const kz_variant *indent,
                               bool first, bool blank, kz_variant *out_value) {
    kz_string_builder builder;
    kz_string_begin(&builder, heap);
    if (first) {
        kz_string_put_part(&builder, indent, 0, indent->count);
    }
    for (uint32_t at = 0; at < string->count;) {
        const char *end = memchr(string->text + at, '\n', string->count - at);
        const uint32_t next = end ? (uint32_t)(end - string->text) + 1 : string->count;
        const bool is_blank = end && next - at == 1;
        if (at > 0 && (blank || !is_blank)) {
            kz_string_put_part(&builder, indent, 0, indent->count);
        }
        kz_string_put_part(&builder, string, at, next);
        at = next;
    }
    return kz_string_end(&builder, out_value);
}
