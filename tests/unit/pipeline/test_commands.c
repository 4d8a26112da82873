// test_commands.c: verdicts on heard commands, questions back, timers and their file.
//
// in:  hypotheses, answers, commands
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/command.h"
#include "pipeline/command_dialogue.h"
#include "pipeline/command_tune.h"
#include "pipeline/timers.h"

// --- Verdicts

static kz_command_verdict decide(const char *text, float score, float end, float second,
                                 bool is_guarded) {
    const kz_command_thresholds thresholds = kz_command_thresholds_default();
    const kz_command_hypothesis found[] = {
        {.text = text, .score = score, .end_logprob = end, .margin = score - second},
        {.text = "Un autre", .score = second, .end_logprob = -0.1f, .margin = 10}};
    const kz_command_result result = {.is_match = true, .intent = "A", .is_guarded = is_guarded};
    return kz_command_decide(&thresholds, found, 2, &result);
}

static void scores_decide(void **state) {
    (void)state;
    assert_int_equal(decide("Ouvre les volets", 5, -0.1f, -3, false), KZ_COMMAND_ACCEPTED);
    // Long sentences need more.
    assert_int_equal(decide("Ouvre les volets", -1, -0.1f, -5, false), KZ_COMMAND_REFUSED);
    assert_int_equal(decide("Pause", -1, -0.1f, -9, false), KZ_COMMAND_ACCEPTED);
    // A lone word is taken a little below, as long as nothing else is near.
    assert_int_equal(decide("Silence", -5, -0.1f, -16, false), KZ_COMMAND_ACCEPTED);
    assert_int_equal(decide("Silence", -5, -0.1f, -7, false), KZ_COMMAND_REFUSED);
    // So is a longer sentence, in noise.
    assert_int_equal(decide("Quel jour sommes-nous", -2.3f, -0.1f, -9.9f, false),
                     KZ_COMMAND_ACCEPTED);
    assert_int_equal(decide("Quel jour sommes-nous", -2.3f, -0.1f, -7, false), KZ_COMMAND_REFUSED);
    assert_int_equal(decide("Quel jour sommes-nous", -3.1f, -0.1f, -20, false), KZ_COMMAND_REFUSED);
    // The sentence went on behind the command.
    assert_int_equal(decide("Ouvre les volets", 5, -2, -3, false), KZ_COMMAND_REFUSED);
    assert_int_equal(decide("Ouvre les volets", 5, -0.1f, 4.8f, false), KZ_COMMAND_ASK);
    assert_int_equal(decide("Ouvre les volets", 0.5f, -0.1f, -0.1f, false), KZ_COMMAND_ASK);
}

// "Ferme les lumières" in noise, where "ferme les rideaux" was said.
static void near_commands_ask_for_more(void **state) {
    (void)state;
    assert_int_equal(decide("Ferme les lumières", 2, -0.1f, -1.4f, false), KZ_COMMAND_CONFIRM);
    assert_int_equal(decide("Ferme les lumières", 3, -0.1f, -0.4f, false), KZ_COMMAND_ACCEPTED);
    assert_int_equal(decide("Ferme les lumières", 2, -0.1f, -1.6f, false), KZ_COMMAND_ACCEPTED);
}

// "Minuteur 3 heures et 10 minutes" in noise; a clean "allume la chambre à 80%" has a tie as near.
static void ties_ask_for_most(void **state) {
    (void)state;
    assert_int_equal(decide("Minuteur 3 heures et vingt minutes", 8.4f, -0.1f, 7.6f, false),
                     KZ_COMMAND_CONFIRM);
    assert_int_equal(decide("Minuteur 3 heures et vingt minutes", 8.4f, -0.1f, 7.3f, false),
                     KZ_COMMAND_ACCEPTED);
    assert_int_equal(decide("Allume la chambre à 80%", 11, -0.1f, 10.2f, false),
                     KZ_COMMAND_ACCEPTED);
}

// In noise the end of "allume le bureau en rouge" is not heard.
static void doubtful_ends_ask_for_more(void **state) {
    (void)state;
    assert_int_equal(decide("Allume le bureau", 0.7f, -1.1f, -4, false), KZ_COMMAND_CONFIRM);
    assert_int_equal(decide("Allume le bureau", 0.7f, -0.8f, -4, false), KZ_COMMAND_ACCEPTED);
    assert_int_equal(decide("Quelle heure est-il", 8, -1.1f, -4, false), KZ_COMMAND_ACCEPTED);
    assert_int_equal(decide("Oublie", -5, -1.2f, -12, false), KZ_COMMAND_CONFIRM);
}

static void doors_ask_for_more(void **state) {
    (void)state;
    assert_int_equal(decide("Déverrouille", -1, -0.1f, -9, true), KZ_COMMAND_CONFIRM);
    assert_int_equal(decide("Déverrouille", 3, -0.1f, -9, true), KZ_COMMAND_ACCEPTED);
}

// --- Thresholds from labels

static kz_command_label label(const char *text, float score, float end, float margin,
                              bool is_right) {
    return (kz_command_label){
        .heard = {.text = text, .score = score, .end_logprob = end, .margin = margin},
        .is_right = is_right};
}

static void slack_is_the_distance_to_a_refusal(void **state) {
    (void)state;
    const kz_command_thresholds thresholds = kz_command_thresholds_default();
    const kz_command_label score = label("Ouvre les volets", 2, -0.1f, 9, true);
    const kz_command_label end = label("Ouvre les volets", 9, -0.8f, 9, true);
    const kz_command_label margin = label("Ouvre les volets", 9, -0.1f, 0.5f, true);
    const kz_command_label lone = label("Silence", -5, -0.1f, 8, true);
    const kz_command_label near = label("Ouvre les volets", 2, -0.1f, 3, true);
    const kz_command_label tie = label("Ouvre les volets", 5, -0.1f, 0.9f, true);
    const kz_command_label faint = label("Ouvre les volets", -2.75f, -0.1f, 9, true);
    const kz_command_label doubtful = label("Ouvre les volets", 2, -1.1f, 9, true);
    assert_float_equal(kz_command_slack(&thresholds, &score.heard), 0.8f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &near.heard), -0.5f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &tie.heard), -0.1f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &faint.heard), 0.25f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &doubtful.heard), -0.2f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &end.heard), 0.5f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &margin.heard), -0.2f, 1e-5);
    assert_float_equal(kz_command_slack(&thresholds, &lone.heard), 0.5f, 1e-5);
}

// What is right lies at 6 and above, or at -3 for one word; what is wrong at 1, ends badly, or has
// another command near.
static void thresholds_part_right_from_wrong(void **state) {
    (void)state;
    const kz_command_label labels[] = {label("Ouvre les volets", 6, -0.1f, 8, true),
                                       label("Allume la lampe", 9, -0.2f, 8, true),
                                       label("Pause", -3, -0.1f, 7, true),
                                       label("Ferme les volets", 1, -0.1f, 8, false),
                                       label("Allume le salon", 9, -1.9f, 8, false),
                                       label("Minuteur dix", 9, -0.1f, 0.4f, false),
                                       label("Nuit", -7, -0.3f, 7, false)};
    const uint32_t count = sizeof labels / sizeof labels[0];
    kz_command_thresholds thresholds = kz_command_thresholds_default();
    thresholds.score = 12; // misses all
    kz_command_tally tally = kz_command_tally_of(&thresholds, labels, count);
    assert_int_equal(tally.right, 0);
    kz_command_tune(labels, count, &thresholds);
    tally = kz_command_tally_of(&thresholds, labels, count);
    assert_int_equal(tally.right, 3);
    assert_int_equal(tally.wrong, 0);
    // 0.4 and 0.7 apart from a margin, 1.9 and 0.2 from an end: two thirds of the way at best.
    assert_true(tally.clearance > 0.5f);
    assert_float_equal(thresholds.guarded_score, kz_command_thresholds_default().guarded_score, 0);
}

// A wrong command is never bought with right ones.
static void wrong_commands_weigh_more(void **state) {
    (void)state;
    const kz_command_label labels[] = {label("Ouvre les volets", 6, -0.1f, 8, true),
                                       label("Ferme les volets", 6, -0.1f, 8, true),
                                       label("Allume la lampe", 6.5f, -0.1f, 8, false)};
    kz_command_thresholds thresholds = kz_command_thresholds_default();
    kz_command_tune(labels, 3, &thresholds);
    const kz_command_tally tally = kz_command_tally_of(&thresholds, labels, 3);
    assert_int_equal(tally.wrong, 0);
    assert_int_equal(tally.right, 0);
}

// --- Questions back

static void an_answer_chooses(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        int chosen; // -1: none
    } cases[] = {{"Trente.", 1},           {"La première", 0}, {"le deuxième", 1},
                 {"vingt secondes", 0},    {"non", -1},        {"Quel temps fait-il ?", -1},
                 {"trente, pas vingt", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kz_dialogue dialogue = {.count = 0};
        kz_dialogue_ask(&dialogue, "fr", "Minuteur vingt secondes", "Minuteur trente secondes");
        const char *chosen = kz_dialogue_answer(&dialogue, cases[i].answer);
        if (cases[i].chosen < 0) {
            assert_null(chosen);
        } else {
            assert_non_null(chosen);
            assert_string_equal(chosen, dialogue.sentences[cases[i].chosen]);
        }
        // A question waits for one answer.
        assert_null(kz_dialogue_answer(&dialogue, "la première"));
    }
}

static void a_door_needs_a_yes(void **state) {
    (void)state;
    kz_dialogue dialogue = {.count = 0};
    kz_dialogue_ask(&dialogue, "fr", "Déverrouille la porte", NULL);
    assert_string_equal(dialogue.question, "Voulez-vous vraiment : Déverrouille la porte ?");
    assert_null(kz_dialogue_answer(&dialogue, "je ne sais pas"));
    kz_dialogue_ask(&dialogue, "fr", "Déverrouille la porte", NULL);
    assert_string_equal(kz_dialogue_answer(&dialogue, "Oui !"), "Déverrouille la porte");
}

// --- Timers

static bool say(kz_timers *timers, int64_t now, const char *intent, const char *slot, double value,
                char *reply) {
    const kz_command_slot slots[] = {
        {.name = slot, .kind = KZ_SLOT_NUMBER, .number = value, .text = "", .said = ""}};
    const kz_command_result command = {
        .is_match = true, .intent = intent, .slots = slots, .slot_count = slot == NULL ? 0 : 1};
    bool is_changed = false;
    assert_true(kz_timers_apply(timers, &command, "fr", now, &is_changed, reply, 256));
    return is_changed;
}

static void timers_run(void **state) {
    (void)state;
    static kz_timers timers;
    kz_timer due;
    char reply[256];
    assert_true(say(&timers, 1000, "HassStartTimer", "minutes", 5, reply));
    assert_string_equal(reply, "Le minuteur est lancé : 5 minutes.");
    assert_true(say(&timers, 1000, "HassStartTimer", "hours", 1, reply));
    assert_false(say(&timers, 1060, "HassTimerStatus", NULL, 0, reply));
    assert_string_equal(reply, "Il reste 4 minutes.");
    assert_true(say(&timers, 1060, "HassIncreaseTimer", "minutes", 1, reply));
    assert_true(say(&timers, 1060, "HassPauseTimer", NULL, 0, reply));
    assert_false(kz_timers_take_due(&timers, 1400, &due)); // it waits
    assert_true(say(&timers, 2000, "HassUnpauseTimer", NULL, 0, reply));
    assert_false(kz_timers_take_due(&timers, 2299, &due));
    assert_true(kz_timers_take_due(&timers, 2300, &due));
    assert_int_equal(due.length_s, 300);
    assert_true(say(&timers, 2300, "HassCancelTimer", "start_hours", 1, reply));
    assert_int_equal(timers.count, 0);
    assert_false(say(&timers, 2300, "HassCancelTimer", NULL, 0, reply));
    assert_string_equal(reply, "Il n'y a pas de tel minuteur.");
}

static void timers_are_kept_in_a_file(void **state) {
    (void)state;
    static kz_timers timers, read_back;
    char reply[256], path[] = "timers-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(say(&timers, 1000, "HassStartTimer", "seconds", 30, reply));
    (void)snprintf(timers.items[0].name, sizeof timers.items[0].name, "thé \"vert\"");
    assert_int_equal(kz_timers_save(path, NULL, &timers), KAZEIA_OK);
    assert_int_equal(kz_timers_load(path, NULL, &read_back), KAZEIA_OK);
    assert_memory_equal(&timers, &read_back, sizeof timers);
    assert_int_equal(ftruncate(file, 0), 0);
    // The old file was replaced, not written into.
    assert_int_equal(kz_timers_load(path, NULL, &read_back), KAZEIA_OK);
    FILE *broken = fopen(path, "w");
    assert_non_null(broken);
    (void)fprintf(broken, "{\"last_id\": 1, \"timers\": [{\"id\": \"x\"}]}\n");
    (void)fclose(broken);
    assert_int_equal(kz_timers_load(path, NULL, &read_back), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), ":1:"));
    (void)close(file);
    (void)unlink(path);
    assert_int_equal(kz_timers_load(path, NULL, &read_back), KAZEIA_OK);
    assert_int_equal(read_back.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores_decide),
                                       cmocka_unit_test(near_commands_ask_for_more),
                                       cmocka_unit_test(ties_ask_for_most),
                                       cmocka_unit_test(doubtful_ends_ask_for_more),
                                       cmocka_unit_test(doors_ask_for_more),
                                       cmocka_unit_test(slack_is_the_distance_to_a_refusal),
                                       cmocka_unit_test(thresholds_part_right_from_wrong),
                                       cmocka_unit_test(wrong_commands_weigh_more),
                                       cmocka_unit_test(an_answer_chooses),
                                       cmocka_unit_test(a_door_needs_a_yes),
                                       cmocka_unit_test(timers_run),
                                       cmocka_unit_test(timers_are_kept_in_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
