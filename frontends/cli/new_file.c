// new_file.c: files that the program itself writes, whole or not at all.
//
// in:  a path, then bytes
// out: the file, in place at commit and not before
//
// A device is refused, because a rename would replace /dev/null by a file.
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_WRITERS 16 // processes that may write one path at the same time

static kazeia_status fail_write(const char *path, const char *why, cli_sentence *out_sentence) {
    return cli_fail(out_sentence, KAZEIA_IO, "cannot write '%s': %s", path, why);
}

// A status that blames the name when the name is at fault.
static kazeia_status fail_open(const char *path, int error, cli_sentence *out_sentence) {
    const bool is_name = error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
    return cli_fail(out_sentence, is_name ? KAZEIA_NOT_FOUND : KAZEIA_IO,
                    "cannot write '%s': %s; expected a name in a folder that exists", path,
                    strerror(error));
}

static bool is_same_node(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

// Whether two paths, whose files need not exist yet, lead to one name in one folder.
static bool is_same_name(const char *path, const char *other) {
    char folder[PATH_MAX], other_folder[PATH_MAX], name[PATH_MAX], other_name[PATH_MAX];
    struct stat facts, other_facts;
    // basename and dirname write into what they are given: a copy for each.
    (void)snprintf(folder, sizeof folder, "%s", path);
    (void)snprintf(name, sizeof name, "%s", path);
    (void)snprintf(other_folder, sizeof other_folder, "%s", other);
    (void)snprintf(other_name, sizeof other_name, "%s", other);
    return strcmp(basename(name), basename(other_name)) == 0 &&
           stat(dirname(folder), &facts) == 0 && stat(dirname(other_folder), &other_facts) == 0 &&
           is_same_node(&facts, &other_facts);
}

kazeia_status cli_refuse_same_file(const char *input, const char *output,
                                   cli_sentence *out_sentence) {
    struct stat one, other;
    if (input == NULL || output == NULL) {
        return KAZEIA_OK;
    }
    const bool is_one_file =
        stat(input, &one) == 0 && stat(output, &other) == 0 && is_same_node(&one, &other);
    // The output is made by renaming over its name: a link's other name would be safe, but a person
    // who names one file twice means no such thing.
    if (is_one_file || is_same_name(input, output)) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "'%s' and the output '%s' are one file; expected another name for the "
                        "output",
                        input, output);
    }
    return KAZEIA_OK;
}

// Removes a temporary file whose writer is gone (killed): nobody holds its lock then.
static void remove_leftover(const char *temporary) {
    struct stat facts;
    const int file = open(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        const bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
        if (is_file && flock(file, LOCK_EX | LOCK_NB) == 0) {
            (void)unlink(temporary); // still under the lock, so that nobody else's goes
        }
        (void)close(file);
    }
}

// Whether the new file is ours: locked, and not taken for a leftover before it was.
static bool claim(int file) {
    struct stat facts;
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        return errno != EWOULDBLOCK; // a file system without locks
    }
    return fstat(file, &facts) == 0 && facts.st_nlink > 0;
}

// Makes a new file and holds its lock; -1 with errno set.
static int make_and_claim(const char *temporary) {
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 && !claim(file)) {
        (void)close(file);
        errno = EEXIST;
        return -1;
    }
    return file;
}

// Makes "PATH.tmp-N" with the least N that no other process holds; -1 with errno set. What killed
// processes left under any such name is removed first, so that it does not stay for ever.
static int open_temporary(const char *path, char out_temporary[PATH_MAX]) {
    for (int i = MOST_WRITERS - 1; i >= 0; i--) {
        const int length = snprintf(out_temporary, PATH_MAX, "%s.tmp-%d", path, i);
        if (length < 0 || length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        remove_leftover(out_temporary);
    }
    int file = make_and_claim(out_temporary);
    for (int i = 1; file < 0 && errno == EEXIST && i < MOST_WRITERS; i++) {
        (void)snprintf(out_temporary, PATH_MAX, "%s.tmp-%d", path, i);
        file = make_and_claim(out_temporary);
    }
    return file;
}

kazeia_status cli_new_file_open(const char *path, cli_new_file *out_file,
                                cli_sentence *out_sentence) {
    struct stat facts;
    *out_file = (cli_new_file){.path = path};
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        return cli_fail(out_sentence, KAZEIA_BAD_ARGUMENT,
                        "cannot write '%s': it is no plain file; expected a file or a new name",
                        path);
    }
    const int file = open_temporary(path, out_file->temporary);
    if (file < 0) {
        return fail_open(path, errno, out_sentence);
    }
    out_file->stream = fdopen(file, "wb");
    if (out_file->stream == NULL) {
        (void)close(file);
        (void)unlink(out_file->temporary);
        return fail_write(path, "no memory", out_sentence);
    }
    return KAZEIA_OK;
}

kazeia_status cli_new_file_write(cli_new_file *file, const void *bytes, size_t count,
                                 cli_sentence *out_sentence) {
    if (fwrite(bytes, 1, count, file->stream) != count) {
        return fail_write(file->path, strerror(errno), out_sentence);
    }
    return KAZEIA_OK;
}

// Makes the rename itself last through a power cut; a folder that cannot be flushed is left at
// that.
static void flush_folder(const char *path) {
    char copy[PATH_MAX];
    (void)snprintf(copy, sizeof copy, "%s", path);
    const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

kazeia_status cli_new_file_commit(cli_new_file *file, cli_sentence *out_sentence) {
    FILE *stream = file->stream;
    file->stream = NULL;
    // Flushed to disk before the rename: after a power cut the new name must not lead to an empty
    // file. EINVAL: the file system cannot flush.
    bool is_whole = fflush(stream) == 0 && (fsync(fileno(stream)) == 0 || errno == EINVAL);
    int error = errno;
    // Closed in any case; a failure before it is the one to tell.
    if (fclose(stream) != 0 && is_whole) {
        is_whole = false;
        error = errno;
    }
    if (is_whole && rename(file->temporary, file->path) != 0) {
        is_whole = false;
        error = errno;
    }
    if (!is_whole) {
        (void)unlink(file->temporary);
        return fail_write(file->path, strerror(error), out_sentence);
    }
    flush_folder(file->path);
    return KAZEIA_OK;
}

void cli_new_file_drop(cli_new_file *file) {
    if (file->stream != NULL) {
        (void)fclose(file->stream);
        (void)unlink(file->temporary);
        file->stream = NULL;
    }
}
