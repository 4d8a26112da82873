// cmd_turn.c: kazeia turn.
//
// in:  recorded sentences; programs that listen and answer, a voice, perhaps commands
// out: one sound file with all replies; for each turn what was heard, understood, said, and when
//
// The recordings are turns of one conversation. One that cannot be read is reported and left out;
// the exit code is the highest of all.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "conversation.h"
#include "exit_codes.h"
#include "new_file.h"
#include "output.h"
#include "sound_file.h"
#include "timeline.h"

#define SAMPLE_RATE_HZ 16000
#define PAUSE_S 0.3
#define PIECE_SAMPLES 512

typedef struct reciting {
    cli_run *run;
    cli_conversation conversation;
    kazeia_stage *writer;
    bool has_spoken;          // the file holds a reply
    bool is_pause_due;        // before the next sample
    cli_timeline_turn *turns; // [files]
    size_t turn_count;
} reciting;

static kazeia_status write_pause(reciting *recital) {
    static const float SILENCE[PIECE_SAMPLES];
    // At the voice's rate: the pause is written into its file.
    size_t left =
        (size_t)(PAUSE_S * kazeia_speak_statistics_of(recital->conversation.speak).sample_rate_hz);
    while (left > 0) {
        const size_t count = left < PIECE_SAMPLES ? left : PIECE_SAMPLES;
        CLI_TRY(cli_sound_write(recital->writer, SILENCE, count));
        left -= count;
    }
    return KAZEIA_OK;
}

static kazeia_status take_samples(void *context, const float *samples, size_t count) {
    reciting *recital = context;
    // Written with the first sample: a turn without a spoken reply leaves no pause behind.
    if (recital->is_pause_due && count > 0) {
        CLI_TRY(write_pause(recital));
        recital->is_pause_due = false;
    }
    recital->has_spoken = recital->has_spoken || count > 0;
    return cli_sound_write(recital->writer, samples, count);
}

static json_t *json_slots(const kazeia_command *command) {
    json_t *slots = json_object();
    for (size_t i = 0; i < command->slot_count; i++) {
        const kazeia_slot *slot = &command->slots[i];
        json_t *value = slot->is_number ? cli_json_real(slot->number) : cli_json_string(slot->text);
        // 20 is a whole number of minutes, not 20.0.
        if (slot->is_number && slot->number >= -1e15 && slot->number <= 1e15 &&
            slot->number == (double)(json_int_t)slot->number) {
            json_decref(value);
            value = json_integer((json_int_t)slot->number);
        }
        (void)json_object_set_new(slots, slot->name, value);
    }
    return slots;
}

static json_t *json_command(const kazeia_command *command) {
    if (command->intent == NULL) {
        return json_null();
    }
    return json_pack("{s:o, s:o}", "intent", cli_json_string(command->intent), "slots",
                     json_slots(command));
}

// A stage that worked and gave nothing (no command was found) said so at its end.
static double first_ms_of(const kazeia_stage_times *times) {
    return times->first_ms < times->start_ms ? times->end_ms : times->first_ms;
}

// Stages that did not work are left out.
static json_t *json_stages(const kazeia_turn *turn) {
    json_t *stages = json_array();
    for (size_t i = 0; i < CLI_STAGE_COUNT; i++) {
        const kazeia_stage_times *times = &turn->stages[i];
        if (times->stage != NULL && times->start_ms >= 0) {
            (void)json_array_append_new(stages,
                                        json_pack("{s:s, s:o, s:o, s:o}", "stage", times->stage,
                                                  "start_ms", cli_json_real(times->start_ms),
                                                  "first_ms", cli_json_real(first_ms_of(times)),
                                                  "end_ms", cli_json_real(times->end_ms)));
        }
    }
    return stages;
}

static const char *text_or_nothing(const char *text) {
    return text == NULL ? "" : text;
}

static kazeia_status print_json_turn(cli_run *run, const char *file, const kazeia_turn *turn) {
    json_t *voice_to_voice =
        turn->voice_to_voice_ms < 0 ? json_null() : cli_json_real(turn->voice_to_voice_ms);
    // Silence has no language: null, as transcribe writes it.
    const char *language = text_or_nothing(turn->language);
    return cli_print_json(
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file", cli_json_string(file),
                  "transcript", cli_json_string(turn->transcript), "language",
                  cli_json_string(language[0] == '\0' ? NULL : language), "command",
                  json_command(&turn->command), "reply", cli_json_string(turn->reply), "stages",
                  json_stages(turn), "voice_to_voice_ms", voice_to_voice, "audio_s",
                  cli_json_real(turn->audio_s)),
        &run->failure);
}

static kazeia_status print_command(cli_run *run, const kazeia_command *command) {
    CLI_TRY(cli_print(&run->failure, "command: %s", command->intent));
    for (size_t i = 0; i < command->slot_count; i++) {
        CLI_TRY(cli_print(&run->failure, "%s%s=%s", i == 0 ? " " : ", ", command->slots[i].name,
                          text_or_nothing(command->slots[i].text)));
    }
    return cli_print(&run->failure, "\n");
}

static kazeia_status print_turn(cli_run *run, const char *file, const kazeia_turn *turn) {
    if (run->options.is_json) {
        return print_json_turn(run, file, turn);
    }
    CLI_TRY(cli_print(&run->failure, "%s\nheard (%s): %s\n", file, text_or_nothing(turn->language),
                      text_or_nothing(turn->transcript)));
    if (turn->command.intent != NULL) {
        CLI_TRY(print_command(run, &turn->command));
    }
    CLI_TRY(cli_print(&run->failure, "reply: %s\n", text_or_nothing(turn->reply)));
    if (turn->voice_to_voice_ms < 0) {
        return cli_print(&run->failure, "no reply is spoken\n\n");
    }
    return cli_print(&run->failure, "voice to voice: %.0f ms; %.1f s are spoken\n\n",
                     turn->voice_to_voice_ms, turn->audio_s);
}

static void keep_for_timeline(reciting *recital, const char *file, const kazeia_turn *turn) {
    cli_timeline_turn *kept = &recital->turns[recital->turn_count++];
    kept->file = file;
    kept->voice_to_voice_ms = turn->voice_to_voice_ms;
    cli_timeline_keep_text(text_or_nothing(turn->transcript), kept);
    for (size_t stage = 0; stage < CLI_STAGE_COUNT; stage++) {
        kept->start_ms[stage] = -1;
        // By name: the timeline's order is its own.
        for (size_t i = 0; i < CLI_STAGE_COUNT; i++) {
            const kazeia_stage_times *times = &turn->stages[i];
            if (times->stage != NULL && strcmp(times->stage, cli_stage_names[stage]) == 0) {
                kept->start_ms[stage] = times->start_ms;
                kept->first_ms[stage] = first_ms_of(times);
                kept->end_ms[stage] = times->end_ms;
            }
        }
    }
}

static kazeia_status take_turn(reciting *recital, const char *file) {
    cli_run *run = recital->run;
    float *samples = NULL;
    size_t count = 0;
    kazeia_turn turn = {0};
    CLI_TRY(cli_checked(run, kazeia_audio_read(file, SAMPLE_RATE_HZ, &samples, &count)));
    kazeia_status status = KAZEIA_CANCELLED;
    // Between replies, so not before the first.
    recital->is_pause_due = recital->has_spoken;
    // A signal during the reading found no turn that it could cancel.
    if (!cli_interrupt_has_come(&run->interrupt)) {
        status = kazeia_voice_turn(recital->conversation.voice, samples, count, take_samples,
                                   recital, &turn);
    }
    kazeia_audio_release(samples);
    CLI_TRY(cli_checked(run, status));
    keep_for_timeline(recital, file, &turn);
    return print_turn(run, file, &turn);
}

static kazeia_status take_turns(reciting *recital) {
    cli_run *run = recital->run;
    bool is_read = true; // somebody reads standard output
    kazeia_status worst = KAZEIA_OK;
    for (size_t i = 0; i < run->options.argument_count && is_read; i++) {
        const char *file = run->options.arguments[i];
        const kazeia_status status = take_turn(recital, file);
        if (status == KAZEIA_CANCELLED) {
            return status;
        }
        // DONE: nobody reads standard output any more. The replies so far are kept.
        is_read = status != KAZEIA_DONE;
        if (status != KAZEIA_OK && is_read) {
            cli_report(run->options.is_json, "turn", file, run->failure.text);
            run->failure.text[0] = '\0';
            run->is_reported = true;
            // The highest of all files, so that a script sees the worst that happened.
            worst = cli_exit_code(status) > cli_exit_code(worst) ? status : worst;
        }
    }
    return worst;
}

// The replies that were spoken are kept even when a recording could not be read.
static kazeia_status write_sound(reciting *recital, bool *out_is_kept) {
    cli_run *run = recital->run;
    const uint32_t rate = kazeia_speak_statistics_of(recital->conversation.speak).sample_rate_hz;
    CLI_TRY(
        cli_checked(run, kazeia_audio_writer_create(run->options.output, rate, &recital->writer)));
    const kazeia_status worst = take_turns(recital);
    // A file that holds no turn would look like a success.
    const bool is_kept = recital->turn_count > 0 && worst != KAZEIA_CANCELLED;
    const kazeia_status closed = cli_checked(run, cli_sound_close(recital->writer, is_kept));
    *out_is_kept = is_kept && closed == KAZEIA_OK;
    return closed == KAZEIA_OK ? worst : closed;
}

static kazeia_status recite(reciting *recital) {
    cli_run *run = recital->run;
    const char *timeline = run->options.timeline;
    cli_new_file picture = {0};
    bool is_kept = false;
    // Before the first turn: a name that cannot be written must not cost a whole conversation.
    if (timeline != NULL) {
        CLI_TRY(cli_new_file_open(timeline, &picture, &run->failure));
    }
    kazeia_status worst = write_sound(recital, &is_kept);
    if (timeline != NULL && is_kept) {
        const kazeia_status drawn =
            cli_timeline_write(&picture, recital->turns, recital->turn_count, &run->failure);
        worst = drawn == KAZEIA_OK ? worst : drawn;
    }
    cli_new_file_drop(&picture);
    return worst;
}

static void cancel_voice(void *voice) {
    kazeia_voice_cancel(voice);
}

// No recording may be written over, and no output over the other.
static kazeia_status check_outputs(cli_run *run) {
    const cli_options *options = &run->options;
    for (size_t i = 0; i < options->argument_count; i++) {
        const char *file = options->arguments[i];
        CLI_TRY(cli_refuse_same_file(file, options->output, &run->failure));
        CLI_TRY(cli_refuse_same_file(file, options->timeline, &run->failure));
    }
    CLI_TRY(cli_refuse_same_file(options->commands, options->output, &run->failure));
    CLI_TRY(cli_refuse_same_file(options->commands, options->timeline, &run->failure));
    return cli_refuse_same_file(options->timeline, options->output, &run->failure);
}

kazeia_status cli_turn(cli_run *run) {
    reciting recital = {.run = run};
    CLI_TRY(check_outputs(run));
    // Closed below in any case: what was opened before a failure is there.
    kazeia_status status = cli_conversation_open(run, &recital.conversation);
    recital.turns = calloc(run->options.argument_count, sizeof *recital.turns);
    if (status == KAZEIA_OK && recital.turns == NULL) {
        status = cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for %zu turns",
                          run->options.argument_count);
    }
    if (status == KAZEIA_OK) {
        cli_interrupt_enter(&run->interrupt, cancel_voice, recital.conversation.voice);
        status = recite(&recital);
        cli_interrupt_leave(&run->interrupt);
    }
    free(recital.turns);
    cli_conversation_close(&recital.conversation);
    return status;
}
