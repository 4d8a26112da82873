// matmul_a8_tile.h: KZ_A8 activations times quantised panels.
//
// in: matmul_tile.h and matmul_a8_types.h included before. out: the matmul_a8_* kernels. A block of
// 32 k is an exact integer dot product (simd_*.h); its scaling is one multiplication d * scale and
// one fused multiply-add, one more for a minimum, the same for every tile and instruction set, so
// all of them agree to the last bit.
#include <string.h>

// How far a single token's pass reads ahead, into the second cache, whose queue to memory is longer
// than the first one's. Less does not cover memory's delay, more crosses into the next page too
// often (4 KB ahead lost 15 % of the speed, the first cache 5 %).
#define A8_PREFETCH_BYTES 1536

// A type with halves needs two registers for each product of a block.
SIMD_INLINE size_t a8_tokens_most(kz_type type) {
    return a8_has_halves(type) && SIMD_A8_TOKENS > 4 ? 4 : SIMD_A8_TOKENS;
}

// Operands of a tile. Numbers of panels and tokens are constants everywhere below, so that sums and
// dots are registers.
typedef struct a8_operands {
    const uint8_t *record; // of the first panel
    size_t panel_bytes;    // to the next panel
    kz_a8_row x[SIMD_A8_TOKENS];
    a8_sixes sixes[SIMD_A8_PANELS]; // of the record
} a8_operands;

// Groups of four k within a part: those of a block, or of half of one.
typedef struct a8_range {
    size_t first, count;
} a8_range;

// A line or two of what a part's share of its record is, at each of the part's 16 steps: evenly,
// for a burst would keep loads waiting. A prefetch beyond the last panel does not fault.
SIMD_INLINE void a8_prefetch(kz_type type, const uint8_t *part, size_t group) {
    const size_t bytes = a8_record_bytes(type) / (a8_record_blocks(type) / 2);
    for (size_t line = group; line < (bytes + 63) / 64; line += 16) {
        simd_ask_far(part + A8_PREFETCH_BYTES + 64 * line);
    }
}

// One group of all panels against all tokens; `k` is its block's in the activations.
SIMD_INLINE void a8_step(kz_type type, int panels, int tokens, const a8_operands *operands,
                         const uint8_t *part, size_t group, size_t k,
                         vsteps steps[][SIMD_A8_TOKENS]) {
    if (tokens == 1) {
        a8_prefetch(type, part, group);
    }
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        const vint weights = a8_weights(type, part + (size_t)p * operands->panel_bytes, group);
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            const vfour x = i_four(operands->x[t].q + k, group % 8);
            steps[p][t] = a8_is_signed(type) ? i_signed_step(steps[p][t], weights, x)
                                             : i_unsigned_step(steps[p][t], weights, x);
        }
    }
}

// dots[p][t] += as many groups as one run of steps holds.
SIMD_INLINE void a8_run(kz_type type, int panels, int tokens, const a8_operands *operands,
                        const uint8_t *part, a8_range range, size_t k,
                        vint dots[][SIMD_A8_TOKENS]) {
    vsteps steps[SIMD_A8_PANELS][SIMD_A8_TOKENS];
    SIMD_UNROLL
    for (int i = 0; i < panels * tokens; i++) {
        steps[i / tokens][i % tokens] = i_steps_begin(dots[i / tokens][i % tokens]);
    }
    SIMD_UNROLL
    for (size_t i = 0; i < range.count; i++) {
        a8_step(type, panels, tokens, operands, part, range.first + i, k, steps);
    }
    SIMD_UNROLL
    for (int i = 0; i < panels * tokens; i++) {
        vint *dot = &dots[i / tokens][i % tokens];
        *dot = i_steps_end(*dot, steps[i / tokens][i % tokens]);
    }
}

// The sum of the activations of a range, which pays the weights' offset back.
SIMD_INLINE int32_t a8_sum(const kz_a8_row *x, size_t block, a8_range range) {
    const int32_t sum = x->sum[block];
    if (range.count == 8) {
        return sum;
    }
    return range.first % 8 == 0 ? x->half[block] : sum - x->half[block];
}

// dots[p][t] of a range of block `block`.
SIMD_INLINE void a8_dots(kz_type type, int panels, int tokens, const a8_operands *operands,
                         const uint8_t *part, size_t block, a8_range range,
                         vint dots[][SIMD_A8_TOKENS]) {
    const size_t most = a8_steps_most(type);
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const vint start = i_set(-a8_offset(type) * a8_sum(&operands->x[t], block, range));
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            dots[p][t] = start;
        }
    }
    SIMD_UNROLL
    for (size_t i = 0; i < range.count; i += most) {
        const a8_range run = {range.first + i, most};
        a8_run(type, panels, tokens, operands, part, run, block * KZ_BLOCK, dots);
    }
}

// The integers of block `b` of the record, as floats: exact, for they are below 2^24
// (ref/matmul_a8.c).
SIMD_INLINE void a8_products(kz_type type, int panels, int tokens, const a8_operands *operands,
                             size_t b, size_t block, vfloat products[][SIMD_A8_TOKENS]) {
    const uint8_t *part = operands->record + a8_scale_bytes(type) + b / 2 * a8_part_bytes(type);
    const size_t parts = a8_has_halves(type) ? 2 : 1;
    vint dots[SIMD_A8_PANELS][SIMD_A8_TOKENS];
    SIMD_UNROLL
    for (size_t i = 0; i < parts; i++) {
        const a8_range range = {b % 2 * 8 + i * 4, 8 / parts};
        a8_dots(type, panels, tokens, operands, part, block, range, dots);
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            const uint8_t *record = operands->record + (size_t)p * operands->panel_bytes;
            const vfloat scale = parts == 2 ? a8_half_scale(record, b, i) : v_zero();
            SIMD_UNROLL
            for (int t = 0; t < tokens; t++) {
                const vfloat dot = v_from_ints(dots[p][t]);
                products[p][t] = parts == 1 ? dot
                                 : i == 0   ? v_mul(dot, scale)
                                            : v_fma(dot, scale, products[p][t]);
            }
        }
    }
}

// sums[p][t] += block `b` of the record, which is block `block` of the row. `b % 2` is a constant.
SIMD_INLINE void a8_block(kz_type type, int panels, int tokens, const a8_operands *operands,
                          size_t b, size_t block, vfloat sums[][SIMD_A8_TOKENS]) {
    vfloat products[SIMD_A8_PANELS][SIMD_A8_TOKENS];
    a8_products(type, panels, tokens, operands, b, block, products);
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        const uint8_t *record = operands->record + (size_t)p * operands->panel_bytes;
        const vfloat d = a8_scale(type, record, &operands->sixes[p], b);
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            const float scale = operands->x[t].scale[block];
            // d * scale is rounded first, then fused: the order that all variants share.
            sums[p][t] = v_fma(products[p][t], v_mul(d, v_set(scale)), sums[p][t]);
            if (a8_has_minimum(type)) {
                const vfloat minimum = a8_minimum(type, record, &operands->sixes[p], b);
                const float offset = scale * (float)operands->x[t].sum[block];
                sums[p][t] = a8_add_minimum(type, minimum, offset, sums[p][t]);
            }
        }
    }
}

SIMD_INLINE void a8_record(kz_type type, int panels, int tokens, a8_operands *operands,
                           size_t block, vfloat sums[][SIMD_A8_TOKENS]) {
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        const uint8_t *record = operands->record + (size_t)p * operands->panel_bytes;
        a8_open_record(type, record, &operands->sixes[p]);
    }
    // Parts stay a loop: its code would not fit the nearest cache.
    for (size_t b = 0; b < a8_record_blocks(type); b += 2) {
        a8_block(type, panels, tokens, operands, b, block + b, sums);
        a8_block(type, panels, tokens, operands, b + 1, block + b + 1, sums);
    }
}

SIMD_INLINE void a8_tile(kz_type type, int panels, int tokens, const kz_matmul *matmul,
                         size_t panel, size_t token) {
    const size_t blocks = kz_a8_padded(matmul->columns) / KZ_BLOCK;
    const size_t panel_bytes = blocks / a8_record_blocks(type) * a8_record_bytes(type);
    vfloat sums[SIMD_A8_PANELS][SIMD_A8_TOKENS];
    a8_operands operands;
    operands.record = (const uint8_t *)matmul->weights + panel * panel_bytes;
    operands.panel_bytes = panel_bytes;
    SIMD_UNROLL
    for (int t = 0; t < tokens; t++) {
        const char *row = (const char *)matmul->x + (token + (size_t)t) * matmul->x_stride;
        operands.x[t] = kz_a8_row_of(row, matmul->columns);
        SIMD_UNROLL
        for (int p = 0; p < panels; p++) {
            sums[p][t] = v_zero();
        }
    }
    for (size_t block = 0; block < blocks; block += a8_record_blocks(type)) {
        a8_record(type, panels, tokens, &operands, block, sums);
        operands.record += a8_record_bytes(type);
    }
    SIMD_UNROLL
    for (int p = 0; p < panels; p++) {
        SIMD_UNROLL
        for (int t = 0; t < tokens; t++) {
            finish_panel(matmul, panel + (size_t)p, token + (size_t)t, sums[p][t]);
        }
    }
}

// Tokens whose activations stay in the second cache while all panels pass: a multiple of any tile.
#define A8_TOKENS_AT_ONCE 192

SIMD_INLINE void a8_some_tokens(kz_type type, const kz_matmul *matmul, size_t panel,
                                size_t panel_end, size_t token, size_t token_end) {
#define A8_TILE(panels, tokens) a8_tile(type, panels, tokens, matmul, panel, t)
    // A single token is bound by memory: one panel after the other is read in order, and several at
    // once would only be more streams.
    for (; token_end - token > 1 && panel_end - panel >= SIMD_A8_PANELS; panel += SIMD_A8_PANELS) {
        size_t t = token;
        TILE_TOKENS(A8_TILE, SIMD_A8_PANELS, a8_tokens_most(type), t, token_end);
    }
    for (; panel < panel_end; panel++) {
        size_t t = token;
        TILE_TOKENS(A8_TILE, 1, a8_tokens_most(type), t, token_end);
    }
#undef A8_TILE
}

SIMD_INLINE void a8_matmul(kz_type type, const kz_matmul *matmul, size_t panel, size_t panel_end,
                           size_t token, size_t token_end) {
    for (size_t t = token; t < token_end; t += A8_TOKENS_AT_ONCE) {
        const size_t left = token_end - t;
        a8_some_tokens(type, matmul, panel, panel_end, t,
                       t + (left < A8_TOKENS_AT_ONCE ? left : A8_TOKENS_AT_ONCE));
    }
    simd_leave();
}

#define A8_KERNEL(name, type)                                                                  \
    void KZ_NAME(kz_matmul_a8_##name)(const kz_matmul *matmul, size_t panel, size_t panel_end, \
                                      size_t token, size_t token_end) {                        \
        a8_matmul(type, matmul, panel, panel_end, token, token_end);                           \
    }

A8_KERNEL(q8_0, KZ_Q8_0)
A8_KERNEL(q4_0, KZ_Q4_0)
A8_KERNEL(q4_1, KZ_Q4_1)
A8_KERNEL(q5_0, KZ_Q5_0)
A8_KERNEL(q5_1, KZ_Q5_1)
A8_KERNEL(iq4_nl, KZ_IQ4_NL)
A8_KERNEL(q4_k, KZ_Q4_K)
A8_KERNEL(q5_k, KZ_Q5_K)
A8_KERNEL(q6_k, KZ_Q6_K)
#undef A8_KERNEL
