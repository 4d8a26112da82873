// codec.c: the codec of a voice's program.
//   in   codes of frames
//   out  samples
// Positions go on for the whole stream while the caches are a ring of the window and one call:
// the row table names row `position % ring`, which is never one that is still seen.
#include "speak/codec.h"

#include <string.h>

enum { INPUT_CODES, INPUT_POSITIONS, INPUT_SEQUENCES, INPUT_TABLE, INPUT_COUNT };
enum { SYMBOL_FRAMES, SYMBOL_SEQUENCES, SYMBOL_COUNT };

struct kz_codec {
    kazeia_allocator allocator;
    kz_context *context;
    const kz_method *method;
    uint32_t method_index;
    kz_codec_shape shape;
    int32_t *table;     // [stream_limit]: the ring's rows in turn
    int32_t *codes;     // [frame_limit][groups]: rows of all codebooks below each other
    int32_t *positions; // [frame_limit]
    int32_t *zeros;     // [frame_limit]: the one sequence
    uint32_t position;  // of the next frame
};

// --- Creation -----------------------------------------------------------------------------------

static kazeia_status read_number(const kz_program *program, const char *key, int64_t maximum,
                                 uint32_t *out_value) {
    int64_t value = 0;
    KZ_TRY(kz_program_require_integer(program, key, 1, maximum, &value));
    *out_value = (uint32_t)value;
    return KAZEIA_OK;
}

static kazeia_status read_shape(const kz_program *program, kz_codec_shape *shape) {
    KZ_TRY(read_number(program, "speak.groups", 64, &shape->groups));
    KZ_TRY(read_number(program, "speak.codes", 1 << 20, &shape->codes));
    KZ_TRY(read_number(program, "speak.samples_per_frame", 1 << 20, &shape->samples_per_frame));
    return read_number(program, "speak.sample_rate_hz", 1 << 20, &shape->sample_rate_hz);
}

// Whether value has the bytes of `count` elements of 4 bytes at the most frames.
static bool has_size(const kz_codec *codec, uint32_t value, kz_type type, uint64_t count) {
    const kz_value *v = &codec->method->values[value];
    const uint32_t symbols[SYMBOL_COUNT] = {codec->shape.frame_limit, 1};
    return v->type == type && kz_value_bytes(v, symbols, SYMBOL_COUNT) == 4 * count;
}

// Sizes at the maximum say all: each grows with frames alone or not at all.
static kazeia_status check_method(kz_codec *codec, uint32_t *out_ring) {
    const kz_method *method = codec->method;
    const uint32_t *in = method->inputs;
    bool is_right = method->symbol_count == SYMBOL_COUNT && method->input_count == INPUT_COUNT &&
                    method->output_count == 1 && method->symbols[SYMBOL_FRAMES].maximum >= 1 &&
                    method->symbols[SYMBOL_FRAMES].maximum <= 4096;
    if (is_right) {
        const uint64_t frames = codec->shape.frame_limit = method->symbols[SYMBOL_FRAMES].maximum;
        const kz_value *table = &method->values[in[INPUT_TABLE]];
        is_right =
            kz_dim_is_constant(&table->dims[1], &codec->shape.stream_limit) &&
            codec->shape.stream_limit >= frames && table->limit >= frames &&
            has_size(codec, in[INPUT_TABLE], KZ_I32, codec->shape.stream_limit) &&
            has_size(codec, in[INPUT_CODES], KZ_I32, frames * codec->shape.groups) &&
            has_size(codec, in[INPUT_POSITIONS], KZ_I32, frames) &&
            has_size(codec, in[INPUT_SEQUENCES], KZ_I32, frames) &&
            has_size(codec, method->outputs[0], KZ_F32, frames * codec->shape.samples_per_frame);
        *out_ring = table->limit;
    }
    return is_right ? KAZEIA_OK
                    : kz_fail(KAZEIA_BAD_FILE,
                              "program: method 'codec_decode' does not take codes of %u groups, "
                              "positions, sequences and a row table, and give %u samples a frame",
                              codec->shape.groups, codec->shape.samples_per_frame);
}

static kazeia_status allocate(kz_codec *codec, uint32_t ring) {
    const kz_codec_shape *shape = &codec->shape;
    const kazeia_allocator *memory = &codec->allocator;
    KZ_TRY(kz_alloc(memory, shape->stream_limit, sizeof(int32_t), "codec row table",
                    (void **)&codec->table));
    KZ_TRY(kz_alloc(memory, (size_t)shape->frame_limit * shape->groups, sizeof(int32_t),
                    "codec codes", (void **)&codec->codes));
    KZ_TRY(kz_alloc(memory, shape->frame_limit, sizeof(int32_t), "codec positions",
                    (void **)&codec->positions));
    KZ_TRY(kz_alloc(memory, shape->frame_limit, sizeof(int32_t), "codec sequences",
                    (void **)&codec->zeros));
    for (uint32_t i = 0; i < shape->stream_limit; i++) {
        codec->table[i] = (int32_t)(i % ring);
    }
    return KAZEIA_OK;
}

static kazeia_status fill(kz_codec *codec) {
    const kz_program *program = kz_context_program(codec->context);
    uint32_t ring = 1;
    KZ_TRY(kz_program_require_method(program, "codec_decode", &codec->method_index));
    codec->method = &kz_program_describe(program)->methods[codec->method_index];
    KZ_TRY(read_shape(program, &codec->shape));
    KZ_TRY(check_method(codec, &ring));
    KZ_TRY(allocate(codec, ring));
    kz_codec_reset(codec);
    return KAZEIA_OK;
}

kazeia_status kz_codec_create(kz_context *context, const kazeia_allocator *allocator,
                              kz_codec **out_codec) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_codec *codec = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *codec, "codec", (void **)&codec));
    codec->allocator = memory;
    codec->context = context;
    const kazeia_status status = fill(codec);
    if (status != KAZEIA_OK) {
        kz_codec_destroy(codec);
        return status;
    }
    *out_codec = codec;
    return KAZEIA_OK;
}

void kz_codec_destroy(kz_codec *codec) {
    if (!codec) {
        return;
    }
    const kazeia_allocator memory = codec->allocator;
    kz_free(&memory, codec->table);
    kz_free(&memory, codec->codes);
    kz_free(&memory, codec->positions);
    kz_free(&memory, codec->zeros);
    kz_free(&memory, codec);
}

const kz_codec_shape *kz_codec_shape_of(const kz_codec *codec) {
    return &codec->shape;
}

// --- The stream ---------------------------------------------------------------------------------

void kz_codec_reset(kz_codec *codec) {
    const kz_program_description *description =
        kz_program_describe(kz_context_program(codec->context));
    // Zeros are the silence before the first frame. The caches' old rows are not seen again, but
    // are cleared with the tails: they are small.
    for (uint32_t i = 0; i < codec->method->value_count; i++) {
        const kz_value *value = &codec->method->values[i];
        if (value->kind == KZ_VALUE_STATE) {
            memset(kz_context_state(codec->context, value->index), 0,
                   (size_t)kz_state_bytes(&description->states[value->index]));
        }
    }
    codec->position = 0;
}

static kazeia_status check_codes(const kz_codec *codec, const int32_t *codes, uint32_t frames) {
    const kz_codec_shape *shape = &codec->shape;
    if (frames == 0 || frames > shape->frame_limit ||
        frames > shape->stream_limit - codec->position) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "codec: %u frames behind %u, expected 1 to %u a call and at most %u in all",
                       frames, codec->position, shape->frame_limit, shape->stream_limit);
    }
    for (size_t i = 0; i < (size_t)frames * shape->groups; i++) {
        if (codes[i] < 0 || (uint32_t)codes[i] >= shape->codes) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "codec: code %d of frame %zu is not below %u",
                           codes[i], i / shape->groups, shape->codes);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_codec_decode(kz_codec *codec, const int32_t *codes, uint32_t frames,
                              float *out_samples) {
    const kz_codec_shape *shape = &codec->shape;
    KZ_TRY(check_codes(codec, codes, frames));
    for (size_t i = 0; i < (size_t)frames * shape->groups; i++) {
        codec->codes[i] = codes[i] + (int32_t)(i % shape->groups * shape->codes);
    }
    for (uint32_t i = 0; i < frames; i++) {
        codec->positions[i] = (int32_t)(codec->position + i);
    }
    const uint32_t symbols[SYMBOL_COUNT] = {frames, 1};
    const void *inputs[INPUT_COUNT] = {codec->codes, codec->positions, codec->zeros, codec->table};
    void *outputs[1] = {out_samples};
    KZ_TRY(kz_context_run(codec->context, codec->method_index, symbols, inputs, outputs));
    codec->position += frames;
    return KAZEIA_OK;
}
