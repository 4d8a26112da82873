// lookup.h: guesses the next tokens from where the text has said the same before.
//
// Prompt lookup (A. Saxena, "Prompt Lookup Decoding", 2023): the newest tokens are looked for
// earlier in the text, and what followed them there is proposed. A wrong guess costs time and
// changes nothing: generate/loop.h confirms each token before it counts.
#ifndef KZ_GENERATE_LOOKUP_H
#define KZ_GENERATE_LOOKUP_H

#include "base/status.h"

// Writes the guess for what follows `ids` [count] and returns its length, at most `capacity`; 0
// when the last `least_match` >= 1 tokens stand nowhere before. Of several places the one whose
// past agrees longest is taken (16 tokens are compared), of equals the newest. A guess that reaches
// the end of the text goes on in itself, so that a short cycle is repeated.
size_t kz_lookup_draft(const int32_t *ids, size_t count, size_t least_match, int32_t *out_ids,
                       size_t capacity);

#endif
