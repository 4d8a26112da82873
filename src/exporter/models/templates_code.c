// templates_code.c: instructions and constants of a compiled template, and looking at tokens.
//   in   calls of the rules
//   out  growing lists
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exporter/models/templates_compiler.h"

#define CODE_LIMIT ((size_t)KZ_CHAT_CODE_LIMIT - 1)
#define STRING_LIMIT ((size_t)8192) // known templates have some hundred

void kz_compiler_refuse(kz_compiler *compiler, const char *format, ...) {
    char what[256];
    va_list values;
    if (compiler->status != KAZEIA_OK) {
        return;
    }
    va_start(values, format);
    (void)vsnprintf(what, sizeof what, format, values);
    va_end(values);
    const uint32_t line = compiler->at < compiler->token_count ? kz_token(compiler)->line : 0;
    compiler->status = kz_fail(KAZEIA_UNSUPPORTED, "chat template, line %u: %s", line, what);
}

static bool has_room(kz_compiler *compiler, size_t count, size_t bytes_each, size_t *capacity,
                     void **array) {
    if (compiler->status == KAZEIA_OK && count >= CODE_LIMIT) {
        kz_compiler_refuse(compiler, "more than %zu instructions or constants", CODE_LIMIT);
    }
    if (compiler->status == KAZEIA_OK) {
        compiler->status = kz_bump_grow(compiler->memory, count, bytes_each, capacity, array);
    }
    return compiler->status == KAZEIA_OK;
}

static void add_step(kz_compiler *compiler, const kz_template_step *step) {
    if (has_room(compiler, compiler->code_count, sizeof *step, &compiler->code_capacity,
                 (void **)&compiler->code)) {
        compiler->code[compiler->code_count++] = *step;
    }
}

uint32_t kz_emit(kz_compiler *compiler, uint8_t op, uint32_t argument) {
    const kz_template_step step = {
        .op = op, .argument = argument, .line = kz_token(compiler)->line};
    add_step(compiler, &step);
    return (uint32_t)compiler->code_count - 1;
}

void kz_emit_call(kz_compiler *compiler, uint8_t op, uint32_t argument, uint32_t positional,
                  uint32_t named) {
    const kz_template_step step = {.op = op,
                                   .positional = (uint8_t)positional,
                                   .named = (uint8_t)named,
                                   .argument = argument,
                                   .line = kz_token(compiler)->line};
    if (positional > KZ_CHAT_ARGUMENT_LIMIT || named > KZ_CHAT_ARGUMENT_LIMIT) {
        kz_compiler_refuse(compiler, "a call with more than %u arguments", KZ_CHAT_ARGUMENT_LIMIT);
    }
    add_step(compiler, &step);
}

uint32_t kz_add_string(kz_compiler *compiler, const char *text, size_t count) {
    for (size_t i = 0; i < compiler->string_count; i++) {
        if (compiler->strings[i].count == count &&
            memcmp(compiler->strings[i].bytes, text, count) == 0) {
            return (uint32_t)i;
        }
    }
    // Each is compared with all before it.
    if (compiler->status == KAZEIA_OK && compiler->string_count >= STRING_LIMIT) {
        kz_compiler_refuse(compiler, "more than %zu different strings", STRING_LIMIT);
    }
    if (!has_room(compiler, compiler->string_count, sizeof *compiler->strings,
                  &compiler->string_capacity, (void **)&compiler->strings)) {
        return 0;
    }
    compiler->strings[compiler->string_count] = (kz_bytes){(const uint8_t *)text, count};
    return (uint32_t)compiler->string_count++;
}

void kz_emit_string(kz_compiler *compiler, uint8_t op, const char *text, size_t count) {
    (void)kz_emit(compiler, op, kz_add_string(compiler, text, count));
}

uint32_t kz_add_real(kz_compiler *compiler, double value) {
    if (!has_room(compiler, compiler->real_count, sizeof value, &compiler->real_capacity,
                  (void **)&compiler->reals)) {
        return 0;
    }
    compiler->reals[compiler->real_count] = value;
    return (uint32_t)compiler->real_count++;
}

void kz_land(kz_compiler *compiler, uint32_t step) {
    if (compiler->status == KAZEIA_OK) {
        compiler->code[step].argument = (uint32_t)compiler->code_count;
        compiler->last_target = compiler->code_count;
    }
}

void kz_land_chain(kz_compiler *compiler, uint32_t step) {
    while (compiler->status == KAZEIA_OK && step != KZ_NO_STEP) {
        const uint32_t next = compiler->code[step].argument;
        kz_land(compiler, step);
        step = next;
    }
}

void kz_move_to_end(kz_compiler *compiler, uint32_t start, uint32_t count) {
    const size_t rest = compiler->code_count - start - count;
    kz_template_step *steps = NULL;
    if (compiler->status == KAZEIA_OK) {
        compiler->status =
            kz_bump_take(compiler->memory, count + 1, sizeof *steps, (void **)&steps);
    }
    if (compiler->status != KAZEIA_OK) {
        return;
    }
    kz_template_step *code = compiler->code;
    memcpy(steps, code + start, count * sizeof *steps);
    memmove(code + start, code + start + count, rest * sizeof *code);
    memcpy(code + start + rest, steps, count * sizeof *steps);
    // Expressions jump within themselves only, and only by these.
    for (size_t i = start; i < compiler->code_count; i++) {
        const bool is_jump = code[i].op == KZ_DO_JUMP || code[i].op == KZ_DO_JUMP_FALSE ||
                             code[i].op == KZ_DO_AND || code[i].op == KZ_DO_OR;
        if (is_jump && i < start + rest) {
            code[i].argument -= count;
        } else if (is_jump) {
            code[i].argument += (uint32_t)rest;
        }
    }
    compiler->last_target = compiler->code_count;
}

// --- Tokens -------------------------------------------------------------------------------------

const kz_jinja_token *kz_token(const kz_compiler *compiler) {
    return &compiler->tokens[compiler->at];
}

static bool is_spelled(const kz_jinja_token *token, const char *text) {
    return strlen(text) == token->count && memcmp(token->text, text, token->count) == 0;
}

bool kz_is_sign(const kz_compiler *compiler, const char *sign) {
    return kz_token(compiler)->kind == KZ_JINJA_SIGN && is_spelled(kz_token(compiler), sign);
}

bool kz_is_name(const kz_compiler *compiler, const char *name) {
    return kz_token(compiler)->kind == KZ_JINJA_NAME && is_spelled(kz_token(compiler), name);
}

// After a failure nothing is taken, so that every rule ends.
static bool take_if(kz_compiler *compiler, bool is_it) {
    if (is_it && compiler->status == KAZEIA_OK) {
        compiler->at++;
        return true;
    }
    return false;
}

bool kz_take_sign(kz_compiler *compiler, const char *sign) {
    return take_if(compiler, kz_is_sign(compiler, sign));
}

bool kz_take_name(kz_compiler *compiler, const char *name) {
    return take_if(compiler, kz_is_name(compiler, name));
}

void kz_expect_sign(kz_compiler *compiler, const char *sign) {
    if (!kz_take_sign(compiler, sign)) {
        kz_compiler_refuse(compiler, "'%.*s' found, expected '%s'",
                           (int)(kz_token(compiler)->count < 40 ? kz_token(compiler)->count : 40),
                           kz_token(compiler)->text, sign);
    }
}

kz_jinja_token kz_expect_name(kz_compiler *compiler) {
    const kz_jinja_token none = {.kind = KZ_JINJA_NAME, .text = ""};
    const kz_jinja_token *token = kz_token(compiler);
    if (!take_if(compiler, token->kind == KZ_JINJA_NAME)) {
        kz_compiler_refuse(compiler, "'%.*s' found, expected a name",
                           (int)(token->count < 40 ? token->count : 40), token->text);
        return none;
    }
    return *token;
}

bool kz_enter(kz_compiler *compiler) {
    if (compiler->depth == KZ_COMPILER_DEPTH) {
        kz_compiler_refuse(compiler, "more than %u blocks or brackets in each other",
                           KZ_COMPILER_DEPTH);
    } else {
        compiler->depth++;
    }
    return compiler->status == KAZEIA_OK;
}

void kz_leave(kz_compiler *compiler) {
    compiler->depth--;
}
