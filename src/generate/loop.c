// loop.c: the token loop.
//   in   a session with a prompt, a sampler, rules
//   out  one token after another
// A draft is confirmed lazily, a token a turn: sampler, penalties, mask and stop rule cannot tell
// whether there is one.
#include "generate/loop.h"

#include <math.h>
#include <string.h>

#include "generate/lookup.h"

#define WORD_BITS 32u
#define FIRST_DRAFT 4u
#define SHORTEST_DRAFT 2u
#define FIRST_MATCH 3u // two tokens agree by chance too often
#define LONGEST_MATCH 8u

kazeia_status kz_loop_start(kz_loop *loop, const int32_t *ids, size_t count) {
    loop->has_pending = false;
    loop->step = 0;
    kz_draft *draft = &loop->draft;
    draft->rows = 0;
    draft->length = FIRST_DRAFT;
    draft->least_match = FIRST_MATCH;
    draft->drafted = 0;
    draft->confirmed = 0;
    return kz_session_extend(loop->session, loop->sequence, ids, count);
}

// --- Choice -------------------------------------------------------------------------------------

static void forbid_all(float *logits, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        logits[i] = -INFINITY;
    }
}

// Goes from one forbidden token to the next: inside a text nearly all are allowed.
static void forbid_word(uint32_t allowed, float *logits, uint32_t count) {
    uint32_t forbidden = count < WORD_BITS ? ~allowed & ((1u << count) - 1) : ~allowed;
    for (; forbidden != 0; forbidden &= forbidden - 1) {
        logits[__builtin_ctz(forbidden)] = -INFINITY;
    }
}

// In place and word by word: a grammar mostly forbids whole words of a large vocabulary, which is a
// store without a test for each of its tokens.
static void apply_mask(const uint32_t *allowed, float *logits, uint32_t vocabulary) {
    for (uint32_t first = 0; first < vocabulary; first += WORD_BITS) {
        const uint32_t word = allowed[first / WORD_BITS];
        const uint32_t left = vocabulary - first;
        const uint32_t count = left < WORD_BITS ? left : WORD_BITS;
        if (word == 0) {
            forbid_all(logits + first, count);
        } else if (word != UINT32_MAX) {
            forbid_word(word, logits + first, count);
        }
    }
}

static void shape_logits(kz_loop *loop, float *logits, uint32_t vocabulary) {
    if (loop->penalties && loop->ids) {
        kz_penalties_apply(loop->penalties, loop->ids, loop->id_count, loop->counts, logits,
                           vocabulary);
    }
    if (loop->processor.process) {
        loop->processor.process(loop->processor.context, loop->step, logits, vocabulary);
    }
    // Last, so that no processor can raise a token that the grammar forbids.
    const uint32_t *allowed = loop->mask ? loop->mask->allowed(loop->mask->context) : NULL;
    if (allowed) {
        apply_mask(allowed, logits, vocabulary);
    }
}

static kazeia_status choose(kz_loop *loop, int32_t *out_token) {
    const uint32_t vocabulary = kz_session_vocabulary(loop->session);
    float *logits = NULL;
    if (loop->draft.rows > 0) {
        logits = loop->draft.logits + (size_t)loop->draft.row * vocabulary;
    } else {
        KZ_TRY(kz_session_last_logits(loop->session, &logits));
    }
    shape_logits(loop, logits, vocabulary);
    KZ_TRY(kz_sampler_pick(loop->sampler, logits, out_token));
    // The probability among what processor and mask left: what the choice was made of.
    if (loop->has_log_probability) {
        loop->log_probability = kz_logits_log_probability(logits, vocabulary, *out_token);
    }
    return KAZEIA_OK;
}

// --- Drafts -------------------------------------------------------------------------------------

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t write_draft(kz_loop *loop) {
    kz_draft *draft = &loop->draft;
    const uint32_t length = kz_session_length(loop->session, loop->sequence);
    // The pending token takes a place of its own in the context and in the call.
    const uint32_t context_room = kz_session_limit(loop->session) - length;
    const uint32_t call_room = kz_session_step_limit(loop->session);
    // Other sequences may hold most rows: a guess must not fail where a token would fit.
    const uint32_t rows = kz_cache_rows_free(kz_session_rows(loop->session));
    const uint32_t room = least(least(context_room, call_room), rows);
    const uint32_t wanted = least(least(draft->limit, draft->length), draft->room);
    if (!loop->ids || wanted == 0 || room < 2) {
        return 0;
    }
    const uint32_t capacity = least(wanted, room - 1);
    return (uint32_t)kz_lookup_draft(loop->ids, loop->id_count, draft->least_match, draft->tokens,
                                     capacity);
}

// All logits at once: the head's weights are read once for the whole draft.
static kazeia_status compute_draft(kz_loop *loop, uint32_t count) {
    kz_draft *draft = &loop->draft;
    const uint32_t length = kz_session_length(loop->session, loop->sequence);
    int32_t ids[KZ_DRAFT_LIMIT + 1] = {loop->pending};
    memcpy(ids + 1, draft->tokens, count * sizeof *ids);
    KZ_TRY(kz_session_extend_at_once(loop->session, loop->sequence, ids, count + 1));
    const kazeia_status status = kz_session_logits(loop->session, 0, count + 1, draft->logits);
    // Guesses without logits could not be told from tokens of the text.
    if (status != KAZEIA_OK) {
        kz_session_trim(loop->session, loop->sequence, length);
        return status;
    }
    draft->rows = count + 1;
    draft->row = 0;
    draft->drafted += count;
    return KAZEIA_OK;
}

static kazeia_status compute_pending(kz_loop *loop) {
    if (!loop->has_pending) {
        return KAZEIA_OK;
    }
    const bool has_room =
        kz_session_length(loop->session, loop->sequence) < kz_session_limit(loop->session);
    const uint32_t count = loop->draft.limit && has_room ? write_draft(loop) : 0;
    KZ_TRY(count ? compute_draft(loop, count)
                 : kz_session_extend(loop->session, loop->sequence, &loop->pending, 1));
    // Only once it is computed: after a cancelled call the token is still to come.
    loop->has_pending = false;
    return KAZEIA_OK;
}

uint32_t kz_loop_length(const kz_loop *loop) {
    const kz_draft *draft = &loop->draft;
    const uint32_t guesses = draft->rows ? draft->rows - 1 - draft->row : 0;
    return kz_session_length(loop->session, loop->sequence) - guesses;
}

static void forget_draft(kz_loop *loop) {
    kz_session_trim(loop->session, loop->sequence, kz_loop_length(loop));
    loop->draft.rows = 0;
}

// Long drafts where the text repeats itself; where a guess failed at once, only a longer match will
// do, so that a text without repeats is not slowed down by chance ones.
static void adapt_draft(kz_draft *draft) {
    if (draft->row + 1 == draft->rows) {
        draft->length = least(2 * draft->length, draft->limit);
        draft->least_match = FIRST_MATCH;
    } else if (draft->row == 0) {
        draft->length = draft->length / 2 > SHORTEST_DRAFT ? draft->length / 2 : SHORTEST_DRAFT;
        draft->least_match = least(draft->least_match + 1, LONGEST_MATCH);
    }
}

// Whether the chosen token is the guessed one, and so computed already.
static bool is_confirmed(kz_loop *loop, int32_t token) {
    kz_draft *draft = &loop->draft;
    if (draft->row + 1 < draft->rows && draft->tokens[draft->row] == token) {
        draft->row++;
        draft->confirmed++;
        return true;
    }
    if (draft->rows) {
        adapt_draft(draft);
        forget_draft(loop);
    }
    return false;
}

// --- The loop -----------------------------------------------------------------------------------

static void keep(kz_loop *loop, int32_t token) {
    if (!is_confirmed(loop, token)) {
        loop->pending = token;
        loop->has_pending = true;
    }
    if (loop->ids && loop->id_count <= kz_session_limit(loop->session)) {
        loop->ids[loop->id_count++] = token;
    }
    if (loop->mask) {
        loop->mask->advance(loop->mask->context, token);
    }
}

kazeia_status kz_loop_next(kz_loop *loop, int32_t *out_token, kz_stop_action *out_action) {
    KZ_TRY(compute_pending(loop));
    int32_t token = 0;
    KZ_TRY(choose(loop, &token));
    loop->step++;
    const kz_stop_action action =
        loop->stop.judge ? loop->stop.judge(loop->stop.context, token) : KZ_STOP_CONTINUE;
    // A token that ends the reply is not part of it: computing it would be of no use.
    if (action != KZ_STOP_END) {
        keep(loop, token);
    }
    *out_token = token;
    *out_action = action;
    return KAZEIA_OK;
}

void kz_loop_leave(kz_loop *loop) {
    forget_draft(loop);
    loop->id_count -= loop->ids && loop->has_pending ? 1 : 0;
    loop->has_pending = false;
}
