// placement.c: where each tensor of a program about to be written will lie.
//
// in:  tensors with their sizes, in the order in which they will be written
// out: context and offset of each, size of each context
// Each context takes tensors until it comes nearest to an equal share of what is left. Shares are
// only about equal because a tensor is never split: kernels read it as one piece.
#include "format/placement.h"

#include <string.h>

#include "format/file_parts.h"

// Weight contexts hold at most this much, so that sums of aligned sizes cannot overflow.
#define WEIGHT_BYTES_LIMIT ((uint64_t)1 << 56)

static uint64_t aligned(uint64_t bytes) {
    return (bytes + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
}

static kazeia_status sum_tensors(const kz_placement *placement, uint64_t *out_total) {
    uint64_t total = 0;
    for (size_t i = 0; i < placement->description.tensor_count; i++) {
        const uint64_t bytes = placement->tensors[i].bytes;
        // Both are below 2^57 here, so the sum does not wrap.
        if (bytes > WEIGHT_BYTES_LIMIT || total + bytes > WEIGHT_BYTES_LIMIT) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "tensor '%s' of %llu bytes: weights are too large",
                           placement->tensors[i].name, (unsigned long long)bytes);
        }
        total += aligned(bytes);
    }
    *out_total = total;
    return KAZEIA_OK;
}

static void place_tensors(kz_placement *placement, uint64_t bytes_left) {
    const size_t tensor_count = placement->description.tensor_count;
    const size_t context_count = placement->description.context_count;
    size_t next = 0;
    for (size_t c = 0; c < context_count; c++) {
        // Of what is left, not of the whole: one large tensor early does not leave the last context
        // empty.
        const uint64_t share = bytes_left / (context_count - c);
        const size_t last = tensor_count - (context_count - c - 1); // the others need one each
        uint64_t bytes = 0;
        const size_t first = next;
        while (next < last) {
            const uint64_t added = aligned(placement->tensors[next].bytes);
            // Half of the tensor beyond the share is the nearer end; each context takes one at
            // least, the last one the rest.
            if (next > first && c + 1 < context_count && bytes + added / 2 > share) {
                break;
            }
            placement->tensors[next].context = (uint32_t)c;
            placement->tensors[next].offset = bytes;
            bytes += added;
            next++;
        }
        placement->contexts[c].bytes = bytes;
        bytes_left -= bytes;
    }
}

static kazeia_status fill_placement(kz_placement *placement) {
    kz_program_description *description = &placement->description;
    void *tensors = NULL;
    void *contexts = NULL;
    uint64_t total = 0;
    // Own copies: offsets are written into them, and the caller's description stays as it is.
    KZ_TRY(kz_alloc(&placement->allocator, description->tensor_count, sizeof(kz_tensor),
                    "the tensor table", &tensors));
    placement->tensors = tensors;
    KZ_TRY(kz_alloc(&placement->allocator, description->context_count, sizeof(kz_weight_context),
                    "the table of weight contexts", &contexts));
    placement->contexts = contexts;
    if (description->tensor_count > 0) {
        memcpy(tensors, description->tensors, description->tensor_count * sizeof(kz_tensor));
    }
    description->tensors = placement->tensors;
    description->contexts = placement->contexts;
    KZ_TRY(sum_tensors(placement, &total));
    place_tensors(placement, total);
    return KAZEIA_OK;
}

kazeia_status kz_placement_init(kz_placement *placement, const kz_program_description *description,
                                uint32_t context_count, const kazeia_allocator *allocator) {
    *placement = (kz_placement){.allocator = kz_allocator_or_default(allocator),
                                .description = *description};
    // A program without weights (a tokenizer alone, say) has no context.
    placement->description.context_count = description->tensor_count == 0 ? 0 : context_count;
    if (context_count < 1 || context_count > KZ_SHARD_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "%u weight files asked for, 1 to %u are possible",
                       context_count, KZ_SHARD_LIMIT);
    }
    if (context_count > 1 && context_count > description->tensor_count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "%u weight files asked for %zu tensors: each holds at least one",
                       context_count, description->tensor_count);
    }
    return fill_placement(placement);
}

void kz_placement_clear(kz_placement *placement) {
    kz_free(&placement->allocator, placement->tensors);
    kz_free(&placement->allocator, placement->contexts);
    placement->tensors = NULL;
    placement->contexts = NULL;
}
