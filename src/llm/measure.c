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

// How far one session has come.
typedef struct walking_session {
    kz_session *session; // NULL: nobody walks
    float *rows;         // [ROWS][vocabulary]
    size_t begin, end;   // the positions of its last call, whose hidden rows it holds
} walking_session;

typedef struct logits_walk {
    walking_session one, other;
    const kz_measurement *measurement;
    // Of the whole measurement: where these ids begin in it, and how many there are.
    size_t offset, count;
    size_t first;  // of these ids whose logits are wanted
    size_t scored; // the first of these ids that is scored
} logits_walk;

// Runs on until the session holds the hidden row of `position`. It is the next one to come: what a
// session held of its last call has been handed over.
static kazeia_status reach(walking_session *walker, const int32_t *ids, size_t count,
                           size_t position) {
    if (walker->session == NULL || position < walker->end) {
        return KAZEIA_OK;
    }
    // At least one token, so that walking ends.
    const uint32_t chunk = kz_session_chunk(walker->session, count - position);
    KZ_TRY(kz_session_extend(walker->session, 0, ids + position, chunk));
    walker->begin = position;
    walker->end = position + chunk;
    return KAZEIA_OK;
}

static kazeia_status fetch_rows(const walking_session *walker, size_t position, size_t rows) {
    return walker->session == NULL
               ? KAZEIA_OK
               : kz_session_logits(walker->session, (uint32_t)(position - walker->begin),
                                   (uint32_t)rows, walker->rows);
}

static kazeia_status hand_over(const logits_walk *walk, const int32_t *ids, size_t count,
                               size_t position, size_t rows) {
    const kz_measurement *measurement = walk->measurement;
    const size_t vocabulary = kz_session_vocabulary(walk->one.session);
    KZ_TRY(fetch_rows(&walk->one, position, rows));
    KZ_TRY(fetch_rows(&walk->other, position, rows));
    for (size_t i = 0; i < rows; i++, position++) {
        const bool has_next = position + 1 < count;
        const kz_logits_row row = {
            .position = walk->offset + position,
            .count = walk->count,
            .next = has_next ? ids[position + 1] : -1,
            .is_scored = has_next && position >= walk->scored,
            .logits = walk->one.rows + i * vocabulary,
            .others = walk->other.session ? walk->other.rows + i * vocabulary : NULL,
            .vocabulary = vocabulary,
        };
        KZ_TRY(measurement->sink(measurement->context, &row));
    }
    return KAZEIA_OK;
}

static kazeia_status walk_on(logits_walk *walk, const int32_t *ids, size_t count) {
    for (size_t position = 0; position < count;) {
        KZ_TRY(reach(&walk->one, ids, count, position));
        KZ_TRY(reach(&walk->other, ids, count, position));
        size_t end = walk->one.end;
        if (walk->other.session && walk->other.end < end) {
            end = walk->other.end;
        }
        if (position < walk->first) {
            position = end < walk->first ? end : walk->first;
            continue;
        }
        const size_t rows = end - position < ROWS ? end - position : ROWS;
        KZ_TRY(hand_over(walk, ids, count, position, rows));
        position += rows;
    }
    return KAZEIA_OK;
}

static void restart(walking_session *walker) {
    walker->begin = walker->end = 0;
    if (walker->session) {
        kz_session_trim(walker->session, 0, 0);
    }
}

// Leaves the sequences empty in any case: whoever owns a session must not find measured tokens
// where it left its own.
static kazeia_status walk_ids(logits_walk *walk, const int32_t *ids, size_t count) {
    restart(&walk->one);
    restart(&walk->other);
    const kazeia_status status = walk_on(walk, ids, count);
    restart(&walk->one);
    restart(&walk->other);
    return status;
}

static kazeia_status open_walker(kz_session *session, const kazeia_allocator *memory,
                                 walking_session *out_walker) {
    *out_walker = (walking_session){.session = session};
    return session
               ? kz_alloc(memory, (size_t)ROWS * kz_session_vocabulary(session),
                          sizeof *out_walker->rows, "rows of logits", (void **)&out_walker->rows)
               : KAZEIA_OK;
}

static void close_walk(logits_walk *walk, const kazeia_allocator *memory) {
    kz_free(memory, walk->one.rows);
    kz_free(memory, walk->other.rows);
}

static kazeia_status open_walk(const kz_measurement *measurement, const kazeia_allocator *memory,
                               logits_walk *out_walk) {
    const kz_session *one = measurement->session, *other = measurement->other;
    *out_walk = (logits_walk){.measurement = measurement};
    if (other && kz_session_vocabulary(other) != kz_session_vocabulary(one)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "logits: the other model has %u tokens, the first %u: they do not compare",
                       kz_session_vocabulary(other), kz_session_vocabulary(one));
    }
    kazeia_status status = open_walker(measurement->session, memory, &out_walk->one);
    if (status == KAZEIA_OK) {
        status = open_walker(measurement->other, memory, &out_walk->other);
    }
    if (status != KAZEIA_OK) {
        close_walk(out_walk, memory);
    }
    return status;
}

// What both contexts hold.
static uint32_t shared_limit(const kz_measurement *measurement) {
    const uint32_t one = kz_session_limit(measurement->session);
    const uint32_t other = measurement->other ? kz_session_limit(measurement->other) : one;
    return one < other ? one : other;
}

kazeia_status kz_measure_ids(const kz_measurement *measurement, const int32_t *ids, size_t count,
                             size_t first) {
    if (count > shared_limit(measurement)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "logits: %zu ids given, the context holds %u", count,
                       shared_limit(measurement));
    }
    const kazeia_allocator memory = kz_allocator_or_default(measurement->allocator);
    logits_walk walk;
    KZ_TRY(open_walk(measurement, &memory, &walk));
    walk.count = count;
    walk.first = first;
    const kazeia_status status = walk_ids(&walk, ids, count);
    close_walk(&walk, &memory);
    return status;
}

// --- Texts
// ----------------------------------------------------------------------------------------

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

// A text as ids, and how it is cut.
typedef struct cut_text {
    int32_t *ids;
    size_t count;
    uint32_t bos; // KZ_NO_TOKEN where the model does not begin with one
    uint32_t chunk_tokens;
} cut_text;

static kazeia_status walk_chunks(logits_walk *walk, const cut_text *text) {
    const uint32_t tokens = text->chunk_tokens;
    walk->count = text->count / tokens * tokens;
    // The first half of a chunk is context for the second: without it the first tokens of each
    // would be guesses out of nothing. This is how llama.cpp counts, and numbers are only
    // comparable when counted alike.
    walk->scored = tokens / 2;
    for (; walk->offset < walk->count; walk->offset += tokens) {
        int32_t *ids = text->ids + walk->offset;
        // Put over the chunk's first token, not in front of it: the chunk keeps its length. That
        // token is never scored.
        if (text->bos != KZ_NO_TOKEN) {
            ids[0] = (int32_t)text->bos;
        }
        KZ_TRY(walk_ids(walk, ids, tokens));
    }
    return KAZEIA_OK;
}

// The whole text as ids. What was allocated is *out_text's also after a failure.
static kazeia_status encode_text(const kz_bytes *section, const char *text, size_t bytes,
                                 const kazeia_allocator *memory, cut_text *out_text) {
    // 0 would mean the default length.
    const kz_tokenizer_options options = {.max_text_bytes = bytes + 1};
    kz_tokenizer *tokenizer = NULL;
    kz_tokenizer_view view;
    if (section->count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "perplexity: the program has no tokenizer: it takes token ids only");
    }
    KZ_TRY(kz_tokenizer_view_open(section, &view));
    out_text->bos = (view.flags & KZ_TOKENIZER_ADD_BOS) ? view.bos : KZ_NO_TOKEN;
    KZ_TRY(kz_tokenizer_open(section, &options, memory, &tokenizer));
    const size_t capacity = kz_tokenizer_most_tokens(tokenizer, bytes);
    kazeia_status status =
        kz_alloc(memory, capacity, sizeof *out_text->ids, "text ids", (void **)&out_text->ids);
    if (status == KAZEIA_OK) {
        status = kz_tokenizer_encode(tokenizer, text, bytes, KZ_ENCODE_ADD_BOS_EOS,
                                     (uint32_t *)(void *)out_text->ids, capacity, &out_text->count);
    }
    kz_tokenizer_close(tokenizer);
    return status;
}

static kazeia_status measure_chunks(const kz_measurement *measurement, const cut_text *text,
                                    size_t first, const kazeia_allocator *memory) {
    logits_walk walk;
    if (text->count < text->chunk_tokens) {
        return kz_fail(
            KAZEIA_BAD_ARGUMENT,
            "perplexity: the text has %zu tokens, one chunk needs %u: give a longer text "
            "or a smaller --context",
            text->count, text->chunk_tokens);
    }
    KZ_TRY(check_ids(measurement->session, text->ids, text->count));
    KZ_TRY(open_walk(measurement, memory, &walk));
    walk.first = first;
    const kazeia_status status = walk_chunks(&walk, text);
    close_walk(&walk, memory);
    return status;
}

// Logits of the positions `first` and after of each chunk.
static kazeia_status measure_text_from(const kz_measurement *measurement,
                                       const kz_bytes *tokenizer_section, const char *text,
                                       size_t bytes, uint32_t chunk_tokens, size_t first) {
    cut_text cut = {.chunk_tokens = chunk_tokens};
    if (chunk_tokens < 4 || chunk_tokens > shared_limit(measurement)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "perplexity: chunks of %u tokens asked for, expected 4 to %u, the program's "
                       "context",
                       chunk_tokens, shared_limit(measurement));
    }
    const kazeia_allocator memory = kz_allocator_or_default(measurement->allocator);
    kazeia_status status = encode_text(tokenizer_section, text, bytes, &memory, &cut);
    if (status == KAZEIA_OK) {
        status = measure_chunks(measurement, &cut, first, &memory);
    }
    kz_free(&memory, cut.ids);
    return status;
}

kazeia_status kz_measure_text(const kz_measurement *measurement, const kz_bytes *tokenizer_section,
                              const char *text, size_t bytes, uint32_t chunk_tokens) {
    return measure_text_from(measurement, tokenizer_section, text, bytes, chunk_tokens, 0);
}

// --- Perplexity ---------------------------------------------------------------------------------

typedef struct likelihood {
    double negative_log;
    size_t tokens;
} likelihood;

static kazeia_status score_next(void *context, const kz_logits_row *row) {
    likelihood *score = context;
    if (row->is_scored) {
        score->negative_log -= kz_logits_log_probability(row->logits, row->vocabulary, row->next);
        score->tokens++;
    }
    return KAZEIA_OK;
}

kazeia_status kz_measure_perplexity(kz_session *session, const kz_bytes *tokenizer_section,
                                    const char *text, size_t bytes, uint32_t chunk_tokens,
                                    const kazeia_allocator *allocator,
                                    kz_perplexity *out_perplexity) {
    likelihood score = {0};
    const kz_measurement measurement = {
        .session = session, .allocator = allocator, .sink = score_next, .context = &score};
    // Where nothing is scored no logits are needed, and the head is a large part of the work.
    KZ_TRY(measure_text_from(&measurement, tokenizer_section, text, bytes, chunk_tokens,
                             chunk_tokens / 2));
    // At least one token was scored: a chunk has four or more, and the text one chunk or more.
    *out_perplexity = (kz_perplexity){.value = exp(score.negative_log / (double)score.tokens),
                                      .tokens = score.tokens};
    return KAZEIA_OK;
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
