// command_dialogue.h: a question back when a command was not heard well enough, and its answer.
//
// in:  one or two sentences that may have been meant; then what was said to the question
// out: the question; the sentence that was chosen, or none
//
// A pure value. A question waits for one answer: whatever comes next settles or drops it.
#ifndef KZ_PIPELINE_COMMAND_DIALOGUE_H
#define KZ_PIPELINE_COMMAND_DIALOGUE_H

#include "text/command_grammar.h"

#define KZ_DIALOGUE_BYTES 512u

typedef struct kz_dialogue {
    char sentences[2][KZ_DIALOGUE_BYTES];
    uint32_t count; // of sentences; 0: nothing is asked
    char question[3 * KZ_DIALOGUE_BYTES];
} kz_dialogue;

// Asks which of two is meant, or with `second` NULL whether the first is.
void kz_dialogue_ask(kz_dialogue *dialogue, const char *language, const char *first,
                     const char *second);
// The sentence that an answer chooses: yes, first, second, or words that one of them has and the
// other has not. NULL: none, or nothing was asked. Ends the question; the text stays until the
// next one.
const char *kz_dialogue_answer(kz_dialogue *dialogue, const char *transcript);

#endif
