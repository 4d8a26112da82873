// command_match.c: walks a compiled grammar over a transcript.
//
// in: nodes and folded text. out: the best reading. Each node turns a set of states (place in the
// text, start of a word or not) into another, and of all ways to one state only the best is kept.
// The score of a reading is a sum that is compared part by part, so the best whole has the best
// beginning, and nothing is lost; that is what keeps ambiguous grammars linear where backtracking
// explodes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/command_compiled.h"
#include "text/command_numbers.h"
#include "text/command_text.h"

// Bounds on one transcript, so that a hostile grammar costs bounded time, and no more memory than
// was taken at creation.
enum {
    MAX_STEPS = 20000000,
    MAX_TRACES = 32768,
    SAID_BYTES = 8192,
    RESPONSE_BYTES = 2048,
    KEPT_STARTS = 8
};

// Better: a longer name, then fewer wildcards, more literal text, less text in wildcards.
typedef struct match_score {
    int32_t name; // a thousand and more for each: at most KZ_MAX_TEMPLATE_NODES of them
    int16_t wildcards, literal, wildcard_chars;
} match_score;

typedef struct match_state {
    uint16_t at;
    bool is_word_start;
    match_score score;
    uint32_t trace; // last slot filled; 0: none
} match_state;

typedef struct state_set {
    match_state *states; // by place, then is_word_start
    uint32_t count;
} state_set;

typedef struct slot_trace {
    uint32_t previous;
    uint16_t start, end;
    uint16_t slot;
    const kz_command_value *value; // NULL: a number or as said
    double number;
    bool is_number;
} slot_trace;

struct kz_command_matcher {
    kazeia_allocator allocator;
    const kz_command_grammar *grammar;
    kz_command_text texts[4]; // as said; without skip words; only at the end; only at the start
    bool has_text[4];
    const kz_command_text *text;
    const kz_command_block *block; // of the sentence that is tried

    match_state *pool; // [set_count][2 * (KZ_COMMAND_TEXT_BYTES + 1)]
    uint32_t sets_used, set_count;
    slot_trace *traces; // [MAX_TRACES]
    uint32_t trace_count;
    uint64_t steps;
    bool is_exhausted;

    // What each rule without slots gives at the start of the present text: most sentences begin
    // with one of a few rules.
    struct rule_start *starts; // [grammar->rule_count]
    uint64_t generation;       // of the text; a start of another one is stale
    uint64_t generations[4];   // of each of texts
    uint64_t last_generation;
    match_state start; // the state before any text

    kz_command_slot slots[KZ_COMMAND_MAX_SLOTS];
    char said[SAID_BYTES];
    size_t said_count;
    char response[RESPONSE_BYTES];
};

typedef struct rule_start {
    uint64_t generation;
    uint32_t count;
    match_state states[KEPT_STARTS];
} rule_start;

#define STATES_PER_SET ((size_t)2 * (KZ_COMMAND_TEXT_BYTES + 1))

// ---- sets

static state_set take_set(kz_command_matcher *m) {
    return (state_set){m->pool + STATES_PER_SET * m->sets_used++, 0};
}

// In order of weight; wildcards count against a reading, and so does the text in them.
static int compare_scores(const match_score *a, const match_score *b) {
    const int differences[] = {a->name - b->name, b->wildcards - a->wildcards,
                               a->literal - b->literal, b->wildcard_chars - a->wildcard_chars};
    for (size_t i = 0; i < 4; i++) {
        if (differences[i] != 0) {
            return differences[i];
        }
    }
    return 0;
}

static uint32_t state_key(const match_state *state) {
    return (uint32_t)state->at * 2 + state->is_word_start;
}

// The place of a state in a set; *out_is_better says whether it belongs there. From the end,
// because states come mostly in order of place.
static uint32_t find_place(const state_set *set, const match_state *state, bool *out_is_better,
                           bool *out_is_new) {
    const uint32_t key = state_key(state);
    uint32_t i = set->count;
    while (i > 0 && state_key(&set->states[i - 1]) > key) {
        i--;
    }
    *out_is_new = i == 0 || state_key(&set->states[i - 1]) != key;
    *out_is_better = *out_is_new || compare_scores(&state->score, &set->states[i - 1].score) > 0;
    return *out_is_new ? i : i - 1;
}

static match_state *add_state(kz_command_matcher *m, state_set *set, const match_state *state) {
    bool is_better, is_new;
    const uint32_t i = find_place(set, state, &is_better, &is_new);
    // Insertion moves what lies behind it: long sets cost more.
    m->steps += 1 + set->count / 8;
    if (!is_better) {
        return NULL;
    }
    if (is_new) {
        memmove(set->states + i + 1, set->states + i, (set->count - i) * sizeof *set->states);
        set->count++;
    }
    set->states[i] = *state;
    return &set->states[i];
}

static void add_all(kz_command_matcher *m, state_set *set, const state_set *from) {
    for (uint32_t i = 0; i < from->count; i++) {
        add_state(m, set, &from->states[i]);
    }
}

// Adds a state whose last step filled a slot; the trace is only made when the state is kept.
static void add_filled(kz_command_matcher *m, state_set *set, const match_state *state,
                       const slot_trace *trace) {
    match_state *kept = add_state(m, set, state);
    if (kept == NULL) {
        return;
    }
    // The state stays without its slot for the rest of this call, which reports failure.
    if (m->trace_count == MAX_TRACES) {
        m->is_exhausted = true;
        return;
    }
    m->traces[m->trace_count] = *trace;
    kept->trace = m->trace_count++;
}

// ---- chunks

// A space of the template also stands for a hyphen or underscore of the text.
static bool is_same_char(char wanted, char found) {
    return wanted == found || (wanted == ' ' && (found == '-' || found == '_'));
}

static void match_chunk(kz_command_matcher *m, const kz_command_node *node, const match_state *from,
                        state_set *out) {
    const kz_command_text *text = m->text;
    match_state to = *from;
    size_t at = from->at, i = 0;
    // At the start of a word spaces match nothing on either side: templates are written with spaces
    // wherever a person puts them.
    if (from->is_word_start) {
        while (at < text->count && text->folded[at] == ' ') {
            at++;
        }
        while (i < node->text.count && node->text.bytes[i] == ' ') {
            i++;
        }
    }
    for (; i < node->text.count && at < text->count; i++, at++) {
        if (!is_same_char(node->text.bytes[i], text->folded[at])) {
            return;
        }
        // After an apostrophe as well: "l'" ends a word without a space.
        to.is_word_start = node->text.bytes[i] == ' ' || node->text.bytes[i] == '\'';
    }
    for (; i < node->text.count; i++) { // at the text's end spaces match nothing
        if (node->text.bytes[i] != ' ') {
            return;
        }
    }
    to.at = (uint16_t)at;
    to.score.literal = (int16_t)(to.score.literal + (int)node->literal_chars);
    add_state(m, out, &to);
}

// ---- lists

static uint16_t skip_spaces(const kz_command_matcher *m, const match_state *state) {
    size_t at = state->at;
    while (state->is_word_start && at < m->text->count && m->text->folded[at] == ' ') {
        at++;
    }
    return (uint16_t)at;
}

// Never above KZ_COMMAND_TEXT_BYTES, which fits 16 bits.
static int16_t count_chars(const kz_command_matcher *m, size_t start, size_t end) {
    int16_t chars = 0;
    for (size_t i = start; i < end; i++) {
        chars = (int16_t)(chars + (((unsigned char)m->text->folded[i] & 0xc0u) != 0x80u));
    }
    return chars;
}

// A slot called "name" holds what the person calls a thing: of two readings the one with the longer
// name is meant ("lampe du salon", not "lampe").
static bool is_name(const kz_command_matcher *m, uint32_t slot) {
    return strcmp(m->grammar->slot_names[slot], "name") == 0;
}

static void match_node(kz_command_matcher *m, const kz_command_node *node, const state_set *in,
                       state_set *out);

// Whether the block's conditions let a value stand there.
static bool is_allowed(const kz_command_matcher *m, const kz_command_value *value) {
    const kz_command_block *block = m->block;
    return value->domain == 0 || ((block->domains == 0 || (value->domain & block->domains) != 0) &&
                                  (value->domain & block->other_domains) == 0);
}

// Each value is matched from one place only: its trace must say where the slot began.
static void match_values(kz_command_matcher *m, const kz_command_node *node,
                         const match_state *from, state_set *out) {
    // Sets are a stack: all that is taken here is given back at the end, in the number that
    // command_measure.c has proven.
    const uint32_t mark = m->sets_used;
    const uint16_t start = skip_spaces(m, from);
    state_set found = take_set(m);
    match_state first = *from;
    const state_set in = {&first, 1};
    for (uint32_t v = 0; v < node->list->value_count && !m->is_exhausted; v++) {
        const kz_command_value *value = &node->list->values[v];
        if (!is_allowed(m, value)) {
            continue;
        }
        found.count = 0;
        match_node(m, value->in, &in, &found);
        for (uint32_t i = 0; i < found.count; i++) {
            match_state to = found.states[i];
            const slot_trace trace = {from->trace,
                                      start,
                                      to.at,
                                      (uint16_t)node->slot,
                                      value,
                                      value->number,
                                      value->kind == KZ_SLOT_NUMBER};
            if (is_name(m, node->slot)) {
                to.score.name += 1000 + count_chars(m, start, to.at);
            }
            add_filled(m, out, &to, &trace);
        }
    }
    m->sets_used = mark;
}

// For each end the best beginning is kept, so that a wildcard costs one trace a place.
static void match_wildcard(kz_command_matcher *m, const kz_command_node *node,
                           const match_state *from, state_set *out) {
    const kz_command_text *text = m->text;
    size_t start = from->at;
    while (start < text->count && text->folded[start] == ' ') {
        start++;
    }
    int16_t chars = 0, spaces = 0;
    for (size_t end = start; end < text->count;) {
        const size_t length = kz_utf8_read_last(text->folded + end, text->count - end).length;
        // A wildcard does not end in a space; the state after it is there all the same, for a chunk
        // that begins with one.
        spaces = text->folded[end] == ' ' ? (int16_t)(spaces + 1) : 0;
        chars = (int16_t)(chars + 1);
        end += length;
        match_state to = *from;
        to.at = (uint16_t)end;
        to.is_word_start = false;
        to.score.wildcards = (int16_t)(to.score.wildcards + 1);
        to.score.wildcard_chars = (int16_t)(to.score.wildcard_chars + chars - spaces);
        const slot_trace trace = {from->trace,
                                  (uint16_t)start,
                                  (uint16_t)(end - (size_t)spaces),
                                  (uint16_t)node->slot,
                                  NULL,
                                  0,
                                  false};
        add_filled(m, out, &to, &trace);
    }
}

static void add_number(kz_command_matcher *m, const kz_command_node *node, const match_state *from,
                       size_t start, size_t end, double number, state_set *out) {
    const kz_command_list *list = node->list;
    const double whole = floor(number);
    // Exact: match_digits makes it 0, 0.5 or neither.
    const bool is_half = list->has_halves && number - whole == 0.5;
    if (number < list->from || number > list->to || (number != whole && !is_half) ||
        // The number is between from and to by now, so the conversion is safe.
        ((int64_t)whole - list->from) % list->step != 0) {
        return;
    }
    match_state to = *from;
    to.at = (uint16_t)end;
    to.is_word_start = false;
    const slot_trace trace = {
        from->trace, (uint16_t)start,           (uint16_t)end, (uint16_t)node->slot,
        NULL,        number * list->multiplier, true};
    add_filled(m, out, &to, &trace);
}

static bool is_digit_at(const kz_command_text *text, size_t at) {
    return at < text->count && text->folded[at] >= '0' && text->folded[at] <= '9';
}

// Digits, and where the list has halves their fraction. All digits are taken.
static void match_digits(kz_command_matcher *m, const kz_command_node *node,
                         const match_state *from, size_t start, state_set *out) {
    const kz_command_text *text = m->text;
    const bool is_negative = text->folded[start] == '-';
    size_t at = start + is_negative;
    double number = 0;
    // In double: 600 digits are a large number or infinity, and in no range.
    while (is_digit_at(text, at)) {
        number = number * 10 + (text->folded[at++] - '0');
    }
    double fraction = 0, place = 1;
    if (node->list->has_halves && at + 1 < text->count && is_digit_at(text, at + 1) &&
        (text->folded[at] == ',' || text->folded[at] == '.')) {
        for (at++; is_digit_at(text, at); at++) {
            place /= 10;
            fraction += place * (text->folded[at] - '0');
        }
    }
    // Tenths are not exact in binary; 0.25 stands for every fraction that is no half.
    fraction = fabs(fraction - 0.5) < 1e-9 ? 0.5 : fraction < 1e-9 ? 0 : 0.25;
    const double sign = is_negative ? -1 : 1;
    add_number(m, node, from, start, at, sign * (number + fraction), out);
}

static void match_range(kz_command_matcher *m, const kz_command_node *node, const match_state *from,
                        state_set *out) {
    const kz_command_text *text = m->text;
    const size_t start = skip_spaces(m, from);
    const bool has_sign = start < text->count && text->folded[start] == '-';
    if (is_digit_at(text, start + has_sign)) {
        match_digits(m, node, from, start, out);
        return;
    }
    kz_number_reading readings[KZ_NUMBER_READINGS];
    const kz_text_view rest = {text->folded + start, text->count - start};
    const size_t count = kz_number_words_read(m->grammar->language, rest, readings);
    for (size_t i = 0; i < count; i++) {
        add_number(m, node, from, start, start + readings[i].length, readings[i].value, out);
    }
    // About what reading number words costs, in comparisons of a node's kind.
    m->steps += 60;
}

static void match_list(kz_command_matcher *m, const kz_command_node *node, const match_state *from,
                       state_set *out) {
    switch (node->list->kind) {
    case KZ_LIST_VALUES:
        match_values(m, node, from, out);
        break;
    case KZ_LIST_RANGE:
        match_range(m, node, from, out);
        break;
    case KZ_LIST_WILDCARD:
        match_wildcard(m, node, from, out);
        break;
    }
}

// ---- groups

static void match_sequence(kz_command_matcher *m, const kz_command_node *node, const state_set *in,
                           state_set *out) {
    const uint32_t mark = m->sets_used;
    // Two are enough for any number of children: each reads one and fills the other.
    state_set sets[2] = {take_set(m), take_set(m)};
    const state_set *from = in;
    for (uint32_t i = 0; i < node->child_count && from->count > 0; i++) {
        state_set *to = &sets[i % 2];
        to->count = 0;
        match_node(m, node->children[i], from, to);
        from = to;
    }
    add_all(m, out, from);
    m->sets_used = mark;
}

// One set for each choice of items already taken.
static void match_permutation(kz_command_matcher *m, const kz_command_node *node,
                              const state_set *in, state_set *out) {
    const uint32_t mark = m->sets_used;
    const uint32_t all = (1u << node->child_count) - 1;
    // Only the struct; the states lie in the pool.
    state_set sets[1u << KZ_MAX_PERMUTED];
    for (uint32_t taken = 0; taken <= all; taken++) {
        sets[taken] = take_set(m);
    }
    add_all(m, &sets[0], in);
    // In counting order: a set is complete before it is read, since each step only adds an item.
    for (uint32_t taken = 0; taken < all; taken++) {
        for (uint32_t i = 0; i < node->child_count; i++) {
            if ((taken & (1u << i)) == 0 && sets[taken].count > 0) {
                match_node(m, node->children[i], &sets[taken], &sets[taken | (1u << i)]);
            }
        }
    }
    add_all(m, out, &sets[all]);
    m->sets_used = mark;
}

static bool has_slots(const kz_command_rule *rule) {
    for (size_t i = 0; i < sizeof rule->measure.slots; i++) {
        if (rule->measure.slots[i] != 0) {
            return true;
        }
    }
    return false;
}

// A rule without slots at the very start gives the same states in every sentence.
static void match_rule(kz_command_matcher *m, const kz_command_rule *rule, const state_set *in,
                       state_set *out) {
    rule_start *kept = &m->starts[rule - m->grammar->rules];
    if (in->states != &m->start || has_slots(rule)) {
        match_node(m, rule->body, in, out);
        return;
    }
    if (kept->generation != m->generation) {
        const uint32_t mark = m->sets_used;
        state_set found = take_set(m);
        match_node(m, rule->body, in, &found);
        m->sets_used = mark;
        // Given on but not kept: such a rule is computed again for each sentence.
        if (found.count > KEPT_STARTS) {
            add_all(m, out, &found);
            return;
        }
        kept->generation = m->generation;
        kept->count = found.count;
        memcpy(kept->states, found.states, found.count * sizeof *found.states);
    }
    const state_set states = {kept->states, kept->count};
    add_all(m, out, &states);
}

static void match_node(kz_command_matcher *m, const kz_command_node *node, const state_set *in,
                       state_set *out) {
    m->steps++;
    m->is_exhausted = m->is_exhausted || m->steps > MAX_STEPS;
    // From here on everything returns at once: no sentence is matched in part.
    if (in->count == 0 || m->is_exhausted) {
        return;
    }
    if (node->is_optional) {
        add_all(m, out, in);
    }
    switch (node->kind) {
    case KZ_NODE_CHUNK:
        for (uint32_t i = 0; i < in->count; i++) {
            match_chunk(m, node, &in->states[i], out);
        }
        break;
    case KZ_NODE_LIST: // the latest place first: most often the best, so that few traces are made
        for (uint32_t i = in->count; i > 0; i--) {
            match_list(m, node, &in->states[i - 1], out);
        }
        break;
    case KZ_NODE_RULE:
        match_rule(m, node->rule, in, out);
        break;
    case KZ_NODE_SEQUENCE:
        match_sequence(m, node, in, out);
        break;
    case KZ_NODE_ALTERNATIVES:
        for (uint32_t i = 0; i < node->child_count; i++) {
            match_node(m, node->children[i], in, out);
        }
        break;
    case KZ_NODE_PERMUTATION:
        match_permutation(m, node, in, out);
        break;
    }
}

// ---- sentences

static bool is_blank_rest(const kz_command_text *text, size_t at) {
    while (at < text->count && text->folded[at] == ' ') {
        at++;
    }
    return at == text->count;
}

// The best state at the text's end; false when there is none. Traces stay until the next sentence.
static bool match_sentence(kz_command_matcher *m, const kz_command_sentence *sentence,
                           const kz_command_text *text, match_state *out_best) {
    const unsigned char first = (unsigned char)text->folded[0];
    // One look at a bit excludes most sentences of a grammar before anything is walked.
    if (text->count == 0 || (sentence->measure.first[first / 8] & (1u << (first % 8))) == 0) {
        return false;
    }
    m->text = text;
    m->block = sentence->block;
    m->sets_used = 0;
    // 0 means that there is no trace.
    m->trace_count = 1;
    m->generation = m->generations[text - m->texts];
    const state_set in = {&m->start, 1};
    state_set out = take_set(m);
    bool is_found = false;
    match_node(m, sentence->body, &in, &out);
    for (uint32_t i = 0; i < out.count; i++) {
        if (is_blank_rest(text, out.states[i].at) &&
            (!is_found || compare_scores(&out.states[i].score, &out_best->score) > 0)) {
            *out_best = out.states[i];
            is_found = true;
        }
    }
    return is_found;
}

// The text without skip words that a sentence may see: wildcards keep theirs.
static const kz_command_text *skipped_text(kz_command_matcher *m, const kz_node_measure *measure) {
    static const kz_skip_where places[] = {KZ_SKIP_ALL, KZ_SKIP_AT_END, KZ_SKIP_AT_START};
    if (m->grammar->skip_count == 0 || measure->is_only_wild ||
        (measure->begins_wild && measure->ends_wild)) {
        return NULL;
    }
    // A wildcard at the start may have meant the skip word there; so words are only skipped at the
    // other end.
    const uint32_t kind = measure->begins_wild ? 1 : measure->ends_wild ? 2 : 0;
    if (!m->has_text[kind + 1]) {
        m->has_text[kind + 1] = true;
        if (!kz_command_text_skip(&m->texts[0], m->grammar->skip_words, m->grammar->skip_count,
                                  places[kind], &m->texts[kind + 1])) {
            // Nothing was skipped: the text is the one that was tried already.
            m->texts[kind + 1].count = 0;
        }
    }
    return &m->texts[kind + 1];
}

typedef struct best_match {
    const kz_command_sentence *sentence;
    match_state state;
} best_match;

static bool is_better_match(const best_match *best, const kz_command_sentence *sentence,
                            const match_state *state) {
    if (best->sentence == NULL) {
        return true;
    }
    const int order = compare_scores(&state->score, &best->state.score);
    return order > 0 ||
           // Equal readings are decided by the intent's name and not by the order of the file:
           // editing a file must not change what an unrelated sentence does.
           (order == 0 && strcmp(sentence->block->intent, best->sentence->block->intent) < 0);
}

// ---- the result

static const char *keep_said(kz_command_matcher *m, size_t start, size_t end) {
    char *said = m->said + m->said_count;
    const size_t room = sizeof m->said - m->said_count;
    // Cut off rather than failed: only a hostile grammar fills SAID_BYTES.
    if (room < 2) {
        return "";
    }
    m->said_count += kz_command_text_said(m->text, start, end, said, room) + 1;
    return said;
}

static const char *keep_number(kz_command_matcher *m, double number) {
    char *text = m->said + m->said_count;
    const size_t room = sizeof m->said - m->said_count;
    if (room < 40) {
        return "";
    }
    // With a point in every language: this one is for programs, the response has the spoken one.
    kz_command_number_text(number, "en", text, room);
    m->said_count += strlen(text) + 1;
    return text;
}

static kz_command_slot *find_slot(kz_command_matcher *m, kz_command_result *result,
                                  const char *name) {
    for (uint32_t i = 0; i < result->slot_count; i++) {
        if (strcmp(m->slots[i].name, name) == 0) {
            return &m->slots[i];
        }
    }
    return NULL;
}

static void fill_slot(kz_command_matcher *m, const slot_trace *trace, kz_command_slot *slot) {
    slot->said = keep_said(m, trace->start, trace->end);
    slot->number = trace->number;
    if (trace->value != NULL && trace->value->text != NULL) {
        slot->kind = trace->value->kind;
        slot->text = trace->value->text;
    } else if (trace->is_number) {
        slot->kind = KZ_SLOT_NUMBER;
        slot->text = keep_number(m, trace->number);
    } else {
        slot->kind = KZ_SLOT_TEXT;
        slot->text = slot->said;
    }
}

// Traces run from the last slot to the first; they are turned in place.
static void fill_slots(kz_command_matcher *m, uint32_t last, kz_command_result *result) {
    uint32_t first = 0;
    while (last != 0) {
        const uint32_t previous = m->traces[last].previous;
        m->traces[last].previous = first;
        first = last;
        last = previous;
    }
    for (uint32_t i = first; i != 0; i = m->traces[i].previous) {
        const char *name = m->grammar->slot_names[m->traces[i].slot];
        kz_command_slot *slot = find_slot(m, result, name);
        // A slot that is filled twice keeps its last value; slots over the limit are left out.
        if (slot == NULL && result->slot_count < KZ_COMMAND_MAX_SLOTS) {
            slot = &m->slots[result->slot_count++];
        }
        if (slot != NULL) {
            slot->name = name;
            fill_slot(m, &m->traces[i], slot);
        }
    }
}

// What was said counts more than what the file says.
static void add_fixed_slots(kz_command_matcher *m, const kz_command_block *block,
                            kz_command_result *result) {
    for (uint32_t i = 0; i < block->slot_count && result->slot_count < KZ_COMMAND_MAX_SLOTS; i++) {
        if (find_slot(m, result, block->slots[i].name) == NULL) {
            m->slots[result->slot_count++] = block->slots[i];
        }
    }
}

// The domains of the values that were named.
static uint64_t named_domains(const kz_command_matcher *m, uint32_t trace) {
    uint64_t domains = 0;
    for (; trace != 0; trace = m->traces[trace].previous) {
        domains |= m->traces[trace].value == NULL ? 0 : m->traces[trace].value->domain;
    }
    return domains;
}

static void make_result(kz_command_matcher *m, const best_match *best,
                        const kz_command_clock *clock, kz_command_result *result) {
    const kz_command_block *block = best->sentence->block;
    m->said_count = 0;
    m->response[0] = '\0';
    const uint64_t domains = named_domains(m, best->state.trace); // before the traces are turned
    fill_slots(m, best->state.trace, result);
    add_fixed_slots(m, block, result);
    result->is_match = true;
    result->intent = block->intent;
    result->slots = m->slots;
    result->response_key = block->response_key;
    result->sentence = best->sentence->text;
    result->response = m->response;
    result->is_guarded = kz_command_is_guarded(m->grammar, domains, result);
    if (block->response != NULL) {
        kz_command_response_render(block->response, m->grammar->language, result, clock,
                                   m->response, sizeof m->response);
    }
}

static bool match_with_skips(kz_command_matcher *m, const kz_command_sentence *sentence,
                             match_state *out_state) {
    // As said first: a skip word may be part of a name.
    if (match_sentence(m, sentence, &m->texts[0], out_state)) {
        return true;
    }
    const kz_command_text *skipped = skipped_text(m, &sentence->measure);
    return skipped != NULL && skipped->count > 0 && match_sentence(m, sentence, skipped, out_state);
}

static void find_best(kz_command_matcher *m, best_match *best) {
    for (uint32_t i = 0; i < m->grammar->sentence_count && !m->is_exhausted; i++) {
        const kz_command_sentence *sentence = &m->grammar->sentences[i];
        match_state state;
        if (sentence->measure.is_dead || sentence->block->is_dead) {
            continue;
        }
        if (match_with_skips(m, sentence, &state) && is_better_match(best, sentence, &state)) {
            *best = (best_match){sentence, state};
        }
    }
}

kazeia_status kz_command_match(kz_command_matcher *matcher, const char *transcript,
                               const kz_command_clock *clock, kz_command_result *out_result) {
    kz_command_matcher *m = matcher;
    best_match best = {.sentence = NULL};
    *out_result = (kz_command_result){.is_match = false,
                                      .intent = "",
                                      .response = "",
                                      .response_key = "",
                                      .sentence = "",
                                      .slots = m->slots};
    m->steps = 0;
    m->is_exhausted = false;
    memset(m->has_text, 0, sizeof m->has_text);
    for (uint32_t i = 0; i < 4; i++) {
        // Stale starts are told apart by number instead of being cleared: there may be thousands of
        // rules.
        m->generations[i] = ++m->last_generation;
    }
    if (!kz_command_text_prepare(transcript, &m->texts[0]) || m->texts[0].count == 0) {
        return KAZEIA_OK;
    }
    find_best(m, &best);
    if (m->is_exhausted) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: a transcript of %zu bytes has too many readings (limit: %d steps, %d "
                       "slot values a sentence)",
                       m->grammar->file, m->texts[0].count, MAX_STEPS, MAX_TRACES);
    }
    if (best.sentence != NULL) {
        match_with_skips(m, best.sentence, &best.state); // its traces were overwritten since
        make_result(m, &best, clock, out_result);
    }
    return KAZEIA_OK;
}

kazeia_status kz_command_matcher_create(const kz_command_grammar *grammar,
                                        const kazeia_allocator *allocator,
                                        kz_command_matcher **out_matcher) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_command_matcher), "command matcher", &memory));
    kz_command_matcher *m = memory;
    m->allocator = own;
    m->grammar = grammar;
    // One more for the set that match_sentence itself takes.
    m->set_count = grammar->sets + 1;
    kazeia_status status;
    KZ_TRY_DONE(status, kz_alloc(&own, STATES_PER_SET * m->set_count, sizeof(match_state),
                                 "command matcher's states", &memory));
    m->pool = memory;
    KZ_TRY_DONE(status,
                kz_alloc(&own, MAX_TRACES, sizeof(slot_trace), "command matcher's slots", &memory));
    m->traces = memory;
    KZ_TRY_DONE(status, kz_alloc(&own, grammar->rule_count, sizeof(rule_start),
                                 "command matcher's rules", &memory));
    m->starts = memory;
    m->start.is_word_start = true;
    *out_matcher = m;
    return KAZEIA_OK;
done:
    kz_command_matcher_destroy(m);
    return status;
}

void kz_command_matcher_destroy(kz_command_matcher *matcher) {
    if (matcher != NULL) {
        const kazeia_allocator allocator = matcher->allocator;
        kz_free(&allocator, matcher->pool);
        kz_free(&allocator, matcher->traces);
        kz_free(&allocator, matcher->starts);
        kz_free(&allocator, matcher);
    }
}
