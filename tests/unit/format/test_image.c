// test_image.c: program images in memory: what was written is read; what is damaged is refused with
// a sentence; memory stays within its bounds and is all given back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/byte_stream.h"
#include "format/file_parts.h"
#include "format/reader.h"
#include "format/writer.h"
#include "programs.h"

// --- Counting memory ----------------------------------------------------------------------------

typedef struct memory_count {
    size_t live_bytes;
    size_t peak_bytes;
    size_t calls_left;
} memory_count;

static void *allocate_counted(void *context, size_t bytes) {
    memory_count *count = context;
    size_t *memory = count->calls_left > 0 ? malloc(bytes + 16) : NULL;
    if (memory == NULL) {
        return NULL;
    }
    count->calls_left--;
    memory[0] = bytes;
    count->live_bytes += bytes;
    count->peak_bytes =
        count->live_bytes > count->peak_bytes ? count->live_bytes : count->peak_bytes;
    return (char *)memory + 16;
}

static void release_counted(void *context, void *memory) {
    memory_count *count = context;
    if (memory != NULL) {
        size_t *start = (size_t *)((char *)memory - 16);
        count->live_bytes -= *start;
        free(start);
    }
}

static kazeia_allocator counted(memory_count *count, size_t calls_left) {
    *count = (memory_count){.calls_left = calls_left};
    return (kazeia_allocator){count, allocate_counted, release_counted};
}

// --- Images -------------------------------------------------------------------------------------

typedef struct image {
    uint8_t *bytes; // aligned to KZ_ALIGNMENT
    size_t count;
} image;

static image make_image(const kz_program_description *description, const uint8_t *weights) {
    image made;
    if (kz_program_write_memory(description, weights, NULL, &made.bytes, &made.count) !=
        KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    return made;
}

static image sample_image(void) {
    sample_program sample;
    sample_program_make(&sample);
    const image made = make_image(&sample.description, sample.weights);
    sample_program_clear(&sample);
    return made;
}

// A copy that ends exactly at the end of its memory, so that a sanitizer sees a byte read too many.
static image copy_image(const image *original, size_t count) {
    const size_t padded = (count + KZ_ALIGNMENT - 1) / KZ_ALIGNMENT * KZ_ALIGNMENT;
    image copy = {aligned_alloc(KZ_ALIGNMENT, padded > 0 ? padded : KZ_ALIGNMENT), count};
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, original->bytes, count);
    return copy;
}

static void free_image(image *made) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free_aligned(&memory, made->bytes);
}

// Opens and, when that works, reads every byte of every tensor. True when it opened.
static bool try_image(const image *tried, bool *out_verifies) {
    memory_count count;
    const kazeia_allocator allocator = counted(&count, SIZE_MAX);
    kz_program_file *file = NULL;
    const kazeia_status status =
        kz_program_file_open_memory(tried->bytes, tried->count, &allocator, &file);
    if (status == KAZEIA_OK) {
        const kz_program_description *description = kz_program_file_description(file);
        volatile uint8_t sum = 0;
        for (size_t i = 0; i < description->tensor_count; i++) {
            const uint8_t *bytes = kz_program_file_tensor(file, &description->tensors[i]);
            for (uint64_t b = 0; b < description->tensors[i].bytes; b++) {
                sum = (uint8_t)(sum + bytes[b]);
            }
        }
        *out_verifies = kz_program_file_verify(file) == KAZEIA_OK;
        kz_program_file_close(file);
    } else {
        assert_true(strlen(kazeia_last_error()) > 20);
    }
    assert_true(count.peak_bytes <= 4 * tried->count + (1u << 20));
    assert_int_equal(count.live_bytes, 0);
    return status == KAZEIA_OK;
}

// --- Round trips --------------------------------------------------------------------------------

static void what_is_written_is_read(void **state) {
    (void)state;
    sample_program sample;
    sample_program_make(&sample);
    image made = make_image(&sample.description, sample.weights);
    kz_program_file *file = NULL;
    assert_int_equal(kz_program_file_open_memory(made.bytes, made.count, NULL, &file), KAZEIA_OK);
    const kz_program_description *read = kz_program_file_description(file);
    const uint8_t *weights = sample.weights;
    assert_int_equal(read->tensor_count, sample.description.tensor_count);
    for (size_t i = 0; i < read->tensor_count; i++) {
        const kz_tensor *tensor = &read->tensors[i];
        const uint8_t *found = kz_program_file_tensor(file, tensor);
        assert_int_equal((uintptr_t)found % KZ_ALIGNMENT, 0);
        assert_memory_equal(found, weights, (size_t)tensor->bytes);
        weights += tensor->bytes;
        sample.tensors[i].context = tensor->context; // places are the writer's
        sample.tensors[i].offset = tensor->offset;
    }
    assert_true(descriptions_equal(read, &sample.description));
    assert_int_equal(kz_program_file_version(file), KZ_FORMAT_VERSION);
    assert_int_equal(kz_program_file_verify(file), KAZEIA_OK);
    image again = make_image(&sample.description, sample.weights);
    assert_int_equal(again.count, made.count);
    assert_memory_equal(again.bytes, made.bytes, made.count);
    sample.weights[100]++;
    image changed = make_image(&sample.description, sample.weights);
    assert_true(kz_load_u64(changed.bytes + 24) != kz_program_file_id(file));
    kz_program_file_close(file);
    free_image(&made);
    free_image(&again);
    free_image(&changed);
    sample_program_clear(&sample);
}

static void a_program_may_be_empty(void **state) {
    (void)state;
    static const uint8_t text[] = "{{ messages }}";
    const kz_program_description nothing = {0};
    const kz_program_description chat = {.chat_template = {text, sizeof text}};
    image empty = make_image(&nothing, NULL);
    image template_only = make_image(&chat, NULL);
    kz_program_file *file = NULL;
    bool verifies = false;
    assert_true(try_image(&empty, &verifies) && verifies);
    assert_int_equal(
        kz_program_file_open_memory(template_only.bytes, template_only.count, NULL, &file), 0);
    assert_memory_equal(kz_program_file_description(file)->chat_template.bytes, text, sizeof text);
    assert_int_equal(kz_program_file_description(file)->tokenizer.count, 0);
    kz_program_file_close(file);
    free_image(&empty);
    free_image(&template_only);
}

static uint32_t random_bits(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Changes a few numbers of the sample at random: either the change is refused, or it comes back.
static void random_descriptions_come_back_or_are_refused(void **state) {
    (void)state;
    uint32_t seed = 7;
    size_t sound = 0;
    for (int round = 0; round < 3000; round++) {
        sample_program sample;
        sample_program_make(&sample);
        const uint32_t m = random_bits(&seed) % 2;
        kz_value *value =
            &sample.parts[m].values[random_bits(&seed) % sample.methods[m].value_count];
        kz_instruction *instruction =
            &sample.parts[m].instructions[random_bits(&seed) % sample.methods[m].instruction_count];
        uint32_t *const places[] = {&value->index,
                                    &value->column,
                                    &value->limit,
                                    &value->rank,
                                    &value->dims[0].divisor,
                                    (uint32_t *)&value->dims[1].offset,
                                    (uint32_t *)&value->dims[0].scale[0],
                                    &instruction->operands[random_bits(&seed) % 8],
                                    (uint32_t *)&instruction->ints[random_bits(&seed) % 4],
                                    &sample.states[m].heads,
                                    &sample.parts[m].symbols[0].maximum,
                                    &sample.states[m].head_dim};
        *places[random_bits(&seed) % 12] = random_bits(&seed) % 3 == 0
                                               ? random_bits(&seed) << 8 ^ random_bits(&seed)
                                               : random_bits(&seed) % 70;
        image made;
        bool verifies = false;
        if (kz_program_write_memory(&sample.description, sample.weights, NULL, &made.bytes,
                                    &made.count) == KAZEIA_OK) {
            assert_true(try_image(&made, &verifies) && verifies);
            free_image(&made);
            sound++;
        }
        sample_program_clear(&sample);
    }
    assert_true(sound > 100 && sound < 2900);
}

// --- Damage -------------------------------------------------------------------------------------

static void every_cut_is_refused(void **state) {
    (void)state;
    image made = sample_image();
    bool verifies;
    for (size_t count = 0; count < made.count; count += count < 9000 ? 1 : 37) {
        image cut = copy_image(&made, count);
        assert_false(try_image(&cut, &verifies));
        (void)program_image_mend(cut.bytes, cut.count);
        assert_false(try_image(&cut, &verifies));
        free(cut.bytes);
    }
    free_image(&made);
}

static void every_flipped_bit_is_found(void **state) {
    (void)state;
    image made = sample_image();
    image copy = copy_image(&made, made.count);
    for (size_t i = 0; i < made.count; i++) {
        bool verifies = false;
        copy.bytes[i] ^= (uint8_t)(1u << i % 8);
        assert_false(try_image(&copy, &verifies) && verifies);
        copy.bytes[i] = made.bytes[i];
    }
    free(copy.bytes);
    free_image(&made);
}

// Past the checksums: whatever the tables say then, nothing is read outside (a sanitizer watches).
static void mended_damage_harms_nobody(void **state) {
    (void)state;
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x40};
    image made = sample_image();
    image copy = copy_image(&made, made.count);
    const uint64_t weights_end = kz_load_u64(made.bytes + 72) + kz_load_u64(made.bytes + 80);
    size_t refused = 0;
    for (size_t i = 0; i < made.count; i++) {
        if (i >= 1024 && i < weights_end) {
            continue;
        }
        for (size_t c = 0; c < sizeof changes; c++) {
            bool verifies;
            memcpy(copy.bytes, made.bytes, made.count);
            copy.bytes[i] ^= changes[c];
            if (program_image_mend(copy.bytes, copy.count)) {
                refused += !try_image(&copy, &verifies);
            }
        }
    }
    assert_true(refused > 10000);
    free(copy.bytes);
    free_image(&made);
}

// Each u32 of the tables becomes a huge count, length or index.
static void huge_numbers_take_no_memory(void **state) {
    (void)state;
    static const uint32_t numbers[] = {UINT32_MAX, INT32_MAX, 0x10000000u, 65537u, 0};
    image made = sample_image();
    image copy = copy_image(&made, made.count);
    const uint64_t weights_end = kz_load_u64(made.bytes + 72) + kz_load_u64(made.bytes + 80);
    for (size_t i = (size_t)weights_end; i + 4 <= made.count; i++) {
        for (size_t n = 0; n < 5; n++) {
            bool verifies;
            memcpy(copy.bytes, made.bytes, made.count);
            kz_store_u32(copy.bytes + i, numbers[n]);
            if (program_image_mend(copy.bytes, copy.count)) {
                (void)try_image(&copy, &verifies);
            }
        }
    }
    free(copy.bytes);
    free_image(&made);
}

// --- Sections -----------------------------------------------------------------------------------

static void expect_open_failure(const image *tried, kazeia_status expected, const char *sentence) {
    kz_program_file *file = NULL;
    const kazeia_status status =
        kz_program_file_open_memory(tried->bytes, tried->count, NULL, &file);
    if (status != expected || strstr(kazeia_last_error(), sentence) == NULL) {
        fail_msg("status %d, '%s' lacks '%s'", (int)status, kazeia_last_error(), sentence);
    }
}

// Changes one number of the header or of a section's entry, mends, and expects a sentence.
static void header_damage(size_t place, uint64_t number, size_t bytes, bool mends,
                          kazeia_status status, const char *sentence) {
    image made = sample_image();
    image copy = copy_image(&made, made.count);
    if (bytes == 4) {
        kz_store_u32(copy.bytes + place, (uint32_t)number);
    } else {
        kz_store_u64(copy.bytes + place, number);
    }
    if (mends) {
        assert_true(program_image_mend(copy.bytes, copy.count));
    }
    expect_open_failure(&copy, status, sentence);
    free(copy.bytes);
    free_image(&made);
}

static void headers_are_read_with_suspicion(void **state) {
    (void)state;
    const size_t second = KZ_HEADER_BYTES + KZ_SECTION_BYTES; // weights are the first section
    header_damage(0, 0, 4, false, KAZEIA_BAD_FILE, "not those of a program file");
    header_damage(8, 2, 4, true, KAZEIA_UNSUPPORTED, "format version 2, this library reads 3");
    header_damage(8, 4, 4, true, KAZEIA_UNSUPPORTED, "format version 4, this library reads 3");
    header_damage(12, 63, 4, true, KAZEIA_BAD_FILE, "63 bytes for 8 sections");
    header_damage(32, 65, 4, false, KAZEIA_BAD_FILE, "for 65 sections");
    header_damage(16, 1, 8, false, KAZEIA_BAD_FILE, "it was cut");
    header_damage(24, 1, 8, false, KAZEIA_BAD_FILE, "the file is damaged");
    header_damage(second, KZ_SECTION_TENSORS, 4, true, KAZEIA_BAD_FILE,
                  "a second section 'tensors'");
    header_damage(second, 9, 4, true, KAZEIA_UNSUPPORTED, "kind 9 is not known");
    header_damage(second, KZ_SECTION_OPTIONAL | 5, 4, true, KAZEIA_BAD_FILE,
                  "section 'metadata' is missing");
    header_damage(second + 8, 64, 8, true, KAZEIA_BAD_FILE, "section 1 (metadata)");
    header_damage(second + 8, kz_load_u64((uint8_t[8]){0x20, 0x10}), 8, true, KAZEIA_BAD_FILE,
                  "at a multiple of 64");
    header_damage(second + 16, 4000, 8, true, KAZEIA_BAD_FILE, "section 2 (tensors)");
    header_damage(second + 16, UINT64_MAX, 8, false, KAZEIA_BAD_FILE, "the file is damaged");
    header_damage(KZ_HEADER_BYTES + 8, 0, 8, true, KAZEIA_BAD_FILE, "section 0 (weights)");
    header_damage(KZ_HEADER_BYTES + 16, 64, 8, true, KAZEIA_BAD_FILE, "not weights section 0");
    header_damage(KZ_HEADER_BYTES + 24, 1, 8, true, KAZEIA_BAD_FILE, "not weights section 0");
}

static void memory_is_checked_too(void **state) {
    (void)state;
    image made = sample_image();
    kz_program_file *file = NULL;
    assert_int_equal(kz_program_file_open_memory(made.bytes + 8, made.count - 8, NULL, &file),
                     KAZEIA_BAD_ARGUMENT);
    sample_program sample;
    sample_program_make(&sample);
    image none;
    assert_int_equal(
        kz_program_write_memory(&sample.description, NULL, NULL, &none.bytes, &none.count),
        KAZEIA_BAD_ARGUMENT);
    sample_program_clear(&sample);
    free_image(&made);
}

// --- Memory -------------------------------------------------------------------------------------

static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    sample_program sample;
    sample_program_make(&sample);
    image made = make_image(&sample.description, sample.weights);
    size_t failures = 0;
    for (size_t calls = 0;; calls++) {
        memory_count count;
        const kazeia_allocator allocator = counted(&count, calls);
        kz_program_file *file = NULL;
        image written = {NULL, 0};
        const kazeia_status status = kz_program_write_memory(
            &sample.description, sample.weights, &allocator, &written.bytes, &written.count);
        kz_free_aligned(&allocator, written.bytes);
        assert_int_equal(count.live_bytes, 0);
        count.calls_left = calls;
        const kazeia_status opened =
            kz_program_file_open_memory(made.bytes, made.count, &allocator, &file);
        kz_program_file_close(file);
        assert_int_equal(count.live_bytes, 0);
        assert_true(status == KAZEIA_OK || status == KAZEIA_OUT_OF_MEMORY);
        assert_true(opened == KAZEIA_OK || opened == KAZEIA_OUT_OF_MEMORY);
        failures += (status != KAZEIA_OK) + (opened != KAZEIA_OK);
        if (status == KAZEIA_OK && opened == KAZEIA_OK) {
            break;
        }
    }
    assert_true(failures > 20);
    free_image(&made);
    sample_program_clear(&sample);
}

// The record whose struct is largest beside its bytes: a metadata list of one empty string.
static void dense_tables_stay_within_their_memory(void **state) {
    (void)state;
    enum { COUNT = 60000 };
    static const char *const empty[] = {""};
    kz_metadata *metadata = calloc(COUNT, sizeof *metadata);
    char(*keys)[4] = calloc(COUNT, sizeof *keys);
    assert_non_null(metadata);
    assert_non_null(keys);
    for (uint32_t i = 0; i < COUNT; i++) {
        keys[i][0] = (char)('0' + i % 64);
        keys[i][1] = (char)('0' + i / 64 % 64);
        keys[i][2] = (char)('0' + i / 4096);
        metadata[i] = (kz_metadata){
            .key = keys[i], .type = KZ_METADATA_STRINGS, .strings = empty, .count = 1};
    }
    image made =
        make_image(&(kz_program_description){.metadata = metadata, .metadata_count = COUNT}, NULL);
    bool verifies = false;
    assert_true(try_image(&made, &verifies) && verifies);
    free_image(&made);
    free(metadata);
    free(keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_program_may_be_empty),
        cmocka_unit_test(random_descriptions_come_back_or_are_refused),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(mended_damage_harms_nobody),
        cmocka_unit_test(huge_numbers_take_no_memory),
        cmocka_unit_test(headers_are_read_with_suspicion),
        cmocka_unit_test(memory_is_checked_too),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(dense_tables_stay_within_their_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
