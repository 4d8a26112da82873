// os_posix_file_system.c: what lies at a path, folder listings, removal.
//
// in:  paths
// out: kinds, sizes and names
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/os.h"

kz_path_kind kz_path_query(const char *path, uint64_t *out_size) {
    struct stat facts;
    const bool is_there = stat(path, &facts) == 0;
    const bool is_file = is_there && S_ISREG(facts.st_mode);
    if (out_size != NULL) {
        *out_size = is_file ? (uint64_t)facts.st_size : 0;
    }
    if (!is_there) {
        return KZ_PATH_MISSING;
    }
    if (is_file) {
        return KZ_PATH_FILE;
    }
    return S_ISDIR(facts.st_mode) ? KZ_PATH_FOLDER : KZ_PATH_OTHER;
}

// Opening is the only question that the system answers for sure; it does not block, in case the
// file has become a pipe since it was looked at.
kazeia_status kz_path_check_readable(const char *path, uint64_t *out_size) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return kz_os_fail(errno, "read", path);
    }
    if (!S_ISREG(facts.st_mode)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "cannot read '%s': it is a %s, expected a file", path,
                       S_ISDIR(facts.st_mode) ? "folder" : "device or pipe");
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return kz_os_fail(errno, "read", path);
    }
    (void)close(file);
    *out_size = (uint64_t)facts.st_size;
    return KAZEIA_OK;
}

// By device and inode: two spellings, a symbolic link and a hard link all lead to one file that
// must not be read and written at once.
bool kz_path_is_same(const char *left, const char *right) {
    struct stat left_facts;
    struct stat right_facts;
    return stat(left, &left_facts) == 0 && stat(right, &right_facts) == 0 &&
           left_facts.st_dev == right_facts.st_dev && left_facts.st_ino == right_facts.st_ino;
}

// The next name of the folder other than "." and ".."; NULL at the end or with errno set. The name
// lives in the DIR until the next call.
static const char *next_name(DIR *folder) {
    for (;;) {
        // readdir tells its end from a failure by errno alone, which it leaves untouched at the
        // end.
        errno = 0;
        // Safe with threads as long as nobody shares the DIR, which is this call's own.
        const struct dirent *entry = readdir(folder);
        if (entry == NULL) {
            return NULL;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            return entry->d_name;
        }
    }
}

kazeia_status kz_folder_list(const char *path, kz_folder_visit visit, void *context) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return kz_os_fail(errno, "list", path);
    }
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        const char *name = next_name(folder);
        if (name == NULL) {
            status = errno == 0 ? KAZEIA_OK : kz_os_fail(errno, "list", path);
            break;
        }
        status = visit(context, name);
    }
    (void)closedir(folder);
    return status;
}

kazeia_status kz_file_remove(const char *path) {
    return unlink(path) == 0 ? KAZEIA_OK : kz_os_fail(errno, "remove", path);
}
