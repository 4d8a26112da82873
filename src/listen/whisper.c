// whisper.c: the listening stage: samples in, what was said out.
//   in   16 kHz mono samples
//   out  text, language, tokens and probabilities, a window at a time
// Decoding is greedy without timestamps: what a voice conversation needs, and what the goldens
// hold. The probability that nothing was said is the one after the start token alone, as in
// OpenAI's program.
#include "listen/whisper.h"

#include <math.h>
#include <string.h>

#include "audio/cut.h"
#include "listen/guards.h"
#include "listen/sound.h"
#include "listen/whisper_state.h"

#define SILENT_FRAMES 100 // behind a sound whose context fits it: 1 s
#define FRAMES_LEAST 800
#define FRAME_STEP 16

_Static_assert(FRAMES_LEAST % FRAME_STEP == 0 && KZ_MEL_ROWS % 2 == 0, "rows are half the frames");

// --- Creation -----------------------------------------------------------------------------------

static kazeia_status read_ids(const kz_program *program, const char *key, int64_t vocabulary,
                              const int64_t **out_ids, size_t *out_count) {
    if (!kz_program_integers(program, key, out_ids, out_count)) {
        return kz_fail(KAZEIA_BAD_FILE, "program: metadata has no integers '%s'", key);
    }
    for (size_t i = 0; i < *out_count; i++) {
        // Each is a place in a row of logits: one beyond it would be read or written outside.
        if ((*out_ids)[i] < 0 || (*out_ids)[i] >= vocabulary) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "program: metadata '%s'[%zu] is %lld, the vocabulary "
                           "has %lld",
                           key, i, (long long)(*out_ids)[i], (long long)vocabulary);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status read_tokens(kz_whisper *whisper, int64_t vocabulary) {
    const kz_program *program = whisper->program;
    listen_tokens *tokens = &whisper->tokens;
    // A table, since five checks alike would hide the one that is forgotten.
    const struct {
        const char *key;
        int64_t *value;
    } ids[] = {{"listen.start", &tokens->start},
               {"listen.end", &tokens->end},
               {"listen.transcribe", &tokens->transcribe},
               {"listen.no_speech", &tokens->no_speech},
               {"listen.no_timestamps", &tokens->no_timestamps}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        KZ_TRY(kz_program_require_integer(program, ids[i].key, 0, vocabulary - 1, ids[i].value));
    }
    const int64_t *language_ids = NULL;
    size_t count = 0;
    KZ_TRY(read_ids(program, "listen.language_tokens", vocabulary, &language_ids, &count));
    KZ_TRY(read_ids(program, "listen.suppress", vocabulary, &tokens->suppress,
                    &tokens->suppress_count));
    KZ_TRY(read_ids(program, "listen.suppress_begin", vocabulary, &tokens->suppress_begin,
                    &tokens->suppress_begin_count));
    // Points into this struct, which stays where it is until destroy.
    whisper->stop = (kz_stop_tokens){&tokens->end, 1};
    return KAZEIA_OK;
}

// What `encode` binds for a whole window: frames, slots.
static const uint32_t encode_symbols[] = {KZ_MEL_ROWS, 1};
#define ENCODE_SYMBOLS (sizeof encode_symbols / sizeof *encode_symbols)

// Whether the input has exactly the bytes of `count` elements of 4 bytes, which is what a call
// gives it: every coefficient of its dimensions counts, not only those that the exporter writes.
static bool reads_all_of(const kz_method *method, uint32_t input, kz_type type, uint64_t count) {
    const kz_value *value = &method->values[method->inputs[input]];
    return value->type == type &&
           kz_value_bytes(value, encode_symbols, ENCODE_SYMBOLS) == 4 * count;
}

static kazeia_status check_encode(kz_whisper *whisper, int64_t mels) {
    KZ_TRY(kz_program_require_method(whisper->program, "encode", &whisper->encode_method));
    const kz_method *method =
        &kz_program_describe(whisper->program)->methods[whisper->encode_method];
    const uint64_t positions = (uint64_t)whisper->positions;
    const bool is_right =
        method->input_count == 4 && method->output_count == 0 &&
        method->symbol_count == ENCODE_SYMBOLS && method->symbols[0].maximum >= encode_symbols[0] &&
        method->symbols[1].maximum >= encode_symbols[1] &&
        reads_all_of(method, 0, KZ_F32, KZ_MEL_ROWS * (uint64_t)mels) &&
        reads_all_of(method, 1, KZ_I32, positions) && reads_all_of(method, 2, KZ_I32, positions) &&
        reads_all_of(method, 3, KZ_I32, positions);
    if (!is_right) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: method 'encode' does not take %u frames of %lld, a cross table of "
                       "%lld, sequences and positions",
                       KZ_MEL_ROWS, (long long)mels, (long long)whisper->positions);
    }
    return KAZEIA_OK;
}

// A session's settings and what they point to.
typedef struct session_request {
    kz_session_input inputs[INPUT_COUNT];
    kz_session_symbol slots;
    kz_session_settings settings;
} session_request;

// Whether a method's symbol reaches a value; one that is missing does not.
static bool reaches(const kz_method *method, const char *symbol, uint32_t value) {
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        if (strcmp(method->symbols[i].name, symbol) == 0) {
            return method->symbols[i].maximum >= value;
        }
    }
    return false;
}

// A program that was made for one sequence and one window still transcribes.
static bool can_hear_commands(const kz_program *program) {
    const kz_program_description *description = kz_program_describe(program);
    bool can_hear = true;
    for (size_t i = 0; i < description->method_count; i++) {
        const kz_method *method = &description->methods[i];
        can_hear =
            can_hear &&
            (strncmp(method->name, "decode_", 7) != 0 ||
             (reaches(method, "slots", CROSS_SLOTS) && reaches(method, "sequences", SEQUENCES)));
    }
    return can_hear;
}

// The inner pointers lead into *out_request itself: it must not be copied.
static void request_session(const kz_program *program, const int32_t *cross_table,
                            int64_t positions, session_request *out_request) {
    const bool can_hear = can_hear_commands(program);
    *out_request = (session_request){
        .inputs = {[INPUT_CROSS_TABLE] = {"cross_table", cross_table,
                                          CROSS_SLOTS * (size_t)positions},
                   // No values of their own: the session fills one for each token.
                   [INPUT_CROSS_SEQUENCES] = {"cross_sequences", NULL, 0},
                   [INPUT_CROSS_LAST] = {"cross_last", NULL, 0}},
        .slots = {"slots", can_hear ? CROSS_SLOTS : 1},
        .settings = {.prefill = "decode_prefill",
                     .step = "decode_step",
                     .logits = "logits",
                     .sequences = can_hear ? SEQUENCES : 1,
                     .priority = KZ_PRIORITY_LISTEN,
                     .input_count = INPUT_COUNT,
                     .symbol_count = 1}};
    out_request->settings.inputs = out_request->inputs;
    out_request->settings.symbols = &out_request->slots;
}

kazeia_status kz_whisper_plan(kz_program *program, kz_memory_plan *out_plan) {
    static const int32_t unread = 0; // a plan asks for the table's size, not for what it holds
    session_request request;
    int64_t positions = 0;
    // The encoder halves the 3000 rows of a window: 1500 positions, no others.
    KZ_TRY(kz_program_require_integer(program, "listen.positions", KZ_MEL_ROWS / 2, KZ_MEL_ROWS / 2,
                                      &positions));
    request_session(program, &unread, positions, &request);
    return kz_session_plan(program, &request.settings, out_plan);
}

static kazeia_status create_session(kz_whisper *whisper, kz_pool *pool, uint64_t memory_limit) {
    session_request request;
    request_session(whisper->program, whisper->cross_table, whisper->positions, &request);
    request.settings.memory_limit = memory_limit;
    whisper->can_hear_commands = request.slots.value == CROSS_SLOTS;
    KZ_TRY(kz_session_create(whisper->program, pool, &request.settings, &whisper->allocator,
                             &whisper->session));
    return KAZEIA_OK;
}

static kazeia_status allocate_tables(kz_whisper *whisper) {
    const kazeia_allocator *memory = &whisper->allocator;
    KZ_TRY(kz_alloc(memory, CROSS_SLOTS * (size_t)whisper->positions, sizeof(int32_t),
                    "cross table", (void **)&whisper->cross_table));
    KZ_TRY(kz_alloc(memory, (size_t)whisper->positions, sizeof(int32_t), "cross sequences",
                    (void **)&whisper->cross_zeros));
    for (int32_t i = 0; i < whisper->positions; i++) {
        whisper->cross_table[i] = i;
        whisper->cross_table[whisper->positions + i] = (int32_t)whisper->positions - 1;
    }
    return KAZEIA_OK;
}

static kazeia_status allocate_buffers(kz_whisper *whisper, int64_t mels, int64_t vocabulary) {
    const kazeia_allocator *memory = &whisper->allocator;
    KZ_TRY(kz_alloc(memory, KZ_MEL_ROWS * (size_t)mels, sizeof(float), "mel rows",
                    (void **)&whisper->mel_rows));
    KZ_TRY(kz_alloc(memory, KZ_MEL_SAMPLES + MORE_SAMPLES, sizeof(float), "samples",
                    (void **)&whisper->samples));
    KZ_TRY(kz_alloc(memory, (size_t)vocabulary, sizeof(float), "start logits",
                    (void **)&whisper->start_logits));
    return kz_text_buffer_init(&whisper->text, memory, TEXT_BYTES, TEXT_BYTES);
}

static kazeia_status open_tokenizer(kz_whisper *whisper) {
    const kz_bytes *section = &kz_program_describe(whisper->program)->tokenizer;
    if (!section->count) {
        return KAZEIA_OK; // a program without vocabulary gives ids only
    }
    // Room for encoding, which this stage never does, is kept small.
    const kz_tokenizer_options options = {.max_text_bytes = 256};
    KZ_TRY(kz_tokenizer_open(section, &options, &whisper->allocator, &whisper->tokenizer));
    // Made here, since the room hangs on the longest token of the vocabulary.
    return kz_alloc(&whisper->allocator, kz_detokenizer_room(whisper->tokenizer), 1,
                    "a token's text", (void **)&whisper->piece);
}

static kazeia_status fill(kz_whisper *whisper, kz_pool *pool, const kz_whisper_settings *settings) {
    const kz_program *program = whisper->program;
    int64_t mels = 0, rate = 0, vocabulary = 0;
    KZ_TRY(kz_mutex_init(&whisper->input_lock));
    whisper->has_input_lock = true;
    KZ_TRY(kz_program_require_integer(program, "listen.sample_rate_hz", KZ_MEL_RATE_HZ,
                                      KZ_MEL_RATE_HZ, &rate));
    KZ_TRY(kz_program_require_integer(program, "listen.mels", 1, 256, &mels));
    KZ_TRY(kz_program_require_integer(program, "listen.positions", KZ_MEL_ROWS / 2, KZ_MEL_ROWS / 2,
                                      &whisper->positions));
    KZ_TRY(kz_program_require_integer(program, "model.vocabulary", 1, 1 << 22, &vocabulary));
    KZ_TRY(kz_languages_init(&whisper->languages, program, settings->languages));
    KZ_TRY(read_tokens(whisper, vocabulary));
    KZ_TRY(check_encode(whisper, mels));
    // The session first: when it is above the limit, that is known before the rest is taken.
    KZ_TRY(allocate_tables(whisper));
    KZ_TRY(create_session(whisper, pool, settings->memory_limit));
    KZ_TRY(allocate_buffers(whisper, mels, vocabulary));
    if (kz_session_vocabulary(whisper->session) != vocabulary) {
        return kz_fail(KAZEIA_BAD_FILE, "program: logits of %u tokens, 'model.vocabulary' is %lld",
                       kz_session_vocabulary(whisper->session), (long long)vocabulary);
    }
    // The slaney filters are computed: every Whisper checkpoint carries the same ones.
    KZ_TRY(kz_mel_create((uint32_t)mels, NULL, &whisper->allocator, &whisper->mel));
    const kz_sampling greedy = {.top_p = 1.0f};
    KZ_TRY(
        kz_sampler_create(&greedy, (uint32_t)vocabulary, &whisper->allocator, &whisper->sampler));
    return open_tokenizer(whisper);
}

kazeia_status kz_whisper_create(kz_program *program, kz_pool *pool,
                                const kz_whisper_settings *settings,
                                const kazeia_allocator *allocator, kz_whisper **out_whisper) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_whisper *whisper = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *whisper, "listening stage", (void **)&whisper));
    whisper->allocator = memory;
    // Token lists and language codes point into the program.
    whisper->program = kz_program_retain(program);
    whisper->has_guards = settings->has_guards;
    whisper->fits_context = settings->fits_context;
    const kazeia_status status = fill(whisper, pool, settings);
    if (status != KAZEIA_OK) {
        kz_whisper_destroy(whisper);
        return status;
    }
    *out_whisper = whisper;
    return KAZEIA_OK;
}

void kz_whisper_destroy(kz_whisper *whisper) {
    if (!whisper) {
        return;
    }
    const kazeia_allocator memory = whisper->allocator;
    kz_session_destroy(whisper->session);
    kz_sampler_destroy(whisper->sampler);
    kz_tokenizer_close(whisper->tokenizer);
    kz_mel_destroy(whisper->mel);
    kz_text_buffer_clear(&whisper->text);
    if (whisper->has_input_lock) {
        kz_mutex_clear(&whisper->input_lock);
    }
    kz_free(&memory, whisper->cross_table);
    kz_free(&memory, whisper->cross_zeros);
    kz_free(&memory, whisper->mel_rows);
    kz_free(&memory, whisper->samples);
    kz_free(&memory, whisper->start_logits);
    kz_free(&memory, whisper->piece);
    kz_program_release(whisper->program);
    kz_free(&memory, whisper);
}

// --- One window ---------------------------------------------------------------------------------

// Whole windows are what the model was trained on. With less silence behind a short sound it errs
// no more often (docs/listening.md), as long as some is left.
static uint32_t frames_for(const kz_whisper *whisper, size_t sample_count) {
    const size_t frames = sample_count / KZ_MEL_HOP + SILENT_FRAMES;
    if (!whisper->fits_context || frames >= KZ_MEL_ROWS) {
        return KZ_MEL_ROWS;
    }
    const size_t whole = (frames + FRAME_STEP - 1) / FRAME_STEP * FRAME_STEP;
    return whole < FRAMES_LEAST ? FRAMES_LEAST : (uint32_t)whole;
}

// One slot, whose table holds every row in order; the same numbers serve as the rows' positions.
// The decoder sees every row that was made.
static kazeia_status encode(kz_whisper *whisper, uint32_t frames) {
    const uint32_t symbols[ENCODE_SYMBOLS] = {frames, 1};
    kz_session_set_input(whisper->session, INPUT_CROSS_LAST, 0, (int32_t)frames / 2 - 1);
    const void *inputs[] = {whisper->mel_rows, whisper->cross_table, whisper->cross_zeros,
                            whisper->cross_table};
    return kz_context_run(kz_session_context(whisper->session), whisper->encode_method, symbols,
                          inputs, NULL);
}

// The checkpoint's own lists: signs that no one speaks, and at the first step also the space and
// the end.
static void suppress(void *context, uint32_t step, float *logits, size_t vocabulary) {
    (void)vocabulary;
    const listen_tokens *tokens = context;
    for (size_t i = 0; i < tokens->suppress_count; i++) {
        logits[tokens->suppress[i]] = -INFINITY;
    }
    for (size_t i = 0; step == 0 && i < tokens->suppress_begin_count; i++) {
        logits[tokens->suppress_begin[i]] = -INFINITY;
    }
}

// The logits after the start token, row 0 of the session's last call. Softmax over all tokens,
// before anything is suppressed: OpenAI's program measures it there.
static kazeia_status read_start(kz_whisper *whisper, float *out_no_speech) {
    KZ_TRY(kz_session_logits(whisper->session, 0, 1, whisper->start_logits));
    *out_no_speech = (float)exp(kz_logits_log_probability(whisper->start_logits,
                                                          kz_session_vocabulary(whisper->session),
                                                          (int32_t)whisper->tokens.no_speech));
    return KAZEIA_OK;
}

// Computes the prompt. A given language goes along in one call, where the program takes as many
// tokens at once; else the start token goes alone and tells the language.
static kazeia_status start(kz_whisper *whisper, kz_loop *loop, size_t *out_language,
                           float *out_no_speech) {
    const listen_tokens *tokens = &whisper->tokens;
    const bool is_at_once = whisper->languages.allowed_count == 1 &&
                            kz_session_chunk(whisper->session, PROMPT_TOKENS) == PROMPT_TOKENS;
    int32_t prompt[PROMPT_TOKENS] = {(int32_t)tokens->start, 0, (int32_t)tokens->transcribe,
                                     (int32_t)tokens->no_timestamps};
    // The text of the last window is forgotten; the encoder's states were written anew.
    kz_session_trim(whisper->session, 0, 0);
    if (!is_at_once) {
        KZ_TRY(kz_session_extend(whisper->session, 0, prompt, 1));
        KZ_TRY(read_start(whisper, out_no_speech));
    }
    // Of one allowed language the logits are not read.
    *out_language = kz_languages_detect(&whisper->languages, whisper->start_logits);
    prompt[1] = (int32_t)whisper->languages.tokens[*out_language];
    if (!is_at_once) {
        return kz_loop_start(loop, prompt + 1, PROMPT_TOKENS - 1);
    }
    KZ_TRY(kz_loop_start(loop, prompt, PROMPT_TOKENS));
    return read_start(whisper, out_no_speech);
}

static bool add_token(kz_whisper *whisper, int32_t token) {
    whisper->ids[whisper->id_count++] = token;
    if (!whisper->has_guards) {
        return whisper->id_count < TOKEN_LIMIT;
    }
    // Looked at after each token: a loop must not run on to the limit, which takes seconds.
    const size_t kept = kz_repetition_cut(whisper->ids, whisper->id_count);
    const bool repeats = kept < whisper->id_count;
    whisper->id_count = kept;
    return !repeats && whisper->id_count < TOKEN_LIMIT;
}

// Decodes up to the end, a loop, or the limit; the mean is over what is kept, and the end.
static kazeia_status decode(kz_whisper *whisper, kz_loop *loop, float *out_avg_logprob) {
    kz_stop_action action = KZ_STOP_CONTINUE;
    bool goes_on = true;
    whisper->id_count = 0;
    while (goes_on) {
        int32_t token = 0;
        KZ_TRY(kz_loop_next(loop, &token, &action));
        whisper->log_probabilities[whisper->id_count] = (float)loop->log_probability;
        goes_on = action != KZ_STOP_END && add_token(whisper, token);
    }
    // At least one: the first token is either the end or kept.
    const size_t count = whisper->id_count + (action == KZ_STOP_END);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)whisper->log_probabilities[i];
    }
    *out_avg_logprob = (float)(sum / (double)count);
    return KAZEIA_OK;
}

static bool is_white(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void trim_text(kz_text_buffer *text) {
    size_t lead = 0;
    while (text->count && is_white(text->bytes[text->count - 1])) {
        text->bytes[--text->count] = '\0';
    }
    while (lead < text->count && is_white(text->bytes[lead])) {
        lead++;
    }
    kz_text_buffer_drop_front(text, lead);
}

static kazeia_status write_text(kz_whisper *whisper) {
    kz_detokenizer detokenizer;
    char *piece = whisper->piece;
    kz_text_buffer_reset(&whisper->text);
    if (!whisper->tokenizer) {
        return KAZEIA_OK;
    }
    kz_detokenizer_init(&detokenizer, whisper->tokenizer, KZ_DECODE_TEXT);
    for (size_t i = 0; i < whisper->id_count; i++) {
        const size_t count = kz_detokenizer_push(&detokenizer, (uint32_t)whisper->ids[i], piece);
        KZ_TRY(kz_text_buffer_append(&whisper->text, piece, count));
    }
    const size_t count = kz_detokenizer_flush(&detokenizer, piece);
    KZ_TRY(kz_text_buffer_append(&whisper->text, piece, count));
    trim_text(&whisper->text);
    return KAZEIA_OK;
}

static void forget_text(kz_whisper *whisper) {
    kz_text_buffer_reset(&whisper->text);
    whisper->id_count = 0;
}

static kazeia_status hear(kz_whisper *whisper, size_t sample_count, kz_heard *heard) {
    kz_loop loop = {.session = whisper->session,
                    .sampler = whisper->sampler,
                    .stop = kz_stop_rule_tokens(&whisper->stop),
                    .processor = {&whisper->tokens, suppress},
                    .has_log_probability = true};
    size_t language = 0;
    // The order is the model's: the decoder reads the states that the encoder leaves in the
    // session.
    KZ_TRY(encode(whisper, frames_for(whisper, sample_count)));
    KZ_TRY(start(whisper, &loop, &language, &heard->no_speech_prob));
    KZ_TRY(decode(whisper, &loop, &heard->avg_logprob));
    heard->language = whisper->languages.codes[language];
    return write_text(whisper);
}

static kz_sound measure(const kz_whisper *whisper, size_t sample_count) {
    return kz_sound_measure(whisper->samples, sample_count, whisper->mel_rows,
                            kz_mel_channel_count(whisper->mel));
}

// Without a vocabulary there is no text to judge.
static bool is_believable(const kz_whisper *whisper, const kz_sound *sound, const kz_heard *heard) {
    const kz_verdict verdict = {.text = whisper->text.bytes,
                                .tokens = whisper->ids,
                                .token_count = whisper->id_count,
                                .avg_logprob = heard->avg_logprob,
                                .no_speech_prob = heard->no_speech_prob,
                                .change_db = sound->change_db};
    return !whisper->has_guards || !whisper->tokenizer || kz_text_is_believable(&verdict);
}

// What is said of a window in which nothing was heard: the language only if it was given.
static const char *silent_language(const kz_languages *languages) {
    const bool is_given = languages->allowed_count == 1;
    return is_given ? languages->codes[kz_languages_detect(languages, NULL)] : "";
}

static kazeia_status hear_window(kz_whisper *whisper, size_t sample_count, kz_heard *heard) {
    // From the count of samples, not by adding durations up: hours of sound do not drift.
    const double start_s = (double)whisper->samples_before / KZ_MEL_RATE_HZ;
    *heard = (kz_heard){.start_s = start_s,
                        .end_s = start_s + (double)sample_count / KZ_MEL_RATE_HZ,
                        .no_speech_prob = 1.0f,
                        .language = silent_language(&whisper->languages)};
    forget_text(whisper);
    // Also needed by the guards, and cheap beside the encoder.
    (void)kz_mel_compute(whisper->mel, whisper->samples, sample_count, whisper->mel_rows);
    const kz_sound sound = measure(whisper, sample_count);
    if (!whisper->has_guards || kz_sound_may_be_speech(&sound)) {
        KZ_TRY(hear(whisper, sample_count, heard));
        if (!is_believable(whisper, &sound, heard)) {
            forget_text(whisper);
            heard->language = silent_language(&whisper->languages);
        }
    }
    // All three point into the stage: valid until its next call.
    heard->text = whisper->text.bytes;
    heard->tokens = whisper->ids;
    heard->token_count = whisper->id_count;
    return KAZEIA_OK;
}

// --- The stage ----------------------------------------------------------------------------------

// Appends what fits and returns how much that is.
static size_t append_samples(kz_whisper *whisper, const float *samples, size_t count) {
    const size_t room = KZ_MEL_SAMPLES + MORE_SAMPLES - whisper->sample_count;
    const size_t taken = count < room ? count : room;
    memcpy(whisper->samples + whisper->sample_count, samples, taken * sizeof *samples);
    whisper->sample_count += taken;
    return taken;
}

kazeia_status kz_whisper_feed(kz_whisper *whisper, const float *samples, size_t count,
                              size_t *out_taken) {
    kz_mutex_lock(&whisper->input_lock);
    const bool is_finished = whisper->is_finished;
    *out_taken = is_finished ? 0 : append_samples(whisper, samples, count);
    kz_mutex_unlock(&whisper->input_lock);
    return is_finished
               ? kz_fail(KAZEIA_BAD_ARGUMENT, "listen: fed after finish; take what is there first")
               : KAZEIA_OK;
}

kazeia_status kz_whisper_finish(kz_whisper *whisper) {
    kz_mutex_lock(&whisper->input_lock);
    whisper->is_finished = true;
    kz_mutex_unlock(&whisper->input_lock);
    return KAZEIA_OK;
}

// Whether there is a window to work on, and how many samples were fed so far. These stay as they
// are while next works, without the lock: feed only adds behind them.
static kazeia_status look_at_input(kz_whisper *whisper, size_t *out_count) {
    kazeia_status status = KAZEIA_OK;
    kz_mutex_lock(&whisper->input_lock);
    *out_count = whisper->sample_count;
    if (!whisper->is_finished && whisper->sample_count <= KZ_MEL_SAMPLES) {
        status = KAZEIA_NEEDS_INPUT;
    } else if (whisper->sample_count == 0) {
        whisper->is_finished = false;
        status = KAZEIA_DONE;
    }
    kz_mutex_unlock(&whisper->input_lock);
    return status;
}

static void drop_window(kz_whisper *whisper, size_t sample_count) {
    kz_mutex_lock(&whisper->input_lock);
    whisper->sample_count -= sample_count;
    memmove(whisper->samples, whisper->samples + sample_count,
            whisper->sample_count * sizeof *whisper->samples);
    kz_mutex_unlock(&whisper->input_lock);
    whisper->samples_before += sample_count;
}

kazeia_status kz_whisper_next(kz_whisper *whisper, kz_heard *out_heard) {
    size_t fed_count = 0;
    // Also when no work is running that would see it.
    if (kz_session_is_cancelled(whisper->session)) {
        return kz_fail(KAZEIA_CANCELLED, "listen: stopped");
    }
    KZ_TRY(look_at_input(whisper, &fed_count));
    const kz_cut_rule rule = kz_cut_rule_whisper(KZ_MEL_RATE_HZ);
    const size_t count = kz_audio_find_quiet_cut(whisper->samples, fed_count, &rule);
    // A failure drops nothing: the same window is heard by the next call.
    KZ_TRY(hear_window(whisper, count, out_heard));
    drop_window(whisper, count);
    return KAZEIA_OK;
}

void kz_whisper_cancel(kz_whisper *whisper) {
    kz_session_cancel(whisper->session);
}

void kz_whisper_reset(kz_whisper *whisper) {
    kz_session_resume(whisper->session);
    kz_session_trim(whisper->session, 0, 0);
    whisper->sample_count = 0;
    whisper->samples_before = 0;
    whisper->is_finished = false;
    forget_text(whisper);
}
