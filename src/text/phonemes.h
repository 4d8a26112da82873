// phonemes.h: written words -> IPA, clause by clause, with their punctuation.
//
// espeak-ng drops punctuation, which a neural voice wants for its melody. So the words between two
// marks go to espeak-ng together, with the liaisons between them, and the marks are put back.
//
//   in   "Les amis, « Paul » arrive !"   with voice "fr"
//   out  "lez amˈi,"   then "“pˈɔl”"   then "aʁˈiv!"
//
// Out are IPA letters, stress marks, length marks, combining marks, tie bars (U+0361, within one
// diphthong or affricate), single spaces between words, and these marks: ; : , . ! ? … — “ ” ( ).
// Other dashes, quotes and brackets become the nearest of them; a mark that repeats itself is said
// once. Between digits, and within a word ("3.5", "10:30"), a sign is no mark.
#ifndef KZ_TEXT_PHONEMES_H
#define KZ_TEXT_PHONEMES_H

#include "base/text_buffer.h"

// Longest stretch of text that is looked at: longer clauses are cut after a word.
#define KZ_PHONEMES_TEXT_BYTES 512u

// Appends the IPA of the first clause of `text`, without white space around it, maybe nothing;
// *out_taken is how much of the text that was: at least a byte of a text that is not empty. `voice`
// is espeak-ng's ("fr", "en-us"); open espeak-ng first (text/espeak_library.h). Any bytes will do.
// On failure *out_taken is right, too, so that a caller may go on behind the clause.
KAZEIA_MUST_CHECK kazeia_status kz_phonemes_of_clause(const char *voice, const char *text,
                                                      size_t count, kz_text_buffer *out_ipa,
                                                      size_t *out_taken);

#endif
