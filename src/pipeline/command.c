// command.c: is what was said a command?
//   in   a transcript
//   out  intent, slots and response, or no match
// A grammar that is too ambiguous for one sentence must not end a conversation: the sentence then
// goes to the language model.
#include "pipeline/command.h"

#include <math.h>

#include "base/clock.h"

kazeia_status kz_command_judge(kz_command_matcher *matcher, const char *transcript,
                               kz_command_result *out_result) {
    *out_result = (kz_command_result){.is_match = false};
    if (!matcher) {
        return KAZEIA_OK;
    }
    // Taken here, since text/ has no clock: a test can give the matcher any time of day.
    const kz_wall_clock now = kz_clock_wall();
    const kz_command_clock clock = {.hour = now.hour,
                                    .minute = now.minute,
                                    .day = now.day,
                                    .month = now.month,
                                    .year = now.year,
                                    .weekday = now.weekday};
    const kazeia_status status = kz_command_match(matcher, transcript, &clock, out_result);
    if (status == KAZEIA_UNSUPPORTED) {
        *out_result = (kz_command_result){.is_match = false};
        return KAZEIA_OK;
    }
    return status;
}

kz_command_thresholds kz_command_thresholds_default(void) {
    return (kz_command_thresholds){.score = -4.0f,
                                   .word_score = 1.75f,
                                   .end = -1.3f,
                                   .margin = 0.7f,
                                   .guarded_score = 0.0f,
                                   .lone_score = 1.5f,
                                   .lone_word_score = 0.5f,
                                   .lone_margin = 5.0f,
                                   .near_score = 3.1f,
                                   .near_margin = 3.5f,
                                   .tie_margin = 1.0f,
                                   .fair_end = -0.9f};
}

// A score grows with what was said, so that a long sentence that is only half right passes what a
// short one must reach. Words are counted by their spaces.
static float score_slack(const kz_command_thresholds *thresholds, const kz_command_hypothesis *one,
                         float lower, float lower_a_word) {
    float least = thresholds->score - lower;
    for (const char *text = one->text; *text != '\0'; text++) {
        least += *text == ' ' ? thresholds->word_score - lower_a_word : 0;
    }
    return one->score - least;
}

// How far above its least values a hypothesis is, whatever comes next; below 0: refused.
static float heard_slack(const kz_command_thresholds *thresholds,
                         const kz_command_hypothesis *one) {
    const float lone =
        fminf(one->margin - thresholds->lone_margin,
              score_slack(thresholds, one, thresholds->lone_score, thresholds->lone_word_score));
    return fminf(one->end_logprob - thresholds->end,
                 fmaxf(score_slack(thresholds, one, 0, 0), lone));
}

static bool is_heard(const kz_command_thresholds *thresholds, const kz_command_hypothesis *one) {
    return heard_slack(thresholds, one) >= 0;
}

// The same of what is not asked about, although another command may be near or the sentence may go
// on: in noise "allume le bureau" is heard where "allume le bureau en rouge" was said.
static float clear_slack(const kz_command_thresholds *thresholds,
                         const kz_command_hypothesis *one) {
    const float excess = score_slack(thresholds, one, 0, 0) - thresholds->near_score;
    const float doubtless =
        fminf(one->margin - thresholds->near_margin, one->end_logprob - thresholds->fair_end);
    const float untied =
        fmaxf(one->margin - thresholds->tie_margin, excess - thresholds->near_score);
    return fminf(fmaxf(doubtless, excess), untied);
}

float kz_command_slack(const kz_command_thresholds *thresholds, const kz_command_hypothesis *one) {
    return fminf(fminf(heard_slack(thresholds, one), one->margin - thresholds->margin),
                 clear_slack(thresholds, one));
}

// Two commands that sound alike are asked about when the next one would be accepted, too; noise
// that resembles several is refused.
kz_command_verdict kz_command_decide(const kz_command_thresholds *thresholds,
                                     const kz_command_hypothesis *found, uint32_t count,
                                     const kz_command_result *result) {
    if (count == 0 || !result->is_match || !is_heard(thresholds, &found[0])) {
        return KZ_COMMAND_REFUSED;
    }
    if (found[0].margin < thresholds->margin) {
        return is_heard(thresholds, &found[1]) ? KZ_COMMAND_ASK : KZ_COMMAND_REFUSED;
    }
    const bool is_faint = result->is_guarded && found[0].score < thresholds->guarded_score;
    return is_faint || clear_slack(thresholds, &found[0]) < 0 ? KZ_COMMAND_CONFIRM
                                                              : KZ_COMMAND_ACCEPTED;
}
