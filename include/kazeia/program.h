// program.h: the runtime, program files, and the verbs that all stages share.
#ifndef KAZEIA_PROGRAM_H
#define KAZEIA_PROGRAM_H

#include "kazeia/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Receives text piece by piece; a status other than KAZEIA_OK ends the call that writes it.
typedef kazeia_status (*kazeia_text_sink)(void *context, const char *text, size_t bytes);

// --- Runtime ------------------------------------------------------------------------------------

// The threads and the kernels that all sessions share. Thread-safe: sessions of one runtime may run
// on different threads, and then take turns instruction by instruction: speech first, then
// listening, then chat.
typedef struct kazeia_runtime kazeia_runtime;

typedef struct kazeia_runtime_settings {
    uint32_t thread_count;             // 0: one for each core
    uint64_t session_memory_limit;     // bytes one session may take; 0: no limit
    const kazeia_allocator *allocator; // NULL: malloc
} kazeia_runtime_settings;

KAZEIA_API kazeia_runtime_settings kazeia_runtime_settings_default(void);
// The environment variable KAZEIA_CPU (ref, avx2, avxvnni, avx512vnni, amx, neon, dotprod, i8mm)
// caps the instruction set; a level that this machine lacks is refused.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_runtime_create(const kazeia_runtime_settings *settings, kazeia_runtime **out_runtime);
// After all sessions are destroyed.
KAZEIA_API void kazeia_runtime_destroy(kazeia_runtime *runtime);
KAZEIA_API uint32_t kazeia_runtime_thread_count(const kazeia_runtime *runtime);
// The chosen instruction set, as "avx512vnni".
KAZEIA_API const char *kazeia_runtime_kernel(const kazeia_runtime *runtime);

// --- Program files ------------------------------------------------------------------------------

// An opened program is immutable and may be shared by threads and sessions.
typedef struct kazeia_program kazeia_program;

// Maps and checks; reads no weights.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_program_open(const char *path,
                                                               const kazeia_allocator *allocator,
                                                               kazeia_program **out_program);
// Sessions keep the program alive for themselves.
KAZEIA_API void kazeia_program_close(kazeia_program *program);
// Reads every byte and compares every checksum, weights and sibling files included.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_program_verify(const kazeia_program *program);
// Writes one JSON object: format_version id metadata{} methods[{name inputs outputs instructions}]
// states[{name type shape bytes}] tensors[{name format shape bits_per_weight}]
// memory{weights arena states work} (bytes).
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_program_describe(const kazeia_program *program,
                                                                   kazeia_text_sink sink,
                                                                   void *context);
// What the program can do: "chat" (an LLM), "listen" (speech to text), or "" for neither.
KAZEIA_API const char *kazeia_program_ability(const kazeia_program *program);
// Bytes that one session of the program takes beside the mapped weights.
KAZEIA_API uint64_t kazeia_program_session_bytes(const kazeia_program *program);

// --- Stages -------------------------------------------------------------------------------------

// One shape for all streams: listen (f32 samples in, kazeia_heard out), chat (bytes of a user's
// turn in, bytes of the reply out), speak (bytes of text in, f32 samples out). Each creator's
// header says what its elements are. feed and next may run on two threads; everything else on one
// at a time, but cancel, which any thread may call.
typedef struct kazeia_stage kazeia_stage;

// Never blocks; takes *out_taken <= count elements, 0 when the stage is full: call next then.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_feed(kazeia_stage *stage, const void *in,
                                                             size_t count, size_t *out_taken);
// Does a bounded piece of work. KAZEIA_OK: *out_count elements were written (0 is possible: call
// again); KAZEIA_NEEDS_INPUT: feed or finish; KAZEIA_DONE: all given after finish;
// KAZEIA_CANCELLED: until reset.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_next(kazeia_stage *stage, void *out,
                                                             size_t capacity, size_t *out_count);
// Ends the input of this turn. After DONE the stage may be fed again (the next turn).
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_finish(kazeia_stage *stage);
// From any thread: next returns KAZEIA_CANCELLED within 50 ms.
KAZEIA_API void kazeia_stage_cancel(kazeia_stage *stage);
// As new, without allocating; also ends a cancellation.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_reset(kazeia_stage *stage);
KAZEIA_API void kazeia_stage_destroy(kazeia_stage *stage);

#ifdef __cplusplus
}
#endif

#endif
