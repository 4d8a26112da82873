// templates_statement.c: Jinja's statements -> instructions.
//   in   tokens
//   out  instructions, an END behind them
#include <string.h>

#include "exporter/models/templates_compiler.h"

static void compile_body(kz_compiler *compiler, const char *const *ends);

static void end_block(kz_compiler *compiler) {
    if (kz_token(compiler)->kind != KZ_JINJA_BLOCK_END) {
        kz_compiler_refuse(compiler, "'%.*s' found, expected the tag's end",
                           (int)(kz_token(compiler)->count < 40 ? kz_token(compiler)->count : 40),
                           kz_token(compiler)->text);
        return;
    }
    compiler->at++;
}

// At the name of the tag that ends a body: "endif" and so on.
static void expect_end(kz_compiler *compiler, const char *name) {
    if (!kz_take_name(compiler, name)) {
        kz_compiler_refuse(compiler, "a block that does not end in '%s'", name);
    }
    end_block(compiler);
}

// --- Output -------------------------------------------------------------------------------------

// What an expression leaves is printed; sums and constants have instructions of their own.
static void emit_print(kz_compiler *compiler) {
    if (compiler->status != KAZEIA_OK) {
        return;
    }
    kz_template_step *last = &compiler->code[compiler->code_count - 1];
    // A jump that leads behind it brings another value.
    const bool is_alone = compiler->last_target < compiler->code_count;
    if (is_alone && last->op == KZ_DO_ADD) {
        last->op = KZ_DO_PRINT_SUM;
    } else if (is_alone && last->op == KZ_DO_STRING) {
        last->op = KZ_DO_PRINT_TEXT;
    } else {
        (void)kz_emit(compiler, KZ_DO_PRINT, 0);
    }
}

static void compile_print(kz_compiler *compiler) {
    kz_compile_tuple(compiler, false);
    emit_print(compiler);
    if (compiler->status == KAZEIA_OK && kz_token(compiler)->kind != KZ_JINJA_PRINT_END) {
        kz_compiler_refuse(compiler, "'%.*s' found, expected the tag's end",
                           (int)(kz_token(compiler)->count < 40 ? kz_token(compiler)->count : 40),
                           kz_token(compiler)->text);
    }
    compiler->at += compiler->status == KAZEIA_OK;
}

// --- If -----------------------------------------------------------------------------------------

static void compile_if(kz_compiler *compiler) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    uint32_t done = KZ_NO_STEP;
    bool has_more = true;
    while (has_more && compiler->status == KAZEIA_OK) {
        kz_compile_expression(compiler);
        end_block(compiler);
        const uint32_t otherwise = kz_emit(compiler, KZ_DO_JUMP_FALSE, 0);
        compile_body(compiler, ends);
        has_more = kz_take_name(compiler, "elif");
        if (has_more || kz_is_name(compiler, "else")) {
            done = kz_emit(compiler, KZ_DO_JUMP, done);
        }
        kz_land(compiler, otherwise);
    }
    if (kz_take_name(compiler, "else")) {
        end_block(compiler);
        compile_body(compiler, ends + 2);
    }
    expect_end(compiler, "endif");
    kz_land_chain(compiler, done);
}

// --- For ----------------------------------------------------------------------------------------

#define TARGET_LIMIT 8u

// "a" or "a, b" or "(a, b)".
static uint32_t read_targets(kz_compiler *compiler, kz_jinja_token targets[TARGET_LIMIT]) {
    const bool has_bracket = kz_take_sign(compiler, "(");
    uint32_t count = 0;
    do {
        if (count == TARGET_LIMIT) {
            kz_compiler_refuse(compiler, "more than %u names at once", TARGET_LIMIT);
            return count;
        }
        targets[count++] = kz_expect_name(compiler);
    } while (kz_take_sign(compiler, ","));
    if (has_bracket) {
        kz_expect_sign(compiler, ")");
    }
    return count;
}

static void emit_targets(kz_compiler *compiler, const kz_jinja_token *targets, uint32_t count) {
    if (count > 1) {
        (void)kz_emit(compiler, KZ_DO_UNPACK, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        kz_emit_string(compiler, KZ_DO_STORE, targets[i].text, targets[i].count);
    }
}

// The list on the stack becomes the list of those elements for which the condition holds.
static void compile_sift(kz_compiler *compiler, const kz_jinja_token *targets, uint32_t count) {
    const uint32_t begin = kz_emit(compiler, KZ_DO_SIFT_BEGIN, 0);
    const uint32_t item = kz_emit(compiler, KZ_DO_FOR_ITEM, 0);
    emit_targets(compiler, targets, count);
    kz_compile_expression(compiler);
    (void)kz_emit(compiler, KZ_DO_KEEP, 0);
    (void)kz_emit(compiler, KZ_DO_SIFT_NEXT, item);
    kz_land(compiler, begin);
}

static void compile_for_body(kz_compiler *compiler, const kz_jinja_token *targets, uint32_t count) {
    static const char *const ends[] = {"else", "endfor", NULL};
    kz_jinja_loop loop = {compiler->loop, KZ_NO_STEP, KZ_NO_STEP, compiler->captures};
    const uint32_t begin = kz_emit(compiler, KZ_DO_FOR_BEGIN, 0);
    const uint32_t item = kz_emit(compiler, KZ_DO_FOR_ITEM, 0);
    emit_targets(compiler, targets, count);
    compiler->loop = &loop;
    compile_body(compiler, ends);
    compiler->loop = loop.outer;
    kz_land_chain(compiler, loop.continues);
    (void)kz_emit(compiler, KZ_DO_FOR_NEXT, item);
    if (kz_take_name(compiler, "else")) {
        const uint32_t end = kz_emit(compiler, KZ_DO_JUMP, 0);
        end_block(compiler);
        kz_land(compiler, begin);
        compile_body(compiler, ends + 1);
        kz_land(compiler, end);
    } else {
        kz_land(compiler, begin);
    }
    expect_end(compiler, "endfor");
    kz_land_chain(compiler, loop.breaks);
}

static void compile_for(kz_compiler *compiler) {
    kz_jinja_token targets[TARGET_LIMIT];
    const uint32_t count = read_targets(compiler, targets);
    if (!kz_take_name(compiler, "in")) {
        kz_compiler_refuse(compiler, "a loop without 'in'");
    }
    kz_compile_tuple(compiler, true);
    if (kz_take_name(compiler, "if")) {
        compile_sift(compiler, targets, count);
    }
    if (kz_is_name(compiler, "recursive")) {
        kz_compiler_refuse(compiler, "a recursive loop is not supported");
    }
    end_block(compiler);
    compile_for_body(compiler, targets, count);
}

static void compile_break(kz_compiler *compiler, bool is_break) {
    kz_jinja_loop *loop = compiler->loop;
    if (!loop || loop->captures != compiler->captures) {
        kz_compiler_refuse(compiler, "break or continue outside of its loop");
        return;
    }
    uint32_t *chain = is_break ? &loop->breaks : &loop->continues;
    *chain = kz_emit(compiler, is_break ? KZ_DO_BREAK : KZ_DO_JUMP, *chain);
    end_block(compiler);
}

// --- Set and filter -----------------------------------------------------------------------------

static void compile_captured(kz_compiler *compiler, const char *end) {
    const char *const ends[] = {end, NULL};
    (void)kz_emit(compiler, KZ_DO_CAPTURE_BEGIN, 0);
    compiler->captures++;
    compile_body(compiler, ends);
    compiler->captures--;
    (void)kz_emit(compiler, KZ_DO_CAPTURE_END, 0);
}

// set name | filter %} ... {% endset: the filters stand first, and are made when the text is there.
static void compile_set_block(kz_compiler *compiler, const kz_jinja_token *name) {
    const size_t filters = compiler->at;
    while (compiler->status == KAZEIA_OK && kz_token(compiler)->kind != KZ_JINJA_BLOCK_END) {
        compiler->at++;
    }
    end_block(compiler);
    compile_captured(compiler, "endset");
    const size_t end = compiler->at;
    compiler->at = filters;
    kz_compile_filters(compiler);
    compiler->at = compiler->status == KAZEIA_OK ? end : compiler->at;
    kz_emit_string(compiler, KZ_DO_STORE, name->text, name->count);
    expect_end(compiler, "endset");
}

static void compile_set(kz_compiler *compiler) {
    kz_jinja_token targets[TARGET_LIMIT];
    const uint32_t count = read_targets(compiler, targets);
    if (count == 1 && kz_take_sign(compiler, ".")) {
        const kz_jinja_token member = kz_expect_name(compiler);
        kz_emit_string(compiler, KZ_DO_LOAD, targets[0].text, targets[0].count);
        kz_expect_sign(compiler, "=");
        kz_compile_tuple(compiler, false);
        kz_emit_string(compiler, KZ_DO_SET_ATTRIBUTE, member.text, member.count);
        end_block(compiler);
    } else if (kz_take_sign(compiler, "=")) {
        kz_compile_tuple(compiler, false);
        emit_targets(compiler, targets, count);
        end_block(compiler);
    } else if (count == 1 &&
               (kz_is_sign(compiler, "|") || kz_token(compiler)->kind == KZ_JINJA_BLOCK_END)) {
        compile_set_block(compiler, &targets[0]);
    } else {
        kz_expect_sign(compiler, "=");
    }
}

// filter name(...) %} ... {% endfilter.
static void compile_filter_block(kz_compiler *compiler) {
    const size_t filters = compiler->at;
    while (compiler->status == KAZEIA_OK && kz_token(compiler)->kind != KZ_JINJA_BLOCK_END) {
        compiler->at++;
    }
    end_block(compiler);
    compile_captured(compiler, "endfilter");
    const size_t end = compiler->at;
    kz_jinja_token *before = &compiler->tokens[filters - 1];
    const kz_jinja_token kept = *before;
    // As if the block's name were the bar in front of its first filter.
    *before = (kz_jinja_token){.kind = KZ_JINJA_SIGN, .line = kept.line, .text = "|", .count = 1};
    compiler->at = filters - 1;
    kz_compile_filters(compiler);
    *before = kept;
    compiler->at = compiler->status == KAZEIA_OK ? end : compiler->at;
    (void)kz_emit(compiler, KZ_DO_PRINT, 0);
    expect_end(compiler, "endfilter");
}

// --- Macros -------------------------------------------------------------------------------------

// Names first, as PARAMETER; then, for each that has one, its default where no value came.
static void compile_parameters(kz_compiler *compiler) {
    const size_t start = compiler->at;
    size_t depth = 0;
    bool is_name = true;
    for (size_t i = start;
         compiler->tokens[i].kind != KZ_JINJA_BLOCK_END && compiler->tokens[i].kind != KZ_JINJA_END;
         i++) {
        const kz_jinja_token *token = &compiler->tokens[i];
        const char sign = token->kind == KZ_JINJA_SIGN ? token->text[0] : '\0';
        if (is_name && token->kind == KZ_JINJA_NAME) {
            kz_emit_string(compiler, KZ_DO_PARAMETER, token->text, token->count);
        }
        depth += sign == '(' || sign == '[' || sign == '{';
        depth -= depth > 0 && (sign == ')' || sign == ']' || sign == '}');
        is_name = sign == ',' && depth == 0;
    }
    while (compiler->status == KAZEIA_OK && !kz_take_sign(compiler, ")")) {
        const kz_jinja_token name = kz_expect_name(compiler);
        if (kz_take_sign(compiler, "=")) {
            kz_emit_string(compiler, KZ_DO_IS_GIVEN, name.text, name.count);
            (void)kz_emit(compiler, KZ_DO_NOT, 0);
            const uint32_t given = kz_emit(compiler, KZ_DO_JUMP_FALSE, 0);
            kz_compile_expression(compiler);
            kz_emit_string(compiler, KZ_DO_STORE, name.text, name.count);
            kz_land(compiler, given);
        }
        if (!kz_is_sign(compiler, ")")) {
            kz_expect_sign(compiler, ",");
        }
    }
}

static void compile_macro(kz_compiler *compiler) {
    static const char *const ends[] = {"endmacro", NULL};
    if (compiler->is_macro || compiler->loop || compiler->captures) {
        kz_compiler_refuse(compiler, "a macro inside of a loop, block or macro is not supported");
    }
    const kz_jinja_token name = kz_expect_name(compiler);
    const uint32_t over = kz_emit(compiler, KZ_DO_JUMP, 0);
    const uint32_t entry = (uint32_t)compiler->code_count;
    compiler->is_macro = true;
    kz_expect_sign(compiler, "(");
    compile_parameters(compiler);
    end_block(compiler);
    compile_body(compiler, ends);
    expect_end(compiler, "endmacro");
    compiler->is_macro = false;
    (void)kz_emit(compiler, KZ_DO_RETURN, 0);
    kz_land(compiler, over);
    (void)kz_emit(compiler, KZ_DO_MACRO, entry);
    kz_emit_string(compiler, KZ_DO_STORE, name.text, name.count);
}

// --- Bodies -------------------------------------------------------------------------------------

static void compile_generation(kz_compiler *compiler) {
    static const char *const ends[] = {"endgeneration", NULL};
    // It marks what the model wrote, for training; it prints what is in it.
    end_block(compiler);
    compile_body(compiler, ends);
    expect_end(compiler, "endgeneration");
}

static void compile_block(kz_compiler *compiler) {
    const kz_jinja_token *name = kz_token(compiler);
    if (kz_take_name(compiler, "if")) {
        compile_if(compiler);
    } else if (kz_take_name(compiler, "for")) {
        compile_for(compiler);
    } else if (kz_take_name(compiler, "set")) {
        compile_set(compiler);
    } else if (kz_take_name(compiler, "macro")) {
        compile_macro(compiler);
    } else if (kz_take_name(compiler, "generation")) {
        compile_generation(compiler);
    } else if (kz_take_name(compiler, "filter")) {
        compile_filter_block(compiler);
    } else if (kz_is_name(compiler, "break") || kz_is_name(compiler, "continue")) {
        const bool is_break = kz_is_name(compiler, "break");
        compiler->at++;
        compile_break(compiler, is_break);
    } else {
        kz_compiler_refuse(compiler, "the statement '%.*s' is not supported",
                           (int)(name->count < 64 ? name->count : 64), name->text);
    }
}

static bool is_end(const kz_compiler *compiler, const char *const *ends) {
    for (size_t i = 0; ends && ends[i]; i++) {
        if (kz_is_name(compiler, ends[i])) {
            return true;
        }
    }
    return false;
}

// Up to the tag that ends it, whose name is then the present token; without `ends` to the text's
// end.
static void compile_body(kz_compiler *compiler, const char *const *ends) {
    if (!kz_enter(compiler)) {
        return;
    }
    while (compiler->status == KAZEIA_OK) {
        const kz_jinja_token *token = kz_token(compiler);
        if (token->kind == KZ_JINJA_END) {
            break;
        }
        compiler->at++;
        if (token->kind == KZ_JINJA_DATA) {
            kz_emit_string(compiler, KZ_DO_PRINT_TEXT, token->text, token->count);
        } else if (token->kind == KZ_JINJA_PRINT_BEGIN) {
            compile_print(compiler);
        } else if (is_end(compiler, ends)) {
            break;
        } else {
            compile_block(compiler);
        }
    }
    kz_leave(compiler);
}

void kz_compile_statements(kz_compiler *compiler) {
    compile_body(compiler, NULL);
    (void)kz_emit(compiler, KZ_DO_END, 0);
}
