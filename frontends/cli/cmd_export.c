// cmd_export.c: kazeia export.
//
// in:  a checkpoint, a file or folder; how its weights shall be kept
// out: a program file (and weights files beside it); a bar meanwhile
#include "kazeia/export.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "clock.h"
#include "description.h"
#include "engine.h"
#include "new_file.h"
#include "output.h"
#include "peak_memory.h"
#include "progress.h"

#define ID_DIGITS 8

typedef struct exporting {
    cli_run *run;
    cli_progress progress;
} exporting;

static kazeia_status show_progress(void *context, uint64_t bytes_done, uint64_t bytes_total,
                                   const char *tensor) {
    exporting *work = context;
    if (cli_interrupt_has_come(&work->run->interrupt)) {
        return KAZEIA_CANCELLED;
    }
    cli_progress_show(&work->progress, bytes_done, bytes_total, tensor);
    return KAZEIA_OK;
}

static kazeia_status export_program(cli_run *run) {
    const cli_options *options = &run->options;
    // On the stack: the exporter calls back only while it runs.
    exporting work = {.run = run};
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = options->arguments[0];
    settings.output = options->output;
    settings.mode = options->mode;
    settings.weights = options->weights;
    settings.recipe = options->recipe;
    settings.voices = options->voices;
    settings.kv = options->kv;
    settings.chat_template = options->chat_template;
    settings.context = (uint32_t)options->context;
    settings.activation_bits = (uint32_t)options->activations;
    settings.shard_count = (uint32_t)options->shards;
    settings.thread_count = (uint32_t)options->threads;
    settings.progress = show_progress;
    settings.progress_context = &work;
    cli_progress_start(&work.progress, !options->is_json, "MB/s", 1e6);
    // The exporter asks show_progress at each tensor; an interrupted export leaves the old program
    // in place.
    cli_interrupt_enter(&run->interrupt, NULL, NULL);
    const kazeia_status status = kazeia_export(&settings);
    cli_interrupt_leave(&run->interrupt);
    cli_progress_end(&work.progress);
    return cli_checked(run, status);
}

static uint64_t file_bytes(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? (uint64_t)facts.st_size : 0;
}

// Of the program file and of the weights files that docs/format.md says lie beside it. The library
// tells no sizes of files; what lies on disk is what a person wants to know.
static uint64_t program_bytes(const cli_options *options, const char *id) {
    char path[PATH_MAX];
    const char *output = options->output;
    const size_t length = strlen(output);
    const bool has_ending = length > 4 && strcmp(output + length - 4, ".kzp") == 0;
    uint64_t bytes = file_bytes(output);
    for (uint64_t i = 1; options->shards > 1 && i <= options->shards; i++) {
        // A path that is too long names no file and counts as 0.
        (void)snprintf(path, sizeof path, "%.*s.%.*s.%llu-of-%llu.kzw",
                       (int)(has_ending ? length - 4 : length), output, ID_DIGITS, id,
                       (unsigned long long)i, (unsigned long long)options->shards);
        bytes += file_bytes(path);
    }
    return bytes;
}

// What a whole export comes to.
typedef struct result {
    double bytes, seconds, peak_bytes;
    double weights, bits_per_weight; // of all tensors
} result;

static result sum_up(const cli_run *run, const json_t *description, double seconds) {
    const char *id = json_string_value(json_object_get(description, "id"));
    result sums = {.bytes = (double)program_bytes(&run->options, id),
                   .seconds = seconds,
                   .peak_bytes = (double)cli_peak_memory()};
    double tensor_bytes = 0;
    size_t i = 0;
    const json_t *tensor = NULL;
    json_array_foreach(json_object_get(description, "tensors"), i, tensor) {
        sums.weights += cli_element_count(json_object_get(tensor, "shape"));
        tensor_bytes += json_number_value(json_object_get(tensor, "bytes"));
    }
    sums.bits_per_weight = sums.weights > 0 ? tensor_bytes * 8 / sums.weights : 0;
    return sums;
}

static kazeia_status print_result(cli_run *run, const json_t *description, double seconds) {
    const char *id = json_string_value(json_object_get(description, "id"));
    const result sums = sum_up(run, description, seconds);
    if (run->options.is_json) {
        return cli_print_json(json_pack("{s:o, s:s, s:I, s:o, s:I, s:I, s:o}", "output",
                                        cli_json_string(run->options.output), "id", id, "bytes",
                                        (json_int_t)sums.bytes, "seconds",
                                        cli_json_real(sums.seconds), "peak_rss_bytes",
                                        (json_int_t)sums.peak_bytes, "weights",
                                        (json_int_t)sums.weights, "bits_per_weight",
                                        cli_json_real(sums.bits_per_weight)),
                              &run->failure);
    }
    return cli_print(&run->failure,
                     "%s: %.1f MB in %.1f s, %.0f weights of %.2f bits, %.0f MB of memory at most, "
                     "id %s\n",
                     run->options.output, sums.bytes / 1e6, sums.seconds, sums.weights,
                     sums.bits_per_weight, sums.peak_bytes / 1e6, id);
}

kazeia_status cli_export(cli_run *run) {
    const double start_ms = cli_now_ms();
    kazeia_program *program = NULL;
    json_t *description = NULL;
    CLI_TRY(cli_refuse_same_file(run->options.recipe, run->options.output, &run->failure));
    CLI_TRY(export_program(run));
    run->is_done = true;
    const double seconds = (cli_now_ms() - start_ms) / 1e3;
    CLI_TRY(cli_checked(run, kazeia_program_open(run->options.output, NULL, &program)));
    kazeia_status status = cli_describe(run, program, &description);
    kazeia_program_close(program);
    if (status == KAZEIA_OK) {
        status = print_result(run, description, seconds);
        json_decref(description);
    }
    return status;
}
