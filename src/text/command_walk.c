// command_walk.c: the words that may come next.
//
// in: an automaton and positions in it. out: words with the positions behind them. All ways through
// the grammar that write the same text are walked together as one set, so that a word comes once
// however many templates have it. Chains of calls are kept once each and known by number.
#include <string.h>

#include "text/command_automaton_states.h"

enum {
    CHAIN_LIMIT = 1 << 18,
    CHAIN_SLOTS = 1 << 19,
    POSITION_LIMIT = 1 << 20, // of all sets that one walk has open
    SEEN_SLOTS = 1 << 17,
    WORD_BYTES = 256
};

// A call that has not returned: where it returns to, and the call that it stands in.
typedef struct call_chain {
    uint32_t to, outer;
} call_chain;

struct kz_command_walker {
    kazeia_allocator allocator;
    const kz_command_automaton *automaton;
    call_chain *chains; // [CHAIN_LIMIT]; chain 0: no call
    uint32_t chain_count;
    uint32_t *chain_slots;          // [CHAIN_SLOTS]: number + 1 by hash; 0: free
    kz_command_position *positions; // [POSITION_LIMIT], a stack of sets
    uint32_t position_count;
    // Which positions are in the set that is being closed: stamped, so that it is never cleared.
    kz_command_position *seen; // [SEEN_SLOTS]
    uint32_t *stamps;          // [SEEN_SLOTS]
    uint32_t stamp;
    char word[WORD_BYTES];
    kazeia_status (*visit)(void *context, const kz_command_word *word);
    void *context;
};

// A stretch of the stack.
typedef struct position_set {
    uint32_t first, count;
} position_set;

static uint32_t hash_pair(uint32_t a, uint32_t b) {
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 40);
}

static kazeia_status fail_full(void) {
    return kz_fail(KAZEIA_OUT_OF_MEMORY, "commands: the walk of the grammar has used its room");
}

static kazeia_status find_chain(kz_command_walker *w, uint32_t to, uint32_t outer,
                                uint32_t *out_chain) {
    uint32_t slot = hash_pair(to, outer) & (CHAIN_SLOTS - 1);
    while (w->chain_slots[slot] != 0) {
        const call_chain *chain = &w->chains[w->chain_slots[slot] - 1];
        if (chain->to == to && chain->outer == outer) {
            *out_chain = w->chain_slots[slot] - 1;
            return KAZEIA_OK;
        }
        slot = (slot + 1) & (CHAIN_SLOTS - 1);
    }
    if (w->chain_count == CHAIN_LIMIT) {
        return fail_full();
    }
    w->chains[w->chain_count] = (call_chain){to, outer};
    *out_chain = w->chain_count++;
    w->chain_slots[slot] = *out_chain + 1;
    return KAZEIA_OK;
}

// Adds a position to the set on top of the stack, unless it is in it.
static kazeia_status add_position(kz_command_walker *w, uint32_t state, uint32_t calls,
                                  position_set *set) {
    uint32_t slot = hash_pair(state, calls) & (SEEN_SLOTS - 1);
    while (w->stamps[slot] == w->stamp) {
        if (w->seen[slot].state == state && w->seen[slot].calls == calls) {
            return KAZEIA_OK;
        }
        slot = (slot + 1) & (SEEN_SLOTS - 1);
    }
    if (w->position_count == POSITION_LIMIT || set->count >= SEEN_SLOTS / 2) {
        return fail_full();
    }
    w->stamps[slot] = w->stamp;
    w->seen[slot] = (kz_command_position){state, calls};
    w->positions[w->position_count++] = w->seen[slot];
    set->count++;
    return KAZEIA_OK;
}

static kazeia_status follow_edge(kz_command_walker *w, const kz_automaton_edge *edge,
                                 uint32_t calls, bool is_word_start, position_set *set) {
    uint32_t chain = 0;
    switch (edge->kind) {
    case KZ_EDGE_EMPTY:
        return add_position(w, edge->to, calls, set);
    case KZ_EDGE_CALL:
        KZ_TRY(find_chain(w, edge->to, calls, &chain));
        return add_position(w, edge->label, chain, set);
    case KZ_EDGE_RETURN:
        return calls == 0 ? KAZEIA_OK
                          : add_position(w, w->chains[calls].to, w->chains[calls].outer, set);
    default:
        // At the start of a word the template's spaces match nothing (command_match.c).
        return is_word_start && edge->label == ' ' ? add_position(w, edge->to, calls, set)
                                                   : KAZEIA_OK;
    }
}

// The set grows while it is walked: all that is reached without reading is in it at the end.
static kazeia_status close_set(kz_command_walker *w, bool is_word_start, position_set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        const kz_command_position at = w->positions[set->first + i];
        uint32_t e = w->automaton->states[at.state].first_edge;
        while (e != KZ_NO_EDGE) {
            const kz_automaton_edge *edge = &w->automaton->edges[e];
            KZ_TRY(follow_edge(w, edge, at.calls, is_word_start, set));
            e = edge->next;
        }
    }
    return KAZEIA_OK;
}

static void open_set(kz_command_walker *w, position_set *out_set) {
    *out_set = (position_set){w->position_count, 0};
    w->stamp++;
}

// The positions behind one byte of any position of `from`, closed.
static kazeia_status read_byte(kz_command_walker *w, const position_set *from, uint32_t byte,
                               position_set *out_set) {
    open_set(w, out_set);
    for (uint32_t i = 0; i < from->count; i++) {
        const kz_command_position at = w->positions[from->first + i];
        uint32_t e = w->automaton->states[at.state].first_edge;
        while (e != KZ_NO_EDGE) {
            const kz_automaton_edge *edge = &w->automaton->edges[e];
            if (edge->kind == KZ_EDGE_BYTE && edge->label == byte) {
                KZ_TRY(add_position(w, edge->to, at.calls, out_set));
            }
            e = edge->next;
        }
    }
    return close_set(w, byte == ' ' || byte == '\'', out_set);
}

// Which bytes may come next.
static void collect_bytes(const kz_command_walker *w, const position_set *set, bool *out_bytes) {
    memset(out_bytes, 0, 256 * sizeof *out_bytes);
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t e = w->automaton->states[w->positions[set->first + i].state].first_edge;
        while (e != KZ_NO_EDGE) {
            const kz_automaton_edge *edge = &w->automaton->edges[e];
            if (edge->kind == KZ_EDGE_BYTE) {
                out_bytes[edge->label] = true;
            }
            e = edge->next;
        }
    }
}

static bool has_end(const kz_command_walker *w, const position_set *set) {
    for (uint32_t i = 0; i < set->count; i++) {
        const kz_command_position at = w->positions[set->first + i];
        if (at.state == w->automaton->end && at.calls == 0) {
            return true;
        }
    }
    return false;
}

// Tells of the word that is complete here: the text may end, or a space may follow. Behind the last
// word spaces match nothing, so the end may lie behind a space of the template.
static kazeia_status tell_word(kz_command_walker *w, const position_set *set, bool has_space,
                               size_t count) {
    position_set next = {0, 0};
    bool is_end = has_end(w, set);
    const uint32_t mark = w->position_count;
    kazeia_status status = KAZEIA_OK;
    if (has_space) {
        KZ_TRY(read_byte(w, set, ' ', &next));
        is_end = is_end || has_end(w, &next);
    }
    if (is_end || next.count > 0) {
        const kz_command_word word = {w->word, count, is_end, w->positions + next.first,
                                      next.count};
        w->word[count] = '\0';
        status = w->visit(w->context, &word);
    }
    w->position_count = mark;
    return status;
}

static kazeia_status walk(kz_command_walker *w, const position_set *set, size_t count) {
    bool bytes[256];
    collect_bytes(w, set, bytes);
    // After an apostrophe a space was followed as nothing: no word ends there.
    const bool is_word_start = count == 0 || w->word[count - 1] == '\'';
    if (count > 0) {
        KZ_TRY(tell_word(w, set, bytes[' '] && !is_word_start, count));
    }
    if (count == WORD_BYTES - 1) {
        return KAZEIA_OK; // nobody says such a word
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (!bytes[byte] || byte == ' ') {
            continue;
        }
        position_set next;
        const uint32_t mark = w->position_count;
        w->word[count] = (char)byte;
        KZ_TRY(read_byte(w, set, byte, &next));
        KZ_TRY(walk(w, &next, count + 1));
        w->position_count = mark;
    }
    return KAZEIA_OK;
}

kazeia_status
kz_command_walker_words(kz_command_walker *walker, const kz_command_position *from, uint32_t count,
                        kazeia_status (*visit)(void *context, const kz_command_word *word),
                        void *context) {
    position_set set;
    walker->position_count = 0;
    walker->visit = visit;
    walker->context = context;
    open_set(walker, &set);
    for (uint32_t i = 0; i < count; i++) {
        KZ_TRY(add_position(walker, from[i].state, from[i].calls, &set));
    }
    KZ_TRY(close_set(walker, true, &set));
    return walk(walker, &set, 0);
}

kz_command_position kz_command_walker_start(const kz_command_walker *walker) {
    return (kz_command_position){walker->automaton->start, 0};
}

void kz_command_walker_reset(kz_command_walker *walker) {
    memset(walker->chain_slots, 0, CHAIN_SLOTS * sizeof *walker->chain_slots);
    walker->chain_count = 1;
}

static kazeia_status take_memory(kz_command_walker *w) {
    const struct {
        size_t count, bytes_each;
        void **memory;
    } parts[] = {{CHAIN_LIMIT, sizeof *w->chains, (void **)&w->chains},
                 {CHAIN_SLOTS, sizeof *w->chain_slots, (void **)&w->chain_slots},
                 {POSITION_LIMIT, sizeof *w->positions, (void **)&w->positions},
                 {SEEN_SLOTS, sizeof *w->seen, (void **)&w->seen},
                 {SEEN_SLOTS, sizeof *w->stamps, (void **)&w->stamps}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        KZ_TRY(kz_alloc(&w->allocator, parts[i].count, parts[i].bytes_each, "command walker",
                        parts[i].memory));
    }
    return KAZEIA_OK;
}

kazeia_status kz_command_walker_create(const kz_command_automaton *automaton,
                                       const kazeia_allocator *allocator,
                                       kz_command_walker **out_walker) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_command_walker), "command walker", &memory));
    kz_command_walker *w = memory;
    w->allocator = own;
    w->automaton = automaton;
    w->chain_count = 1;
    const kazeia_status status = take_memory(w);
    if (status != KAZEIA_OK) {
        kz_command_walker_destroy(w);
        return status;
    }
    *out_walker = w;
    return KAZEIA_OK;
}

void kz_command_walker_destroy(kz_command_walker *walker) {
    if (walker != NULL) {
        const kazeia_allocator allocator = walker->allocator;
        kz_free(&allocator, walker->chains);
        kz_free(&allocator, walker->chain_slots);
        kz_free(&allocator, walker->positions);
        kz_free(&allocator, walker->seen);
        kz_free(&allocator, walker->stamps);
        kz_free(&allocator, walker);
    }
}
