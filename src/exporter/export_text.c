// export_text.c: the texts of a checkpoint (tokenizer, chat template) as a program in memory.
//   in   a checkpoint of any architecture; which of its texts are wanted
//   out  the bytes of a program without weights and methods
// Nothing here asks whether the model itself can be exported: a tokenizer is looked at, and
// compared with others', long before its model is. Of the two texts only the wanted one is read, so
// that a template that cannot be reproduced keeps nobody from the tokenizer.
#include "exporter/models/language.h"
#include "format/tokenizer.h"
#include "format/writer.h"
#include "kazeia/export.h"

// As many rows as the tokenizer wants: there is no embedding to compare with.
#define ANY_VOCABULARY UINT32_MAX

static kazeia_status add_tokenizer(kz_checkpoint *checkpoint, kz_graph *graph) {
    const bool is_whisper = kz_model_whisper.matches(checkpoint);
    KZ_TRY(kz_model_add_tokenizer(checkpoint, graph, ANY_VOCABULARY,
                                  is_whisper ? KZ_TOKENIZER_SPECIAL_IN_TEXT : 0));
    if (!graph->tokenizer.count) {
        return kz_fail(KAZEIA_UNSUPPORTED, "'%s' has no tokenizer", kz_checkpoint_path(checkpoint));
    }
    return KAZEIA_OK;
}

static kazeia_status add_texts(kz_checkpoint *checkpoint, uint32_t parts, kz_graph *graph) {
    KZ_TRY(kz_model_add_general(checkpoint, graph));
    if (parts & KAZEIA_EXPORT_TOKENIZER) {
        KZ_TRY(add_tokenizer(checkpoint, graph));
    }
    if (parts & KAZEIA_EXPORT_TEMPLATE) {
        KZ_TRY(kz_language_add_template(checkpoint, graph));
    }
    return kz_graph_status(graph);
}

static kazeia_status write_texts(kz_graph *graph, uint8_t **out_bytes, size_t *out_count) {
    kz_program_description description;
    KZ_TRY(kz_graph_describe(graph, &description));
    return kz_program_write_memory(&description, NULL, &graph->memory.allocator, out_bytes,
                                   out_count);
}

// A family's template needs no checkpoint.
static kazeia_status add_from_source(const kazeia_export_settings *settings, uint32_t parts,
                                     kz_graph *graph) {
    kz_checkpoint *checkpoint = NULL;
    if (!settings->source && settings->chat_template && parts == KAZEIA_EXPORT_TEMPLATE) {
        return kz_language_add_family(graph);
    }
    if (!settings->source) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "export: a source is needed");
    }
    KZ_TRY(kz_checkpoint_open_text(settings->source, &graph->memory.allocator, &checkpoint));
    const kazeia_status status = add_texts(checkpoint, parts, graph);
    kz_checkpoint_close(checkpoint);
    return status;
}

kazeia_status kazeia_export_text(const kazeia_export_settings *settings, uint32_t parts,
                                 void **out_bytes, size_t *out_count) {
    const kazeia_allocator memory = kz_allocator_or_default(settings->allocator);
    kz_graph graph;
    uint8_t *bytes = NULL;
    kz_graph_init(&graph, &memory);
    graph.template_family = settings->chat_template;
    kazeia_status status = add_from_source(settings, parts, &graph);
    if (status == KAZEIA_OK) {
        status = write_texts(&graph, &bytes, out_count);
    }
    kz_graph_clear(&graph);
    *out_bytes = bytes;
    return status;
}

void kazeia_export_text_free(void *bytes, const kazeia_allocator *allocator) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_free_aligned(&memory, bytes);
}
