// tensor_tree.c: the tensors of a program as a tree, for people.
//
// in:  the list "tensors" of a description
// out: a line each on standard output; those of equal layers on one line with their number
//
// Names are paths with dots. A part that is a number becomes '*', so that layers which differ in
// nothing but their number fall together; a layer with another shape or format keeps its own line.
#include "tensor_tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "description.h"
#include "output.h"

#define NAME_COLUMNS 34
#define SHAPE_BYTES 96

// Bytes below a thousand as they are.
kazeia_status cli_print_size(cli_run *run, double bytes) {
    static const char *const UNITS[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit < sizeof UNITS / sizeof UNITS[0] - 1) {
        bytes /= 1000;
        unit++;
    }
    return cli_print(&run->failure, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, UNITS[unit]);
}

// --- Folding ------------------------------------------------------------------------------------

// A part of digits alone becomes '*'. `out` has strlen(name) + 1 bytes.
static void fold_numbers(const char *name, char *out) {
    while (*name != '\0') {
        const size_t length = strcspn(name, ".");
        const size_t digits = strspn(name, "0123456789");
        if (length > 0 && digits == length) {
            *out++ = '*';
        } else {
            memcpy(out, name, length);
            out += length;
        }
        name += length;
        if (*name == '.') {
            *out++ = *name++;
        }
    }
    *out = '\0';
}

static void write_shape(const json_t *shape, char out[SHAPE_BYTES]) {
    size_t used = 0;
    out[0] = '\0';
    // At most four extents of at most ten digits: see docs/format.md.
    for (size_t i = 0; i < json_array_size(shape) && used < SHAPE_BYTES - 1; i++) {
        const int written = snprintf(out + used, SHAPE_BYTES - used, "%s%.0f", i == 0 ? "" : " x ",
                                     json_number_value(json_array_get(shape, i)));
        used += written > 0 ? (size_t)written : 0;
    }
}

// Adds the tensor to its group: groups[KEY] = {name, shape, format, count, weights, bytes}.
static bool add_tensor(json_t *groups, const json_t *tensor, bool is_whole) {
    const char *name = json_string_value(json_object_get(tensor, "name"));
    const char *format = json_string_value(json_object_get(tensor, "format"));
    const double weights = cli_element_count(json_object_get(tensor, "shape"));
    const double bytes = json_number_value(json_object_get(tensor, "bytes"));
    char shape[SHAPE_BYTES];
    write_shape(json_object_get(tensor, "shape"), shape);
    const size_t length = strlen(name);
    const size_t room = length + sizeof shape + strlen(format) + 4;
    char *key = malloc(room);
    char *folded = malloc(length + 1);
    if (key == NULL || folded == NULL) {
        free(key);
        free(folded);
        return false;
    }
    memcpy(folded, name, length + 1);
    if (!is_whole) {
        fold_numbers(name, folded);
    }
    // A name holds no control character.
    (void)snprintf(key, room, "%s\n%s\n%s", folded, shape, format);
    const json_t *before = json_object_get(groups, key);
    json_t *group =
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:f}", "name", folded, "shape", shape, "format",
                  format, "count", json_number_value(json_object_get(before, "count")) + 1,
                  "weights", json_number_value(json_object_get(before, "weights")) + weights,
                  "bytes", json_number_value(json_object_get(before, "bytes")) + bytes);
    const bool is_kept = json_object_set_new(groups, key, group) == 0;
    free(folded);
    free(key);
    return is_kept;
}

// --- Printing -----------------------------------------------------------------------------------

// Bytes of the leading parts, dots included, that two names share.
static size_t shared_parts(const char *before, const char *name) {
    size_t shared = 0;
    for (size_t i = 0; before[i] != '\0' && before[i] == name[i]; i++) {
        if (name[i] == '.') {
            shared = i + 1;
        }
    }
    return shared;
}

static size_t count_dots(const char *name, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += name[i] == '.';
    }
    return count;
}

// Headings for the parts of the name that the line before did not have; *out_last: the last part.
static kazeia_status print_headings(cli_run *run, const char *before, const char *name,
                                    const char **out_last) {
    size_t at = shared_parts(before, name);
    for (const char *dot = NULL; (dot = strchr(name + at, '.')) != NULL;) {
        const int indent = 2 + 2 * (int)count_dots(name, at);
        CLI_TRY(cli_print(&run->failure, "%*s%.*s\n", indent, "", (int)(dot - name - (long)at),
                          name + at));
        at = (size_t)(dot - name) + 1;
    }
    *out_last = name + at;
    return KAZEIA_OK;
}

static kazeia_status print_group(cli_run *run, const char *before, const json_t *group) {
    const char *name = json_string_value(json_object_get(group, "name"));
    const char *last = NULL;
    CLI_TRY(print_headings(run, before, name, &last));
    const int indent = 2 + 2 * (int)count_dots(name, (size_t)(last - name));
    const double count = json_number_value(json_object_get(group, "count"));
    const double weights = json_number_value(json_object_get(group, "weights"));
    const double bytes = json_number_value(json_object_get(group, "bytes"));
    char times[24] = "";
    if (count > 1) {
        (void)snprintf(times, sizeof times, "%.0f x", count);
    }
    CLI_TRY(cli_print(&run->failure, "%*s%-*s %6s %-18s %-7s %6.3f bits  ", indent, "",
                      indent < NAME_COLUMNS ? NAME_COLUMNS - indent : 1, last, times,
                      json_string_value(json_object_get(group, "shape")),
                      json_string_value(json_object_get(group, "format")),
                      weights > 0 ? bytes * 8 / weights : 0.0));
    CLI_TRY(cli_print_size(run, bytes));
    return cli_print(&run->failure, "\n");
}

kazeia_status cli_print_tensor_tree(cli_run *run, const json_t *tensors, bool is_whole) {
    json_t *groups = json_object();
    size_t i = 0;
    const json_t *tensor = NULL;
    const char *key = NULL, *before = "";
    json_t *group = NULL;
    kazeia_status status = KAZEIA_OK;
    json_array_foreach(tensors, i, tensor) {
        if (status == KAZEIA_OK && !add_tensor(groups, tensor, is_whole)) {
            status = cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for tensor %zu", i);
        }
    }
    // Objects keep the order of first mention, which is the order of the file.
    json_object_foreach(groups, key, group) {
        if (status == KAZEIA_OK) {
            status = print_group(run, before, group);
            before = json_string_value(json_object_get(group, "name"));
        }
    }
    json_decref(groups);
    return status;
}
