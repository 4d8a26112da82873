// spoken.c: the stream: input window, one reader a step, output with its white space.
//
// in: text as written. out: text to be spoken. Markup is not parsed into a tree: a voice needs no
// structure, and signs can be dropped one by one with a few flags of state, so that nesting costs
// nothing and memory stays fixed.
#include "text/spoken.h"

#include <string.h>

#include "text/spoken_state.h"
#include "text/spoken_words.h"

enum { PUT_BYTES = 8 }; // most that one call of put writes

static bool is_superscript(uint32_t c) {
    return c == 0xb9 || c == 0xb2 || c == 0xb3 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079);
}

// Superscript digits are footnote marks unless they are a power: after a digit, a bracket, a
// unit, or the product of E = mc².
static bool is_power(const kz_spoken_state *state) {
    static const char *const units[] = {"m",  "km", "hm", "dm", "cm", "mm",
                                        "nm", "ft", "in", "yd", "mc"};
    // A letter alone is a variable: "x²".
    if (kz_char_is_digit(state->previous) || state->previous == ')' || state->word_count == 1 ||
        is_superscript(state->previous)) {
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i]) == state->word_count &&
            memcmp(units[i], state->word, state->word_count) == 0) {
            return true;
        }
    }
    return false;
}

// Control, formatting and private characters that no voice can say. Soft hyphen, zero-width signs,
// direction marks, byte order mark, private use, and all planes above the emoji.
static bool is_unspeakable(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x200b || c == 0x200c ||
           c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe000 && c <= 0xf8ff) ||
           c == KZ_REPLACEMENT_CHARACTER || c >= 0xe0000;
}

// Room is sure: kz_spoken_stream_next starts no step with less than PUT_BYTES free, and a step puts
// out no more.
static void write_char(kz_spoken_stream *s, uint32_t c) {
    s->output_count += kz_utf8_write(c, s->output + s->output_count);
    s->state.has_output = true;
}

// Of "bien 😀." the voice gets "bien.".
static bool needs_no_space_before(uint32_t c) {
    return c == '.' || c == ',' || c == ')' || c == 0x2026;
}

// A space is written when something follows it: so none stands at the start or the end, and of
// several only the strongest.
static void pay_space(kz_spoken_stream *s, uint32_t next) {
    kz_spoken_state *state = &s->state;
    const kz_spoken_space space = state->space;
    state->space = KZ_SPACE_NONE;
    if (!state->has_output || space == KZ_SPACE_NONE) {
        return;
    }
    state->word_count = 0;
    if (space == KZ_SPACE_LINE) {
        write_char(s, '\n');
    } else if (space == KZ_SPACE_COMMA) {
        write_char(s, ',');
        write_char(s, ' ');
    } else if (!state->has_dropped_sign || !needs_no_space_before(next)) {
        write_char(s, state->space_sign == '\t' ? ' ' : state->space_sign);
    }
}

static void note_word(kz_spoken_state *state, uint32_t c) {
    if (!kz_char_is_letter(c)) {
        state->word_count = 0;
    } else if (state->word_count < sizeof state->word) {
        // Only units of measure are looked up in it: four letters are enough to tell that it is
        // longer than any of them.
        state->word[state->word_count++] = c < 0x80 ? (char)c : '?';
    }
}

void kz_spoken_put(kz_spoken_stream *s, uint32_t c) {
    pay_space(s, c);
    write_char(s, c);
    s->state.previous = c;
    s->state.has_dropped_sign = false;
    s->state.is_line_start = false;
    s->state.is_cell_start = false;
    note_word(&s->state, c);
}

void kz_spoken_owe(kz_spoken_stream *s, kz_spoken_space space) {
    // The kinds are in order of strength.
    if (space > s->state.space) {
        s->state.space = space;
        s->state.space_sign = ' ';
    }
}

void kz_spoken_end_line(kz_spoken_stream *s) {
    kz_spoken_owe(s, KZ_SPACE_LINE);
    s->state.is_line_start = true;
    s->state.is_cell_start = false;
    s->state.is_in_rule = false;
    // Whatever a line has left open ends with it: an unbalanced bracket spoils one line and not the
    // whole reply.
    s->state.bracket_depth = 0;
    s->state.target_depth = 0;
    s->state.is_in_reference = false;
    s->state.is_in_autolink = false;
}

void kz_spoken_take(kz_spoken_stream *s, uint32_t c) {
    if (kz_char_is_line_break(c)) {
        kz_spoken_end_line(s);
    } else if (kz_char_is_space(c)) {
        if (s->state.space == KZ_SPACE_NONE) {
            s->state.space = KZ_SPACE_WORD;
            s->state.space_sign = c;
        }
    } else if (kz_char_is_emoji(c)) {
        s->state.has_dropped_sign = true;
    } else if (!is_unspeakable(c) && (!is_superscript(c) || is_power(&s->state))) {
        kz_spoken_put(s, c);
    }
}

// ---- one step -----------------------------------------------------------------------------------

// A fence closes at the end of a line that holds only its signs. Code is not read aloud; only its
// end is looked for. A fence may lie in a quotation, hence '>'.
static size_t read_fenced(kz_spoken_stream *s, kz_spoken_window window) {
    kz_spoken_state *state = &s->state;
    const char c = window.bytes[0];
    if (c == '\n') {
        if (state->is_fence_line_start && state->fence_run >= state->fence_length) {
            state->fence_sign = 0;
        }
        kz_spoken_end_line(s);
        state->is_fence_line_start = true;
        state->fence_run = 0;
    } else if (c == state->fence_sign && state->is_fence_line_start) {
        state->fence_run += state->fence_run < UINT32_MAX;
    } else if (c != ' ' && c != '\r' && c != '>') {
        state->is_fence_line_start = false;
    }
    return 1;
}

static size_t read_link_end(kz_spoken_stream *s, kz_spoken_window window) {
    kz_spoken_state *state = &s->state;
    const char c = window.bytes[0];
    if (c == '\n') {
        kz_spoken_end_line(s);
    } else if (state->is_in_reference) {
        state->is_in_reference = c != ']';
    } else if (c == '(') {
        state->target_depth += state->target_depth < UINT32_MAX;
    } else if (c == ')') {
        state->target_depth--;
    }
    return 1;
}

// Dropped signs of a rule; 0 at the first other sign, where the rule ends.
static size_t read_rule(kz_spoken_stream *s, kz_spoken_window window) {
    // strchr finds the NUL, which is no sign of a rule.
    if (strchr("-=:| \t", window.bytes[0]) != NULL && window.bytes[0] != '\0') {
        return 1;
    }
    s->state.is_in_rule = false;
    return 0;
}

static size_t read_role(kz_spoken_stream *s, kz_spoken_window window) {
    const char c = window.bytes[0];
    if ((c >= 'a' && c <= 'z') || c == '_') {
        return 1;
    }
    s->state.is_in_role = false;
    return 0;
}

static size_t read_plain(kz_spoken_stream *s, kz_spoken_window window) {
    const kz_utf8_char c = window.is_final ? kz_utf8_read_last(window.bytes, window.count)
                                           : kz_utf8_read(window.bytes, window.count);
    bool is_mark;
    // Bytes that are no text are dropped; 0 waits for the rest of a character.
    if (!c.is_valid) {
        return c.length;
    }
    size_t consumed = kz_spoken_read_mark(s, window, c, &is_mark);
    if (!is_mark) {
        kz_spoken_take(s, c.code_point);
        consumed = c.length;
    }
    return consumed;
}

// From the strongest state to the weakest: inside a hidden block a fence means nothing, inside a
// fence a link.
static size_t read_step(kz_spoken_stream *s, kz_spoken_window window) {
    const kz_spoken_state *state = &s->state;
    size_t consumed = 0;
    if (state->hidden_until != NULL) {
        return kz_spoken_read_hidden(s, window);
    }
    if (state->fence_sign != 0) {
        return read_fenced(s, window);
    }
    if (state->target_depth > 0 || state->is_in_reference) {
        return read_link_end(s, window);
    }
    if (state->is_in_rule) {
        consumed = read_rule(s, window);
    } else if (state->is_in_role) {
        consumed = read_role(s, window);
    }
    return consumed > 0 ? consumed : read_plain(s, window);
}

// ---- the stream ---------------------------------------------------------------------------------

static kazeia_status create_words(kz_spoken_stream *stream, const char *language) {
    const kz_spoken_language *table = language == NULL ? NULL : kz_spoken_language_find(language);
    void *memory = NULL;
    if (table == NULL) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_alloc(&stream->allocator, 1, sizeof(kz_words), "spoken words", &memory));
    const kazeia_status status = kz_words_init(memory, table, &stream->allocator);
    if (status != KAZEIA_OK) {
        kz_free(&stream->allocator, memory);
        return status;
    }
    stream->words = memory;
    return KAZEIA_OK;
}

kazeia_status kz_spoken_stream_create(const char *language, const kazeia_allocator *allocator,
                                      kz_spoken_stream **out_stream) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_spoken_stream), "spoken stream", &memory));
    kz_spoken_stream *stream = memory;
    stream->allocator = own;
    stream->words = NULL;
    const kazeia_status status = create_words(stream, language);
    if (status != KAZEIA_OK) {
        kz_spoken_stream_destroy(stream);
        return status;
    }
    kz_spoken_stream_reset(stream);
    *out_stream = stream;
    return KAZEIA_OK;
}

bool kz_spoken_is_known(const char *language) {
    return kz_spoken_language_find(language) != NULL;
}

bool kz_spoken_has_words(const char *language) {
    return kz_spoken_language_find(language) != NULL && kz_speller_is_built();
}

void kz_spoken_stream_destroy(kz_spoken_stream *stream) {
    if (stream != NULL) {
        const kazeia_allocator allocator = stream->allocator;
        if (stream->words != NULL) {
            kz_words_clear(stream->words);
            kz_free(&allocator, stream->words);
        }
        kz_free(&allocator, stream);
    }
}

kazeia_status kz_spoken_stream_feed(kz_spoken_stream *stream, const char *bytes, size_t count,
                                    size_t *out_taken) {
    if (stream->is_finished) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "spoken stream: text fed after finish");
    }
    if (count > sizeof stream->input - stream->end && stream->begin > 0) {
        memmove(stream->input, stream->input + stream->begin, stream->end - stream->begin);
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    const size_t room = sizeof stream->input - stream->end;
    const size_t taken = count < room ? count : room;
    if (taken > 0) {
        memcpy(stream->input + stream->end, bytes, taken);
        stream->end += taken;
    }
    *out_taken = taken;
    return KAZEIA_OK;
}

static kazeia_status clean_next(kz_spoken_stream *stream, kz_text_view *out_text) {
    stream->output_count = 0;
    bool is_waiting = false;
    // Every step either consumes, or asks for more with an input window that is not full: so
    // feeding always helps.
    while (stream->output_count + PUT_BYTES <= sizeof stream->output && !is_waiting &&
           stream->begin < stream->end) {
        const kz_spoken_window window = {stream->input + stream->begin, stream->end - stream->begin,
                                         stream->is_finished || stream->is_pausing};
        const size_t consumed = read_step(stream, window);
        stream->begin += consumed;
        is_waiting = consumed == 0;
    }
    if (stream->output_count > 0) {
        *out_text = (kz_text_view){stream->output, stream->output_count};
        return KAZEIA_OK;
    }
    return stream->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
}

// Gives the words what the cleaner has. KAZEIA_OK when they may have something to say.
static kazeia_status feed_words(kz_spoken_stream *stream) {
    kz_words *words = stream->words;
    if (stream->clean.count == 0) {
        const kazeia_status status = clean_next(stream, &stream->clean);
        if (status != KAZEIA_OK) {
            stream->clean.count = 0;
            // The end, or the sentence's end: what the words hold is decided as it stands.
            const bool is_held = words->held > 0 && (stream->is_finished || stream->is_pausing);
            if (is_held) {
                kz_words_close(words);
                return KAZEIA_OK;
            }
            return status;
        }
    }
    const size_t taken = kz_words_feed(words, stream->clean.bytes, stream->clean.count);
    stream->clean.bytes += taken;
    stream->clean.count -= taken;
    return KAZEIA_OK;
}

kazeia_status kz_spoken_stream_next(kz_spoken_stream *stream, kz_text_view *out_text) {
    kazeia_status status = KAZEIA_OK;
    if (stream->words == NULL) {
        status = clean_next(stream, out_text);
    } else {
        // The words' own output first: it was made of what came before.
        while (status == KAZEIA_OK && !kz_words_next(stream->words, out_text)) {
            status = feed_words(stream);
        }
    }
    if (status == KAZEIA_NEEDS_INPUT && stream->is_pausing) {
        stream->is_pausing = false;
        if (stream->words != NULL) {
            kz_words_start_sentence(stream->words);
        }
    }
    return status;
}

void kz_spoken_stream_end_sentence(kz_spoken_stream *stream) {
    stream->is_pausing = true;
}

bool kz_spoken_stream_is_plain(const kz_spoken_stream *stream) {
    const kz_spoken_state *state = &stream->state;
    return stream->begin == stream->end && state->hidden_until == NULL && state->fence_sign == 0 &&
           state->bracket_depth == 0 && state->target_depth == 0 && !state->is_in_reference &&
           !state->is_in_autolink && !state->is_in_rule && !state->is_in_role;
}

void kz_spoken_stream_finish(kz_spoken_stream *stream) {
    stream->is_finished = true;
}

void kz_spoken_stream_reset(kz_spoken_stream *stream) {
    stream->begin = 0;
    stream->end = 0;
    stream->is_finished = stream->is_pausing = false;
    stream->clean = (kz_text_view){0};
    if (stream->words != NULL) {
        kz_words_reset(stream->words);
    }
    stream->output_count = 0;
    memset(&stream->state, 0, sizeof stream->state);
    stream->state.is_line_start = true;
}
