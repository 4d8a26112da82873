// priors.h: what a decoder expects of sentences before it hears anything, kept between searches and
// in a file.
//
// in:  log-probabilities of token sequences, each under a number made from its tokens
// out: the same again; a file of them, with what else was measured with the same program
//
// The numbers belong to one program: its content id stands in the file, and another program is
// refused. They do not depend on the grammar, so that one may be changed and its file stays.
#ifndef KZ_LISTEN_PRIORS_H
#define KZ_LISTEN_PRIORS_H

#include "base/alloc.h"
#include "generate/beam.h"

#define KZ_PRIORS_LIMIT (1u << 18) // sequences that are kept; later ones are not
#define KZ_TUNED_VALUES 16u        // the most values that a file holds beside them

typedef struct kz_priors kz_priors;

// All memory is taken here: 8 MB, of which only what is used is touched. OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_priors_create(const kazeia_allocator *allocator,
                                                 kz_priors **out_priors);
// NULL is fine.
void kz_priors_destroy(kz_priors *priors);

// The number of a sequence, never 0, made from that of the sequence before its last token. Two
// sequences with one number are not told apart: with 2^18 of them once in 500 million times.
uint64_t kz_prior_key(uint64_t before, int32_t token);

// False: not known; *out_prior is then one without a sum (NaN).
bool kz_priors_find(const kz_priors *priors, uint64_t key, kz_beam_prior *out_prior);
// Keeps a sequence's sum, and its end when that is known.
void kz_priors_keep(kz_priors *priors, uint64_t key, const kz_beam_prior *prior);
uint32_t kz_priors_count(const kz_priors *priors);

// Values that go with the priors: thresholds, say. They are the caller's.
typedef struct kz_tuned_values {
    float values[KZ_TUNED_VALUES];
    uint32_t count;
} kz_tuned_values;

// Writes the file atomically: the old one stays whole or the new one is. IO, OUT_OF_MEMORY.
KAZEIA_MUST_CHECK kazeia_status kz_priors_save(const kz_priors *priors, const char *path,
                                               uint64_t program_id, const kz_tuned_values *values,
                                               const kazeia_allocator *allocator);
// Adds what a file holds. UNSUPPORTED for the file of another program, BAD_FILE for a damaged one
// or one with another number of values than `value_count`; nothing is added then.
KAZEIA_MUST_CHECK kazeia_status kz_priors_load(kz_priors *priors, const char *path,
                                               uint64_t program_id, uint32_t value_count,
                                               kz_tuned_values *out_values);

// The same of a file in memory; `name` stands for it in sentences.
KAZEIA_MUST_CHECK kazeia_status kz_priors_read(kz_priors *priors, const void *bytes, size_t count,
                                               const char *name, uint64_t program_id,
                                               uint32_t value_count, kz_tuned_values *out_values);

#endif
