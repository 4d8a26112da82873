// sampler.c: one token out of a row of logits.
//   in   logits [vocabulary]
//   out  a token id
// The best candidates come off a heap one by one, so that a vocabulary of 150,000 is never sorted
// whole: top-k and top-p look at what they keep and little more. Temperature alone keeps every
// token and needs no candidates: the draw walks over sums of whole blocks of the row.
#include "generate/sampler.h"

#include <math.h>

#include "base/half.h"

#define SUM_LANES 16   // sums side by side, whatever the vector width
#define SUM_BLOCK 1024 // added up in float, then in double

struct kz_sampler {
    kazeia_allocator allocator;
    kz_sampling sampling;
    kz_random random;
    uint32_t vocabulary;
    // [vocabulary]; sorting moves the best to the end: a heap in front, sorted ones behind.
    kz_candidate *candidates;
    size_t count; // candidates with a finite score
    size_t heap_count;
};

kazeia_status kz_sampling_check(const kz_sampling *sampling) {
    if (!(sampling->temperature >= 0.0f) || !isfinite(sampling->temperature)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "sampling: temperature is %g, expected 0 or more",
                       (double)sampling->temperature);
    }
    if (!(sampling->top_p > 0.0f && sampling->top_p <= 1.0f)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "sampling: top-p is %g, expected over 0 and up to 1",
                       (double)sampling->top_p);
    }
    if (!(sampling->min_p >= 0.0f && sampling->min_p <= 1.0f)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "sampling: min-p is %g, expected 0 to 1",
                       (double)sampling->min_p);
    }
    return KAZEIA_OK;
}

kazeia_status kz_sampler_create(const kz_sampling *sampling, uint32_t vocabulary,
                                const kazeia_allocator *allocator, kz_sampler **out_sampler) {
    KZ_TRY(kz_sampling_check(sampling));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_sampler *sampler = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *sampler, "sampler", (void **)&sampler));
    sampler->allocator = memory;
    sampler->sampling = *sampling;
    sampler->vocabulary = vocabulary;
    kz_sampler_reset(sampler);
    // Greedy choice keeps no candidates: 150,000 of them would be 2.4 MB for nothing.
    const size_t needed = sampling->temperature > 0.0f ? vocabulary : 0;
    const kazeia_status status = kz_alloc(&memory, needed, sizeof *sampler->candidates,
                                          "candidates", (void **)&sampler->candidates);
    if (status != KAZEIA_OK) {
        kz_sampler_destroy(sampler);
        return status;
    }
    *out_sampler = sampler;
    return KAZEIA_OK;
}

void kz_sampler_destroy(kz_sampler *sampler) {
    if (!sampler) {
        return;
    }
    const kazeia_allocator memory = sampler->allocator;
    kz_free(&memory, sampler->candidates);
    kz_free(&memory, sampler);
}

void kz_sampler_reset(kz_sampler *sampler) {
    kz_random_seed(&sampler->random, sampler->sampling.seed);
}

kz_random kz_sampler_random(const kz_sampler *sampler) {
    return sampler->random;
}

void kz_sampler_set_random(kz_sampler *sampler, kz_random random) {
    sampler->random = random;
}

int32_t kz_logits_best(const float *logits, size_t count) {
    int32_t best = -1;
    for (size_t i = 0; i < count; i++) {
        // False for NaN too. Strictly greater keeps the lowest id among equals.
        if (logits[i] > -INFINITY && (best < 0 || logits[i] > logits[best])) {
            best = (int32_t)i;
        }
    }
    return best;
}

// e^x for x <= 0 with a relative error below 2e-7, in operations that compilers turn into vectors:
// a row of a large vocabulary costs more than the token itself otherwise. NaN and x < -87 give 0.
static inline float exponential(float x) {
    const float clamped = x > -87.0f ? x : -87.0f;
    const float scaled = clamped * 1.44269504f; // log2 e
    // Truncation goes towards zero: for numbers <= 0 this rounds to the nearest.
    const int32_t whole = (int32_t)(scaled - 0.5f);
    const float part = scaled - (float)whole; // in [-0.5, 0.5]
    // Taylor's series of 2^part.
    float power = 1.54035304e-4f;
    power = power * part + 1.33335581e-3f;
    power = power * part + 9.61812911e-3f;
    power = power * part + 5.55041087e-2f;
    power = power * part + 2.40226507e-1f;
    power = power * part + 6.93147181e-1f;
    power = power * part + 1.0f;
    const float result = power * kz_float_from_bits((uint32_t)(whole + 127) << 23);
    return x > -87.0f ? result : 0.0f;
}

// Lanes are summed in one fixed order, whatever the vector width: the same logits give the same
// probability on every machine.
static float sum_exponentials(const float *logits, size_t count, float temperature, float largest) {
    float lanes[SUM_LANES] = {0.0f};
    size_t i = 0;
    for (; i + SUM_LANES <= count; i += SUM_LANES) {
        for (size_t lane = 0; lane < SUM_LANES; lane++) {
            lanes[lane] += exponential(logits[i + lane] / temperature - largest);
        }
    }
    float sum = 0.0f;
    for (; i < count; i++) {
        sum += exponential(logits[i] / temperature - largest);
    }
    for (size_t lane = 0; lane < SUM_LANES; lane++) {
        sum += lanes[lane];
    }
    return sum;
}

static size_t block_count(size_t count, size_t first) {
    return count - first < SUM_BLOCK ? count - first : SUM_BLOCK;
}

// Of e^(logit / temperature - largest), where `largest` is the largest logit / temperature.
static double sum_row(const float *logits, size_t count, float temperature, float largest) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i += SUM_BLOCK) {
        sum += (double)sum_exponentials(logits + i, block_count(count, i), temperature, largest);
    }
    return sum;
}

static size_t count_infinite(const float *logits, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += logits[i] == INFINITY;
    }
    return found;
}

double kz_logits_log_probability(const float *logits, size_t count, int32_t token) {
    const int32_t best = kz_logits_best(logits, count);
    if (best < 0 || !(logits[token] > -INFINITY)) {
        return -INFINITY;
    }
    // Infinite logits share all the probability: their differences are no numbers.
    if (logits[best] == INFINITY) {
        return logits[token] == INFINITY ? -log((double)count_infinite(logits, count)) : -INFINITY;
    }
    const double sum = sum_row(logits, count, 1.0f, logits[best]);
    return (double)logits[token] - (double)logits[best] - log(sum);
}

// Of the largest number, in lanes as the sums are; -infinity when none is a number.
static float largest_of(const float *logits, size_t count) {
    float lanes[SUM_LANES], largest = -INFINITY;
    size_t i = 0;
    for (size_t lane = 0; lane < SUM_LANES; lane++) {
        lanes[lane] = -INFINITY;
    }
    for (; i + SUM_LANES <= count; i += SUM_LANES) {
        for (size_t lane = 0; lane < SUM_LANES; lane++) {
            lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
        }
    }
    for (; i < count; i++) {
        largest = logits[i] > largest ? logits[i] : largest;
    }
    for (size_t lane = 0; lane < SUM_LANES; lane++) {
        largest = lanes[lane] > largest ? lanes[lane] : largest;
    }
    return largest;
}

double kz_logits_log_sum(const float *logits, size_t count) {
    const float largest = largest_of(logits, count);
    // Differences of infinite logits are no numbers.
    return largest - largest != 0 ? (double)largest
                                  : (double)largest + log(sum_row(logits, count, 1.0f, largest));
}

// --- Sorting ------------------------------------------------------------------------------------

// Equal scores are ordered by id, so the order in which a heap happens to hold them does not show.
static bool is_better(const kz_candidate *a, const kz_candidate *b) {
    return a->score > b->score || (a->score == b->score && a->token < b->token);
}

// The moved candidate is held aside and stored once, where it comes to rest.
static void sift_down(kz_candidate *heap, size_t place, size_t count) {
    const kz_candidate moved = heap[place];
    for (size_t child = 2 * place + 1; child < count; child = 2 * place + 1) {
        if (child + 1 < count && is_better(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_better(&heap[child], &moved)) {
            break;
        }
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = moved;
}

static void make_heap(kz_sampler *sampler) {
    sampler->heap_count = sampler->count;
    for (size_t i = sampler->count / 2; i-- > 0;) {
        sift_down(sampler->candidates, i, sampler->count);
    }
}

// Moves the best of the heap to the place in front of those taken before, and returns it.
static const kz_candidate *take_best(kz_sampler *sampler) {
    kz_candidate *heap = sampler->candidates;
    const kz_candidate best = heap[0];
    heap[0] = heap[--sampler->heap_count];
    heap[sampler->heap_count] = best;
    sift_down(heap, 0, sampler->heap_count);
    return &heap[sampler->heap_count];
}

// --- Filters ------------------------------------------------------------------------------------
// The candidates in play are [first, count); those behind the heap are sorted, the best one last.

static void read_logits(kz_sampler *sampler, const float *logits) {
    sampler->count = 0;
    for (uint32_t i = 0; i < sampler->vocabulary; i++) {
        const float score = logits[i] / sampler->sampling.temperature;
        // Not for NaN either: such a token cannot be drawn.
        if (score > -INFINITY) {
            sampler->candidates[sampler->count++] =
                (kz_candidate){.token = (int32_t)i, .score = score};
        }
    }
    sampler->heap_count = sampler->count;
}

// Until normalise, a candidate's probability is its weight: relative to the best one's, which is 1.
static void weigh(kz_sampler *sampler, size_t first, float best) {
    for (size_t i = first; i < sampler->count; i++) {
        kz_candidate *candidate = &sampler->candidates[i];
        // The difference of two infinities is no number, yet equal scores are equally likely.
        candidate->probability =
            candidate->score == best ? 1.0 : (double)exponential(candidate->score - best);
    }
}

static double sum_weights(const kz_sampler *sampler, size_t first) {
    double sum = 0.0;
    for (size_t i = first; i < sampler->count; i++) {
        sum += sampler->candidates[i].probability;
    }
    return sum;
}

static void normalise(kz_sampler *sampler, size_t first) {
    const double sum = sum_weights(sampler, first);
    for (size_t i = first; i < sampler->count; i++) {
        sampler->candidates[i].probability /= sum;
    }
}

static float best_score(const kz_sampler *sampler, size_t first) {
    float best = -INFINITY;
    for (size_t i = first; i < sampler->count; i++) {
        best = sampler->candidates[i].score > best ? sampler->candidates[i].score : best;
    }
    return best;
}

// Returns the first candidate in play: the k best, and all that equal the last of them.
static size_t keep_top_k(kz_sampler *sampler) {
    const uint32_t k = sampler->sampling.top_k;
    if (k == 0 || k >= sampler->count) {
        return 0;
    }
    make_heap(sampler);
    // The heap gives scores in falling order: after k of them the last one is the border.
    float border = INFINITY;
    for (uint32_t i = 0; i < k; i++) {
        border = take_best(sampler)->score;
    }
    while (sampler->heap_count > 0 && sampler->candidates[0].score == border) {
        take_best(sampler);
    }
    return sampler->heap_count;
}

// Keeps a candidate while those better than it hold less than top_p: at least one always stays.
static size_t keep_top_p(kz_sampler *sampler, size_t first) {
    if (sampler->sampling.top_p >= 1.0f) {
        return first;
    }
    const double limit = (double)sampler->sampling.top_p * sum_weights(sampler, first);
    double held = 0.0;
    // Top-k was off: candidates come off the heap until they hold enough. After top-k they are
    // sorted already, the best last.
    if (first == 0) { // not sorted yet
        make_heap(sampler);
        while (sampler->heap_count > 0 && held < limit) {
            held += take_best(sampler)->probability;
        }
        return sampler->heap_count;
    }
    size_t place = sampler->count;
    while (place > first && held < limit) {
        held += sampler->candidates[--place].probability;
    }
    return place;
}

// Moves those that are likely enough to the end.
static size_t keep_min_p(kz_sampler *sampler, size_t first) {
    // The best weight is 1.
    const double threshold = (double)sampler->sampling.min_p;
    if (threshold == 0.0) {
        return first;
    }
    size_t kept = sampler->count;
    // Downwards: what is swapped into place i was looked at before, and refused.
    for (size_t i = sampler->count; i-- > first;) {
        if (sampler->candidates[i].probability >= threshold) {
            const kz_candidate candidate = sampler->candidates[i];
            sampler->candidates[i] = sampler->candidates[--kept];
            sampler->candidates[kept] = candidate;
        }
    }
    return kept;
}

static kazeia_status fail_without_number(void) {
    return kz_fail(KAZEIA_BAD_FILE, "logits: none of them is a number: the program's weights or "
                                    "its states are damaged; verify the file");
}

kazeia_status kz_sampler_candidates(kz_sampler *sampler, const float *logits,
                                    const kz_candidate **out_candidates, size_t *out_count) {
    read_logits(sampler, logits);
    if (sampler->count == 0) {
        return fail_without_number();
    }
    // The best candidate passes every filter, so its score stays the reference of all three.
    const float best = best_score(sampler, 0);
    size_t first = keep_top_k(sampler);
    weigh(sampler, first, best);
    first = keep_top_p(sampler, first);
    first = keep_min_p(sampler, first);
    normalise(sampler, first);
    *out_candidates = sampler->candidates + first;
    *out_count = sampler->count - first;
    return KAZEIA_OK;
}

// --- Draws --------------------------------------------------------------------------------------

static bool has_filter(const kz_sampling *sampling) {
    return sampling->top_k > 0 || sampling->top_p < 1.0f || sampling->min_p > 0.0f;
}

// The last token with a weight takes what rounding leaves of the block's sum.
static int32_t draw_in_block(const float *logits, size_t count, float temperature, float largest,
                             double left) {
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        const double weight = (double)exponential(logits[i] / temperature - largest);
        if (weight > 0.0) {
            chosen = i;
            if (left < weight) {
                break;
            }
            left -= weight;
        }
    }
    return (int32_t)chosen;
}

// Among all tokens of the row. `largest`: the largest logit / temperature, finite.
static int32_t draw_from_row(kz_sampler *sampler, const float *logits, float largest) {
    const size_t count = sampler->vocabulary;
    const float temperature = sampler->sampling.temperature;
    double left = kz_random_unit(&sampler->random) * sum_row(logits, count, temperature, largest);
    size_t block = 0;
    double left_in_block = left;
    for (size_t i = 0; i < count; i += SUM_BLOCK) {
        const double sum =
            (double)sum_exponentials(logits + i, block_count(count, i), temperature, largest);
        if (sum > 0.0) {
            block = i;
            left_in_block = left;
            if (left < sum) {
                break;
            }
            left -= sum;
        }
    }
    return (int32_t)block + draw_in_block(logits + block, block_count(count, block), temperature,
                                          largest, left_in_block);
}

static kazeia_status draw_from_candidates(kz_sampler *sampler, const float *logits,
                                          int32_t *out_token) {
    const kz_candidate *candidates = NULL;
    size_t count = 0;
    KZ_TRY(kz_sampler_candidates(sampler, logits, &candidates, &count));
    // The last candidate takes what rounding leaves of the probabilities' sum.
    double left = kz_random_unit(&sampler->random);
    size_t chosen = 0;
    while (chosen + 1 < count && left >= candidates[chosen].probability) {
        left -= candidates[chosen++].probability;
    }
    *out_token = candidates[chosen].token;
    return KAZEIA_OK;
}

kazeia_status kz_sampler_pick(kz_sampler *sampler, const float *logits, int32_t *out_token) {
    const int32_t best = kz_logits_best(logits, sampler->vocabulary);
    if (best < 0) {
        return fail_without_number();
    }
    if (sampler->sampling.temperature == 0.0f) {
        *out_token = best;
        return KAZEIA_OK;
    }
    // Small temperatures make scores infinite; candidates know what these share.
    const float largest = logits[best] / sampler->sampling.temperature;
    if (has_filter(&sampler->sampling) || !isfinite(largest)) {
        return draw_from_candidates(sampler, logits, out_token);
    }
    *out_token = draw_from_row(sampler, logits, largest);
    return KAZEIA_OK;
}
