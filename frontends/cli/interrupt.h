// interrupt.h: Ctrl-C and SIGTERM.
//
// in:  SIGINT, SIGTERM; how to cancel what runs
// out: the work cancelled, or the program ended with exit code 130
//
// One thread waits for the signals, so that cancelling may take locks, which a handler could not.
// While nothing is registered, no work would be left half done: the program then ends at once.
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <pthread.h>
#include <stdatomic.h>

#include "failure.h"

typedef void (*cli_cancel)(void *context);

typedef struct cli_interrupt {
    pthread_t thread;
    pthread_mutex_t lock; // over the two below, and over ending the program
    cli_cancel cancel;    // NULL: nothing is registered
    void *context;
    atomic_bool has_come;
    int wake[2]; // a pipe that becomes readable with the signal
} cli_interrupt;

// Before any other thread is started, since threads inherit which signals are blocked.
kazeia_status cli_interrupt_start(cli_interrupt *out_interrupt, cli_sentence *out_sentence);
void cli_interrupt_stop(cli_interrupt *interrupt);
// From here to cli_interrupt_leave a signal calls `cancel` instead of ending the program. `cancel`
// NULL: the work looks at cli_interrupt_has_come itself.
void cli_interrupt_enter(cli_interrupt *interrupt, cli_cancel cancel, void *context);
void cli_interrupt_leave(cli_interrupt *interrupt);
bool cli_interrupt_has_come(const cli_interrupt *interrupt);
// Waits until `file` can be read: KAZEIA_OK, or KAZEIA_CANCELLED after a signal.
kazeia_status cli_interrupt_wait_readable(const cli_interrupt *interrupt, int file);

#endif
