// command.h: is what was said a command?
//
// Commands are tried before the language model. The grammar says what a sentence means; accepting
// or refusing it is decided here.
#ifndef KZ_PIPELINE_COMMAND_H
#define KZ_PIPELINE_COMMAND_H

#include "text/command_grammar.h"

// `matcher` may be NULL: nothing is a command then. No match is KAZEIA_OK with is_match false, so
// is a sentence that the grammar is too ambiguous for. Placeholders for the time are filled from
// the system's clock. The result's strings belong to matcher and grammar, until the next match.
KAZEIA_MUST_CHECK kazeia_status kz_command_judge(kz_command_matcher *matcher,
                                                 const char *transcript,
                                                 kz_command_result *out_result);

#endif
