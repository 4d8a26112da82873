// templates_compiler.h: what the files of the template compiler share: tokens of Jinja's language,
// and the instructions that are made of them.
//
// in:  Jinja text
// out: instructions, constants (format/chat_template.h)
//
// The compiler remembers its first failure and makes nothing after it: rules are written as plain
// lists of calls, and the status is looked at once, at the end.
#ifndef KZ_EXPORTER_MODELS_TEMPLATES_COMPILER_H
#define KZ_EXPORTER_MODELS_TEMPLATES_COMPILER_H

#include "exporter/graph/bump.h"
#include "format/chat_template.h"

typedef enum kz_jinja_kind {
    KZ_JINJA_END,
    KZ_JINJA_DATA,        // text between tags
    KZ_JINJA_BLOCK_BEGIN, // {%
    KZ_JINJA_BLOCK_END,
    KZ_JINJA_PRINT_BEGIN, // {{
    KZ_JINJA_PRINT_END,
    KZ_JINJA_NAME,
    KZ_JINJA_STRING, // its escapes undone
    KZ_JINJA_INTEGER,
    KZ_JINJA_REAL,
    KZ_JINJA_SIGN, // an operator or bracket
} kz_jinja_kind;

typedef struct kz_jinja_token {
    kz_jinja_kind kind;
    uint32_t line;
    const char *text; // [count], as it is spelled but for STRING
    size_t count;
    double number;
} kz_jinja_token;

typedef struct kz_jinja_loop kz_jinja_loop;
struct kz_jinja_loop {
    kz_jinja_loop *outer;
    uint32_t breaks, continues; // chains of jumps to be led
    uint32_t captures;          // blocks that were open when it began
};

typedef struct kz_compiler {
    kz_bump *memory;
    kazeia_status status;
    kz_jinja_token *tokens; // the last one is END
    size_t token_count, token_capacity, at;
    kz_template_step *code;
    size_t code_count, code_capacity;
    kz_bytes *strings;
    size_t string_count, string_capacity;
    double *reals;
    size_t real_count, real_capacity;
    size_t last_target; // the highest place that a jump leads to
    kz_jinja_loop *loop;
    uint32_t captures;
    uint32_t depth; // of rules in each other
    bool is_macro;
} kz_compiler;

#define KZ_COMPILER_DEPTH 160u
#define KZ_NO_STEP 0xffffffffu // ends a chain

// Cuts the text into tokens as Jinja does with trim_blocks and lstrip_blocks. UNSUPPORTED names
// the line of what is not read.
KAZEIA_MUST_CHECK kazeia_status kz_jinja_read(kz_compiler *compiler, const char *text,
                                              size_t count);

// --- Making instructions ------------------------------------------------------------------------

// Keeps the first failure: "chat template, line 7: ... is not supported".
void kz_compiler_refuse(kz_compiler *compiler, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The place of the new instruction.
uint32_t kz_emit(kz_compiler *compiler, uint8_t op, uint32_t argument);
void kz_emit_call(kz_compiler *compiler, uint8_t op, uint32_t argument, uint32_t positional,
                  uint32_t named);
void kz_emit_string(kz_compiler *compiler, uint8_t op, const char *text, size_t count);
uint32_t kz_add_string(kz_compiler *compiler, const char *text, size_t count);
uint32_t kz_add_real(kz_compiler *compiler, double value);
// The instruction at `step` jumps to where the next one will be.
void kz_land(kz_compiler *compiler, uint32_t step);
// All of a chain, each linked to the one before by its argument.
void kz_land_chain(kz_compiler *compiler, uint32_t step);
// Moves the instructions from `start` on, `count` of them, behind all others; jumps among them are
// led to their new places.
void kz_move_to_end(kz_compiler *compiler, uint32_t start, uint32_t count);

// --- Looking at tokens --------------------------------------------------------------------------

const kz_jinja_token *kz_token(const kz_compiler *compiler);
bool kz_is_sign(const kz_compiler *compiler, const char *sign);
bool kz_is_name(const kz_compiler *compiler, const char *name);
// True, and the token passed, when it is that.
bool kz_take_sign(kz_compiler *compiler, const char *sign);
bool kz_take_name(kz_compiler *compiler, const char *name);
void kz_expect_sign(kz_compiler *compiler, const char *sign);
// Any name; an empty token after a failure.
kz_jinja_token kz_expect_name(kz_compiler *compiler);
// False, and a failure, when rules nest too deep; leave what was entered.
bool kz_enter(kz_compiler *compiler);
void kz_leave(kz_compiler *compiler);

// --- Rules --------------------------------------------------------------------------------------

void kz_compile_expression(kz_compiler *compiler); // with an inline if
void kz_compile_plain(kz_compiler *compiler);      // without one
void kz_compile_tuple(kz_compiler *compiler,
                      bool is_plain);              // a, b, ...: a list when it has a comma
void kz_compile_filters(kz_compiler *compiler);    // | name ..., of the value on the stack
void kz_compile_statements(kz_compiler *compiler); // the whole text, END included

#endif
