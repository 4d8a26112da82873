// command.c: is what was said a command?
//   in   a transcript
//   out  intent, slots and response, or no match
// A grammar that is too ambiguous for one sentence must not end a conversation: the sentence then
// goes to the language model.
#include "pipeline/command.h"

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
