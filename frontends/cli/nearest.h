// nearest.h: which known word is closest to a misspelt one.
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
// Only the first 63 bytes of each are looked at.
size_t cli_edit_distance(const char *left, const char *right);
// Whether a word of that distance may be a slip of the other: at most a third of the longer one's
// letters differ (leading dashes are no letters), where one always may.
bool cli_is_slip(size_t distance, const char *left, const char *right);

#endif
