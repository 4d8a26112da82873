// loop.c: the token loop.
//   in   a session with a prompt, a sampler, rules
//   out  one token after another
#include "generate/loop.h"

#include <math.h>

kazeia_status kz_loop_start(kz_loop *loop, const int32_t *ids, size_t count) {
    loop->has_pending = false;
    loop->step = 0;
    return kz_session_extend(loop->session, loop->sequence, ids, count);
}

#define WORD_BITS 32u

static void forbid_word(uint32_t allowed, float *logits, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        logits[i] = (allowed >> i) & 1 ? logits[i] : -INFINITY;
    }
}

// In place and word by word: a grammar mostly forbids whole words of a large vocabulary, which is a
// store without a test for each of its tokens.
static void apply_mask(const uint32_t *allowed, float *logits, uint32_t vocabulary) {
    for (uint32_t first = 0; first < vocabulary; first += WORD_BITS) {
        const uint32_t word = allowed[first / WORD_BITS];
        const uint32_t left = vocabulary - first;
        if (word != UINT32_MAX) {
            forbid_word(word, logits + first, left < WORD_BITS ? left : WORD_BITS);
        }
    }
}

static kazeia_status choose(kz_loop *loop, int32_t *out_token) {
    float *logits = NULL;
    KZ_TRY(kz_session_last_logits(loop->session, &logits));
    const uint32_t vocabulary = kz_session_vocabulary(loop->session);
    if (loop->processor.process) {
        loop->processor.process(loop->processor.context, loop->step, logits, vocabulary);
    }
    // Last, so that no processor can raise a token that the grammar forbids.
    const uint32_t *allowed = loop->mask ? loop->mask->allowed(loop->mask->context) : NULL;
    if (allowed) {
        apply_mask(allowed, logits, vocabulary);
    }
    KZ_TRY(kz_sampler_pick(loop->sampler, logits, out_token));
    // The probability among what processor and mask left: what the choice was made of.
    if (loop->has_log_probability) {
        loop->log_probability = kz_logits_log_probability(logits, vocabulary, *out_token);
    }
    return KAZEIA_OK;
}

kazeia_status kz_loop_next(kz_loop *loop, int32_t *out_token, kz_stop_action *out_action) {
    if (loop->has_pending) {
        KZ_TRY(kz_session_extend(loop->session, loop->sequence, &loop->pending, 1));
        // Only once it is computed: after a cancelled call the token is still to come.
        loop->has_pending = false;
    }
    int32_t token = 0;
    KZ_TRY(choose(loop, &token));
    loop->step++;
    const kz_stop_action action =
        loop->stop.judge ? loop->stop.judge(loop->stop.context, token) : KZ_STOP_CONTINUE;
    // A token that ends the reply is not part of it: computing it would be of no use.
    if (action != KZ_STOP_END) {
        loop->pending = token;
        loop->has_pending = true;
        if (loop->mask) {
            loop->mask->advance(loop->mask->context, token);
        }
    }
    *out_token = token;
    *out_action = action;
    return KAZEIA_OK;
}
