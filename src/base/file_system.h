// file_system.h: questions about paths, and folder listings.
//
// Paths are NUL-terminated bytes, relative ones from the process's working folder. An answer is
// true at the moment of asking only: whoever opens the file checks again.
#ifndef KZ_BASE_FILE_SYSTEM_H
#define KZ_BASE_FILE_SYSTEM_H

#include "base/text_buffer.h"

typedef enum kz_path_kind {
    KZ_PATH_MISSING, // or not to be looked at
    KZ_PATH_FILE,
    KZ_PATH_FOLDER,
    KZ_PATH_OTHER // a device, a pipe, a socket
} kz_path_kind;

// Follows symbolic links. *out_size is a file's size and 0 for everything else; NULL is fine.
kz_path_kind kz_path_query(const char *path, uint64_t *out_size);

// OK when `path` is a file that this process may read now; else the sentence says why it is not:
// NOT_FOUND, BAD_ARGUMENT for a folder, a device or a name that cannot be one, IO where reading is
// not allowed. *out_size is the file's size.
KAZEIA_MUST_CHECK kazeia_status kz_path_check_readable(const char *path, uint64_t *out_size);

// True when both paths lead to one file or folder that exists, by whatever names.
bool kz_path_is_same(const char *left, const char *right);

// "folder/name" into `out_path` (emptied first).
KAZEIA_MUST_CHECK kazeia_status kz_path_join(const char *folder, const char *name,
                                             kz_text_buffer *out_path);
// The part after the last '/', inside `path`.
const char *kz_path_name(const char *path);

// Calls `visit` for each entry's name (without "." and ".."), in the folder's own order; stops at
// the first failure and returns it. NOT_FOUND, or IO when the folder cannot be read.
typedef kazeia_status (*kz_folder_visit)(void *context, const char *name);
KAZEIA_MUST_CHECK kazeia_status kz_folder_list(const char *path, kz_folder_visit visit,
                                               void *context);
// Removes one file (its name, where others link to it). NOT_FOUND when there is none, IO.
kazeia_status kz_file_remove(const char *path);

#endif
