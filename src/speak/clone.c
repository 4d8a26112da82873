// clone.c: a recording as codes and as a vector.
//   in   samples
//   out  codes, a vector
// The encoder's convolutions are a stream in chunks; only rows at 25 Hz are kept whole. The nearest
// code is found here: distances in double, so that no rounding decides.
#include "speak/clone.h"

#include <float.h>
#include <string.h>

#define SHORTEST_SAMPLES 2400u // of a speaker's vector: its windows reach over 43 ms

// --- Methods ------------------------------------------------------------------------------------

typedef struct method_place {
    const kz_method *method;
    uint32_t index;
} method_place;

static kazeia_status find(const kz_context *context, const char *name, uint32_t inputs,
                          uint32_t symbols, method_place *out_place) {
    const kz_program *program = kz_context_program(context);
    KZ_TRY(kz_program_require_method(program, name, &out_place->index));
    out_place->method = &kz_program_describe(program)->methods[out_place->index];
    if (out_place->method->input_count != inputs || out_place->method->output_count != 1 ||
        out_place->method->symbol_count != symbols) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: method '%s' does not have %u inputs and an output", name, inputs);
    }
    return KAZEIA_OK;
}

// 4-byte elements of a value for these symbols; 0 for another type.
static uint64_t elements(const method_place *place, uint32_t value, kz_type type,
                         const uint32_t *symbols) {
    const kz_value *v = &place->method->values[value];
    const uint64_t bytes = kz_value_bytes(v, symbols, place->method->symbol_count);
    return v->type == type && bytes != UINT64_MAX ? bytes / 4 : 0;
}

static kazeia_status refuse(const char *name) {
    return kz_fail(KAZEIA_BAD_FILE, "program: method '%s' has other shapes than an encoder's",
                   name);
}

// --- Samples to rows ----------------------------------------------------------------------------

typedef struct hearing {
    kz_context *context;
    const kazeia_allocator *memory;
    method_place hear, sum;
    uint32_t chunk;     // samples of a call
    uint32_t width;     // columns of the rows
    uint32_t row_limit; // rows that the caches hold
    float *rows;        // [row_limit][width]
    float *samples;     // [chunk]
    int32_t *table;     // [row_limit]: row i is position i; also the positions
    int32_t *zeros;     // [row_limit]
    uint32_t row_count;
} hearing;

enum { HEAR_SAMPLES, HEAR_POSITIONS, HEAR_SEQUENCES, HEAR_TABLE, HEAR_INPUTS };

static kazeia_status measure(hearing *h) {
    KZ_TRY(find(h->context, "codec_hear", HEAR_INPUTS, 2, &h->hear));
    KZ_TRY(find(h->context, "codec_sum", 1, 1, &h->sum));
    const uint32_t *in = h->hear.method->inputs;
    const kz_value *table = &h->hear.method->values[in[HEAR_TABLE]];
    h->chunk = h->hear.method->symbols[0].maximum;
    const uint32_t symbols[2] = {h->chunk, 1}, most[1] = {h->sum.method->symbols[0].maximum};
    const uint64_t rows = elements(&h->hear, in[HEAR_POSITIONS], KZ_I32, symbols);
    const uint64_t out = elements(&h->hear, h->hear.method->outputs[0], KZ_F32, symbols);
    if (rows == 0 || out % rows != 0 || h->chunk < rows || h->chunk > 1 << 24 ||
        !kz_dim_is_constant(&table->dims[1], &h->row_limit) || h->row_limit < rows ||
        most[0] < h->row_limit) {
        return refuse("codec_hear");
    }
    h->width = (uint32_t)(out / rows);
    const bool is_right =
        elements(&h->hear, in[HEAR_SAMPLES], KZ_F32, symbols) == h->chunk &&
        elements(&h->hear, in[HEAR_SEQUENCES], KZ_I32, symbols) == rows &&
        elements(&h->hear, in[HEAR_TABLE], KZ_I32, symbols) == h->row_limit &&
        elements(&h->sum, h->sum.method->inputs[0], KZ_F32, most) == (uint64_t)most[0] * h->width;
    return is_right ? KAZEIA_OK : refuse("codec_hear");
}

static kazeia_status take_room(hearing *h) {
    KZ_TRY(kz_alloc(h->memory, (size_t)h->row_limit * h->width, sizeof(float), "encoder rows",
                    (void **)&h->rows));
    KZ_TRY(kz_alloc(h->memory, h->chunk, sizeof(float), "encoder samples", (void **)&h->samples));
    KZ_TRY(kz_alloc(h->memory, h->row_limit, sizeof(int32_t), "encoder table", (void **)&h->table));
    KZ_TRY(kz_alloc(h->memory, h->row_limit, sizeof(int32_t), "encoder sequences",
                    (void **)&h->zeros));
    for (uint32_t i = 0; i < h->row_limit; i++) {
        h->table[i] = (int32_t)i;
    }
    return KAZEIA_OK;
}

static void give_room_back(const hearing *h) {
    kz_free(h->memory, h->rows);
    kz_free(h->memory, h->samples);
    kz_free(h->memory, h->table);
    kz_free(h->memory, h->zeros);
}

static void forget(const hearing *h) {
    const kz_program_description *description = kz_program_describe(kz_context_program(h->context));
    for (uint32_t i = 0; i < h->hear.method->value_count; i++) {
        const kz_value *value = &h->hear.method->values[i];
        if (value->kind == KZ_VALUE_STATE) {
            memset(kz_context_state(h->context, value->index), 0,
                   (size_t)kz_state_bytes(&description->states[value->index]));
        }
    }
}

static kazeia_status hear_chunk(hearing *h, const float *samples, uint32_t count) {
    const uint32_t symbols[2] = {count, 1};
    const uint64_t rows =
        elements(&h->hear, h->hear.method->inputs[HEAR_POSITIONS], KZ_I32, symbols);
    if (rows > h->row_limit - h->row_count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "clone: the recording is longer than the %u rows that the program holds; "
                       "give a shorter one",
                       h->row_limit);
    }
    const void *inputs[HEAR_INPUTS] = {samples, h->table + h->row_count, h->zeros, h->table};
    void *outputs[1] = {h->rows + (size_t)h->row_count * h->width};
    KZ_TRY(kz_context_run(h->context, h->hear.index, symbols, inputs, outputs));
    h->row_count += (uint32_t)rows;
    return KAZEIA_OK;
}

static kazeia_status hear_all(hearing *h, const float *samples, size_t count) {
    forget(h);
    for (size_t done = 0; done < count;) {
        const size_t left = count - done;
        const uint32_t now = left < h->chunk ? (uint32_t)left : h->chunk;
        KZ_TRY(hear_chunk(h, samples + done, now));
        done += now;
    }
    return KAZEIA_OK;
}

// --- Rows to codes ------------------------------------------------------------------------------

typedef struct quantiser {
    const float *codebooks; // [groups][codes][width]
    uint32_t groups, codes, width;
} quantiser;

static kazeia_status find_codebooks(const kz_context *context, quantiser *out_quantiser) {
    const kz_program *program = kz_context_program(context);
    const kz_program_description *description = kz_program_describe(program);
    int64_t groups = 0, codes = 0;
    KZ_TRY(kz_program_require_integer(program, "speak.groups", 2, 64, &groups));
    KZ_TRY(kz_program_require_integer(program, "speak.codes", 1, 1 << 20, &codes));
    for (uint32_t i = 0; i < description->tensor_count; i++) {
        const kz_tensor *tensor = &description->tensors[i];
        if (strcmp(tensor->name, "codec.encoder.codebooks") == 0 && tensor->type == KZ_F32 &&
            tensor->layout == KZ_ROWS && tensor->rank == 2 &&
            tensor->dims[0] == (uint64_t)(groups * codes) && tensor->dims[1] <= 1 << 16) {
            *out_quantiser = (quantiser){kz_program_tensor(program, i), (uint32_t)groups,
                                         (uint32_t)codes, (uint32_t)tensor->dims[1]};
            return KAZEIA_OK;
        }
    }
    return kz_fail(KAZEIA_BAD_FILE, "program: no codebooks of an encoder");
}

static int32_t nearest(const quantiser *q, const float *book, const float *vector) {
    double least = DBL_MAX;
    int32_t best = 0;
    for (uint32_t code = 0; code < q->codes; code++) {
        const float *row = book + (size_t)code * q->width;
        double sum = 0;
        for (uint32_t i = 0; i < q->width; i++) {
            const double apart = (double)vector[i] - (double)row[i];
            sum += apart * apart;
        }
        if (sum < least) {
            least = sum;
            best = (int32_t)code;
        }
    }
    return best;
}

// The first book has a projection of its own; the others each take what the one before left.
static void quantise(const quantiser *q, float *vectors, int32_t *out_codes) {
    const size_t book = (size_t)q->codes * q->width;
    float *rest = vectors + q->width;
    out_codes[0] = nearest(q, q->codebooks, vectors);
    for (uint32_t g = 1; g < q->groups; g++) {
        out_codes[g] = nearest(q, q->codebooks + g * book, rest);
        const float *row = q->codebooks + g * book + (size_t)out_codes[g] * q->width;
        for (uint32_t i = 0; i < q->width; i++) {
            rest[i] -= row[i];
        }
    }
}

static kazeia_status make_codes(hearing *h, int32_t **out_codes, size_t *out_frames) {
    quantiser q = {0};
    const uint32_t symbols[1] = {h->row_count};
    float *vectors = NULL;
    int32_t *codes = NULL;
    KZ_TRY(find_codebooks(h->context, &q));
    const uint64_t count = elements(&h->sum, h->sum.method->outputs[0], KZ_F32, symbols);
    const size_t frames = (size_t)(count / (2 * (uint64_t)q.width));
    if (frames == 0 || count != 2 * (uint64_t)frames * q.width) {
        return refuse("codec_sum");
    }
    kazeia_status status = KAZEIA_OK;
    KZ_TRY_DONE(status, kz_alloc(h->memory, (size_t)count, sizeof *vectors, "encoder vectors",
                                 (void **)&vectors));
    KZ_TRY_DONE(status,
                kz_alloc(h->memory, frames * q.groups, sizeof *codes, "codes", (void **)&codes));
    const void *inputs[1] = {h->rows};
    void *outputs[1] = {vectors};
    KZ_TRY_DONE(status, kz_context_run(h->context, h->sum.index, symbols, inputs, outputs));
    for (size_t i = 0; i < frames; i++) {
        quantise(&q, vectors + 2 * i * q.width, codes + i * q.groups);
    }
    *out_codes = codes;
    *out_frames = frames;
    codes = NULL;
done:
    kz_free(h->memory, vectors);
    kz_free(h->memory, codes);
    return status;
}

kazeia_status kz_clone_encode(kz_context *context, const float *samples, size_t count,
                              const kazeia_allocator *allocator, int32_t **out_codes,
                              size_t *out_frames) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    hearing h = {.context = context, .memory = &memory};
    if (count == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "clone: a recording without sound");
    }
    KZ_TRY(measure(&h));
    kazeia_status status = take_room(&h);
    if (status == KAZEIA_OK) {
        status = hear_all(&h, samples, count);
    }
    if (status == KAZEIA_OK) {
        status = make_codes(&h, out_codes, out_frames);
    }
    give_room_back(&h);
    return status;
}

// --- The speaker's vector -----------------------------------------------------------------------

static kazeia_status run_vector(kz_context *context, const method_place *mel,
                                const method_place *vector, const float *samples, uint32_t count,
                                const kazeia_allocator *memory, float *out_vector) {
    const uint64_t size = elements(mel, mel->method->outputs[0], KZ_F32, &count);
    const kz_value *rows_value = &mel->method->values[mel->method->outputs[0]];
    const uint32_t rows = (uint32_t)kz_dim_value(&rows_value->dims[0], &count, 1);
    float *values = NULL;
    if (rows == 0 || rows > vector->method->symbols[0].maximum ||
        size != elements(vector, vector->method->inputs[0], KZ_F32, &rows)) {
        return refuse("voice_vector");
    }
    KZ_TRY(kz_alloc(memory, (size_t)size, sizeof *values, "mel rows", (void **)&values));
    const void *in[1] = {samples}, *between[1] = {values};
    void *made[1] = {values}, *out[1] = {out_vector};
    kazeia_status status = kz_context_run(context, mel->index, &count, in, made);
    if (status == KAZEIA_OK) {
        status = kz_context_run(context, vector->index, &rows, between, out);
    }
    kz_free(memory, values);
    return status;
}

kazeia_status kz_clone_vector(kz_context *context, const float *samples, size_t count,
                              const kazeia_allocator *allocator, float **out_vector,
                              size_t *out_count) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    method_place mel, vector;
    float *values = NULL;
    KZ_TRY(find(context, "voice_mel", 1, 1, &mel));
    KZ_TRY(find(context, "voice_vector", 1, 1, &vector));
    if (count < SHORTEST_SAMPLES) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "clone: a recording of %zu samples, expected %u or more", count,
                       SHORTEST_SAMPLES);
    }
    const uint32_t limit = mel.method->symbols[0].maximum;
    const uint32_t used = count < limit ? (uint32_t)count : limit, one = 1;
    const uint64_t width = elements(&vector, vector.method->outputs[0], KZ_F32, &one);
    if (elements(&mel, mel.method->inputs[0], KZ_F32, &used) != used || width == 0) {
        return refuse("voice_mel");
    }
    KZ_TRY(kz_alloc(&memory, (size_t)width, sizeof *values, "speaker vector", (void **)&values));
    const kazeia_status status = run_vector(context, &mel, &vector, samples, used, &memory, values);
    if (status != KAZEIA_OK) {
        kz_free(&memory, values);
        return status;
    }
    *out_vector = values;
    *out_count = (size_t)width;
    return KAZEIA_OK;
}
