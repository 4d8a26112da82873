// context.h: one timeline of a program: its states, its arena, its calls.
//
// A context belongs to one thread at a time; cancel may come from any. All memory is taken at
// creation: states, one arena as large as the largest method needs at its symbols' maxima, and work
// tables; kz_context_plan says how much before anything is allocated.
#ifndef KZ_RUNTIME_CONTEXT_H
#define KZ_RUNTIME_CONTEXT_H

#include "runtime/load.h"
#include "runtime/pool.h"

// Bytes, by what they are for.
typedef struct kz_memory_plan {
    uint64_t weights; // mapped from files, shared with other contexts
    uint64_t arena;   // intermediate values of one call
    uint64_t states;  // caches: what lives from call to call
    uint64_t work;    // value tables, rotation tables
} kz_memory_plan;

typedef struct kz_context kz_context;

// What kz_context_create takes (arena + states + work), and the weights, without taking anything.
kz_memory_plan kz_context_plan(const kz_program *program);

// Refuses with OUT_OF_MEMORY and both numbers when the plan is above `memory_limit` (0: none).
// Retains the program; the pool must outlive the context. States start as zeros.
KAZEIA_MUST_CHECK kazeia_status kz_context_create(kz_program *program, kz_pool *pool,
                                                  kz_priority priority, uint64_t memory_limit,
                                                  const kazeia_allocator *allocator,
                                                  kz_context **out_context);
// NULL is fine. No call may be running.
void kz_context_destroy(kz_context *context);

// The program that the context retains.
kz_program *kz_context_program(const kz_context *context);
// Memory of a state of the program: [rows][heads][head_dim] as kz_state says, aligned to
// KZ_ALIGNMENT, valid until destroy. The caller may read and write it between calls.
void *kz_context_state(kz_context *context, uint32_t state);

// Runs a method. symbols[method's symbol_count] from 0 to their maxima; inputs and outputs in the
// method's order, each as large as its shape says for these symbols. Fails with BAD_ARGUMENT when a
// symbol or an i32 input is out of range, CANCELLED when kz_context_cancel came (outputs and the
// rows that the call was writing are then undefined, all else is as before).
KAZEIA_MUST_CHECK kazeia_status kz_context_run(kz_context *context, uint32_t method,
                                               const uint32_t *symbols, const void *const *inputs,
                                               void *const *outputs);

// From any thread: the present run ends within some milliseconds, later ones fail at once, until
// kz_context_resume.
void kz_context_cancel(kz_context *context);
void kz_context_resume(kz_context *context);
// From any thread, too: whether calls fail now.
bool kz_context_is_cancelled(const kz_context *context);

#endif
