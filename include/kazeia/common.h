// common.h: what every part of Kazeia shares: status codes, the failure sentence, the allocator.
//
// Conventions of all public headers:
//   - A function that can fail returns kazeia_status and must be checked. Results come last, named
//     out_x, and are only written on KAZEIA_OK.
//   - Who creates destroys. Strings are UTF-8. Times are in milliseconds where the name says _ms.
//   - An object belongs to one thread at a time unless its header says otherwise.
#ifndef KAZEIA_COMMON_H
#define KAZEIA_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KAZEIA_API __attribute__((visibility("default")))
#define KAZEIA_MUST_CHECK __attribute__((warn_unused_result))
#else
#define KAZEIA_API
#define KAZEIA_MUST_CHECK
#endif

// One code for each reaction that a caller can have. NEEDS_INPUT and DONE belong to the streaming
// contract (see program.h, "Stages") and are no failures.
//   X(name, value, what the caller can do)
#define KAZEIA_STATUS_LIST(X)                                                                  \
    X(OK, 0, "it worked")                                                                      \
    X(NEEDS_INPUT, 1, "feed more, or finish")                                                  \
    X(DONE, 2, "nothing more comes")                                                           \
    X(BAD_ARGUMENT, 3, "mend the call")                                                        \
    X(BAD_FILE, 4, "use another file: this one is damaged or not what it should be")           \
    X(UNSUPPORTED, 5, "use another kind of file or option: this one is sound but not handled") \
    X(NOT_FOUND, 6, "name something that exists")                                              \
    X(IO, 7, "look at the disk or device")                                                     \
    X(OUT_OF_MEMORY, 8, "free memory or ask for less")                                         \
    X(BUSY, 9, "wait, then call again")                                                        \
    X(CANCELLED, 10, "nothing: it was asked for")

typedef enum kazeia_status {
#define KAZEIA_STATUS_ENUM(name, value, text) KAZEIA_##name = value,
    KAZEIA_STATUS_LIST(KAZEIA_STATUS_ENUM)
#undef KAZEIA_STATUS_ENUM
} kazeia_status;

// The name of a status, as "BAD_FILE". Never NULL.
KAZEIA_API const char *kazeia_status_name(kazeia_status status);

// The sentence of the last failure on this thread: what, where, found, expected. Valid until the
// next call into the library on the same thread. Empty when nothing has failed yet.
KAZEIA_API const char *kazeia_last_error(void);

// The library's version, as "0.1.0".
KAZEIA_API const char *kazeia_version(void);

// Where memory comes from. `allocate` returns memory aligned as malloc's, or NULL; `release` takes
// what `allocate` gave (or NULL). Both may be called from several threads at once. The struct is
// copied; `context` must outlive every object created with it. A NULL allocator pointer anywhere
// means malloc and free.
typedef struct kazeia_allocator {
    void *context;
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory);
} kazeia_allocator;

#ifdef __cplusplus
}
#endif

#endif
