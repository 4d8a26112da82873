// timeline.h: when each stage of each turn worked, as a picture.
//
// in:  turns
// out: an SVG file: a bar for each stage on an axis of milliseconds
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include "failure.h"
#include "new_file.h"

#define CLI_STAGE_COUNT 4

typedef struct cli_timeline_turn {
    const char *file;
    char heard[96]; // the beginning of the transcript
    double start_ms[CLI_STAGE_COUNT], first_ms[CLI_STAGE_COUNT], end_ms[CLI_STAGE_COUNT];
    double voice_to_voice_ms; // < 0: no reply
} cli_timeline_turn;

// The stages in the order of the arrays above.
extern const char *const cli_stage_names[CLI_STAGE_COUNT];

// Keeps the beginning of a text, cut between characters.
void cli_timeline_keep_text(const char *text, cli_timeline_turn *out_turn);
// Into a new file that is open; puts it in place, or leaves it for its owner to drop.
kazeia_status cli_timeline_write(cli_new_file *file, const cli_timeline_turn *turns, size_t count,
                                 cli_sentence *out_sentence);

#endif
