// parity.c: goldens of other frameworks, exports, runtimes.
//
// in:  tests/golden, $KAZEIA_MODELS
// out: rows, ids, programs in a folder of their own
#include "parity.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NPY_START_BYTES 10 // magic, version, length of the header

void parity_check(kazeia_status status, const char *call) {
    if (status != KAZEIA_OK) {
        fail_msg("%s: %s: %s", call, kazeia_status_name(status), kazeia_last_error());
    }
}

// --- Goldens ------------------------------------------------------------------------------------

static char *read_file(const char *path, size_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("no file '%s'", path);
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    bytes[size] = '\0';
    fclose(file);
    *out_bytes = (size_t)size;
    return bytes;
}

parity_rows parity_read_rows(const char *path) {
    size_t bytes = 0;
    char *file = read_file(path, &bytes);
    assert_true(bytes > NPY_START_BYTES);
    assert_memory_equal(file, "\x93NUMPY\x01\x00", 8);
    const size_t header_bytes = (size_t)(uint8_t)file[8] + 256 * (size_t)(uint8_t)file[9];
    const size_t start = NPY_START_BYTES + header_bytes;
    assert_non_null(strstr(file + NPY_START_BYTES, "'<f4'"));
    assert_non_null(strstr(file + NPY_START_BYTES, "'fortran_order': False"));
    const char *shape = strstr(file + NPY_START_BYTES, "'shape': (");
    assert_non_null(shape);
    parity_rows rows = {0};
    assert_int_equal(sscanf(shape, "'shape': (%zu, %zu)", &rows.rows, &rows.columns), 2);
    const size_t count = rows.rows * rows.columns;
    assert_int_equal(bytes, start + count * sizeof(float));
    rows.values = malloc(count * sizeof(float));
    assert_non_null(rows.values);
    memcpy(rows.values, file + start, count * sizeof(float));
    free(file);
    return rows;
}

json_t *parity_read_json(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        fail_msg("%s: line %d: %s", path, error.line, error.text);
    }
    return root;
}

int32_t *parity_ids(const json_t *array, size_t *out_count) {
    const size_t count = json_array_size(array);
    int32_t *ids = calloc(count + 1, sizeof *ids);
    assert_true(json_is_array(array));
    assert_non_null(ids);
    for (size_t i = 0; i < count; i++) {
        ids[i] = (int32_t)json_integer_value(json_array_get(array, i));
    }
    *out_count = count;
    return ids;
}

double parity_difference(const float *values, const parity_rows *expected) {
    double worst = 0.0;
    for (size_t row = 0; row < expected->rows; row++) {
        double largest = 0.0, difference = 0.0;
        for (size_t i = row * expected->columns; i < (row + 1) * expected->columns; i++) {
            const double wanted = (double)expected->values[i];
            assert_true(isfinite(values[i]));
            largest = fmax(largest, fabs(wanted));
            difference = fmax(difference, fabs((double)values[i] - wanted));
        }
        worst = fmax(worst, difference / largest);
    }
    return worst;
}

// --- Folders and exports ------------------------------------------------------------------------

void parity_folder_create(char out_path[PARITY_PATH_BYTES]) {
    const char *parent = getenv("TMPDIR");
    snprintf(out_path, PARITY_PATH_BYTES, "%s/kazeia-parity-XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(out_path));
}

void parity_folder_remove(const char *path) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    const struct dirent *entry = NULL;
    while ((entry = readdir(folder)) != NULL) {
        char name[2 * PARITY_PATH_BYTES];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') {
            assert_int_equal(unlink(name), 0);
        }
    }
    closedir(folder);
    assert_int_equal(rmdir(path), 0);
}

void parity_export(const kazeia_export_settings *settings, const char *folder,
                   char out_path[PARITY_PATH_BYTES]) {
    kazeia_export_settings own = *settings;
    const int length = snprintf(out_path, PARITY_PATH_BYTES, "%s/model.kzp", folder);
    assert_true(length < PARITY_PATH_BYTES);
    own.output = out_path;
    CHECK(kazeia_export(&own));
}

// --- Runtimes and models ------------------------------------------------------------------------

kazeia_runtime *parity_runtime(const char *cpu) {
    static char asked_for[32];
    static bool is_read = false;
    const char *environment = getenv("KAZEIA_CPU");
    if (!is_read) {
        snprintf(asked_for, sizeof asked_for, "%s", environment ? environment : "");
        is_read = true;
    }
    const char *level = cpu ? cpu : asked_for;
    assert_int_equal(*level ? setenv("KAZEIA_CPU", level, 1) : unsetenv("KAZEIA_CPU"), 0);
    kazeia_runtime_settings settings = kazeia_runtime_settings_default();
    settings.thread_count = 2;
    kazeia_runtime *runtime = NULL;
    CHECK(kazeia_runtime_create(&settings, &runtime));
    return runtime;
}

bool parity_find_model(const char *name, char out_path[PARITY_PATH_BYTES]) {
    const char *models = getenv("KAZEIA_MODELS");
    const char *home = getenv("HOME");
    struct stat facts;
    const int length =
        models && *models
            ? snprintf(out_path, PARITY_PATH_BYTES, "%s/%s", models, name)
            : snprintf(out_path, PARITY_PATH_BYTES, "%s/.cache/kazeia/%s", home ? home : "", name);
    if (length < PARITY_PATH_BYTES && stat(out_path, &facts) == 0) {
        return true;
    }
    print_message("left out: no model at '%s'; ./scripts/fetch-models %s gets it\n", out_path,
                  name);
    return false;
}
