// cmd_bench.c: kazeia bench.
//
// in:  a language model; how many tokens, how many rounds
// out: medians of the rounds, in tokens a second; what a token reads from memory
//
// One round before the others does not count: it brings the weights into the page cache and wakes
// the threads.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "description.h"
#include "engine.h"
#include "output.h"
#include "peak_memory.h"

typedef struct bench_result {
    double prefill, decode; // tokens a second
    // Bytes that one step of decoding reads of the weights, and that each token before it has in
    // the cache, which the step reads as well.
    double weight_bytes, cache_bytes;
} bench_result;

static int compare(const void *left, const void *right) {
    const double one = *(const double *)left, other = *(const double *)right;
    // Not a difference: its conversion to int would call rates that are nearly alike equal.
    return (one > other) - (one < other);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

// --- What a step reads --------------------------------------------------------------------------

static bool names_operand(const json_t *instruction, const char *tensor) {
    const json_t *operands = json_object_get(instruction, "operands");
    const char *op = json_string_value(json_object_get(instruction, "op"));
    // A look-up reads one row of its table.
    if (op == NULL || strcmp(op, "embed") == 0) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(operands); i++) {
        const char *operand = json_string_value(json_array_get(operands, i));
        if (operand != NULL && strcmp(operand, tensor) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_read_by(const json_t *method, const char *tensor) {
    const json_t *instructions = json_object_get(method, "instructions");
    for (size_t i = 0; i < json_array_size(instructions); i++) {
        if (names_operand(json_array_get(instructions, i), tensor)) {
            return true;
        }
    }
    return false;
}

// Whether a step of decoding reads the tensor: the two methods that it runs.
static bool is_read(const json_t *description, const char *tensor) {
    const json_t *methods = json_object_get(description, "methods");
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const json_t *method = json_array_get(methods, i);
        const char *name = json_string_value(json_object_get(method, "name"));
        const bool is_run =
            name != NULL && (strcmp(name, "kv_forward") == 0 || strcmp(name, "logits") == 0);
        if (is_run && is_read_by(method, tensor)) {
            return true;
        }
    }
    return false;
}

static double weight_bytes(const json_t *description) {
    const json_t *tensors = json_object_get(description, "tensors");
    double bytes = 0;
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *tensor = json_array_get(tensors, i);
        const char *name = json_string_value(json_object_get(tensor, "name"));
        if (name != NULL && is_read(description, name)) {
            bytes += json_number_value(json_object_get(tensor, "bytes"));
        }
    }
    return bytes;
}

// A cache's first dimension is the context.
static double cache_bytes(const json_t *description) {
    const json_t *states = json_object_get(description, "states");
    double bytes = 0;
    for (size_t i = 0; i < json_array_size(states); i++) {
        const json_t *state = json_array_get(states, i);
        const double rows = json_number_value(json_array_get(json_object_get(state, "shape"), 0));
        bytes += rows > 0 ? json_number_value(json_object_get(state, "bytes")) / rows : 0;
    }
    return bytes;
}

static kazeia_status read_sizes(cli_run *run, const cli_talker *talker, bench_result *result) {
    json_t *description = NULL;
    CLI_TRY(cli_describe(run, talker->program, &description));
    result->weight_bytes = weight_bytes(description);
    result->cache_bytes = cache_bytes(description);
    json_decref(description);
    return KAZEIA_OK;
}

// What decoding read in a second. The past grows while it goes on: half of the tokens on average.
static double gigabytes_per_s(const cli_options *options, const bench_result *result) {
    const double past = (double)options->depth + (double)options->decode / 2;
    return result->decode * (result->weight_bytes + past * result->cache_bytes) / 1e9;
}

// --- What is printed ----------------------------------------------------------------------------

// From the prompt's last token to the logits of the first that is written.
static double ttft_ms(const cli_options *options, const bench_result *result) {
    return (double)options->prefill / result->prefill * 1e3;
}

static kazeia_status print_json(cli_run *run, const cli_talker *talker,
                                const bench_result *result) {
    const cli_options *options = &run->options;
    uint32_t threads = 0;
    const char *kernel = kazeia_runtime_kernel(talker->runtime, &threads);
    return cli_print_json(
        json_pack("{s:o, s:o, s:I, s:s, s:I, s:o, s:o, s:I, s:I, s:o, s:I}", "prefill_tokens_per_s",
                  cli_json_real(result->prefill), "decode_tokens_per_s",
                  cli_json_real(result->decode), "threads", (json_int_t)threads, "kernel", kernel,
                  "depth", (json_int_t)options->depth, "load_ms", cli_json_real(talker->load_ms),
                  "ttft_ms", cli_json_real(ttft_ms(options, result)), "weight_bytes_per_token",
                  (json_int_t)result->weight_bytes, "kv_bytes_per_token",
                  (json_int_t)result->cache_bytes, "decode_gb_per_s",
                  cli_json_real(gigabytes_per_s(options, result)), "peak_rss_bytes",
                  (json_int_t)cli_peak_memory()),
        &run->failure);
}

static kazeia_status print_result(cli_run *run, const cli_talker *talker,
                                  const bench_result *result) {
    const cli_options *options = &run->options;
    if (options->is_json) {
        return print_json(run, talker, result);
    }
    uint32_t threads = 0;
    const char *kernel = kazeia_runtime_kernel(talker->runtime, &threads);
    CLI_TRY(cli_print(&run->failure,
                      "load       %10.1f ms\n"
                      "prefill    %10.1f tokens/s   %llu tokens, the first logits after %.1f ms\n"
                      "decode     %10.1f tokens/s   %llu tokens, %.2f GB/s read\n",
                      talker->load_ms, result->prefill, (unsigned long long)options->prefill,
                      ttft_ms(options, result), result->decode, (unsigned long long)options->decode,
                      gigabytes_per_s(options, result)));
    CLI_TRY(cli_print(&run->failure,
                      "a token    %10.1f MB of weights, %.1f kB for each token in the cache\n"
                      "peak RSS   %10.1f MB\n",
                      result->weight_bytes / 1e6, result->cache_bytes / 1e3,
                      (double)cli_peak_memory() / 1e6));
    return cli_print(
        &run->failure, "medians of %llu rounds after %llu tokens; %u threads, kernel %s\n",
        (unsigned long long)options->repeat, (unsigned long long)options->depth, threads, kernel);
}

// --- Measuring ----------------------------------------------------------------------------------

// `rates` has room for two values a round: [2][repeat].
static kazeia_status measure(cli_run *run, const cli_talker *talker, double *rates) {
    const cli_options *options = &run->options;
    const size_t repeat = (size_t)options->repeat;
    // Round 0 is the one that does not count.
    for (size_t round = 0; round <= repeat; round++) {
        double prefill = 0, decode = 0;
        CLI_TRY(cli_checked(run, kazeia_chat_bench(talker->stage, (uint32_t)options->prefill,
                                                   (uint32_t)options->decode,
                                                   (uint32_t)options->depth, &prefill, &decode)));
        if (round > 0) {
            rates[round - 1] = prefill;
            rates[repeat + round - 1] = decode;
        }
    }
    bench_result result = {median(rates, repeat), median(rates + repeat, repeat), 0, 0};
    CLI_TRY(read_sizes(run, talker, &result));
    return print_result(run, talker, &result);
}

kazeia_status cli_bench(cli_run *run) {
    cli_talker talker;
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    settings.is_raw = true; // what is timed needs no template
    kazeia_status status = cli_talker_open(run, &settings, &talker);
    double *rates = calloc((size_t)run->options.repeat * 2, sizeof *rates);
    if (status == KAZEIA_OK && rates == NULL) {
        status = cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for %llu rounds",
                          (unsigned long long)run->options.repeat);
    }
    if (status == KAZEIA_OK) {
        status = measure(run, &talker, rates);
    }
    free(rates);
    cli_talker_close(&talker);
    return status;
}
