// templates.c: a checkpoint's Jinja chat template -> the program's template section.
//   in   Jinja text
//   out  role prefixes and suffixes, default system message, generation prompt
// A template is recognised by its whole text, ChatML's default system message apart: one that
// merely looks alike may mean something else. So that spelling does not matter, the text is first
// written in one way (jinja_writer): what transformers' settings of Jinja (trim_blocks,
// lstrip_blocks) take away is taken away, white space in tags goes, members are in brackets,
// literals that are added to each other are one.
#include "exporter/models/templates.h"

#include <string.h>

#include "format/chat_template.h"
#include "format/checksum.h"

#define SYSTEM_BYTES 4096
#define JINJA_BYTES_LIMIT ((size_t)1 << 20)

// In the one way of writing: a quote of a literal; where the default system message stands.
#define QUOTE '\2'
#define Q "\2"
#define HOLE '\1'

#define CHATML_MESSAGES                                                                           \
    "{{" Q "<|im_start|>" Q "+message[" Q "role" Q "]+" Q "\n" Q "+message[" Q "content" Q "]+" Q \
    "<|im_end|>\n" Q "}}{%endfor%}"                                                               \
    "{%if add_generation_prompt%}{{" Q "<|im_start|>assistant\n" Q "}}{%endif%}"

static const char *const chatml_texts[] = {
    "{%for message in messages%}{%if loop.first and messages[0][" Q "role" Q "]!=" Q "system" Q
    "%}{{" Q "<|im_start|>system\n\1<|im_end|>\n" Q "}}{%endif%}" CHATML_MESSAGES,
    "{%for message in messages%}" CHATML_MESSAGES,
};

// Long texts of which only the identity matters: a hash of the text in the one way of writing
// stands for each. They mean more than roles (tools, thinking); in conversations without these they
// are ChatML without a default system message, and this generation prompt.
typedef struct known_text {
    uint64_t hash; // kz_checksum
    const char *name;
    const char *generation;
} known_text;

#define NO_THINKING "<think>\n\n</think>\n\n" // enable_thinking=false: nobody wants it spoken

static const known_text known_texts[] = {
    {0x3467e0b249f63ad1u, "qwen3", "<|im_start|>assistant\n" NO_THINKING},
    {0xff8473f86f42e255u, "qwen3", "<|im_start|>assistant\n" NO_THINKING}, // revised
    {0xcb45adf1946e1003u, "qwen3-instruct-2507", "<|im_start|>assistant\n"},
};

// --- One way of writing -------------------------------------------------------------------------

typedef struct jinja_writer {
    const char *text; // what is left
    char *out;        // room for twice the text
    size_t used;
} jinja_writer;

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static void put(jinja_writer *writer, const char *bytes, size_t count) {
    memcpy(writer->out + writer->used, bytes, count);
    writer->used += count;
}

static bool ends_with(const jinja_writer *writer, const char *ending) {
    const size_t count = strlen(ending);
    return writer->used >= count && memcmp(writer->out + writer->used - count, ending, count) == 0;
}

// What a character after a backslash stands for; '\0': another escape, not read here.
static char escaped(char letter) {
    if (letter == 'n') {
        return '\n';
    }
    return letter == '\\' || letter == '\'' || letter == '"' ? letter : '\0';
}

// A literal, escapes becoming what they stand for. False when it does not end.
static bool write_literal(jinja_writer *writer) {
    const char quote = *writer->text++;
    if (ends_with(writer, Q "+")) {
        writer->used -= 2; // goes on with the literal before
    } else {
        put(writer, Q, 1);
    }
    while (*writer->text && *writer->text != quote) {
        const bool is_escape = *writer->text == '\\';
        const char letter = is_escape ? escaped(writer->text[1]) : *writer->text;
        if (letter == '\0') {
            return false;
        }
        put(writer, &letter, 1);
        writer->text += is_escape ? 2 : 1;
    }
    put(writer, Q, 1);
    return *writer->text++ == quote;
}

// ".role" becomes "['role']". False when no such member follows.
static bool write_member(jinja_writer *writer) {
    static const char *const members[] = {".role", ".content"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const size_t count = strlen(members[i]);
        if (strncmp(writer->text, members[i], count) == 0 && !is_word(writer->text[count])) {
            put(writer, "[" Q, 2);
            put(writer, members[i] + 1, count - 1);
            put(writer, Q "]", 2);
            writer->text += count;
            return true;
        }
    }
    return false;
}

// The inside of a tag up to its closing bracket ("%}" or "}}"). False when it does not end.
static bool write_inside(jinja_writer *writer, const char *closing) {
    while (*writer->text) {
        const char *from = writer->text;
        while (is_space(*writer->text)) {
            writer->text++;
        }
        if (writer->text[0] == '-' && strncmp(writer->text + 1, closing, 2) == 0) {
            return true;
        }
        if (strncmp(writer->text, closing, 2) == 0) {
            return true;
        }
        if (*writer->text == '\'' || *writer->text == '"') {
            if (!write_literal(writer)) {
                return false;
            }
        } else if (*writer->text && !write_member(writer)) {
            const bool parts_words = writer->text > from && is_word(*writer->text) &&
                                     writer->used && is_word(writer->out[writer->used - 1]);
            put(writer, " ", parts_words);
            put(writer, writer->text++, 1);
        }
    }
    return false;
}

// A tag, and the white space behind it that Jinja drops: all of it after "-", one line end after a
// block.
static bool write_tag(jinja_writer *writer) {
    const bool is_block = writer->text[1] == '%';
    const char *closing = is_block ? "%}" : "}}";
    put(writer, writer->text, 2);
    writer->text += writer->text[2] == '-' ? 3 : 2;
    if (!write_inside(writer, closing)) {
        return false;
    }
    put(writer, closing, 2);
    const bool drops_all = *writer->text == '-';
    writer->text += drops_all ? 3 : 2;
    while (drops_all && is_space(*writer->text)) {
        writer->text++;
    }
    writer->text += !drops_all && is_block && *writer->text == '\n';
    return true;
}

// White space in front of a tag that Jinja drops: all of it before "-"; before a block, blanks from
// the start of the line. Returns how much of it is left.
static size_t left_before_tag(const char *begin, const char *tag, bool is_line_start) {
    const char *end = tag;
    while (tag[2] == '-' && end > begin && is_space(end[-1])) {
        end--;
    }
    if (tag[2] == '-' || tag[1] != '%') {
        return (size_t)(end - begin);
    }
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    const bool starts_line = end > begin ? end[-1] == '\n' : is_line_start;
    return (size_t)((starts_line ? end : tag) - begin);
}

// Writes the whole text in one way; false when it is no sequence of tags as read here.
static bool write_one_way(jinja_writer *writer) {
    bool is_line_start = true;
    for (;;) {
        const char *tag = writer->text;
        while (*tag && !(tag[0] == '{' && (tag[1] == '{' || tag[1] == '%'))) {
            tag++;
        }
        if (!*tag) {
            const size_t count = (size_t)(tag - writer->text); // the last line end is dropped
            put(writer, writer->text, count - (count && tag[-1] == '\n'));
            writer->out[writer->used] = '\0';
            return true;
        }
        put(writer, writer->text, left_before_tag(writer->text, tag, is_line_start));
        writer->text = tag;
        if (!write_tag(writer)) {
            return false;
        }
        is_line_start = writer->text[-1] == '\n';
    }
}

// --- Recognition --------------------------------------------------------------------------------

// Copies the default system message: up to the next "<|im_end|>" of the same literal. Returns the
// place behind it, or NULL.
static const char *take_system(const char *text, char *out) {
    const char *end = strstr(text, "<|im_end|>");
    if (!end || (size_t)(end - text) >= SYSTEM_BYTES || memchr(text, QUOTE, (size_t)(end - text))) {
        return NULL;
    }
    memcpy(out, text, (size_t)(end - text));
    out[end - text] = '\0';
    return end;
}

static bool matches(const char *text, const char *wanted, char *out_system) {
    for (; *wanted; wanted++) {
        if (*wanted == HOLE) {
            text = take_system(text, out_system);
            if (!text) {
                return false;
            }
        } else if (*text++ != *wanted) {
            return false;
        }
    }
    return *text == '\0';
}

static kazeia_status write_chatml(const char *system, const char *generation, kz_graph *graph) {
    const kz_chat_template chatml = {
        .start = "",
        .default_system = *system ? system : NULL,
        .generation = generation,
        .roles = {{"system", "<|im_start|>system\n", "<|im_end|>\n"},
                  {"user", "<|im_start|>user\n", "<|im_end|>\n"},
                  {"assistant", "<|im_start|>assistant\n", "<|im_end|>\n"}},
        .role_count = 3,
    };
    uint8_t *bytes = NULL, *copy = NULL;
    size_t count = 0;
    KZ_TRY(kz_chat_template_build(&chatml, &graph->memory.allocator, &bytes, &count));
    const kazeia_status status = kz_bump_take(&graph->memory, count, 1, (void **)&copy);
    if (status == KAZEIA_OK) {
        memcpy(copy, bytes, count);
        graph->chat_template = (kz_bytes){copy, count};
    }
    kz_free_aligned(&graph->memory.allocator, bytes);
    return status;
}

static kazeia_status recognise(const char *text, kz_graph *graph) {
    char system[SYSTEM_BYTES] = "";
    for (size_t i = 0; i < sizeof chatml_texts / sizeof *chatml_texts; i++) {
        if (matches(text, chatml_texts[i], system)) {
            kz_graph_set_string(graph, "chat.template", "chatml");
            return write_chatml(system, "<|im_start|>assistant\n", graph);
        }
    }
    const uint64_t hash = kz_checksum(text, strlen(text));
    for (size_t i = 0; i < sizeof known_texts / sizeof *known_texts; i++) {
        if (known_texts[i].hash == hash) {
            kz_graph_set_string(graph, "chat.template", known_texts[i].name);
            return write_chatml("", known_texts[i].generation, graph);
        }
    }
    kz_graph_set_string(graph, "chat.template", "unsupported");
    return KAZEIA_OK;
}

kazeia_status kz_template_compile(const char *jinja, kz_graph *graph) {
    const size_t count = strlen(jinja);
    jinja_writer writer = {.text = jinja};
    bool is_read =
        count <= JINJA_BYTES_LIMIT && !memchr(jinja, HOLE, count) && !memchr(jinja, QUOTE, count);
    if (is_read) {
        KZ_TRY(kz_bump_take(&graph->memory, count + 1, 2, (void **)&writer.out));
        is_read = write_one_way(&writer);
    }
    return recognise(is_read ? writer.out : "", graph);
}
