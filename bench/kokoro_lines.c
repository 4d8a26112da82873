// kokoro_lines.c: a Kokoro program run on ids of symbols, for bench/compare_kokoro.py.
//
// in:  kokoro_lines PROGRAM SPEAKER THREADS, and on stdin a line a piece: ids apart by blanks,
// then,
//      where durations are to be imposed, '|' and one for each id and the two pads
// out: on stdout for each line: u32 durations, i32 durations[], u32 samples, f32 samples[]; on
//      stderr the seconds of processor time that measuring and speaking took
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "speak/kokoro.h"

#define LINE_BYTES 65536
#define ID_LIMIT 1024

// Numbers of [text, end) into values; how many.
static uint32_t read_numbers(char *text, int32_t *values) {
    uint32_t count = 0;
    for (char *word = strtok(text, " \n"); word && count < ID_LIMIT; word = strtok(NULL, " \n")) {
        values[count++] = (int32_t)strtol(word, NULL, 10);
    }
    return count;
}

static kazeia_status say_line(kz_kokoro *kokoro, char *line) {
    int32_t ids[ID_LIMIT], imposed[ID_LIMIT];
    int32_t *durations = NULL;
    const float *samples = NULL;
    size_t sample_count = 0;
    char *bar = strchr(line, '|');
    if (bar) {
        *bar = '\0';
    }
    const uint32_t count = read_numbers(line, ids);
    const uint32_t imposed_count = bar ? read_numbers(bar + 1, imposed) : 0;
    KZ_TRY(kz_kokoro_measure(kokoro, ids, count, 1.0f, &durations));
    const uint32_t duration_count = count + 2;
    const uint32_t head[1] = {duration_count};
    (void)fwrite(head, 4, 1, stdout);
    (void)fwrite(durations, 4, duration_count, stdout);
    if (imposed_count == duration_count) {
        memcpy(durations, imposed, duration_count * sizeof *imposed);
    }
    KZ_TRY(kz_kokoro_speak(kokoro, &samples, &sample_count));
    const uint32_t tail[1] = {(uint32_t)sample_count};
    (void)fwrite(tail, 4, 1, stdout);
    (void)fwrite(samples, 4, sample_count, stdout);
    return KAZEIA_OK;
}

static kazeia_status say_all(kz_kokoro *kokoro, const char *speaker) {
    static char line[LINE_BYTES];
    KZ_TRY(kz_kokoro_choose(kokoro, speaker));
    while (fgets(line, sizeof line, stdin)) {
        KZ_TRY(say_line(kokoro, line));
    }
    return KAZEIA_OK;
}

static kazeia_status run(char **arguments) {
    kz_program *program = NULL;
    kz_pool *pool = NULL;
    kz_kokoro *kokoro = NULL;
    KZ_TRY(kz_program_open(arguments[1], NULL, &program));
    KZ_TRY(kz_pool_create((uint32_t)strtoul(arguments[3], NULL, 10), NULL, &pool));
    kazeia_status status = kz_kokoro_create(program, pool, KZ_PRIORITY_SPEAK, NULL, &kokoro);
    if (status == KAZEIA_OK) {
        const clock_t begin = clock();
        status = say_all(kokoro, arguments[2]);
        (void)fprintf(stderr, "%.3f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
    kz_kokoro_destroy(kokoro);
    kz_pool_destroy(pool);
    kz_program_release(program);
    return status;
}

int main(int count, char **arguments) {
    if (count != 4) {
        (void)fprintf(stderr, "usage: kokoro_lines PROGRAM SPEAKER THREADS < lines of ids\n");
        return 1;
    }
    if (run(arguments) != KAZEIA_OK) {
        (void)fprintf(stderr, "kokoro_lines: %s\n", kazeia_last_error());
        return 2;
    }
    return 0;
}
