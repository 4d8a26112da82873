// model_graphs.h: what the tests of graphs and passes share: a checkpoint's graph after the passes.
#ifndef KZ_TEST_EXPORTER_MODEL_GRAPHS_H
#define KZ_TEST_EXPORTER_MODEL_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporter/models/model.h"
#include "exporter/passes/passes.h"

#define TINY_LLAMA "tests/golden/llama/f32"
#define TINY_WHISPER "tests/golden/whisper/tiny"

typedef struct model_graph {
    kz_checkpoint *checkpoint;
    kz_graph graph;
} model_graph;

#define CHECK(call) check_status((call), #call)
void check_status(kazeia_status status, const char *call);

// Ends the test on failure.
void model_graph_open(model_graph *model, const char *source, const kz_format_choice *choice);
void model_graph_close(model_graph *model);

// A program's description, checked as the writer does.
void check_graph(kz_graph *graph);

#endif
