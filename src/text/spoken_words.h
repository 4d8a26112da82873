// spoken_words.h: clean text -> words: numbers, signs and abbreviations as a careful speaker says
// them. What the files of this stage share.
//
// in:  the cleaner's text in pieces of any size
// out: words
//
// The text is cut into segments (a line, a sentence that surely ends, or SEGMENT_BYTES of a longer
// one), and a segment is only read when it is whole: so no rule ever needs text that has not come.
// A rule looks at the segment, writes the words and returns the bytes that it has read, 0 when it
// does not hold. Each rule writes at most KZ_WORDS_STEP_BYTES and looks at most a short stretch to
// both sides, so that time is linear.
#ifndef KZ_TEXT_SPOKEN_WORDS_H
#define KZ_TEXT_SPOKEN_WORDS_H

#include "text/spoken_language.h"
#include "text/utf8.h"

#define KZ_WORDS_SEGMENT_BYTES 2048
#define KZ_WORDS_STEP_BYTES 2048
#define KZ_WORDS_DIGITS 32      // more are counted in parts
#define KZ_WORDS_PART_BYTES 200 // longer words are read in parts
#define KZ_WORDS_WORD_BYTES 48  // longer words are in no list

typedef struct kz_words {
    const kz_spoken_language *language;
    kz_numbers *numbers;

    char segment[KZ_WORDS_SEGMENT_BYTES + 8]; // NUL-terminated
    size_t held;                              // bytes in it
    size_t scanned;                           // of these, looked at for a border
    bool is_open;                             // a segment is being read
    size_t count;                             // its bytes
    size_t at;                                // read so far
    char behind;                              // the byte whose place the segment's NUL has
    bool ends_line;                           // the segment ends with its line
    bool has_equation;
    bool is_capitals; // most of its words are all in capitals

    size_t number_end;   // where the last number that was read ends, its unit included
    size_t run_checked;  // addresses were looked for up to here
    size_t address_end;  // > at: an address is being read
    size_t capitals_end; // > at: letters that are read one by one

    char output[KZ_WORDS_STEP_BYTES * 2];
    size_t output_count;
    uint32_t previous;  // last character put out; 0: none
    bool is_space_owed; // before the next character
    bool is_pause_owed; // a comma, unless a sign comes that is a pause itself
    bool is_word_end;   // a letter or digit that follows needs a space
} kz_words;

// ---- spoken_words.c: the stream and what is put out

// NULL when the language has no table.
const kz_spoken_language *kz_spoken_language_find(const char *code);

// Zeroes and fills; UNSUPPORTED as kz_numbers_create.
KAZEIA_MUST_CHECK kazeia_status kz_words_init(kz_words *words, const kz_spoken_language *language,
                                              const kazeia_allocator *allocator);
void kz_words_clear(kz_words *words);
void kz_words_reset(kz_words *words);
// What is written next stands at the start: no space or stop before it.
void kz_words_start_sentence(kz_words *words);
// Takes bytes until a segment is whole; valid UTF-8 in whole characters.
size_t kz_words_feed(kz_words *words, const char *bytes, size_t count);
// What is held is a segment.
void kz_words_close(kz_words *words);
// Reads on; false when nothing more can be said yet.
bool kz_words_next(kz_words *words, kz_text_view *out_text);

// Writes words, parted from what stands before and after.
void kz_words_say(kz_words *words, const char *text);
void kz_words_say_count(kz_words *words, const char *text, size_t count);
// Writes a character as it is.
void kz_words_put(kz_words *words, uint32_t code_point);
// A short pause: a comma, unless a sign stands there already or comes next.
void kz_words_pause(kz_words *words);
void kz_words_copy(kz_words *words, size_t at, size_t count);

// ---- spoken_look.c: looking at the segment

uint32_t kz_words_char(const kz_words *words, size_t at);        // 0 at the end
uint32_t kz_words_char_before(const kz_words *words, size_t at); // 0 at the start
bool kz_words_is_letter(const kz_words *words, size_t at);
bool kz_words_is_alnum(const kz_words *words, size_t at);
// Small and capital letters of any script, and digits, alike.
bool kz_char_is_alnum(uint32_t code_point);
size_t kz_words_skip_space(const kz_words *words, size_t at);
size_t kz_words_back_space(const kz_words *words, size_t at);
size_t kz_words_digits(const kz_words *words, size_t at); // count, up to KZ_WORDS_DIGITS
uint32_t kz_words_value(const kz_words *words, size_t at, size_t digits); // at most 9
// The bytes of `text` when it stands at `at`, else 0. `any_first`: a capital may begin it.
size_t kz_words_match(const kz_words *words, size_t at, const char *text, bool any_first);
// The word's end, or that of its first KZ_WORDS_PART_BYTES; letters only.
size_t kz_words_word_end(const kz_words *words, size_t at);
size_t kz_words_word_start(const kz_words *words, size_t end);
// The folded word; "" when it is too long or there is none.
void kz_words_word(const kz_words *words, size_t at, char out[KZ_WORDS_WORD_BYTES]);
void kz_words_word_before(const kz_words *words, size_t at, char out[KZ_WORDS_WORD_BYTES]);
bool kz_words_is_listed(const char *list, const char *word);
bool kz_words_is_listed_count(const char *list, const char *word, size_t count);
// What follows is nothing but closing signs: a stop belongs to the sentence.
bool kz_words_ends_here(const kz_words *words, size_t at);

// ---- spoken_numbers.c

typedef struct kz_numeral {
    size_t end;
    uint64_t whole;
    size_t zeros;    // leading ones that are said
    size_t fraction; // where its digits begin
    size_t fraction_digits;
    char mark;    // before the fraction
    bool is_long; // more digits than a number: said one by one
} kz_numeral;

bool kz_words_numeral(const kz_words *words, size_t at, kz_numeral *out_numeral);
void kz_words_say_number(kz_words *words, kz_number_form form, uint64_t value);
void kz_words_say_digits(kz_words *words, size_t at, size_t count);
// Zeros at the front one by one, then the rest as a number.
void kz_words_say_padded(kz_words *words, size_t at, size_t digits);
void kz_words_say_numeral(kz_words *words, const kz_numeral *numeral, bool is_feminine,
                          bool is_decimal);
bool kz_words_is_singular(const kz_words *words, const kz_numeral *numeral);
bool kz_words_noun_is_feminine(const kz_words *words, size_t at);
size_t kz_words_read_ordinal(kz_words *words, size_t at);
size_t kz_words_read_fraction(kz_words *words, size_t at);
size_t kz_words_read_plain(kz_words *words, size_t at);
// One sign for a fraction, as U+00BD.
size_t kz_words_read_fraction_sign(kz_words *words, size_t at);

// ---- spoken_measures.c

size_t kz_words_match_unit(const kz_words *words, size_t at, const kz_unit **out_unit);
size_t kz_words_read_money(kz_words *words, size_t at);
size_t kz_words_read_money_sign(kz_words *words, size_t at);
size_t kz_words_read_measure(kz_words *words, size_t at);

// ---- spoken_dates.c

size_t kz_words_read_date(kz_words *words, size_t at);
size_t kz_words_read_day(kz_words *words, size_t at);   // "8 sept."
size_t kz_words_read_month(kz_words *words, size_t at); // "July 4", at the month
size_t kz_words_read_time(kz_words *words, size_t at);
size_t kz_words_read_decade(kz_words *words, size_t at);
size_t kz_words_read_year(kz_words *words, size_t at);
void kz_words_say_year(kz_words *words, uint32_t year);

// ---- spoken_codes.c: versions, telephone numbers, addresses

size_t kz_words_read_version(kz_words *words, size_t at);
// At the v of "v1.2".
size_t kz_words_read_v(kz_words *words, size_t at);
size_t kz_words_read_phone(kz_words *words, size_t at);
// Looks for an address at the start of a run without spaces; sets address_end and returns the bytes
// of its scheme, which is not said.
size_t kz_words_find_address(kz_words *words, size_t at);
size_t kz_words_read_address(kz_words *words, size_t at);

// ---- spoken_letters.c

size_t kz_words_read_abbreviation(kz_words *words, size_t at);
size_t kz_words_read_roman(kz_words *words, size_t at);
size_t kz_words_read_initials(kz_words *words, size_t at);
size_t kz_words_read_word(kz_words *words, size_t at);
bool kz_words_is_capitals(const kz_words *words);
// Letters one by one.
void kz_words_spell(kz_words *words, size_t at, size_t end);
bool kz_words_is_spelled(const kz_words *words, size_t at, size_t end);
// The value of a numeral of capital letters, 0: none.
uint32_t kz_words_roman_value(const kz_words *words, size_t at, size_t end);

// ---- spoken_signs.c

size_t kz_words_read_sign(kz_words *words, size_t at);

#endif
