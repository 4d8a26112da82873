// shard_names.c: what the weights files beside a program are called, and tidying them.
//
// in:  a program's path, its id
// out: names; fewer old files
// A name is taken apart exactly before its file is removed: "a.kzp" must never touch the files of
// "a.b.kzp" or of a person.
#include "format/shard_names.h"

#include <inttypes.h>
#include <string.h>

#include "base/file_system.h"
#include "base/file_write.h"

#define ID_DIGITS 8u
#define PATH_BYTES_LIMIT 65536u

static size_t stem_length(const char *name) {
    static const char ending[] = ".kzp";
    const size_t length = strlen(name);
    const size_t ending_length = strlen(ending);
    const bool has_ending =
        length > ending_length && strcmp(name + length - ending_length, ending) == 0;
    return has_ending ? length - ending_length : length;
}

kazeia_status kz_shard_name(const char *program_path, uint64_t id, uint32_t index, uint32_t count,
                            kz_text_buffer *out_name) {
    const char *name = kz_path_name(program_path);
    kz_text_buffer_reset(out_name);
    KZ_TRY(kz_text_buffer_append(out_name, name, stem_length(name)));
    // Eight digits keep the name short; the file's own header has the whole id.
    return kz_text_buffer_append_format(out_name, ".%08" PRIx32 ".%u-of-%u.kzw",
                                        (uint32_t)(id >> 32), index + 1, count);
}

kazeia_status kz_shard_draft_path(const char *program_path, uint32_t index, uint32_t count,
                                  kz_text_buffer *out_path) {
    const char *name = kz_path_name(program_path);
    kz_text_buffer_reset(out_path);
    KZ_TRY(kz_text_buffer_append(out_path, program_path,
                                 (size_t)(name - program_path) + stem_length(name)));
    return kz_text_buffer_append_format(out_path, ".%u-of-%u.kzw", index + 1, count);
}

// Steps over up to 3 digits of a number without leading zero; NULL when there is none.
static const char *skip_number(const char *text) {
    const size_t digits = strspn(text, "0123456789");
    // Up to 3 digits: KZ_SHARD_LIMIT is below 1000.
    return digits >= 1 && digits <= 3 && text[0] != '0' ? text + digits : NULL;
}

static const char *skip_text(const char *text, const char *expected) {
    const size_t length = strlen(expected);
    return text != NULL && strncmp(text, expected, length) == 0 ? text + length : NULL;
}

// Steps over "I-of-N.kzw"; NULL when something else stands there.
static const char *skip_part(const char *text) {
    text = text != NULL ? skip_number(text) : NULL;
    text = skip_text(text, "-of-");
    text = text != NULL ? skip_number(text) : NULL;
    return skip_text(text, ".kzw");
}

// Steps over "NAME." of the program; NULL when another name stands there.
static const char *skip_stem(const char *entry, const char *program_path) {
    const char *name = kz_path_name(program_path);
    const size_t length = stem_length(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '.' ? entry + length + 1 : NULL;
}

// True for "NAME.ID.I-of-N.kzw" of this program, with any ID.
static bool is_shard_of(const char *entry, const char *program_path) {
    const char *rest = skip_stem(entry, program_path);
    // Exactly eight lower-case digits, as kz_shard_name writes them: a person's file is unlikely to
    // look like this.
    if (rest == NULL || strspn(rest, "0123456789abcdef") != ID_DIGITS) {
        return false;
    }
    const char *end = skip_part(skip_text(rest + ID_DIGITS, "."));
    return end != NULL && *end == '\0';
}

// Length of "NAME.I-of-N.kzw" when a temporary file of such a draft is called `entry`, else 0.
static size_t draft_length(const char *entry, const char *program_path) {
    const char *end = skip_part(skip_stem(entry, program_path));
    return skip_text(end, ".tmp-") != NULL ? (size_t)(end - entry) : 0;
}

typedef struct tidying {
    const char *program_path;
    uint64_t id;
    uint32_t count;
    kz_text_buffer kept; // a name or path, for comparing and removing
} tidying;

// The path of `entry`, cut to `length`, in the program's folder.
static kazeia_status path_beside(tidying *work, const char *entry, size_t length) {
    const size_t folder = (size_t)(kz_path_name(work->program_path) - work->program_path);
    kz_text_buffer_reset(&work->kept);
    KZ_TRY(kz_text_buffer_append(&work->kept, work->program_path, folder));
    return kz_text_buffer_append(&work->kept, entry, length);
}

static kazeia_status remove_older(void *context, const char *entry) {
    tidying *work = context;
    if (!is_shard_of(entry, work->program_path)) {
        return KAZEIA_OK;
    }
    // The files of the program that was just written stay, whichever order the folder lists them
    // in.
    for (uint32_t i = 0; i < work->count; i++) {
        KZ_TRY(kz_shard_name(work->program_path, work->id, i, work->count, &work->kept));
        if (strcmp(work->kept.bytes, entry) == 0) {
            return KAZEIA_OK;
        }
    }
    KZ_TRY(path_beside(work, entry, strlen(entry)));
    // One that cannot be removed is waste, not damage: the new program is whole already.
    (void)kz_file_remove(work->kept.bytes);
    return KAZEIA_OK;
}

static kazeia_status remove_draft(void *context, const char *entry) {
    tidying *work = context;
    const size_t length = draft_length(entry, work->program_path);
    if (length > 0) {
        KZ_TRY(path_beside(work, entry, length));
        kz_file_remove_stale_temporaries(work->kept.bytes);
    }
    return KAZEIA_OK;
}

// Visits the program's folder. A failure ends the tidying; what is left over harms nobody.
static kazeia_status tidy(tidying *work, kz_folder_visit visit, const kazeia_allocator *allocator) {
    const size_t length = (size_t)(kz_path_name(work->program_path) - work->program_path);
    kz_text_buffer folder = {.bytes = NULL};
    kazeia_status status = kz_text_buffer_init(&work->kept, allocator, 0, PATH_BYTES_LIMIT);
    if (status != KAZEIA_OK) {
        goto done;
    }
    KZ_TRY_DONE(status, kz_text_buffer_init(&folder, allocator, 0, PATH_BYTES_LIMIT));
    KZ_TRY_DONE(status, kz_text_buffer_append(&folder, length > 0 ? work->program_path : "./",
                                              length > 0 ? length : 2));
    KZ_TRY_DONE(status, kz_folder_list(folder.bytes, visit, work));
done:
    kz_text_buffer_clear(&folder);
    kz_text_buffer_clear(&work->kept);
    return status;
}

void kz_shards_remove_older(const char *program_path, uint64_t id, uint32_t count,
                            const kazeia_allocator *allocator) {
    tidying work = {.program_path = program_path, .id = id, .count = count};
    (void)tidy(&work, remove_older, allocator);
}

void kz_shards_remove_stale_drafts(const char *program_path, const kazeia_allocator *allocator) {
    tidying work = {.program_path = program_path};
    (void)tidy(&work, remove_draft, allocator);
}
