// parity.h: what the parity tests share: goldens of other frameworks, exports, runtimes.
//
// All functions end the running test with a message when something is missing.
#ifndef KZ_TEST_PARITY_H
#define KZ_TEST_PARITY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "kazeia/export.h"
#include "kazeia/program.h"

#define PARITY_PATH_BYTES 512

#define CHECK(call) parity_check((call), #call)
void parity_check(kazeia_status status, const char *call);

typedef struct parity_rows {
    float *values; // [rows][columns], free() it
    size_t rows, columns;
} parity_rows;

// A two-dimensional little-endian float32 .npy file.
parity_rows parity_read_rows(const char *path);

json_t *parity_read_json(const char *path); // json_decref it
// An array of integers; free() it.
int32_t *parity_ids(const json_t *array, size_t *out_count);

// Largest |value - expected| of a row, divided by the largest |expected| of that row; the worst of
// `rows` rows.
double parity_difference(const float *values, const parity_rows *expected);

// A fresh folder under $TMPDIR or /tmp, and its removal with all files in it.
void parity_folder_create(char out_path[PARITY_PATH_BYTES]);
void parity_folder_remove(const char *path);

// Exports into FOLDER/model.kzp; out_path takes that name.
void parity_export(const kazeia_export_settings *settings, const char *folder,
                   char out_path[PARITY_PATH_BYTES]);

// A runtime of two threads; `cpu` NULL: what the environment asked for when the test began.
kazeia_runtime *parity_runtime(const char *cpu);

// "$KAZEIA_MODELS/NAME" (default ~/.cache/kazeia); false, with a printed sentence, when it is not
// there.
bool parity_find_model(const char *name, char out_path[PARITY_PATH_BYTES]);

#endif
