// load.h: an opened program: shared, immutable, counted.
//
// Everything that the functions below give lies in the program and is valid while a reference is
// held. All of them may be called from several threads at once.
#ifndef KZ_RUNTIME_LOAD_H
#define KZ_RUNTIME_LOAD_H

#include "format/reader.h"

typedef struct kz_program kz_program;

// Opening is a map and a check: nothing is converted. The program starts with one reference. Fails
// as kz_program_file_open does (format/reader.h).
KAZEIA_MUST_CHECK kazeia_status kz_program_open(const char *path, const kazeia_allocator *allocator,
                                                kz_program **out_program);
// From memory that outlives the program, aligned to KZ_ALIGNMENT.
KAZEIA_MUST_CHECK kazeia_status kz_program_open_memory(const uint8_t *bytes, size_t count,
                                                       const kazeia_allocator *allocator,
                                                       kz_program **out_program);
// Any thread may retain (which returns its argument) and release; the last release closes the
// files. NULL is fine for release.
kz_program *kz_program_retain(kz_program *program);
void kz_program_release(kz_program *program);

// The checked content of the file.
const kz_program_description *kz_program_describe(const kz_program *program);
// The file itself: id, version, verification.
const kz_program_file *kz_program_source(const kz_program *program);
// The bytes of tensor `index`, in its layout (format/layout.h), aligned to KZ_ALIGNMENT.
const void *kz_program_tensor(const kz_program *program, uint32_t index);

// Metadata by key: false, and nothing written, when it is absent or of another type.
bool kz_program_integer(const kz_program *program, const char *key, int64_t *out_value);
bool kz_program_real(const kz_program *program, const char *key, double *out_value);
const char *kz_program_string(const kz_program *program, const char *key); // NULL when absent
bool kz_program_integers(const kz_program *program, const char *key, const int64_t **out_values,
                         size_t *out_count);
bool kz_program_strings(const kz_program *program, const char *key, const char *const **out_values,
                        size_t *out_count);
// As kz_program_integer, but BAD_FILE names the key when it is absent, and key and value when that
// is not within [minimum, maximum].
KAZEIA_MUST_CHECK kazeia_status kz_program_require_integer(const kz_program *program,
                                                           const char *key, int64_t minimum,
                                                           int64_t maximum, int64_t *out_value);
// UNSUPPORTED names the method and lists those that are there.
KAZEIA_MUST_CHECK kazeia_status kz_program_require_method(const kz_program *program,
                                                          const char *name, uint32_t *out_method);

#endif
