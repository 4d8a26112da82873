// kokoro.c: Kokoro as its program's two methods: durations, then the waveform.
//   in   ids of symbols, a speaker, a speed
//   out  samples of a piece
// The row of a speaker's table is the number of symbols less one, pads not counted, as the model's
// own code takes it; other programs take the next one.
#include "speak/kokoro.h"

#include <math.h>
#include <string.h>

#include "speak/kokoro_symbols.h"

enum { DURATION_SYMBOLS, DURATION_VOICE, DURATION_INPUTS };
enum { DURATION_FRAMES, DURATION_HIDDEN, DURATION_TEXT, DURATION_OUTPUTS };
enum { WAVE_HIDDEN, WAVE_TEXT, WAVE_INDEX, WAVE_VOICE, WAVE_INPUTS };

#define PADS 2u // one symbol of silence in front and one behind

struct kz_kokoro {
    kazeia_allocator allocator;
    kz_context *context;
    kz_program *program;
    kz_kokoro_shape shape;
    uint32_t measure_method, wave_method;
    uint32_t style_rows; // of a speaker
    uint32_t speaker;
    const char *const *speakers, *const *languages;
    size_t speaker_count;
    uint32_t count; // symbols of the piece that was measured, pads included; 0: none
    int32_t voice;  // its row of the table
    int32_t *symbols, *durations, *index;
    float *frames, *hidden, *text, *samples;
};

// --- Creation -----------------------------------------------------------------------------------

static kazeia_status read_shape(kz_kokoro *kokoro) {
    int64_t rate = 0, samples = 0, rows = 0, ids = 0;
    size_t count = 0;
    const kz_program *program = kokoro->program;
    KZ_TRY(kz_program_require_integer(program, "speak.sample_rate_hz", 1, 1 << 20, &rate));
    KZ_TRY(kz_program_require_integer(program, "speak.samples_per_frame", 1, 1 << 16, &samples));
    KZ_TRY(kz_program_require_integer(program, "speak.style_rows", 1, 1 << 16, &rows));
    KZ_TRY(kz_program_require_integer(program, "speak.ids", 1, 1 << 16, &ids));
    if (!kz_program_strings(program, "speak.speakers", &kokoro->speakers, &kokoro->speaker_count) ||
        !kz_program_strings(program, "speak.speaker_languages", &kokoro->languages, &count) ||
        count != kokoro->speaker_count || count == 0) {
        return kz_fail(KAZEIA_BAD_FILE, "program: a Kokoro needs 'speak.speakers' and as many "
                                        "'speak.speaker_languages'");
    }
    kokoro->style_rows = (uint32_t)rows;
    kokoro->shape.id_limit = (uint32_t)ids;
    kokoro->shape.samples_per_frame = (uint32_t)samples;
    kokoro->shape.sample_rate_hz = (uint32_t)rate;
    return KAZEIA_OK;
}

// Elements of an input or output at the symbols' maxima, 0 when it is not of `type`.
static uint64_t elements(const kz_method *method, uint32_t value, kz_type type) {
    const kz_value *v = &method->values[value];
    uint32_t symbols[KZ_SYMBOL_LIMIT] = {0};
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        symbols[i] = method->symbols[i].maximum;
    }
    return v->type == type ? kz_value_bytes(v, symbols, method->symbol_count) / 4 : 0;
}

// The methods' inputs and outputs, of the sizes that this file gives them. `out_hidden` and
// `out_text` are elements.
static bool has_methods(kz_kokoro *kokoro, const kz_method *measure, const kz_method *wave,
                        uint64_t *out_hidden, uint64_t *out_text) {
    kz_kokoro_shape *shape = &kokoro->shape;
    if (measure->symbol_count != 1 || measure->input_count != DURATION_INPUTS ||
        measure->output_count != DURATION_OUTPUTS || wave->symbol_count != 2 ||
        wave->input_count != WAVE_INPUTS || wave->output_count != 1) {
        return false;
    }
    const uint64_t symbols = measure->symbols[0].maximum, frames = wave->symbols[1].maximum;
    const kz_value *ids = &measure->values[measure->inputs[DURATION_SYMBOLS]];
    const kz_value *voice = &wave->values[wave->inputs[WAVE_VOICE]];
    *out_hidden = elements(measure, measure->outputs[DURATION_HIDDEN], KZ_F32);
    *out_text = elements(measure, measure->outputs[DURATION_TEXT], KZ_F32);
    shape->symbol_limit = (uint32_t)symbols - PADS;
    shape->frame_limit = (uint32_t)frames;
    return symbols > PADS && frames > 0 && wave->symbols[0].maximum == symbols &&
           ids->limit >= shape->id_limit && *out_hidden > 0 && *out_text > 0 &&
           voice->limit >= (uint64_t)kokoro->style_rows * kokoro->speaker_count &&
           elements(measure, measure->inputs[DURATION_SYMBOLS], KZ_I32) == symbols &&
           elements(measure, measure->inputs[DURATION_VOICE], KZ_I32) == 1 &&
           elements(measure, measure->outputs[DURATION_FRAMES], KZ_F32) == symbols &&
           elements(wave, wave->inputs[WAVE_HIDDEN], KZ_F32) == *out_hidden &&
           elements(wave, wave->inputs[WAVE_TEXT], KZ_F32) == *out_text &&
           elements(wave, wave->inputs[WAVE_INDEX], KZ_I32) == frames &&
           elements(wave, wave->inputs[WAVE_VOICE], KZ_I32) == 1 &&
           elements(wave, wave->outputs[0], KZ_F32) == frames * shape->samples_per_frame;
}

static kazeia_status allocate(kz_kokoro *kokoro, uint64_t hidden, uint64_t text) {
    const kazeia_allocator *memory = &kokoro->allocator;
    const kz_kokoro_shape *shape = &kokoro->shape;
    const size_t symbols = (size_t)shape->symbol_limit + PADS, frames = shape->frame_limit;
    KZ_TRY(kz_alloc(memory, symbols, 4, "symbols", (void **)&kokoro->symbols));
    KZ_TRY(kz_alloc(memory, symbols, 4, "durations", (void **)&kokoro->durations));
    KZ_TRY(kz_alloc(memory, symbols, 4, "durations", (void **)&kokoro->frames));
    KZ_TRY(kz_alloc(memory, frames, 4, "frames", (void **)&kokoro->index));
    KZ_TRY(kz_alloc(memory, (size_t)hidden, 4, "encodings", (void **)&kokoro->hidden));
    KZ_TRY(kz_alloc(memory, (size_t)text, 4, "encodings", (void **)&kokoro->text));
    return kz_alloc(memory, frames * shape->samples_per_frame, 4, "samples",
                    (void **)&kokoro->samples);
}

static kazeia_status fill(kz_kokoro *kokoro, kz_pool *pool, kz_priority priority) {
    uint64_t hidden = 0, text = 0;
    KZ_TRY(kz_program_require_method(kokoro->program, "durations", &kokoro->measure_method));
    KZ_TRY(kz_program_require_method(kokoro->program, "waveform", &kokoro->wave_method));
    KZ_TRY(read_shape(kokoro));
    const kz_program_description *description = kz_program_describe(kokoro->program);
    if (!has_methods(kokoro, &description->methods[kokoro->measure_method],
                     &description->methods[kokoro->wave_method], &hidden, &text)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: methods 'durations' and 'waveform' do not take symbols, a voice "
                       "and an index, and give frames, encodings and %u samples a frame",
                       kokoro->shape.samples_per_frame);
    }
    KZ_TRY(allocate(kokoro, hidden, text));
    return kz_context_create(kokoro->program, pool, priority, 0, &kokoro->allocator,
                             &kokoro->context);
}

kazeia_status kz_kokoro_create(kz_program *program, kz_pool *pool, kz_priority priority,
                               const kazeia_allocator *allocator, kz_kokoro **out_kokoro) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_kokoro *kokoro = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *kokoro, "a voice", (void **)&kokoro));
    kokoro->allocator = memory;
    kokoro->program = kz_program_retain(program);
    const kazeia_status status = fill(kokoro, pool, priority);
    if (status != KAZEIA_OK) {
        kz_kokoro_destroy(kokoro);
        return status;
    }
    *out_kokoro = kokoro;
    return KAZEIA_OK;
}

void kz_kokoro_destroy(kz_kokoro *kokoro) {
    if (!kokoro) {
        return;
    }
    const kazeia_allocator memory = kokoro->allocator;
    kz_context_destroy(kokoro->context);
    kz_program_release(kokoro->program);
    kz_free(&memory, kokoro->symbols);
    kz_free(&memory, kokoro->durations);
    kz_free(&memory, kokoro->index);
    kz_free(&memory, kokoro->frames);
    kz_free(&memory, kokoro->hidden);
    kz_free(&memory, kokoro->text);
    kz_free(&memory, kokoro->samples);
    kz_free(&memory, kokoro);
}

const kz_kokoro_shape *kz_kokoro_shape_of(const kz_kokoro *kokoro) {
    return &kokoro->shape;
}

// --- Speakers -----------------------------------------------------------------------------------

static kazeia_status fail_unknown(const kz_kokoro *kokoro, const char *speaker) {
    char known[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < kokoro->speaker_count; i++) {
        const size_t length = strlen(kokoro->speakers[i]);
        if (used + length + 3 < sizeof known) {
            memcpy(known + used, i > 0 ? ", " : "", i > 0 ? 2 : 0);
            used += i > 0 ? 2 : 0;
            memcpy(known + used, kokoro->speakers[i], length + 1);
            used += length;
        }
    }
    return kz_fail(KAZEIA_NOT_FOUND, "the voice has no speaker '%s'; it has %s", speaker, known);
}

kazeia_status kz_kokoro_choose(kz_kokoro *kokoro, const char *speaker) {
    for (size_t i = 0; i < kokoro->speaker_count; i++) {
        if (strcmp(kokoro->speakers[i], speaker) == 0) {
            kokoro->speaker = (uint32_t)i;
            kokoro->count = 0; // what was measured was another's
            return KAZEIA_OK;
        }
    }
    return fail_unknown(kokoro, speaker);
}

const char *kz_kokoro_speaker_of(const kz_kokoro *kokoro) {
    return kokoro->speakers[kokoro->speaker];
}

const char *kz_kokoro_language_of(const kz_kokoro *kokoro) {
    return kokoro->languages[kokoro->speaker];
}

const char *kz_kokoro_speaker_for(const kz_kokoro *kokoro, const char *language) {
    for (size_t i = 0; i < kokoro->speaker_count; i++) {
        if (kz_kokoro_is_language(language, kokoro->languages[i])) {
            return kokoro->speakers[i];
        }
    }
    return NULL;
}

// --- A piece ------------------------------------------------------------------------------------

static kazeia_status check_piece(const kz_kokoro *kokoro, const int32_t *ids, uint32_t count,
                                 float speed) {
    const kz_kokoro_shape *shape = &kokoro->shape;
    if (count == 0 || count > shape->symbol_limit) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "kokoro: %u symbols in a piece, expected 1 to %u",
                       count, shape->symbol_limit);
    }
    if (!(speed >= 0.5f && speed <= 2.0f)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "kokoro: speed %g, expected 0.5 to 2", (double)speed);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= shape->id_limit) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "kokoro: symbol %u is %d, expected 0 to %u", i,
                           ids[i], shape->id_limit - 1);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_kokoro_measure(kz_kokoro *kokoro, const int32_t *ids, uint32_t count, float speed,
                                int32_t **out_durations) {
    KZ_TRY(check_piece(kokoro, ids, count, speed));
    const uint32_t row = count - 1 < kokoro->style_rows ? count - 1 : kokoro->style_rows - 1;
    const uint32_t symbols[1] = {count + PADS};
    kokoro->count = 0;
    kokoro->voice = (int32_t)(kokoro->speaker * kokoro->style_rows + row);
    kokoro->symbols[0] = kokoro->symbols[count + 1] = 0;
    memcpy(kokoro->symbols + 1, ids, count * sizeof *ids);
    const void *inputs[DURATION_INPUTS] = {kokoro->symbols, &kokoro->voice};
    void *outputs[DURATION_OUTPUTS] = {kokoro->frames, kokoro->hidden, kokoro->text};
    KZ_TRY(kz_context_run(kokoro->context, kokoro->measure_method, symbols, inputs, outputs));
    for (uint32_t i = 0; i < symbols[0]; i++) {
        // To the nearest even, as ONNX's Round. A number that is none lasts a frame.
        const float frames = rintf(kokoro->frames[i] / speed);
        const float most = (float)kokoro->shape.frame_limit;
        kokoro->durations[i] = !(frames > 1.0f) ? 1 : (int32_t)(frames < most ? frames : most);
    }
    kokoro->count = symbols[0];
    *out_durations = kokoro->durations;
    return KAZEIA_OK;
}

uint64_t kz_kokoro_frames(const int32_t *durations, uint32_t count) {
    uint64_t frames = 0;
    for (uint32_t i = 0; i < count; i++) {
        frames += durations[i] > 0 ? (uint64_t)durations[i] : 0;
    }
    return frames;
}

// Which symbol each frame belongs to.
static kazeia_status lay_out(kz_kokoro *kokoro, uint32_t *out_frames) {
    const uint64_t frames = kz_kokoro_frames(kokoro->durations, kokoro->count);
    uint32_t place = 0;
    if (kokoro->count == 0 || frames > kokoro->shape.frame_limit) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "kokoro: %llu frames in a piece, expected 1 to %u",
                       (unsigned long long)frames, kokoro->shape.frame_limit);
    }
    for (uint32_t i = 0; i < kokoro->count; i++) {
        if (kokoro->durations[i] < 1) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "kokoro: symbol %u lasts %d frames", i,
                           kokoro->durations[i]);
        }
        for (int32_t frame = 0; frame < kokoro->durations[i]; frame++) {
            kokoro->index[place++] = (int32_t)i;
        }
    }
    *out_frames = place;
    return KAZEIA_OK;
}

kazeia_status kz_kokoro_speak(kz_kokoro *kokoro, const float **out_samples, size_t *out_count) {
    uint32_t frames = 0;
    KZ_TRY(lay_out(kokoro, &frames));
    const uint32_t symbols[2] = {kokoro->count, frames};
    const void *inputs[WAVE_INPUTS] = {kokoro->hidden, kokoro->text, kokoro->index, &kokoro->voice};
    void *outputs[1] = {kokoro->samples};
    KZ_TRY(kz_context_run(kokoro->context, kokoro->wave_method, symbols, inputs, outputs));
    *out_samples = kokoro->samples;
    *out_count = (size_t)frames * kokoro->shape.samples_per_frame;
    return KAZEIA_OK;
}

void kz_kokoro_cancel(kz_kokoro *kokoro) {
    kz_context_cancel(kokoro->context);
}

void kz_kokoro_resume(kz_kokoro *kokoro) {
    kz_context_resume(kokoro->context);
}
