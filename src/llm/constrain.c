// constrain.c: which tokens may come next.
//   in   a grammar, a vocabulary, the tokens chosen so far
//   out  a bit for each token
// Three things are remembered, so that a step seldom walks through the whole vocabulary:
//   - for a state of an automaton, the tokens that it takes without leaving its rule, and the
//   places
//     in the trie where the rule may have ended: what they allow depends on the stack (this is the
//     split that XGrammar makes). The stacks below one state are many, the states few.
//   - for a set of stacks, its mask: texts come back to the same one again and again;
//   - which tokens are plain text: a state that takes any 16 plain characters takes all of them,
//   and
//     only the rest is walked through. Each place in a string of bounded length is such a state of
//     its own.
#include "llm/constrain.h"

#include <string.h>

#include "llm/constrain_sets.h"
#include "llm/constrain_trie.h"

#define MASK_BYTES ((size_t)2 << 20) // of all remembered masks of one kind
#define MASK_LIMIT 128u
#define MASK_LEAST 8u
#define EXIT_LIMIT 2048u     // places where a rule may end that are kept for a state
#define SHARED_TOP_LIMIT 16u // larger sets are walked at once
#define SUCCESSOR_LIMIT 16u  // states that are followed to see whether they take plain text
#define NO_SLOT UINT32_MAX

typedef enum constrain_problem {
    PROBLEM_NONE,
    PROBLEM_TOO_AMBIGUOUS,
    PROBLEM_DEAD_END,
    PROBLEM_FORBIDDEN_TOKEN,
} constrain_problem;

// A remembered mask, of a grammar state or of a set.
typedef struct mask_slot {
    uint32_t key; // NO_SLOT: free
    uint64_t stamp;
    uint32_t exit_count;
    bool is_usable; // of a state: it can be told apart from its stack
} mask_slot;

typedef struct state_list {
    uint32_t states[SUCCESSOR_LIMIT];
    uint32_t count;
} state_list;

struct kz_constrain {
    kazeia_allocator allocator;
    const kz_grammar *grammar;
    const kz_tokenizer *tokenizer;
    kz_byte_trie trie;
    kz_stack_sets sets;
    uint32_t vocabulary, words; // words of a mask
    uint32_t current;           // set
    constrain_problem problem;
    int32_t problem_token;
    uint64_t clock;         // of the stamps
    uint32_t slot_count;    // of each kind
    mask_slot *state_slots; // [slot_count]
    mask_slot *set_slots;   // [slot_count]
    uint32_t *state_masks;  // [slot_count][words]
    uint32_t *set_masks;    // [slot_count][words]
    uint32_t *exits;        // [slot_count][EXIT_LIMIT] trie nodes
    uint16_t *walk;         // [trie.depth + 1] the set at each depth
    uint32_t *stops;        // [words]
    uint32_t *none;         // [words] zeros
};

// --- Plain text ---------------------------------------------------------------------------------
// Bytes of the characters of plain tokens (constrain_trie.c), each form of UTF-8 in a row.
static const struct {
    uint8_t count;
    uint8_t low[4], high[4];
} plain_forms[] = {
    {1, {0x20}, {0x21}},
    {1, {0x23}, {0x5b}},
    {1, {0x5d}, {0x7e}},
    {2, {0xc2, 0x80}, {0xdf, 0xbf}},
    {3, {0xe0, 0xa0, 0x80}, {0xe0, 0xbf, 0xbf}},
    {3, {0xe1, 0x80, 0x80}, {0xec, 0xbf, 0xbf}},
    {3, {0xed, 0x80, 0x80}, {0xed, 0x9f, 0xbf}},
    {3, {0xee, 0x80, 0x80}, {0xef, 0xbf, 0xbf}},
    {4, {0xf0, 0x90, 0x80, 0x80}, {0xf0, 0xbf, 0xbf, 0xbf}},
    {4, {0xf1, 0x80, 0x80, 0x80}, {0xf3, 0xbf, 0xbf, 0xbf}},
    {4, {0xf4, 0x80, 0x80, 0x80}, {0xf4, 0x8f, 0xbf, 0xbf}},
};

static bool add_state(state_list *list, uint32_t state) {
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->states[i] == state) {
            return true;
        }
    }
    if (list->count == SUCCESSOR_LIMIT) {
        return false;
    }
    list->states[list->count++] = state;
    return true;
}

// Adds the targets of all bytes from `low` to `high`; false when one has none.
static bool follow_bytes(const kz_grammar *grammar, uint32_t state, uint32_t low, uint32_t high,
                         state_list *out_list) {
    for (uint32_t i = grammar->states[state].first_edge;
         i < grammar->states[state + 1].first_edge && low <= high; i++) {
        const kz_grammar_edge *edge = &grammar->edges[i];
        if (edge->high >= low) {
            if (edge->low > low || !add_state(out_list, edge->target)) {
                return false;
            }
            low = (uint32_t)edge->high + 1;
        }
    }
    return low > high;
}

static bool follow_plain(const kz_grammar *grammar, uint32_t state, state_list *out_list) {
    for (size_t i = 0; i < sizeof plain_forms / sizeof plain_forms[0]; i++) {
        state_list at = {{state}, 1};
        for (uint32_t j = 0; j < plain_forms[i].count; j++) {
            state_list behind = {{0}, 0};
            for (uint32_t k = 0; k < at.count; k++) {
                if (!follow_bytes(grammar, at.states[k], plain_forms[i].low[j],
                                  plain_forms[i].high[j], &behind)) {
                    return false;
                }
            }
            at = behind;
        }
        for (uint32_t k = 0; k < at.count; k++) {
            if (!add_state(out_list, at.states[k])) {
                return false;
            }
        }
    }
    return true;
}

// True when the state takes any KZ_PLAIN_CHARACTERS plain characters by its own edges.
static bool takes_plain(const kz_grammar *grammar, uint32_t state) {
    state_list at = {{state}, 1};
    for (uint32_t i = 0; i < KZ_PLAIN_CHARACTERS; i++) {
        state_list behind = {{0}, 0};
        for (uint32_t k = 0; k < at.count; k++) {
            if (!follow_plain(grammar, at.states[k], &behind)) {
                return false;
            }
        }
        if (behind.count == 1 && at.count == 1 && behind.states[0] == at.states[0]) {
            return true; // a loop
        }
        at = behind;
    }
    return true;
}

// --- Walks --------------------------------------------------------------------------------------
static void add_tokens(const kz_byte_trie *trie, uint32_t node, uint32_t *mask) {
    for (uint32_t i = trie->nodes[node].first_token; i < trie->nodes[node + 1].first_token; i++) {
        mask[trie->tokens[i] / 32] |= 1u << (trie->tokens[i] % 32);
    }
}

// Adds to `mask` the tokens that end within trie nodes [node, end) and that `set` takes from there.
// With a slot, the nodes at which the set's bottom is reached go to `exits`. False when there is no
// room for a set.
static bool walk_trie(kz_constrain *constrain, uint32_t set, uint32_t node, uint32_t end,
                      uint32_t *mask, mask_slot *slot, uint32_t *exits) {
    const kz_byte_trie *trie = &constrain->trie;
    uint16_t *walk = constrain->walk;
    if (node < end) {
        walk[trie->nodes[node].depth - 1] = (uint16_t)set;
    }
    while (node < end) {
        const kz_trie_node *at = &trie->nodes[node];
        const uint32_t next =
            kz_sets_step(&constrain->sets, walk[at->depth - 1], (uint8_t)at->byte);
        if (next == KZ_SET_DEAD) {
            node = at->end;
            continue;
        }
        if (next == KZ_SET_FULL) {
            return false;
        }
        walk[at->depth] = (uint16_t)next;
        add_tokens(trie, node, mask);
        if (slot && at->end > node + 1 && constrain->sets.sets[next].is_end) {
            if (slot->exit_count == EXIT_LIMIT) {
                slot->is_usable = false;
                return true;
            }
            exits[slot->exit_count++] = node;
        }
        node++;
    }
    return true;
}

// --- Remembered masks ---------------------------------------------------------------------------
static uint32_t find_slot(const kz_constrain *constrain, const mask_slot *slots, uint32_t key) {
    for (uint32_t i = 0; i < constrain->slot_count; i++) {
        if (slots[i].key == key) {
            return i;
        }
    }
    return NO_SLOT;
}

// The slot that was not used for longest, emptied.
static uint32_t take_slot(kz_constrain *constrain, mask_slot *slots, uint32_t *masks) {
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < constrain->slot_count; i++) {
        if (slots[i].stamp < slots[oldest].stamp) {
            oldest = i;
        }
    }
    slots[oldest] = (mask_slot){.key = NO_SLOT, .stamp = ++constrain->clock, .is_usable = true};
    memset(masks + (size_t)oldest * constrain->words, 0, constrain->words * sizeof *masks);
    return oldest;
}

static void forget_slots(kz_constrain *constrain, mask_slot *slots) {
    for (uint32_t i = 0; i < constrain->slot_count; i++) {
        slots[i] = (mask_slot){.key = NO_SLOT};
    }
}

// What `state` takes without leaving its rule. False when there is no room for a set.
static bool learn_state(kz_constrain *constrain, uint32_t state, uint32_t *out_slot) {
    const uint32_t index = take_slot(constrain, constrain->state_slots, constrain->state_masks);
    mask_slot *slot = &constrain->state_slots[index];
    uint32_t *mask = constrain->state_masks + (size_t)index * constrain->words;
    const uint32_t start = kz_sets_single(&constrain->sets, state);
    uint32_t first = 0, end = constrain->trie.rest;
    if (start == KZ_SET_FULL) {
        return false;
    }
    if (takes_plain(constrain->grammar, state)) {
        memcpy(mask, constrain->trie.plain, constrain->words * sizeof *mask);
        first = end;
        end = constrain->trie.node_count;
    }
    constrain->sets.is_too_deep = false;
    if (!walk_trie(constrain, start, first, end, mask, slot,
                   constrain->exits + (size_t)index * EXIT_LIMIT)) {
        return false;
    }
    slot->is_usable = slot->is_usable && !constrain->sets.is_too_deep;
    slot->key = state;
    *out_slot = index;
    return true;
}

// Adds what one top takes. *out_is_added false: the state cannot be told apart from its stack.
static bool add_top(kz_constrain *constrain, kz_stack_top top, uint32_t *mask, bool *out_is_added) {
    uint32_t index = find_slot(constrain, constrain->state_slots, top.state);
    if (index == NO_SLOT && !learn_state(constrain, top.state, &index)) {
        return false;
    }
    mask_slot *slot = &constrain->state_slots[index];
    const uint32_t *known = constrain->state_masks + (size_t)index * constrain->words;
    slot->stamp = ++constrain->clock;
    *out_is_added = slot->is_usable;
    if (!slot->is_usable) {
        return true;
    }
    for (uint32_t i = 0; i < constrain->words; i++) {
        mask[i] |= known[i];
    }
    if (slot->exit_count == 0 || top.place == KZ_STACK_BOTTOM) {
        return true;
    }
    const uint32_t behind = kz_sets_return(&constrain->sets, top.place);
    const uint32_t *exits = constrain->exits + (size_t)index * EXIT_LIMIT;
    for (uint32_t i = 0; i < slot->exit_count && behind != KZ_SET_FULL; i++) {
        if (!walk_trie(constrain, behind, exits[i] + 1, constrain->trie.nodes[exits[i]].end, mask,
                       NULL, NULL)) {
            return false;
        }
    }
    return behind != KZ_SET_FULL;
}

// A state's own mask was learned with an empty stack: near the limit of depth the walk must know
// how deep it is.
static bool is_near_limit(const kz_constrain *constrain, const kz_stack_set *set) {
    for (uint32_t i = set->first; i < set->first + set->count; i++) {
        const uint32_t place = constrain->sets.tops[i].place;
        if (constrain->sets.places[place].depth > KZ_CONSTRAIN_DEPTH / 2) {
            return true;
        }
    }
    return false;
}

static bool fill_mask(kz_constrain *constrain, uint32_t *mask) {
    const kz_stack_set set = constrain->sets.sets[constrain->current];
    bool is_added = set.count <= SHARED_TOP_LIMIT && !is_near_limit(constrain, &set);
    if (set.is_end) {
        memcpy(mask, constrain->stops, constrain->words * sizeof *mask);
    }
    for (uint32_t i = set.first; i < set.first + set.count && is_added; i++) {
        if (!add_top(constrain, constrain->sets.tops[i], mask, &is_added)) {
            return false;
        }
    }
    return is_added ||
           walk_trie(constrain, constrain->current, 0, constrain->trie.rest, mask, NULL, NULL);
}

static bool is_empty(const uint32_t *mask, uint32_t words) {
    for (uint32_t i = 0; i < words; i++) {
        if (mask[i] != 0) {
            return false;
        }
    }
    return true;
}

// --- The state of a text ------------------------------------------------------------------------
static void make_room(kz_constrain *constrain) {
    constrain->current = kz_sets_flush(&constrain->sets, constrain->current);
    forget_slots(constrain, constrain->set_slots);
}

static uint32_t learn_set(kz_constrain *constrain) {
    for (int attempt = 0; attempt < 2; attempt++) {
        const uint32_t index = take_slot(constrain, constrain->set_slots, constrain->set_masks);
        uint32_t *mask = constrain->set_masks + (size_t)index * constrain->words;
        if (fill_mask(constrain, mask)) {
            constrain->set_slots[index].key = constrain->current;
            return index;
        }
        make_room(constrain);
    }
    constrain->problem = PROBLEM_TOO_AMBIGUOUS;
    return NO_SLOT;
}

static const uint32_t *find_allowed(void *context) {
    kz_constrain *constrain = context;
    if (constrain->problem != PROBLEM_NONE) {
        return constrain->none;
    }
    uint32_t index = find_slot(constrain, constrain->set_slots, constrain->current);
    if (index == NO_SLOT) {
        index = learn_set(constrain);
    }
    if (index == NO_SLOT) {
        return constrain->none;
    }
    constrain->set_slots[index].stamp = ++constrain->clock;
    const uint32_t *mask = constrain->set_masks + (size_t)index * constrain->words;
    if (is_empty(mask, constrain->words)) {
        constrain->problem = PROBLEM_DEAD_END;
    }
    return mask;
}

static bool take_byte(kz_constrain *constrain, uint8_t byte) {
    uint32_t next = kz_sets_step(&constrain->sets, constrain->current, byte);
    if (next == KZ_SET_FULL) {
        make_room(constrain);
        next = kz_sets_step(&constrain->sets, constrain->current, byte);
    }
    if (next == KZ_SET_FULL || next == KZ_SET_DEAD) {
        constrain->problem = next == KZ_SET_FULL ? PROBLEM_TOO_AMBIGUOUS : PROBLEM_FORBIDDEN_TOKEN;
        constrain->problem_token = -1;
        return false;
    }
    constrain->current = next;
    return true;
}

bool kz_constrain_feed(kz_constrain *constrain, const char *bytes, size_t count) {
    for (size_t i = 0; i < count && constrain->problem == PROBLEM_NONE; i++) {
        take_byte(constrain, (uint8_t)bytes[i]);
    }
    return constrain->problem == PROBLEM_NONE;
}

static void advance(void *context, int32_t token) {
    kz_constrain *constrain = context;
    const bool is_token = token >= 0 && (uint32_t)token < constrain->vocabulary;
    if (is_token && (constrain->stops[token / 32] >> (token % 32) & 1) != 0 &&
        kz_constrain_is_complete(constrain)) {
        return;
    }
    const kz_bytes bytes =
        kz_tokenizer_token_bytes(constrain->tokenizer, is_token ? (uint32_t)token : UINT32_MAX);
    const bool is_text =
        bytes.count > 0 && !kz_tokenizer_is_special(constrain->tokenizer, (uint32_t)token);
    if (constrain->problem == PROBLEM_NONE && !is_text) {
        constrain->problem = PROBLEM_FORBIDDEN_TOKEN;
    } else if (kz_constrain_feed(constrain, (const char *)bytes.bytes, bytes.count)) {
        return;
    }
    if (constrain->problem == PROBLEM_FORBIDDEN_TOKEN) {
        constrain->problem_token = token;
    }
}

kz_token_mask kz_constrain_mask(kz_constrain *constrain) {
    return (kz_token_mask){constrain, find_allowed, advance};
}

bool kz_constrain_is_complete(const kz_constrain *constrain) {
    return constrain->problem == PROBLEM_NONE && constrain->sets.sets[constrain->current].is_end;
}

kazeia_status kz_constrain_check(const kz_constrain *constrain) {
    switch (constrain->problem) {
    case PROBLEM_TOO_AMBIGUOUS:
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "grammar: one step has more ways to go on than %u states hold; a grammar "
                       "with fewer ways to say the same is needed",
                       KZ_SET_LIMIT);
    case PROBLEM_DEAD_END:
        return kz_fail(KAZEIA_BAD_FILE,
                       "grammar: no token of the model's vocabulary continues the text");
    case PROBLEM_FORBIDDEN_TOKEN:
        return kz_fail(KAZEIA_BAD_ARGUMENT, "grammar: token %d was chosen, which may not come here",
                       (int)constrain->problem_token);
    case PROBLEM_NONE:
        break;
    }
    return KAZEIA_OK;
}

void kz_constrain_reset(kz_constrain *constrain) {
    constrain->problem = PROBLEM_NONE;
    uint32_t start = kz_sets_start(&constrain->sets);
    if (start == KZ_SET_FULL) {
        constrain->current = KZ_SET_DEAD;
        make_room(constrain);
        start = kz_sets_start(&constrain->sets);
    }
    constrain->current = start == KZ_SET_FULL ? KZ_SET_DEAD : start;
    if (start == KZ_SET_FULL) {
        constrain->problem = PROBLEM_TOO_AMBIGUOUS;
    }
}

// --- Creation -----------------------------------------------------------------------------------
static kazeia_status take_masks(kz_constrain *constrain) {
    const size_t slots = MASK_BYTES / (constrain->words * sizeof(uint32_t));
    constrain->slot_count = slots > MASK_LIMIT ? MASK_LIMIT : (uint32_t)slots;
    constrain->slot_count = slots < MASK_LEAST ? MASK_LEAST : constrain->slot_count;
    const size_t mask = constrain->words * sizeof(uint32_t);
    struct {
        void **array;
        size_t count, bytes_each;
    } wanted[] = {
        {(void **)&constrain->state_slots, constrain->slot_count, sizeof(mask_slot)},
        {(void **)&constrain->set_slots, constrain->slot_count, sizeof(mask_slot)},
        {(void **)&constrain->state_masks, constrain->slot_count, mask},
        {(void **)&constrain->set_masks, constrain->slot_count, mask},
        {(void **)&constrain->exits, constrain->slot_count, EXIT_LIMIT * sizeof(uint32_t)},
        {(void **)&constrain->walk, (size_t)constrain->trie.depth + 1, sizeof *constrain->walk},
        {(void **)&constrain->none, 1, mask},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        KZ_TRY(kz_alloc(&constrain->allocator, wanted[i].count, wanted[i].bytes_each, "token masks",
                        wanted[i].array));
    }
    forget_slots(constrain, constrain->state_slots);
    forget_slots(constrain, constrain->set_slots);
    return KAZEIA_OK;
}

static kazeia_status prepare(kz_constrain *constrain, const int64_t *stops, size_t stop_count) {
    const kazeia_allocator *allocator = &constrain->allocator;
    KZ_TRY(kz_alloc(allocator, constrain->words, sizeof(uint32_t), "token masks",
                    (void **)&constrain->stops));
    for (size_t i = 0; i < stop_count; i++) {
        if (stops[i] >= 0 && stops[i] < (int64_t)constrain->vocabulary) {
            constrain->stops[stops[i] / 32] |= 1u << (stops[i] % 32);
        }
    }
    KZ_TRY(kz_byte_trie_create(constrain->tokenizer, constrain->stops, constrain->vocabulary,
                               allocator, &constrain->trie));
    KZ_TRY(kz_sets_create(constrain->grammar, KZ_CONSTRAIN_DEPTH, allocator, &constrain->sets));
    KZ_TRY(take_masks(constrain));
    kz_constrain_reset(constrain);
    // Asked for once here, so that a vocabulary that does not fit the grammar is found at once.
    find_allowed(constrain);
    return kz_constrain_check(constrain);
}

kazeia_status kz_constrain_create(const kz_grammar *grammar, const kz_tokenizer *tokenizer,
                                  const int64_t *stops, size_t stop_count, uint32_t vocabulary,
                                  const kazeia_allocator *allocator, kz_constrain **out_constrain) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_constrain *constrain = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *constrain, "constraint", (void **)&constrain));
    *constrain = (kz_constrain){.allocator = memory,
                                .grammar = grammar,
                                .tokenizer = tokenizer,
                                .vocabulary = vocabulary,
                                .words = vocabulary / 32 + 1};
    const kazeia_status status = prepare(constrain, stops, stop_count);
    if (status != KAZEIA_OK) {
        kz_constrain_destroy(constrain);
        return status;
    }
    *out_constrain = constrain;
    return KAZEIA_OK;
}

void kz_constrain_destroy(kz_constrain *constrain) {
    if (!constrain) {
        return;
    }
    const kazeia_allocator allocator = constrain->allocator;
    void *arrays[] = {constrain->state_slots, constrain->set_slots, constrain->state_masks,
                      constrain->set_masks,   constrain->exits,     constrain->walk,
                      constrain->stops,       constrain->none};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        kz_free(&allocator, arrays[i]);
    }
    kz_byte_trie_clear(&constrain->trie);
    kz_sets_clear(&constrain->sets);
    kz_free(&allocator, constrain);
}
