// hear.h: commands in the window that was heard last, scored by the recogniser itself.
//
// in:  a listening stage after it gave a window; a command grammar
// out: the commands that fit the sound best, each with its score
//
// What the free transcript loses ("éteins" written as "étant") is found here: of all sentences of
// the grammar that one is looked for which the decoder gives the highest probability when it hears
// the window, less 0.3 of what it gives when it hears nothing (generate/beam.h). Hearing nothing is
// the encoder's output set to zero: keys of zero, values of the projection's bias.
#ifndef KZ_LISTEN_HEAR_H
#define KZ_LISTEN_HEAR_H

#include "listen/command_trie.h"
#include "listen/whisper.h"
#include "text/command_grammar.h"

typedef struct kz_hearing kz_hearing;

// Stage and grammar must outlive it; one thread, the stage's. UNSUPPORTED when the program has no
// vocabulary, not the grammar's language, or states that are not floats.
KAZEIA_MUST_CHECK kazeia_status kz_hearing_create(kz_whisper *whisper,
                                                  const kz_command_grammar *grammar,
                                                  const kazeia_allocator *allocator,
                                                  kz_hearing **out_hearing);
// NULL is fine.
void kz_hearing_destroy(kz_hearing *hearing);

// What one search cost.
typedef struct kz_hearing_cost {
    uint32_t steps, beam_tokens, prior_tokens, nodes; // nodes: of the trie, so far
    double seconds;
} kz_hearing_cost;

#define KZ_HEARING_LIMIT 8u

// Scores the window that the stage gave last: distinct commands, best first, each by its best
// sentence. Texts are the hearing's until its next call. Nothing is allocated. CANCELLED with the
// stage.
KAZEIA_MUST_CHECK kazeia_status kz_hearing_run(kz_hearing *hearing,
                                               kz_command_hypothesis out[KZ_HEARING_LIMIT],
                                               uint32_t *out_count, kz_hearing_cost *out_cost);

// What was learnt of the program's priors, and values of the caller's, as a file (listen/priors.h).
KAZEIA_MUST_CHECK kazeia_status kz_hearing_load(kz_hearing *hearing, const char *path,
                                                uint32_t value_count, kz_tuned_values *out_values);
KAZEIA_MUST_CHECK kazeia_status kz_hearing_save(kz_hearing *hearing, const char *path,
                                                const kz_tuned_values *values);

#endif
