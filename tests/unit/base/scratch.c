// scratch.c: scratch folders and a counting allocator for the tests of base.
//
// in:  names, and how many allocations may succeed
// out: paths and an allocator
#include "scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void scratch_create(scratch_folder *folder) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/kazeia-base-XXXXXX",
             parent == NULL ? "/tmp" : parent);
    if (mkdtemp(folder->path) == NULL) {
        perror(folder->path);
        abort();
    }
}

void scratch_name(const scratch_folder *folder, const char *name, char *out_path) {
    const int length = snprintf(out_path, SCRATCH_PATH_BYTES, "%s/%s", folder->path, name);
    if (length < 0 || length >= SCRATCH_PATH_BYTES) {
        abort();
    }
}

// Counts the entries, and removes them when asked to.
static size_t walk(const scratch_folder *folder, bool removes) {
    DIR *listing = opendir(folder->path);
    const struct dirent *entry = NULL;
    size_t count = 0;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        count++;
        if (removes) {
            (void)unlinkat(dirfd(listing), entry->d_name, 0);
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    return count;
}

size_t scratch_count(const scratch_folder *folder) {
    return walk(folder, false);
}

void scratch_remove(scratch_folder *folder) {
    (void)walk(folder, true);
    if (rmdir(folder->path) != 0) {
        perror(folder->path);
    }
}

static void *allocate_counted(void *context, size_t bytes) {
    counting_allocator *counter = context;
    counter->call_count++;
    if (counter->calls_left == 0) {
        return NULL;
    }
    void *memory = malloc(bytes);
    if (memory != NULL) {
        counter->calls_left--;
        counter->live_count++;
        memset(memory, 0xa5, bytes);
    }
    return memory;
}

static void release_counted(void *context, void *memory) {
    counting_allocator *counter = context;
    counter->live_count -= memory != NULL;
    free(memory);
}

kazeia_allocator counting_allocator_make(counting_allocator *counter, size_t calls_left) {
    *counter = (counting_allocator){.calls_left = calls_left};
    return (kazeia_allocator){counter, allocate_counted, release_counted};
}
