// timeline.c: when each stage of each turn worked, as a picture.
//
// in:  turns
// out: an SVG file: a bar for each stage on an axis of milliseconds
//
// All turns share one scale, so that a slow one looks slow. A bar is pale until the stage's first
// output and full after it: what a person waits for is where the last bar turns full.
#include "timeline.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// All in pixels of the picture.
#define WIDTH 960
#define LEFT 92
#define RIGHT 150
#define TOP 46
#define TITLE_HEIGHT 30
#define ROW_HEIGHT 24
#define BAR_HEIGHT 16
#define AXIS_HEIGHT 46
#define MOST_TICKS 8
#define TURN_HEIGHT (TITLE_HEIGHT + CLI_STAGE_COUNT * ROW_HEIGHT + AXIS_HEIGHT)

const char *const cli_stage_names[CLI_STAGE_COUNT] = {"listen", "command", "think", "speak"};
static const char *const COLOURS[CLI_STAGE_COUNT] = {"#2f6f9f", "#8a5a9e", "#b8651b", "#2e8555"};

typedef struct picture {
    cli_new_file *file;
    cli_sentence *failure;
    double longest_ms;
} picture;

static kazeia_status draw(picture *canvas, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static kazeia_status draw(picture *canvas, const char *format, ...) {
    char piece[1024];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(piece, sizeof piece, format, values);
    va_end(values);
    // A piece is a few lines of a bounded length: a longer one would be cut, never overrun.
    const size_t bytes = (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1;
    return cli_new_file_write(canvas->file, piece, bytes, canvas->failure);
}

// Text with XML's own characters escaped; control characters, which XML forbids, become spaces.
static kazeia_status draw_escaped(picture *canvas, const char *text) {
    for (; *text != '\0'; text++) {
        const char *escape = NULL;
        switch (*text) {
        case '<':
            escape = "&lt;";
            break;
        case '>':
            escape = "&gt;";
            break;
        case '&':
            escape = "&amp;";
            break;
        case '"':
            escape = "&quot;";
            break;
        default:
            break;
        }
        const char plain = (unsigned char)*text < ' ' ? ' ' : *text;
        CLI_TRY(escape != NULL ? draw(canvas, "%s", escape)
                               : cli_new_file_write(canvas->file, &plain, 1, canvas->failure));
    }
    return KAZEIA_OK;
}

static double x_of(const picture *canvas, double ms) {
    // longest_ms is at least 1 (longest_of).
    return LEFT + ms / canvas->longest_ms * (WIDTH - LEFT - RIGHT);
}

// 1, 2 or 5 times a power of ten, so that about MOST_TICKS fit.
static double tick_step_ms(double longest_ms) {
    const double least = longest_ms / MOST_TICKS;
    const double power = pow(10, floor(log10(least)));
    const double factor = least / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

static kazeia_status draw_axis(picture *canvas, int top) {
    const int bottom = top + CLI_STAGE_COUNT * ROW_HEIGHT;
    const double step = tick_step_ms(canvas->longest_ms);
    // A little more than the quotient, so that rounding does not lose the last tick.
    const size_t tick_count = (size_t)(canvas->longest_ms / step * (1 + 1e-9));
    for (size_t tick = 0; tick <= tick_count; tick++) {
        const double ms = (double)tick * step;
        const double x = x_of(canvas, ms);
        CLI_TRY(draw(canvas,
                     "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#dddddd\"/>\n"
                     "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" class=\"small\">%g</text>\n",
                     x, top, x, bottom, x, bottom + 16, ms));
    }
    return draw(canvas, "<text x=\"%d\" y=\"%d\" class=\"small\">ms after the last word</text>\n",
                WIDTH - RIGHT + 14, bottom + 16);
}

static kazeia_status draw_stage(picture *canvas, const cli_timeline_turn *turn, size_t stage,
                                int top) {
    const int text_y = top + ROW_HEIGHT / 2 + 5;
    const int bar_y = top + (ROW_HEIGHT - BAR_HEIGHT) / 2;
    CLI_TRY(draw(canvas, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 10,
                 text_y, cli_stage_names[stage]));
    // A command needs no model: its row stays, so that all turns have the same form.
    if (turn->start_ms[stage] < 0) {
        return draw(canvas, "<text x=\"%d\" y=\"%d\" class=\"small\">not needed</text>\n", LEFT + 6,
                    text_y);
    }
    const double start = x_of(canvas, turn->start_ms[stage]);
    const double first = x_of(canvas, fmax(turn->first_ms[stage], turn->start_ms[stage]));
    // Two pixels at least: a stage of a microsecond has worked, and is to be seen.
    const double end = fmax(x_of(canvas, turn->end_ms[stage]), start + 2);
    CLI_TRY(draw(canvas,
                 "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" "
                 "fill-opacity=\"0.35\"/>\n",
                 start, bar_y, end - start, BAR_HEIGHT, COLOURS[stage]));
    CLI_TRY(draw(canvas, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                 first, bar_y, fmax(end - first, 2), BAR_HEIGHT, COLOURS[stage]));
    return draw(canvas, "<text x=\"%.1f\" y=\"%d\" class=\"small\">%.0f to %.0f</text>\n", end + 6,
                text_y, turn->start_ms[stage], turn->end_ms[stage]);
}

static kazeia_status draw_first_sound(picture *canvas, const cli_timeline_turn *turn, int top) {
    if (turn->voice_to_voice_ms < 0) {
        return KAZEIA_OK;
    }
    const double x = x_of(canvas, turn->voice_to_voice_ms);
    const int bottom = top + CLI_STAGE_COUNT * ROW_HEIGHT;
    return draw(canvas,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#c02020\" "
                "stroke-width=\"1.5\" stroke-dasharray=\"4 3\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#c02020\" "
                "class=\"small\">first sound: %.0f ms</text>\n",
                x, top, x, bottom, fmax(x, LEFT + 50), bottom + 33, turn->voice_to_voice_ms);
}

static kazeia_status draw_turn(picture *canvas, const cli_timeline_turn *turn, size_t number) {
    const int top = TOP + (int)number * TURN_HEIGHT;
    const char *slash = strrchr(turn->file, '/');
    CLI_TRY(draw(canvas, "<g>\n<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%zu. ", 16, top + 18,
                 number + 1));
    CLI_TRY(draw_escaped(canvas, slash == NULL ? turn->file : slash + 1));
    CLI_TRY(draw(canvas, "<tspan font-weight=\"normal\" dx=\"10\">"));
    CLI_TRY(draw_escaped(canvas, turn->heard));
    CLI_TRY(draw(canvas, "</tspan></text>\n"));
    CLI_TRY(draw_axis(canvas, top + TITLE_HEIGHT));
    for (size_t stage = 0; stage < CLI_STAGE_COUNT; stage++) {
        CLI_TRY(draw_stage(canvas, turn, stage, top + TITLE_HEIGHT + (int)stage * ROW_HEIGHT));
    }
    CLI_TRY(draw_first_sound(canvas, turn, top + TITLE_HEIGHT));
    return draw(canvas, "</g>\n");
}

// At least one millisecond, since every place is divided by it.
static double longest_of(const cli_timeline_turn *turns, size_t count) {
    double longest = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t stage = 0; stage < CLI_STAGE_COUNT; stage++) {
            longest = fmax(longest, turns[i].end_ms[stage]);
        }
        longest = fmax(longest, turns[i].voice_to_voice_ms);
    }
    return longest;
}

static kazeia_status draw_all(picture *canvas, const cli_timeline_turn *turns, size_t count) {
    const int height = TOP + (int)count * TURN_HEIGHT + 12;
    CLI_TRY(draw(canvas,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, sans-serif\" "
                 "font-size=\"14\" fill=\"#222222\">\n"
                 "<title>Stages of %zu spoken turns</title>\n"
                 "<style>.small { font-size: 12px; }</style>\n"
                 "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
                 WIDTH, height, WIDTH, height, count, WIDTH, height));
    CLI_TRY(draw(canvas,
                 "<text x=\"16\" y=\"28\" font-size=\"18\">When each stage worked</text>\n"
                 "<text x=\"%d\" y=\"28\" text-anchor=\"end\" class=\"small\">pale: at work before "
                 "its first output; full: after it</text>\n",
                 WIDTH - 16));
    for (size_t i = 0; i < count; i++) {
        CLI_TRY(draw_turn(canvas, &turns[i], i));
    }
    return draw(canvas, "</svg>\n");
}

void cli_timeline_keep_text(const char *text, cli_timeline_turn *out_turn) {
    static const char MORE[] = "…";
    size_t bytes = strlen(text);
    const bool is_cut = bytes >= sizeof out_turn->heard;
    if (is_cut) {
        // sizeof counts the NUL, for which there must be room as well.
        bytes = sizeof out_turn->heard - sizeof MORE;
        while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80) {
            bytes--;
        }
    }
    memcpy(out_turn->heard, text, bytes);
    memcpy(out_turn->heard + bytes, is_cut ? MORE : "", is_cut ? sizeof MORE : 1);
}

kazeia_status cli_timeline_write(cli_new_file *file, const cli_timeline_turn *turns, size_t count,
                                 cli_sentence *out_sentence) {
    picture canvas = {
        .file = file, .failure = out_sentence, .longest_ms = longest_of(turns, count)};
    CLI_TRY(draw_all(&canvas, turns, count));
    return cli_new_file_commit(file, out_sentence);
}
