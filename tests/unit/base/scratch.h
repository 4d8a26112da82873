// scratch.h: what the tests of base share: a folder that is removed again, and an allocator that
// fails on demand and counts what is not given back.
#ifndef KZ_TEST_BASE_SCRATCH_H
#define KZ_TEST_BASE_SCRATCH_H

#include "kazeia/common.h"

#define SCRATCH_PATH_BYTES 512

typedef struct scratch_folder {
    char path[SCRATCH_PATH_BYTES];
} scratch_folder;

// Makes a new empty folder under $TMPDIR or /tmp; ends the test program when that fails.
void scratch_create(scratch_folder *folder);
// Removes the folder and the files in it.
void scratch_remove(scratch_folder *folder);
// "FOLDER/name" into out_path[SCRATCH_PATH_BYTES].
void scratch_name(const scratch_folder *folder, const char *name, char *out_path);
// Entries in the folder.
size_t scratch_count(const scratch_folder *folder);

typedef struct counting_allocator {
    size_t calls_left; // this many calls succeed, later ones fail
    size_t call_count;
    size_t live_count; // given and not yet released
} counting_allocator;

// An allocator whose context is `counter`, which must outlive it. Its memory is filled with junk.
kazeia_allocator counting_allocator_make(counting_allocator *counter, size_t calls_left);

#endif
