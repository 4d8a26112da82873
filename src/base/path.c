// path.c: the parts of file_system.h that only look at a path's text.
//
// in:  paths with '/' between their parts
// out: joined paths and names
#include "base/file_system.h"

#include <string.h>

kazeia_status kz_path_join(const char *folder, const char *name, kz_text_buffer *out_path) {
    const size_t length = strlen(folder);
    kz_text_buffer_reset(out_path);
    KZ_TRY(kz_text_buffer_append(out_path, folder, length));
    // An empty folder means the present one: "/name" would be the root's.
    if (length > 0 && folder[length - 1] != '/') {
        KZ_TRY(kz_text_buffer_append(out_path, "/", 1));
    }
    return kz_text_buffer_append_string(out_path, name);
}

const char *kz_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
