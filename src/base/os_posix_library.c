// os_posix_library.c: shared libraries through dlopen.
//
// in:  a library's name and its symbols' names
// out: addresses
//
// Symbols stay local and are resolved at once: a library that cannot work fails at opening, not in
// the middle of a sentence.
#include <dlfcn.h>

#include "base/library.h"

static const char *loader_reason(void) {
    const char *reason = dlerror();
    return reason == NULL ? "no reason given" : reason;
}

kazeia_status kz_library_open(const char *name, kz_library *out_library) {
    void *native = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (native == NULL) {
        return kz_fail(KAZEIA_NOT_FOUND, "cannot load the library '%s': %s", name, loader_reason());
    }
    out_library->native = native;
    return KAZEIA_OK;
}

kazeia_status kz_library_find(const kz_library *library, const char *symbol, void **out_address) {
    // A function of address NULL does not exist in a library, so NULL is a failure without a look
    // at dlerror's state.
    void *address = dlsym(library->native, symbol);
    if (address == NULL) {
        return kz_fail(KAZEIA_NOT_FOUND, "the library has no function '%s': %s", symbol,
                       loader_reason());
    }
    *out_address = address;
    return KAZEIA_OK;
}

// Nobody may hold a function's address any more: its code leaves the process here.
void kz_library_close(kz_library *library) {
    if (library->native != NULL) {
        (void)dlclose(library->native);
        library->native = NULL;
    }
}
