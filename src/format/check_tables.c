// check_tables.c: are metadata, tensors and states sound?
//
// in:  a description
// out: a status
// Limits are far above any real model and far below where sums of products overflow.
#include "format/check_parts.h"

#define BYTES_LIMIT ((uint64_t)1 << 46)
#define EXTENT_LIMIT ((uint64_t)INT32_MAX) // rows are counted by i32 inputs

// --- Metadata -----------------------------------------------------------------------------------

static kazeia_status check_entry(const kz_metadata *entry) {
    switch (entry->type) {
    case KZ_METADATA_INTEGER:
    // Any number is a sound one: what it means is the reader's matter.
    case KZ_METADATA_REAL:
    case KZ_METADATA_INTEGERS:
        return KAZEIA_OK;
    case KZ_METADATA_BOOL:
        if (entry->integer != 0 && entry->integer != 1) {
            return kz_fail(KAZEIA_BAD_FILE, "metadata '%s': bool %lld, 0 or 1 expected", entry->key,
                           (long long)entry->integer);
        }
        return KAZEIA_OK;
    case KZ_METADATA_STRING:
        // Names were checked before, so a key may stand in a sentence.
        return kz_check_text(entry->string, entry->key);
    case KZ_METADATA_STRINGS:
        for (size_t i = 0; i < entry->count; i++) {
            KZ_TRY(kz_check_text(entry->strings[i], entry->key));
        }
        return KAZEIA_OK;
    }
    return kz_fail(KAZEIA_BAD_FILE, "metadata '%s': type %u is unknown", entry->key,
                   (unsigned)entry->type);
}

kazeia_status kz_check_metadata(const kz_program_description *description,
                                const kazeia_allocator *allocator) {
    KZ_TRY(kz_check_names(description->metadata, description->metadata_count, sizeof(kz_metadata),
                          "metadata", allocator));
    for (size_t i = 0; i < description->metadata_count; i++) {
        KZ_TRY(check_entry(&description->metadata[i]));
    }
    return KAZEIA_OK;
}

// --- Tensors ------------------------------------------------------------------------------------

static kazeia_status check_form(const kz_tensor *tensor) {
    // A matrix is what products take; tables in rows may have more dimensions.
    const uint32_t most = tensor->layout == KZ_TILE16 ? 2 : KZ_RANK_LIMIT;
    const uint32_t least = tensor->layout == KZ_TILE16 ? 2 : 1;
    if (!kz_type_is_known(tensor->type) || !kz_layout_holds(tensor->layout, tensor->type)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tensor '%s': type %u in layout %u is no way to hold weights", tensor->name,
                       (unsigned)tensor->type, (unsigned)tensor->layout);
    }
    if (tensor->rank < least || tensor->rank > most) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s': rank %u in layout %s, %u to %u expected",
                       tensor->name, tensor->rank, kz_layout_name(tensor->layout), least, most);
    }
    return KAZEIA_OK;
}

// Rows (all extents but the last) and columns of a tensor.
static kazeia_status find_extents(const kz_tensor *tensor, uint64_t *out_rows,
                                  uint64_t *out_columns) {
    const uint32_t block = kz_type_block_elements(tensor->type);
    *out_rows = 1;
    *out_columns = tensor->dims[tensor->rank - 1];
    for (uint32_t d = 0; d < KZ_RANK_LIMIT; d++) {
        const uint64_t extent = tensor->dims[d];
        // Dimensions beyond the rank are 1, so that their product never depends on the rank.
        if (extent < 1 || extent > EXTENT_LIMIT || (d >= tensor->rank && extent != 1)) {
            return kz_fail(KAZEIA_BAD_FILE, "tensor '%s': extent %u of %u is %llu", tensor->name, d,
                           tensor->rank, (unsigned long long)extent);
        }
        if (d + 1 < tensor->rank) {
            *out_rows *= extent;
        }
        // At each step: rows are below 2^46 and an extent below 2^31, so the product cannot wrap
        // before it is seen.
        if (*out_rows > BYTES_LIMIT) {
            return kz_fail(KAZEIA_BAD_FILE, "tensor '%s': %llu rows are too many", tensor->name,
                           (unsigned long long)*out_rows);
        }
    }
    if (*out_columns % block != 0) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tensor '%s': %llu columns of %s, a multiple of %u expected", tensor->name,
                       (unsigned long long)*out_columns, kz_type_name(tensor->type), block);
    }
    return KAZEIA_OK;
}

static kazeia_status check_size(const kz_tensor *tensor) {
    uint64_t rows;
    uint64_t columns;
    size_t expected;
    KZ_TRY(find_extents(tensor, &rows, &columns));
    // The size follows from the form: a file that says otherwise is damaged, or lies to be read
    // beyond its end.
    if (kz_layout_tensor_bytes(tensor->layout, tensor->type, (size_t)rows, (size_t)columns,
                               &expected) != KAZEIA_OK ||
        expected > BYTES_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s': %llu x %llu %s are too large", tensor->name,
                       (unsigned long long)rows, (unsigned long long)columns,
                       kz_type_name(tensor->type));
    }
    if (tensor->bytes != expected) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s': %llu bytes for %llu x %llu %s, %zu expected",
                       tensor->name, (unsigned long long)tensor->bytes, (unsigned long long)rows,
                       (unsigned long long)columns, kz_type_name(tensor->type), expected);
    }
    return KAZEIA_OK;
}

static kazeia_status check_place(const kz_program_description *description,
                                 const kz_tensor *tensor) {
    if (tensor->context >= description->context_count) {
        return kz_fail(KAZEIA_BAD_FILE, "tensor '%s': weight context %u of %zu", tensor->name,
                       tensor->context, description->context_count);
    }
    // Contexts' own bytes were compared with the file when they were located (reader.c).
    const uint64_t room = description->contexts[tensor->context].bytes;
    if (tensor->offset % KZ_ALIGNMENT != 0 || tensor->offset > room ||
        tensor->bytes > room - tensor->offset) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tensor '%s': %llu bytes at %llu, expected at a multiple of %u within the "
                       "%llu bytes of weight context %u",
                       tensor->name, (unsigned long long)tensor->bytes,
                       (unsigned long long)tensor->offset, KZ_ALIGNMENT, (unsigned long long)room,
                       tensor->context);
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_tensors(const kz_program_description *description,
                               const kazeia_allocator *allocator) {
    KZ_TRY(kz_check_names(description->tensors, description->tensor_count, sizeof(kz_tensor),
                          "tensor", allocator));
    for (size_t i = 0; i < description->tensor_count; i++) {
        KZ_TRY(check_form(&description->tensors[i]));
        KZ_TRY(check_size(&description->tensors[i]));
        KZ_TRY(check_place(description, &description->tensors[i]));
    }
    return KAZEIA_OK;
}

// --- States -------------------------------------------------------------------------------------

static kazeia_status check_state(const kz_state *state) {
    const bool is_type = state->type == KZ_F32 || state->type == KZ_F16 || state->type == KZ_I8;
    if (!is_type) {
        return kz_fail(KAZEIA_BAD_FILE, "state '%s': type %u, f32, f16 or i8 expected", state->name,
                       (unsigned)state->type);
    }
    // A head of i8 is an f32 scale and its bytes: whole words keep every scale aligned.
    const uint32_t multiple = state->type == KZ_I8 ? 4 : 1;
    if (state->head_dim < 1 || state->head_dim > KZ_HEAD_DIM_LIMIT ||
        state->head_dim % multiple != 0) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "state '%s': heads of %u elements of %s, a multiple of %u up to %u expected",
                       state->name, state->head_dim, kz_type_name(state->type), multiple,
                       KZ_HEAD_DIM_LIMIT);
    }
    if (state->heads < 1 || state->heads > EXTENT_LIMIT / KZ_HEAD_DIM_LIMIT || state->rows < 1 ||
        state->rows > EXTENT_LIMIT || kz_state_bytes(state) > BYTES_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "state '%s': %llu rows of %u heads of %u are none or too many", state->name,
                       (unsigned long long)state->rows, state->heads, state->head_dim);
    }
    return KAZEIA_OK;
}

kazeia_status kz_check_states(const kz_program_description *description,
                              const kazeia_allocator *allocator) {
    KZ_TRY(kz_check_names(description->states, description->state_count, sizeof(kz_state), "state",
                          allocator));
    for (size_t i = 0; i < description->state_count; i++) {
        KZ_TRY(check_state(&description->states[i]));
    }
    return KAZEIA_OK;
}
