// command_grammar.h: voice commands: a grammar of sentences, and what was said.
//
// in:  a YAML file in the layout of Home Assistant's custom sentences, and a transcript.
// out: intent, slots and the sentence that confirms, or no match. Nothing is carried out here.
//
// The layout: `language`; `intents: NAME: data: [{sentences, slots, response}]`; `lists: NAME:`
// with `values: [text or {in, out}]`, `range: {from, to, step, fractions: halves, multiplier}` or
// `wildcard: true`; `expansion_rules: NAME: template`; `skip_words: [text]`; `responses: intents:
// NAME: KEY: text`. Templates: (a|b) [a] (a;b) {list} {list:slot} {1..9:slot} <rule> and \ before a
// sign. Conditions on context are `requires_context` and `excludes_context`.
// Responses: {slot} is what was said for it; {slot|minute|minutes} a number with its unit; what is
// between [ ] is left out when a slot in it is missing; {clock_hour} {clock_minute} {clock_day}
// {clock_month} {clock_weekday} {clock_year} come from the caller's clock.
//
// A grammar is immutable and may be shared by threads. Its file is hostile input: at most 4 MB,
// 400,000 values, rules without loops, bounded depth and size; every failure names file, line,
// column.
#ifndef KZ_TEXT_COMMAND_GRAMMAR_H
#define KZ_TEXT_COMMAND_GRAMMAR_H

#include "base/alloc.h"

// Longest transcript that is looked at, in bytes after normalisation; a longer one is no command.
#define KZ_COMMAND_TEXT_BYTES 600
#define KZ_COMMAND_MAX_SLOTS 24

typedef struct kz_command_grammar kz_command_grammar;
typedef struct kz_command_matcher kz_command_matcher;

// Fails with NOT_FOUND or IO for the file, BAD_FILE for what is in it, UNSUPPORTED for a sound file
// that uses what is not handled.
KAZEIA_MUST_CHECK kazeia_status kz_command_grammar_open(const char *path,
                                                        const kazeia_allocator *allocator,
                                                        kz_command_grammar **out_grammar);
// The same from memory; `name` stands for the file in sentences. The bytes may go afterwards.
KAZEIA_MUST_CHECK kazeia_status kz_command_grammar_read(const void *bytes, size_t count,
                                                        const char *name,
                                                        const kazeia_allocator *allocator,
                                                        kz_command_grammar **out_grammar);
// A home (text/command_home.h) in memory; `name` stands for its file in sentences.
typedef struct kz_command_home_file {
    const void *bytes; // [count]; NULL: a home without anything
    size_t count;
    const char *name;
} kz_command_home_file;

// The same for a home, which may be NULL. A path that is a folder is read in upstream's layout
// (text/command_layout.h).
KAZEIA_MUST_CHECK kazeia_status kz_command_grammar_read_for(const void *bytes, size_t count,
                                                            const char *name,
                                                            const kz_command_home_file *home,
                                                            const kazeia_allocator *allocator,
                                                            kz_command_grammar **out_grammar);
KAZEIA_MUST_CHECK kazeia_status kz_command_grammar_open_for(const char *path,
                                                            const kz_command_home_file *home,
                                                            const kazeia_allocator *allocator,
                                                            kz_command_grammar **out_grammar);
// After all its matchers. NULL is fine.
void kz_command_grammar_close(kz_command_grammar *grammar);

// ISO 639-1, as the file says it; the string is the grammar's.
const char *kz_command_grammar_language(const kz_command_grammar *grammar);
// Sentence templates in all intents.
uint32_t kz_command_grammar_sentence_count(const kz_command_grammar *grammar);

// Scratch memory for one thread, all reserved here. The grammar must outlive it. OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_command_matcher_create(const kz_command_grammar *grammar,
                                                          const kazeia_allocator *allocator,
                                                          kz_command_matcher **out_matcher);
void kz_command_matcher_destroy(kz_command_matcher *matcher);

// What a slot's value is: words, a number (is in `number` too), or a list of values.
typedef enum kz_slot_kind { KZ_SLOT_TEXT, KZ_SLOT_NUMBER, KZ_SLOT_LIST } kz_slot_kind;

// One value of a sentence, or one that the file fixes.
typedef struct kz_command_slot {
    const char *name;
    kz_slot_kind kind;
    const char *text; // the value: as in the file, or as said (wildcards, values without `out`); of
                      // a number its digits; of a list a JSON array
    double number;    // KZ_SLOT_NUMBER only
    const char *said; // the words of the transcript; "" for a fixed slot
} kz_command_slot;

// Strings belong to the matcher and grammar and last until the next match.
typedef struct kz_command_result {
    bool is_match;
    const char *intent;
    const kz_command_slot *slots; // [slot_count] in the order of the sentence, then fixed ones
    uint32_t slot_count;
    const char *response_key;
    const char *response; // "" when the file has none for this intent and key
    const char *sentence; // the template that matched
    bool is_guarded;      // it is about a lock, a door or an alarm
    bool is_heard;        // found in the sound, `margin` before the next command
    float margin;
} kz_command_result;

// The caller's clock, for responses that tell the time. weekday 0 is Sunday, month and day from 1.
typedef struct kz_command_clock {
    int hour, minute, day, month, year, weekday;
} kz_command_clock;

// Finds the best match of the whole transcript. No match is OK with is_match false. `clock` may be
// NULL: its placeholders are then missing. Does not allocate; UNSUPPORTED when the grammar is so
// ambiguous for this text that the limit of steps (twenty million) is reached.
KAZEIA_MUST_CHECK kazeia_status kz_command_match(kz_command_matcher *matcher,
                                                 const char *transcript,
                                                 const kz_command_clock *clock,
                                                 kz_command_result *out_result);

// One command as `hear` scores it from sound: declared here because both sides of that seam include
// this file. All log-probabilities are natural ones, over the whole vocabulary.
typedef struct kz_command_hypothesis {
    const char *text;  // the sentence; kz_command_match says what it means
    float score;       // S = log P(text | sound) - 0.3 log P(text | nothing), ends included
    float end_logprob; // log-mass of all terminators after the text
    float margin;      // S minus the best S of another command; infinity: there is no other
} kz_command_hypothesis;

#endif
