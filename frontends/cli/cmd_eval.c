// cmd_eval.c: kazeia eval.
//
// in:  a language model; a text or lists of ids; perhaps another model, or logits in a file
// out: perplexity, how far the two are apart, a NumPy file of the logits
//
// All that is asked for comes from one pass, row by row: the logits of a text are gigabytes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "comparison.h"
#include "engine.h"
#include "id_lists.h"
#include "input.h"
#include "npy.h"
#include "output.h"

typedef struct evaluation {
    cli_run *run;
    cli_talker talker;
    // What it is compared with: another model, or a file; neither, or one.
    kazeia_program *other_program;
    kazeia_stage *other;
    cli_npy_reader reference;
    float *reference_row; // [reference.columns]
    // What is measured: lists of ids, or a text.
    cli_id_lists lists;
    char *text;
    size_t text_bytes;
    cli_new_file output;
    // rows_expected is 0 until the first row of a text tells it.
    size_t rows_expected, rows_taken;
    cli_likelihood likelihood, other_likelihood;
    cli_comparison comparison;
} evaluation;

// --- One row ------------------------------------------------------------------------------------

// What was not known before the first row: how many there will be, and of what width.
static kazeia_status begin_rows(evaluation *eval, const kazeia_logits_row *row) {
    cli_sentence *failure = &eval->run->failure;
    const cli_npy_reader *reference = &eval->reference;
    if (eval->rows_expected == 0) {
        eval->rows_expected = row->count;
    }
    if (reference->stream != NULL &&
        (reference->rows != eval->rows_expected || reference->columns != row->vocabulary_size)) {
        return cli_fail(failure, KAZEIA_BAD_ARGUMENT,
                        "'%s' has logits of %zu positions and %zu tokens; %zu and %zu expected: "
                        "give the ids or the text and --context that it was made from",
                        reference->path, reference->rows, reference->columns, eval->rows_expected,
                        row->vocabulary_size);
    }
    return eval->output.stream == NULL
               ? KAZEIA_OK
               : cli_npy_header(&eval->output, eval->rows_expected, row->vocabulary_size, failure);
}

static kazeia_status check_finite(evaluation *eval, const float *logits, size_t count,
                                  const char *whose) {
    return cli_is_finite_row(logits, count)
               ? KAZEIA_OK
               : cli_fail(&eval->run->failure, KAZEIA_BAD_FILE,
                          "%s: a logit of position %zu is no finite number", whose,
                          eval->rows_taken);
}

static kazeia_status compare_row(evaluation *eval, const kazeia_logits_row *row) {
    const float *others = row->others;
    if (eval->reference.stream != NULL) {
        CLI_TRY(cli_npy_next(&eval->reference, eval->reference_row, &eval->run->failure));
        others = eval->reference_row;
    }
    if (others == NULL) {
        return KAZEIA_OK;
    }
    CLI_TRY(check_finite(eval, others, row->vocabulary_size, eval->run->options.against));
    cli_comparison_add(&eval->comparison, row->logits, others, row->vocabulary_size);
    if (row->is_scored) {
        cli_likelihood_add(&eval->other_likelihood, others, row->vocabulary_size,
                           (size_t)row->next_token);
    }
    return KAZEIA_OK;
}

static kazeia_status take_row(void *context, const kazeia_logits_row *row) {
    evaluation *eval = context;
    cli_sentence *failure = &eval->run->failure;
    if (cli_interrupt_has_come(&eval->run->interrupt)) {
        return cli_fail(failure, KAZEIA_CANCELLED, "interrupted");
    }
    if (eval->rows_taken == 0) {
        CLI_TRY(begin_rows(eval, row));
    }
    if (eval->output.stream != NULL) {
        CLI_TRY(cli_npy_row(&eval->output, row->logits, row->vocabulary_size, failure));
    }
    // A file of logits may hold whatever the model gives; numbers made of them may not.
    if (eval->run->options.logits == NULL) {
        CLI_TRY(check_finite(eval, row->logits, row->vocabulary_size, eval->run->options.model));
        if (row->is_scored) {
            cli_likelihood_add(&eval->likelihood, row->logits, row->vocabulary_size,
                               (size_t)row->next_token);
        }
        CLI_TRY(compare_row(eval, row));
    }
    eval->rows_taken++;
    return KAZEIA_OK;
}

// --- All of them --------------------------------------------------------------------------------

static kazeia_status measure(evaluation *eval, const kazeia_measured *measured) {
    return cli_checked(
        eval->run, kazeia_chat_measure(eval->talker.stage, eval->other, measured, take_row, eval));
}

static kazeia_status measure_all(evaluation *eval) {
    if (eval->text != NULL) {
        return measure(eval, &(kazeia_measured){
                                 .text = eval->text,
                                 .text_bytes = eval->text_bytes,
                                 .chunk_tokens = (uint32_t)eval->run->options.context,
                             });
    }
    for (size_t i = 0; i < eval->lists.count; i++) {
        const cli_id_list *list = &eval->lists.lists[i];
        CLI_TRY(measure(eval, &(kazeia_measured){.ids = list->ids, .id_count = list->count}));
    }
    return KAZEIA_OK;
}

// Without anything to compare or to write, half of a text's logits are not needed.
static kazeia_status measure_perplexity(evaluation *eval) {
    double perplexity = 0;
    size_t tokens = 0;
    CLI_TRY(cli_checked(eval->run,
                        kazeia_chat_perplexity(eval->talker.stage, eval->text, eval->text_bytes,
                                               (uint32_t)eval->run->options.context, &perplexity,
                                               &tokens)));
    eval->likelihood = (cli_likelihood){log(perplexity) * (double)tokens, tokens};
    return KAZEIA_OK;
}

static kazeia_status write_while_measuring(evaluation *eval) {
    cli_sentence *failure = &eval->run->failure;
    kazeia_status status = cli_new_file_open(eval->run->options.output, &eval->output, failure);
    if (status == KAZEIA_OK) {
        status = measure_all(eval);
    }
    if (status == KAZEIA_OK) {
        status = cli_new_file_commit(&eval->output, failure);
    }
    // Nothing to drop after a commit; after a failure no half file stays.
    cli_new_file_drop(&eval->output);
    return status;
}

static kazeia_status run_measure(evaluation *eval) {
    const cli_options *options = &eval->run->options;
    kazeia_status status = KAZEIA_OK;
    cli_interrupt_enter(&eval->run->interrupt, cli_cancel_stage, eval->talker.stage);
    if (options->output != NULL) {
        status = write_while_measuring(eval);
    } else if (eval->text != NULL && options->against == NULL) {
        status = measure_perplexity(eval);
    } else {
        status = measure_all(eval);
    }
    cli_interrupt_leave(&eval->run->interrupt);
    return status;
}

// --- What is printed ----------------------------------------------------------------------------

// Takes `more`, which may be NULL for lack of memory.
static json_t *joined(json_t *object, json_t *more) {
    if (object != NULL && (more == NULL || json_object_update(object, more) != 0)) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return object;
}

static json_t *comparison_json(const evaluation *eval) {
    const cli_comparison *comparison = &eval->comparison;
    const double positions = (double)comparison->positions;
    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "against_perplexity",
                     cli_json_real(cli_perplexity(&eval->other_likelihood)), "positions",
                     (json_int_t)comparison->positions, "top1",
                     cli_json_real((double)comparison->equal_choices / positions), "mean_kl",
                     cli_json_real(comparison->divergence / positions), "max_kl",
                     cli_json_real(comparison->largest_divergence), "max_difference",
                     cli_json_real(comparison->largest_difference), "max_relative_difference",
                     cli_json_real(comparison->largest_relative));
}

static kazeia_status print_json(const evaluation *eval) {
    const cli_options *options = &eval->run->options;
    json_t *object = json_object();
    if (options->output != NULL) {
        object = joined(object, json_pack("{s:o}", "output", cli_json_string(options->output)));
    }
    if (options->logits != NULL) {
        object = joined(object, json_pack("{s:I}", "tokens", (json_int_t)eval->rows_taken));
    } else {
        object = joined(object, json_pack("{s:o, s:I}", "perplexity",
                                          cli_json_real(cli_perplexity(&eval->likelihood)),
                                          "tokens", (json_int_t)eval->likelihood.tokens));
    }
    if (options->against != NULL) {
        object = joined(object, comparison_json(eval));
    }
    return cli_print_json(object, &eval->run->failure);
}

static kazeia_status print_comparison(const evaluation *eval) {
    const cli_comparison *comparison = &eval->comparison;
    const double positions = (double)comparison->positions;
    return cli_print(
        &eval->run->failure,
        "against %s\n"
        "  perplexity       %.4f\n"
        "  equal top-1      %.2f %% of %zu positions\n"
        "  KL divergence    mean %.3g, largest %.3g\n"
        "  logits           largest difference %.3g, %.3g of its row's largest logit\n",
        eval->run->options.against, cli_perplexity(&eval->other_likelihood),
        100 * (double)comparison->equal_choices / positions, comparison->positions,
        comparison->divergence / positions, comparison->largest_divergence,
        comparison->largest_difference, comparison->largest_relative);
}

static kazeia_status print_result(const evaluation *eval) {
    const cli_options *options = &eval->run->options;
    cli_sentence *failure = &eval->run->failure;
    if (options->is_json) {
        return print_json(eval);
    }
    if (options->output != NULL) {
        CLI_TRY(cli_print(failure, "%s: logits after each of %zu tokens\n", options->output,
                          eval->rows_taken));
    }
    if (eval->likelihood.tokens > 0) {
        CLI_TRY(cli_print(failure, "perplexity %.4f over %zu tokens\n",
                          cli_perplexity(&eval->likelihood), eval->likelihood.tokens));
    } else if (options->logits == NULL) {
        CLI_TRY(cli_print(failure, "no token scored: none has another before it\n"));
    }
    return options->against != NULL ? print_comparison(eval) : KAZEIA_OK;
}

// --- What is opened -----------------------------------------------------------------------------

static bool is_npy(const char *name) {
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

static kazeia_status open_reference(evaluation *eval) {
    cli_npy_reader *reference = &eval->reference;
    CLI_TRY(cli_npy_open(eval->run->options.against, reference, &eval->run->failure));
    // A file of one list's logits goes with a file of several lists: goldens are stored so.
    if (eval->text == NULL && reference->rows != eval->lists.id_count &&
        cli_id_lists_keep(&eval->lists, reference->rows)) {
        eval->rows_expected = reference->rows;
    }
    eval->reference_row = calloc(reference->columns, sizeof *eval->reference_row);
    return eval->reference_row != NULL
               ? KAZEIA_OK
               : cli_fail(&eval->run->failure, KAZEIA_OUT_OF_MEMORY,
                          "no memory for a row of %zu logits", reference->columns);
}

static kazeia_status open_other(evaluation *eval, const kazeia_chat_settings *settings) {
    const char *against = eval->run->options.against;
    if (against == NULL || is_npy(against)) {
        return KAZEIA_OK;
    }
    // On the same threads: the two take turns.
    CLI_TRY(cli_program_open(eval->run, against, "chat", &eval->other_program));
    return cli_checked(eval->run, kazeia_chat_create(eval->talker.runtime, eval->other_program,
                                                     settings, &eval->other));
}

// What is small and may be wrong comes before the models.
static kazeia_status read_input(evaluation *eval) {
    const cli_options *options = &eval->run->options;
    if (options->perplexity != NULL) {
        CLI_TRY(cli_read_file(options->perplexity, &eval->text, &eval->text_bytes,
                              &eval->run->failure));
    } else {
        CLI_TRY(cli_id_lists_read(options->ids != NULL ? options->ids : options->logits,
                                  &eval->lists, &eval->run->failure));
        eval->rows_expected = eval->lists.id_count;
    }
    return options->against != NULL && is_npy(options->against) ? open_reference(eval) : KAZEIA_OK;
}

static kazeia_status evaluate(evaluation *eval) {
    kazeia_chat_settings settings = kazeia_chat_settings_default();
    settings.is_raw = true; // no measure needs a template, nor ids a tokenizer
    CLI_TRY(read_input(eval));
    CLI_TRY(cli_talker_open(eval->run, &settings, &eval->talker));
    CLI_TRY(open_other(eval, &settings));
    CLI_TRY(run_measure(eval));
    return print_result(eval);
}

static void close_evaluation(evaluation *eval) {
    if (eval->other != NULL) {
        kazeia_stage_destroy(eval->other);
    }
    if (eval->other_program != NULL) {
        kazeia_program_close(eval->other_program);
    }
    cli_talker_close(&eval->talker);
    cli_npy_close(&eval->reference);
    cli_id_lists_clear(&eval->lists);
    free(eval->reference_row);
    free(eval->text);
}

// Before anything is opened: a slip on the command line must not cost the seconds that opening
// takes.
static kazeia_status check_options(cli_run *run) {
    static const char *const EXCLUDE[][2] = {
        {"--perplexity", "--ids"}, {"--perplexity", "--logits"}, {"--ids", "--logits"},
        {"--ids", "--context"},    {"--logits", "--context"},    {"--logits", "--against"},
    };
    const cli_options *options = &run->options;
    for (size_t i = 0; i < sizeof EXCLUDE / sizeof *EXCLUDE; i++) {
        CLI_TRY(cli_options_refuse_both(options, EXCLUDE[i][0], EXCLUDE[i][1], &run->failure));
    }
    if (options->perplexity == NULL && options->ids == NULL && options->logits == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "eval needs --perplexity FILE or --logits IDS.json or --ids IDS.json. See "
                        "'kazeia eval --help'.");
    }
    if (options->logits != NULL && options->output == NULL) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "--logits needs -o OUT.npy: the file to write");
    }
    CLI_TRY(cli_refuse_same_file(options->perplexity, options->output, &run->failure));
    CLI_TRY(cli_refuse_same_file(options->ids, options->output, &run->failure));
    CLI_TRY(cli_refuse_same_file(options->against, options->output, &run->failure));
    return cli_refuse_same_file(options->logits, options->output, &run->failure);
}

kazeia_status cli_eval(cli_run *run) {
    evaluation eval = {.run = run};
    CLI_TRY(check_options(run));
    const kazeia_status status = evaluate(&eval);
    close_evaluation(&eval);
    return status;
}
