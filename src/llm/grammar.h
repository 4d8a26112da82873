// grammar.h: a grammar's text -> tables that decide byte by byte what may come next.
//
// in:  GBNF as llama.cpp writes it, or a JSON schema (draft 2020-12's subset in docs/constrain.md)
// out: a kz_grammar: one deterministic automaton over bytes for each rule that is called, with call
//      edges where a rule names another one
//
// Both texts are hostile input: size, rules, nesting and states are bounded, and what is over a
// bound, wrong or not handled is refused with line and column (GBNF) or with the place in the
// schema as a JSON pointer. No text makes compilation hang: the work is bounded by the limits
// below.
//
// A grammar is never changed after it is made and may be shared by threads.
#ifndef KZ_LLM_GRAMMAR_H
#define KZ_LLM_GRAMMAR_H

#include "base/alloc.h"

#define KZ_GRAMMAR_TEXT_LIMIT ((size_t)1 << 20) // bytes of a text
#define KZ_GRAMMAR_RULE_LIMIT 8192u             // rules, a schema's hidden ones included
#define KZ_GRAMMAR_NODE_LIMIT (1u << 18)        // pieces of all rules' bodies
#define KZ_GRAMMAR_NESTING_LIMIT 100u           // brackets within brackets
#define KZ_GRAMMAR_REPEAT_LIMIT 100000u         // m and n of {m,n}
#define KZ_GRAMMAR_STATE_LIMIT (1u << 17)       // states of all automatons, before and after
#define KZ_GRAMMAR_EDGE_LIMIT (1u << 20)

typedef struct kz_grammar kz_grammar;

// `text` [bytes] need not end in NUL. BAD_FILE: the text is wrong (syntax, an unknown or missing
// rule, left recursion, a rule that cannot end); UNSUPPORTED: it is over a limit; OUT_OF_MEMORY.
// Rules that the root does not reach are checked for syntax only.
KAZEIA_MUST_CHECK kazeia_status kz_grammar_compile_gbnf(const char *text, size_t bytes,
                                                        const kazeia_allocator *allocator,
                                                        kz_grammar **out_grammar);
// The same for a schema. BAD_FILE: no JSON or no schema, or nothing can satisfy it; UNSUPPORTED: a
// keyword that restricts and is not handled, by name, or a limit.
KAZEIA_MUST_CHECK kazeia_status kz_grammar_compile_json_schema(const char *text, size_t bytes,
                                                               const kazeia_allocator *allocator,
                                                               kz_grammar **out_grammar);
// NULL is fine.
void kz_grammar_destroy(kz_grammar *grammar);

#endif
