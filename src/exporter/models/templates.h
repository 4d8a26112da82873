// templates.h: a checkpoint's Jinja chat template -> the program's template section.
#ifndef KZ_EXPORTER_MODELS_TEMPLATES_H
#define KZ_EXPORTER_MODELS_TEMPLATES_H

#include "exporter/graph/graph.h"

// Recognises ChatML, with or without a default system message, and fills graph->chat_template. Any
// other text leaves the program without a template and says so in metadata "chat.template"
// ("unsupported"), from which the chat stage makes its sentence.
KAZEIA_MUST_CHECK kazeia_status kz_template_compile(const char *jinja, kz_graph *graph);

#endif
