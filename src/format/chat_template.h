// chat_template.h: the chat template section of a program: a compiled Jinja template.
//
// The exporter turns the checkpoint's own Jinja text into a linear list of instructions for a small
// stack machine (chat_template.def), which llm/template runs over messages and options. Values are
// JSON's. The list is data: it can neither allocate without bound nor run without end (the machine
// counts both), and it is checked here before anything runs.
//
// Section, little-endian u32 unless said: magic, version; four mark strings (byte_stream.h):
// thinking opened and closed, tool call opened and closed; code_count, string_count, real_count,
// text_bytes; code: op | positional << 8 | named << 16, argument, line, each instruction; offsets
// [string_count + 1] of strings in the text; reals f64 [real_count]; text.
#ifndef KZ_FORMAT_CHAT_TEMPLATE_H
#define KZ_FORMAT_CHAT_TEMPLATE_H

#include "base/alloc.h"
#include "format/program.h"

#define KZ_CHAT_TEMPLATE_VERSION 2u
#define KZ_CHAT_TEMPLATE_MAGIC 0x54435a4bu // "KZCT"
#define KZ_CHAT_CODE_LIMIT (1u << 20)      // instructions, strings, reals
#define KZ_CHAT_TEXT_LIMIT (1u << 24)      // bytes of all strings
#define KZ_CHAT_ARGUMENT_LIMIT 16u         // of one call, and pairs of one call
#define KZ_CHAT_COUNT_LIMIT 128u           // values that one instruction takes
#define KZ_CHAT_MARK_BYTES 64u
#define KZ_CHAT_PART_BYTES 1024u // what a template commonly puts beside a message

enum {
#define KZ_TEMPLATE_OP(name, kind) KZ_DO_##name,
#include "format/chat_template.def"
    KZ_DO_COUNT
};
enum {
#define KZ_TEMPLATE_FILTER(stem, name) KZ_FILTER_##stem,
#include "format/chat_template.def"
    KZ_FILTER_COUNT_OF_ALL
};
enum {
#define KZ_TEMPLATE_METHOD(stem, name) KZ_METHOD_##stem,
#include "format/chat_template.def"
    KZ_METHOD_COUNT_OF_ALL
};
enum {
#define KZ_TEMPLATE_TEST(stem, name) KZ_TEST_##stem,
#include "format/chat_template.def"
    KZ_TEST_COUNT_OF_ALL
};
enum {
#define KZ_TEMPLATE_FUNCTION(stem, name) KZ_FUNCTION_##stem,
#include "format/chat_template.def"
    KZ_FUNCTION_COUNT_OF_ALL
};
enum {
#define KZ_TEMPLATE_LOOP(stem, name) KZ_LOOP_##stem,
#include "format/chat_template.def"
    KZ_LOOP_COUNT_OF_ALL
};
// The argument of KZ_DO_CONSTANT.
enum { KZ_CONSTANT_UNDEFINED, KZ_CONSTANT_NONE, KZ_CONSTANT_FALSE, KZ_CONSTANT_TRUE };

// The lists above whose members have names in templates.
typedef enum kz_template_list {
    KZ_LIST_FILTERS,
    KZ_LIST_METHODS,
    KZ_LIST_TESTS,
    KZ_LIST_FUNCTIONS,
    KZ_LIST_LOOP,
} kz_template_list;

// How a reply marks what is no part of its answer.
typedef enum kz_chat_mark {
    KZ_MARK_THINK_OPEN,
    KZ_MARK_THINK_CLOSE,
    KZ_MARK_CALL_OPEN,
    KZ_MARK_CALL_CLOSE,
    KZ_MARK_COUNT
} kz_chat_mark;

typedef struct kz_template_step {
    uint8_t op, positional, named; // the last two: how many values and pairs a call takes
    uint32_t argument;
    uint32_t line; // of the Jinja text, for sentences
} kz_template_step;

// Pointers lie in the section.
typedef struct kz_chat_template {
    const char *marks[KZ_MARK_COUNT]; // NUL-terminated, "" where there is none
    uint32_t code_count, string_count, real_count, text_bytes;
    const uint8_t *code, *offsets, *reals;
    const char *text;
} kz_chat_template;

// Reads and checks a section (hostile input) without allocating; the section must outlive the
// template. What it does not prove, the height of the stack for one, the machine checks as it runs.
KAZEIA_MUST_CHECK kazeia_status kz_chat_template_open(const kz_bytes *section,
                                                      kz_chat_template *out_template);
// `index` < code_count, string_count, real_count.
kz_template_step kz_chat_template_step(const kz_chat_template *chat_template, uint32_t index);
kz_bytes kz_chat_template_string(const kz_chat_template *chat_template, uint32_t index);
double kz_chat_template_real(const kz_chat_template *chat_template, uint32_t index);

// The number of a name in a list, or -1; and back: NULL beyond the list's end.
int kz_template_number(kz_template_list list, const char *name, size_t count);
const char *kz_template_name(kz_template_list list, uint32_t number);

// The exporter's side.
typedef struct kz_chat_template_source {
    const char *marks[KZ_MARK_COUNT];
    const kz_template_step *code;
    const kz_bytes *strings;
    const double *reals;
    uint32_t code_count, string_count, real_count;
} kz_chat_template_source;

// The section's bytes; free with kz_free_aligned. BAD_ARGUMENT when the template is one that
// kz_chat_template_open would refuse.
KAZEIA_MUST_CHECK kazeia_status kz_chat_template_build(const kz_chat_template_source *source,
                                                       const kazeia_allocator *allocator,
                                                       uint8_t **out_bytes, size_t *out_count);

#endif
