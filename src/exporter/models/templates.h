// templates.h: a checkpoint's Jinja chat template -> the program's template section.
#ifndef KZ_EXPORTER_MODELS_TEMPLATES_H
#define KZ_EXPORTER_MODELS_TEMPLATES_H

#include "exporter/graph/graph.h"

// Recognises ChatML, with or without a default system message, and Qwen3's templates, and fills
// graph->chat_template. Metadata "chat.template" says which ("chatml", "qwen3",
// "qwen3-instruct-2507"). Any other text leaves the program without a template and is called
// "unsupported". Of Qwen3's, plain conversations are kept: no tools, and no thinking.
KAZEIA_MUST_CHECK kazeia_status kz_template_compile(const char *jinja, kz_graph *graph);

#endif
