// os.h: what os_*.c offer to the rest of base, beside the interfaces that have their own headers.
#ifndef KZ_BASE_OS_H
#define KZ_BASE_OS_H

#include <stddef.h>

#include "base/status.h"

// Fails with "cannot DEED 'PATH': REASON" for an errno value: NOT_FOUND when the path does not
// exist, OUT_OF_MEMORY, BAD_ARGUMENT for a path that cannot be one, IO for everything else.
kazeia_status kz_os_fail(int error, const char *deed, const char *path);

// Asks Linux for the AMX tile registers, which it grants to a process on request only. True when
// this process may use them; asking again is harmless.
bool kz_os_grant_amx(void);

// Says that memory will be read again and again, so that large pages serve it well. Only a hint: it
// touches nothing, and its failure changes nothing but speed. Pages that reach beyond the bytes are
// left alone.
void kz_os_advise_large_pages(void *memory, size_t bytes);

// The kernel's two words of processor capabilities (AT_HWCAP, AT_HWCAP2); zeros where the system
// has none.
void kz_os_hardware_capabilities(uint64_t *out_first, uint64_t *out_second);

#endif
