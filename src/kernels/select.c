// select.c: which variant of each kernel runs on this machine.
//
// in: kernels.def, the processor's levels, KAZEIA_CPU. out: a filled kz_kernels. A variant also
// needs its own level on the machine, not only one below the chosen: a processor may have
// AVX512-VNNI and lack AVX-VNNI.
#include <stdlib.h>
#include <string.h>

#include "kernels/variants.h"

const kz_kernel_variant kz_kernel_variants[] = {
#define KZ_KERNEL(slot, level, function) \
    {KZ_SLOT_##slot, KZ_CPU_##level, (kz_any_kernel)(function), #function},
#include "kernels/kernels.def"
#undef KZ_KERNEL
};
const size_t kz_kernel_variant_count = sizeof kz_kernel_variants / sizeof kz_kernel_variants[0];

static const struct {
    size_t offset; // of the member in kz_kernels
    const char *name;
} slots[] = {
#define KZ_KERNEL_SLOT(slot, type) {offsetof(kz_kernels, slot), #slot},
    KZ_KERNEL_SLOT_LIST(KZ_KERNEL_SLOT)
#undef KZ_KERNEL_SLOT
};

_Static_assert(KZ_SLOT_COUNT <= sizeof((kz_kernels *)0)->names / sizeof(const char *),
               "kz_kernels.names has a place for every slot");

const char *kz_kernel_slot_name(kz_kernel_slot slot) {
    return slots[slot].name;
}

// Levels of both families stand in one enum: a comparison alone would take x86 levels for older ARM
// ones.
static bool is_arm(kz_cpu_level level) {
    return level >= KZ_CPU_NEON;
}

// True when a table for `chosen` may hold a variant of `level`.
static bool is_allowed(kz_cpu_level level, kz_cpu_level chosen) {
    const bool is_family = level == KZ_CPU_REF || is_arm(level) == is_arm(chosen);
    return is_family && level <= chosen && kz_cpu_has(level);
}

void kz_kernels_select(kz_cpu_level level, kz_kernels *out_kernels) {
    memset(out_kernels, 0, sizeof *out_kernels);
    out_kernels->level = level;
    bool allowed[KZ_CPU_LEVEL_COUNT]; // asked once: in a virtual machine cpuid takes its time
    for (int i = 0; i < KZ_CPU_LEVEL_COUNT; i++) {
        allowed[i] = is_allowed((kz_cpu_level)i, level);
    }
    for (size_t i = 0; i < kz_kernel_variant_count; i++) {
        const kz_kernel_variant *variant = &kz_kernel_variants[i];
        if (allowed[variant->level]) {
            // Members have different function types of one size: the pointer is copied as bytes and
            // called through its own type.
            memcpy((char *)out_kernels + slots[variant->slot].offset, &variant->function,
                   sizeof variant->function);
            out_kernels->names[variant->slot] = variant->name;
        }
    }
}

static kz_cpu_level best_level(void) {
    kz_cpu_level best = KZ_CPU_REF;
    for (int level = KZ_CPU_REF; level < KZ_CPU_LEVEL_COUNT; level++) {
        if (kz_cpu_has((kz_cpu_level)level)) {
            best = (kz_cpu_level)level;
        }
    }
    return best;
}

// "ref, avx2, amx": what this machine has.
static void list_levels(char *out_list, size_t capacity) {
    size_t used = 0;
    out_list[0] = '\0';
    for (int level = KZ_CPU_REF; level < KZ_CPU_LEVEL_COUNT; level++) {
        const char *name = kz_cpu_level_name((kz_cpu_level)level);
        const size_t length = strlen(name);
        if (kz_cpu_has((kz_cpu_level)level) && used + length + 3 < capacity) {
            if (used > 0) {
                memcpy(out_list + used, ", ", 2);
                used += 2;
            }
            memcpy(out_list + used, name, length + 1);
            used += length;
        }
    }
}

// An unknown or missing level is refused instead of replaced: a test that asks for one must not
// pass on another.
kazeia_status kz_kernels_choose_level(kz_cpu_level *out_level) {
    const char *wanted = getenv("KAZEIA_CPU");
    char list[160];
    if (wanted == NULL || wanted[0] == '\0') {
        *out_level = best_level();
        return KAZEIA_OK;
    }
    list_levels(list, sizeof list);
    for (int level = KZ_CPU_REF; level < KZ_CPU_LEVEL_COUNT; level++) {
        if (strcmp(wanted, kz_cpu_level_name((kz_cpu_level)level)) != 0) {
            continue;
        }
        if (!kz_cpu_has((kz_cpu_level)level)) {
            return kz_fail(KAZEIA_UNSUPPORTED, "KAZEIA_CPU: this machine lacks '%s'; it has: %s",
                           wanted, list);
        }
        *out_level = (kz_cpu_level)level;
        return KAZEIA_OK;
    }
    return kz_fail(KAZEIA_BAD_ARGUMENT,
                   "KAZEIA_CPU: '%s' is no instruction set; this machine has: %s", wanted, list);
}
