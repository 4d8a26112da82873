// interrupt.c: Ctrl-C and SIGTERM.
//
// in:  SIGINT, SIGTERM; how to cancel what runs
// out: the work cancelled, or the program ended with exit code 130
//
// The signals are blocked everywhere and taken with sigwait. The lock is held while the program
// ends, so that it cannot begin to write a file in that moment.
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "exit_codes.h"

static void choose_signals(sigset_t *out_signals) {
    (void)sigemptyset(out_signals);
    (void)sigaddset(out_signals, SIGINT);
    (void)sigaddset(out_signals, SIGTERM);
}

static void handle_signal(cli_interrupt *interrupt) {
    (void)pthread_mutex_lock(&interrupt->lock);
    atomic_store(&interrupt->has_come, true);
    if (interrupt->cancel == NULL) {
        // Not exit: other threads still run, and what they use must not be torn down under them.
        // Standard output was flushed after each piece.
        _exit(cli_exit_code(KAZEIA_CANCELLED));
    }
    interrupt->cancel(interrupt->context);
    // Wakes cli_interrupt_wait_readable, wherever the main thread waits.
    const ssize_t written = write(interrupt->wake[1], "", 1);
    (void)written; // a full pipe is readable already
    (void)pthread_mutex_unlock(&interrupt->lock);
}

// Ends by pthread_cancel, which takes effect in sigwait alone.
static void *wait_for_signals(void *context) {
    cli_interrupt *interrupt = context;
    sigset_t signals;
    int number = 0;
    choose_signals(&signals);
    while (true) {
        if (sigwait(&signals, &number) == 0) {
            // A thread that is cancelled while it holds the lock would leave it locked for ever.
            (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
            handle_signal(interrupt);
            (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        }
    }
    return NULL;
}

kazeia_status cli_interrupt_start(cli_interrupt *out_interrupt, cli_sentence *out_sentence) {
    sigset_t signals;
    choose_signals(&signals);
    *out_interrupt = (cli_interrupt){.wake = {-1, -1}};
    // Here, before the runtime makes its threads, which inherit the mask: otherwise the system
    // could give the signal to one of them.
    int error = pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (error == 0) {
        error = pipe(out_interrupt->wake) == 0 ? 0 : errno;
    }
    if (error == 0) {
        error = pthread_mutex_init(&out_interrupt->lock, NULL);
    }
    if (error == 0) {
        error = pthread_create(&out_interrupt->thread, NULL, wait_for_signals, out_interrupt);
    }
    if (error != 0) {
        return cli_fail(out_sentence, KAZEIA_IO, "cannot wait for signals: %s", strerror(error));
    }
    return KAZEIA_OK;
}

void cli_interrupt_stop(cli_interrupt *interrupt) {
    (void)pthread_cancel(interrupt->thread);
    (void)pthread_join(interrupt->thread, NULL);
    (void)pthread_mutex_destroy(&interrupt->lock);
    (void)close(interrupt->wake[0]);
    (void)close(interrupt->wake[1]);
}

// A function that does nothing, since NULL means that the program may end at once.
static void look_yourself(void *context) {
    (void)context;
}

void cli_interrupt_enter(cli_interrupt *interrupt, cli_cancel cancel, void *context) {
    (void)pthread_mutex_lock(&interrupt->lock);
    interrupt->cancel = cancel == NULL ? look_yourself : cancel;
    interrupt->context = context;
    (void)pthread_mutex_unlock(&interrupt->lock);
}

void cli_interrupt_leave(cli_interrupt *interrupt) {
    (void)pthread_mutex_lock(&interrupt->lock);
    interrupt->cancel = NULL;
    interrupt->context = NULL;
    (void)pthread_mutex_unlock(&interrupt->lock);
}

bool cli_interrupt_has_come(const cli_interrupt *interrupt) {
    return atomic_load(&interrupt->has_come);
}

kazeia_status cli_interrupt_wait_readable(const cli_interrupt *interrupt, int file) {
    struct pollfd sources[2] = {{.fd = file, .events = POLLIN},
                                {.fd = interrupt->wake[0], .events = POLLIN}};
    while (poll(sources, 2, -1) < 0 && errno == EINTR) {
    }
    return sources[1].revents != 0 ? KAZEIA_CANCELLED : KAZEIA_OK;
}
