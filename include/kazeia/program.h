// program.h: the runtime, program files, and the verbs that all stages share.
//
// A program is opened once, a runtime is created once, and any number of stages is made of the two.
// One turn of a stage, here of a chat (chat.h), in a caller's function that returns a status:
//
//     size_t taken = 0, count = 0;
//     char piece[256];
//     for (size_t fed = 0; fed < bytes; fed += taken) {
//         TRY(kazeia_stage_feed(chat, text + fed, bytes - fed, &taken));
//     }
//     TRY(kazeia_stage_finish(chat));
//     kazeia_status status = KAZEIA_OK;
//     while ((status = kazeia_stage_next(chat, piece, sizeof piece, &count)) == KAZEIA_OK) {
//         fwrite(piece, 1, count, stdout);
//     }
//     return status == KAZEIA_DONE ? KAZEIA_OK : status;
//
// A stage of limited room, as one that listens to long sound, wants next between two feeds,
// whenever feed takes less than it was given.
#ifndef KAZEIA_PROGRAM_H
#define KAZEIA_PROGRAM_H

#include "kazeia/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Receives text piece by piece, `bytes` bytes that are valid during the call, on the thread of the
// call that writes it. A status other than KAZEIA_OK ends that call, which returns it.
typedef kazeia_status (*kazeia_text_sink)(void *context, const char *text, size_t bytes);

// --- Runtime ------------------------------------------------------------------------------------

// The threads and the kernels that all stages share. Thread-safe: stages of one runtime may run on
// different threads, and then take turns instruction by instruction: speech first, then listening,
// then chat. The thread that calls a stage works along with the runtime's own; between calls these
// sleep.
typedef struct kazeia_runtime kazeia_runtime;

typedef struct kazeia_runtime_settings {
    // Threads that compute, the caller's among them: 1 to 64. 0: one for each core that the process
    // may use, at most 64.
    uint32_t thread_count;
    // Bytes that one session may take (kazeia_program_session_bytes); 0: no limit. A stage that
    // needs more is refused at creation with KAZEIA_OUT_OF_MEMORY and both numbers.
    uint64_t session_memory_limit;
    const kazeia_allocator *allocator; // NULL: malloc
} kazeia_runtime_settings;

// Every core, no limit, malloc.
KAZEIA_API kazeia_runtime_settings kazeia_runtime_settings_default(void);
// Starts the threads and chooses the kernels for this machine. The environment variable KAZEIA_CPU
// (ref, avx2, avxvnni, avx512vnni, amx, neon, dotprod, i8mm) caps the instruction set: UNSUPPORTED
// for a level that this machine lacks, BAD_ARGUMENT for another word. BAD_ARGUMENT also for more
// than 64 threads.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_runtime_create(const kazeia_runtime_settings *settings, kazeia_runtime **out_runtime);
// Ends the threads. All stages made with the runtime must have been destroyed.
KAZEIA_API void kazeia_runtime_destroy(kazeia_runtime *runtime);
// The chosen instruction set, by one of the names above, a constant string; and the threads that
// compute, the caller's among them, when `out_thread_count` is not NULL.
KAZEIA_API const char *kazeia_runtime_kernel(const kazeia_runtime *runtime,
                                             uint32_t *out_thread_count);

// --- Program files ------------------------------------------------------------------------------

// An opened program file (docs/format.md): immutable, shared by threads and stages.
typedef struct kazeia_program kazeia_program;

// Maps the file and the weight files beside it that it names, and checks everything but the
// weights' bytes: nothing is converted. NOT_FOUND or IO for a file; BAD_FILE for what is in it
// (truncated, altered, not a program); UNSUPPORTED for a sound file of another format version. The
// files may be replaced by rename while the program is open, but must not be written into.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_program_open(const char *path,
                                                               const kazeia_allocator *allocator,
                                                               kazeia_program **out_program);
// The same from `count` bytes in memory, aligned to 64: a program of one file, as
// kazeia_export_text makes. They must outlive the program and all that was made of it.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_program_open_memory(const void *bytes, size_t count, const kazeia_allocator *allocator,
                           kazeia_program **out_program);
// Stages and tokenizers keep the program alive for themselves: it may be closed before them.
KAZEIA_API void kazeia_program_close(kazeia_program *program);
// Reads every byte and compares every checksum, weights and sibling files included: seconds for a
// large program. BAD_FILE names the damaged part.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_program_verify(const kazeia_program *program);
// Writes one JSON object, whole, in one call of the sink:
//   format_version id metadata{}
//   methods[{name symbols{} inputs[{name type shape}] outputs[...] instructions[{op operands
//   attributes}]}]
//   states[{name type shape bytes}] tensors[{name format layout shape bits_per_weight bytes}]
//   memory{weights arena states work}, in bytes, of one session.
// A dimension that varies is a string, its formula over the method's symbols. Reads no weights.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_program_describe(const kazeia_program *program,
                                                                   kazeia_text_sink sink,
                                                                   void *context);
// What the program can do: "chat" (an LLM), "listen" (speech to text), or "" for neither. The
// string is the program's.
KAZEIA_API const char *kazeia_program_ability(const kazeia_program *program);
// Bytes that one session of the program takes beside the mapped weights: caches, intermediate
// values, tables. A stage takes some more for texts and samples; KAZEIA_OUT_OF_MEMORY is decided by
// this number and the runtime's limit.
KAZEIA_API uint64_t kazeia_program_session_bytes(const kazeia_program *program);

// --- Stages -------------------------------------------------------------------------------------

// One shape for all streams: listen (f32 samples in, kazeia_heard out), chat (bytes of a user's
// turn in, bytes of the reply out), speak (bytes of text in, f32 samples out). Each creator's
// header says what its elements are. feed and next may run on two threads at once, and finish on
// that of feed; everything else on one at a time, but cancel, which any thread may call until
// destroy begins.
typedef struct kazeia_stage kazeia_stage;

// Takes the first *out_taken <= count elements of `in`, which may go when feed returns; 0 when the
// stage is full: call next then. Never waits for a model. `in` may be NULL when count is 0.
// BAD_ARGUMENT for input that can never fit (what was taken before stays), and after finish: until
// next has returned DONE for a stage that listens, until reset for one that speaks. A chat takes 0
// elements then, until its reply is done.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_feed(kazeia_stage *stage, const void *in,
                                                             size_t count, size_t *out_taken);
// Does a bounded piece of work and writes up to `capacity` elements. KAZEIA_OK: *out_count elements
// were written (0 is possible: call again); KAZEIA_NEEDS_INPUT: feed or finish; KAZEIA_DONE: all
// given after finish; KAZEIA_CANCELLED: until reset (for a chat also until kazeia_chat_end_turn).
// BAD_ARGUMENT when `capacity` is too small for one element (each header says its own). What any
// other status leaves behind, the stage's header says; reset always leads on.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_next(kazeia_stage *stage, void *out,
                                                             size_t capacity, size_t *out_count);
// Ends the input of this turn. After DONE a stage that listens or chats may be fed again (the next
// turn); one that speaks wants reset first. Without any input the turn is an empty one.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_finish(kazeia_stage *stage);
// From any thread: the running next returns KAZEIA_CANCELLED within 50 ms, later ones at once. Does
// not wait for it, takes no lock that is held while a model works.
KAZEIA_API void kazeia_stage_cancel(kazeia_stage *stage);
// As new, without allocating; also ends a cancellation and a failure. What was fed and not given is
// dropped. No other call may run meanwhile.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_stage_reset(kazeia_stage *stage);
// Frees the stage and all memory that it has handed out pointers to. No call may run meanwhile.
KAZEIA_API void kazeia_stage_destroy(kazeia_stage *stage);

#ifdef __cplusplus
}
#endif

#endif
