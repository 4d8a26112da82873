// measure.c: a language model's bare numbers.
//   in   ids or text
//   out  logits, perplexity, tokens a second
#include "llm/measure.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "generate/random.h"
#include "generate/sampler.h"

// Logits rows at a time: as many tokens as share one pass over the head's weights.
#define ROWS 16u

// --- Logits -------------------------------------------------------------------------------------

typedef struct logits_walk {
    kz_session *session;
    float *rows; // [ROWS][vocabulary]
    size_t first;
    kz_logits_sink sink;
    void *context;
} logits_walk;

// Hands over the logits of the last chunk, which stood at [position, position + count).
static kazeia_status hand_over_chunk(const logits_walk *walk, size_t position, uint32_t count) {
    const uint32_t vocabulary = kz_session_vocabulary(walk->session);
    // The session holds the hidden rows of its last call only: what is wanted of a chunk is read
    // before the next one runs.
    uint32_t row = position < walk->first ? (uint32_t)(walk->first - position) : 0;
    while (row < count) {
        const uint32_t rows = count - row < ROWS ? count - row : ROWS;
        KZ_TRY(kz_session_logits(walk->session, row, rows, walk->rows));
        for (uint32_t i = 0; i < rows; i++) {
            KZ_TRY(walk->sink(walk->context, position + row + i,
                              walk->rows + (size_t)i * vocabulary, vocabulary));
        }
        row += rows;
    }
    return KAZEIA_OK;
}

static kazeia_status walk_chunks(const logits_walk *walk, const int32_t *ids, size_t count) {
    // kz_session_chunk gives at least one token, so this ends.
    for (size_t done = 0; done < count;) {
        const uint32_t chunk = kz_session_chunk(walk->session, count - done);
        KZ_TRY(kz_session_extend(walk->session, 0, ids + done, chunk));
        KZ_TRY(hand_over_chunk(walk, done, chunk));
        done += chunk;
    }
    return KAZEIA_OK;
}

// Leaves the sequence empty in any case: whoever owns the session must not find measured tokens
// where it left its own.
static kazeia_status walk_ids(const logits_walk *walk, const int32_t *ids, size_t count) {
    kz_session_trim(walk->session, 0, 0);
    const kazeia_status status = walk_chunks(walk, ids, count);
    kz_session_trim(walk->session, 0, 0);
    return status;
}

static kazeia_status allocate_rows(const kz_session *session, const kazeia_allocator *memory,
                                   float **out_rows) {
    return kz_alloc(memory, (size_t)ROWS * kz_session_vocabulary(session), sizeof **out_rows,
                    "rows of logits", (void **)out_rows);
}

kazeia_status kz_measure_logits(kz_session *session, const int32_t *ids, size_t count, size_t first,
                                const kazeia_allocator *allocator, kz_logits_sink sink,
                                void *context) {
    if (count > kz_session_limit(session)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "logits: %zu ids given, the context holds %u", count,
                       kz_session_limit(session));
    }
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    logits_walk walk = {.session = session, .first = first, .sink = sink, .context = context};
    KZ_TRY(allocate_rows(session, &memory, &walk.rows));
    const kazeia_status status = walk_ids(&walk, ids, count);
    kz_free(&memory, walk.rows);
    return status;
}

// --- Perplexity ---------------------------------------------------------------------------------

typedef struct likelihood {
    const int32_t *ids; // of the present chunk
    size_t count;
    double negative_log;
    size_t tokens;
} likelihood;

static kazeia_status score_next(void *context, size_t position, const float *logits,
                                size_t vocabulary) {
    likelihood *score = context;
    // The logits of a position score the token after it.
    if (position + 1 >= score->count) {
        return KAZEIA_OK; // nothing follows in this chunk
    }
    score->negative_log -= kz_logits_log_probability(logits, vocabulary, score->ids[position + 1]);
    score->tokens++;
    return KAZEIA_OK;
}

// The tokenizer's vocabulary and the model's are two lengths in the file. An id beyond the logits
// would be read from outside the row.
static kazeia_status check_ids(const kz_session *session, const int32_t *ids, size_t count) {
    const uint32_t vocabulary = kz_session_vocabulary(session);
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= vocabulary) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "perplexity: the tokenizer gives id %d, the model has %u tokens", ids[i],
                           vocabulary);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status score_chunks(kz_session *session, int32_t *ids, size_t count,
                                  uint32_t chunk_tokens, uint32_t bos,
                                  const kazeia_allocator *memory, kz_perplexity *out_perplexity) {
    likelihood score = {.count = chunk_tokens};
    // The first half of a chunk is context for the second: without it the first tokens of each
    // would be guesses out of nothing. This is how llama.cpp counts, and numbers are only
    // comparable when counted alike.
    logits_walk walk = {
        .session = session, .first = chunk_tokens / 2, .sink = score_next, .context = &score};
    KZ_TRY(check_ids(session, ids, count));
    KZ_TRY(allocate_rows(session, memory, &walk.rows));
    kazeia_status status = KAZEIA_OK;
    for (size_t done = 0; count - done >= chunk_tokens && status == KAZEIA_OK;
         done += chunk_tokens) {
        score.ids = ids + done;
        // Put over the chunk's first token, not in front of it: the chunk keeps its length. That
        // token is never scored.
        if (bos != KZ_NO_TOKEN) {
            ids[done] = (int32_t)bos;
        }
        status = walk_ids(&walk, ids + done, chunk_tokens);
    }
    kz_free(memory, walk.rows);
    // At least one token was scored: a chunk has four or more, and the text one chunk or more. On
    // failure nobody reads this.
    *out_perplexity = (kz_perplexity){.value = exp(score.negative_log / (double)score.tokens),
                                      .tokens = score.tokens};
    return status;
}

// The whole text as ids; *out_bos is KZ_NO_TOKEN where the model does not begin with one.
static kazeia_status encode_text(const kz_bytes *section, const char *text, size_t bytes,
                                 const kazeia_allocator *memory, int32_t **out_ids,
                                 size_t *out_count, uint32_t *out_bos) {
    // 0 would mean the default length.
    const kz_tokenizer_options options = {.max_text_bytes = bytes + 1};
    kz_tokenizer *tokenizer = NULL;
    kz_tokenizer_view view;
    if (section->count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "perplexity: the program has no tokenizer: it takes token ids only");
    }
    KZ_TRY(kz_tokenizer_view_open(section, &view));
    *out_bos = (view.flags & KZ_TOKENIZER_ADD_BOS) ? view.bos : KZ_NO_TOKEN;
    KZ_TRY(kz_tokenizer_open(section, &options, memory, &tokenizer));
    const size_t capacity = kz_tokenizer_most_tokens(tokenizer, bytes);
    int32_t *ids = NULL;
    kazeia_status status = kz_alloc(memory, capacity, sizeof *ids, "text ids", (void **)&ids);
    if (status == KAZEIA_OK) {
        status = kz_tokenizer_encode(tokenizer, text, bytes, KZ_ENCODE_ADD_BOS_EOS,
                                     (uint32_t *)(void *)ids, capacity, out_count);
    }
    kz_tokenizer_close(tokenizer);
    if (status != KAZEIA_OK) {
        kz_free(memory, ids);
        return status;
    }
    *out_ids = ids;
    return KAZEIA_OK;
}

kazeia_status kz_measure_perplexity(kz_session *session, const kz_bytes *tokenizer_section,
                                    const char *text, size_t bytes, uint32_t chunk_tokens,
                                    const kazeia_allocator *allocator,
                                    kz_perplexity *out_perplexity) {
    if (chunk_tokens < 4 || chunk_tokens > kz_session_limit(session)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "perplexity: chunks of %u tokens asked for, expected 4 to %u, the program's "
                       "context",
                       chunk_tokens, kz_session_limit(session));
    }
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    int32_t *ids = NULL;
    size_t count = 0;
    uint32_t bos = KZ_NO_TOKEN;
    KZ_TRY(encode_text(tokenizer_section, text, bytes, &memory, &ids, &count, &bos));
    kazeia_status status =
        count < chunk_tokens
            ? kz_fail(KAZEIA_BAD_ARGUMENT,
                      "perplexity: the text has %zu tokens, one chunk needs %u: give a longer text "
                      "or a smaller --context",
                      count, chunk_tokens)
            : score_chunks(session, ids, count, chunk_tokens, bos, &memory, out_perplexity);
    kz_free(&memory, ids);
    return status;
}

// --- Speed --------------------------------------------------------------------------------------

static kazeia_status time_prefill(kz_session *session, const int32_t *ids, uint32_t count,
                                  double *out_rate) {
    if (count == 0) {
        return KAZEIA_OK;
    }
    float *logits = NULL;
    const uint64_t start_ns = kz_clock_now_ns();
    KZ_TRY(kz_session_extend(session, 0, ids, count));
    // The head belongs to a prefill's time: without the logits no token follows.
    KZ_TRY(kz_session_last_logits(session, &logits));
    *out_rate = count * 1e9 / (double)(kz_clock_now_ns() - start_ns + 1);
    return KAZEIA_OK;
}

static kazeia_status time_decode(kz_session *session, const int32_t *ids, uint32_t count,
                                 double *out_rate) {
    const uint64_t start_ns = kz_clock_now_ns();
    for (uint32_t i = 0; i < count; i++) {
        float *logits = NULL;
        KZ_TRY(kz_session_extend(session, 0, ids + i, 1));
        KZ_TRY(kz_session_last_logits(session, &logits));
    }
    if (count > 0) {
        *out_rate = count * 1e9 / (double)(kz_clock_now_ns() - start_ns + 1);
    }
    return KAZEIA_OK;
}

static kazeia_status time_both(kz_session *session, const int32_t *ids, uint32_t prefill,
                               uint32_t decode, uint32_t depth, kz_speed *out_speed) {
    kz_session_trim(session, 0, 0);
    if (depth > 0) {
        KZ_TRY(kz_session_extend(session, 0, ids, depth));
    }
    KZ_TRY(time_prefill(session, ids + depth, prefill, &out_speed->prefill_tokens_per_s));
    // Decoding begins at `depth` again, so that both rates are of the same past.
    kz_session_trim(session, 0, depth);
    return time_decode(session, ids + depth, decode, &out_speed->decode_tokens_per_s);
}

kazeia_status kz_measure_speed(kz_session *session, uint32_t prefill, uint32_t decode,
                               uint32_t depth, uint32_t id_limit, const kazeia_allocator *allocator,
                               kz_speed *out_speed) {
    // 64 bits: the sum of two options may pass 32.
    const uint64_t most = (uint64_t)depth + (prefill > decode ? prefill : decode);
    if (most > kz_session_limit(session) || id_limit == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "bench: %llu tokens asked for, the program's context holds %u",
                       (unsigned long long)most, kz_session_limit(session));
    }
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    int32_t *ids = NULL;
    KZ_TRY(kz_alloc(&memory, (size_t)most, sizeof *ids, "ids", (void **)&ids));
    kz_random random;
    // Fixed: a mixture of experts runs other weights for other ids, and two benches must compare.
    // Ids of zero only would favour a cache.
    kz_random_seed(&random, 1);
    for (size_t i = 0; i < most; i++) {
        ids[i] = (int32_t)(kz_random_next(&random) % id_limit);
    }
    *out_speed = (kz_speed){0};
    const kazeia_status status = time_both(session, ids, prefill, decode, depth, out_speed);
    kz_session_trim(session, 0, 0);
    kz_free(&memory, ids);
    return status;
}
