// templates_lexer.c: Jinja text -> tokens.
//   in   a template's text
//   out  tokens in the compiler
// White space around tags goes as it does in transformers: trim_blocks (one line end behind a block
// or comment), lstrip_blocks (blanks in front of one from the start of its line), '-' (all white
// space of that side), '+' (none), and the last line end of the text.
#include <string.h>

#include "base/number_text.h"
#include "exporter/models/templates_compiler.h"

typedef struct jinja_reader {
    kz_compiler *compiler;
    const char *text; // line ends are '\n'
    size_t count, at;
    uint32_t line;
    bool is_line_start; // nothing but what trim_blocks took stands before on this line
    bool drops_space;   // the last tag ended in '-'
} jinja_reader;

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return c == '_' || is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static char peek(const jinja_reader *reader, size_t ahead) {
    return reader->at + ahead < reader->count ? reader->text[reader->at + ahead] : '\0';
}

static bool is_next(const jinja_reader *reader, const char *text) {
    const size_t count = strlen(text);
    return reader->count - reader->at >= count &&
           memcmp(reader->text + reader->at, text, count) == 0;
}

static void pass(jinja_reader *reader, size_t count) {
    for (; count > 0; count--) {
        reader->line += reader->text[reader->at++] == '\n';
    }
}

static void add_token(jinja_reader *reader, kz_jinja_kind kind, const char *text, size_t count) {
    kz_compiler *compiler = reader->compiler;
    if (compiler->status == KAZEIA_OK) {
        compiler->status =
            kz_bump_grow(compiler->memory, compiler->token_count, sizeof *compiler->tokens,
                         &compiler->token_capacity, (void **)&compiler->tokens);
    }
    if (compiler->status == KAZEIA_OK) {
        compiler->tokens[compiler->token_count++] =
            (kz_jinja_token){.kind = kind, .line = reader->line, .text = text, .count = count};
    }
}

static void refuse(jinja_reader *reader, const char *what) {
    if (reader->compiler->status == KAZEIA_OK) {
        reader->compiler->status =
            kz_fail(KAZEIA_UNSUPPORTED, "chat template, line %u: %s", reader->line, what);
    }
}

// --- Literals -----------------------------------------------------------------------------------

static size_t write_utf8(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(leads[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++) {
        out[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    }
    return more + 1;
}

// \xHH, \uHHHH, \UHHHHHHHH; the bytes written, 0 when it is none.
static size_t read_code(const char *text, size_t count, char *out, size_t *out_taken) {
    const size_t digits = text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : text[0] == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (digits == 0 || count <= digits) {
        return 0;
    }
    for (size_t i = 1; i <= digits; i++) {
        const char c = text[i], lower = (char)(c | 0x20);
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'f')) {
            return 0;
        }
        code = code * 16 + (uint32_t)(is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        return 0;
    }
    *out_taken = digits + 1;
    return write_utf8(code, out);
}

// What a backslash and what follows it stand for. Unknown escapes stay as they are, as in Python.
static size_t read_escape(const char *text, size_t count, char *out, size_t *out_taken) {
    static const char letters[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char *place = memchr(letters, text[0], sizeof letters - 1);
    *out_taken = 1;
    if (text[0] == '\n') {
        return 0;
    }
    if (place) {
        out[0] = meanings[place - letters];
        return 1;
    }
    const size_t written = read_code(text, count, out, out_taken);
    if (written > 0) {
        return written;
    }
    out[0] = '\\';
    out[1] = text[0];
    return 2;
}

static void read_string(jinja_reader *reader) {
    const char quote = reader->text[reader->at];
    size_t end = reader->at + 1, used = 0;
    char *copy = NULL;
    while (end < reader->count && reader->text[end] != quote) {
        end += reader->text[end] == '\\' ? 2 : 1;
    }
    if (end >= reader->count) {
        refuse(reader, "a string that does not end");
        return;
    }
    const size_t count = end - reader->at - 1;
    const char *text = reader->text + reader->at + 1;
    reader->compiler->status = kz_bump_take(reader->compiler->memory, count + 8, 1, (void **)&copy);
    if (reader->compiler->status != KAZEIA_OK) {
        return;
    }
    for (size_t i = 0; i < count;) {
        size_t taken = 1;
        if (text[i] != '\\') {
            copy[used++] = text[i];
        } else {
            used += read_escape(text + i + 1, count - i - 1, copy + used, &taken);
            taken++;
        }
        i += taken;
    }
    add_token(reader, KZ_JINJA_STRING, copy, used);
    pass(reader, count + 2);
}

static void read_number(jinja_reader *reader) {
    const char *from = reader->text + reader->at;
    char copy[KZ_NUMBER_BYTES];
    size_t count = 0, used = 0;
    bool is_real = false;
    while (reader->at + count < reader->count) {
        const char c = from[count];
        const bool is_point = c == '.' && !is_real && is_digit(peek(reader, count + 1));
        const bool is_exponent = (c | 0x20) == 'e' && count > 0;
        const bool is_signed =
            (c == '+' || c == '-') && count > 0 && (from[count - 1] | 0x20) == 'e';
        if (!is_digit(c) && c != '_' && !is_point && !is_exponent && !is_signed) {
            break;
        }
        is_real = is_real || is_point || is_exponent;
        if (c != '_' && used < sizeof copy - 1) {
            copy[used++] = c;
        }
        count++;
    }
    copy[used] = '\0';
    double number = 0;
    if (used == sizeof copy - 1 || !kz_number_read(copy, &number)) {
        refuse(reader, "a number that is not read");
    }
    add_token(reader, is_real ? KZ_JINJA_REAL : KZ_JINJA_INTEGER, from, count);
    if (reader->compiler->status == KAZEIA_OK) {
        reader->compiler->tokens[reader->compiler->token_count - 1].number = number;
    }
    pass(reader, count);
}

static void read_sign(jinja_reader *reader) {
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "//", "**"};
    size_t count = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        count = is_next(reader, pairs[i]) ? 2 : count;
    }
    if (count == 1 && !strchr("+-*/%~<>=()[]{}.,:|", reader->text[reader->at])) {
        refuse(reader, "a character that means nothing in a tag");
    }
    add_token(reader, KZ_JINJA_SIGN, reader->text + reader->at, count);
    pass(reader, count);
}

static void read_word(jinja_reader *reader) {
    size_t count = 0;
    while (is_word(peek(reader, count))) {
        count++;
    }
    add_token(reader, KZ_JINJA_NAME, reader->text + reader->at, count);
    pass(reader, count);
}

// --- Tags ---------------------------------------------------------------------------------------

static void skip_space(jinja_reader *reader) {
    while (reader->at < reader->count && is_space(reader->text[reader->at])) {
        pass(reader, 1);
    }
}

// True, and the tag's end passed, when it stands here: "%}", "-%}" or "+%}".
static bool take_closing(jinja_reader *reader, const char *closing) {
    const char sign = peek(reader, 0);
    const size_t skipped = sign == '-' || sign == '+';
    if (peek(reader, skipped) != closing[0] || peek(reader, skipped + 1) != closing[1]) {
        return false;
    }
    pass(reader, skipped + 2);
    reader->drops_space = sign == '-';
    const bool trims = closing[0] != '}' && sign != '-' && sign != '+';
    reader->is_line_start = trims && peek(reader, 0) == '\n';
    pass(reader, reader->is_line_start);
    return true;
}

static void read_inside(jinja_reader *reader, const char *closing, kz_jinja_kind end) {
    size_t brackets = 0; // "}}" may close a map in an expression
    while (reader->compiler->status == KAZEIA_OK) {
        skip_space(reader);
        if (reader->at == reader->count) {
            refuse(reader, "a tag that does not end");
            return;
        }
        const char c = reader->text[reader->at];
        const uint32_t line = reader->line;
        if (brackets == 0 && take_closing(reader, closing)) {
            add_token(reader, end, closing, 2);
            if (reader->compiler->status == KAZEIA_OK) {
                reader->compiler->tokens[reader->compiler->token_count - 1].line = line;
            }
            return;
        }
        if (c == '\'' || c == '"') {
            read_string(reader);
        } else if (is_digit(c)) {
            read_number(reader);
        } else if (is_word(c)) {
            read_word(reader);
        } else {
            brackets += strchr("([{", c) != NULL;
            brackets -= strchr(")]}", c) != NULL && brackets > 0;
            read_sign(reader);
        }
    }
}

static void read_comment(jinja_reader *reader) {
    while (reader->at < reader->count && !is_next(reader, "#}")) {
        pass(reader, 1);
    }
    if (reader->at == reader->count) {
        refuse(reader, "a comment that does not end");
        return;
    }
    // The sign in front of the end belongs to it.
    const char sign = reader->text[reader->at - 1];
    if (sign == '-' || sign == '+') {
        reader->at--;
    }
    (void)take_closing(reader, "#}");
}

static void read_tag(jinja_reader *reader, char kind) {
    pass(reader, 2);
    if (peek(reader, 0) == '-' || peek(reader, 0) == '+') {
        pass(reader, 1);
    }
    if (kind == '#') {
        read_comment(reader);
        return;
    }
    const bool is_block = kind == '%';
    add_token(reader, is_block ? KZ_JINJA_BLOCK_BEGIN : KZ_JINJA_PRINT_BEGIN, "", 0);
    read_inside(reader, is_block ? "%}" : "}}", is_block ? KZ_JINJA_BLOCK_END : KZ_JINJA_PRINT_END);
}

// How much of the text before a tag stays.
static size_t kept_before(const jinja_reader *reader, size_t from, char kind, char sign) {
    size_t end = reader->at;
    if (sign == '-') {
        while (end > from && is_space(reader->text[end - 1])) {
            end--;
        }
        return end - from;
    }
    if (kind == '{' || sign == '+') {
        return end - from;
    }
    while (end > from && is_space(reader->text[end - 1]) && reader->text[end - 1] != '\n') {
        end--;
    }
    const bool starts_line = end > from ? reader->text[end - 1] == '\n' : reader->is_line_start;
    return (starts_line ? end : reader->at) - from;
}

static bool is_tag(const jinja_reader *reader) {
    const char kind = peek(reader, 1);
    return reader->text[reader->at] == '{' && (kind == '{' || kind == '%' || kind == '#');
}

static void read_all(jinja_reader *reader) {
    while (reader->at < reader->count && reader->compiler->status == KAZEIA_OK) {
        if (reader->drops_space) {
            skip_space(reader);
        }
        const size_t from = reader->at;
        const uint32_t line = reader->line;
        while (reader->at < reader->count && !is_tag(reader)) {
            pass(reader, 1);
        }
        const bool has_tag = reader->at < reader->count;
        const char kind = has_tag ? reader->text[reader->at + 1] : '\0';
        const size_t kept =
            has_tag ? kept_before(reader, from, kind, peek(reader, 2)) : reader->at - from;
        if (kept > 0) {
            const uint32_t tag_line = reader->line;
            reader->line = line;
            add_token(reader, KZ_JINJA_DATA, reader->text + from, kept);
            reader->line = tag_line;
        }
        reader->drops_space = false;
        if (has_tag) {
            read_tag(reader, kind);
        }
    }
}

kazeia_status kz_jinja_read(kz_compiler *compiler, const char *text, size_t count) {
    char *copy = NULL;
    size_t used = 0;
    KZ_TRY(kz_bump_take(compiler->memory, count + 1, 1, (void **)&copy));
    for (size_t i = 0; i < count; i++) {
        if (text[i] == '\r') {
            i += i + 1 < count && text[i + 1] == '\n';
            copy[used++] = '\n';
        } else {
            copy[used++] = text[i];
        }
    }
    used -= used > 0 && copy[used - 1] == '\n';
    jinja_reader reader = {
        .compiler = compiler, .text = copy, .count = used, .line = 1, .is_line_start = true};
    read_all(&reader);
    add_token(&reader, KZ_JINJA_END, "the end of the text", 19);
    return compiler->status;
}
