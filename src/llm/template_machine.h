// template_machine.h: the stack machine that runs a compiled chat template.
//
// in:  a program's template, variables
// out: pieces of text with their origins, to a sink
//
// All memory is taken at creation: running never allocates. Depth, steps and memory are bounded,
// whatever the template's list of instructions says. One thread at a time.
#ifndef KZ_LLM_TEMPLATE_MACHINE_H
#define KZ_LLM_TEMPLATE_MACHINE_H

#include "llm/template_value.h"

#define KZ_MACHINE_STACK 512u
#define KZ_MACHINE_VARIABLES 512u
#define KZ_MACHINE_FRAMES 96u

typedef struct kz_template_sink {
    kazeia_status (*put)(void *context, const char *text, size_t bytes, uint32_t source);
    void *context;
} kz_template_sink;

typedef struct kz_variable {
    uint32_t name; // a string of the template
    kz_variant value;
} kz_variable;

typedef enum kz_frame_kind {
    KZ_FRAME_LOOP,
    KZ_FRAME_SIFT, // a loop that chooses elements
    KZ_FRAME_CAPTURE,
    KZ_FRAME_CALL, // of a macro; captures, too
} kz_frame_kind;

typedef struct kz_chunk kz_chunk;
struct kz_chunk {
    kz_variant text;
    kz_chunk *next;
};

typedef struct kz_frame {
    kz_frame_kind kind;
    const kz_variant *items; // of a loop
    uint32_t index, count;
    kz_variant *kept; // of SIFT
    uint32_t kept_count;
    kz_chunk *first, *last; // what was captured
    // What the frame's end brings back.
    uint32_t scope, floor, variable_count, height, next;
} kz_frame;

typedef struct kz_machine {
    kz_chat_template program;
    kz_heap heap;
    kz_variable variables[KZ_MACHINE_VARIABLES];
    uint32_t variable_count;
    uint32_t scope;     // the first variable of the innermost scope
    uint32_t floor;     // the first one of the running macro; 0: none runs
    uint32_t top_count; // variables of the outermost scope, which macros see too
    kz_variant stack[KZ_MACHINE_STACK];
    uint32_t height;
    kz_frame frames[KZ_MACHINE_FRAMES];
    uint32_t frame_count;
    uint32_t next, line; // the next instruction; the present one's line
    kz_variant now;      // what strftime_now formats, or undefined
    kz_template_sink sink;
} kz_machine;

// What a filter, method, test or function is called with.
typedef struct kz_call {
    kz_machine *machine;
    uint32_t number;           // in its list
    const kz_variant *subject; // NULL for a function
    const kz_variant *values;  // [count]
    const kz_variant *pairs;   // [2 * pair_count]: name, value
    uint32_t count, pair_count;
} kz_call;

// Gives a variable by name; names that the template never reads are passed over. Before run only.
KAZEIA_MUST_CHECK kazeia_status kz_machine_give(kz_machine *machine, const char *name, size_t count,
                                                const kz_variant *value);
// Runs to the end. The sentence of a failure names the template's line; what raise_exception says
// is BAD_ARGUMENT.
KAZEIA_MUST_CHECK kazeia_status kz_machine_run(kz_machine *machine, const kz_template_sink *sink);

// The calls of each list (template_calls.c).
KAZEIA_MUST_CHECK kazeia_status kz_call_filter(const kz_call *call, kz_variant *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_call_method(const kz_call *call, kz_variant *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_call_test(const kz_call *call, kz_variant *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_call_function(const kz_call *call, kz_variant *out_value);
// object.name and object[key], for the instructions and for filters.
KAZEIA_MUST_CHECK kazeia_status kz_variant_attribute(const kz_variant *object, const char *name,
                                                     size_t count, kz_variant *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_variant_item(kz_heap *heap, const kz_variant *object,
                                                const kz_variant *key, kz_variant *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_variant_slice(kz_heap *heap, const kz_variant *object,
                                                 const kz_variant bounds[3], kz_variant *out_value);
// a in b.
KAZEIA_MUST_CHECK kazeia_status kz_variant_contains(kz_heap *heap, const kz_variant *a,
                                                    const kz_variant *b, bool *out_is_in);
// Operators of numbers, strings and lists; `op` is KZ_DO_SUBTRACT and so on.
KAZEIA_MUST_CHECK kazeia_status kz_variant_sum(kz_heap *heap, const kz_variant *values,
                                               uint32_t count, kz_variant *out_value);
KAZEIA_MUST_CHECK kazeia_status kz_variant_arithmetic(kz_heap *heap, uint8_t op,
                                                      const kz_variant *a, const kz_variant *b,
                                                      kz_variant *out_value);

#endif
