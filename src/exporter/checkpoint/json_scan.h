// json_scan.h: reads JSON in place, value by value, without building anything.
//
// For what opening a checkpoint needs from JSON: the header of a safetensors file can be made to
// need fifty times its size as a tree, here it needs nothing. Also measures a document before it is
// given to a parser that does build a tree.
#ifndef KZ_EXPORTER_CHECKPOINT_JSON_SCAN_H
#define KZ_EXPORTER_CHECKPOINT_JSON_SCAN_H

#include "base/status.h"

#define KZ_JSON_DEPTH_LIMIT 64

typedef struct kz_json_scan {
    const uint8_t *bytes; // [size]
    size_t size;
    size_t at;
} kz_json_scan;

// BAD_FILE with line and column, what is there and what was expected.
kazeia_status kz_json_scan_fail(const kz_json_scan *scan, const char *expected);

// The character behind white space; 0 at the end. It is not stepped over.
uint8_t kz_json_scan_peek(kz_json_scan *scan);
// Steps over white space and `character`.
KAZEIA_MUST_CHECK kazeia_status kz_json_scan_expect(kz_json_scan *scan, char character);
// A string without its quotes, escapes decoded to UTF-8, and a NUL; BAD_FILE when it needs more
// than `capacity` bytes.
KAZEIA_MUST_CHECK kazeia_status kz_json_scan_string(kz_json_scan *scan, size_t capacity,
                                                    char *out_text, size_t *out_count);
KAZEIA_MUST_CHECK kazeia_status kz_json_scan_u64(kz_json_scan *scan, uint64_t *out_value);
// Steps over a value of any kind.
KAZEIA_MUST_CHECK kazeia_status kz_json_scan_skip(kz_json_scan *scan);

// Walks an object or array whose opening bracket was stepped over: *out_more says whether another
// member follows (its comma is stepped over), else the closing bracket was. `index` counts from 0.
KAZEIA_MUST_CHECK kazeia_status kz_json_scan_next(kz_json_scan *scan, size_t index, char closing,
                                                  bool *out_more);
// The same for an object, with the member's key and the colon behind it.
KAZEIA_MUST_CHECK kazeia_status kz_json_scan_member(kz_json_scan *scan, size_t index,
                                                    size_t capacity, char *out_key,
                                                    size_t *out_count, bool *out_more);

#endif
