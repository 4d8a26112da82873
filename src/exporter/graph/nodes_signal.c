// nodes_signal.c: the nodes of ops that see a signal along its rows, and of those for each element.
//   in   value, weight and state numbers
//   out  an instruction at the end of the method, and the value that it writes
#include "exporter/graph/nodes.h"

static void add_plain(kz_graph_method *method, kz_op op, uint32_t a, uint32_t b, uint32_t c) {
    kz_node_add_instruction(method, &(kz_instruction){.op = op, .operands = {a, b, c}});
}

static uint32_t weight_rows(const kz_graph_method *method, uint32_t weight) {
    return !method || weight >= method->graph->weight_count
               ? 0
               : (uint32_t)method->graph->weights[weight].rows;
}

// --- Windows ------------------------------------------------------------------------------------

// True when all five are within the format's limits, so that sums of them fit 64 bits with ease.
static bool is_window(const kz_window *window) {
    return window->kernel >= 1 && window->kernel <= KZ_KERNEL_LIMIT && window->stride >= 1 &&
           window->stride <= KZ_KERNEL_LIMIT && window->dilation >= 1 &&
           window->dilation <= KZ_KERNEL_LIMIT && window->left <= KZ_KERNEL_LIMIT &&
           window->right <= KZ_KERNEL_LIMIT;
}

// The method's rows cannot be counted: said once, the graph fails.
static void note_window(kz_graph_method *method, const kz_window *window) {
    if (method) {
        kz_graph_note(method->graph,
                      kz_fail(KAZEIA_UNSUPPORTED,
                              "export: method '%s': a window of %u by steps of %u cannot be laid "
                              "over its rows",
                              method->name, window->kernel, window->stride));
    }
}

static kz_dim unfolded_rows(kz_graph_method *method, kz_dim rows, const kz_window *window) {
    kz_dim windows = kz_dim_constant(0);
    const int64_t added = (int64_t)window->left + window->right -
                          (int64_t)window->dilation * ((int64_t)window->kernel - 1);
    if (!is_window(window) || added < INT32_MIN ||
        !kz_dim_window(&rows, (int32_t)added, window->stride, &windows)) {
        note_window(method, window);
    }
    return windows;
}

uint32_t kz_node_unfold(kz_graph_method *method, uint32_t x, const kz_window *window) {
    const kz_dim rows = unfolded_rows(method, kz_method_rows_of(method, x), window);
    const uint32_t out =
        kz_method_rows(method, rows, window->kernel * kz_method_columns_of(method, x));
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_UNFOLD,
                                  .operands = {x, out},
                                  .ints = {(int32_t)window->kernel, (int32_t)window->stride,
                                           (int32_t)window->dilation, (int32_t)window->left,
                                           (int32_t)window->right}});
    return out;
}

uint32_t kz_node_convolve(kz_graph_method *method, uint32_t x, uint32_t weight,
                          const kz_window *window, const kz_linear_options *options) {
    const kz_dim rows = unfolded_rows(method, kz_method_rows_of(method, x), window);
    const uint32_t out = options->out != KZ_NO_VALUE
                             ? options->out
                             : kz_method_rows(method, rows, weight_rows(method, weight));
    kz_node_add_instruction(
        method,
        &(kz_instruction){
            .op = KZ_OP_CONVOLVE,
            .operands = {x, kz_method_weight(method, weight),
                         kz_method_weight(method, options->bias), options->residual, out},
            .ints = {(int32_t)window->kernel, (int32_t)window->stride, (int32_t)window->dilation,
                     (int32_t)window->left, (int32_t)window->right}});
    return out;
}

// [rows given by the window][columns]; 0 rows and a note when they are no dimension.
static uint32_t folded_rows(kz_graph_method *method, uint32_t x, const kz_window *window,
                            uint32_t columns) {
    kz_dim folded = kz_dim_constant(0);
    const kz_dim rows = kz_method_rows_of(method, x);
    if (!is_window(window) || window->dilation != 1 ||
        !kz_dim_stretch(&rows, window->stride,
                        (int32_t)window->kernel - (int32_t)window->stride - (int32_t)window->left -
                            (int32_t)window->right,
                        &folded)) {
        note_window(method, window);
    }
    return kz_method_rows(method, folded, columns);
}

uint32_t kz_node_fold(kz_graph_method *method, uint32_t x, uint32_t bias, const kz_window *window) {
    const uint32_t kernel = window->kernel ? window->kernel : 1;
    const uint32_t out = folded_rows(method, x, window, kz_method_columns_of(method, x) / kernel);
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_FOLD,
                                  .operands = {x, kz_method_weight(method, bias), out},
                                  .ints = {(int32_t)kernel, (int32_t)window->stride,
                                           (int32_t)window->left, (int32_t)window->right}});
    return out;
}

uint32_t kz_node_depthwise(kz_graph_method *method, uint32_t x, uint32_t weight, uint32_t bias,
                           const kz_window *window) {
    const uint32_t kernel = window->kernel ? window->kernel : 1;
    const uint32_t multiplier = weight_rows(method, weight) / kernel;
    if (window->stride != 1) {
        note_window(method, window);
    }
    const kz_dim rows = unfolded_rows(method, kz_method_rows_of(method, x), window);
    const uint32_t out = kz_method_rows(method, rows, multiplier * kz_method_columns_of(method, x));
    kz_node_add_instruction(
        method,
        &(kz_instruction){
            .op = KZ_OP_DEPTHWISE,
            .operands = {x, kz_method_weight(method, weight), kz_method_weight(method, bias), out},
            .ints = {(int32_t)kernel, (int32_t)window->dilation, (int32_t)window->left,
                     (int32_t)window->right, (int32_t)multiplier}});
    return out;
}

// --- Element by element -------------------------------------------------------------------------

uint32_t kz_node_map(kz_graph_method *method, uint32_t x, kz_map function, float a, float b,
                     uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(method, &(kz_instruction){.op = KZ_OP_MAP,
                                                      .operands = {x, result},
                                                      .ints = {(int32_t)function},
                                                      .floats = {a, b}});
    return result;
}

uint32_t kz_node_mul(kz_graph_method *method, uint32_t a, uint32_t b, uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, a, kz_method_columns_of(method, a));
    add_plain(method, KZ_OP_MUL, a, b, result);
    return result;
}

uint32_t kz_node_snake(kz_graph_method *method, uint32_t x, uint32_t alpha, uint32_t beta) {
    const uint32_t out =
        kz_node_out_or_rows(method, KZ_NO_VALUE, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_SNAKE,
                                              .operands = {x, kz_method_weight(method, alpha),
                                                           kz_method_weight(method, beta), out}});
    return out;
}

uint32_t kz_node_scale_shift(kz_graph_method *method, uint32_t x, uint32_t gamma_beta,
                             uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, x, kz_method_columns_of(method, x));
    add_plain(method, KZ_OP_SCALE_SHIFT, x, gamma_beta, result);
    return result;
}

uint32_t kz_node_magnitude(kz_graph_method *method, uint32_t x, float epsilon) {
    const uint32_t out =
        kz_node_out_or_rows(method, KZ_NO_VALUE, x, kz_method_columns_of(method, x) / 2);
    kz_node_add_instruction(
        method,
        &(kz_instruction){.op = KZ_OP_MAGNITUDE, .operands = {x, out}, .floats = {epsilon}});
    return out;
}

// --- Rows from elsewhere ------------------------------------------------------------------------

// [rows of x + added][columns of x].
static uint32_t longer_rows(kz_graph_method *method, uint32_t x, uint64_t added) {
    kz_dim rows = kz_method_rows_of(method, x);
    if (method && (added > INT32_MAX || !kz_dim_window(&rows, (int32_t)added, 1, &rows))) {
        kz_graph_note(method->graph,
                      kz_fail(KAZEIA_UNSUPPORTED, "export: method '%s': %llu rows cannot be added",
                              method->name, (unsigned long long)added));
    }
    return kz_method_rows(method, rows, kz_method_columns_of(method, x));
}

uint32_t kz_node_join_tail(kz_graph_method *method, uint32_t x, uint32_t state) {
    const bool is_there = method && state < method->graph->state_count;
    const uint32_t out = longer_rows(method, x, is_there ? method->graph->states[state].rows : 0);
    add_plain(method, KZ_OP_JOIN_TAIL, x, kz_method_state(method, state), out);
    return out;
}

uint32_t kz_node_pad(kz_graph_method *method, uint32_t x, kz_pad mode, uint32_t left,
                     uint32_t right) {
    const uint32_t out = longer_rows(method, x, (uint64_t)left + right);
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_PAD,
                                  .operands = {x, out},
                                  .ints = {(int32_t)mode, (int32_t)left, (int32_t)right}});
    return out;
}

uint32_t kz_node_gather(kz_graph_method *method, uint32_t x, uint32_t index) {
    const uint32_t out =
        kz_method_rows(method, kz_method_rows_of(method, index), kz_method_columns_of(method, x));
    add_plain(method, KZ_OP_GATHER, x, index, out);
    return out;
}

void kz_node_copy(kz_graph_method *method, uint32_t x, uint32_t out) {
    add_plain(method, KZ_OP_COPY, x, out, KZ_NO_VALUE);
}

// --- Along the rows -----------------------------------------------------------------------------

uint32_t kz_node_lstm(kz_graph_method *method, uint32_t x, uint32_t weight,
                      const kz_lstm_options *options) {
    const uint32_t out =
        kz_node_out_or_rows(method, options->out, x, kz_method_columns_of(method, x) / 4);
    kz_node_add_instruction(
        method, &(kz_instruction){.op = KZ_OP_LSTM,
                                  .operands = {x, kz_method_weight(method, weight),
                                               kz_method_state(method, options->h),
                                               kz_method_state(method, options->c), out},
                                  .ints = {options->is_reversed, options->is_output_second}});
    return out;
}

uint32_t kz_node_column_norm(kz_graph_method *method, uint32_t x, float epsilon, uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(
        method,
        &(kz_instruction){.op = KZ_OP_COLUMN_NORM, .operands = {x, result}, .floats = {epsilon}});
    return result;
}

uint32_t kz_node_column_pool(kz_graph_method *method, uint32_t x, uint32_t weights, float epsilon) {
    const uint32_t out =
        kz_method_rows(method, kz_dim_constant(1), 2 * kz_method_columns_of(method, x));
    kz_node_add_instruction(method, &(kz_instruction){.op = KZ_OP_COLUMN_POOL,
                                                      .operands = {x, weights, out},
                                                      .floats = {epsilon}});
    return out;
}

uint32_t kz_node_column_softmax(kz_graph_method *method, uint32_t x, uint32_t out) {
    const uint32_t result = kz_node_out_or_rows(method, out, x, kz_method_columns_of(method, x));
    add_plain(method, KZ_OP_COLUMN_SOFTMAX, x, result, KZ_NO_VALUE);
    return result;
}

uint32_t kz_node_polar(kz_graph_method *method, uint32_t x, uint32_t rest, float least) {
    const uint32_t out =
        kz_node_out_or_rows(method, KZ_NO_VALUE, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_POLAR,
                                              .operands = {x, kz_method_weight(method, rest), out},
                                              .floats = {least}});
    return out;
}

uint32_t kz_node_sines(kz_graph_method *method, uint32_t x, uint32_t stretch, uint32_t harmonics,
                       float rate, float threshold) {
    const kz_dim rows = kz_method_rows_of(method, x);
    kz_dim stretched = kz_dim_constant(0);
    if (!kz_dim_stretch(&rows, stretch, 0, &stretched)) {
        note_window(method, &(kz_window){.kernel = stretch, .stride = stretch});
    }
    const uint32_t out = kz_method_rows(method, stretched, harmonics);
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_SINES,
                                              .operands = {x, out},
                                              .ints = {(int32_t)stretch, (int32_t)harmonics},
                                              .floats = {rate, threshold}});
    return out;
}

uint32_t kz_node_column_fit(kz_graph_method *method, uint32_t x, uint32_t gamma_beta,
                            float epsilon) {
    const uint32_t out =
        kz_method_rows(method, kz_dim_constant(1), 3 * kz_method_columns_of(method, x));
    kz_node_add_instruction(method, &(kz_instruction){.op = KZ_OP_COLUMN_FIT,
                                                      .operands = {x, gamma_beta, out},
                                                      .floats = {epsilon}});
    return out;
}

uint32_t kz_node_adapt(kz_graph_method *method, uint32_t x, uint32_t fit, uint32_t alpha,
                       uint32_t beta, float slope) {
    const uint32_t out =
        kz_node_out_or_rows(method, KZ_NO_VALUE, x, kz_method_columns_of(method, x));
    kz_node_add_instruction(method,
                            &(kz_instruction){.op = KZ_OP_ADAPT,
                                              .operands = {x, fit, kz_method_weight(method, alpha),
                                                           kz_method_weight(method, beta), out},
                                              .floats = {slope}});
    return out;
}
