// file_map.h: a whole file, read only, mapped into memory.
//
// Pages are read when touched. A file that shrinks while mapped can kill the process by SIGBUS on
// every system; program files are replaced by rename and never rewritten, so this does not happen.
#ifndef KZ_BASE_FILE_MAP_H
#define KZ_BASE_FILE_MAP_H

#include "base/status.h"

// The caller's memory; zeros are a map of nothing. Any thread may read the bytes.
typedef struct kz_file_map {
    const uint8_t *bytes; // [size]; NULL when size is 0
    size_t size;
} kz_file_map;

// Fails with NOT_FOUND (no such file), BAD_ARGUMENT (a folder, a device) or IO.
KAZEIA_MUST_CHECK kazeia_status kz_file_map_open(const char *path, kz_file_map *out_map);
// Ends all pointers into the bytes and zeroes the map; closing twice is fine.
void kz_file_map_close(kz_file_map *map);

// Advice only. `will_need`: read ahead; otherwise the range's pages may leave memory (bounded RSS
// while streaming through a large checkpoint).
void kz_file_map_advise(const kz_file_map *map, size_t offset, size_t bytes, bool will_need);

#endif
