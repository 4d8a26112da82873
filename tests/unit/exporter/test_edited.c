// test_edited.c: exported programs that somebody edited, with every checksum and the id made right
// again: what is wrong is then a matter of meaning, and refused at open with a sentence.
//
// in:  tests/golden/llama
// out: cmocka's report
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint_samples.h"
#include "format/byte_stream.h"
#include "format/checksum.h"
#include "format/file_parts.h"
#include "format/reader.h"
#include "kazeia/export.h"
#include "model_graphs.h"

#define PATH_BYTES SAMPLE_PATH_BYTES
#define SHARD_HEADER_CHECKSUM 40 // docs/format.md

static char folder[PATH_BYTES];

static int make_folder(void **state) {
    (void)state;
    sample_folder_create(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    sample_folder_remove(folder);
    return 0;
}

static void path_in(char out[2 * PATH_BYTES], const char *name) {
    snprintf(out, 2 * PATH_BYTES, "%s/%s", folder, name);
}

// NAME in the folder; other weights than `q8` make another program.
static void export_as(const char *name, const char *weights, uint32_t shards) {
    char path[2 * PATH_BYTES];
    kazeia_export_settings settings = kazeia_export_settings_default();
    path_in(path, name);
    settings.source = TINY_LLAMA;
    settings.output = path;
    settings.weights = weights;
    settings.shard_count = shards;
    CHECK(kazeia_export(&settings));
}

static byte_string read_file(const char *name) {
    char path[2 * PATH_BYTES];
    path_in(path, name);
    return bytes_of_file(path);
}

// --- Mending ------------------------------------------------------------------------------------

static kz_section *section_of(kz_file_header *header, uint32_t kind) {
    for (uint32_t i = 0; i < header->section_count; i++) {
        if (header->sections[i].kind == kind) {
            return &header->sections[i];
        }
    }
    fail_msg("no section %u", kind);
    return NULL;
}

// Checksums of all tables, the content id and the header.
static void mend(byte_string *file, kz_file_header *header) {
    kz_weight_context context = {0};
    for (uint32_t i = 0; i < header->section_count; i++) {
        kz_section *section = &header->sections[i];
        if (section->kind == KZ_SECTION_WEIGHTS) {
            context.bytes = section->length;
            context.checksum = section->checksum;
        } else {
            section->checksum = kz_checksum(file->bytes + section->offset, (size_t)section->length);
        }
    }
    header->id = kz_content_id(header->sections, header->section_count, &context, 1);
    kz_header_encode(header, file->bytes);
}

static void expect_open(const char *name, kazeia_status expected, const char *words) {
    char path[2 * PATH_BYTES];
    kz_program_file *file = NULL;
    path_in(path, name);
    const kazeia_status status = kz_program_file_open(path, NULL, &file);
    if (status == KAZEIA_OK) {
        kz_program_file_close(file);
    }
    assert_int_equal(status, expected);
    if (expected != KAZEIA_OK && strstr(kazeia_last_error(), words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", kazeia_last_error(), words);
    }
}

// The bytes of `name` as the format writes a string, in section `kind`; what follows them.
static uint8_t *behind_name(byte_string *file, kz_file_header *header, uint32_t kind,
                            const char *name) {
    const kz_section *section = section_of(header, kind);
    uint8_t *bytes = file->bytes + section->offset;
    const size_t length = strlen(name) + 1;
    for (size_t i = 4; i + length <= section->length; i++) {
        if (memcmp(bytes + i, name, length) == 0 && kz_load_u32(bytes + i - 4) == length - 1) {
            return bytes + i + length;
        }
    }
    fail_msg("no '%s' in section %u", name, kind);
    return NULL;
}

typedef struct edit {
    uint32_t kind;    // of the section
    const char *name; // the number stands `place` bytes behind it; NULL: behind the section's start
    size_t place;
    uint32_t from, to;
    const char *words;
} edit;

static void expect_refusal(const edit *e) {
    byte_string file = read_file("m.kzp");
    kz_file_header header;
    CHECK(kz_header_decode(file.bytes, file.count, &header));
    uint8_t *place = (e->name ? behind_name(&file, &header, e->kind, e->name)
                              : file.bytes + section_of(&header, e->kind)->offset) +
                     e->place;
    assert_int_equal(kz_load_u32(place), e->from);
    kz_store_u32(place, e->to);
    sample_file_write(folder, "damaged.kzp", file.bytes, file.count);
    expect_open("damaged.kzp", KAZEIA_BAD_FILE, "the file is damaged"); // by its checksum
    mend(&file, &header);
    sample_file_write(folder, "edited.kzp", file.bytes, file.count);
    expect_open("edited.kzp", KAZEIA_BAD_FILE, e->words);
    bytes_clear(&file);
}

// --- Meaning ------------------------------------------------------------------------------------

static void mending_alone_changes_nothing(void **state) {
    (void)state;
    export_as("m.kzp", "q8", 1);
    byte_string file = read_file("m.kzp");
    byte_string before = read_file("m.kzp");
    kz_file_header header;
    CHECK(kz_header_decode(file.bytes, file.count, &header));
    mend(&file, &header);
    assert_memory_equal(file.bytes, before.bytes, before.count);
    expect_open("m.kzp", KAZEIA_OK, "");
    bytes_clear(&file);
    bytes_clear(&before);
}

// Behind a state's name: type u32, rows u64, heads u32, head_dim u32, bytes of a row u64.
static void other_cache_widths_are_refused(void **state) {
    static const edit edits[] = {
        {KZ_SECTION_STATES, "key.1", 0, KZ_F16, KZ_I8, "state 2: 2 heads of 16 i8 take 40 bytes"},
        {KZ_SECTION_STATES, "value.0", 0, KZ_F16, KZ_F32, "the width of its cache was changed"},
        {KZ_SECTION_STATES, "key.0", 16, 16, 8, "2 heads of 8 f16 take 32 bytes a row"},
        {KZ_SECTION_STATES, "key.0", 12, 2, 3, "exported for 64"},
        {KZ_SECTION_STATES, "key.0", 20, 64, 40, "exported for 40"},
        {KZ_SECTION_STATES, "key.0", 4, 512, 256,
         "row table of rows below 512, but the state has 256"},
    };
    (void)state;
    export_as("m.kzp", "q8", 1);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        expect_refusal(&edits[i]);
    }
}

// A width that agrees with its row, but not with what the methods write there.
static void widths_that_no_method_has_are_refused(void **state) {
    (void)state;
    export_as("m.kzp", "q8", 1);
    byte_string file = read_file("m.kzp");
    kz_file_header header;
    CHECK(kz_header_decode(file.bytes, file.count, &header));
    uint8_t *key = behind_name(&file, &header, KZ_SECTION_STATES, "key.0");
    kz_store_u32(key + 16, 8);
    kz_store_u32(key + 20, 32);
    mend(&file, &header);
    sample_file_write(folder, "edited.kzp", file.bytes, file.count);
    expect_open("edited.kzp", KAZEIA_BAD_FILE, "instruction");
    bytes_clear(&file);
}

// The tokenizer's header has its number of tokens at 16; an integer of the metadata stands behind
// its key, type, a zero and a count of 1.
static void other_tokenizers_are_refused(void **state) {
    kz_program_file *program = NULL;
    char path[2 * PATH_BYTES];
    (void)state;
    export_as("m.kzp", "q8", 1);
    path_in(path, "m.kzp");
    CHECK(kz_program_file_open(path, NULL, &program));
    const kz_program_description *description = kz_program_file_description(program);
    const uint32_t tokens = (uint32_t)kz_metadata_find(description, "tokenizer.tokens")->integer;
    const uint32_t rows = (uint32_t)kz_metadata_find(description, "model.vocabulary")->integer;
    kz_program_file_close(program);
    assert_true(tokens > 0 && tokens <= rows);
    const edit edits[] = {
        {KZ_SECTION_TOKENIZER, NULL, 16, tokens, tokens + 1, "the tokenizer of another model"},
        {KZ_SECTION_METADATA, "tokenizer.tokens", 12, tokens, tokens - 1, "of another model"},
        {KZ_SECTION_METADATA, "model.vocabulary", 12, rows, tokens - 1, "of another model"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        expect_refusal(&edits[i]);
    }
}

static void other_versions_and_ids_are_refused(void **state) {
    (void)state;
    export_as("m.kzp", "q8", 1);
    byte_string file = read_file("m.kzp");
    kz_file_header header;
    CHECK(kz_header_decode(file.bytes, file.count, &header));
    header.version = KZ_FORMAT_VERSION + 1;
    kz_header_encode(&header, file.bytes);
    sample_file_write(folder, "edited.kzp", file.bytes, file.count);
    expect_open("edited.kzp", KAZEIA_UNSUPPORTED, "export it again");
    header.version = KZ_FORMAT_VERSION;
    header.id ^= 1;
    kz_header_encode(&header, file.bytes);
    sample_file_write(folder, "edited.kzp", file.bytes, file.count);
    expect_open("edited.kzp", KAZEIA_BAD_FILE, "but its content makes");
    bytes_clear(&file);
}

// --- Shards -------------------------------------------------------------------------------------

// The id of the program, from its name's eight digits' origin: the header.
static uint64_t id_of(const char *name) {
    byte_string file = read_file(name);
    kz_file_header header;
    CHECK(kz_header_decode(file.bytes, file.count, &header));
    bytes_clear(&file);
    return header.id;
}

static void shard_name(char out[64], const char *stem, uint64_t id, unsigned index,
                       unsigned count) {
    snprintf(out, 64, "%s.%08llx.%u-of-%u.kzw", stem, (unsigned long long)id >> 32, index, count);
}

// All weights of a program, one tensor after the other.
static uint64_t weights_checksum(const char *name) {
    char path[2 * PATH_BYTES];
    kz_program_file *file = NULL;
    kz_checksum_stream *stream = NULL;
    path_in(path, name);
    CHECK(kz_program_file_open(path, NULL, &file));
    CHECK(kz_program_file_verify(file));
    CHECK(kz_checksum_stream_create(NULL, &stream));
    const kz_program_description *description = kz_program_file_description(file);
    for (size_t i = 0; i < description->tensor_count; i++) {
        kz_checksum_stream_add(stream, kz_program_file_tensor(file, &description->tensors[i]),
                               (size_t)description->tensors[i].bytes);
    }
    const uint64_t checksum = kz_checksum_stream_finish(stream);
    kz_checksum_stream_destroy(stream);
    kz_program_file_close(file);
    return checksum;
}

static void any_number_of_shards_is_one_program(void **state) {
    static const uint32_t counts[] = {2, 7};
    (void)state;
    export_as("whole.kzp", "q8", 1);
    for (size_t i = 0; i < 2; i++) {
        export_as("cut.kzp", "q8", counts[i]);
        assert_true(weights_checksum("cut.kzp") == weights_checksum("whole.kzp"));
        for (unsigned shard = 1; shard <= counts[i]; shard++) {
            char name[64], path[2 * PATH_BYTES];
            shard_name(name, "cut", id_of("cut.kzp"), shard, counts[i]);
            path_in(path, name);
            assert_int_equal(access(path, R_OK), 0);
        }
    }
}

// Writes the bytes in place of the shard, expects a sentence that names it, puts the shard back.
static void expect_shard_refusal(const char *name, const byte_string *tried, size_t count,
                                 kazeia_status status, const char *words) {
    byte_string whole = read_file(name);
    sample_file_write(folder, name, tried->bytes, count);
    expect_open("m.kzp", status, name);
    expect_open("m.kzp", status, words);
    sample_file_write(folder, name, whole.bytes, whole.count);
    expect_open("m.kzp", KAZEIA_OK, "");
    bytes_clear(&whole);
}

static void mend_shard(byte_string *shard) {
    memset(shard->bytes + SHARD_HEADER_CHECKSUM, 0, 8);
    kz_store_u64(shard->bytes + SHARD_HEADER_CHECKSUM,
                 kz_checksum(shard->bytes, KZ_SHARD_HEADER_BYTES));
}

static void each_wrong_shard_is_named(void **state) {
    char name[64], other[64], path[2 * PATH_BYTES];
    (void)state;
    export_as("m.kzp", "q8", 7);
    export_as("other.kzp", "q4", 7);
    for (unsigned i = 1; i <= 7; i++) {
        shard_name(name, "m", id_of("m.kzp"), i, 7);
        shard_name(other, "m", id_of("m.kzp"), i % 7 + 1, 7);
        byte_string shard = read_file(name);
        byte_string neighbour = read_file(other);
        expect_shard_refusal(name, &neighbour, neighbour.count, KAZEIA_BAD_FILE, "of 7, expected");
        expect_shard_refusal(name, &shard, shard.count - 1, KAZEIA_BAD_FILE, "bytes, expected");
        expect_shard_refusal(name, &shard, 100, KAZEIA_BAD_FILE, "no");
        shard_name(other, "other", id_of("other.kzp"), i, 7);
        byte_string stale = read_file(other);
        expect_shard_refusal(name, &stale, stale.count, KAZEIA_BAD_FILE, "it belongs to program");
        kz_store_u32(shard.bytes + 8, KZ_FORMAT_VERSION + 1);
        mend_shard(&shard);
        expect_shard_refusal(name, &shard, shard.count, KAZEIA_UNSUPPORTED, "format version");
        kz_store_u32(shard.bytes + 8, KZ_FORMAT_VERSION);
        kz_store_u64(shard.bytes + 24, id_of("m.kzp") ^ 1);
        mend_shard(&shard);
        expect_shard_refusal(name, &shard, shard.count, KAZEIA_BAD_FILE, "it belongs to program");
        kz_store_u64(shard.bytes + 24, id_of("m.kzp"));
        mend_shard(&shard);
        path_in(path, name);
        assert_int_equal(unlink(path), 0);
        expect_open("m.kzp", KAZEIA_NOT_FOUND, name);
        sample_file_write(folder, name, shard.bytes, shard.count);
        expect_open("m.kzp", KAZEIA_OK, ""); // mended to what it was
        bytes_clear(&shard);
        bytes_clear(&neighbour);
        bytes_clear(&stale);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(mending_alone_changes_nothing),
        TEST(other_cache_widths_are_refused),
        TEST(widths_that_no_method_has_are_refused),
        TEST(other_tokenizers_are_refused),
        TEST(other_versions_and_ids_are_refused),
        TEST(any_number_of_shards_is_one_program),
        TEST(each_wrong_shard_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
