// tails.h: the states of a context that are no caches: convolutions' tails, recurrent memory.
//
// Such a state holds what the last rows left and cannot be cut to an earlier place: whoever wants
// to come back to a place saves it there. A call that was cancelled leaves them half advanced:
// reset or restore before the next one. One thread at a time, as for the context.
#ifndef KZ_RUNTIME_TAILS_H
#define KZ_RUNTIME_TAILS_H

#include "runtime/context.h"

// True when no CACHE_WRITE and no ATTENTION of the program uses the state.
bool kz_state_is_tail(const kz_program_description *description, uint32_t state);
// To zeros, as at creation.
void kz_tails_reset(kz_context *context);
// Bytes of a saved copy of all of them; 0 when the program has none.
size_t kz_tails_bytes(const kz_context *context);
// `out_saved` and `saved` are kz_tails_bytes of the caller's; of the same program, not necessarily
// of the same context.
void kz_tails_save(kz_context *context, void *out_saved);
void kz_tails_restore(kz_context *context, const void *saved);

#endif
