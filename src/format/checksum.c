// checksum.c: xxHash's header, inlined, behind two small interfaces.
//
// in:  bytes
// out: their XXH3-64 with seed 0
// The header is included here only: its functions then exist once, and no other file sees its
// names.
#include "format/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define STATE_ALIGNMENT 64

struct kz_checksum_stream {
    XXH3_state_t state;
    kazeia_allocator allocator;
};

uint64_t kz_checksum(const void *bytes, size_t count) {
    return XXH3_64bits(bytes, count);
}

kazeia_status kz_checksum_stream_create(const kazeia_allocator *allocator,
                                        kz_checksum_stream **out_stream) {
    const kazeia_allocator source = kz_allocator_or_default(allocator);
    void *memory = NULL;
    // xxHash's state wants 64 bytes of alignment for its vector loads.
    KZ_TRY(kz_alloc_aligned(&source, sizeof(kz_checksum_stream), STATE_ALIGNMENT,
                            "a checksum's state", &memory));
    kz_checksum_stream *stream = memory;
    stream->allocator = source;
    (void)XXH3_64bits_reset(&stream->state);
    *out_stream = stream;
    return KAZEIA_OK;
}

void kz_checksum_stream_add(kz_checksum_stream *stream, const void *bytes, size_t count) {
    (void)XXH3_64bits_update(&stream->state, bytes, count);
}

uint64_t kz_checksum_stream_finish(kz_checksum_stream *stream) {
    // Reset at once: the writer hashes one weight context after the other with one stream.
    const uint64_t checksum = XXH3_64bits_digest(&stream->state);
    (void)XXH3_64bits_reset(&stream->state);
    return checksum;
}

void kz_checksum_stream_destroy(kz_checksum_stream *stream) {
    if (stream != NULL) {
        const kazeia_allocator allocator = stream->allocator;
        kz_free_aligned(&allocator, stream);
    }
}
