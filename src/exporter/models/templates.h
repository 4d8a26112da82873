// templates.h: a checkpoint's Jinja chat template, or a family's -> the program's template section.
#ifndef KZ_EXPORTER_MODELS_TEMPLATES_H
#define KZ_EXPORTER_MODELS_TEMPLATES_H

#include "exporter/graph/graph.h"

// A special token that templates know by a variable's name, as "bos_token".
typedef struct kz_template_token {
    const char *variable, *text; // text NULL: the model has none
} kz_template_token;

// Compiles `jinja` and fills graph->chat_template. Metadata "chat.template" is `name`. Marks of
// thinking and tool calls are those that the text or the graph's vocabulary has. UNSUPPORTED, with
// line and name, for what is not read; the graph is then as before.
KAZEIA_MUST_CHECK kazeia_status kz_template_compile(const char *jinja, const char *name,
                                                    const kz_template_token *tokens,
                                                    size_t token_count, kz_graph *graph);

// The Jinja text of a family, written for this project: "qwen3", "chatml", "gemma3", "llama3".
// NULL for another name.
const char *kz_template_family(const char *name);
// "qwen3, chatml, gemma3, llama3": for sentences.
const char *kz_template_family_names(void);

#endif
