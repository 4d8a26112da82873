// sentence.c: one pass over the characters, with the last possible stop kept open until decided.
//
// in:  bytes in a buffer that holds at most two pieces. out: views into that buffer.
// A reader would question why there is no table-driven automaton: the decision needs words before
// and after the stop, and what is open (code, brackets, quotes). So each character first settles
// the open stop, then updates the piece. A cut that lies before the present character starts the
// scan again from there; that stretch is at most a few openers and one short word, or a piece that
// was too long, so every character is read a bounded number of times.
#include "text/sentence.h"

#include <string.h>

#include "text/sentence_words.h"

enum {
    DEFAULT_MAX_CHARS = 300,
    SMALLEST_MAX_CHARS = 8,
    LARGEST_MAX_CHARS = 100000,
    EARLY_WORDS = 3,        // a first fragment has at least this many words
    MAX_OPENERS = 8,        // signs skipped between a stop and the next word
    MAX_STARTER_BYTES = 12, // longer words are no sentence beginnings
    MAX_MARKER_DIGITS = 3
};

// What is open at a character; it outlives the piece.
typedef struct scan_mode {
    uint32_t last_marker;  // number of the last list marker, 0: none
    uint16_t code_ticks;   // length of the backtick run that opened code, 0: no code
    uint16_t tick_run;     // backticks just read
    uint8_t bracket_depth; // « “ ( [
    bool is_straight_open; // an odd number of " so far in this line
    bool is_in_fence;      // lines between ``` and ```
    bool is_line_blank;    // nothing visible in this line yet
} scan_mode;

// Kept with the mode of that moment: a cut that lies behind what was read scans again from there,
// as if nothing had been read.
typedef struct border {
    size_t at; // bytes from the piece's start; 0: none
    scan_mode mode;
} border;

typedef enum stop_phase { NO_STOP, IN_RUN, IN_CLOSERS, IN_SPACE, IN_OPENERS, IN_WORD } stop_phase;

typedef struct open_stop {
    stop_phase phase;
    kz_stop_rule rule;
    bool is_soft; // a small letter after it goes on with the sentence
    bool is_quoted;
    uint32_t opener_count;
    size_t word_at;
    border resume; // where the next sentence would begin
} open_stop;

struct kz_sentence_stream {
    kazeia_allocator allocator;
    char language[4];
    bool wants_early_cut;
    uint32_t max_chars;
    size_t max_bytes; // of a piece with the white space around it

    char *bytes; // [capacity]
    size_t capacity;
    size_t begin, end; // the undecided text
    size_t scanned;    // bytes of it already read, from begin
    bool is_finished;
    bool is_first_piece;

    // The piece that begins at `begin`.
    scan_mode mode;
    bool starts_line;
    bool has_break; // a line break after something visible
    uint32_t chars; // from the first visible character to the last read
    uint32_t words;
    bool has_letters; // a letter or digit
    bool is_after_space;
    uint32_t previous;    // last visible character, 0 at the start
    uint32_t before_word; // the visible character before the present word
    size_t word_at;       // start of the present word
    bool follows_number;  // the word before the present one is a number
    border last_space;
    border last_clause; // after , ; : and long dashes
    open_stop stop;
};

static bool is_one_of(uint32_t c, const uint32_t *set, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (set[i] == c) {
            return true;
        }
    }
    return false;
}

#define IS_ONE_OF(c, set) is_one_of((c), (set), sizeof(set) / sizeof((set)[0]))

// Beyond ASCII: ellipsis, interrobang, the double marks, and the full-width signs of a model that
// slips into Chinese.
static const uint32_t stop_signs[] = {'.',    '!',    '?',    0x2026, 0x203d, 0x2047,
                                      0x2048, 0x2049, 0x3002, 0xff01, 0xff1f};
static const uint32_t closing_signs[] = {'"', '\'', ')',  ']',    '}',    '*',   '_',
                                         '~', '`',  0xbb, 0x201d, 0x2019, 0x203a};
static const uint32_t opening_signs[] = {'"',    '\'', '(',  '[',    '{',    '*',    '_',
                                         '~',    '-',  '#',  '>',    0xab,   0x201c, 0x2018,
                                         0x2039, 0xbf, 0xa1, 0x2013, 0x2014, 0x2022};
static const uint32_t clause_signs[] = {',', ';', ':', 0x2013, 0x2014};
static const uint32_t glued_signs[] = {'!', '?',  ':', ';',    ',',   '.',
                                       '%', 0xbb, ')', 0x20ac, 0x2026};

static bool is_stop_sign(uint32_t c) {
    return IS_ONE_OF(c, stop_signs);
}

static bool is_in_code(const scan_mode *mode) {
    return mode->is_in_fence || mode->code_ticks > 0;
}

// ---- the piece ----------------------------------------------------------------------------------

static void start_piece(kz_sentence_stream *s, const scan_mode *mode, bool starts_line) {
    s->mode = *mode;
    s->starts_line = starts_line;
    s->scanned = 0;
    s->has_break = false;
    s->chars = 0;
    s->words = 0;
    s->has_letters = false;
    // The piece's start counts as a border of words.
    s->is_after_space = true;
    s->previous = 0;
    s->before_word = 0;
    s->word_at = 0;
    s->follows_number = false;
    s->last_space.at = 0;
    s->last_clause.at = 0;
    s->stop.phase = NO_STOP;
}

static uint32_t marker_number(kz_text_view word) {
    uint32_t number = 0;
    // Lists of more than 999 points are years: "1984." ends a sentence.
    if (word.count == 0 || word.count > MAX_MARKER_DIGITS) {
        return 0;
    }
    for (size_t i = 0; i < word.count; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '9') {
            return 0;
        }
        number = number * 10 + (uint32_t)(word.bytes[i] - '0');
    }
    return number;
}

static bool is_letter_marker(kz_text_view word) {
    if (word.count == 1) {
        return kz_char_is_letter((unsigned char)word.bytes[0]);
    }
    return word.count > 0 && word.count <= 4 &&
           // strspn may look past the word, whose end is no NUL, up to the stop sign; what it finds
           // there only adds to the count.
           (strspn(word.bytes, "ivx") >= word.count || strspn(word.bytes, "IVX") >= word.count);
}

// "1." at the start of a line; elsewhere only in sequence, so that "Combien ? 12." is a sentence.
static bool is_list_marker(kz_sentence_stream *s, kz_text_view word, bool is_first_word) {
    const uint32_t number = marker_number(word);
    const bool starts_line = is_first_word && s->starts_line;
    // After a colon a list may run on in one line: "Trois points : 1. ... 2. ...".
    const bool may_start = is_first_word || s->before_word == ':';
    if (number == 0) {
        return starts_line && is_letter_marker(word);
    }
    if (starts_line || (may_start && (number == 1 || number == s->mode.last_marker + 1))) {
        s->mode.last_marker = number;
        return true;
    }
    return false;
}

static kz_text_view present_word(const kz_sentence_stream *s, size_t at) {
    return (kz_text_view){s->bytes + s->begin + s->word_at, at - s->word_at};
}

// A stop sign outside code.
static void open_new_stop(kz_sentence_stream *s, uint32_t c, size_t at) {
    s->stop = (open_stop){.phase = IN_RUN, .rule = KZ_STOP_ANY};
    // "Quoi ? dit-il." goes on as well, but far more often a small letter after ? or ! is a new
    // sentence of chat.
    s->stop.is_soft = c == '.' || c == 0x2026;
    if (c != '.' || s->is_after_space) {
        return;
    }
    const kz_text_view word = present_word(s, at);
    if (is_list_marker(s, word, s->words <= 1)) {
        s->stop.phase = NO_STOP;
        return;
    }
    s->stop.rule = kz_abbreviation_rule(s->language, word, s->follows_number);
}

// ---- settling the open stop ---------------------------------------------------------------------

typedef enum verdict { WAIT, KEEP, CUT } verdict;

// The order of the tests is the order of the evidence: the letter's case, then what the
// abbreviation forbids, then what the word itself is.
static verdict judge_next_word(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    open_stop *stop = &s->stop;
    const uint32_t c = ch.code_point;
    if (ch.is_valid && kz_char_is_lower(c)) {
        return stop->is_soft || stop->is_quoted || s->mode.bracket_depth > 0 ? KEEP : CUT;
    }
    // Before digits: "p. 12".
    if (stop->rule == KZ_STOP_NEVER) {
        return KEEP;
    }
    if (ch.is_valid && kz_char_is_digit(c)) {
        return stop->rule == KZ_STOP_ANY ? CUT : KEEP;
    }
    if (stop->rule == KZ_STOP_ANY || stop->rule == KZ_STOP_CAPITAL) {
        return CUT;
    }
    if (!ch.is_valid || !kz_char_is_letter(c)) {
        return stop->rule == KZ_STOP_NUMERAL ? CUT : KEEP;
    }
    stop->phase = IN_WORD;
    stop->word_at = at;
    return WAIT;
}

static verdict judge_opener(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    const uint32_t c = ch.code_point;
    if (kz_char_is_space(c)) {
        return WAIT;
    }
    if (IS_ONE_OF(c, opening_signs)) {
        // Bounded, since a row of stars is read again after the cut.
        return ++s->stop.opener_count <= MAX_OPENERS ? WAIT : CUT;
    }
    return judge_next_word(s, ch, at);
}

static verdict judge_after_space(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    const uint32_t c = ch.code_point;
    if (kz_char_is_space(c)) {
        return WAIT;
    }
    // "Vraiment ? !": French puts a space before signs, so a second one belongs to the same stop.
    if (is_stop_sign(c)) {
        s->stop.phase = IN_RUN;
        s->stop.rule = KZ_STOP_ANY;
        s->stop.is_soft = c == '.' || c == 0x2026;
        return WAIT;
    }
    // A closing guillemet has a space before it in French; it ends the quotation, not a word.
    if (c == 0xbb || c == 0x203a || (c == '"' && s->mode.is_straight_open)) {
        s->stop.is_quoted = true;
        s->stop.phase = IN_CLOSERS;
        return WAIT;
    }
    // A stop before a comma was an abbreviation.
    if (c == ',' || c == ';' || c == ':' || c == ')' || c == ']' || c == '}') {
        return KEEP;
    }
    s->stop.phase = IN_OPENERS;
    s->stop.opener_count = 0;
    // Here the next sentence begins, with its opening signs.
    s->stop.resume = (border){at, s->mode};
    return judge_opener(s, ch, at);
}

static verdict judge_glued(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    const uint32_t c = ch.code_point;
    if (kz_char_is_space(c)) {
        s->stop.phase = IN_SPACE;
        return WAIT;
    }
    if (IS_ONE_OF(c, closing_signs)) {
        s->stop.is_quoted = true;
        s->stop.phase = IN_CLOSERS;
        return WAIT;
    }
    if (s->stop.phase == IN_RUN && is_stop_sign(c)) {
        s->stop.rule = KZ_STOP_ANY;
        s->stop.is_soft = c == '.' || c == 0x2026;
        return WAIT;
    }
    // "Super !😀 Et toi": an emoji glued to the stop begins the next piece, where it is dropped.
    if (ch.is_valid && kz_char_is_emoji(c) && s->stop.rule != KZ_STOP_NEVER) {
        s->stop.resume = (border){at, s->mode};
        return CUT;
    }
    return KEEP;
}

static verdict judge_word(kz_sentence_stream *s, kz_utf8_char ch, size_t at, bool is_end) {
    const size_t count = at - s->stop.word_at;
    // "J'ai": the apostrophe belongs to the word of the list ("j'").
    const bool is_elided = !is_end && (ch.code_point == '\'' || ch.code_point == 0x2019);
    if (!is_end && ch.is_valid && kz_char_is_letter(ch.code_point)) {
        // A longer word is in no list and no numeral; waiting has an end.
        return count < MAX_STARTER_BYTES ? WAIT : s->stop.rule == KZ_STOP_NUMERAL ? CUT : KEEP;
    }
    // A word with a stop of its own is the next initial: "J. R. R. Tolkien".
    if (!is_end && ch.code_point == '.') {
        return KEEP;
    }
    const kz_text_view word = {s->bytes + s->begin + s->stop.word_at,
                               count + (is_elided ? ch.length : 0)};
    return kz_word_starts_sentence(s->language, word, s->stop.rule) ? CUT : KEEP;
}

static verdict settle_stop(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    switch (s->stop.phase) {
    case NO_STOP:
        return KEEP;
    case IN_RUN:
    case IN_CLOSERS:
        return judge_glued(s, ch, at);
    case IN_SPACE:
        return judge_after_space(s, ch, at);
    case IN_OPENERS:
        return judge_opener(s, ch, at);
    case IN_WORD:
        return judge_word(s, ch, at, false);
    }
    return KEEP;
}

// ---- reading one character ----------------------------------------------------------------------

// Backticks count as a run; what a run means is known at the first other character.
static void read_ticks(scan_mode *mode, uint32_t c) {
    if (c == '`') {
        mode->tick_run += mode->tick_run < UINT16_MAX;
        return;
    }
    if (mode->tick_run == 0) {
        return;
    }
    // CommonMark: three at the start of a line fence lines, elsewhere a run opens code that a run
    // of the same length closes.
    if (mode->is_line_blank && mode->tick_run >= 3 && mode->code_ticks == 0) {
        mode->is_in_fence = !mode->is_in_fence;
    } else if (!mode->is_in_fence && mode->code_ticks == 0) {
        mode->code_ticks = mode->tick_run;
    } else if (mode->code_ticks == mode->tick_run) {
        mode->code_ticks = 0;
    }
    mode->tick_run = 0;
    mode->is_line_blank = false;
}

static void read_brackets(scan_mode *mode, uint32_t c) {
    if (c == 0xab || c == 0x201c || c == '(' || c == '[') {
        mode->bracket_depth += mode->bracket_depth < UINT8_MAX;
    } else if (c == 0xbb || c == 0x201d || c == ')' || c == ']') {
        // A closing sign without an opener ("a)") must not make the depth negative.
        mode->bracket_depth -= mode->bracket_depth > 0;
    } else if (c == '"') {
        mode->is_straight_open = !mode->is_straight_open;
    }
}

static void read_line_break(kz_sentence_stream *s) {
    read_ticks(&s->mode, '\n');
    // Code between ticks, brackets and quotes do not reach beyond a line here: what a model forgot
    // to close must not hold back the rest of its reply.
    s->mode.code_ticks = 0;
    s->mode.bracket_depth = 0;
    s->mode.is_straight_open = false;
    s->mode.is_line_blank = true;
    if (s->chars > 0) {
        s->has_break = true;
    } else {
        s->starts_line = true;
    }
}

// Words also begin after an apostrophe or a bracket; "l'art." is the abbreviation "art.".
static bool begins_word(const kz_sentence_stream *s, uint32_t c) {
    static const uint32_t inner_borders[] = {'\'', 0x2019, '(', '[', '{', '"',
                                             0xab, 0x201c, ',', '*', '_', '#'};
    return !IS_ONE_OF(c, inner_borders) &&
           (s->is_after_space || IS_ONE_OF(s->previous, inner_borders));
}

static void read_visible(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    const uint32_t c = ch.code_point;
    // First: the character behind a run of ticks is inside the code that it opens, outside of the
    // one that it closes.
    read_ticks(&s->mode, c);
    if (c != '`') {
        s->mode.is_line_blank = false;
    }
    if (begins_word(s, c) && !is_stop_sign(c)) {
        s->before_word = s->previous;
        s->follows_number = s->is_after_space && kz_char_is_digit(s->previous);
        s->word_at = at;
        // A sign by itself is no word: an early fragment has three words that are heard.
        s->words += kz_char_is_letter(c) || kz_char_is_digit(c);
    }
    if (!is_in_code(&s->mode)) {
        read_brackets(&s->mode, c);
        // Dots before any letter ("...") end nothing: the piece would have nothing to say.
        if (is_stop_sign(c) && s->has_letters && s->stop.phase == NO_STOP) {
            open_new_stop(s, c, at);
        }
    }
    s->has_letters =
        s->has_letters || (ch.is_valid && (kz_char_is_letter(c) || kz_char_is_digit(c)));
    s->previous = c;
    s->is_after_space = false;
}

// A place where a piece that gets too long may be cut: before a word, not before a sign that clings
// to the word before it, not inside a number written in groups.
static void note_border(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    const uint32_t c = ch.code_point;
    const bool is_group = kz_char_is_digit(c) && kz_char_is_digit(s->previous);
    if (s->chars == 0 || !s->is_after_space || IS_ONE_OF(c, glued_signs) || is_group) {
        return;
    }
    s->last_space = (border){at, s->mode};
    if (IS_ONE_OF(s->previous, clause_signs)) {
        s->last_clause = s->last_space;
    }
}

static bool ends_early_fragment(const kz_sentence_stream *s, size_t at) {
    // Only the first piece: it is the one that a person waits for, and later ones lose their melody
    // when they are cut.
    return s->wants_early_cut && s->is_first_piece && s->words >= EARLY_WORDS &&
           s->last_clause.at == at && !is_in_code(&s->mode);
}

// The piece is too long at `at`: the last clause in its second half, the last word, or right here.
static border forced_border(const kz_sentence_stream *s, size_t at) {
    // In the first half a cut would leave a long rest that is soon too long itself.
    if (s->last_clause.at > at / 2) {
        return s->last_clause;
    }
    return s->last_space.at > 0 ? s->last_space : (border){at, s->mode};
}

typedef struct cut {
    border border;
    bool is_line_end;
} cut;

static cut no_cut(void) {
    // 0 is no cut: a piece has at least one character.
    return (cut){.border = {.at = 0}};
}

static cut read_space(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    const verdict judged = settle_stop(s, ch, at);
    if (judged == CUT) {
        return (cut){s->stop.resume, false};
    }
    if (judged == KEEP) {
        s->stop.phase = NO_STOP;
    }
    if (kz_char_is_line_break(ch.code_point)) {
        read_line_break(s);
    } else {
        read_ticks(&s->mode, ch.code_point);
    }
    s->is_after_space = true;
    // White space before the piece does not count towards its length.
    s->chars += s->chars > 0;
    return no_cut();
}

// Reads the character at `at`; a border with at > 0 ends the piece there, and the character is read
// again as part of the next one.
static cut read_char(kz_sentence_stream *s, kz_utf8_char ch, size_t at) {
    // White space and bytes that count as no characters are bounded here, so that the buffer is
    // never full without a piece to give.
    if (at + ch.length > s->max_bytes) {
        return (cut){forced_border(s, at), false};
    }
    if (kz_char_is_space(ch.code_point)) {
        return read_space(s, ch, at);
    }
    // The first visible character after a line break: the white space between belongs to the piece
    // before.
    if (s->has_break) {
        return (cut){{at, s->mode}, true};
    }
    const verdict judged = settle_stop(s, ch, at);
    if (judged == CUT) {
        return (cut){s->stop.resume, false};
    }
    if (judged == KEEP) {
        s->stop.phase = NO_STOP;
    }
    note_border(s, ch, at);
    if (ends_early_fragment(s, at)) {
        return (cut){s->last_clause, false};
    }
    if (s->chars >= s->max_chars) {
        return (cut){forced_border(s, at), false};
    }
    s->chars++;
    read_visible(s, ch, at);
    return no_cut();
}

// At the end of the text an open stop can only be waiting for the word after it.
static cut read_end(kz_sentence_stream *s, size_t at) {
    if (s->stop.phase == IN_WORD) {
        const kz_utf8_char nothing = {0, 0, false};
        if (judge_word(s, nothing, at, true) == CUT) {
            return (cut){s->stop.resume, false};
        }
    }
    return (cut){{at, s->mode}, false};
}

// ---- the stream ---------------------------------------------------------------------------------

static kazeia_status check_options(const kz_sentence_options *options) {
    const uint32_t max_chars = options->max_chars;
    if (max_chars != 0 && (max_chars < SMALLEST_MAX_CHARS || max_chars > LARGEST_MAX_CHARS)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "sentence stream: max_chars is %u, expected 0 or %d to %d", max_chars,
                       SMALLEST_MAX_CHARS, LARGEST_MAX_CHARS);
    }
    return KAZEIA_OK;
}

kazeia_status kz_sentence_stream_create(const kazeia_allocator *allocator,
                                        const kz_sentence_options *options,
                                        kz_sentence_stream **out_stream) {
    KZ_TRY(check_options(options));
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_sentence_stream), "sentence stream", &memory));
    kz_sentence_stream *s = memory;
    s->allocator = own;
    s->wants_early_cut = options->first_fragment_early;
    s->max_chars = options->max_chars == 0 ? DEFAULT_MAX_CHARS : options->max_chars;
    // Four bytes are the longest character; the fifth and the 64 are for white space around the
    // piece.
    s->max_bytes = (size_t)s->max_chars * 5 + 64;
    // One piece that is being decided and as much again that was fed meanwhile.
    s->capacity = 2 * s->max_bytes;
    const char *language = options->language == NULL ? "fr" : options->language;
    // The struct is zeroed, so the last byte stays NUL; only the first letters count ("fr-CA").
    strncpy(s->language, language, sizeof s->language - 1);
    const kazeia_status status = kz_alloc(&own, s->capacity, 1, "sentence text", &memory);
    if (status != KAZEIA_OK) {
        kz_free(&own, s);
        return status;
    }
    s->bytes = memory;
    kz_sentence_stream_reset(s);
    *out_stream = s;
    return KAZEIA_OK;
}

void kz_sentence_stream_destroy(kz_sentence_stream *stream) {
    if (stream != NULL) {
        const kazeia_allocator allocator = stream->allocator;
        kz_free(&allocator, stream->bytes);
        kz_free(&allocator, stream);
    }
}

kazeia_status kz_sentence_stream_feed(kz_sentence_stream *stream, const char *bytes, size_t count,
                                      size_t *out_taken) {
    if (stream->is_finished) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "sentence stream: text fed after finish");
    }
    // Only moved when it must be, so that views stay where they are as long as they can.
    if (count > stream->capacity - stream->end && stream->begin > 0) {
        memmove(stream->bytes, stream->bytes + stream->begin, stream->end - stream->begin);
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    const size_t room = stream->capacity - stream->end;
    const size_t taken = count < room ? count : room;
    if (taken > 0) {
        memcpy(stream->bytes + stream->end, bytes, taken);
        stream->end += taken;
    }
    *out_taken = taken;
    return KAZEIA_OK;
}

static void give_piece(kz_sentence_stream *s, const cut *end, kz_text_view *out_piece) {
    *out_piece = (kz_text_view){s->bytes + s->begin, end->border.at};
    s->begin += end->border.at;
    s->is_first_piece = false;
    // Reading starts again at the border, also when more was read already.
    start_piece(s, &end->border.mode, end->is_line_end);
}

kazeia_status kz_sentence_stream_next(kz_sentence_stream *stream, kz_text_view *out_piece) {
    kz_sentence_stream *s = stream;
    for (;;) {
        const size_t count = s->end - s->begin;
        const char *rest = s->bytes + s->begin + s->scanned;
        const size_t rest_count = count - s->scanned;
        // Before the end an incomplete character waits; at the end it is read byte by byte.
        const kz_utf8_char ch =
            s->is_finished ? kz_utf8_read_last(rest, rest_count) : kz_utf8_read(rest, rest_count);
        cut found;
        if (ch.length > 0) {
            found = read_char(s, ch, s->scanned);
        } else if (!s->is_finished) {
            return KAZEIA_NEEDS_INPUT;
        } else if (count == 0) {
            return KAZEIA_DONE;
        } else {
            found = read_end(s, count);
        }
        if (found.border.at > 0) {
            give_piece(s, &found, out_piece);
            return KAZEIA_OK;
        }
        s->scanned += ch.length;
    }
}

kz_text_view kz_sentence_stream_peek(const kz_sentence_stream *stream) {
    return (kz_text_view){stream->bytes + stream->begin, stream->scanned};
}

void kz_sentence_stream_finish(kz_sentence_stream *stream) {
    stream->is_finished = true;
}

void kz_sentence_stream_reset(kz_sentence_stream *stream) {
    const scan_mode mode = {.is_line_blank = true};
    stream->begin = 0;
    stream->end = 0;
    stream->is_finished = false;
    stream->is_first_piece = true;
    start_piece(stream, &mode, true);
}
