// common.h: what every part of Kazeia shares: status codes, the failure sentence, the allocator.
//
// Conventions of all public headers:
//   - A function that can fail returns kazeia_status and must be checked. Results come last, named
//     out_x, and are only written on KAZEIA_OK; a count of elements that a stage took or gave is 0
//     otherwise.
//   - A NULL pointer that is not said to be allowed is KAZEIA_BAD_ARGUMENT where the function
//     returns a status. Where it does not, the pointer must not be NULL, except that destroy,
//     close, release and cancel of NULL do nothing.
//   - Who creates destroys. A settings struct and the strings that it points to are copied or used
//     up by the creator: they may go when it returns. NULL settings are the defaults.
//   - Strings are UTF-8 and NUL-terminated unless a byte count stands beside them. Times are in
//     milliseconds where the name ends in _ms, in seconds where it ends in _s.
//   - An object belongs to one thread at a time unless its header says otherwise.
//   - Creating a stage takes all its memory, running it takes none.
//
// Every call that fails leaves one sentence for people:
//
//     if (kazeia_program_open(path, NULL, &program) != KAZEIA_OK) {
//         fprintf(stderr, "%s\n", kazeia_last_error());
//     }
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
// contract (see program.h, "Stages"), are no failures and leave no sentence. The values are part of
// the binary interface: they never change, and new ones come at the end.
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

// The name of a status without its prefix, as "BAD_FILE". A constant string, never NULL; a value
// that is no status has a name, too. From any thread.
KAZEIA_API const char *kazeia_status_name(kazeia_status status);

// The sentence of the last failure on this thread: what, where, found, expected. At most 1023 bytes
// of printable UTF-8, without a line break at the end. Valid until the next call into the library
// on the same thread; a call that succeeds does not clear it. Empty when nothing has failed yet.
KAZEIA_API const char *kazeia_last_error(void);

// The library's version, as "0.1.0". A constant string.
KAZEIA_API const char *kazeia_version(void);

// Where memory comes from. `allocate` returns memory aligned as malloc's, or NULL, which the call
// that asked passes on as KAZEIA_OUT_OF_MEMORY; `release` takes what `allocate` gave (or NULL).
// Both may be called from several threads at once. The struct is copied; `context` must outlive
// every object created with it. A NULL allocator pointer means malloc and free unless a header says
// otherwise. Mapped files, and what system libraries take for themselves, do not come from here.
typedef struct kazeia_allocator {
    void *context;
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory);
} kazeia_allocator;

#ifdef __cplusplus
}
#endif

#endif
