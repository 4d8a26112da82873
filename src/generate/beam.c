// beam.c: a beam search over a trie, scored against a prior.
//
// in: a session and a trie. out: finished nodes with scores. Log-probabilities only fall, so the
// search ends by itself: what lies too far below the best sequence cannot win any more. Most of
// what is said is nothing of the trie, and shows it after a few tokens.
#include "generate/beam.h"

#include <math.h>
#include <string.h>

#include "generate/sampler.h"

enum { PROMPT_LIMIT = 128, PATH_TOKENS = 128 };

// One unfinished sequence. Its last token is not computed yet.
typedef struct hypothesis {
    uint32_t node;
    int32_t token;
    float log_probability, key;
    uint32_t slot; // its sequences are first + slot and first + width + slot
} hypothesis;

struct kz_beam {
    kazeia_allocator allocator;
    uint32_t width, vocabulary;
    float *logits;            // [2 * width][vocabulary]
    kz_token_child *children; // [vocabulary]
    hypothesis beams[KZ_BEAM_WIDTH_LIMIT];
    uint32_t beam_count;
    hypothesis next[KZ_BEAM_WIDTH_LIMIT]; // best first; `slot` is the parent's
    uint32_t next_count;
    kz_beam_found found[KZ_BEAM_FOUND_LIMIT]; // best first
    uint32_t found_count;
    // Of the present search.
    kz_session *session;
    const kz_beam_search *search;
    kz_beam_cost cost;
    int32_t path[KZ_BEAM_WIDTH_LIMIT][PATH_TOKENS]; // tokens of each slot's beam
    uint32_t depth;                                 // tokens of each path
};

// ---- numbers

// Log-probability of any of the terminators.
static float terminator_mass(const kz_beam *beam, const float *logits, float total) {
    double sum = 0;
    for (uint32_t i = 0; i < beam->search->terminator_count; i++) {
        sum += exp((double)(logits[beam->search->terminators[i]] - total));
    }
    return sum > 0 ? (float)log(sum) : -INFINITY;
}

static kz_beam_prior *prior_of(const kz_beam *beam, uint32_t node) {
    return beam->search->prior(beam->search->prior_context, node);
}

// ---- one step's results

static void keep_found(kz_beam *beam, const kz_beam_found *found) {
    uint32_t at = beam->found_count;
    while (at > 0 && beam->found[at - 1].score < found->score) {
        at--;
    }
    if (at == KZ_BEAM_FOUND_LIMIT) {
        return;
    }
    const uint32_t kept =
        beam->found_count < KZ_BEAM_FOUND_LIMIT ? beam->found_count : KZ_BEAM_FOUND_LIMIT - 1;
    memmove(&beam->found[at + 1], &beam->found[at], (kept - at) * sizeof *found);
    beam->found[at] = *found;
    beam->found_count = kept + 1;
}

static void keep_next(kz_beam *beam, const hypothesis *candidate) {
    uint32_t at = beam->next_count;
    while (at > 0 && beam->next[at - 1].key < candidate->key) {
        at--;
    }
    if (at == beam->width) {
        return;
    }
    const uint32_t kept = beam->next_count < beam->width ? beam->next_count : beam->width - 1;
    memmove(&beam->next[at + 1], &beam->next[at], (kept - at) * sizeof *candidate);
    beam->next[at] = *candidate;
    beam->next_count = kept + 1;
}

static void learn_prior(kz_beam *beam, uint32_t node, const float *logits, size_t child_count) {
    kz_beam_prior *prior = prior_of(beam, node);
    const float total = (float)kz_logits_log_sum(logits, beam->vocabulary);
    for (size_t i = 0; i < child_count; i++) {
        prior_of(beam, beam->children[i].node)->sum =
            prior->sum + logits[beam->children[i].token] - total;
    }
    prior->end = terminator_mass(beam, logits, total);
    prior->is_known = true;
}

static void finish(kz_beam *beam, const hypothesis *own, const float *logits, float total) {
    const kz_beam_prior *prior = prior_of(beam, own->node);
    kz_beam_found found = {.node = own->node, .log_probability = own->log_probability};
    found.end = terminator_mass(beam, logits, total);
    found.score =
        own->log_probability + found.end - beam->search->prior_weight * (prior->sum + prior->end);
    keep_found(beam, &found);
}

// `prior_logits` is NULL where the node's prior is known.
static void extend_one(kz_beam *beam, const hypothesis *own, const float *logits,
                       const float *prior_logits) {
    const kz_token_trie *trie = beam->search->trie;
    const size_t all = trie->children(trie->context, own->node, beam->children, beam->vocabulary);
    const size_t count = all < beam->vocabulary ? all : beam->vocabulary;
    const float total = (float)kz_logits_log_sum(logits, beam->vocabulary);
    if (prior_logits != NULL) {
        learn_prior(beam, own->node, prior_logits, count);
    }
    if (trie->is_end(trie->context, own->node)) {
        finish(beam, own, logits, total);
    }
    for (size_t i = 0; i < count; i++) {
        const kz_token_child *child = &beam->children[i];
        hypothesis candidate = {.node = child->node, .token = child->token, .slot = own->slot};
        candidate.log_probability = own->log_probability + logits[child->token] - total;
        candidate.key = candidate.log_probability -
                        beam->search->prior_weight * prior_of(beam, child->node)->sum;
        keep_next(beam, &candidate);
    }
}

// ---- sequences

static uint32_t beam_sequence(const kz_beam *beam, uint32_t slot) {
    return beam->search->first_sequence + slot;
}

static uint32_t prior_sequence(const kz_beam *beam, uint32_t slot) {
    return beam->search->first_sequence + beam->width + slot;
}

static void fork_slot(kz_beam *beam, uint32_t from, uint32_t to) {
    kz_cache_rows *rows = kz_session_rows(beam->session);
    kz_cache_rows_fork(rows, beam_sequence(beam, from), beam_sequence(beam, to), UINT32_MAX);
    kz_cache_rows_fork(rows, prior_sequence(beam, from), prior_sequence(beam, to), UINT32_MAX);
    memcpy(beam->path[to], beam->path[from], sizeof beam->path[to]);
}

// The first child of a beam goes on in its parent's sequences; others fork into those of beams that
// end here. There are never more children than slots.
static void place_next(kz_beam *beam) {
    bool is_taken[KZ_BEAM_WIDTH_LIMIT] = {false}, has_place[KZ_BEAM_WIDTH_LIMIT] = {false};
    for (uint32_t i = 0; i < beam->next_count; i++) {
        if (!is_taken[beam->next[i].slot]) {
            is_taken[beam->next[i].slot] = true;
            has_place[i] = true;
        }
    }
    for (uint32_t i = 0, free_slot = 0; i < beam->next_count; i++) {
        if (has_place[i]) {
            continue;
        }
        while (is_taken[free_slot]) {
            free_slot++;
        }
        is_taken[free_slot] = true;
        fork_slot(beam, beam->next[i].slot, free_slot);
        beam->next[i].slot = free_slot;
    }
    memcpy(beam->beams, beam->next, beam->next_count * sizeof *beam->next);
    beam->beam_count = beam->next_count;
    for (uint32_t i = 0; i < beam->beam_count; i++) {
        beam->path[beam->beams[i].slot][beam->depth] = beam->beams[i].token;
    }
    beam->depth++;
}

// How many of the first `limit` tokens, the prompt's included, the prior sequence of `other` holds
// and those of `slot` have in common. A prior sequence holds a beginning of its slot's path,
// whatever became of the beam.
static uint32_t count_shared(const kz_beam *beam, uint32_t slot, uint32_t other, uint32_t limit) {
    const uint32_t prompt = beam->search->prompt_count;
    const uint32_t held = kz_session_length(beam->session, prior_sequence(beam, other));
    const uint32_t end = held < limit ? held : limit;
    uint32_t shared = end < prompt ? end : prompt;
    while (shared < end &&
           beam->path[other][shared - prompt] == beam->path[slot][shared - prompt]) {
        shared++;
    }
    return shared;
}

// The prior sequence that already holds the most of what the slot's one needs becomes the slot's.
static uint32_t borrow_prior(kz_beam *beam, uint32_t slot, uint32_t wanted) {
    const uint32_t own = prior_sequence(beam, slot);
    uint32_t best = slot, most = kz_session_length(beam->session, own);
    for (uint32_t other = 0; other < beam->width; other++) {
        const uint32_t shared = count_shared(beam, slot, other, wanted);
        if (shared > most) {
            best = other;
            most = shared;
        }
    }
    if (best != slot) {
        kz_cache_rows_fork(kz_session_rows(beam->session), prior_sequence(beam, best), own, most);
    }
    return most;
}

// Where priors were known on the way, their sequence has not seen the tokens since: it is brought
// up to the token before the last.
static kazeia_status catch_up(kz_beam *beam, uint32_t slot) {
    const kz_beam_search *search = beam->search;
    const uint32_t wanted = search->prompt_count + beam->depth - 1;
    const uint32_t held = borrow_prior(beam, slot, wanted);
    int32_t ids[PROMPT_LIMIT + PATH_TOKENS];
    uint32_t count = 0;
    for (uint32_t i = held; i < wanted; i++) {
        ids[count++] = i < search->prompt_count ? search->prompt[i]
                                                : beam->path[slot][i - search->prompt_count];
    }
    beam->cost.prior_tokens += count;
    return count == 0 ? KAZEIA_OK
                      : kz_session_extend(beam->session, prior_sequence(beam, slot), ids, count);
}

// In one call of the step method, or in as many as its tokens ask for.
static kazeia_status compute_rows(kz_beam *beam, const uint32_t *sequences, const int32_t *ids,
                                  uint32_t count) {
    const uint32_t limit = kz_session_step_limit(beam->session);
    for (uint32_t done = 0, rows = 0; done < count; done += rows) {
        rows = count - done < limit ? count - done : limit;
        KZ_TRY(kz_session_step(beam->session, sequences + done, ids + done, rows));
        KZ_TRY(kz_session_logits(beam->session, 0, rows,
                                 beam->logits + (size_t)done * beam->vocabulary));
    }
    return KAZEIA_OK;
}

// Rows of the step: first the beams, then the priors that are not known, each in order.
static kazeia_status compute(kz_beam *beam, uint32_t *prior_rows) {
    uint32_t sequences[2 * KZ_BEAM_WIDTH_LIMIT], count = 0;
    int32_t ids[2 * KZ_BEAM_WIDTH_LIMIT];
    for (uint32_t i = 0; i < beam->beam_count; i++) {
        sequences[count] = beam_sequence(beam, beam->beams[i].slot);
        ids[count++] = beam->beams[i].token;
    }
    for (uint32_t i = 0; i < beam->beam_count; i++) {
        prior_rows[i] = UINT32_MAX;
        if (!prior_of(beam, beam->beams[i].node)->is_known) {
            KZ_TRY(catch_up(beam, beam->beams[i].slot));
            sequences[count] = prior_sequence(beam, beam->beams[i].slot);
            ids[count] = beam->beams[i].token;
            prior_rows[i] = count++;
        }
    }
    beam->cost.steps++;
    beam->cost.beam_tokens += beam->beam_count;
    beam->cost.prior_tokens += count - beam->beam_count;
    return compute_rows(beam, sequences, ids, count);
}

static const float *row(const kz_beam *beam, uint32_t index) {
    return beam->logits + (size_t)index * beam->vocabulary;
}

// The least key that may still win. A finished sequence that the sound does not end with keeps only
// those alive that may overtake it.
static float least_key(const kz_beam *beam) {
    const kz_beam_search *search = beam->search;
    const float best = beam->next[0].key, spread = best - search->spread;
    if (beam->found_count == 0 || beam->found[0].score < search->floor) {
        const float rising = search->floor + search->floor_rise * (float)beam->depth;
        return best < fminf(rising, search->floor_top) ? INFINITY : spread;
    }
    const bool is_end = beam->found[0].end >= search->end_floor;
    return fmaxf(spread, beam->found[0].score - (is_end ? search->margin : search->rise));
}

static void drop_hopeless(kz_beam *beam) {
    const float least = beam->next_count > 0 ? least_key(beam) : 0;
    while (beam->next_count > 0 && beam->next[beam->next_count - 1].key < least) {
        beam->next_count--;
    }
}

static kazeia_status step(kz_beam *beam) {
    uint32_t prior_rows[KZ_BEAM_WIDTH_LIMIT];
    KZ_TRY(compute(beam, prior_rows));
    beam->next_count = 0;
    for (uint32_t i = 0; i < beam->beam_count; i++) {
        extend_one(beam, &beam->beams[i], row(beam, i),
                   prior_rows[i] == UINT32_MAX ? NULL : row(beam, prior_rows[i]));
    }
    drop_hopeless(beam);
    place_next(beam);
    return KAZEIA_OK;
}

// All but the prompt's last token, which is the first step's.
static kazeia_status begin(kz_beam *beam) {
    const kz_beam_search *search = beam->search;
    const uint32_t before = search->prompt_count - 1;
    for (uint32_t slot = 0; slot < 2 * beam->width; slot++) {
        kz_session_trim(beam->session, search->first_sequence + slot, 0);
    }
    if (before > 0) {
        KZ_TRY(kz_session_extend(beam->session, beam_sequence(beam, 0), search->prompt, before));
    }
    beam->beams[0] = (hypothesis){.node = 0, .token = search->prompt[before]};
    beam->beam_count = 1;
    beam->depth = 0;
    beam->found_count = 0;
    beam->cost = (kz_beam_cost){.beam_tokens = before};
    return KAZEIA_OK;
}

kazeia_status kz_beam_run(kz_beam *beam, kz_session *session, const kz_beam_search *search,
                          const kz_beam_found **out_found, uint32_t *out_count,
                          kz_beam_cost *out_cost) {
    const uint32_t limit =
        search->token_limit < PATH_TOKENS - 1 ? search->token_limit : PATH_TOKENS - 1;
    if (search->prompt_count < 1 || search->prompt_count > PROMPT_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "beam: a prompt of %u tokens, expected 1 to %d",
                       search->prompt_count, PROMPT_LIMIT);
    }
    beam->session = session;
    beam->search = search;
    KZ_TRY(begin(beam));
    while (beam->beam_count > 0 && beam->depth <= limit) {
        KZ_TRY(step(beam));
    }
    *out_found = beam->found;
    *out_count = beam->found_count;
    *out_cost = beam->cost;
    return KAZEIA_OK;
}

kazeia_status kz_beam_create(uint32_t width, uint32_t vocabulary, const kazeia_allocator *allocator,
                             kz_beam **out_beam) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    if (width < 1 || width > KZ_BEAM_WIDTH_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "beam: %u beams asked for, expected 1 to %u", width,
                       KZ_BEAM_WIDTH_LIMIT);
    }
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_beam), "beam", &memory));
    kz_beam *beam = memory;
    beam->allocator = own;
    beam->width = width;
    beam->vocabulary = vocabulary;
    kazeia_status status = kz_alloc(&own, (size_t)2 * width * vocabulary, sizeof(float),
                                    "beam's logits", (void **)&beam->logits);
    if (status == KAZEIA_OK) {
        status = kz_alloc(&own, vocabulary, sizeof(kz_token_child), "beam's children",
                          (void **)&beam->children);
    }
    if (status != KAZEIA_OK) {
        kz_beam_destroy(beam);
        return status;
    }
    *out_beam = beam;
    return KAZEIA_OK;
}

void kz_beam_destroy(kz_beam *beam) {
    if (beam != NULL) {
        const kazeia_allocator allocator = beam->allocator;
        kz_free(&allocator, beam->logits);
        kz_free(&allocator, beam->children);
        kz_free(&allocator, beam);
    }
}
