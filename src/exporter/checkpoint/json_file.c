// json_file.c: the JSON files of a checkpoint's folder, parsed once.
//
// in:  a name such as "config.json"
// out: jansson's tree, which the checkpoint owns
//
// jansson's memory does not come from the checkpoint's allocator: its hook is one for the whole
// process, which a library must not take. It is bounded instead: size, depth and count of values
// are measured before parsing. Integers that do not fit 64 bits become reals: tokenizer_config.json
// says 1000000000000000019884624838656 for "no limit".
#include <string.h>

#include "base/file_system.h"
#include "exporter/checkpoint/container.h"
#include "exporter/checkpoint/json_scan.h"

// A tokenizer.json of a large vocabulary has some 10 to 20 MB.
#define SIZE_LIMIT ((size_t)64 << 20)
#define VALUE_LIMIT ((size_t)4 << 20) // a value takes jansson some 100 bytes
#define PATH_LIMIT 4352
#define INTEGER_DIGITS 19 // all integers of fewer digits fit

typedef struct json_text {
    const uint8_t *bytes;
    size_t size;
    size_t long_integer_count;
} json_text;

static bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

// Digits from `at`; 0 when they are part of a real number (or of no number).
static size_t count_integer_digits(const uint8_t *bytes, size_t size, size_t at) {
    size_t end = at;
    while (end < size && is_digit(bytes[end])) {
        end++;
    }
    const uint8_t next = end < size ? bytes[end] : 0;
    return next == '.' || next == 'e' || next == 'E' ? 0 : end - at;
}

// 19 digits may fit or not: decimal texts of equal length compare as their numbers do.
static bool is_too_long(const uint8_t *digits, size_t count) {
    return count > INTEGER_DIGITS ||
           (count == INTEGER_DIGITS && memcmp(digits, "9223372036854775807", INTEGER_DIGITS) > 0);
}

// Behind the closing quote of the string that begins at `at`.
static size_t skip_quoted(const uint8_t *bytes, size_t size, size_t at) {
    at++;
    while (at < size && bytes[at] != '"') {
        // An escaped quote ends nothing; a backslash at the very end steps past it, which the
        // caller's test catches.
        at += bytes[at] == '\\' ? 2 : 1;
    }
    return at < size ? at + 1 : size;
}

// Behind the number, so that the digits of an exponent are not taken for an integer.
static size_t skip_number(const uint8_t *bytes, size_t size, size_t at) {
    while (at < size && (is_digit(bytes[at]) || bytes[at] == '.' || (bytes[at] | 0x20) == 'e' ||
                         bytes[at] == '-' || bytes[at] == '+')) {
        at++;
    }
    return at;
}

// Calls for each integer outside of strings that is too long: writes it as a real of the same
// length when `copy` is not NULL ("12345...789" becomes "12345...e03"). Returns how many there are.
static size_t visit_long_integers(const uint8_t *bytes, size_t size, char *copy) {
    size_t found = 0;
    for (size_t at = 0; at < size;) {
        if (bytes[at] == '"') {
            at = skip_quoted(bytes, size, at);
            continue;
        }
        if (!is_digit(bytes[at])) {
            at++;
            continue;
        }
        const size_t digits = count_integer_digits(bytes, size, at);
        if (is_too_long(bytes + at, digits)) {
            found++;
            if (copy != NULL) {
                // The last three digits are dropped for an exponent of three: a double would not
                // hold them anyway.
                memcpy(copy + at + digits - 3, "e03", 3);
            }
        }
        at = skip_number(bytes, size, at);
    }
    return found;
}

// Commas bound the values: each but the first of its brackets follows one.
static kazeia_status check_limits(const uint8_t *bytes, size_t size) {
    if (size > SIZE_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%zu bytes of JSON, expected up to %zu", size,
                       SIZE_LIMIT);
    }
    size_t value_count = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t byte = bytes[at];
        value_count += byte == ',' || byte == '[' || byte == '{';
        at = byte == '"' ? skip_quoted(bytes, size, at) : at + 1;
    }
    if (value_count > VALUE_LIMIT) {
        return kz_fail(KAZEIA_UNSUPPORTED, "%zu JSON values, expected up to %zu", value_count,
                       VALUE_LIMIT);
    }
    kz_json_scan scan = {bytes, size, 0};
    // jansson recurses for each bracket, 2048 deep at most: more than a small stack may hold.
    return kz_json_scan_skip(&scan); // refuses depth
}

// Duplicates are refused: which of two values counts would depend on the reader.
// jansson refuses NULs within strings by itself, so keys and texts are C strings.
static kazeia_status parse(const uint8_t *bytes, size_t size, json_t **out_root) {
    json_error_t error;
    json_t *root = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        const bool is_memory = json_error_code(&error) == json_error_out_of_memory;
        return kz_fail(is_memory ? KAZEIA_OUT_OF_MEMORY : KAZEIA_BAD_FILE,
                       "JSON line %d, column %d: %s", error.line, error.column, error.text);
    }
    *out_root = root;
    return KAZEIA_OK;
}

// Almost all files are parsed in place; only one with a long integer is copied to be rewritten.
static kazeia_status parse_bounded(kz_checkpoint *checkpoint, const kz_file_map *map,
                                   json_t **out_root) {
    KZ_TRY(check_limits(map->bytes, map->size));
    if (visit_long_integers(map->bytes, map->size, NULL) == 0) {
        return parse(map->bytes, map->size, out_root);
    }
    // The map is read-only, and another process may have it mapped as well.
    void *copy = NULL;
    KZ_TRY(kz_alloc(&checkpoint->allocator, map->size, 1, "a JSON text", &copy));
    memcpy(copy, map->bytes, map->size);
    (void)visit_long_integers(map->bytes, map->size, copy);
    const kazeia_status status = parse(copy, map->size, out_root);
    kz_free(&checkpoint->allocator, copy);
    return status;
}

// *out_root stays NULL when there is no such file.
static kazeia_status load(kz_checkpoint *checkpoint, const char *name, json_t **out_root) {
    kz_text_buffer path = {0};
    kz_file_map map = {0};
    // A file that is there but cannot be read fails; one that is not there is no failure.
    KZ_TRY(kz_text_buffer_init(&path, &checkpoint->allocator, 256, PATH_LIMIT));
    kazeia_status status = kz_path_join(checkpoint->folder, name, &path);
    if (status == KAZEIA_OK && kz_path_query(path.bytes, NULL) != KZ_PATH_MISSING) {
        status = kz_file_map_open(path.bytes, &map);
        if (status == KAZEIA_OK) {
            status = parse_bounded(checkpoint, &map, out_root);
            kz_file_map_close(&map);
            status = status == KAZEIA_OK ? status : kz_fail_context(status, "'%s'", path.bytes);
        }
    }
    kz_text_buffer_clear(&path);
    return status;
}

// An absent file is kept as such, so that it is not looked for again.
static kazeia_status keep(kz_checkpoint *checkpoint, const char *name,
                          kz_checkpoint_document **out_document) {
    const kazeia_allocator *allocator = &checkpoint->allocator;
    void *memory = NULL;
    KZ_TRY(kz_alloc(allocator, 1, sizeof(kz_checkpoint_document), "a JSON file", &memory));
    kz_checkpoint_document *document = memory;
    const kazeia_status status = kz_copy_string(allocator, name, strlen(name), &document->name);
    if (status != KAZEIA_OK) {
        kz_free(allocator, document);
        return status;
    }
    // In the list from now on: closing frees it whatever comes after.
    document->next = checkpoint->documents;
    checkpoint->documents = document;
    *out_document = document;
    return KAZEIA_OK;
}

kazeia_status kz_checkpoint_json(kz_checkpoint *checkpoint, const char *name,
                                 const json_t **out_root) {
    for (kz_checkpoint_document *known = checkpoint->documents; known != NULL;
         known = known->next) {
        if (strcmp(known->name, name) == 0) {
            *out_root = known->root;
            return KAZEIA_OK;
        }
    }
    json_t *root = NULL;
    // A checkpoint in memory has no folder, and so no files beside it.
    if (checkpoint->folder != NULL) {
        KZ_TRY(load(checkpoint, name, &root));
    }
    kz_checkpoint_document *document = NULL;
    const kazeia_status status = keep(checkpoint, name, &document);
    if (status != KAZEIA_OK) {
        // Not kept, so nobody else would.
        json_decref(root);
        return status;
    }
    document->root = root;
    *out_root = root;
    return KAZEIA_OK;
}
