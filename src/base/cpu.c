// cpu.c: which instruction sets this process may use.
//
// in:  CPUID and XCR0 on x86, the kernel's capability words on ARM
// out: yes or no for each level
//
// Nothing is kept between calls: the kernel table asks once, and a cache here would be one more
// piece of process-wide state. The bit numbers are those of Intel's and ARM's manuals.
#include "base/cpu.h"

#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

#define BIT(n) ((uint32_t)1 << (n))

// Registers of the CPUID leaves that matter and the low half of XCR0 (the register sets that the
// system saves).
typedef struct x86_bits {
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax, xcr0;
} x86_bits;

// OSXSAVE, AVX, FMA, F16C; AVX2; SSE and AVX state saved.
#define AVX2_LEAF1_ECX (BIT(12) | BIT(27) | BIT(28) | BIT(29))
#define AVX2_LEAF7_EBX BIT(5)
#define AVX_STATE (BIT(1) | BIT(2))
// F, DQ, BW, VL; VNNI; mask registers and both halves of the 512-bit ones saved.
#define AVX512_LEAF7_EBX (AVX2_LEAF7_EBX | BIT(16) | BIT(17) | BIT(30) | BIT(31))
#define AVX512_LEAF7_ECX BIT(11)
#define AVX512_STATE (AVX_STATE | BIT(5) | BIT(6) | BIT(7))
// AMX-BF16, AMX-TILE, AMX-INT8; tile configuration and tiles saved.
#define AMX_LEAF7_EDX (BIT(22) | BIT(24) | BIT(25))
#define AMX_STATE (AVX512_STATE | BIT(17) | BIT(18))

static const x86_bits needed_bits[KZ_CPU_LEVEL_COUNT] = {
    [KZ_CPU_AVX2] = {AVX2_LEAF1_ECX, AVX2_LEAF7_EBX, 0, 0, 0, AVX_STATE},
    [KZ_CPU_AVXVNNI] = {AVX2_LEAF1_ECX, AVX2_LEAF7_EBX, 0, 0, BIT(4), AVX_STATE},
    [KZ_CPU_AVX512VNNI] = {AVX2_LEAF1_ECX, AVX512_LEAF7_EBX, AVX512_LEAF7_ECX, 0, 0, AVX512_STATE},
    [KZ_CPU_AMX] = {AVX2_LEAF1_ECX, AVX512_LEAF7_EBX, AVX512_LEAF7_ECX, AMX_LEAF7_EDX, 0,
                    AMX_STATE},
};

// Only valid when OSXSAVE is set. The instruction itself is illegal where the system has not turned
// it on. XCR0 tells what the system saves at a switch of threads: a processor may have registers
// that the kernel would lose.
static uint32_t read_xcr0(void) {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static x86_bits read_bits(void) {
    x86_bits bits = {0};
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(1, 0, &eax, &ebx, &ecx, &edx)) {
        bits.leaf1_ecx = ecx;
    }
    if ((bits.leaf1_ecx & BIT(27)) != 0) {
        bits.xcr0 = read_xcr0();
    }
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        return bits;
    }
    // Subleaf 0 gives in EAX the last subleaf that exists; what a later one answers has no meaning.
    const uint32_t last_subleaf = eax;
    bits.leaf7_ebx = ebx;
    bits.leaf7_ecx = ecx;
    bits.leaf7_edx = edx;
    if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) {
        bits.leaf7_1_eax = eax;
    }
    return bits;
}

static bool has_all(uint32_t found, uint32_t needed) {
    return (found & needed) == needed;
}

static bool machine_has(kz_cpu_level level) {
    const x86_bits *needed = &needed_bits[level];
    if (needed->xcr0 == 0) {
        return false; // a level of another family
    }
    const x86_bits found = read_bits();
    const bool is_there = has_all(found.leaf1_ecx, needed->leaf1_ecx) &&
                          has_all(found.leaf7_ebx, needed->leaf7_ebx) &&
                          has_all(found.leaf7_ecx, needed->leaf7_ecx) &&
                          has_all(found.leaf7_edx, needed->leaf7_edx) &&
                          has_all(found.leaf7_1_eax, needed->leaf7_1_eax) &&
                          has_all(found.xcr0, needed->xcr0);
    // Asked last: the permission is for the whole process and cannot be given back, and it makes
    // signal frames larger by the 8 KB of the tiles.
    return is_there && (level != KZ_CPU_AMX || kz_os_grant_amx());
}

#elif defined(__aarch64__)

#define ASIMD ((uint64_t)1 << 1)
#define ASIMDDP ((uint64_t)1 << 20)
#define I8MM ((uint64_t)1 << 13)

// Bits of the first and the second capability word.
static const uint64_t needed_bits[KZ_CPU_LEVEL_COUNT][2] = {
    [KZ_CPU_NEON] = {ASIMD, 0},
    [KZ_CPU_DOTPROD] = {ASIMD | ASIMDDP, 0},
    [KZ_CPU_I8MM] = {ASIMD | ASIMDDP, I8MM},
};

// Advanced SIMD is part of every 64-bit ARM that Linux runs on; it is asked for all the same, so
// that a table row of zeros can mean another family.
static bool machine_has(kz_cpu_level level) {
    const uint64_t *needed = needed_bits[level];
    uint64_t first = 0;
    uint64_t second = 0;
    kz_os_hardware_capabilities(&first, &second);
    return needed[0] != 0 && (first & needed[0]) == needed[0] && (second & needed[1]) == needed[1];
}

#else

static bool machine_has(kz_cpu_level level) {
    (void)level;
    return false;
}

#endif

// The enum may come from the outside as an integer: one comparison as unsigned also refuses
// negative ones.
static bool is_level(kz_cpu_level level) {
    return (unsigned)level < KZ_CPU_LEVEL_COUNT;
}

bool kz_cpu_has(kz_cpu_level level) {
    if (!is_level(level)) {
        return false;
    }
    return level == KZ_CPU_REF || machine_has(level);
}

const char *kz_cpu_level_name(kz_cpu_level level) {
    static const char *const names[KZ_CPU_LEVEL_COUNT] = {
        [KZ_CPU_REF] = "ref",         [KZ_CPU_AVX2] = "avx2",
        [KZ_CPU_AVXVNNI] = "avxvnni", [KZ_CPU_AVX512VNNI] = "avx512vnni",
        [KZ_CPU_AMX] = "amx",         [KZ_CPU_NEON] = "neon",
        [KZ_CPU_DOTPROD] = "dotprod", [KZ_CPU_I8MM] = "i8mm",
    };
    return is_level(level) ? names[level] : "unknown";
}
