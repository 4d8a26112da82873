// library.h: shared libraries opened at run time (espeak-ng: optional, GPL, never linked).
#ifndef KZ_BASE_LIBRARY_H
#define KZ_BASE_LIBRARY_H

#include "base/status.h"

// The caller's memory; zeros are no library.
typedef struct kz_library {
    void *native;
} kz_library;

// `name` as the system's loader takes it ("libespeak-ng.so.1"). NOT_FOUND when it is not there.
KAZEIA_MUST_CHECK kazeia_status kz_library_open(const char *name, kz_library *out_library);
// A function's address. NOT_FOUND names the symbol. Convert through memcpy or a union.
KAZEIA_MUST_CHECK kazeia_status kz_library_find(const kz_library *library, const char *symbol,
                                                void **out_address);
// Ends all addresses that were found; does nothing for no library.
void kz_library_close(kz_library *library);

#endif
