// constrain_sets.c: sets of stacks.
//   in   a grammar's automatons, bytes
//   out  numbers of sets
// This is an automaton with a stack whose states are made as they are met, as a lazy deterministic
// automaton is. A call in last position leaves no place on the stack, so that a list that is
// written as a rule which ends with itself does not grow it.
#include "llm/constrain_sets.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_LIMIT (2 * KZ_SET_TOP_LIMIT)
#define SEEN_SLOTS (8 * KZ_SET_TOP_LIMIT)
#define SEEN_BITS 12u // SEEN_LIMIT < 1 << SEEN_BITS
#define PLACE_SLOTS (2 * KZ_STACK_LIMIT)
#define SET_SLOTS (2 * KZ_SET_LIMIT)
#define ELSEWHERE_BIT (1u << 31)

static uint32_t hash_pair(uint32_t a, uint32_t b) {
    const uint64_t mixed = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32);
}

// --- Stacks -------------------------------------------------------------------------------------
static void put_place(kz_stack_sets *sets, uint32_t place) {
    uint32_t slot = hash_pair(sets->places[place].state, sets->places[place].parent) % PLACE_SLOTS;
    while (sets->place_slots[slot] != 0) {
        slot = (slot + 1) % PLACE_SLOTS;
    }
    sets->place_slots[slot] = place;
}

// The place with this state on top of `parent`; KZ_SET_DEAD: too deep, KZ_SET_FULL: no room.
static uint32_t push_place(kz_stack_sets *sets, uint32_t state, uint32_t parent) {
    const uint32_t depth = sets->places[parent].depth + 1;
    uint32_t slot = hash_pair(state, parent) % PLACE_SLOTS;
    for (; sets->place_slots[slot] != 0; slot = (slot + 1) % PLACE_SLOTS) {
        const kz_stack_place *found = &sets->places[sets->place_slots[slot]];
        if (found->state == state && found->parent == parent) {
            return sets->place_slots[slot];
        }
    }
    if ((depth & ~ELSEWHERE_BIT) > sets->depth_limit) {
        sets->is_too_deep = sets->is_too_deep || (depth & ELSEWHERE_BIT) != 0;
        return KZ_SET_DEAD;
    }
    if (sets->place_count == KZ_STACK_LIMIT) {
        return KZ_SET_FULL;
    }
    sets->places[sets->place_count] = (kz_stack_place){state, parent, depth};
    sets->place_slots[slot] = sets->place_count;
    return sets->place_count++;
}

// --- Making a set -------------------------------------------------------------------------------
static void begin_set(kz_stack_sets *sets) {
    sets->seen_count = 0;
    // The slots' upper bits hold the stamp; when it wraps, old ones must not look new.
    if (++sets->seen_stamp == 1u << (32 - SEEN_BITS)) {
        memset(sets->seen_slots, 0, SEEN_SLOTS * sizeof *sets->seen_slots);
        sets->seen_stamp = 1;
    }
}

// False when there is no room.
static bool see(kz_stack_sets *sets, uint32_t state, uint32_t place) {
    uint32_t slot = hash_pair(state, place) % SEEN_SLOTS;
    for (; sets->seen_slots[slot] >> SEEN_BITS == sets->seen_stamp;
         slot = (slot + 1) % SEEN_SLOTS) {
        const kz_stack_top *top = &sets->seen[sets->seen_slots[slot] & ((1u << SEEN_BITS) - 1)];
        if (top->state == state && top->place == place) {
            return true;
        }
    }
    if (sets->seen_count == SEEN_LIMIT) {
        return false;
    }
    sets->seen_slots[slot] = sets->seen_stamp << SEEN_BITS | sets->seen_count;
    sets->seen[sets->seen_count++] = (kz_stack_top){state, place};
    return true;
}

static bool is_pure_end(const kz_grammar *grammar, uint32_t state) {
    const kz_grammar_state *found = &grammar->states[state];
    return found->is_end && found[1].first_edge == found->first_edge &&
           found[1].first_call == found->first_call;
}

static bool see_calls(kz_stack_sets *sets, kz_stack_top top) {
    const kz_grammar_state *state = &sets->grammar->states[top.state];
    for (uint32_t i = state->first_call; i < state[1].first_call; i++) {
        const kz_grammar_call *call = &sets->grammar->calls[i];
        uint32_t place = top.place;
        if (!is_pure_end(sets->grammar, call->target)) {
            place = push_place(sets, call->target, top.place);
            if (place == KZ_SET_DEAD) {
                continue;
            }
        }
        if (place == KZ_SET_FULL || !see(sets, call->entry, place)) {
            return false;
        }
    }
    return true;
}

// Follows calls and returns from all tops that were seen; false when there is no room.
static bool close_set(kz_stack_sets *sets, bool *out_is_end) {
    *out_is_end = false;
    for (uint32_t i = 0; i < sets->seen_count; i++) {
        const kz_stack_top top = sets->seen[i];
        if (sets->grammar->states[top.state].is_end) {
            const kz_stack_place below = sets->places[top.place];
            if (top.place <= KZ_STACK_ELSEWHERE) {
                *out_is_end = true;
            } else if (!see(sets, below.state, below.parent)) {
                return false;
            }
        }
        if (!see_calls(sets, top)) {
            return false;
        }
    }
    return true;
}

static int compare_tops(const void *left, const void *right) {
    const kz_stack_top *a = left, *b = right;
    if (a->state != b->state) {
        return a->state < b->state ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

// Keeps the tops that wait for a byte, in an order that does not depend on how they were met.
static void keep_waiting(kz_stack_sets *sets) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sets->seen_count; i++) {
        const kz_grammar_state *state = &sets->grammar->states[sets->seen[i].state];
        if (state[1].first_edge > state->first_edge) {
            sets->seen[kept++] = sets->seen[i];
        }
    }
    sets->seen_count = kept;
    if (kept > 1) {
        qsort(sets->seen, kept, sizeof *sets->seen, compare_tops);
    }
}

static bool is_same(const kz_stack_sets *sets, uint32_t set, bool is_end) {
    const kz_stack_set *found = &sets->sets[set];
    return found->is_end == is_end && found->count == sets->seen_count &&
           memcmp(sets->tops + found->first, sets->seen, found->count * sizeof *sets->tops) == 0;
}

static uint32_t add_set(kz_stack_sets *sets, bool is_end) {
    if (sets->set_count == KZ_SET_LIMIT || sets->seen_count > KZ_SET_TOP_LIMIT ||
        sets->seen_count > KZ_TOP_LIMIT - sets->top_count) {
        return KZ_SET_FULL;
    }
    const uint32_t set = sets->set_count++;
    sets->sets[set] = (kz_stack_set){sets->top_count, sets->seen_count, is_end};
    memcpy(sets->tops + sets->top_count, sets->seen, sets->seen_count * sizeof *sets->tops);
    sets->top_count += sets->seen_count;
    memset(sets->steps[set], 0xff, sizeof sets->steps[set]); // KZ_SET_UNKNOWN
    return set;
}

// The number of the set of the tops that are kept.
static uint32_t name_set(kz_stack_sets *sets, bool is_end) {
    uint32_t hash = is_end;
    if (sets->seen_count == 0 && !is_end) {
        return KZ_SET_DEAD;
    }
    for (uint32_t i = 0; i < sets->seen_count; i++) {
        hash = hash * 31 + hash_pair(sets->seen[i].state, sets->seen[i].place);
    }
    uint32_t slot = hash % SET_SLOTS;
    for (; sets->set_slots[slot] != 0; slot = (slot + 1) % SET_SLOTS) {
        if (is_same(sets, sets->set_slots[slot], is_end)) {
            return sets->set_slots[slot];
        }
    }
    const uint32_t set = add_set(sets, is_end);
    if (set != KZ_SET_FULL) {
        sets->set_slots[slot] = set;
    }
    return set;
}

static uint32_t end_set(kz_stack_sets *sets) {
    bool is_end = false;
    if (!close_set(sets, &is_end)) {
        return KZ_SET_FULL;
    }
    keep_waiting(sets);
    return name_set(sets, is_end);
}

// --- Sets ---------------------------------------------------------------------------------------
uint32_t kz_sets_start(kz_stack_sets *sets) {
    begin_set(sets);
    see(sets, sets->grammar->root, KZ_STACK_BOTTOM);
    return end_set(sets);
}

uint32_t kz_sets_single(kz_stack_sets *sets, uint32_t state) {
    begin_set(sets);
    see(sets, state, KZ_STACK_ELSEWHERE);
    return name_set(sets, false);
}

uint32_t kz_sets_return(kz_stack_sets *sets, uint32_t place) {
    begin_set(sets);
    see(sets, sets->places[place].state, sets->places[place].parent);
    return end_set(sets);
}

static uint32_t find_target(const kz_grammar *grammar, uint32_t state, uint8_t byte) {
    uint32_t low = grammar->states[state].first_edge, high = grammar->states[state + 1].first_edge;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (grammar->edges[middle].high < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < grammar->states[state + 1].first_edge && grammar->edges[low].low <= byte
               ? grammar->edges[low].target
               : UINT32_MAX;
}

uint32_t kz_sets_work_out_step(kz_stack_sets *sets, uint32_t set, uint8_t byte) {
    const kz_stack_set from = sets->sets[set];
    begin_set(sets);
    for (uint32_t i = from.first; i < from.first + from.count; i++) {
        const uint32_t target = find_target(sets->grammar, sets->tops[i].state, byte);
        if (target != UINT32_MAX && !see(sets, target, sets->tops[i].place)) {
            return KZ_SET_FULL;
        }
    }
    const uint32_t next = end_set(sets);
    if (next != KZ_SET_FULL) {
        sets->steps[set][byte] = (uint16_t)next;
    }
    return next;
}

// --- Forgetting ---------------------------------------------------------------------------------
static void forget_sets(kz_stack_sets *sets) {
    memset(sets->set_slots, 0, SET_SLOTS * sizeof *sets->set_slots);
    sets->top_count = 0;
    sets->sets[KZ_SET_DEAD] = (kz_stack_set){0, 0, false};
    memset(sets->steps[KZ_SET_DEAD], 0, sizeof sets->steps[KZ_SET_DEAD]);
    sets->set_count = 1;
}

// Moves the places that the tops stand on to the front. A place's parent is always before it.
static void move_places(kz_stack_sets *sets, kz_stack_top *tops, uint32_t count) {
    uint32_t *moved = sets->moved;
    uint32_t kept = 2;
    memset(moved, 0, sets->place_count * sizeof *moved);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t place = tops[i].place; place > KZ_STACK_ELSEWHERE && moved[place] == 0;
             place = sets->places[place].parent) {
            moved[place] = 1;
        }
    }
    moved[KZ_STACK_ELSEWHERE] = KZ_STACK_ELSEWHERE;
    memset(sets->place_slots, 0, PLACE_SLOTS * sizeof *sets->place_slots);
    for (uint32_t place = 2; place < sets->place_count; place++) {
        if (moved[place] != 0) {
            moved[place] = kept;
            sets->places[kept] = sets->places[place];
            sets->places[kept].parent = moved[sets->places[place].parent];
            put_place(sets, kept++);
        }
    }
    sets->place_count = kept;
    for (uint32_t i = 0; i < count; i++) {
        tops[i].place = moved[tops[i].place];
    }
}

uint32_t kz_sets_flush(kz_stack_sets *sets, uint32_t set) {
    const kz_stack_set kept = sets->sets[set];
    sets->seen_count = kept.count;
    memcpy(sets->seen, sets->tops + kept.first, kept.count * sizeof *sets->seen);
    move_places(sets, sets->seen, kept.count);
    forget_sets(sets);
    keep_waiting(sets);
    return name_set(sets, kept.is_end);
}

// --- Memory -------------------------------------------------------------------------------------
static kazeia_status take_memory(kz_stack_sets *sets) {
    struct {
        void **array;
        size_t count, bytes_each;
    } wanted[] = {
        {(void **)&sets->places, KZ_STACK_LIMIT, sizeof *sets->places},
        {(void **)&sets->place_slots, PLACE_SLOTS, sizeof *sets->place_slots},
        {(void **)&sets->tops, KZ_TOP_LIMIT, sizeof *sets->tops},
        {(void **)&sets->sets, KZ_SET_LIMIT, sizeof *sets->sets},
        {(void **)&sets->set_slots, SET_SLOTS, sizeof *sets->set_slots},
        {(void **)&sets->steps, KZ_SET_LIMIT, sizeof *sets->steps},
        {(void **)&sets->seen, SEEN_LIMIT, sizeof *sets->seen},
        {(void **)&sets->seen_slots, SEEN_SLOTS, sizeof *sets->seen_slots},
        {(void **)&sets->moved, KZ_STACK_LIMIT, sizeof *sets->moved},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        KZ_TRY(kz_alloc(&sets->allocator, wanted[i].count, wanted[i].bytes_each, "grammar states",
                        wanted[i].array));
    }
    return KAZEIA_OK;
}

kazeia_status kz_sets_create(const kz_grammar *grammar, uint32_t depth_limit,
                             const kazeia_allocator *allocator, kz_stack_sets *out_sets) {
    *out_sets = (kz_stack_sets){.allocator = kz_allocator_or_default(allocator),
                                .grammar = grammar,
                                .depth_limit = depth_limit};
    KZ_TRY(take_memory(out_sets));
    out_sets->places[KZ_STACK_ELSEWHERE].depth = ELSEWHERE_BIT;
    out_sets->place_count = 2;
    forget_sets(out_sets);
    return KAZEIA_OK;
}

void kz_sets_clear(kz_stack_sets *sets) {
    void *arrays[] = {sets->places, sets->place_slots, sets->tops,
                      sets->sets,   sets->set_slots,   sets->steps,
                      sets->seen,   sets->seen_slots,  sets->moved};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        kz_free(&sets->allocator, arrays[i]);
    }
}
