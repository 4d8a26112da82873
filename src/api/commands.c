// commands.c: kazeia_commands: a command grammar and its matcher behind the public interface.
//   in   a YAML file; transcripts
//   out  intents, slots, responses
#include "kazeia/commands.h"

#include <math.h>
#include <string.h>

#include "api/commands.h"
#include "api/handles.h"
#include "api/stage.h"
#include "base/file_map.h"
#include "listen/hear.h"
#include "pipeline/command.h"
#include "pipeline/command_dialogue.h"
#include "pipeline/command_tune.h"
#include "text/command_check.h"

struct kazeia_commands {
    kazeia_allocator allocator;
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    kz_hearing *hearing; // NULL: text only
    kz_command_thresholds thresholds;
    kz_dialogue dialogue;
    // Room for the public form of the last match, so that a match allocates nothing; overwritten by
    // the next.
    kazeia_slot slots[KZ_COMMAND_MAX_SLOTS];
};

// The home's file is needed while the grammar is compiled only.
static kazeia_status compile(kazeia_commands *commands, const char *path,
                             const kazeia_commands_options *options) {
    kz_command_home_file home = {options->home_bytes, options->home_count,
                                 options->home == NULL ? "home" : options->home};
    kz_file_map map = {NULL, 0};
    if (options->home_bytes == NULL && options->home != NULL) {
        KZ_TRY(kz_file_map_open(options->home, &map));
        // An empty file has no bytes to point to, and is still a file.
        home.bytes = map.size > 0 ? (const void *)map.bytes : "";
        home.count = map.size;
    }
    const kazeia_status status =
        kz_command_grammar_open_for(path, &home, &commands->allocator, &commands->grammar);
    kz_file_map_close(&map);
    KZ_TRY(status);
    return kz_command_matcher_create(commands->grammar, &commands->allocator, &commands->matcher);
}

kazeia_status kazeia_commands_open(const char *path, const kazeia_commands_options *options,
                                   const kazeia_allocator *allocator,
                                   kazeia_commands **out_commands) {
    static const kazeia_commands_options none = {.home = NULL};
    KZ_TRY(kz_require(path, "commands: path"));
    KZ_TRY(kz_require(out_commands, "commands: out_commands"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kazeia_commands *commands = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *commands, "commands", (void **)&commands));
    commands->allocator = memory;
    const kazeia_status status = compile(commands, path, options == NULL ? &none : options);
    if (status != KAZEIA_OK) {
        kazeia_commands_close(commands);
        return status;
    }
    *out_commands = commands;
    return KAZEIA_OK;
}

void kazeia_commands_close(kazeia_commands *commands) {
    if (!commands) {
        return;
    }
    const kazeia_allocator memory = commands->allocator;
    kz_hearing_destroy(commands->hearing);
    // The matcher reads the grammar to its end, so it goes first.
    if (commands->matcher) {
        kz_command_matcher_destroy(commands->matcher);
    }
    if (commands->grammar) {
        kz_command_grammar_close(commands->grammar);
    }
    kz_free(&memory, commands);
}

kz_command_matcher *kz_commands_matcher(kazeia_commands *commands) {
    return commands ? commands->matcher : NULL;
}

// Texts are the matcher's own and last as long as its result. No match has intent NULL, but a
// response that can be printed.
kazeia_command kz_commands_present(kazeia_commands *commands, const kz_command_result *result) {
    if (!commands || !result->is_match) {
        return (kazeia_command){.intent = NULL,
                                .response = "",
                                .response_key = "",
                                .sentence = "",
                                .found = "",
                                .language = ""};
    }
    for (uint32_t i = 0; i < result->slot_count; i++) {
        const kz_command_slot *slot = &result->slots[i];
        commands->slots[i] = (kazeia_slot){.name = slot->name,
                                           .text = slot->text,
                                           .number = slot->number,
                                           .is_number = slot->kind == KZ_SLOT_NUMBER,
                                           .is_list = slot->kind == KZ_SLOT_LIST};
    }
    return (kazeia_command){.intent = result->intent,
                            .slots = commands->slots,
                            .slot_count = result->slot_count,
                            .response = result->response ? result->response : "",
                            .response_key = result->response_key,
                            .found = result->is_heard ? "sound" : "text",
                            .confidence =
                                result->is_heard ? 1 / (1 + exp(-(double)result->margin)) : 1,
                            .sentence = result->sentence,
                            .language = kz_command_grammar_language(commands->grammar)};
}

kazeia_status kazeia_commands_match(kazeia_commands *commands, const char *transcript,
                                    kazeia_command *out_command) {
    KZ_TRY(kz_require(commands, "commands"));
    KZ_TRY(kz_require(transcript, "commands: transcript"));
    KZ_TRY(kz_require(out_command, "commands: out_command"));
    kz_command_result result;
    KZ_TRY(kz_command_judge(commands->matcher, transcript, &result));
    *out_command = kz_commands_present(commands, &result);
    return KAZEIA_OK;
}

typedef struct finding_visit {
    kazeia_status (*visit)(void *context, const kazeia_commands_finding *finding);
    void *context;
} finding_visit;

static kazeia_status pass_finding(void *context, const kz_command_finding *finding) {
    const finding_visit *outer = context;
    const kazeia_commands_finding passed = {
        .kind = finding->kind == KZ_FINDING_AMBIGUOUS ? "ambiguous" : "unreachable",
        .file = finding->file,
        .line = finding->line,
        .column = finding->column,
        .text = finding->text};
    return outer->visit(outer->context, &passed);
}

kazeia_status kazeia_commands_check(kazeia_commands *commands,
                                    kazeia_status (*visit)(void *context,
                                                           const kazeia_commands_finding *finding),
                                    void *context, kazeia_commands_counts *out_counts) {
    finding_visit outer = {visit, context};
    kz_command_counts counts;
    KZ_TRY(kz_require(commands, "commands"));
    KZ_TRY(kz_require(out_counts, "commands: out_counts"));
    KZ_TRY(kz_command_check(commands->grammar, commands->matcher, pass_finding, &outer, &counts));
    *out_counts = (kazeia_commands_counts){.intents = counts.intents,
                                           .blocks = counts.blocks,
                                           .sentences = counts.sentences,
                                           .rules = counts.rules,
                                           .lists = counts.lists,
                                           .names = counts.names,
                                           .tried = counts.tried,
                                           .unreachable = counts.unreachable,
                                           .ambiguous = counts.ambiguous,
                                           .said = counts.said};
    return KAZEIA_OK;
}

// ---- hearing

// As they stand in a file.
enum { THRESHOLDS = sizeof(kz_command_thresholds) / sizeof(float) };
_Static_assert(THRESHOLDS * sizeof(float) == sizeof(kz_command_thresholds) &&
                   THRESHOLDS <= KZ_TUNED_VALUES,
               "thresholds are floats");

static kazeia_commands_thresholds present_thresholds(const kz_command_thresholds *own) {
    return (kazeia_commands_thresholds){.score = (double)own->score,
                                        .word_score = (double)own->word_score,
                                        .end = (double)own->end,
                                        .margin = (double)own->margin,
                                        .guarded_score = (double)own->guarded_score,
                                        .lone_score = (double)own->lone_score,
                                        .lone_word_score = (double)own->lone_word_score,
                                        .lone_margin = (double)own->lone_margin,
                                        .near_score = (double)own->near_score,
                                        .near_margin = (double)own->near_margin,
                                        .tie_margin = (double)own->tie_margin,
                                        .fair_end = (double)own->fair_end};
}

static kz_command_thresholds take_thresholds(const kazeia_commands_thresholds *given) {
    return (kz_command_thresholds){.score = (float)given->score,
                                   .word_score = (float)given->word_score,
                                   .end = (float)given->end,
                                   .margin = (float)given->margin,
                                   .guarded_score = (float)given->guarded_score,
                                   .lone_score = (float)given->lone_score,
                                   .lone_word_score = (float)given->lone_word_score,
                                   .lone_margin = (float)given->lone_margin,
                                   .near_score = (float)given->near_score,
                                   .near_margin = (float)given->near_margin,
                                   .tie_margin = (float)given->tie_margin,
                                   .fair_end = (float)given->fair_end};
}

static kazeia_status read_tuned(kazeia_commands *commands, const char *path) {
    kz_tuned_values values;
    KZ_TRY(kz_hearing_load(commands->hearing, path, THRESHOLDS, &values));
    memcpy(&commands->thresholds, values.values, sizeof commands->thresholds);
    return KAZEIA_OK;
}

static kazeia_status start_hearing(kazeia_commands *commands, kz_whisper *whisper,
                                   const kazeia_commands_hearing *hearing) {
    KZ_TRY(kz_hearing_create(whisper, commands->grammar, &commands->allocator, &commands->hearing));
    commands->thresholds = kz_command_thresholds_default();
    if (hearing->tuned) {
        KZ_TRY(read_tuned(commands, hearing->tuned));
    }
    if (hearing->thresholds) {
        commands->thresholds = take_thresholds(hearing->thresholds);
    }
    return KAZEIA_OK;
}

kazeia_status kazeia_commands_listen(kazeia_commands *commands, kazeia_stage *listen,
                                     const kazeia_commands_hearing *hearing) {
    static const kazeia_commands_hearing nothing = {.tuned = NULL};
    KZ_TRY(kz_require(commands, "commands"));
    KZ_TRY(kz_require(listen, "commands: listen"));
    kz_whisper *whisper = kz_listen_stage_whisper(listen);
    if (!whisper) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "commands: the stage given is none that listens");
    }
    kz_hearing_destroy(commands->hearing);
    commands->hearing = NULL;
    const kazeia_status status = start_hearing(commands, whisper, hearing ? hearing : &nothing);
    if (status != KAZEIA_OK) {
        kz_hearing_destroy(commands->hearing);
        commands->hearing = NULL;
    }
    return status;
}

static kazeia_status take_label(const kazeia_commands_label *given, kz_command_label *out_label) {
    KZ_TRY(kz_require(given->text, "commands: a label's text"));
    *out_label = (kz_command_label){.heard = {.text = given->text,
                                              .score = (float)given->score,
                                              .end_logprob = (float)given->end,
                                              .margin = (float)given->margin},
                                    .is_right = given->is_right};
    return KAZEIA_OK;
}

static kazeia_status tune(kazeia_commands *commands, const kazeia_commands_label *labels,
                          size_t count) {
    void *memory;
    kazeia_status status = KAZEIA_OK;
    if (count > UINT32_MAX) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "commands: %zu labels", count);
    }
    KZ_TRY(
        kz_alloc(&commands->allocator, count, sizeof(kz_command_label), "command labels", &memory));
    kz_command_label *own = memory;
    for (size_t i = 0; i < count && status == KAZEIA_OK; i++) {
        status = take_label(&labels[i], &own[i]);
    }
    if (status == KAZEIA_OK) {
        kz_command_tune(own, (uint32_t)count, &commands->thresholds);
    }
    kz_free(&commands->allocator, own);
    return status;
}

kazeia_status kazeia_commands_tune(kazeia_commands *commands, const kazeia_commands_label *labels,
                                   size_t count, const char *path,
                                   kazeia_commands_thresholds *out_thresholds) {
    KZ_TRY(kz_require(commands, "commands"));
    KZ_TRY(kz_require(commands->hearing, "commands: kazeia_commands_listen was not called"));
    if (count > 0) {
        KZ_TRY(kz_require(labels, "commands: labels"));
        KZ_TRY(tune(commands, labels, count));
    }
    if (path) {
        kz_tuned_values values = {.count = THRESHOLDS};
        memcpy(values.values, &commands->thresholds, sizeof commands->thresholds);
        KZ_TRY(kz_hearing_save(commands->hearing, path, &values));
    }
    if (out_thresholds) {
        *out_thresholds = present_thresholds(&commands->thresholds);
    }
    return KAZEIA_OK;
}

static const kazeia_command_verdict verdicts[] = {
    [KZ_COMMAND_REFUSED] = KAZEIA_COMMAND_REFUSED,
    [KZ_COMMAND_ACCEPTED] = KAZEIA_COMMAND_ACCEPTED,
    [KZ_COMMAND_ASK] = KAZEIA_COMMAND_ASK,
    [KZ_COMMAND_CONFIRM] = KAZEIA_COMMAND_CONFIRM,
};

kazeia_status kazeia_commands_hear(kazeia_commands *commands, kazeia_heard_command *out_heard) {
    kz_command_hypothesis found[KZ_HEARING_LIMIT];
    kz_command_result result = {.is_match = false};
    kz_hearing_cost cost;
    uint32_t count = 0;
    KZ_TRY(kz_require(commands, "commands"));
    KZ_TRY(kz_require(out_heard, "commands: out_heard"));
    KZ_TRY(kz_require(commands->hearing, "commands: kazeia_commands_listen was not called"));
    KZ_TRY(kz_hearing_run(commands->hearing, found, &count, &cost));
    if (count > 0) {
        KZ_TRY(kz_command_judge(commands->matcher, found[0].text, &result));
        result.is_heard = true;
        result.margin = found[0].margin;
    }
    *out_heard = (kazeia_heard_command){
        .verdict = verdicts[kz_command_decide(&commands->thresholds, found, count, &result)],
        .command = kz_commands_present(commands, &result),
        .text = count > 0 ? found[0].text : "",
        .score = count > 0 ? (double)found[0].score : -INFINITY,
        .end = count > 0 ? (double)found[0].end_logprob : -INFINITY,
        .margin = count > 0 ? (double)found[0].margin : 0,
        .runner_up = count > 1 ? found[1].text : "",
        .runner_up_score = count > 1 ? (double)found[1].score : -INFINITY,
        .positions = cost.beam_tokens,
        .prior_positions = cost.prior_tokens,
        .nodes = cost.nodes,
        .seconds = cost.seconds};
    return KAZEIA_OK;
}

// The intent of a question back; no grammar's can be the same pointer.
static const char question_intent[] = "KazeiaAsk";

bool kz_commands_is_question(const kz_command_result *result) {
    return result->intent == question_intent;
}

static kazeia_status ask_back(kazeia_commands *commands, const kz_command_hypothesis *found,
                              kz_command_verdict verdict, kz_command_result *out_result) {
    kz_dialogue_ask(&commands->dialogue, kz_command_grammar_language(commands->grammar),
                    found[0].text, verdict == KZ_COMMAND_ASK ? found[1].text : NULL);
    *out_result = (kz_command_result){.is_match = true,
                                      .intent = question_intent,
                                      .response_key = "default",
                                      .response = commands->dialogue.question,
                                      .sentence = ""};
    return KAZEIA_OK;
}

kazeia_status kz_commands_hear(kazeia_commands *commands, const char *transcript,
                               kz_command_result *out_result) {
    kz_command_hypothesis found[KZ_HEARING_LIMIT];
    kz_hearing_cost cost;
    uint32_t count = 0;
    *out_result = (kz_command_result){.is_match = false};
    const char *chosen = kz_dialogue_answer(&commands->dialogue, transcript);
    if (chosen) {
        return kz_command_judge(commands->matcher, chosen, out_result);
    }
    if (!commands->hearing) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_hearing_run(commands->hearing, found, &count, &cost));
    if (count == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_command_judge(commands->matcher, found[0].text, out_result));
    const kz_command_verdict verdict =
        kz_command_decide(&commands->thresholds, found, count, out_result);
    if (verdict == KZ_COMMAND_ASK || verdict == KZ_COMMAND_CONFIRM) {
        return ask_back(commands, found, verdict, out_result);
    }
    out_result->is_match = verdict == KZ_COMMAND_ACCEPTED;
    out_result->is_heard = true;
    out_result->margin = found[0].margin;
    return KAZEIA_OK;
}
