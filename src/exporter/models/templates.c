// templates.c: a checkpoint's Jinja chat template -> the program's template section.
//   in   Jinja text
//   out  role prefixes and suffixes, default system message, generation prompt
// A template is recognised by its whole text, white space and the default system message apart:
// one that merely looks alike may mean something else.
#include "exporter/models/templates.h"

#include <string.h>

#include "format/chat_template.h"

#define SYSTEM_BYTES 4096

// The texts without white space and without "\n"; HOLE stands for the default system message.
#define HOLE '\1'
static const char *const chatml_texts[] = {
    "{%formessageinmessages%}{%ifloop.firstandmessages[0]['role']!='system'%}"
    "{{'<|im_start|>system\1<|im_end|>'}}{%endif%}"
    "{{'<|im_start|>'+message['role']+''+message['content']+'<|im_end|>'+''}}{%endfor%}"
    "{%ifadd_generation_prompt%}{{'<|im_start|>assistant'}}{%endif%}",
    "{%formessageinmessages%}"
    "{{'<|im_start|>'+message['role']+''+message['content']+'<|im_end|>'+''}}{%endfor%}"
    "{%ifadd_generation_prompt%}{{'<|im_start|>assistant'}}{%endif%}",
};

// Steps over white space, written out ("\n") or plain.
static const char *skip_space(const char *text) {
    for (;;) {
        if (*text == ' ' || *text == '\n' || *text == '\t' || *text == '\r') {
            text++;
        } else if (text[0] == '\\' && text[1] == 'n') {
            text += 2;
        } else {
            return text;
        }
    }
}

// Copies the default system message: up to the next "<|im_end|>", "\n" written out becoming a line
// end. Returns the place behind it, or NULL.
static const char *take_system(const char *text, char *out) {
    const char *end = strstr(text, "<|im_end|>");
    size_t used = 0;
    text = text[0] == '\\' && text[1] == 'n' ? text + 2 : text + (*text == '\n');
    if (!end || (size_t)(end - text) >= SYSTEM_BYTES) {
        return NULL;
    }
    while (text < end) {
        if (text[0] == '\\' && text[1] == 'n') {
            out[used++] = '\n';
            text += 2;
        } else if (*text == '\'' || *text == '\\' || *text == '{') {
            return NULL; // the string ends here, or holds what we do not read
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
    return end;
}

static bool matches(const char *jinja, const char *wanted, char *out_system) {
    const char *text = skip_space(jinja);
    while (*wanted) {
        if (*wanted == HOLE) {
            text = take_system(text, out_system);
            if (!text) {
                return false;
            }
            wanted++;
            continue;
        }
        if (*text != *wanted) {
            return false;
        }
        wanted++;
        // Before a hole the line end belongs to the message and is kept.
        text = *wanted == HOLE ? text + 1 : skip_space(text + 1);
    }
    return *skip_space(text) == '\0';
}

static kazeia_status write_chatml(const char *system, kz_graph *graph) {
    const kz_chat_template chatml = {
        .start = "",
        .default_system = *system ? system : NULL,
        .generation = "<|im_start|>assistant\n",
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

kazeia_status kz_template_compile(const char *jinja, kz_graph *graph) {
    char system[SYSTEM_BYTES] = "";
    for (size_t i = 0; i < sizeof chatml_texts / sizeof *chatml_texts; i++) {
        if (matches(jinja, chatml_texts[i], system)) {
            kz_graph_set_string(graph, "chat.template", "chatml");
            return write_chatml(system, graph);
        }
    }
    kz_graph_set_string(graph, "chat.template", "unsupported");
    return KAZEIA_OK;
}
