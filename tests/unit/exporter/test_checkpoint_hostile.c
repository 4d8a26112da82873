// test_checkpoint_hostile.c: the readers on damaged and hostile checkpoints.
//
// in:  samples of the four kinds, and a golden's head, each changed in one way or another
//
// Every changed file is opened from memory of exactly its size, so that a sanitizer sees any byte
// read outside. Either it opens, and then all of it can be read, or it fails with a sentence and
// gives all memory back; opening never holds more than 4 times the file's size and 1 MB. The
// changes come from a fixed seed.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checkpoint_samples.h"

#define MUTATIONS_LEAST 10000

static size_t mutation_count; // over all tests, checked by the last one

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static bool is_a_files_fault(kazeia_status status) {
    return status == KAZEIA_BAD_FILE || status == KAZEIA_UNSUPPORTED || status == KAZEIA_NOT_FOUND;
}

// Opens a copy of exactly `count` bytes.
static kazeia_status try_bytes(const uint8_t *bytes, size_t count) {
    uint8_t *copy = malloc(count > 0 ? count : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    byte_counter counter;
    const kazeia_allocator allocator = byte_counter_allocator(&counter, SIZE_MAX);
    kz_checkpoint *checkpoint = NULL;
    const kazeia_status status =
        kz_checkpoint_open_memory(copy, count, "changed", &allocator, &checkpoint);
    assert_true(counter.peak_bytes <= opening_limit(count));
    if (status == KAZEIA_OK) {
        read_everything(checkpoint);
        kz_checkpoint_close(checkpoint);
    } else {
        assert_true(is_a_files_fault(status));
        assert_true(strlen(kazeia_last_error()) > 20);
        assert_null(checkpoint);
    }
    assert_int_equal(counter.live_bytes, 0);
    free(copy);
    mutation_count++;
    return status;
}

// Runs `attack` on the five samples.
static void for_each_sample(void (*attack)(byte_string *sample)) {
    for (size_t i = 0; i < KZ_CHECKPOINT_KIND_COUNT; i++) {
        byte_string sample = sample_makers[i]();
        attack(&sample);
        bytes_clear(&sample);
    }
}

// --- Damage -------------------------------------------------------------------------------------

// A sample ends with its last value, so no part of it alone is a checkpoint; ggml files have no
// count of tensors and may end behind any of them.
static void truncate_everywhere(byte_string *sample) {
    size_t opened = 0;
    for (size_t count = 0; count < sample->count; count++) {
        opened += try_bytes(sample->bytes, count) == KAZEIA_OK;
    }
    assert_true(opened <= 2);
    assert_int_equal(try_bytes(sample->bytes, sample->count), KAZEIA_OK);
}

static void test_truncation_at_every_byte(void **state) {
    (void)state;
    for_each_sample(truncate_everywhere);
}

static void flip_every_bit(byte_string *sample) {
    for (size_t i = 0; i < sample->count; i++) {
        for (uint32_t bit = 0; bit < 8; bit++) {
            sample->bytes[i] ^= (uint8_t)(1u << bit);
            (void)try_bytes(sample->bytes, sample->count);
            sample->bytes[i] ^= (uint8_t)(1u << bit);
        }
    }
}

static void test_every_bit_flipped(void **state) {
    (void)state;
    for_each_sample(flip_every_bit);
}

// Extreme numbers of 32 and 64 bits at every byte.
static void write_huge_numbers(byte_string *sample) {
    static const uint64_t numbers[] = {0,
                                       1,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       (uint64_t)1 << 40,
                                       (uint64_t)1 << 61,
                                       INT64_MAX,
                                       (uint64_t)1 << 63,
                                       UINT64_MAX - 31,
                                       UINT64_MAX};
    for (size_t at = 0; at + 8 <= sample->count; at++) {
        uint8_t kept[8];
        memcpy(kept, sample->bytes + at, 8);
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            memcpy(sample->bytes + at, &numbers[i], numbers[i] > UINT32_MAX ? 8 : 4);
            (void)try_bytes(sample->bytes, sample->count);
            memcpy(sample->bytes + at, kept, 8);
        }
    }
}

static void test_huge_numbers_everywhere(void **state) {
    (void)state;
    for_each_sample(write_huge_numbers);
}

// Two pieces of the file change places: offsets, counts, names.
static void swap_pieces(byte_string *sample) {
    static const size_t sizes[] = {1, 2, 4, 8, 24};
    uint64_t seed = 0x9e3779b97f4a7c15;
    for (uint32_t i = 0; i < 1000; i++) {
        const size_t size = sizes[i % 5];
        const size_t room = sample->count - size;
        const size_t a = (size_t)(next_random(&seed) % room);
        const size_t b = (size_t)(next_random(&seed) % room);
        byte_string changed = {0};
        bytes_append(&changed, sample->bytes, sample->count);
        memcpy(changed.bytes + a, sample->bytes + b, size);
        memcpy(changed.bytes + b, sample->bytes + a, size);
        (void)try_bytes(changed.bytes, changed.count);
        bytes_clear(&changed);
    }
}

static void test_swapped_pieces(void **state) {
    (void)state;
    for_each_sample(swap_pieces);
}

// The text of a safetensors header, damaged by JSON's own characters.
static void test_damaged_header_text(void **state) {
    static const char pieces[] = "{}[]:,\"\\0-9eEtfn u\n\x01\x7f\xff";
    (void)state;
    byte_string sample = sample_safetensors();
    for (size_t at = 8; at < sample.count - 38; at++) {
        const uint8_t kept = sample.bytes[at];
        for (size_t i = 0; i < sizeof pieces; i++) {
            sample.bytes[at] = (uint8_t)pieces[i];
            (void)try_bytes(sample.bytes, sample.count);
        }
        sample.bytes[at] = kept;
    }
    bytes_clear(&sample);
}

static void test_damaged_golden_head(void **state) {
    (void)state;
    byte_string golden = bytes_of_file("tests/golden/checkpoint/ctranslate2-int8/model.bin");
    uint64_t seed = 42;
    for (uint32_t i = 0; i < 1000; i++) {
        const size_t at = (size_t)(next_random(&seed) % golden.count);
        const uint8_t kept = golden.bytes[at];
        golden.bytes[at] ^= (uint8_t)(1u << next_random(&seed) % 8);
        (void)try_bytes(golden.bytes, golden.count);
        golden.bytes[at] = kept;
    }
    bytes_clear(&golden);
}

// --- A folder's JSON files ----------------------------------------------------------------------

static void try_folder(const char *folder) {
    byte_counter counter;
    const kazeia_allocator allocator = byte_counter_allocator(&counter, SIZE_MAX);
    kz_checkpoint *checkpoint = NULL;
    const kazeia_status status = kz_checkpoint_open(folder, &allocator, &checkpoint);
    if (status == KAZEIA_OK) {
        const json_t *config = NULL;
        const kazeia_status json = kz_checkpoint_json(checkpoint, "config.json", &config);
        assert_true(json == KAZEIA_OK || is_a_files_fault(json));
        read_everything(checkpoint);
    } else {
        assert_true(is_a_files_fault(status) || status == KAZEIA_BAD_ARGUMENT);
        assert_true(strlen(kazeia_last_error()) > 20);
    }
    kz_checkpoint_close(checkpoint);
    assert_int_equal(counter.live_bytes, 0);
    mutation_count++;
}

static void damage_file(const char *folder, const char *name, const char *text) {
    const size_t count = strlen(text);
    char changed[512];
    uint64_t seed = 7;
    for (size_t length = 0; length <= count; length++) {
        sample_file_write(folder, name, text, length);
        try_folder(folder);
    }
    for (uint32_t i = 0; i < 300; i++) {
        memcpy(changed, text, count);
        changed[next_random(&seed) % count] ^= (char)(1u << next_random(&seed) % 7);
        changed[next_random(&seed) % count] = changed[next_random(&seed) % count];
        sample_file_write(folder, name, changed, count);
        try_folder(folder);
    }
    sample_file_write(folder, name, text, count);
}

static void test_damaged_index_and_config(void **state) {
    static const char index[] = "{\"metadata\": {\"total_size\": 38},\n \"weight_map\": {\"a\": "
                                "\"one\", \"b\": \"two\", \"\\u0064\": \"one\"}}";
    static const char config[] = "{\"model_type\": \"qw\\u00e9n\\ud83d\\ude00\", \"n\": [1, 2.5, "
                                 "-12345678901234567890123], \"deep\": {\"x\": [[], {}, null]}}";
    static const char shard[] = "{\"b\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}";
    char folder[SAMPLE_PATH_BYTES];
    (void)state;
    sample_folder_create(folder);
    byte_string sample = sample_safetensors();
    memcpy(memmem(sample.bytes, sample.count, "\"b\":", 4), "\"e\":", 4);
    sample_file_write(folder, "one", sample.bytes, sample.count);
    bytes_clear(&sample);
    bytes_u64(&sample, sizeof shard - 1);
    bytes_append_text(&sample, shard);
    sample_file_write(folder, "two", sample.bytes, sample.count);
    bytes_clear(&sample);
    sample_file_write(folder, "config.json", config, sizeof config - 1);
    damage_file(folder, "model.safetensors.index.json", index);
    damage_file(folder, "config.json", config);
    kz_checkpoint *checkpoint = NULL;
    assert_int_equal(kz_checkpoint_open(folder, NULL, &checkpoint), KAZEIA_OK);
    assert_string_equal(kz_checkpoint_architecture(checkpoint), "qw\xc3\xa9n\xf0\x9f\x98\x80");
    assert_int_equal(kz_checkpoint_tensor_count(checkpoint), 5);
    kz_checkpoint_close(checkpoint);
    sample_folder_remove(folder);
}

// --- Wrong on purpose ---------------------------------------------------------------------------

static void check_refused(const byte_string *file, const char *expected) {
    assert_int_not_equal(try_bytes(file->bytes, file->count), KAZEIA_OK);
    if (strstr(kazeia_last_error(), expected) == NULL) {
        fail_msg("'%s' lacks '%s'", kazeia_last_error(), expected);
    }
}

// The samples with one text replaced by another of the same length.
static void check_replaced(sample_maker make, const char *from, const char *to,
                           const char *expected) {
    byte_string sample = make();
    const size_t length = strlen(from);
    assert_int_equal(length, strlen(to));
    uint8_t *found = memmem(sample.bytes, sample.count, from, length);
    assert_non_null(found);
    memcpy(found, to, length);
    check_refused(&sample, expected);
    bytes_clear(&sample);
}

static void test_sentences(void **state) {
    (void)state;
    check_replaced(sample_gguf, "n.u16", "n.i16", "the key 'n.i16' is there twice");
    check_replaced(sample_gguf, "general.arch", "general.arcH", "general.architecture");
}

static void test_duplicates_and_overlaps_are_refused(void **state) {
    (void)state;
    check_replaced(sample_safetensors, "\"b\":", "\"a\":", "two tensors called 'a'");
    check_replaced(sample_safetensors, "[24,32]", "[16,24]", "begins 16 bytes after 'a'");
    check_replaced(sample_safetensors, "[24,32]", "[24,31]", "has 7 bytes");
    check_replaced(sample_safetensors, "[34,38]", "[36,40]", "of 38 bytes of tensor data");
    check_replaced(sample_safetensors, "[2,3]", "[3,3]", "F32 need 36");
    check_replaced(sample_safetensors, "\"d\":", "\"\t\":", "expected the end of a string");
    check_replaced(sample_ctranslate2, "y", "z", "two tensors called 'z'");
    check_replaced(sample_ctranslate2, "x/weight_s", "x/weight_t", "no tensor 'x/weight_scale'");
    check_replaced(sample_onnx,
                   "B\x04"
                   "bias",
                   "B\x04"
                   "zero",
                   "two tensors called 'zero'");
    check_replaced(sample_onnx,
                   "B\x05"
                   "scale",
                   "B\x05"
                   "s\nale",
                   "control character 10");
    check_replaced(sample_whisper_ggml, "q", "p", "two tensors called 'p'");
    check_replaced(sample_whisper_ggml, "q", "\n", "control character 10");
}

// --- Memory -------------------------------------------------------------------------------------

static void fail_each_allocation(byte_string *sample) {
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    size_t calls = 0;
    for (; status != KAZEIA_OK; calls++) {
        byte_counter counter;
        const kazeia_allocator allocator = byte_counter_allocator(&counter, calls);
        kz_checkpoint *checkpoint = NULL;
        status = kz_checkpoint_open_memory(sample->bytes, sample->count, "sample", &allocator,
                                           &checkpoint);
        assert_true(status == KAZEIA_OK || status == KAZEIA_OUT_OF_MEMORY);
        kz_checkpoint_close(checkpoint);
        assert_int_equal(counter.live_bytes, 0);
    }
    assert_true(calls > 5);
}

static void test_each_allocation_may_fail(void **state) {
    (void)state;
    for_each_sample(fail_each_allocation);
}

static void test_each_allocation_of_a_folder_may_fail(void **state) {
    static const char *const paths[] = {"tests/golden/checkpoint/qwen3-tiny-sharded",
                                        "tests/golden/checkpoint/ctranslate2-int8"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        kazeia_status status = KAZEIA_OUT_OF_MEMORY;
        for (size_t calls = 0; status != KAZEIA_OK; calls++) {
            byte_counter counter;
            const kazeia_allocator allocator = byte_counter_allocator(&counter, calls);
            kz_checkpoint *checkpoint = NULL;
            const json_t *config = NULL;
            status = kz_checkpoint_open(paths[i], &allocator, &checkpoint);
            if (status == KAZEIA_OK) {
                status = kz_checkpoint_json(checkpoint, "config.json", &config);
            }
            assert_true(status == KAZEIA_OK || status == KAZEIA_OUT_OF_MEMORY);
            kz_checkpoint_close(checkpoint);
            assert_int_equal(counter.live_bytes, 0);
        }
    }
}

// Files that are as dense in tensors as their format allows, so that the tables are largest beside
// the file. The samples of 20,000 would take minutes if anything were quadratic.
#define DENSE_COUNT 20000

static byte_string dense_gguf(void) {
    byte_string string = {0};
    bytes_append_text(&string, "GGUF");
    bytes_u32(&string, 3);
    bytes_u64(&string, DENSE_COUNT);
    bytes_u64(&string, DENSE_COUNT + 1);
    bytes_gguf_string(&string, "general.architecture");
    bytes_u32(&string, 8);
    bytes_gguf_string(&string, "x");
    for (uint32_t i = 0; i < DENSE_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%x", i);
        bytes_gguf_string(&string, name);
        bytes_u32(&string, 7);
        bytes_u8(&string, 0);
    }
    for (uint32_t i = 0; i < DENSE_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%x", i);
        bytes_gguf_string(&string, name);
        bytes_u32(&string, 1);
        bytes_u64(&string, 1);
        bytes_u32(&string, 99); // unknown: no bytes to place
        bytes_u64(&string, 0);
    }
    bytes_pad(&string, 32);
    return string;
}

static byte_string dense_safetensors(void) {
    byte_string header = {0};
    for (uint32_t i = 0; i < DENSE_COUNT; i++) {
        char entry[128];
        snprintf(entry, sizeof entry,
                 "%c\"%x\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                 i == 0 ? '{' : ',', i);
        bytes_append_text(&header, entry);
    }
    bytes_append_text(&header, "}");
    byte_string string = {0};
    bytes_u64(&string, header.count);
    bytes_append(&string, header.bytes, header.count);
    bytes_clear(&header);
    return string;
}

static byte_string dense_ctranslate2(void) {
    byte_string string = {0};
    bytes_u32(&string, 6);
    bytes_ct2_string(&string, "X");
    bytes_u32(&string, 1);
    bytes_u32(&string, DENSE_COUNT);
    for (uint32_t i = 0; i < DENSE_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%x", i);
        bytes_ct2_string(&string, name);
        bytes_u8(&string, 0);
        bytes_u8(&string, 1);
        bytes_u32(&string, 1);
        bytes_u8(&string, 0);
    }
    bytes_u32(&string, 0);
    return string;
}

static void test_dense_tables_stay_within_the_limit(void **state) {
    (void)state;
    byte_string gguf = dense_gguf();
    assert_int_equal(try_bytes(gguf.bytes, gguf.count), KAZEIA_OK);
    bytes_clear(&gguf);
    byte_string safetensors = dense_safetensors();
    assert_int_equal(try_bytes(safetensors.bytes, safetensors.count), KAZEIA_OK);
    bytes_clear(&safetensors);
    byte_string ctranslate2 = dense_ctranslate2();
    check_refused(&ctranslate2, "more than a file of its size may ask for");
    bytes_clear(&ctranslate2);
}

static void test_enough_was_tried(void **state) {
    (void)state;
    print_message("%zu changed checkpoints were tried\n", mutation_count);
    assert_true(mutation_count >= MUTATIONS_LEAST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncation_at_every_byte),
        cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_huge_numbers_everywhere),
        cmocka_unit_test(test_swapped_pieces),
        cmocka_unit_test(test_damaged_header_text),
        cmocka_unit_test(test_damaged_golden_head),
        cmocka_unit_test(test_damaged_index_and_config),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_duplicates_and_overlaps_are_refused),
        cmocka_unit_test(test_each_allocation_may_fail),
        cmocka_unit_test(test_each_allocation_of_a_folder_may_fail),
        cmocka_unit_test(test_dense_tables_stay_within_the_limit),
        cmocka_unit_test(test_enough_was_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
