// cpu.h: what the processor and the operating system together allow.
#ifndef KZ_BASE_CPU_H
#define KZ_BASE_CPU_H

#include <stdbool.h>

// Instruction sets, oldest first within a family; each x86 level includes those before it, so does
// each ARM level. A level is only reported when the operating system saves its registers (XCR0)
// and, for AMX, has granted them to this process.
typedef enum kz_cpu_level {
    KZ_CPU_REF,        // plain C
    KZ_CPU_AVX2,       // AVX2 + FMA + F16C
    KZ_CPU_AVXVNNI,    // + AVX-VNNI (256 bit)
    KZ_CPU_AVX512VNNI, // AVX512 F/BW/VL/DQ + VNNI
    KZ_CPU_AMX,        // + AMX-INT8 and AMX-BF16, permission granted
    KZ_CPU_NEON,
    KZ_CPU_DOTPROD,
    KZ_CPU_I8MM,
    KZ_CPU_LEVEL_COUNT
} kz_cpu_level;

// True when this machine can run the level. A machine may have AVX512-VNNI and no AVX-VNNI. Asks
// the processor each time (dear in a virtual machine): callers keep the answer. Asking for AMX
// makes Linux grant its registers to the process.
bool kz_cpu_has(kz_cpu_level level);
// As KAZEIA_CPU spells it: "ref", "avx512vnni". A constant string.
const char *kz_cpu_level_name(kz_cpu_level level);

#endif
