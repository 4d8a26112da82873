// cmd_timers.c: kazeia timers list|run.
//
// in:  the file of timers that `turn --timers` writes
// out: list: the timers; run: a line when one rings, until interrupted
//
// run looks at the file once a second quarter: it is small, and another process changes it.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "command_program.h"
#include "kazeia/commands.h"
#include "output.h"

#define LOOK_NS 250000000L

static json_t *timer_json(const kazeia_timer *timer, const char *event) {
    return json_pack("{s:s, s:I, s:o, s:o, s:o, s:I, s:I, s:b}", "event", event, "id",
                     (json_int_t)timer->id, "name", cli_json_string(timer->name), "area",
                     cli_json_string(timer->area), "command", cli_json_string(timer->command),
                     "length_s", (json_int_t)timer->length_s, "left_s", (json_int_t)timer->left_s,
                     "is_paused", (int)timer->is_paused);
}

static kazeia_status print_timer(void *context, const kazeia_timer *timer) {
    cli_run *run = context;
    if (run->options.is_json) {
        return cli_print_json(timer_json(timer, "timer"), &run->failure);
    }
    return cli_print(&run->failure, "%u%s%s: %lld s of %lld s left%s\n", timer->id,
                     timer->name[0] == '\0' ? "" : " ", timer->name, (long long)timer->left_s,
                     (long long)timer->length_s, timer->is_paused ? ", paused" : "");
}

static kazeia_status list(cli_run *run, kazeia_timers *timers) {
    return cli_checked(run, kazeia_timers_list(timers, (int64_t)time(NULL), print_timer, run));
}

// The line, the bell of the terminal, and the user's program.
static kazeia_status ring(cli_run *run, const kazeia_timer *timer) {
    char reply[256] = "";
    if (run->options.is_json) {
        CLI_TRY(cli_print_json(timer_json(timer, "ring"), &run->failure));
    } else {
        CLI_TRY(cli_print(&run->failure, "\a%u%s%s: rings after %lld s%s%s\n", timer->id,
                          timer->name[0] == '\0' ? "" : " ", timer->name,
                          (long long)timer->length_s, timer->command[0] == '\0' ? "" : ": ",
                          timer->command));
    }
    if (run->options.on_command == NULL) {
        return KAZEIA_OK;
    }
    json_t *object = timer_json(timer, "ring");
    char *line = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (line == NULL) {
        return cli_fail(&run->failure, KAZEIA_OUT_OF_MEMORY, "no memory for a timer");
    }
    const kazeia_status status =
        cli_command_program_run(run->options.on_command, line, reply, sizeof reply, &run->failure);
    free(line);
    return status;
}

static kazeia_status ring_all(cli_run *run, kazeia_timers *timers) {
    const struct timespec pause = {0, LOOK_NS};
    while (!cli_interrupt_has_come(&run->interrupt)) {
        kazeia_timer timer;
        bool is_due = false;
        CLI_TRY(
            cli_checked(run, kazeia_timers_take_due(timers, (int64_t)time(NULL), &timer, &is_due)));
        if (is_due) {
            CLI_TRY(ring(run, &timer));
        } else {
            (void)nanosleep(&pause, NULL);
        }
    }
    return KAZEIA_CANCELLED;
}

kazeia_status cli_timers(cli_run *run) {
    const char *verb = run->options.arguments[0];
    kazeia_timers *timers = NULL;
    const bool is_list = strcmp(verb, "list") == 0;
    if (!is_list && strcmp(verb, "run") != 0) {
        return cli_fail(&run->failure, KAZEIA_BAD_ARGUMENT,
                        "'%s' is nothing that timers does; expected list or run. See 'kazeia "
                        "timers --help'.",
                        verb);
    }
    CLI_TRY(cli_checked(run, kazeia_timers_open(run->options.timers, NULL, &timers)));
    const kazeia_status status = is_list ? list(run, timers) : ring_all(run, timers);
    kazeia_timers_close(timers);
    return status;
}
