// hear.c: a beam over a grammar's sentences, in the session of the stage that heard.
//
// in: the encoder's states of a window. out: hypotheses. The window that holds nothing lies in the
// last of the 1500 cache rows, which after a sound shorter than 30 s is padding: commands are
// scored without it, and the next window's encoding writes it anew.
#include "listen/hear.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/half.h"
#include "listen/whisper_state.h"

enum { TERMINATORS = 8, HYPOTHESIS_BYTES = 512, KEY_BYTES = 1024 };

#define PRIOR_WEIGHT 0.3f
// Of 27 commands, clean and in five noises, the right sentence was never more than 5.4 below the
// best of its step, and the best of a step never below these floors when the command was then
// understood (docs/commands.md). Four beams
// more than the study's eight keep them in a home of ten times as many names.
#define PRUNE_MARGIN 7.0f
#define PRUNE_RISE 2.0f
#define PRUNE_END (-2.0f)
#define PRUNE_SPREAD 6.0f
#define PRUNE_FLOOR (-6.0f)
#define PRUNE_FLOOR_RISE 0.75f
#define PRUNE_FLOOR_TOP (-2.25f)
#define COMMAND_TOKENS 48

struct kz_hearing {
    kazeia_allocator allocator;
    kz_whisper *whisper;
    const kz_command_grammar *grammar;
    kz_command_automaton *automaton;
    kz_command_matcher *matcher;
    kz_tokenizer *tokenizer;
    kz_priors *priors;
    kz_command_trie *trie;
    kz_beam *beam;
    int64_t terminators[TERMINATORS];
    uint32_t terminator_count;
    int32_t prompt[PROMPT_TOKENS];
    char texts[KZ_HEARING_LIMIT][HYPOTHESIS_BYTES];
    char keys[KZ_HEARING_LIMIT][KEY_BYTES];
};

// ---- the window that holds nothing

static const kz_tensor *find_tensor(const kz_program_description *program, const char *name,
                                    uint32_t *out_index) {
    for (uint32_t i = 0; i < program->tensor_count; i++) {
        if (strcmp(program->tensors[i].name, name) == 0) {
            *out_index = i;
            return &program->tensors[i];
        }
    }
    return NULL;
}

// One row of a state: zeros where `values` is NULL.
static void write_row(kz_session *session, const kz_state *state, uint32_t index,
                      const float *values) {
    const size_t width = (size_t)state->heads * state->head_dim;
    uint8_t *row = kz_context_state(kz_session_context(session), index);
    row += (state->rows - 1) * width * (state->type == KZ_F16 ? 2 : 4);
    for (size_t i = 0; i < width; i++) {
        const float value = values == NULL ? 0 : values[i];
        if (state->type == KZ_F16) {
            ((uint16_t *)(void *)row)[i] = kz_f16_from_float(value);
        } else {
            ((float *)(void *)row)[i] = value;
        }
    }
}

// The decoder's bias of keys and values of a layer: [keys, then values].
static kazeia_status find_bias(const kz_program *program, uint32_t layer, size_t width,
                               const float **out_bias) {
    char name[64];
    uint32_t index = 0;
    (void)snprintf(name, sizeof name, "decoder.%u.cross.kv.bias", layer);
    const kz_tensor *tensor = find_tensor(kz_program_describe(program), name, &index);
    if (tensor == NULL || tensor->type != KZ_F32 || tensor->bytes < 2 * width * sizeof(float)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "hear: the program has no tensor '%s' of %zu floats; export it anew", name,
                       2 * width);
    }
    *out_bias = kz_program_tensor(program, index);
    return KAZEIA_OK;
}

// States are named "cross_key.LAYER" and "cross_value.LAYER" (docs/abilities.md).
static kazeia_status silence_state(const kz_whisper *whisper, uint32_t index) {
    const kz_state *state = &kz_program_describe(whisper->program)->states[index];
    const size_t width = (size_t)state->heads * state->head_dim;
    const float *bias = NULL;
    unsigned layer = 0;
    const bool is_key = sscanf(state->name, "cross_key.%u", &layer) == 1;
    const bool is_value = sscanf(state->name, "cross_value.%u", &layer) == 1;
    if (!is_key && !is_value) {
        return KAZEIA_OK;
    }
    if ((state->type != KZ_F16 && state->type != KZ_F32) ||
        state->rows != (uint64_t)whisper->positions) {
        return kz_fail(
            KAZEIA_UNSUPPORTED,
            "hear: the state '%s' is not of f16 or f32; export the program with --kv f16",
            state->name);
    }
    KZ_TRY(find_bias(whisper->program, layer, width, &bias));
    write_row(whisper->session, state, index, is_key ? bias : bias + width);
    return KAZEIA_OK;
}

static kazeia_status silence(const kz_whisper *whisper) {
    const kz_program_description *program = kz_program_describe(whisper->program);
    for (uint32_t i = 0; i < program->state_count; i++) {
        KZ_TRY(silence_state(whisper, i));
    }
    return KAZEIA_OK;
}

// ---- hypotheses

static size_t put(char *key, size_t used, const char *text) {
    const size_t count = strlen(text), room = KEY_BYTES - 1 - used;
    const size_t taken = count < room ? count : room;
    memcpy(key + used, text, taken);
    key[used + taken] = '\0';
    return used + taken;
}

// Intent and slots in one text: two sentences with the same one are one command.
static bool write_key(kz_hearing *hearing, const char *text, char *key) {
    kz_command_result result;
    // A sentence that is too ambiguous to read is no command.
    if (kz_command_match(hearing->matcher, text, NULL, &result) != KAZEIA_OK || !result.is_match) {
        return false;
    }
    size_t used = put(key, 0, result.intent);
    // In the order of their names: "minutes" may be said before "hours".
    for (uint32_t done = 0, last = UINT32_MAX; done < result.slot_count; done++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < result.slot_count; i++) {
            const char *name = result.slots[i].name;
            if ((last == UINT32_MAX || strcmp(name, result.slots[last].name) > 0) &&
                (best == UINT32_MAX || strcmp(name, result.slots[best].name) < 0)) {
                best = i;
            }
        }
        if (best == UINT32_MAX) {
            break;
        }
        used = put(key, used, "|");
        used = put(key, used, result.slots[best].name);
        used = put(key, used, "=");
        used = put(key, used, result.slots[best].text);
        last = best;
    }
    return true;
}

static bool is_new_command(const kz_hearing *hearing, uint32_t count, const char *key) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(hearing->keys[i], key) == 0) {
            return false;
        }
    }
    return true;
}

// Found nodes come best first, so the first sentence of a command is its best.
static uint32_t group(kz_hearing *hearing, const kz_beam_found *found, uint32_t found_count,
                      kz_command_hypothesis *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < found_count && count < KZ_HEARING_LIMIT; i++) {
        char *text = hearing->texts[count], *key = hearing->keys[count];
        kz_command_trie_text(hearing->trie, found[i].node, text, HYPOTHESIS_BYTES);
        if (write_key(hearing, text, key) && is_new_command(hearing, count, key)) {
            out[count++] = (kz_command_hypothesis){
                .text = text, .score = found[i].score, .end_logprob = found[i].end};
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i].margin = i + 1 < count ? out[i].score - out[i + 1].score : INFINITY;
    }
    return count;
}

// ---- one search

static void show_windows(kz_session *session, int64_t positions) {
    for (uint32_t i = 1; i < SEQUENCES; i++) {
        const bool is_prior = i > HEAR_BEAMS;
        kz_session_set_input(session, INPUT_CROSS_SEQUENCES, i, is_prior);
        kz_session_set_input(session, INPUT_CROSS_LAST, i, is_prior ? 0 : (int32_t)positions - 2);
    }
}

static kazeia_status search(kz_hearing *hearing, const kz_beam_found **out_found,
                            uint32_t *out_count, kz_beam_cost *out_cost) {
    const kz_whisper *whisper = hearing->whisper;
    const kz_token_trie table = kz_command_trie_table(hearing->trie);
    const kz_beam_search wanted = {.trie = &table,
                                   .prior = kz_command_trie_prior,
                                   .prior_context = hearing->trie,
                                   .first_sequence = 1,
                                   .prompt = hearing->prompt,
                                   .prompt_count = PROMPT_TOKENS,
                                   .terminators = hearing->terminators,
                                   .terminator_count = hearing->terminator_count,
                                   .prior_weight = PRIOR_WEIGHT,
                                   .margin = PRUNE_MARGIN,
                                   .rise = PRUNE_RISE,
                                   .end_floor = PRUNE_END,
                                   .spread = PRUNE_SPREAD,
                                   .floor = PRUNE_FLOOR,
                                   .floor_rise = PRUNE_FLOOR_RISE,
                                   .floor_top = PRUNE_FLOOR_TOP,
                                   .token_limit = COMMAND_TOKENS};
    KZ_TRY(silence(whisper));
    show_windows(whisper->session, whisper->positions);
    KZ_TRY(kz_beam_run(hearing->beam, whisper->session, &wanted, out_found, out_count, out_cost));
    return kz_command_trie_status(hearing->trie);
}

kazeia_status kz_hearing_run(kz_hearing *hearing, kz_command_hypothesis out[KZ_HEARING_LIMIT],
                             uint32_t *out_count, kz_hearing_cost *out_cost) {
    const uint64_t start = kz_clock_now_ns();
    const kz_beam_found *found = NULL;
    uint32_t found_count = 0;
    kz_beam_cost cost = {0};
    // Every search finds half of the trie's room at least, so that what earlier ones looked at
    // never costs it a second run.
    if (kz_command_trie_is_half_full(hearing->trie)) {
        kz_command_trie_reset(hearing->trie);
    }
    kazeia_status status = search(hearing, &found, &found_count, &cost);
    // Sound that leads through so many sentences is none of them; nor is it when they are so
    // different from each other that the cache has no rows for them all.
    const bool is_full = kz_command_trie_status(hearing->trie) == KAZEIA_OUT_OF_MEMORY;
    if (is_full) {
        kz_command_trie_reset(hearing->trie);
    }
    if (is_full || status == KAZEIA_BUSY) {
        found_count = 0;
        status = KAZEIA_OK;
    }
    KZ_TRY(status);
    *out_count = group(hearing, found, found_count, out);
    *out_cost = (kz_hearing_cost){.steps = cost.steps,
                                  .beam_tokens = cost.beam_tokens,
                                  .prior_tokens = cost.prior_tokens,
                                  .nodes = kz_command_trie_node_count(hearing->trie),
                                  .seconds = (double)(kz_clock_now_ns() - start) * 1e-9};
    return KAZEIA_OK;
}

// ---- what was learnt

static uint64_t program_id(const kz_hearing *hearing) {
    return kz_program_file_id(kz_program_source(hearing->whisper->program));
}

kazeia_status kz_hearing_load(kz_hearing *hearing, const char *path, uint32_t value_count,
                              kz_tuned_values *out_values) {
    const kazeia_status status =
        kz_priors_load(hearing->priors, path, program_id(hearing), value_count, out_values);
    // Nodes take their priors when they are made.
    kz_command_trie_reset(hearing->trie);
    return status;
}

kazeia_status kz_hearing_save(kz_hearing *hearing, const char *path,
                              const kz_tuned_values *values) {
    kz_command_trie_keep_priors(hearing->trie);
    return kz_priors_save(hearing->priors, path, program_id(hearing), values, &hearing->allocator);
}

// ---- creation

static void find_terminators(kz_hearing *hearing) {
    static const char *const signs[] = {".", "?", "!", "...", " ?", " !"};
    hearing->terminators[hearing->terminator_count++] = hearing->whisper->tokens.end;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const uint32_t id = kz_tokenizer_find(hearing->tokenizer, signs[i], strlen(signs[i]));
        if (id != KZ_NO_TOKEN) {
            hearing->terminators[hearing->terminator_count++] = id;
        }
    }
}

// The grammar's language, whatever the window was heard in: a command is said in its own.
static kazeia_status write_prompt(kz_hearing *hearing) {
    const kz_whisper *whisper = hearing->whisper;
    const char *language = kz_command_grammar_language(hearing->grammar);
    for (size_t i = 0; i < whisper->languages.count; i++) {
        if (strcmp(whisper->languages.codes[i], language) == 0) {
            const int64_t prompt[PROMPT_TOKENS] = {
                whisper->tokens.start, whisper->languages.tokens[i], whisper->tokens.transcribe,
                whisper->tokens.no_timestamps};
            for (size_t k = 0; k < PROMPT_TOKENS; k++) {
                hearing->prompt[k] = (int32_t)prompt[k];
            }
            return KAZEIA_OK;
        }
    }
    return kz_fail(KAZEIA_UNSUPPORTED, "hear: the program does not know the grammar's language %s",
                   language);
}

static kazeia_status fill(kz_hearing *hearing) {
    const kazeia_allocator *memory = &hearing->allocator;
    const kz_whisper *whisper = hearing->whisper;
    const kz_bytes *section = &kz_program_describe(whisper->program)->tokenizer;
    const kz_tokenizer_options options = {.max_text_bytes = 1024};
    if (section->count == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "hear: the program has no vocabulary");
    }
    // With shorter windows a command was taken for its opposite (docs/listening.md).
    if (whisper->fits_context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "hear: commands are told apart in whole windows; create "
                       "the listening stage with the full audio context");
    }
    if (!whisper->can_hear_commands) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "hear: the program was made for one sequence, %d are "
                       "needed; export it anew",
                       SEQUENCES);
    }
    KZ_TRY(silence(whisper));
    KZ_TRY(kz_tokenizer_open(section, &options, memory, &hearing->tokenizer));
    KZ_TRY(write_prompt(hearing));
    find_terminators(hearing);
    KZ_TRY(kz_command_matcher_create(hearing->grammar, memory, &hearing->matcher));
    KZ_TRY(kz_command_automaton_create(hearing->grammar, memory, &hearing->automaton));
    KZ_TRY(kz_priors_create(memory, &hearing->priors));
    KZ_TRY(kz_command_trie_create(hearing->automaton, hearing->tokenizer, hearing->priors, memory,
                                  &hearing->trie));
    return kz_beam_create(HEAR_BEAMS, kz_session_vocabulary(whisper->session), memory,
                          &hearing->beam);
}

kazeia_status kz_hearing_create(kz_whisper *whisper, const kz_command_grammar *grammar,
                                const kazeia_allocator *allocator, kz_hearing **out_hearing) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_hearing), "hearing of commands", &memory));
    kz_hearing *hearing = memory;
    hearing->allocator = own;
    hearing->whisper = whisper;
    hearing->grammar = grammar;
    const kazeia_status status = fill(hearing);
    if (status != KAZEIA_OK) {
        kz_hearing_destroy(hearing);
        return status;
    }
    *out_hearing = hearing;
    return KAZEIA_OK;
}

void kz_hearing_destroy(kz_hearing *hearing) {
    if (hearing != NULL) {
        const kazeia_allocator allocator = hearing->allocator;
        kz_beam_destroy(hearing->beam);
        kz_command_trie_destroy(hearing->trie);
        kz_priors_destroy(hearing->priors);
        kz_command_automaton_destroy(hearing->automaton);
        kz_command_matcher_destroy(hearing->matcher);
        kz_tokenizer_close(hearing->tokenizer);
        kz_free(&allocator, hearing);
    }
}
