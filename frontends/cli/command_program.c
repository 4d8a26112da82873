// command_program.c: a user's program, started without a shell.
//
// in:  a program, a line of JSON
// out: its exit, and the first line that it wrote
//
// The JSON goes through a file without a name, so that a program that does not read cannot hold the
// voice up; what is spoken never becomes part of a command line.
#include "command_program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define PATIENCE_MS 10000.0

extern char **environ;

// The child's standard input: the line, from its beginning.
static int make_input(const char *json) {
    FILE *file = tmpfile();
    if (file == NULL) {
        return -1;
    }
    const bool is_written = fprintf(file, "%s\n", json) > 0 && fflush(file) == 0;
    const int copy = is_written ? dup(fileno(file)) : -1;
    (void)fclose(file);
    if (copy >= 0) {
        (void)lseek(copy, 0, SEEK_SET);
    }
    return copy;
}

static int start(const char *program, int input, int output, pid_t *out_process) {
    posix_spawn_file_actions_t actions;
    char name[4096];
    char *const arguments[] = {name, NULL};
    (void)snprintf(name, sizeof name, "%s", program);
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    }
    if (error == 0) {
        error = posix_spawnp(out_process, program, &actions, NULL, arguments, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Up to the end of the program's output or of our patience; what does not fit is read and dropped.
static bool read_output(int output, double deadline_ms, char *text, size_t capacity) {
    size_t used = 0;
    text[0] = '\0';
    for (;;) {
        char piece[1024];
        struct pollfd wait = {.fd = output, .events = POLLIN};
        const double left = deadline_ms - cli_now_ms();
        if (left <= 0 || poll(&wait, 1, (int)left + 1) <= 0) {
            return false;
        }
        const ssize_t count = read(output, piece, sizeof piece);
        if (count <= 0) {
            text[strcspn(text, "\r\n")] = '\0';
            return true;
        }
        const size_t room = capacity - 1 - used;
        const size_t taken = (size_t)count < room ? (size_t)count : room;
        memcpy(text + used, piece, taken);
        used += taken;
        text[used] = '\0';
    }
}

static kazeia_status judge_exit(const char *program, int exit_status, bool is_in_time,
                                cli_sentence *out_sentence) {
    if (!is_in_time) {
        return cli_fail(out_sentence, KAZEIA_IO, "'%s' did not end within %.0f s and was stopped",
                        program, PATIENCE_MS / 1000);
    }
    if (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0) {
        return cli_fail(out_sentence, KAZEIA_IO, "'%s' %s %d; expected exit code 0", program,
                        WIFEXITED(exit_status) ? "ended with exit code" : "was ended by signal",
                        WIFEXITED(exit_status) ? WEXITSTATUS(exit_status) : WTERMSIG(exit_status));
    }
    return KAZEIA_OK;
}

static kazeia_status run_with(const char *program, int input, char *reply, size_t capacity,
                              cli_sentence *out_sentence) {
    char text[2048];
    int pipes[2], exit_status = 0;
    pid_t process = 0;
    if (pipe(pipes) != 0) {
        return cli_fail(out_sentence, KAZEIA_IO, "no pipe for '%s': %s", program, strerror(errno));
    }
    const int error = start(program, input, pipes[1], &process);
    (void)close(pipes[1]);
    if (error != 0) {
        (void)close(pipes[0]);
        return cli_fail(out_sentence, KAZEIA_NOT_FOUND, "'%s' cannot be started: %s", program,
                        strerror(error));
    }
    const bool is_in_time = read_output(pipes[0], cli_now_ms() + PATIENCE_MS, text, sizeof text);
    (void)close(pipes[0]);
    if (!is_in_time) {
        (void)kill(process, SIGKILL);
    }
    while (waitpid(process, &exit_status, 0) < 0 && errno == EINTR) {
    }
    const kazeia_status status = judge_exit(program, exit_status, is_in_time, out_sentence);
    if (status == KAZEIA_OK && text[0] != '\0') {
        (void)snprintf(reply, capacity, "%s", text);
    }
    return status;
}

kazeia_status cli_command_program_run(const char *program, const char *json, char *reply,
                                      size_t capacity, cli_sentence *out_sentence) {
    const int input = make_input(json);
    if (input < 0) {
        return cli_fail(out_sentence, KAZEIA_IO, "no file for what '%s' is to read: %s", program,
                        strerror(errno));
    }
    const kazeia_status status = run_with(program, input, reply, capacity, out_sentence);
    (void)close(input);
    return status;
}
