// ends_tile.h: the ends of rows, for lanes without masks.
//
// in: an including file that has v_load and v_store. out: v_load_some, v_store_some.
#ifndef KZ_KERNELS_TILE_ENDS_TILE_H
#define KZ_KERNELS_TILE_ENDS_TILE_H

// Without masks of lanes the ends of rows go through a copy; whole vectors, by far the most, do
// not.
SIMD_INLINE vfloat v_load_some(const float *from, size_t count) {
    if (count == 16) {
        return v_load(from);
    }
    float lanes[16] = {0.0f};
    memcpy(lanes, from, count * sizeof *from);
    return v_load(lanes);
}

SIMD_INLINE void v_store_some(float *to, vfloat a, size_t count) {
    if (count == 16) {
        v_store(to, a);
        return;
    }
    float lanes[16];
    v_store(lanes, a);
    memcpy(to, lanes, count * sizeof *to);
}

#endif
