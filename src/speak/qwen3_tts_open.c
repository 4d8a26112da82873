// qwen3_tts_open.c: from a program to a voice that can speak.
//   in   a program of ability "speak", what is wished of the voice
//   out  an open voice: everything is allocated and every id known
#include <string.h>
#include <strings.h>

#include "speak/qwen3_tts_state.h"

#define SPEAKER_LIST_BYTES 512

// --- Ids and numbers of the program -------------------------------------------------------------

typedef struct wanted_id {
    const char *key;
    int64_t *value;
} wanted_id;

static kazeia_status read_ids(kz_tts_voice *voice, int64_t text_vocabulary) {
    kz_tts_ids *ids = &voice->ids;
    const wanted_id text[] = {{"speak.text.start", &ids->text_start},
                              {"speak.text.end", &ids->text_end},
                              {"speak.text.assistant", &ids->text_assistant},
                              {"speak.text.pad", &ids->text_pad},
                              {"speak.text.bos", &ids->text_bos},
                              {"speak.text.eos", &ids->text_eos}};
    const wanted_id codes[] = {{"speak.code.pad", &ids->pad},
                               {"speak.code.bos", &ids->bos},
                               {"speak.code.eos", &ids->eos},
                               {"speak.code.think", &ids->think},
                               {"speak.code.nothink", &ids->nothink},
                               {"speak.code.think_bos", &ids->think_bos},
                               {"speak.code.think_eos", &ids->think_eos},
                               {"speak.first_suppressed", &ids->first_suppressed}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        KZ_TRY(kz_program_require_integer(voice->program, text[i].key, 0, text_vocabulary - 1,
                                          text[i].value));
    }
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        KZ_TRY(kz_program_require_integer(voice->program, codes[i].key, 0, voice->vocabulary - 1,
                                          codes[i].value));
    }
    return KAZEIA_OK;
}

static kazeia_status read_size(const kz_program *program, const char *key, int64_t least,
                               int64_t most, uint32_t *out_value) {
    int64_t value = 0;
    KZ_TRY(kz_program_require_integer(program, key, least, most, &value));
    *out_value = (uint32_t)value;
    return KAZEIA_OK;
}

static kazeia_status read_sizes(kz_tts_voice *voice) {
    const kz_program *program = voice->program;
    KZ_TRY(read_size(program, "model.hidden", 1, 1 << 16, &voice->hidden));
    KZ_TRY(read_size(program, "speak.vocabulary", 1, 1 << 22, &voice->vocabulary));
    KZ_TRY(read_size(program, "model.context", 16, 1 << 22, &voice->context));
    KZ_TRY(read_size(program, "speak.groups", 2, KZ_TTS_GROUPS, &voice->groups));
    KZ_TRY(read_size(program, "speak.codes", 2, 1 << 20, &voice->codes));
    return read_size(program, "speak.frame_limit", 1, 1 << 20, &voice->frame_limit);
}

// --- Methods ------------------------------------------------------------------------------------

// Whether a value has that type and, for these symbols, exactly those bytes.
static bool has_bytes(const kz_method *method, uint32_t value, kz_type type,
                      const uint32_t *symbols, uint64_t count) {
    const kz_value *v = &method->values[value];
    return v->type == type && kz_value_bytes(v, symbols, method->symbol_count) == 4 * count;
}

static kazeia_status refuse_method(const char *name) {
    return kz_fail(KAZEIA_BAD_FILE,
                   "program: method '%s' does not have the inputs and outputs of a voice", name);
}

static kazeia_status find_method(const kz_tts_voice *voice, const char *name, uint32_t inputs,
                                 uint32_t symbols, uint32_t *out_index,
                                 const kz_method **out_method) {
    KZ_TRY(kz_program_require_method(voice->program, name, out_index));
    *out_method = &kz_program_describe(voice->program)->methods[*out_index];
    const kz_method *method = *out_method;
    return method->input_count == inputs && method->output_count == 1 &&
                   method->symbol_count == symbols
               ? KAZEIA_OK
               : refuse_method(name);
}

static kazeia_status find_rows_method(kz_tts_voice *voice, const char *name, uint32_t *out_index,
                                      uint32_t *out_limit) {
    const kz_method *method = NULL;
    KZ_TRY(find_method(voice, name, 1, 1, out_index, &method));
    const uint32_t rows = method->symbols[0].maximum, one = 1;
    // Linear in the rows: the same at one and at the most.
    const bool is_right =
        rows >= 1 && has_bytes(method, method->inputs[0], KZ_I32, &rows, rows) &&
        has_bytes(method, method->inputs[0], KZ_I32, &one, 1) &&
        has_bytes(method, method->outputs[0], KZ_F32, &rows, (uint64_t)rows * voice->hidden) &&
        has_bytes(method, method->outputs[0], KZ_F32, &one, voice->hidden);
    *out_limit = method->values[method->inputs[0]].limit;
    voice->rows_limit = voice->rows_limit && voice->rows_limit < rows ? voice->rows_limit : rows;
    return is_right ? KAZEIA_OK : refuse_method(name);
}

static kazeia_status find_predictor(kz_tts_voice *voice) {
    const kz_method *method = NULL;
    KZ_TRY(find_method(voice, "predict", 4, 2, &voice->predict_method, &method));
    const uint32_t pair[2] = {2, 1}, single[2] = {1, 1};
    const uint32_t *in = method->inputs;
    uint32_t width = 0;
    const bool is_right =
        method->symbols[0].maximum >= 2 && method->symbols[1].maximum >= 1 &&
        kz_dim_is_constant(&method->values[method->outputs[0]].dims[1], &width) && width > 0 &&
        has_bytes(method, in[0], KZ_F32, pair, 2 * (uint64_t)voice->hidden) &&
        has_bytes(method, in[0], KZ_F32, single, voice->hidden) &&
        has_bytes(method, in[1], KZ_I32, pair, 2) && has_bytes(method, in[1], KZ_I32, single, 1) &&
        has_bytes(method, in[2], KZ_I32, pair, 2) && has_bytes(method, in[2], KZ_I32, single, 1) &&
        has_bytes(method, in[3], KZ_I32, pair, voice->groups) &&
        has_bytes(method, in[3], KZ_I32, single, voice->groups) &&
        has_bytes(method, method->outputs[0], KZ_F32, pair, 2 * (uint64_t)width) &&
        has_bytes(method, method->outputs[0], KZ_F32, single, width);
    voice->predictor_hidden = width;
    return is_right ? KAZEIA_OK : refuse_method("predict");
}

static kazeia_status find_heads(kz_tts_voice *voice) {
    for (uint32_t g = 1; g < voice->groups; g++) {
        const char name[] = {'p',
                             'r',
                             'e',
                             'd',
                             'i',
                             'c',
                             't',
                             '_',
                             'l',
                             'o',
                             'g',
                             'i',
                             't',
                             's',
                             '.',
                             (char)(g < 10 ? '0' + g : '1'),
                             (char)(g < 10 ? '\0' : '0' + g % 10),
                             '\0'};
        const kz_method *method = NULL;
        KZ_TRY(find_method(voice, name, 1, 0, &voice->head_methods[g], &method));
        if (!has_bytes(method, method->inputs[0], KZ_F32, NULL, voice->predictor_hidden) ||
            !has_bytes(method, method->outputs[0], KZ_F32, NULL, voice->codes)) {
            return refuse_method(name);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status find_methods(kz_tts_voice *voice) {
    uint32_t text_limit = 0, code_limit = 0;
    KZ_TRY(find_rows_method(voice, "text_rows", &voice->text_rows_method, &text_limit));
    KZ_TRY(find_rows_method(voice, "code_rows", &voice->code_rows_method, &code_limit));
    if (code_limit != voice->vocabulary + (voice->groups - 1) * voice->codes) {
        return refuse_method("code_rows");
    }
    KZ_TRY(find_predictor(voice));
    KZ_TRY(find_heads(voice));
    return read_ids(voice, text_limit);
}

// --- Names --------------------------------------------------------------------------------------

typedef struct name_list {
    const char *what; // for sentences: "language"
    const char *const *names;
    const int64_t *codes;
    size_t count;
} name_list;

static kazeia_status read_names(const kz_tts_voice *voice, const char *what, const char *names_key,
                                const char *codes_key, name_list *out_list) {
    size_t code_count = 0;
    *out_list = (name_list){.what = what};
    if (!kz_program_strings(voice->program, names_key, &out_list->names, &out_list->count) ||
        !kz_program_integers(voice->program, codes_key, &out_list->codes, &code_count) ||
        code_count != out_list->count) {
        return kz_fail(KAZEIA_BAD_FILE, "program: '%s' and '%s' are not lists of one length",
                       names_key, codes_key);
    }
    for (size_t i = 0; i < code_count; i++) {
        if (out_list->codes[i] < 0 || out_list->codes[i] >= voice->vocabulary) {
            return kz_fail(KAZEIA_BAD_FILE, "program: '%s'[%zu] is no code", codes_key, i);
        }
    }
    return KAZEIA_OK;
}

// The index of a name, whatever its case; the sentence of a failure lists all.
static kazeia_status find_name(const name_list *list, const char *name, size_t *out_index) {
    char all[SPEAKER_LIST_BYTES] = "none";
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        const size_t length = strlen(list->names[i]);
        if (strcasecmp(list->names[i], name) == 0) {
            *out_index = i;
            return KAZEIA_OK;
        }
        if (used + length + 3 < sizeof all) {
            memcpy(all + used, used ? ", " : "", used ? 2 : 0);
            used += used ? 2 : 0;
            memcpy(all + used, list->names[i], length + 1);
            used += length;
        }
    }
    return kz_fail(KAZEIA_NOT_FOUND, "voice: there is no %s '%s'; the program has %s", list->what,
                   name, all);
}

// Programs name languages in English, as the checkpoints do: code, name.
static const char *const language_names[][2] = {
    {"zh", "chinese"},  {"en", "english"},   {"de", "german"}, {"it", "italian"},
    {"ja", "japanese"}, {"ko", "korean"},    {"fr", "french"}, {"ru", "russian"},
    {"es", "spanish"},  {"pt", "portuguese"}};
#define LANGUAGE_COUNT (sizeof language_names / sizeof *language_names)

// `text` in column `from` becomes what stands beside it; itself when it is not there.
static const char *translate(const char *text, size_t from) {
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        if (strcasecmp(language_names[i][from], text) == 0) {
            return language_names[i][1 - from];
        }
    }
    return text;
}

const char *kz_tts_language_code(const char *name) {
    return name == NULL || strcasecmp(name, "auto") == 0 ? NULL : translate(name, 1);
}

static kazeia_status choose_language(kz_tts_voice *voice, const char *wished, const char *dialect) {
    name_list languages;
    size_t index = 0;
    const char *name = wished ? translate(wished, 0) : "auto";
    const bool is_auto = strcasecmp(name, "auto") == 0;
    KZ_TRY(read_names(voice, "language", "speak.languages", "speak.language_codes", &languages));
    // A speaker of a dialect speaks it where Chinese is meant or nothing is said.
    if (dialect[0] != '\0' && (is_auto || strcasecmp(name, "chinese") == 0)) {
        name = dialect;
    }
    voice->ids.language = -1;
    if (is_auto && dialect[0] == '\0') {
        return KAZEIA_OK;
    }
    KZ_TRY(find_name(&languages, name, &index));
    voice->ids.language = languages.codes[index];
    return KAZEIA_OK;
}

static kazeia_status choose_vector(kz_tts_voice *voice, const kz_tts_settings *settings) {
    if (!settings->vector) {
        return KAZEIA_OK;
    }
    if (settings->vector_count != voice->hidden) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "voice: a speaker's vector of %zu numbers, the program has %u; it was made "
                       "for another",
                       settings->vector_count, voice->hidden);
    }
    KZ_TRY(kz_alloc(&voice->allocator, voice->hidden, sizeof(float), "speaker row",
                    (void **)&voice->speaker_row));
    memcpy(voice->speaker_row, settings->vector, voice->hidden * sizeof(float));
    return KAZEIA_OK;
}

static kazeia_status choose_speaker(kz_tts_voice *voice, const kz_tts_settings *settings,
                                    const char **out_dialect) {
    const char *const *dialects = NULL;
    name_list speakers;
    size_t index = 0, count = 0;
    *out_dialect = "";
    if (!settings->speaker || settings->speaker[0] == '\0') {
        return choose_vector(voice, settings);
    }
    KZ_TRY(read_names(voice, "speaker", "speak.speakers", "speak.speaker_codes", &speakers));
    KZ_TRY(find_name(&speakers, settings->speaker, &index));
    if (kz_program_strings(voice->program, "speak.speaker_dialects", &dialects, &count) &&
        index < count) {
        *out_dialect = dialects[index];
    }
    const int32_t code = (int32_t)speakers.codes[index];
    KZ_TRY(kz_alloc(&voice->allocator, voice->hidden, sizeof(float), "speaker row",
                    (void **)&voice->speaker_row));
    return kz_tts_code_rows(voice, &code, 1, voice->speaker_row);
}

// --- Memory -------------------------------------------------------------------------------------

typedef struct wanted_memory {
    void *pointer; // of the voice's member
    size_t count, bytes_each;
} wanted_memory;

static kazeia_status take_all(kz_tts_voice *voice, const wanted_memory *wanted, size_t count) {
    for (size_t i = 0; i < count; i++) {
        void *memory = NULL;
        KZ_TRY(kz_alloc(&voice->allocator, wanted[i].count, wanted[i].bytes_each, "voice buffers",
                        &memory));
        memcpy(wanted[i].pointer, &memory, sizeof memory);
    }
    return KAZEIA_OK;
}

static kazeia_status allocate(kz_tts_voice *voice) {
    const size_t row = voice->hidden * sizeof(float);
    const kz_codec_shape *codec = kz_codec_shape_of(voice->codec);
    const wanted_memory wanted[] = {
        {&voice->pad_row, 1, row},
        {&voice->bos_row, 1, row},
        {&voice->eos_row, 1, row},
        {&voice->code_pad_row, 1, row},
        {&voice->code_bos_row, 1, row},
        {&voice->text_ids, KZ_TTS_TEXT_TOKENS + 4, sizeof(uint32_t)},
        {&voice->text_rows, KZ_TTS_TEXT_TOKENS + 1, row},
        {&voice->prefill, voice->context, row},
        {&voice->frame_rows, voice->groups, row},
        {&voice->pair_rows, 2, row},
        {&voice->next_row, 1, row},
        {&voice->predicted, 2 * (size_t)voice->predictor_hidden, sizeof(float)},
        {&voice->code_logits, voice->codes, sizeof(float)},
        {&voice->first_codes, voice->frame_limit, sizeof(int32_t)},
        {&voice->counts, voice->vocabulary, sizeof(uint32_t)},
        {&voice->predictor_table, voice->groups, sizeof(int32_t)},
        {&voice->predictor_zeros, voice->groups, sizeof(int32_t)},
        {&voice->waiting_codes, (size_t)codec->frame_limit * voice->groups, sizeof(int32_t)},
        {&voice->sound, (size_t)codec->frame_limit * codec->samples_per_frame, sizeof(float)}};
    KZ_TRY(take_all(voice, wanted, sizeof wanted / sizeof *wanted));
    for (uint32_t g = 0; g < voice->groups; g++) {
        voice->predictor_table[g] = (int32_t)g;
    }
    return KAZEIA_OK;
}

// --- The parts ----------------------------------------------------------------------------------

static kazeia_status create_session(kz_tts_voice *voice, kz_pool *pool, uint64_t memory_limit) {
    const kz_session_settings settings = {.prefill = "talk_prefill",
                                          .step = "talk_step",
                                          .logits = "logits",
                                          .sequences = 1,
                                          .priority = KZ_PRIORITY_SPEAK,
                                          .memory_limit = memory_limit};
    KZ_TRY(kz_session_create(voice->program, pool, &settings, &voice->allocator, &voice->session));
    if (kz_session_row_width(voice->session) != voice->hidden ||
        kz_session_hidden(voice->session) != voice->hidden ||
        kz_session_vocabulary(voice->session) != voice->vocabulary ||
        kz_session_limit(voice->session) != voice->context) {
        return refuse_method("talk_step");
    }
    return kz_codec_create(kz_session_context(voice->session), &voice->allocator, &voice->codec);
}

static kazeia_status create_samplers(kz_tts_voice *voice, const kz_tts_settings *settings) {
    const kz_program *program = voice->program;
    double temperature = 0.9, top_p = 1.0, repetition = 1.05, predictor_temperature = 0.9;
    double predictor_top_p = 1.0;
    int64_t top_k = 50, predictor_top_k = 50;
    (void)kz_program_real(program, "speak.temperature", &temperature);
    (void)kz_program_real(program, "speak.top_p", &top_p);
    (void)kz_program_real(program, "speak.repetition_penalty", &repetition);
    (void)kz_program_real(program, "speak.predictor.temperature", &predictor_temperature);
    (void)kz_program_real(program, "speak.predictor.top_p", &predictor_top_p);
    (void)kz_program_integer(program, "speak.top_k", &top_k);
    (void)kz_program_integer(program, "speak.predictor.top_k", &predictor_top_k);
    const float heat = settings->is_greedy ? 0.0f : 1.0f;
    const kz_sampling talker = {.temperature = heat * (float)temperature,
                                .top_k = (uint32_t)top_k,
                                .top_p = (float)top_p,
                                .seed = settings->seed};
    const kz_sampling predictor = {.temperature = heat * (float)predictor_temperature,
                                   .top_k = (uint32_t)predictor_top_k,
                                   .top_p = (float)predictor_top_p,
                                   .seed = settings->seed + 1};
    voice->penalties = (kz_penalties){.repetition = (float)repetition};
    KZ_TRY(kz_penalties_check(&voice->penalties, voice->vocabulary));
    KZ_TRY(
        kz_sampler_create(&talker, voice->vocabulary, &voice->allocator, &voice->talker_sampler));
    return kz_sampler_create(&predictor, voice->codes, &voice->allocator,
                             &voice->predictor_sampler);
}

static kazeia_status open_tokenizer(kz_tts_voice *voice) {
    const kz_bytes *section = &kz_program_describe(voice->program)->tokenizer;
    const kz_tokenizer_options options = {.max_text_bytes = sizeof voice->line};
    if (!section->count) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "program: a voice without a tokenizer; export it from a folder that has "
                       "tokenizer files");
    }
    return kz_tokenizer_open(section, &options, &voice->allocator, &voice->tokenizer);
}

// Prompts are put together of ids that the checkpoint states: a tokenizer that spells them
// otherwise is another model's.
static kazeia_status check_tokenizer(kz_tts_voice *voice) {
    static const char head[] = "assistant\n";
    uint32_t ids[16];
    size_t count = 0;
    KZ_TRY(kz_tts_encode(voice, head, sizeof head - 1, 0, ids, 16, &count));
    if (count != 2 || ids[0] != (uint32_t)voice->ids.text_assistant ||
        !kz_tokenizer_is_special(voice->tokenizer, (uint32_t)voice->ids.text_start) ||
        !kz_tokenizer_is_special(voice->tokenizer, (uint32_t)voice->ids.text_end)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: its tokenizer does not have the tokens of the voice's prompt; it "
                       "is the tokenizer of another model");
    }
    return KAZEIA_OK;
}

static kazeia_status make_rows(kz_tts_voice *voice) {
    const uint32_t text[] = {(uint32_t)voice->ids.text_pad, (uint32_t)voice->ids.text_bos,
                             (uint32_t)voice->ids.text_eos};
    const int32_t codes[] = {(int32_t)voice->ids.pad, (int32_t)voice->ids.bos};
    KZ_TRY(kz_tts_text_rows(voice, &text[0], 1, voice->pad_row));
    KZ_TRY(kz_tts_text_rows(voice, &text[1], 1, voice->bos_row));
    KZ_TRY(kz_tts_text_rows(voice, &text[2], 1, voice->eos_row));
    KZ_TRY(kz_tts_code_rows(voice, &codes[0], 1, voice->code_pad_row));
    return kz_tts_code_rows(voice, &codes[1], 1, voice->code_bos_row);
}

// "<start>user\nTEXT<end>\n" as ids of its own.
static kazeia_status keep_instruct(kz_tts_voice *voice, const char *text) {
    static const char head[] = "user\n";
    const size_t length = strlen(text);
    size_t count = 0, break_count = 0;
    if (length > KZ_TTS_QUEUE_BYTES) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "voice: an instruction of %zu bytes, at most %u",
                       length, KZ_TTS_QUEUE_BYTES);
    }
    KZ_TRY(kz_alloc(&voice->allocator, KZ_TTS_TEXT_TOKENS, sizeof(uint32_t), "instruction",
                    (void **)&voice->instruct_ids));
    memcpy(voice->line, head, sizeof head - 1);
    memcpy(voice->line + sizeof head - 1, text, length);
    uint32_t *ids = voice->instruct_ids;
    ids[0] = (uint32_t)voice->ids.text_start;
    KZ_TRY(kz_tts_encode(voice, voice->line, sizeof head - 1 + length, 0, ids + 1,
                         KZ_TTS_TEXT_TOKENS - 8, &count));
    ids[1 + count] = (uint32_t)voice->ids.text_end;
    KZ_TRY(kz_tts_encode(voice, "\n", 1, 0, ids + 2 + count, 4, &break_count));
    voice->instruct_count = 2 + count + break_count;
    return KAZEIA_OK;
}

static kazeia_status check_reference(const kz_tts_voice *voice, const kz_tts_settings *settings) {
    const size_t count = (size_t)settings->reference_frames * voice->groups;
    const char *text = settings->reference_text;
    if (!text || text[0] == '\0' || strlen(text) > KZ_TTS_QUEUE_BYTES) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "voice: a recording to go on from needs the text that is said in it");
    }
    if (settings->reference_frames >= voice->context) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "voice: a recording of %u frames, the program holds %u",
                       settings->reference_frames, voice->context);
    }
    for (size_t i = 0; i < count; i++) {
        const int32_t code = settings->reference_codes[i];
        if (code < 0 || (uint32_t)code >= voice->codes) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "voice: code %d of the recording is not below %u",
                           code, voice->codes);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status keep_reference(kz_tts_voice *voice, const kz_tts_settings *settings) {
    static const char head[] = "assistant\n";
    KZ_TRY(check_reference(voice, settings));
    const size_t count = (size_t)settings->reference_frames * voice->groups;
    const size_t length = strlen(settings->reference_text);
    KZ_TRY(kz_alloc(&voice->allocator, KZ_TTS_TEXT_TOKENS, sizeof(uint32_t), "recording's text",
                    (void **)&voice->reference_ids));
    KZ_TRY(kz_alloc(&voice->allocator, count, sizeof(int32_t), "recording",
                    (void **)&voice->reference_codes));
    memcpy(voice->reference_codes, settings->reference_codes, count * sizeof(int32_t));
    memcpy(voice->line, head, sizeof head - 1);
    memcpy(voice->line + sizeof head - 1, settings->reference_text, length);
    voice->reference_frames = settings->reference_frames;
    return kz_tts_encode(voice, voice->line, sizeof head - 1 + length, 2, voice->reference_ids,
                         KZ_TTS_TEXT_TOKENS / 2, &voice->reference_count);
}

static kazeia_status fill(kz_tts_voice *voice, kz_pool *pool, const kz_tts_settings *settings) {
    const char *dialect = "";
    KZ_TRY(kz_mutex_init(&voice->text_lock));
    voice->has_lock = true;
    KZ_TRY(read_sizes(voice));
    KZ_TRY(find_methods(voice));
    KZ_TRY(create_session(voice, pool, settings->memory_limit));
    KZ_TRY(create_samplers(voice, settings));
    KZ_TRY(open_tokenizer(voice));
    KZ_TRY(check_tokenizer(voice));
    KZ_TRY(allocate(voice));
    KZ_TRY(make_rows(voice));
    KZ_TRY(choose_speaker(voice, settings, &dialect));
    KZ_TRY(choose_language(voice, settings->language, dialect));
    if (settings->instruct && settings->instruct[0] != '\0') {
        KZ_TRY(keep_instruct(voice, settings->instruct));
    }
    if (settings->reference_codes && settings->reference_frames) {
        KZ_TRY(keep_reference(voice, settings));
    }
    voice->base.table = &kz_qwen3_tts_voice_table;
    voice->base.sample_rate_hz = kz_codec_shape_of(voice->codec)->sample_rate_hz;
    voice->base.table->reset(&voice->base);
    return KAZEIA_OK;
}

kazeia_status kz_qwen3_tts_open(kz_program *program, kz_pool *pool, const kz_tts_settings *settings,
                                const kazeia_allocator *allocator, kz_voice **out_voice) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    const char *ability = kz_program_string(program, "ability");
    kz_tts_voice *voice = NULL;
    if (!ability || strcmp(ability, "speak") != 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "voice: the program's ability is '%s', expected 'speak'",
                       ability ? ability : "");
    }
    KZ_TRY(kz_alloc(&memory, 1, sizeof *voice, "voice", (void **)&voice));
    voice->allocator = memory;
    voice->program = kz_program_retain(program);
    voice->tap = settings->tap;
    voice->is_whole = settings->is_whole;
    voice->is_verbatim = settings->is_verbatim;
    voice->max_frames = settings->max_frames;
    atomic_init(&voice->is_cancelled, false);
    const kazeia_status status = fill(voice, pool, settings);
    if (status != KAZEIA_OK) {
        kz_tts_close(&voice->base);
        return status;
    }
    *out_voice = &voice->base;
    return KAZEIA_OK;
}

void kz_tts_close(kz_voice *base) {
    kz_tts_voice *voice = (kz_tts_voice *)base;
    const kazeia_allocator memory = voice->allocator;
    void *const buffers[] = {voice->pad_row,
                             voice->bos_row,
                             voice->eos_row,
                             voice->code_pad_row,
                             voice->code_bos_row,
                             voice->speaker_row,
                             voice->instruct_ids,
                             voice->reference_ids,
                             voice->reference_codes,
                             voice->predictor_table,
                             voice->predictor_zeros,
                             voice->text_ids,
                             voice->text_rows,
                             voice->prefill,
                             voice->frame_rows,
                             voice->pair_rows,
                             voice->next_row,
                             voice->predicted,
                             voice->code_logits,
                             voice->first_codes,
                             voice->counts,
                             voice->waiting_codes,
                             voice->sound};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        kz_free(&memory, buffers[i]);
    }
    kz_codec_destroy(voice->codec);
    kz_session_destroy(voice->session);
    kz_sampler_destroy(voice->talker_sampler);
    kz_sampler_destroy(voice->predictor_sampler);
    kz_tokenizer_close(voice->tokenizer);
    if (voice->has_lock) {
        kz_mutex_clear(&voice->text_lock);
    }
    kz_program_release(voice->program);
    kz_free(&memory, voice);
}
