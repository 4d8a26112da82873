// command_automaton.h: a command grammar as an automaton that can be walked from its beginning, to
// find what may be said next.
//
// in:  a compiled grammar. out: states with edges over bytes, and the words that may follow a set
// of places. Rules, lists and number ranges are automata of their own that are called, so that a
// grammar of 10^12 sentences has some ten thousand states; a place is a state and the chain of
// calls it stands in. Wildcards are left out: nothing bounds what they would let through.
//
// What is walked is text as command_match.c reads it: small letters, single spaces, none at the
// ends, numbers in digits and (up to a hundred) in words.
#ifndef KZ_TEXT_COMMAND_AUTOMATON_H
#define KZ_TEXT_COMMAND_AUTOMATON_H

#include "text/command_grammar.h"
#include "text/utf8.h"

typedef struct kz_command_automaton kz_command_automaton;
typedef struct kz_command_walker kz_command_walker;

// One place in the automaton; `calls` numbers the chain of calls of a walker.
typedef struct kz_command_position {
    uint32_t state, calls;
} kz_command_position;

// The grammar must outlive the automaton. BAD_FILE when it needs more than four million edges.
KAZEIA_MUST_CHECK kazeia_status kz_command_automaton_create(const kz_command_grammar *grammar,
                                                            const kazeia_allocator *allocator,
                                                            kz_command_automaton **out_automaton);
void kz_command_automaton_destroy(kz_command_automaton *automaton);
uint32_t kz_command_automaton_state_count(const kz_command_automaton *automaton);

// Memory of one walk, all taken here; one thread. The automaton must outlive it.
KAZEIA_MUST_CHECK kazeia_status kz_command_walker_create(const kz_command_automaton *automaton,
                                                         const kazeia_allocator *allocator,
                                                         kz_command_walker **out_walker);
void kz_command_walker_destroy(kz_command_walker *walker);
// Forgets all chains of calls: positions from before mean nothing any more.
void kz_command_walker_reset(kz_command_walker *walker);

// The one position before any text.
kz_command_position kz_command_walker_start(const kz_command_walker *walker);

// A word that may come next, without the space before it: at most 255 bytes. `is_end`: a sentence
// may end after it. `next` [next_count]: where the walk goes on behind a space; valid during the
// visit.
typedef struct kz_command_word {
    const char *text; // NUL-terminated
    size_t count;
    bool is_end;
    const kz_command_position *next;
    uint32_t next_count;
} kz_command_word;

// Calls `visit` for each word that may follow any of the positions, in the order of their bytes.
// OUT_OF_MEMORY when the walker's room is used up: reset it and begin anew. A status of the visit's
// that is not KAZEIA_OK is returned.
KAZEIA_MUST_CHECK kazeia_status kz_command_walker_words(
    kz_command_walker *walker, const kz_command_position *from, uint32_t count,
    kazeia_status (*visit)(void *context, const kz_command_word *word), void *context);

#endif
