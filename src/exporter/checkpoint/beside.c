// beside.c: the files that lie beside the tensors.
//
// in:  a name such as "README.md", or a path
// out: whether the file is there, its bytes, whether the checkpoint was read from it
#include <stdio.h>

#include "base/file_system.h"
#include "exporter/checkpoint/container.h"

// A folder of up to 4096 bytes, a separator and a file name of up to 255.
#define PATH_LIMIT 4352

// False when the checkpoint has no folder, or the path is too long to be a file's.
static bool make_path(const kz_checkpoint *checkpoint, const char *name, char path[PATH_LIMIT]) {
    if (checkpoint->folder == NULL) {
        return false;
    }
    const int length = snprintf(path, PATH_LIMIT, "%s/%s", checkpoint->folder, name);
    return length > 0 && length < PATH_LIMIT;
}

const char *kz_checkpoint_folder(const kz_checkpoint *checkpoint) {
    return checkpoint->folder;
}

bool kz_checkpoint_has_file(const kz_checkpoint *checkpoint, const char *name) {
    char path[PATH_LIMIT];
    return make_path(checkpoint, name, path) && kz_path_query(path, NULL) == KZ_PATH_FILE;
}

kazeia_status kz_checkpoint_map_file(const kz_checkpoint *checkpoint, const char *name,
                                     kz_file_map *out_map) {
    char path[PATH_LIMIT];
    *out_map = (kz_file_map){0};
    // Absence is no failure: an empty map stands for it. A pipe or device of that name is not
    // opened.
    if (!make_path(checkpoint, name, path) || kz_path_query(path, NULL) != KZ_PATH_FILE) {
        return KAZEIA_OK;
    }
    return kz_file_map_open(path, out_map);
}

bool kz_checkpoint_reads(const kz_checkpoint *checkpoint, const char *path) {
    for (size_t i = 0; i < checkpoint->file_count; i++) {
        if (!checkpoint->files[i].is_borrowed && kz_path_is_same(checkpoint->files[i].path, path)) {
            return true;
        }
    }
    for (const kz_checkpoint_document *document = checkpoint->documents; document != NULL;
         document = document->next) {
        char name[PATH_LIMIT];
        // JSON files are kept parsed, not mapped; a file that was found absent has no root.
        if (document->root != NULL && make_path(checkpoint, document->name, name) &&
            kz_path_is_same(name, path)) {
            return true;
        }
    }
    return checkpoint->part != NULL && kz_checkpoint_reads(checkpoint->part, path);
}
