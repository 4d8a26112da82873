// constrain_sets.h: where in a grammar a text may be: sets of stacks, and the step by a byte.
//
// in:  a grammar, bytes
// out: numbers of sets; a set that is met again has its number again
//
// A top is a state and the stack of places to return to below it; stacks share their lower parts. A
// set holds the tops that wait for a byte, and whether the text may end. Steps are remembered, so
// that a walk through many texts is mostly a look into a table. When there is no room for a set, a
// stack or a top, KZ_SET_FULL is returned: kz_sets_flush forgets all sets but one.
#ifndef KZ_LLM_CONSTRAIN_SETS_H
#define KZ_LLM_CONSTRAIN_SETS_H

#include "llm/grammar_tables.h"

#define KZ_SET_LIMIT 4096u      // sets remembered, the dead one included
#define KZ_SET_TOP_LIMIT 1024u  // tops of a set
#define KZ_STACK_LIMIT 32768u   // stack places in all sets
#define KZ_TOP_LIMIT (1u << 16) // tops in all sets
#define KZ_SET_DEAD 0u          // no text goes on here
#define KZ_SET_UNKNOWN 0xffffu  // not worked out yet
#define KZ_SET_FULL 0xfffeu
#define KZ_STACK_BOTTOM 0u    // below the root
#define KZ_STACK_ELSEWHERE 1u // a bottom whose rest is not looked at

typedef struct kz_stack_place {
    uint32_t state;  // where to go on
    uint32_t parent; // place below
    uint32_t depth;  // places below; the highest bit: it stands on KZ_STACK_ELSEWHERE
} kz_stack_place;

typedef struct kz_stack_top {
    uint32_t state, place;
} kz_stack_top;

typedef struct kz_stack_set {
    uint32_t first, count; // in tops
    bool is_end;           // the bottom is reached: the text (or the rule above ELSEWHERE) may end
} kz_stack_set;

typedef struct kz_stack_sets {
    kazeia_allocator allocator;
    const kz_grammar *grammar;
    uint32_t depth_limit;
    bool is_too_deep;       // a stack on ELSEWHERE met depth_limit since this was last cleared
    kz_stack_place *places; // [KZ_STACK_LIMIT]
    uint32_t place_count;
    uint32_t *place_slots; // [2 * KZ_STACK_LIMIT] place; 0: free
    kz_stack_top *tops;    // [KZ_TOP_LIMIT]
    uint32_t top_count;
    kz_stack_set *sets; // [KZ_SET_LIMIT]
    uint32_t set_count;
    uint32_t *set_slots;    // [2 * KZ_SET_LIMIT] set; 0: free
    uint16_t (*steps)[256]; // [KZ_SET_LIMIT] the set behind each byte
    // The set that is being made:
    kz_stack_top *seen;   // [2 * KZ_SET_TOP_LIMIT] tops to look at, or looked at
    uint32_t *seen_slots; // [8 * KZ_SET_TOP_LIMIT] seen + 1 + the stamp
    uint32_t seen_count, seen_stamp;
    uint32_t *moved; // [KZ_STACK_LIMIT] where a flush puts places
} kz_stack_sets;

KAZEIA_MUST_CHECK kazeia_status kz_sets_create(const kz_grammar *grammar, uint32_t depth_limit,
                                               const kazeia_allocator *allocator,
                                               kz_stack_sets *out_sets);
void kz_sets_clear(kz_stack_sets *sets);

// At the beginning of a text.
uint32_t kz_sets_start(kz_stack_sets *sets);
// In `state` alone, above ELSEWHERE: what it calls, or returns to, is not looked at.
uint32_t kz_sets_single(kz_stack_sets *sets, uint32_t state);
// After the rule above `place` has ended.
uint32_t kz_sets_return(kz_stack_sets *sets, uint32_t place);
// Works out a step that is KZ_SET_UNKNOWN.
uint32_t kz_sets_work_out_step(kz_stack_sets *sets, uint32_t set, uint8_t byte);
// Forgets all sets but `set`; returns its new number.
uint32_t kz_sets_flush(kz_stack_sets *sets, uint32_t set);

static inline uint32_t kz_sets_step(kz_stack_sets *sets, uint32_t set, uint8_t byte) {
    const uint32_t next = sets->steps[set][byte];
    return next != KZ_SET_UNKNOWN ? next : kz_sets_work_out_step(sets, set, byte);
}

#endif
