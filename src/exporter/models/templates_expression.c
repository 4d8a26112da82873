// templates_expression.c: Jinja's expressions -> instructions that leave one value on the stack.
//   in   tokens
//   out  instructions
// One function for each level of Jinja's grammar, loosest binding first in its file and last here.
#include <string.h>

#include "exporter/models/templates_compiler.h"

static void compile_unary(kz_compiler *compiler, bool with_filters);

// --- Arguments ----------------------------------------------------------------------------------

static bool is_pair(const kz_compiler *compiler) {
    const kz_jinja_token *token = kz_token(compiler);
    return token->kind == KZ_JINJA_NAME && token[1].kind == KZ_JINJA_SIGN && token[1].count == 1 &&
           token[1].text[0] == '=';
}

// Behind the opening bracket: values, then name=value pairs, and the closing one.
static void compile_arguments(kz_compiler *compiler, uint32_t *out_count, uint32_t *out_pairs) {
    *out_count = 0;
    *out_pairs = 0;
    while (compiler->status == KAZEIA_OK && !kz_take_sign(compiler, ")")) {
        if (kz_is_sign(compiler, "*") || kz_is_sign(compiler, "**")) {
            kz_compiler_refuse(compiler, "arguments out of a list or dict are not supported");
        } else if (is_pair(compiler)) {
            const kz_jinja_token name = kz_expect_name(compiler);
            kz_expect_sign(compiler, "=");
            kz_emit_string(compiler, KZ_DO_STRING, name.text, name.count);
            kz_compile_expression(compiler);
            ++*out_pairs;
        } else if (*out_pairs > 0) {
            kz_compiler_refuse(compiler, "a value behind a named argument");
        } else {
            kz_compile_expression(compiler);
            ++*out_count;
        }
        if (!kz_is_sign(compiler, ")")) {
            kz_expect_sign(compiler, ",");
        }
    }
}

static const char *const list_words[] = {"filter", "method", "test", "function", "member of loop"};

static int find_in_list(kz_compiler *compiler, kz_template_list list, const kz_jinja_token *name) {
    const int number = kz_template_number(list, name->text, name->count);
    if (number < 0) {
        kz_compiler_refuse(compiler, "the %s '%.*s' is not supported", list_words[list],
                           (int)(name->count < 64 ? name->count : 64), name->text);
    }
    return number < 0 ? 0 : number;
}

// --- Literals and names -------------------------------------------------------------------------

static void compile_list(kz_compiler *compiler) {
    uint32_t count = 0;
    while (compiler->status == KAZEIA_OK && !kz_take_sign(compiler, "]")) {
        kz_compile_expression(compiler);
        count++;
        if (!kz_is_sign(compiler, "]")) {
            kz_expect_sign(compiler, ",");
        }
    }
    if (count > KZ_CHAT_COUNT_LIMIT) {
        kz_compiler_refuse(compiler, "a list of more than %u elements", KZ_CHAT_COUNT_LIMIT);
    }
    (void)kz_emit(compiler, KZ_DO_LIST, count);
}

static void compile_map(kz_compiler *compiler) {
    uint32_t count = 0;
    while (compiler->status == KAZEIA_OK && !kz_take_sign(compiler, "}")) {
        kz_compile_expression(compiler);
        kz_expect_sign(compiler, ":");
        kz_compile_expression(compiler);
        count++;
        if (!kz_is_sign(compiler, "}")) {
            kz_expect_sign(compiler, ",");
        }
    }
    if (count > KZ_CHAT_COUNT_LIMIT) {
        kz_compiler_refuse(compiler, "a dict of more than %u entries", KZ_CHAT_COUNT_LIMIT);
    }
    (void)kz_emit(compiler, KZ_DO_MAP, count);
}

static void compile_number(kz_compiler *compiler, const kz_jinja_token *token) {
    if (token->kind == KZ_JINJA_REAL) {
        (void)kz_emit(compiler, KZ_DO_REAL, kz_add_real(compiler, token->number));
    } else if (token->number > INT32_MAX) {
        kz_compiler_refuse(compiler, "the number %.*s is too large", (int)token->count,
                           token->text);
    } else {
        (void)kz_emit(compiler, KZ_DO_INTEGER, (uint32_t)(int32_t)token->number);
    }
    compiler->at++;
}

// Literals beside each other are one.
static void compile_string(kz_compiler *compiler) {
    const kz_jinja_token *token = kz_token(compiler);
    kz_emit_string(compiler, KZ_DO_STRING, token->text, token->count);
    compiler->at++;
    while (compiler->status == KAZEIA_OK && kz_token(compiler)->kind == KZ_JINJA_STRING) {
        const kz_jinja_token *next = kz_token(compiler);
        kz_emit_string(compiler, KZ_DO_STRING, next->text, next->count);
        compiler->at++;
        (void)kz_emit(compiler, KZ_DO_ADD, 2);
    }
}

static bool is_macro_name(const kz_compiler *compiler, const kz_jinja_token *name) {
    for (size_t i = 0; i + 1 < compiler->token_count; i++) {
        const kz_jinja_token *token = &compiler->tokens[i];
        if (token->kind == KZ_JINJA_BLOCK_BEGIN && token[1].kind == KZ_JINJA_NAME &&
            token[1].count == 5 && memcmp(token[1].text, "macro", 5) == 0 &&
            token[2].count == name->count && memcmp(token[2].text, name->text, name->count) == 0) {
            return true;
        }
    }
    return false;
}

static void compile_call(kz_compiler *compiler, const kz_jinja_token *name) {
    uint32_t count = 0, pairs = 0;
    if (is_macro_name(compiler, name)) {
        kz_emit_string(compiler, KZ_DO_LOAD, name->text, name->count);
        compile_arguments(compiler, &count, &pairs);
        kz_emit_call(compiler, KZ_DO_CALL, 0, count, pairs);
        return;
    }
    const int number = find_in_list(compiler, KZ_LIST_FUNCTIONS, name);
    compile_arguments(compiler, &count, &pairs);
    kz_emit_call(compiler, KZ_DO_FUNCTION, (uint32_t)number, count, pairs);
}

static void compile_loop_member(kz_compiler *compiler) {
    if (!kz_take_sign(compiler, ".")) {
        kz_compiler_refuse(compiler, "loop without a member is not supported");
        return;
    }
    const kz_jinja_token name = kz_expect_name(compiler);
    const int number = find_in_list(compiler, KZ_LIST_LOOP, &name);
    (void)kz_emit(compiler, KZ_DO_LOOP, (uint32_t)number);
}

static void compile_name(kz_compiler *compiler) {
    static const struct {
        const char *word;
        uint32_t constant;
    } constants[] = {{"true", KZ_CONSTANT_TRUE},   {"True", KZ_CONSTANT_TRUE},
                     {"false", KZ_CONSTANT_FALSE}, {"False", KZ_CONSTANT_FALSE},
                     {"none", KZ_CONSTANT_NONE},   {"None", KZ_CONSTANT_NONE}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (kz_take_name(compiler, constants[i].word)) {
            (void)kz_emit(compiler, KZ_DO_CONSTANT, constants[i].constant);
            return;
        }
    }
    if (compiler->loop && kz_take_name(compiler, "loop")) {
        compile_loop_member(compiler);
        return;
    }
    const kz_jinja_token name = kz_expect_name(compiler);
    if (kz_take_sign(compiler, "(")) {
        compile_call(compiler, &name);
    } else {
        kz_emit_string(compiler, KZ_DO_LOAD, name.text, name.count);
    }
}

static void compile_primary(kz_compiler *compiler) {
    const kz_jinja_token *token = kz_token(compiler);
    if (token->kind == KZ_JINJA_STRING) {
        compile_string(compiler);
    } else if (token->kind == KZ_JINJA_INTEGER || token->kind == KZ_JINJA_REAL) {
        compile_number(compiler, token);
    } else if (token->kind == KZ_JINJA_NAME) {
        compile_name(compiler);
    } else if (kz_take_sign(compiler, "[")) {
        compile_list(compiler);
    } else if (kz_take_sign(compiler, "{")) {
        compile_map(compiler);
    } else if (kz_take_sign(compiler, "(")) {
        if (kz_take_sign(compiler, ")")) {
            (void)kz_emit(compiler, KZ_DO_LIST, 0);
            return;
        }
        kz_compile_tuple(compiler, false);
        kz_expect_sign(compiler, ")");
    } else {
        kz_compiler_refuse(compiler, "'%.*s' found, expected a value",
                           (int)(token->count < 40 ? token->count : 40), token->text);
    }
}

// --- Members, elements, filters, tests ----------------------------------------------------------

static void compile_member(kz_compiler *compiler) {
    uint32_t count = 0, pairs = 0;
    if (kz_token(compiler)->kind == KZ_JINJA_INTEGER) {
        compile_number(compiler, kz_token(compiler));
        (void)kz_emit(compiler, KZ_DO_ITEM, 0);
        return;
    }
    const kz_jinja_token name = kz_expect_name(compiler);
    if (kz_take_sign(compiler, "(")) {
        const int number = find_in_list(compiler, KZ_LIST_METHODS, &name);
        compile_arguments(compiler, &count, &pairs);
        kz_emit_call(compiler, KZ_DO_METHOD, (uint32_t)number, count, pairs);
    } else {
        kz_emit_string(compiler, KZ_DO_ATTRIBUTE, name.text, name.count);
    }
}

static void compile_bound(kz_compiler *compiler) {
    if (kz_is_sign(compiler, ":") || kz_is_sign(compiler, "]")) {
        (void)kz_emit(compiler, KZ_DO_CONSTANT, KZ_CONSTANT_NONE);
    } else {
        kz_compile_expression(compiler);
    }
}

// Behind "[": an element, or a slice of up to three bounds.
static void compile_item(kz_compiler *compiler) {
    compile_bound(compiler);
    if (kz_take_sign(compiler, "]")) {
        (void)kz_emit(compiler, KZ_DO_ITEM, 0);
        return;
    }
    for (int i = 1; i < 3; i++) {
        if (kz_take_sign(compiler, ":")) {
            compile_bound(compiler);
        } else {
            (void)kz_emit(compiler, KZ_DO_CONSTANT, KZ_CONSTANT_NONE);
        }
    }
    kz_expect_sign(compiler, "]");
    (void)kz_emit(compiler, KZ_DO_SLICE, 0);
}

static void compile_postfix(kz_compiler *compiler) {
    while (compiler->status == KAZEIA_OK) {
        if (kz_take_sign(compiler, ".")) {
            compile_member(compiler);
        } else if (kz_take_sign(compiler, "[")) {
            compile_item(compiler);
        } else if (kz_is_sign(compiler, "(")) {
            kz_compiler_refuse(compiler, "a call of anything but a function, macro or method");
        } else {
            return;
        }
    }
}

static void compile_filter(kz_compiler *compiler) {
    uint32_t count = 0, pairs = 0;
    const kz_jinja_token name = kz_expect_name(compiler);
    const int number = find_in_list(compiler, KZ_LIST_FILTERS, &name);
    if (kz_take_sign(compiler, "(")) {
        compile_arguments(compiler, &count, &pairs);
    }
    kz_emit_call(compiler, KZ_DO_FILTER, (uint32_t)number, count, pairs);
}

// A test may have one argument without brackets: "is divisibleby 3".
static bool begins_test_argument(const kz_compiler *compiler) {
    static const char *const ends[] = {"else", "or", "and", "is", "if", "in", "not"};
    const kz_jinja_token *token = kz_token(compiler);
    if (token->kind != KZ_JINJA_NAME) {
        return token->kind == KZ_JINJA_STRING || token->kind == KZ_JINJA_INTEGER ||
               token->kind == KZ_JINJA_REAL || kz_is_sign(compiler, "[") ||
               kz_is_sign(compiler, "{");
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (kz_is_name(compiler, ends[i])) {
            return false;
        }
    }
    return true;
}

static void compile_test(kz_compiler *compiler) {
    uint32_t count = 0, pairs = 0;
    const bool is_not = kz_take_name(compiler, "not");
    const kz_jinja_token name = kz_expect_name(compiler);
    const int number = find_in_list(compiler, KZ_LIST_TESTS, &name);
    if (kz_take_sign(compiler, "(")) {
        compile_arguments(compiler, &count, &pairs);
    } else if (begins_test_argument(compiler)) {
        compile_primary(compiler);
        compile_postfix(compiler);
        count = 1;
    }
    kz_emit_call(compiler, KZ_DO_TEST, (uint32_t)number, count, pairs);
    if (is_not) {
        (void)kz_emit(compiler, KZ_DO_NOT, 0);
    }
}

void kz_compile_filters(kz_compiler *compiler) {
    while (compiler->status == KAZEIA_OK) {
        if (kz_take_sign(compiler, "|")) {
            compile_filter(compiler);
        } else if (kz_take_name(compiler, "is")) {
            compile_test(compiler);
        } else {
            return;
        }
    }
}

// --- Operators ----------------------------------------------------------------------------------

static void compile_unary(kz_compiler *compiler, bool with_filters) {
    if (!kz_enter(compiler)) {
        return;
    }
    if (kz_take_sign(compiler, "-")) {
        compile_unary(compiler, false);
        (void)kz_emit(compiler, KZ_DO_NEGATE, 0);
    } else if (kz_take_sign(compiler, "+")) {
        kz_compiler_refuse(compiler, "a plus sign in front of a value is not supported");
    } else {
        compile_primary(compiler);
    }
    compile_postfix(compiler);
    if (with_filters) {
        kz_compile_filters(compiler);
    }
    kz_leave(compiler);
}

static void compile_power(kz_compiler *compiler) {
    compile_unary(compiler, true);
    while (kz_take_sign(compiler, "**")) {
        compile_unary(compiler, true);
        (void)kz_emit(compiler, KZ_DO_POWER, 0);
    }
}

static void compile_product(kz_compiler *compiler) {
    static const struct {
        const char *sign;
        uint8_t op;
    } signs[] = {{"*", KZ_DO_MULTIPLY},
                 {"/", KZ_DO_DIVIDE},
                 {"//", KZ_DO_FLOOR_DIVIDE},
                 {"%", KZ_DO_MODULO}};
    compile_power(compiler);
    for (size_t i = 0; i < sizeof signs / sizeof *signs;) {
        if (kz_take_sign(compiler, signs[i].sign)) {
            compile_power(compiler);
            (void)kz_emit(compiler, signs[i].op, 0);
            i = 0;
        } else {
            i++;
        }
    }
}

// A chain of one operator is one instruction, which copies strings once.
static void compile_chain(kz_compiler *compiler, const char *sign, uint8_t op,
                          void (*compile_part)(kz_compiler *)) {
    uint32_t count = 1;
    while (kz_take_sign(compiler, sign)) {
        compile_part(compiler);
        count++;
        if (count == KZ_CHAT_COUNT_LIMIT) {
            (void)kz_emit(compiler, op, count);
            count = 1;
        }
    }
    if (count > 1) {
        (void)kz_emit(compiler, op, count);
    }
}

static void compile_concatenation(kz_compiler *compiler) {
    compile_product(compiler);
    compile_chain(compiler, "~", KZ_DO_JOIN, compile_product);
}

static void compile_sum(kz_compiler *compiler) {
    compile_concatenation(compiler);
    for (;;) {
        compile_chain(compiler, "+", KZ_DO_ADD, compile_concatenation);
        if (!kz_take_sign(compiler, "-")) {
            return;
        }
        compile_concatenation(compiler);
        (void)kz_emit(compiler, KZ_DO_SUBTRACT, 0);
    }
}

static bool take_comparison(kz_compiler *compiler, uint8_t *out_op, bool *out_is_not) {
    static const struct {
        const char *sign;
        uint8_t op;
    } signs[] = {{"==", KZ_DO_EQUAL},      {"!=", KZ_DO_NOT_EQUAL}, {"<", KZ_DO_LESS},
                 {"<=", KZ_DO_LESS_EQUAL}, {">", KZ_DO_GREATER},    {">=", KZ_DO_GREATER_EQUAL}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (kz_take_sign(compiler, signs[i].sign)) {
            *out_op = signs[i].op;
            return true;
        }
    }
    *out_op = KZ_DO_IN;
    const kz_jinja_token *next = kz_token(compiler) + 1;
    *out_is_not = kz_is_name(compiler, "not") && next->kind == KZ_JINJA_NAME && next->count == 2 &&
                  memcmp(next->text, "in", 2) == 0 && kz_take_name(compiler, "not");
    return kz_take_name(compiler, "in");
}

static void compile_comparison(kz_compiler *compiler) {
    uint8_t op = 0, next = 0;
    bool is_not = false;
    compile_sum(compiler);
    if (!take_comparison(compiler, &op, &is_not)) {
        return;
    }
    compile_sum(compiler);
    (void)kz_emit(compiler, op, 0);
    if (is_not) {
        (void)kz_emit(compiler, KZ_DO_NOT, 0);
    }
    if (take_comparison(compiler, &next, &is_not)) {
        kz_compiler_refuse(compiler, "a chain of comparisons is not supported");
    }
}

static void compile_not(kz_compiler *compiler) {
    if (!kz_enter(compiler)) {
        return;
    }
    if (kz_take_name(compiler, "not")) {
        compile_not(compiler);
        (void)kz_emit(compiler, KZ_DO_NOT, 0);
    } else {
        compile_comparison(compiler);
    }
    kz_leave(compiler);
}

static void compile_and(kz_compiler *compiler) {
    compile_not(compiler);
    while (kz_take_name(compiler, "and")) {
        const uint32_t jump = kz_emit(compiler, KZ_DO_AND, 0);
        compile_not(compiler);
        kz_land(compiler, jump);
    }
}

void kz_compile_plain(kz_compiler *compiler) {
    if (!kz_enter(compiler)) {
        return;
    }
    compile_and(compiler);
    while (kz_take_name(compiler, "or")) {
        const uint32_t jump = kz_emit(compiler, KZ_DO_OR, 0);
        compile_and(compiler);
        kz_land(compiler, jump);
    }
    kz_leave(compiler);
}

// "a if c else b": the condition comes first, so what was made for `a` moves behind it.
void kz_compile_expression(kz_compiler *compiler) {
    const uint32_t start = (uint32_t)compiler->code_count;
    kz_compile_plain(compiler);
    while (kz_take_name(compiler, "if")) {
        const uint32_t count = (uint32_t)compiler->code_count - start;
        kz_compile_plain(compiler);
        (void)kz_emit(compiler, KZ_DO_JUMP_FALSE, 0);
        kz_move_to_end(compiler, start, count);
        const uint32_t otherwise = (uint32_t)compiler->code_count - count - 1;
        const uint32_t end = kz_emit(compiler, KZ_DO_JUMP, 0);
        kz_land(compiler, otherwise);
        if (kz_take_name(compiler, "else")) {
            if (kz_enter(compiler)) {
                kz_compile_expression(compiler);
                kz_leave(compiler);
            }
        } else {
            (void)kz_emit(compiler, KZ_DO_CONSTANT, KZ_CONSTANT_UNDEFINED);
        }
        kz_land(compiler, end);
    }
}

void kz_compile_tuple(kz_compiler *compiler, bool is_plain) {
    void (*const compile)(kz_compiler *) = is_plain ? kz_compile_plain : kz_compile_expression;
    uint32_t count = 1;
    compile(compiler);
    if (!kz_is_sign(compiler, ",")) {
        return;
    }
    while (kz_take_sign(compiler, ",")) {
        const kz_jinja_kind kind = kz_token(compiler)->kind;
        if (kz_is_sign(compiler, ")") || kind == KZ_JINJA_BLOCK_END || kind == KZ_JINJA_PRINT_END) {
            break;
        }
        compile(compiler);
        count++;
    }
    if (count > KZ_CHAT_COUNT_LIMIT) {
        kz_compiler_refuse(compiler, "a list of more than %u elements", KZ_CHAT_COUNT_LIMIT);
    }
    (void)kz_emit(compiler, KZ_DO_LIST, count);
}
