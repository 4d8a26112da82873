// command_check.h: what a person should know of a grammar before it is used.
//
// in:  a compiled grammar. out: counts, templates that nothing can reach, and sentences that two
// commands claim. Ambiguities are looked for among some sentences of each template, the same ones
// each time: a grammar's whole language may have 10^12. Of grammars of thousands of templates some
// are tried, spread evenly, since a sentence may have to be compared with all.
#ifndef KZ_TEXT_COMMAND_CHECK_H
#define KZ_TEXT_COMMAND_CHECK_H

#include "text/command_grammar.h"

typedef struct kz_command_counts {
    uint32_t intents, blocks, sentences, rules, lists, names;
    uint32_t tried; // templates of which sentences were matched
    uint32_t unreachable, ambiguous;
    double said; // sentences of templates without wildcards, numbers in digits; an upper bound
} kz_command_counts;

typedef enum kz_finding_kind {
    KZ_FINDING_UNREACHABLE, // no text leads to this template
    KZ_FINDING_AMBIGUOUS    // a text of this template is understood as another command
} kz_finding_kind;

// `text` is valid during the visit.
typedef struct kz_command_finding {
    kz_finding_kind kind;
    const char *file;
    uint32_t line, column;
    const char *text;
} kz_command_finding;

typedef kazeia_status (*kz_finding_visit)(void *context, const kz_command_finding *finding);

// Stops at the first status of the visit's that is not KAZEIA_OK, and returns it.
KAZEIA_MUST_CHECK kazeia_status kz_command_check(const kz_command_grammar *grammar,
                                                 kz_command_matcher *matcher,
                                                 kz_finding_visit visit, void *context,
                                                 kz_command_counts *out_counts);

#endif
