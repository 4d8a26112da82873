// sentence_words.h: what the sentence streamer knows about words: abbreviations and beginnings.
//
// in:  the word before a full stop, or the word after it.
// out: how strong that full stop is.
#ifndef KZ_TEXT_SENTENCE_WORDS_H
#define KZ_TEXT_SENTENCE_WORDS_H

#include "text/utf8.h"

// What must follow a stop for it to end the sentence. Small letters never do after a full stop.
typedef enum kz_stop_rule {
    KZ_STOP_ANY,     // a capital, a digit, a sign
    KZ_STOP_CAPITAL, // a capital or a sign: "etc.", "sept."
    KZ_STOP_NUMERAL, // the same, but no Roman numeral: "chap. II", "l'art. Il"
    KZ_STOP_STARTER, // a word that begins sentences: "U.S. He", "Inc. The"
    KZ_STOP_PRONOUN, // the same without words that begin surnames: "J. Le Goff", "plan B. Elle"
    KZ_STOP_NEVER    // nothing: "M.", "p. ex.", "e.g."
} kz_stop_rule;

// `language` is that of text/sentence.h; words are UTF-8 as written. Both functions are
// pure.
//
// The rule for the word before a '.', without that '.'. `follows_number`: the word before it is a
// number, so that one capital letter is a unit ("5 A.") and no initial.
kz_stop_rule kz_abbreviation_rule(const char *language, kz_text_view word, bool follows_number);

// True when the word, with its apostrophe if one follows, may begin a sentence after a stop of that
// rule: for NUMERAL any word but a numeral, for STARTER a list, for PRONOUN a shorter one.
bool kz_word_starts_sentence(const char *language, kz_text_view word, kz_stop_rule rule);

#endif
