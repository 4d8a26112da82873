// load.c: an opened program: shared, immutable, counted.
//   in   a path, or bytes
//   out  kz_program: the checked description, the mapped weights, metadata by key
#include "runtime/load.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"

struct kz_program {
    kazeia_allocator allocator;
    kz_program_file *file;
    atomic_uint reference_count;
};

// *out_program is whole before the file is opened: on failure releasing it frees what there is.
static kazeia_status create_program(const kazeia_allocator *allocator, kz_program **out_program) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    KZ_TRY(kz_alloc(&memory, 1, sizeof(kz_program), "program", (void **)out_program));
    (*out_program)->allocator = memory;
    atomic_init(&(*out_program)->reference_count, 1);
    return KAZEIA_OK;
}

kazeia_status kz_program_open(const char *path, const kazeia_allocator *allocator,
                              kz_program **out_program) {
    kz_program *program = NULL;
    KZ_TRY(create_program(allocator, &program));
    const kazeia_status status = kz_program_file_open(path, &program->allocator, &program->file);
    if (status != KAZEIA_OK) {
        kz_program_release(program);
        return status == KAZEIA_BAD_FILE ? kz_fail_advice(status, "export it again") : status;
    }
    *out_program = program;
    return KAZEIA_OK;
}

kazeia_status kz_program_open_memory(const uint8_t *bytes, size_t count,
                                     const kazeia_allocator *allocator, kz_program **out_program) {
    kz_program *program = NULL;
    KZ_TRY(create_program(allocator, &program));
    const kazeia_status status =
        kz_program_file_open_memory(bytes, count, &program->allocator, &program->file);
    if (status != KAZEIA_OK) {
        kz_program_release(program);
        return status == KAZEIA_BAD_FILE ? kz_fail_advice(status, "export it again") : status;
    }
    *out_program = program;
    return KAZEIA_OK;
}

// Sequentially consistent, as releasing is: whoever sees the count fall to zero also sees all that
// others did with the program. It happens once a session.
kz_program *kz_program_retain(kz_program *program) {
    atomic_fetch_add(&program->reference_count, 1);
    return program;
}

void kz_program_release(kz_program *program) {
    if (!program || atomic_fetch_sub(&program->reference_count, 1) != 1) {
        return;
    }
    if (program->file) {
        kz_program_file_close(program->file);
    }
    const kazeia_allocator memory = program->allocator;
    kz_free(&memory, program);
}

// Nothing changes it after opening, so threads read it without a lock.
const kz_program_description *kz_program_describe(const kz_program *program) {
    return kz_program_file_description(program->file);
}

const kz_program_file *kz_program_source(const kz_program *program) {
    return program->file;
}

const void *kz_program_tensor(const kz_program *program, uint32_t index) {
    const kz_program_description *description = kz_program_describe(program);
    return kz_program_file_tensor(program->file, &description->tensors[index]);
}

// A key of another type counts as absent: a number that became a string is no default to guess
// from.
static const kz_metadata *find_typed(const kz_program *program, const char *key,
                                     kz_metadata_type type) {
    const kz_metadata *entry = kz_metadata_find(kz_program_describe(program), key);
    return entry && entry->type == type ? entry : NULL;
}

bool kz_program_integer(const kz_program *program, const char *key, int64_t *out_value) {
    const kz_metadata *entry = find_typed(program, key, KZ_METADATA_INTEGER);
    if (entry) {
        *out_value = entry->integer;
    }
    return entry != NULL;
}

bool kz_program_real(const kz_program *program, const char *key, double *out_value) {
    const kz_metadata *entry = find_typed(program, key, KZ_METADATA_REAL);
    if (entry) {
        *out_value = entry->real;
    }
    return entry != NULL;
}

const char *kz_program_string(const kz_program *program, const char *key) {
    const kz_metadata *entry = find_typed(program, key, KZ_METADATA_STRING);
    return entry ? entry->string : NULL;
}

bool kz_program_integers(const kz_program *program, const char *key, const int64_t **out_values,
                         size_t *out_count) {
    const kz_metadata *entry = find_typed(program, key, KZ_METADATA_INTEGERS);
    if (entry) {
        *out_values = entry->integers;
        *out_count = entry->count;
    }
    return entry != NULL;
}

bool kz_program_strings(const kz_program *program, const char *key, const char *const **out_values,
                        size_t *out_count) {
    const kz_metadata *entry = find_typed(program, key, KZ_METADATA_STRINGS);
    if (entry) {
        *out_values = entry->strings;
        *out_count = entry->count;
    }
    return entry != NULL;
}

kazeia_status kz_program_require_integer(const kz_program *program, const char *key,
                                         int64_t minimum, int64_t maximum, int64_t *out_value) {
    if (!kz_program_integer(program, key, out_value)) {
        return kz_fail(KAZEIA_BAD_FILE, "program: metadata has no integer '%s'", key);
    }
    if (*out_value < minimum || *out_value > maximum) {
        return kz_fail(KAZEIA_BAD_FILE, "program: metadata '%s' is %lld, expected %lld to %lld",
                       key, (long long)*out_value, (long long)minimum, (long long)maximum);
    }
    return KAZEIA_OK;
}

kazeia_status kz_program_require_method(const kz_program *program, const char *name,
                                        uint32_t *out_method) {
    const kz_program_description *description = kz_program_describe(program);
    const kz_method *method = kz_method_find(description, name);
    if (method) {
        *out_method = (uint32_t)(method - description->methods);
        return KAZEIA_OK;
    }
    char found[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < description->method_count && used < sizeof found; i++) {
        const int wrote = snprintf(found + used, sizeof found - used, "%s%s", i ? ", " : "",
                                   description->methods[i].name);
        // snprintf gives the length it wanted: past the end the loop stops, and the list is cut
        // short.
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return kz_fail(KAZEIA_UNSUPPORTED, "program: it has no method '%s'; its methods are: %s", name,
                   found);
}
