// test_plan_memory.c: no two values that are alive at the same time share a byte of the arena, and
// the arena is little larger than what is alive at once.
//
// in:  random graphs; the models' own
// out: cmocka's report
#include <stdlib.h>
#include <string.h>

#include "model_graphs.h"

#define RANDOM_GRAPHS 200
#define RANDOM_STEPS 40
#define WIDTHS 5

typedef struct life {
    size_t first, last;
    uint64_t begin, end; // bytes of the arena
} life;

// Marks the arena values that an instruction touches, through views too.
static void touch(const kz_graph_method *method, size_t place, life *lives) {
    const kz_instruction *instruction = &method->instructions[place];
    for (uint32_t j = 0; j < kz_op_find((uint32_t)instruction->op)->operand_count; j++) {
        uint32_t value = instruction->operands[j];
        if (value == KZ_NO_VALUE) {
            continue;
        }
        if (method->values[value].kind == KZ_VALUE_VIEW) {
            value = method->values[value].index;
        }
        lives[value].first = lives[value].first < place ? lives[value].first : place;
        lives[value].last = place;
    }
}

static life *find_lives(const kz_graph_method *method) {
    uint32_t maxima[KZ_SYMBOL_LIMIT] = {0};
    life *lives = calloc(method->value_count, sizeof *lives);
    assert_non_null(lives);
    for (uint32_t i = 0; i < method->symbol_count; i++) {
        maxima[i] = method->symbols[i].maximum;
    }
    for (size_t i = 0; i < method->value_count; i++) {
        lives[i].first = SIZE_MAX;
        if (method->values[i].kind == KZ_VALUE_ARENA) {
            lives[i].begin = method->values[i].offset;
            lives[i].end =
                lives[i].begin + kz_value_bytes(&method->values[i], maxima, method->symbol_count);
        }
    }
    for (size_t place = 0; place < method->instruction_count; place++) {
        touch(method, place, lives);
    }
    return lives;
}

static bool is_alive(const life *value, size_t place) {
    return value->first <= place && place <= value->last && value->end > value->begin;
}

// What is alive at `place` shares no byte; gives its sum.
static uint64_t check_place(const kz_graph_method *method, const life *lives, size_t place) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < method->value_count; i++) {
        if (!is_alive(&lives[i], place)) {
            continue;
        }
        bytes += lives[i].end - lives[i].begin;
        for (size_t j = 0; j < i; j++) {
            assert_true(!is_alive(&lives[j], place) || lives[i].end <= lives[j].begin ||
                        lives[j].end <= lives[i].begin);
        }
    }
    return bytes;
}

// The arena's size in units of the most that is alive at once.
static double check_method(const kz_graph_method *method) {
    life *lives = find_lives(method);
    uint64_t most = 0;
    for (size_t place = 0; place < method->instruction_count; place++) {
        const uint64_t bytes = check_place(method, lives, place);
        most = bytes > most ? bytes : most;
    }
    for (size_t i = 0; i < method->value_count; i++) {
        assert_true(lives[i].end <= method->arena_bytes);
        assert_int_equal(lives[i].begin % KZ_ALIGNMENT, 0);
    }
    free(lives);
    assert_true(most > 0);
    return (double)method->arena_bytes / (double)most;
}

static uint32_t next_number(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// A chain with branches: each step reads one of the last few values and makes one of another width,
// now and then adding a third.
static void grow_random(kz_graph *graph, uint32_t seed) {
    static const uint32_t widths[WIDTHS] = {64, 192, 32, 512, 96};
    uint32_t weights[WIDTHS][WIDTHS];
    for (uint32_t i = 0; i < WIDTHS * WIDTHS; i++) {
        weights[i / WIDTHS][i % WIDTHS] =
            kz_graph_add_weight(graph, &(kz_graph_weight){.name = "w",
                                                          .is_matrix = true,
                                                          .rank = 2,
                                                          .rows = widths[i / WIDTHS],
                                                          .columns = widths[i % WIDTHS],
                                                          .type = KZ_F32});
    }
    kz_graph_method *method = kz_graph_add_method(graph, "random");
    const kz_dim tokens = kz_method_symbol(method, "tokens", 1 + next_number(&seed) % 100);
    uint32_t values[RANDOM_STEPS + 1], kinds[RANDOM_STEPS + 1];
    kinds[0] = 0;
    values[0] = kz_method_input(method, "x", KZ_F32, 0, 2, tokens, kz_dim_constant(widths[0]));
    for (uint32_t i = 1; i <= RANDOM_STEPS; i++) {
        const uint32_t reach = i < 4 ? i : 4;
        const uint32_t from = i - 1 - next_number(&seed) % reach;
        kz_linear_options options = KZ_LINEAR_PLAIN;
        const uint32_t other = i - 1 - next_number(&seed) % reach;
        kinds[i] = next_number(&seed) % WIDTHS;
        options.residual = kinds[other] == kinds[i] ? values[other] : KZ_NO_VALUE;
        values[i] = kz_node_linear(method, values[from], weights[kinds[i]][kinds[from]], &options);
    }
    CHECK(kz_graph_status(graph));
}

static void random_graphs_are_planned_apart(void **state) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    double sum = 0.0, worst = 0.0;
    (void)state;
    for (uint32_t seed = 1; seed <= RANDOM_GRAPHS; seed++) {
        kz_graph graph;
        kz_graph_init(&graph, &memory);
        grow_random(&graph, seed);
        CHECK(kz_pass_plan_memory(&graph));
        const double ratio = check_method(&graph.methods[0]);
        sum += ratio;
        worst = ratio > worst ? ratio : worst;
        kz_graph_clear(&graph);
    }
    print_message("random graphs: arena %.3f of what is alive at once, at worst %.3f\n",
                  sum / RANDOM_GRAPHS, worst);
    assert_true(sum / RANDOM_GRAPHS <= 1.1);
    assert_true(worst <= 1.5);
}

static void check_model(const char *source, kz_type type) {
    model_graph model;
    model_graph_open(&model, source, &(kz_format_choice){.type = type});
    for (size_t i = 0; i < model.graph.method_count; i++) {
        const kz_graph_method *method = &model.graph.methods[i];
        if (method->arena_bytes == 0) {
            continue; // all of it lies in inputs and outputs
        }
        const double ratio = check_method(method);
        print_message("%s %s, %s: arena %llu bytes, %.3f of what is alive at once\n", source,
                      method->name, kz_type_name(type), (unsigned long long)method->arena_bytes,
                      ratio);
        assert_true(ratio <= 1.3);
    }
    model_graph_close(&model);
}

static void models_are_planned_apart(void **state) {
    (void)state;
    check_model(TINY_LLAMA, KZ_F32);
    check_model(TINY_LLAMA, KZ_Q8_0);
    check_model(TINY_WHISPER, KZ_F32);
    check_model(TINY_WHISPER, KZ_Q8_0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_planned_apart),
        cmocka_unit_test(models_are_planned_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
