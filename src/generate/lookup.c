// lookup.c: guesses the next tokens from where the text has said the same before.
//   in   the tokens so far
//   out  tokens that may follow
// A plain scan: a few thousand comparisons are microseconds, and an index would have to follow
// every rewind.
#include "generate/lookup.h"

#define LONGEST_MATCH 16u

// Tokens that agree before `ends`, `ends` exclusive, with those at the end of the text.
static size_t match_length(const int32_t *ids, size_t count, size_t ends) {
    size_t length = 0;
    while (length < LONGEST_MATCH && length < ends &&
           ids[ends - 1 - length] == ids[count - 1 - length]) {
        length++;
    }
    return length;
}

size_t kz_lookup_draft(const int32_t *ids, size_t count, size_t least_match, int32_t *out_ids,
                       size_t capacity) {
    size_t best = 0, place = 0; // what follows the match
    for (size_t ends = count; ends-- > 1 && best < LONGEST_MATCH;) {
        if (ids[ends - 1] == ids[count - 1]) {
            const size_t length = match_length(ids, count, ends);
            if (length > best) {
                best = length;
                place = ends;
            }
        }
    }
    if (best < least_match) {
        return 0;
    }
    for (size_t i = 0; i < capacity; i++) {
        out_ids[i] = place + i < count ? ids[place + i] : out_ids[place + i - count];
    }
    return capacity;
}
