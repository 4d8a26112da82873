// cmd_bench.c: kazeia bench.
//
// in:  a language model; how many tokens, how many rounds
// out: medians of the rounds, in tokens a second
//
// One round before the others does not count: it brings the weights into the page cache and wakes
// the threads.
#include <stdlib.h>

#include "cli.h"
#include "engine.h"
#include "output.h"

static int compare(const void *left, const void *right) {
    const double one = *(const double *)left, other = *(const double *)right;
    // Not a difference: its conversion to int would call rates that are nearly alike equal.
    return (one > other) - (one < other);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static kazeia_status print_result(cli_run *run, const cli_talker *talker, double prefill,
                                  double decode) {
    const cli_options *options = &run->options;
    const uint32_t threads = kazeia_runtime_thread_count(talker->runtime);
    const char *kernel = kazeia_runtime_kernel(talker->runtime);
    if (options->is_json) {
        return cli_print_json(json_pack("{s:o, s:o, s:I, s:s, s:I}", "prefill_tokens_per_s",
                                        cli_json_real(prefill), "decode_tokens_per_s",
                                        cli_json_real(decode), "threads", (json_int_t)threads,
                                        "kernel", kernel, "depth", (json_int_t)options->depth),
                              &run->failure);
    }
    return cli_print(
        &run->failure,
        "prefill of %llu tokens: %.1f tokens/s\n"
        "decode of %llu tokens:  %.1f tokens/s\n"
        "medians of %llu rounds after %llu tokens; %u threads, kernel %s\n",
        (unsigned long long)options->prefill, prefill, (unsigned long long)options->decode, decode,
        (unsigned long long)options->repeat, (unsigned long long)options->depth, threads, kernel);
}

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
    return print_result(run, talker, median(rates, repeat), median(rates + repeat, repeat));
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
