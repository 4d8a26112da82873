// os_posix_file_write.c: files that appear whole or not at all.
//
// in:  bytes, in order, with patches to what was written before
// out: the file at PATH, replaced by one rename
//
// Everything happens relative to the folder's descriptor, so that a later change of working folder
// cannot move the target. A writer holds a lock on its temporary file until the rename: a process
// id alone would not do, since ids are used again (in a container nearly always the same one), and
// a leftover would then never be told from a live file. Where the file system has no locks, the
// process id decides. Devices are refused: a rename would replace /dev/null by a file.
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/file_write.h"
#include "base/os.h"

// A huge page, and written where one begins: Linux keeps what is written in one piece in one page
// of its cache, and a program that is then mapped from there is read half as fast again.
#define WRITE_BUFFER_BYTES ((size_t)2 << 20)
#define WRITEBACK_BYTES ((uint64_t)32 << 20)
#define TEMPORARY_TRIES 10000
#define TEMPORARY_MARK ".tmp-"

struct kz_file_writer {
    kazeia_allocator allocator;
    char *path;               // as the caller named it, for sentences
    const char *name;         // its last part, inside `path`
    char temporary[PATH_MAX]; // name of the temporary file in the folder; "" while there is none
    int folder;               // descriptor, -1 when closed
    int file;                 // the same
    bool has_failed;          // a write was lost: committing is refused
    bool is_durable;          // nothing was written since the last flush to disk
    uint64_t bytes_on_file;   // the buffer's first byte stands at this offset
    uint64_t bytes_on_way;    // the system was told to bring them to the disk
    size_t bytes_buffered;
    unsigned char *buffer; // [WRITE_BUFFER_BYTES]
};

// A descriptor of the folder that holds `path`, or -1 with errno set. Without a slash in the path
// the folder is the present one, taken now: a later chdir changes nothing.
static int open_folder_of(const char *path) {
    char folder[PATH_MAX];
    const size_t length = (size_t)(kz_path_name(path) - path);
    if (length >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (length == 0) {
        memcpy(folder, ".", 2);
    } else {
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Folders that cannot be flushed (some network file systems) say EINVAL: there is nothing to do.
static bool flush_descriptor(int descriptor) {
    int result = 0;
    do {
        result = fsync(descriptor);
    } while (result != 0 && errno == EINTR);
    return result == 0 || errno == EINVAL;
}

// Writes all bytes at an offset; false with errno set.
static bool write_all(int file, const void *bytes, size_t count, uint64_t offset) {
    const unsigned char *next = bytes;
    while (count > 0) {
        // Linux writes at most 0x7ffff000 bytes in one call, and some systems refuse more than
        // INT_MAX.
        const size_t piece = count < (size_t)1 << 30 ? count : (size_t)1 << 30;
        const ssize_t written = pwrite(file, next, piece, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            // 0 bytes without an error would loop for ever; a full device is the only known cause.
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        next += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    return true;
}

// Starts the disk while more bytes are made: the flush at the end would else wait for all of them.
// Advice only, the flush still asks for every byte.
static void start_writeback(kz_file_writer *writer) {
#if defined(__linux__)
    const uint64_t waiting = writer->bytes_on_file - writer->bytes_on_way;
    if (waiting >= WRITEBACK_BYTES) {
        (void)sync_file_range(writer->file, (off_t)writer->bytes_on_way, (off_t)waiting,
                              SYNC_FILE_RANGE_WRITE);
        writer->bytes_on_way = writer->bytes_on_file;
    }
#else
    (void)writer;
#endif
}

static kazeia_status write_at(kz_file_writer *writer, const void *bytes, size_t count,
                              uint64_t offset) {
    // Before the attempt: a write that fails half way has changed the file as well.
    writer->is_durable = false;
    if (!write_all(writer->file, bytes, count, offset)) {
        writer->has_failed = true;
        return kz_os_fail(errno, "write", writer->path);
    }
    return KAZEIA_OK;
}

static kazeia_status write_buffer_out(kz_file_writer *writer) {
    KZ_TRY(write_at(writer, writer->buffer, writer->bytes_buffered, writer->bytes_on_file));
    writer->bytes_on_file += writer->bytes_buffered;
    writer->bytes_buffered = 0;
    start_writeback(writer);
    return KAZEIA_OK;
}

// A failed write leaves the buffer and the file at odds, so nothing after it can be trusted,
// however well it goes.
static kazeia_status check_unfailed(const kz_file_writer *writer) {
    if (writer->has_failed) {
        return kz_fail(KAZEIA_IO, "cannot write '%s': an earlier write to it failed", writer->path);
    }
    return KAZEIA_OK;
}

// True when the new file is ours: locked, and not removed by a cleaner before it was locked. A
// cleaner of another process may open and lock the file in the instant between its creation and
// this lock: it then removes it, and the next number is tried.
static bool claim_temporary(int file) {
    struct stat facts;
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        return errno != EWOULDBLOCK; // a file system without locks
    }
    return fstat(file, &facts) == 0 && facts.st_nlink > 0;
}

static kazeia_status open_temporary(kz_file_writer *writer) {
    // Bounded: a folder full of leftovers that nobody may remove is a failure to report, not a
    // loop.
    for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
        const int length = snprintf(writer->temporary, sizeof writer->temporary,
                                    "%s" TEMPORARY_MARK "%ld-%u", writer->name, (long)getpid(), i);
        if (length < 0 || (size_t)length >= sizeof writer->temporary) {
            writer->temporary[0] = '\0';
            return kz_os_fail(ENAMETOOLONG, "write", writer->path);
        }
        // O_EXCL with O_NOFOLLOW: a link planted under this name must not lead the bytes elsewhere.
        // The mode is cut by the user's mask.
        writer->file = openat(writer->folder, writer->temporary,
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (writer->file >= 0 && claim_temporary(writer->file)) {
            return KAZEIA_OK;
        }
        if (writer->file < 0 && errno != EEXIST) {
            const int error = errno;
            writer->temporary[0] = '\0';
            return kz_os_fail(error, "write", writer->path);
        }
        // Somebody else holds it or has removed it: it is not ours to unlink.
        if (writer->file >= 0) {
            (void)close(writer->file);
            writer->file = -1;
        }
    }
    writer->temporary[0] = '\0';
    return kz_fail(KAZEIA_IO, "cannot write '%s': %d temporary files of it lie in its folder",
                   writer->path, TEMPORARY_TRIES);
}

// A missing target is fine, and a symbolic link to a file is judged by what it leads to.
static kazeia_status check_target(const char *path) {
    const kz_path_kind kind = kz_path_query(path, NULL);
    if (kz_path_name(path)[0] == '\0') {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "cannot write '%s': it does not name a file", path);
    }
    if (kind == KZ_PATH_FOLDER || kind == KZ_PATH_OTHER) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "cannot write '%s': it is a %s, expected a file", path,
                       kind == KZ_PATH_FOLDER ? "folder" : "device or pipe");
    }
    return KAZEIA_OK;
}

static kazeia_status open_writer(kz_file_writer *writer, const char *path) {
    void *buffer = NULL;
    KZ_TRY(kz_copy_string(&writer->allocator, path, strlen(path), &writer->path));
    KZ_TRY(kz_alloc(&writer->allocator, WRITE_BUFFER_BYTES, 1, "a write buffer", &buffer));
    writer->buffer = buffer;
    // Points into our own copy: the caller's string may go after creation.
    writer->name = kz_path_name(writer->path);
    writer->folder = open_folder_of(path);
    if (writer->folder < 0) {
        return kz_os_fail(errno, "open the folder of", path);
    }
    return open_temporary(writer);
}

// Closes and frees; the temporary file stays, by whatever name it has now.
static void destroy_writer(kz_file_writer *writer) {
    const kazeia_allocator allocator = writer->allocator;
    if (writer->file >= 0) {
        (void)close(writer->file);
    }
    if (writer->folder >= 0) {
        (void)close(writer->folder);
    }
    kz_free(&allocator, writer->buffer);
    kz_free(&allocator, writer->path);
    kz_free(&allocator, writer);
}

void kz_file_writer_abandon(kz_file_writer *writer) {
    if (writer == NULL) {
        return;
    }
    if (writer->temporary[0] != '\0') {
        (void)unlinkat(writer->folder, writer->temporary, 0);
    }
    destroy_writer(writer);
}

kazeia_status kz_file_writer_create(const char *path, const kazeia_allocator *allocator,
                                    kz_file_writer **out_writer) {
    const kazeia_allocator source = kz_allocator_or_default(allocator);
    void *memory = NULL;
    KZ_TRY(check_target(path));
    KZ_TRY(kz_alloc(&source, 1, sizeof(kz_file_writer), "a file writer", &memory));
    kz_file_writer *writer = memory;
    writer->allocator = source;
    kz_file_remove_stale_temporaries(path); // else those of killed writers would stay for ever
    // Zeroed memory would say descriptor 0, and abandon would close standard input.
    writer->folder = -1;
    writer->file = -1;
    const kazeia_status status = open_writer(writer, path);
    if (status != KAZEIA_OK) {
        kz_file_writer_abandon(writer);
        return status;
    }
    *out_writer = writer;
    return KAZEIA_OK;
}

// A flush or a patch may have left the buffer's first byte anywhere in a page.
static size_t bytes_to_border(const kz_file_writer *writer) {
    return WRITE_BUFFER_BYTES - (size_t)(writer->bytes_on_file % WRITE_BUFFER_BYTES);
}

kazeia_status kz_file_writer_append(kz_file_writer *writer, const void *bytes, size_t count) {
    KZ_TRY(check_unfailed(writer));
    const unsigned char *next = bytes;
    while (count > 0) {
        const size_t room = bytes_to_border(writer) - writer->bytes_buffered;
        size_t piece = count < room ? count : room;
        if (writer->bytes_buffered == 0 && count >= room) {
            // Whole pages go out past the buffer.
            piece = room + (count - room) / WRITE_BUFFER_BYTES * WRITE_BUFFER_BYTES;
            KZ_TRY(write_at(writer, next, piece, writer->bytes_on_file));
            writer->bytes_on_file += piece;
            start_writeback(writer);
        } else {
            memcpy(writer->buffer + writer->bytes_buffered, next, piece);
            writer->bytes_buffered += piece;
            writer->is_durable = false;
            if (piece == room) {
                KZ_TRY(write_buffer_out(writer));
            }
        }
        next += piece;
        count -= piece;
    }
    return KAZEIA_OK;
}

kazeia_status kz_file_writer_patch(kz_file_writer *writer, uint64_t offset, const void *bytes,
                                   size_t count) {
    const uint64_t size = kz_file_writer_offset(writer);
    KZ_TRY(check_unfailed(writer));
    if (offset > size || count > size - offset) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "cannot patch '%s': %zu bytes at %llu end behind its size of %llu",
                       writer->path, count, (unsigned long long)offset, (unsigned long long)size);
    }
    if (count == 0) {
        return KAZEIA_OK;
    }
    // Wholly in the buffer, or else the buffer is written first, so that a patch across the border
    // is one write.
    if (offset >= writer->bytes_on_file) {
        memcpy(writer->buffer + (size_t)(offset - writer->bytes_on_file), bytes, count);
        writer->is_durable = false;
        return KAZEIA_OK;
    }
    KZ_TRY(write_buffer_out(writer));
    return write_at(writer, bytes, count, offset);
}

kazeia_status kz_file_writer_align(kz_file_writer *writer, size_t alignment) {
    static const unsigned char zeros[4096];
    assert(alignment > 0);
    const size_t over = (size_t)(kz_file_writer_offset(writer) % alignment);
    size_t left = over == 0 ? 0 : alignment - over;
    while (left > 0) {
        const size_t piece = left < sizeof zeros ? left : sizeof zeros;
        KZ_TRY(kz_file_writer_append(writer, zeros, piece));
        left -= piece;
    }
    return KAZEIA_OK;
}

uint64_t kz_file_writer_offset(const kz_file_writer *writer) {
    return writer->bytes_on_file + writer->bytes_buffered;
}

kazeia_status kz_file_writer_flush(kz_file_writer *writer) {
    KZ_TRY(check_unfailed(writer));
    KZ_TRY(write_buffer_out(writer));
    if (!flush_descriptor(writer->file)) {
        writer->has_failed = true;
        return kz_os_fail(errno, "flush", writer->path);
    }
    writer->is_durable = true;
    return KAZEIA_OK;
}

// The order is the promise: bytes on disk, then the name, then the folder that holds the name. A
// crash between two of them leaves the old file or the new one.
static kazeia_status rename_into_place(kz_file_writer *writer, const char *name) {
    if (!writer->is_durable) {
        KZ_TRY(kz_file_writer_flush(writer));
    }
    KZ_TRY(check_unfailed(writer));
    if (renameat(writer->folder, writer->temporary, writer->folder, name) != 0) {
        return kz_os_fail(errno, "replace", writer->path);
    }
    // From here the file has its final name, and abandon must not remove it whatever the folder's
    // flush says.
    writer->temporary[0] = '\0';
    if (!flush_descriptor(writer->folder)) {
        return kz_os_fail(errno, "flush the folder of", writer->path);
    }
    return KAZEIA_OK;
}

kazeia_status kz_file_writer_commit_as(kz_file_writer *writer, const char *name) {
    const kazeia_status status = rename_into_place(writer, name);
    kz_file_writer_abandon(writer);
    return status;
}

kazeia_status kz_file_writer_commit(kz_file_writer *writer) {
    return kz_file_writer_commit_as(writer, writer->name);
}

// Reads "NAME.tmp-PID-N"; false for any other name.
static bool parse_temporary_name(const char *entry, const char *name, long *out_process) {
    const size_t name_length = strlen(name);
    if (strncmp(entry, name, name_length) != 0 ||
        strncmp(entry + name_length, TEMPORARY_MARK, strlen(TEMPORARY_MARK)) != 0) {
        return false;
    }
    const char *process = entry + name_length + strlen(TEMPORARY_MARK);
    const size_t process_digits = strspn(process, "0123456789");
    const char *number = process + process_digits;
    // Nine digits fit a long of 32 bits; Linux's process ids have at most seven.
    if (process_digits == 0 || process_digits > 9 || *number != '-') {
        return false;
    }
    const size_t number_digits = strspn(number + 1, "0123456789");
    *out_process = strtol(process, NULL, 10);
    return *out_process > 0 && number_digits > 0 && number[1 + number_digits] == '\0';
}

// Whose temporary file it is: true when nobody holds it any more. Getting the lock proves that its
// writer is gone. Without locks only a process that does not exist is proof; one of another user
// answers EPERM and counts as alive.
static bool is_abandoned(int file, long process) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        return true;
    }
    return errno != EWOULDBLOCK && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

// Removes the temporary file when nobody holds it; true when somebody does.
static bool remove_if_stale(int folder, const char *entry, long process) {
    // Non-blocking, because a named pipe of such a name would wait for a writer for ever.
    const int file = openat(folder, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    struct stat facts;
    const bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    const bool is_stale = is_file && is_abandoned(file, process);
    if (is_stale) {
        // Still under the lock: a writer that creates the same name meanwhile fails at O_EXCL until
        // it is gone.
        (void)unlinkat(folder, entry, 0);
    }
    (void)close(file);
    return is_file && !is_stale;
}

size_t kz_file_count_writers(const char *path) {
    size_t count = 0;
    const int folder = open_folder_of(path);
    if (folder < 0) {
        return 0;
    }
    // From here the listing owns the descriptor.
    DIR *listing = fdopendir(folder);
    if (listing == NULL) {
        (void)close(folder);
        return 0;
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(listing)) != NULL) {
        long process = 0;
        if (parse_temporary_name(entry->d_name, kz_path_name(path), &process)) {
            count += remove_if_stale(dirfd(listing), entry->d_name, process);
        }
    }
    (void)closedir(listing);
    return count;
}

void kz_file_remove_stale_temporaries(const char *path) {
    (void)kz_file_count_writers(path);
}

kazeia_status kz_file_write_whole(const char *path, const void *bytes, size_t count) {
    kz_file_writer *writer = NULL;
    KZ_TRY(kz_file_writer_create(path, NULL, &writer));
    const kazeia_status status = kz_file_writer_append(writer, bytes, count);
    if (status != KAZEIA_OK) {
        kz_file_writer_abandon(writer);
        return status;
    }
    return kz_file_writer_commit(writer);
}
