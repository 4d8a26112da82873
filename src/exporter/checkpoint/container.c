// container.c: the tables of a checkpoint: memory within a budget, names, order, duplicates.
//
// in:  tensors and values as a container's reader finds them
// out: sorted look-up tables, or a sentence
//
// Look-ups are by binary search over an order made by heap sort: unlike a hash table it has no
// worst case that a hostile file could choose, and unlike qsort it never allocates.
#include "exporter/checkpoint/container.h"

#include <assert.h>
#include <string.h>

#define NAME_BLOCK_BYTES 4096
#define ELEMENT_LIMIT ((uint64_t)1 << 62)

// --- Memory -------------------------------------------------------------------------------------

kazeia_status kz_container_alloc(kz_checkpoint *checkpoint, uint64_t count, size_t bytes_each,
                                 const char *what, void **out_memory) {
    // Bounds what a hostile file makes us take by its own size: a small file cannot claim
    // gigabytes.
    const size_t limit = checkpoint->budget / bytes_each;
    if (count > limit) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "%llu times %zu bytes for %s are more than a file of its size may ask for "
                       "(%zu bytes left of 4 times the size and 1 MB)",
                       (unsigned long long)count, bytes_each, what, checkpoint->budget);
    }
    KZ_TRY(kz_alloc(&checkpoint->allocator, (size_t)count, bytes_each, what, out_memory));
    checkpoint->budget -= (size_t)count * bytes_each;
    return KAZEIA_OK;
}

// The rest of a full block is lost: names are far shorter than a block.
static kazeia_status add_name_block(kz_checkpoint *checkpoint, size_t needed) {
    const size_t capacity = needed > NAME_BLOCK_BYTES ? needed : NAME_BLOCK_BYTES;
    void *memory = NULL;
    KZ_TRY(kz_container_alloc(checkpoint, (uint64_t)sizeof(kz_name_block) + capacity, 1,
                              "a checkpoint's names", &memory));
    kz_name_block *block = memory;
    block->capacity = capacity;
    block->next = checkpoint->names;
    checkpoint->names = block;
    return KAZEIA_OK;
}

kazeia_status kz_container_copy(kz_checkpoint *checkpoint, const void *text, size_t count,
                                const char **out_copy) {
    const kz_name_block *first = checkpoint->names;
    // <=: the NUL needs a byte as well.
    if (first == NULL || first->capacity - first->used <= count) {
        KZ_TRY(add_name_block(checkpoint, count + 1));
    }
    kz_name_block *block = checkpoint->names;
    char *copy = block->bytes + block->used;
    if (count > 0) {
        memcpy(copy, text, count);
    }
    copy[count] = '\0';
    block->used += count + 1;
    *out_copy = copy;
    return KAZEIA_OK;
}

kazeia_status kz_container_check_name(const void *text, size_t count, const char *what) {
    if (count == 0 || count > KZ_CHECKPOINT_NAME_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "%s has %zu bytes, expected 1 to %d", what, count,
                       KZ_CHECKPOINT_NAME_LIMIT);
    }
    const uint8_t *bytes = text;
    for (size_t i = 0; i < count; i++) {
        // Names stand in sentences and in the program: a control character could hide there, and a
        // NUL would cut them.
        if (bytes[i] < 0x20 || bytes[i] == 0x7f) {
            return kz_fail(KAZEIA_BAD_FILE, "%s '%.*s' holds the control character %u at byte %zu",
                           what, (int)count, (const char *)text, (unsigned)bytes[i], i);
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_container_copy_name(kz_checkpoint *checkpoint, const void *text, size_t count,
                                     const char *what, const char **out_copy) {
    KZ_TRY(kz_container_check_name(text, count, what));
    return kz_container_copy(checkpoint, text, count, out_copy);
}

// All tables at once, at the size that the first reading counted: they never move, so pointers into
// them stay.
kazeia_status kz_container_reserve(kz_checkpoint *checkpoint, uint64_t tensors, uint64_t values,
                                   uint64_t arrays_of_strings) {
    assert(checkpoint->tensors == NULL && checkpoint->values == NULL);
    // An order is a table of u32.
    void *memory = NULL;
    if (tensors > UINT32_MAX || values > UINT32_MAX) {
        return kz_fail(KAZEIA_BAD_FILE, "%llu tensors and %llu values are too many, at most %u",
                       (unsigned long long)tensors, (unsigned long long)values, UINT32_MAX);
    }
    KZ_TRY(
        kz_container_alloc(checkpoint, tensors, sizeof(kz_checkpoint_tensor), "tensors", &memory));
    checkpoint->tensors = memory;
    checkpoint->tensor_capacity = (size_t)tensors;
    KZ_TRY(
        kz_container_alloc(checkpoint, tensors, sizeof(uint32_t), "the tensors' order", &memory));
    checkpoint->tensors_by_name = memory;
    KZ_TRY(
        kz_container_alloc(checkpoint, values, sizeof(kz_checkpoint_value), "key/values", &memory));
    checkpoint->values = memory;
    checkpoint->value_capacity = (size_t)values;
    KZ_TRY(kz_container_alloc(checkpoint, values, sizeof(uint32_t), "the keys' order", &memory));
    checkpoint->values_by_key = memory;
    KZ_TRY(kz_container_alloc(checkpoint, arrays_of_strings, sizeof(uint32_t *),
                              "arrays of strings", &memory));
    checkpoint->starts = memory;
    checkpoint->starts_capacity = (size_t)arrays_of_strings;
    return KAZEIA_OK;
}

kazeia_status kz_container_reserve_files(kz_checkpoint *checkpoint, size_t files) {
    assert(checkpoint->files == NULL);
    void *memory = NULL;
    KZ_TRY(kz_container_alloc(checkpoint, files, sizeof(kz_checkpoint_file), "a checkpoint's files",
                              &memory));
    checkpoint->files = memory;
    checkpoint->file_capacity = files;
    return KAZEIA_OK;
}

kazeia_status kz_container_map(kz_checkpoint *checkpoint, const char *path,
                               const kz_checkpoint_file **out_file) {
    assert(checkpoint->file_count < checkpoint->file_capacity);
    kz_checkpoint_file *file = &checkpoint->files[checkpoint->file_count];
    KZ_TRY(kz_container_copy(checkpoint, path, strlen(path), &file->path));
    KZ_TRY(kz_file_map_open(path, &file->map));
    checkpoint->file_count++; // from here on closing unmaps it
    // Sticks at the largest number instead of wrapping to a small budget.
    const size_t left = SIZE_MAX - checkpoint->budget;
    checkpoint->budget += file->map.size <= left / 4 ? 4 * file->map.size : left;
    *out_file = file;
    return KAZEIA_OK;
}

// --- Adding -------------------------------------------------------------------------------------

void kz_container_add_tensor(kz_checkpoint *checkpoint, const kz_checkpoint_tensor *tensor) {
    // Both readings of a container walk the same bytes: a difference is our mistake, not the
    // file's.
    assert(checkpoint->tensor_count < checkpoint->tensor_capacity);
    checkpoint->tensors[checkpoint->tensor_count++] = *tensor;
}

void kz_container_add_value(kz_checkpoint *checkpoint, const kz_checkpoint_value *value) {
    assert(checkpoint->value_count < checkpoint->value_capacity);
    checkpoint->values[checkpoint->value_count++] = *value;
}

static kazeia_status step_over_string(kz_cursor *cursor, uint32_t length_bytes) {
    const uint8_t *text = NULL;
    uint64_t length = 0;
    if (length_bytes == 8) {
        KZ_TRY(kz_cursor_u64(cursor, "a string's length", &length));
    } else {
        uint32_t short_length = 0;
        KZ_TRY(kz_cursor_u32(cursor, "a string's length", &short_length));
        length = short_length;
    }
    return kz_cursor_take(cursor, length, "a string of an array", &text);
}

kazeia_status kz_container_index_strings(kz_checkpoint *checkpoint, kz_cursor *cursor,
                                         kz_checkpoint_value *value) {
    assert(checkpoint->starts_count < checkpoint->starts_capacity);
    // Each string has a length at least: no table is made for more than could be there.
    if (value->count > kz_cursor_left(cursor) / value->length_bytes) {
        return kz_fail(KAZEIA_BAD_FILE, "'%s' has %llu strings, the %zu bytes left hold fewer",
                       value->key, (unsigned long long)value->count, kz_cursor_left(cursor));
    }
    void *memory = NULL;
    KZ_TRY(kz_container_alloc(checkpoint, value->count, sizeof(uint32_t), "an array of strings",
                              &memory));
    uint32_t *starts = memory;
    checkpoint->starts[checkpoint->starts_count++] = starts;
    value->bytes = cursor->bytes + cursor->at;
    value->starts = starts;
    const size_t origin = cursor->at;
    for (uint64_t i = 0; i < value->count; i++) {
        // Places are 32 bits: a vocabulary's index is then half as large, and no vocabulary is that
        // long.
        if (cursor->at - origin > UINT32_MAX) {
            return kz_fail(KAZEIA_UNSUPPORTED, "'%s' is an array of over 4 GB", value->key);
        }
        starts[i] = (uint32_t)(cursor->at - origin);
        KZ_TRY(step_over_string(cursor, value->length_bytes));
    }
    return KAZEIA_OK;
}

// --- Sizes --------------------------------------------------------------------------------------

// The limit is checked at each step, so that a later dimension of 0 cannot hide an overflow.
kazeia_status kz_container_element_count(const kz_checkpoint_tensor *tensor, uint64_t *out_count) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        // 2^62 elements of at most 8 bytes would not fit 64 bits; blocks are smaller still.
        if (__builtin_mul_overflow(count, tensor->dims[i], &count) || count > ELEMENT_LIMIT) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "tensor '%s' has too many elements (dimension %u is %llu)", tensor->name,
                           i, (unsigned long long)tensor->dims[i]);
        }
    }
    *out_count = count;
    return KAZEIA_OK;
}

kazeia_status kz_container_measure(kz_checkpoint_tensor *tensor, uint32_t block_elements,
                                   uint32_t block_bytes) {
    // A block lies within the innermost dimension, as its decoder reads rows.
    const uint64_t row = tensor->rank == 0 ? 1 : tensor->dims[tensor->rank - 1];
    if (row % block_elements != 0) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tensor '%s' has rows of %llu elements, %s needs a multiple of %u",
                       tensor->name, (unsigned long long)row, tensor->type_name, block_elements);
    }
    uint64_t count = 0;
    KZ_TRY(kz_container_element_count(tensor, &count));
    if (__builtin_mul_overflow(count / block_elements, (uint64_t)block_bytes,
                               &tensor->byte_count)) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s' has %llu elements, more than memory has bytes",
                       tensor->name, (unsigned long long)count);
    }
    return KAZEIA_OK;
}

// --- Order --------------------------------------------------------------------------------------

// Does item a come before item b?
typedef bool (*is_before)(const kz_checkpoint *checkpoint, uint32_t a, uint32_t b);

// Restores the heap below `parent`: no item comes before its parent in the reverse of `before`.
static void sift_down(const kz_checkpoint *checkpoint, is_before before, uint32_t *order,
                      size_t parent, size_t count) {
    for (size_t child = 2 * parent + 1; child < count; child = 2 * parent + 1) {
        if (child + 1 < count && before(checkpoint, order[child], order[child + 1])) {
            child++;
        }
        if (!before(checkpoint, order[parent], order[child])) {
            return;
        }
        const uint32_t moved = order[parent];
        order[parent] = order[child];
        order[child] = moved;
        parent = child;
    }
}

static void sort(const kz_checkpoint *checkpoint, is_before before, uint32_t *order, size_t count) {
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(checkpoint, before, order, i, count);
    }
    for (size_t end = count; end-- > 1;) {
        const uint32_t largest = order[0];
        order[0] = order[end];
        order[end] = largest;
        sift_down(checkpoint, before, order, 0, end);
    }
}

static bool name_is_before(const kz_checkpoint *checkpoint, uint32_t a, uint32_t b) {
    return strcmp(checkpoint->tensors[a].name, checkpoint->tensors[b].name) < 0;
}

static bool key_is_before(const kz_checkpoint *checkpoint, uint32_t a, uint32_t b) {
    return strcmp(checkpoint->values[a].key, checkpoint->values[b].key) < 0;
}

// By address: each file is mapped at its own place, so tensors of two files never seem to overlap.
static bool place_is_before(const kz_checkpoint *checkpoint, uint32_t a, uint32_t b) {
    return (uintptr_t)checkpoint->tensors[a].bytes < (uintptr_t)checkpoint->tensors[b].bytes;
}

kazeia_status kz_container_refuse_overlaps(kz_checkpoint *checkpoint) {
    // Overlaps are refused because a tensor that covers another would be exported without a sign of
    // it.
    uint32_t *order = checkpoint->tensors_by_name; // not in use before kz_container_finish
    sort(checkpoint, place_is_before, order, checkpoint->tensor_count);
    const kz_checkpoint_tensor *last = NULL;
    for (size_t i = 0; i < checkpoint->tensor_count; i++) {
        const kz_checkpoint_tensor *tensor = &checkpoint->tensors[order[i]];
        if (tensor->byte_count == 0) { // empty, or of unknown size
            continue;
        }
        if (last != NULL && (uintptr_t)tensor->bytes - (uintptr_t)last->bytes < last->byte_count) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "tensor '%s' begins %llu bytes after '%s', which has %llu bytes",
                           tensor->name,
                           (unsigned long long)((uintptr_t)tensor->bytes - (uintptr_t)last->bytes),
                           last->name, (unsigned long long)last->byte_count);
        }
        last = tensor;
    }
    return KAZEIA_OK;
}

// Equal names are neighbours once sorted.
kazeia_status kz_container_finish(kz_checkpoint *checkpoint) {
    sort(checkpoint, name_is_before, checkpoint->tensors_by_name, checkpoint->tensor_count);
    for (size_t i = 1; i < checkpoint->tensor_count; i++) {
        const char *name = checkpoint->tensors[checkpoint->tensors_by_name[i]].name;
        if (strcmp(name, checkpoint->tensors[checkpoint->tensors_by_name[i - 1]].name) == 0) {
            return kz_fail(KAZEIA_BAD_FILE, "there are two tensors called '%s'", name);
        }
    }
    sort(checkpoint, key_is_before, checkpoint->values_by_key, checkpoint->value_count);
    for (size_t i = 1; i < checkpoint->value_count; i++) {
        const char *key = checkpoint->values[checkpoint->values_by_key[i]].key;
        if (strcmp(key, checkpoint->values[checkpoint->values_by_key[i - 1]].key) == 0) {
            return kz_fail(KAZEIA_BAD_FILE, "the key '%s' is there twice", key);
        }
    }
    return KAZEIA_OK;
}

const kz_checkpoint_tensor *kz_checkpoint_find(const kz_checkpoint *checkpoint, const char *name) {
    size_t low = 0;
    size_t high = checkpoint->tensor_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const kz_checkpoint_tensor *tensor =
            &checkpoint->tensors[checkpoint->tensors_by_name[middle]];
        const int order = strcmp(name, tensor->name);
        if (order == 0) {
            return tensor;
        }
        // Names are unique (kz_container_finish), so the first hit is the only one.
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return NULL;
}

const kz_checkpoint_value *kz_container_find_value(const kz_checkpoint *checkpoint,
                                                   const char *key) {
    size_t low = 0;
    size_t high = checkpoint->value_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const kz_checkpoint_value *value = &checkpoint->values[checkpoint->values_by_key[middle]];
        const int order = strcmp(key, value->key);
        if (order == 0) {
            return value;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return NULL;
}
