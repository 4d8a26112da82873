// model_graphs.c: a checkpoint's graph after the passes.
//
// in:  a checkpoint, a choice of formats
// out: a graph ready to be written
#include "model_graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void check_status(kazeia_status status, const char *call) {
    if (status != KAZEIA_OK) {
        fail_msg("%s: %s: %s", call, kazeia_status_name(status), kazeia_last_error());
    }
}

void model_graph_open(model_graph *model, const char *source, const kz_format_choice *choice) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    const kz_model_options options = {.is_hybrid = true, .kv = KZ_F16};
    const kz_model *definition = NULL;
    CHECK(kz_checkpoint_open(source, NULL, &model->checkpoint));
    kz_graph_init(&model->graph, &memory);
    CHECK(kz_model_find(model->checkpoint, &definition));
    CHECK(definition->build(model->checkpoint, &options, &model->graph));
    CHECK(kz_pass_formats(&model->graph, choice));
    CHECK(kz_pass_quantise(&model->graph));
    CHECK(kz_pass_plan_memory(&model->graph));
}

void model_graph_close(model_graph *model) {
    kz_graph_clear(&model->graph);
    kz_checkpoint_close(model->checkpoint);
}

// The writer checks all that it writes; the sizes of the weights are given their places here.
void check_graph(kz_graph *graph) {
    kz_program_description description;
    kz_program_writer *writer = NULL;
    CHECK(kz_graph_describe(graph, &description));
    const char *parent = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/kazeia-graph-%ld.kzp", parent ? parent : "/tmp",
             (long)getpid());
    CHECK(kz_program_writer_create(path, &description, 1, NULL, &writer));
    kz_program_writer_abandon(writer);
}
