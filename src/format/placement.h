// placement.h: where each tensor of a program about to be written will lie.
#ifndef KZ_FORMAT_PLACEMENT_H
#define KZ_FORMAT_PLACEMENT_H

#include "base/alloc.h"
#include "format/program.h"

// A description whose tensors have places. Everything but the two arrays is the caller's.
typedef struct kz_placement {
    kazeia_allocator allocator;
    kz_program_description description; // tensors and contexts point to the arrays below
    kz_tensor *tensors;
    kz_weight_context *contexts; // sizes; offset and checksum still 0, no file names
} kz_placement;

// Cuts the tensors, in their order, into `context_count` contexts of about equal size: all in
// context 0 for 1, none without tensors. Fails with BAD_ARGUMENT when there are fewer tensors than
// contexts.
KAZEIA_MUST_CHECK kazeia_status kz_placement_init(kz_placement *placement,
                                                  const kz_program_description *description,
                                                  uint32_t context_count,
                                                  const kazeia_allocator *allocator);
void kz_placement_clear(kz_placement *placement);

#endif
