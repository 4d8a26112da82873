// test_priors.c: priors in their table and in their file.
//
// in:  priors; files, whole and damaged
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/byte_stream.h"
#include "format/checksum.h"
#include "listen/priors.h"

enum { HEAD_BYTES = 24, FILE_BYTES = HEAD_BYTES + 4 + 2 * 4 + 4 + 2 * 16 };

static const kz_tuned_values values = {.values = {-4, 0.5f}, .count = 2};

static kz_priors *make(void) {
    kz_priors *priors = NULL;
    assert_int_equal(kz_priors_create(NULL, &priors), KAZEIA_OK);
    return priors;
}

static void priors_are_found_again(void **state) {
    (void)state;
    kz_priors *priors = make();
    kz_beam_prior prior;
    const uint64_t root = kz_prior_key(0, -1), word = kz_prior_key(root, 7);
    assert_int_not_equal(word, kz_prior_key(root, 8));
    assert_int_not_equal(kz_prior_key(word, 8), kz_prior_key(kz_prior_key(root, 8), 7));
    assert_false(kz_priors_find(priors, word, &prior));
    assert_true(isnan(prior.sum));
    assert_false(prior.is_known);
    // A child's sum is known before what follows it.
    kz_priors_keep(priors, word, &(kz_beam_prior){.sum = -3, .end = 0});
    assert_true(kz_priors_find(priors, word, &prior));
    assert_float_equal(prior.sum, -3, 0);
    assert_false(prior.is_known);
    kz_priors_keep(priors, word, &(kz_beam_prior){.sum = -3, .end = -2, .is_known = true});
    assert_true(kz_priors_find(priors, word, &prior));
    assert_float_equal(prior.end, -2, 0);
    assert_true(prior.is_known);
    // Neither is what was known forgotten, nor is what is no number kept.
    kz_priors_keep(priors, word, &(kz_beam_prior){.sum = -3, .end = 0});
    kz_priors_keep(priors, root, &(kz_beam_prior){.sum = NAN, .end = -1, .is_known = true});
    assert_true(kz_priors_find(priors, word, &prior) && prior.is_known);
    assert_int_equal(kz_priors_count(priors), 1);
    kz_priors_destroy(priors);
}

static void a_full_table_stays_as_it_is(void **state) {
    (void)state;
    kz_priors *priors = make();
    kz_beam_prior prior;
    uint64_t key = 0;
    for (uint32_t i = 0; i < KZ_PRIORS_LIMIT + 5; i++) {
        key = kz_prior_key(key, (int32_t)(i % 50000));
        kz_priors_keep(priors, key, &(kz_beam_prior){.sum = -(float)i});
    }
    assert_int_equal(kz_priors_count(priors), KZ_PRIORS_LIMIT);
    assert_false(kz_priors_find(priors, key, &prior));
    assert_true(kz_priors_find(priors, kz_prior_key(0, 0), &prior));
    assert_float_equal(prior.sum, 0, 0);
    kz_priors_destroy(priors);
}

// ---- the file

static void make_name(char path[32]) {
    strcpy(path, "priors-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
}

// Two priors and two values of program 5.
static void save(const char *path) {
    kz_priors *priors = make();
    kz_priors_keep(priors, 11, &(kz_beam_prior){.sum = -1});
    kz_priors_keep(priors, 12, &(kz_beam_prior){.sum = -2, .end = -0.5f, .is_known = true});
    assert_int_equal(kz_priors_save(priors, path, 5, &values, NULL), KAZEIA_OK);
    kz_priors_destroy(priors);
}

static kazeia_status load(const char *path, uint64_t program, uint32_t value_count,
                          uint32_t *out_count) {
    kz_priors *priors = make();
    kz_tuned_values found;
    const kazeia_status status = kz_priors_load(priors, path, program, value_count, &found);
    *out_count = kz_priors_count(priors);
    if (status == KAZEIA_OK) {
        kz_beam_prior prior;
        assert_memory_equal(&found, &values, sizeof found);
        assert_true(kz_priors_find(priors, 11, &prior) && !prior.is_known);
        assert_true(kz_priors_find(priors, 12, &prior) && prior.is_known);
        assert_float_equal(prior.sum, -2, 0);
        assert_float_equal(prior.end, -0.5f, 0);
    }
    kz_priors_destroy(priors);
    return status;
}

static void a_file_gives_the_same(void **state) {
    (void)state;
    char path[32];
    uint32_t count = 0;
    make_name(path);
    save(path);
    assert_int_equal(load(path, 5, 2, &count), KAZEIA_OK);
    assert_int_equal(count, 2);
    assert_int_equal(load(path, 6, 2, &count), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "0000000000000005"));
    assert_non_null(strstr(kazeia_last_error(), "0000000000000006"));
    assert_int_equal(count, 0);
    assert_int_equal(load(path, 5, 3, &count), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "2 thresholds, expected 3"));
    (void)unlink(path);
    assert_int_equal(load(path, 5, 2, &count), KAZEIA_NOT_FOUND);
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void read_bytes(const char *path, uint8_t bytes[FILE_BYTES]) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, FILE_BYTES, file), FILE_BYTES);
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    char path[32];
    uint8_t whole[FILE_BYTES], damaged[FILE_BYTES + 16];
    uint32_t count = 0;
    make_name(path);
    save(path);
    read_bytes(path, whole);
    for (size_t i = 0; i < FILE_BYTES; i++) {
        write_bytes(path, whole, i); // cut
        assert_int_equal(load(path, 5, 2, &count), KAZEIA_BAD_FILE);
        assert_int_equal(count, 0);
        memcpy(damaged, whole, FILE_BYTES);
        damaged[i] ^= 0x40;
        write_bytes(path, damaged, FILE_BYTES);
        const kazeia_status status = load(path, 5, 2, &count);
        assert_int_equal(status, i >= 8 && i < 16 ? KAZEIA_UNSUPPORTED : KAZEIA_BAD_FILE);
        assert_int_equal(count, 0);
    }
    (void)unlink(path);
}

// Files whose checksum is right, made by somebody who means harm.
static void forged_files_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
        const char *sentence;
    } forged[] = {{24, 0xffffffffu, "thresholds"},
                  {28, 0x7f800000u, "is no number"},
                  {36, 0x10000000u, ""},
                  {36, 1, "entries"},
                  {48, 0x7fc00000u, "log-probability"},
                  {48, 0x42c80000u, "log-probability"},
                  {52, 0x42c80000u, "log-probability"}};
    char path[32];
    uint8_t bytes[FILE_BYTES];
    uint32_t count = 0;
    make_name(path);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        save(path);
        read_bytes(path, bytes);
        kz_store_u32(bytes + forged[i].at, forged[i].value);
        kz_store_u64(bytes + 16, kz_checksum(bytes + HEAD_BYTES, FILE_BYTES - HEAD_BYTES));
        write_bytes(path, bytes, FILE_BYTES);
        assert_int_equal(load(path, 5, 2, &count), KAZEIA_BAD_FILE);
        assert_non_null(strstr(kazeia_last_error(), forged[i].sentence));
        assert_int_equal(count, 0);
    }
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priors_are_found_again), cmocka_unit_test(a_full_table_stays_as_it_is),
        cmocka_unit_test(a_file_gives_the_same), cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(forged_files_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
