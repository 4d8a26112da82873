// export.c: the driver: checkpoint -> model definition -> graph -> passes -> file.
//   in   kazeia_export_settings
//   out  a program file, whole or not at all
#include "kazeia/export.h"

#include <string.h>

#include "base/file_map.h"
#include "base/file_write.h"
#include "exporter/models/model.h"
#include "exporter/passes/passes.h"
#include "format/check.h"
#include "format/file_parts.h"

#define RECIPE_BYTES_LIMIT ((uint64_t)1 << 20)

kazeia_export_settings kazeia_export_settings_default(void) {
    return (kazeia_export_settings){.mode = "hybrid", .kv = "f16", .shard_count = 1};
}

typedef struct named_type {
    const char *name;
    kz_type type;
} named_type;

// What `--weights` takes. q4_1 has no name of its own here: a recipe may ask for it.
static const named_type weight_types[] = {
    {"q4", KZ_Q4_0}, {"q8", KZ_Q8_0}, {"bf16", KZ_BF16}, {"f16", KZ_F16}, {"f32", KZ_F32}};
static const named_type kv_types[] = {{"f16", KZ_F16}, {"int8", KZ_I8}, {"f32", KZ_F32}};

static const named_type *find_type(const named_type *types, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

// True when the largest tensor is quantised: the source's own formats are then the best default.
static bool is_quantised_source(const kz_checkpoint *checkpoint) {
    const kz_checkpoint_tensor *largest = NULL;
    for (size_t i = 0; i < kz_checkpoint_tensor_count(checkpoint); i++) {
        const kz_checkpoint_tensor *tensor = kz_checkpoint_tensor_at(checkpoint, i);
        // Norms and biases are floats in every checkpoint: only the largest tensor tells how the
        // weights are kept.
        largest = !largest || tensor->byte_count > largest->byte_count ? tensor : largest;
    }
    return largest && (kz_type_block_elements(largest->type) > 1 || largest->type == KZ_I8);
}

static kazeia_status choose_formats(const kazeia_export_settings *settings,
                                    const kz_checkpoint *checkpoint, kz_format_choice *choice) {
    const char *weights = settings->weights;
    if (!weights) {
        // Quantising a second time would lose twice; floats in eight bits lose next to nothing.
        weights = is_quantised_source(checkpoint) ? "keep" : "q8";
    }
    choice->keeps = strcmp(weights, "keep") == 0;
    const named_type *type =
        find_type(weight_types, sizeof weight_types / sizeof *weight_types, weights);
    if (!type && !choice->keeps) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "weights: '%s' is none of keep, q4, q8, bf16, f16, f32",
                       weights);
    }
    // With `keep` the type is not asked for.
    choice->type = type ? type->type : KZ_F32;
    return KAZEIA_OK;
}

static kazeia_status choose_model_options(const kazeia_export_settings *settings,
                                          kz_model_options *options) {
    const char *mode = settings->mode ? settings->mode : "hybrid";
    const char *kv = settings->kv ? settings->kv : "f16";
    const named_type *type = find_type(kv_types, sizeof kv_types / sizeof *kv_types, kv);
    options->is_hybrid = strcmp(mode, "hybrid") == 0;
    if (!options->is_hybrid && strcmp(mode, "kv") != 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "mode: '%s' is none of hybrid, kv", mode);
    }
    if (!type) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "kv: '%s' is none of f16, int8, f32", kv);
    }
    if (settings->shard_count > KZ_SHARD_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "shards: %u asked for, at most %u",
                       settings->shard_count, KZ_SHARD_LIMIT);
    }
    if (settings->thread_count > KZ_PACK_THREAD_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "threads: %u asked for, at most %u",
                       settings->thread_count, KZ_PACK_THREAD_LIMIT);
    }
    if (settings->activation_bits != 0 && settings->activation_bits != 8 &&
        settings->activation_bits != 16) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "activations: %u bits asked for, 8 or 16 expected",
                       settings->activation_bits);
    }
    options->activation_bits = settings->activation_bits;
    options->kv = type->type;
    options->context = settings->context;
    options->voices = settings->voices;
    return KAZEIA_OK;
}

static kazeia_status read_recipe(const char *path, kz_graph *graph, const char **out_text) {
    kz_file_map map = {0};
    KZ_TRY(kz_file_map_open(path, &map));
    char *text = NULL;
    kazeia_status status = KAZEIA_OK;
    // A NUL would end the text early, and with it the recipe.
    if (map.size > RECIPE_BYTES_LIMIT || (map.size && memchr(map.bytes, '\0', map.size))) {
        status =
            kz_fail(KAZEIA_BAD_FILE, "recipe %s: %zu bytes that are no recipe", path, map.size);
    }
    if (status == KAZEIA_OK) {
        // The copy is zeroed, so the text ends in NUL; it lives as long as the graph whose types it
        // sets.
        status = kz_bump_take(&graph->memory, map.size + 1, 1, (void **)&text);
    }
    if (status == KAZEIA_OK && map.size) {
        memcpy(text, map.bytes, map.size);
    }
    kz_file_map_close(&map);
    *out_text = text;
    return status;
}

static kazeia_status build_graph(const kazeia_export_settings *settings, kz_checkpoint *checkpoint,
                                 kz_graph *graph) {
    kz_model_options options = {0};
    kz_format_choice choice = {.recipe_path = settings->recipe};
    const kz_model *model = NULL;
    KZ_TRY(choose_model_options(settings, &options));
    KZ_TRY(choose_formats(settings, checkpoint, &choice));
    // Options are judged first: a wrong word should not wait for gigabytes to be looked through.
    KZ_TRY(kz_model_find(checkpoint, &model));
    if (settings->voices && model != &kz_model_kokoro) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "voices: %s has no table of styles: leave it out",
                       model->name);
    }
    if (settings->recipe) {
        KZ_TRY(read_recipe(settings->recipe, graph, &choice.recipe));
    }
    KZ_TRY(model->build(checkpoint, &options, graph));
    if (options.activation_bits) {
        graph->has_fine_activations = options.activation_bits == 16;
    }
    // In this order: activations follow the weights' types, and the arena follows the activations'.
    KZ_TRY(kz_pass_formats(graph, &choice));
    KZ_TRY(kz_pass_quantise(graph));
    return kz_pass_plan_memory(graph);
}

// Two sharded exports to one path could each remove the other's weights: only one may be at work.
// Both writers have their temporary files by now, so at least one of two sees the other.
static kazeia_status pack_alone(const kazeia_export_settings *settings,
                                const kz_checkpoint *checkpoint, kz_graph *graph,
                                kz_program_writer *writer) {
    if (kz_file_count_writers(settings->output) > 1) {
        return kz_fail(KAZEIA_BUSY, "'%s' is being written by another export; wait for its end",
                       settings->output);
    }
    const kz_pack_settings pack = {.thread_count = settings->thread_count,
                                   .progress = settings->progress,
                                   .progress_context = settings->progress_context};
    return kz_pass_pack(graph, checkpoint, writer, &pack);
}

static kazeia_status write_program(const kazeia_export_settings *settings,
                                   const kz_checkpoint *checkpoint, kz_graph *graph) {
    kz_program_description description;
    kz_program_writer *writer = NULL;
    KZ_TRY(kz_graph_describe(graph, &description));
    KZ_TRY(kz_program_writer_create(settings->output, &description,
                                    settings->shard_count ? settings->shard_count : 1,
                                    &graph->memory.allocator, &writer));
    kazeia_status status = pack_alone(settings, checkpoint, graph, writer);
    if (status == KAZEIA_OK) {
        status = kz_program_writer_seal(writer);
    }
    // Bringing gigabytes to the disk takes a while: asked once more before the old program goes.
    if (status == KAZEIA_OK && settings->progress) {
        status = settings->progress(settings->progress_context, 0, 0, "");
    }
    if (status != KAZEIA_OK) {
        kz_program_writer_abandon(writer);
        return status;
    }
    uint64_t id = 0;
    return kz_program_writer_finish(writer, &id);
}

kazeia_status kazeia_export(const kazeia_export_settings *settings) {
    if (!settings->source || !settings->output) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "export: a source and an output are needed");
    }
    const kazeia_allocator memory = kz_allocator_or_default(settings->allocator);
    kz_checkpoint *checkpoint = NULL;
    // The graph keeps pointers into the mapped checkpoint, so it is cleared first below.
    kz_graph graph;
    KZ_TRY(kz_checkpoint_open(settings->source, &memory, &checkpoint));
    kz_graph_init(&graph, &memory);
    graph.template_family = settings->chat_template;
    kazeia_status status = build_graph(settings, checkpoint, &graph);
    // Replacing a file that is still mapped would pull the weights away under the export.
    if (status == KAZEIA_OK && kz_checkpoint_reads(checkpoint, settings->output)) {
        status = kz_fail(KAZEIA_BAD_ARGUMENT,
                         "'%s' is a file of the checkpoint itself; name another output",
                         settings->output);
    }
    if (status == KAZEIA_OK) {
        status = write_program(settings, checkpoint, &graph);
    }
    kz_graph_clear(&graph);
    kz_checkpoint_close(checkpoint);
    return status;
}
