// soak_voice.c: a voice that speaks for a long time, and is cancelled at any moment.
//
//   in   PROGRAM.kzp [MINUTES of work] [CANCELS]
//   out  resident memory as it goes, how late a cancel was seen at most, and whether the utterance
//        after each cancel had the samples of the first one; the exit code says whether all is well
//
// Not among the tests: a voice of full size takes an hour on a small machine. bench/README.md has
// the command.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kazeia/speak.h"

#define SLOWEST_CANCEL_MS 50.0
#define MOST_GROWTH 1.02 // of resident memory, from the first minute on

typedef struct soak {
    kazeia_stage *stage;
    double worst_ms;
    double cancelled_ms; // when the other thread called cancel
    unsigned after_us;
    unsigned harmed;
} soak;

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double resident_mb(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%ld %ld", &pages, &resident) != 2) {
        resident = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void *cancel_later(void *context) {
    soak *work = context;
    (void)usleep(work->after_us);
    work->cancelled_ms = now_ms();
    kazeia_stage_cancel(work->stage);
    return NULL;
}

// Speaks what was fed; a sum over the samples' bits tells two utterances apart.
static kazeia_status speak(kazeia_stage *stage, uint64_t *out_sum) {
    float samples[4096];
    size_t count = 0;
    kazeia_status status = KAZEIA_OK;
    *out_sum = 0;
    while ((status = kazeia_stage_next(stage, samples, 4096, &count)) == KAZEIA_OK) {
        for (size_t i = 0; i < count; i++) {
            uint32_t bits;
            memcpy(&bits, &samples[i], sizeof bits);
            *out_sum = *out_sum * 31 + bits;
        }
    }
    return status;
}

static bool start(kazeia_stage *stage, const char *text) {
    size_t taken = 0;
    return kazeia_stage_reset(stage) == KAZEIA_OK &&
           kazeia_stage_feed(stage, text, strlen(text), &taken) == KAZEIA_OK &&
           kazeia_stage_finish(stage) == KAZEIA_OK;
}

static bool say_reference(soak *work, uint64_t *out_sum) {
    return start(work->stage, "Bonjour.") && speak(work->stage, out_sum) == KAZEIA_DONE;
}

static bool cancel_once(soak *work, uint64_t expected) {
    pthread_t thread;
    uint64_t sum = 0;
    work->after_us = (unsigned)rand() % 1000000u;
    if (!start(work->stage, "Une phrase assez longue pour être interrompue à tout moment.") ||
        pthread_create(&thread, NULL, cancel_later, work) != 0) {
        return false;
    }
    const kazeia_status status = speak(work->stage, &sum);
    const double seen_ms = now_ms();
    (void)pthread_join(thread, NULL);
    // An utterance that was over before is no measure.
    if (status == KAZEIA_CANCELLED && seen_ms - work->cancelled_ms > work->worst_ms) {
        work->worst_ms = seen_ms - work->cancelled_ms;
    }
    if (!say_reference(work, &sum)) {
        return false;
    }
    work->harmed += sum != expected;
    return true;
}

static bool speak_for(soak *work, double minutes, double *out_growth) {
    const double end_ms = now_ms() + minutes * 60e3;
    double next_ms = now_ms(), first_mb = 0;
    uint64_t sum = 0;
    bool is_fine = true;
    *out_growth = 1;
    while (is_fine && now_ms() < end_ms) {
        is_fine = start(work->stage, "Il fait beau ce matin, et je vais me promener en ville.") &&
                  speak(work->stage, &sum) == KAZEIA_DONE;
        if (now_ms() >= next_ms) {
            const double resident = resident_mb();
            printf("%.1f minutes left: %.1f MB\n", (end_ms - now_ms()) / 60e3, resident);
            first_mb = first_mb == 0 ? resident : first_mb;
            *out_growth = resident / first_mb;
            next_ms += 60e3;
        }
    }
    return is_fine;
}

static bool run(soak *work, double minutes, int cancels) {
    double growth = 1;
    uint64_t expected = 0;
    bool is_fine = say_reference(work, &expected);
    for (int i = 0; is_fine && i < cancels; i++) {
        is_fine = cancel_once(work, expected);
    }
    printf("%d cancels: seen after %.1f ms at most, %u utterances harmed\n", cancels,
           work->worst_ms, work->harmed);
    is_fine = is_fine && speak_for(work, minutes, &growth);
    printf("resident memory grew by a factor of %.3f\n", growth);
    return is_fine && work->harmed == 0 && work->worst_ms <= SLOWEST_CANCEL_MS &&
           growth <= MOST_GROWTH;
}

int main(int argc, char **argv) {
    kazeia_runtime_settings machine = kazeia_runtime_settings_default();
    kazeia_speak_settings settings = kazeia_speak_settings_default();
    kazeia_runtime *runtime = NULL;
    kazeia_program *program = NULL;
    soak work = {0};
    machine.thread_count = 2;
    bool is_fine = argc > 1 && kazeia_runtime_create(&machine, &runtime) == KAZEIA_OK &&
                   kazeia_program_open(argv[1], NULL, &program) == KAZEIA_OK;
    if (is_fine) {
        settings.program = program;
        settings.is_greedy = true;
        settings.max_frames = 60;
        is_fine = kazeia_speak_create(runtime, &settings, &work.stage) == KAZEIA_OK &&
                  run(&work, argc > 2 ? atof(argv[2]) : 20, argc > 3 ? atoi(argv[3]) : 200);
    }
    if (!is_fine) {
        (void)fprintf(stderr, "soak_voice PROGRAM.kzp [MINUTES] [CANCELS]: failed. %s\n",
                      kazeia_last_error());
    }
    kazeia_stage_destroy(work.stage);
    kazeia_program_close(program);
    kazeia_runtime_destroy(runtime);
    return is_fine ? 0 : 1;
}
