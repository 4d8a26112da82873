// variants.h: every kernel function that was built, as kernels.def lists them.
//
// in: kernels.def. out: a declaration of each function and one table of them, for selection, for
// the test against the reference and for the micro-benchmark. Slots have different function types,
// so the table holds the common pointer type that C lets any function pointer be cast to and back
// from.
#ifndef KZ_KERNELS_VARIANTS_H
#define KZ_KERNELS_VARIANTS_H

#include "kernels/kernels.h"

// The slots in the order of KZ_KERNEL_SLOT_LIST.
typedef enum kz_kernel_slot {
#define KZ_KERNEL_SLOT(slot, type) KZ_SLOT_##slot,
    KZ_KERNEL_SLOT_LIST(KZ_KERNEL_SLOT)
#undef KZ_KERNEL_SLOT
        KZ_SLOT_COUNT
} kz_kernel_slot;

typedef void (*kz_any_kernel)(void);

// One line of kernels.def. `function` is cast back to the slot's type before it is called.
typedef struct kz_kernel_variant {
    kz_kernel_slot slot;
    kz_cpu_level level;
    kz_any_kernel function;
    const char *name; // the function's
} kz_kernel_variant;

#define KZ_KERNEL(slot, level, function) __typeof__(*((kz_kernels *)0)->slot) function;
#include "kernels/kernels.def"
#undef KZ_KERNEL

// In the order of kernels.def.
extern const kz_kernel_variant kz_kernel_variants[];
extern const size_t kz_kernel_variant_count;

// As "matmul_a8_q8_0". A constant string.
const char *kz_kernel_slot_name(kz_kernel_slot slot);

#endif
