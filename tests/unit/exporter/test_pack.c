// test_pack.c: every weight of an exported program against the rows of the checkpoint.
//
// in:  tests/golden/llama, tests/golden/whisper
// out: cmocka's report
// A matrix row must decode to exactly what the checkpoint's own row decodes to, rounded once to the
// program's format.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/reader.h"
#include "kazeia/export.h"
#include "model_graphs.h"

#define COLUMN_LIMIT 512

typedef struct packed {
    char path[256];
    kz_program_file *file;
    model_graph model; // the same graph again, which says where rows come from
} packed;

static void open_packed(packed *p, const char *source, const char *weights,
                        const kz_format_choice *choice) {
    const char *parent = getenv("TMPDIR");
    kazeia_export_settings settings = kazeia_export_settings_default();
    snprintf(p->path, sizeof p->path, "%s/kazeia-pack-%ld.kzp", parent ? parent : "/tmp",
             (long)getpid());
    settings.source = source;
    settings.output = p->path;
    settings.weights = weights;
    CHECK(kazeia_export(&settings));
    CHECK(kz_program_file_open(p->path, NULL, &p->file));
    CHECK(kz_program_file_verify(p->file));
    model_graph_open(&p->model, source, choice);
}

static void close_packed(packed *p) {
    model_graph_close(&p->model);
    kz_program_file_close(p->file);
    assert_int_equal(unlink(p->path), 0);
}

static void read_packed_row(const packed *p, const kz_tensor *tensor, uint64_t row,
                            float *out_values) {
    const uint8_t *bytes = kz_program_file_tensor(p->file, tensor);
    if (tensor->layout == KZ_ROWS) {
        const uint64_t columns = tensor->rank == 1 ? tensor->dims[0] : tensor->dims[1];
        memcpy(out_values, bytes + row * columns * sizeof(float), (size_t)columns * sizeof(float));
        return;
    }
    const size_t panel_bytes = kz_layout_panel_bytes(tensor->type, (size_t)tensor->dims[1]);
    kz_layout_unpack_row(tensor->type, bytes + row / KZ_PANEL_ROWS * panel_bytes,
                         row % KZ_PANEL_ROWS, (size_t)tensor->dims[1], out_values);
}

// The row as the checkpoint has it, in the order in which the program lays out a window.
static void read_source_row(const kz_graph_weight *weight, uint64_t row, float *out_values) {
    float values[COLUMN_LIMIT];
    const kz_weight_piece *piece = weight->pieces;
    while (row >= piece->row_count) {
        row -= piece->row_count;
        piece++;
    }
    assert_non_null(piece->tensor);
    CHECK(kz_checkpoint_decode_row(piece->tensor, piece->first_row + row, values));
    const size_t kernel = weight->shape == KZ_WEIGHT_CONV ? weight->kernel : 1;
    const size_t channels = (size_t)weight->columns / kernel;
    for (size_t i = 0; i < weight->columns; i++) {
        out_values[i % kernel * channels + i / kernel] = values[i];
    }
}

static void round_row(kz_type type, float *values, size_t columns) {
    uint8_t row_form[COLUMN_LIMIT * sizeof(float)];
    if (type == KZ_F32) {
        return;
    }
    assert_true(kz_quant_encode_row(type, values, columns, row_form));
    assert_true(kz_quant_decode_row(type, row_form, columns, values));
}

static size_t check_matrix(const packed *p, const kz_graph_weight *weight,
                           const kz_tensor *tensor) {
    float expected[COLUMN_LIMIT], found[COLUMN_LIMIT];
    const size_t columns = (size_t)weight->columns;
    assert_true(columns <= COLUMN_LIMIT);
    for (uint64_t row = 0; row < weight->rows; row++) {
        read_source_row(weight, row, expected);
        // Rows that are kept are kept: rounding again must not be needed.
        if (weight->pieces[0].tensor->type != weight->type) {
            round_row(weight->type, expected, columns);
        }
        read_packed_row(p, tensor, row, found);
        assert_memory_equal(found, expected, columns * sizeof(float));
    }
    return (size_t)weight->rows;
}

static void check_all(const char *source, const char *weights, const kz_format_choice *choice) {
    packed p;
    open_packed(&p, source, weights, choice);
    const kz_program_description *description = kz_program_file_description(p.file);
    assert_int_equal(description->tensor_count, p.model.graph.weight_count);
    size_t rows = 0;
    for (size_t i = 0; i < description->tensor_count; i++) {
        const kz_graph_weight *weight = &p.model.graph.weights[i];
        assert_string_equal(description->tensors[i].name, weight->name);
        assert_int_equal(description->tensors[i].type, weight->type);
        rows += weight->is_matrix ? check_matrix(&p, weight, &description->tensors[i]) : 0;
    }
    print_message("%s, weights %s: %zu rows\n", source, weights, rows);
    close_packed(&p);
}

static void rows_are_rounded_once(void **state) {
    static const char *const sources[] = {TINY_LLAMA, TINY_WHISPER};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check_all(sources[i], "f32", &(kz_format_choice){.type = KZ_F32});
        check_all(sources[i], "f16", &(kz_format_choice){.type = KZ_F16});
        check_all(sources[i], "bf16", &(kz_format_choice){.type = KZ_BF16});
        check_all(sources[i], "q8", &(kz_format_choice){.type = KZ_Q8_0});
        check_all(sources[i], "q4", &(kz_format_choice){.type = KZ_Q4_0});
    }
}

static void kept_rows_are_kept(void **state) {
    static const char *const types[] = {"F16", "Q8_0", "Q4_0", "Q4_1"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char source[128];
        snprintf(source, sizeof source, "tests/golden/llama/gguf/llama-tiny-%s.gguf", types[i]);
        check_all(source, "keep", &(kz_format_choice){.keeps = true});
    }
}

static void kept_super_blocks_are_kept(void **state) {
    static const char *const types[] = {"Q5_0", "Q5_1", "k-Q5_K", "k-Q4_K_M"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char source[128];
        snprintf(source, sizeof source, "tests/golden/checkpoint/qwen3-tiny-%s.gguf", types[i]);
        check_all(source, "keep", &(kz_format_choice){.keeps = true});
        // What is kept can also be made into something else.
        check_all(source, "q4", &(kz_format_choice){.type = KZ_Q4_0});
        check_all(source, "f32", &(kz_format_choice){.type = KZ_F32});
    }
}

// A Q4_0 file that calls itself IQ4_NL: the blocks have the same size, and any bits are a block.
static void write_as_iq4_nl(const char *source, const char *path) {
    kz_checkpoint *checkpoint = NULL;
    uint8_t *bytes = malloc(1 << 20);
    FILE *file = fopen(source, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    const size_t count = fread(bytes, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    CHECK(kz_checkpoint_open(source, NULL, &checkpoint));
    for (size_t i = 0; i < kz_checkpoint_tensor_count(checkpoint); i++) {
        const kz_checkpoint_tensor *tensor = kz_checkpoint_tensor_at(checkpoint, i);
        const size_t length = strlen(tensor->name);
        uint8_t *name = memmem(bytes, count, tensor->name, length);
        assert_non_null(name);
        uint8_t *type = name + length + 4 + 8 * tensor->rank; // behind the dimensions
        if (tensor->type == KZ_Q4_0) {
            assert_int_equal(*type, 2);
            *type = 20;
        }
    }
    kz_checkpoint_close(checkpoint);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

static void kept_iq4_nl_is_kept(void **state) {
    const char *parent = getenv("TMPDIR");
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/kazeia-iq4-%ld.gguf", parent ? parent : "/tmp", (long)getpid());
    write_as_iq4_nl("tests/golden/llama/gguf/llama-tiny-Q4_0.gguf", path);
    check_all(path, "keep", &(kz_format_choice){.keeps = true});
    check_all(path, "q8", &(kz_format_choice){.type = KZ_Q8_0});
    assert_int_equal(unlink(path), 0);
}

// Vectors, one part after the other; a part without a source is zeros.
static void vectors_are_joined(void **state) {
    packed p;
    float found[COLUMN_LIMIT], expected[COLUMN_LIMIT];
    (void)state;
    open_packed(&p, TINY_WHISPER, "q8", &(kz_format_choice){.type = KZ_Q8_0});
    const kz_program_description *description = kz_program_file_description(p.file);
    size_t joined = 0;
    for (size_t i = 0; i < description->tensor_count; i++) {
        const kz_graph_weight *weight = &p.model.graph.weights[i];
        if (strcmp(weight->name, "encoder.1.attention.qkv.bias") != 0) {
            continue;
        }
        read_packed_row(&p, &description->tensors[i], 0, found);
        memset(expected, 0, sizeof expected);
        CHECK(kz_checkpoint_decode_row(weight->pieces[0].tensor, 0, expected));
        CHECK(kz_checkpoint_decode_row(weight->pieces[2].tensor, 0, expected + 128));
        assert_null(weight->pieces[1].tensor);
        assert_memory_equal(found, expected, 192 * sizeof(float));
        joined++;
    }
    assert_int_equal(joined, 1);
    close_packed(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_rounded_once),      cmocka_unit_test(kept_rows_are_kept),
        cmocka_unit_test(kept_super_blocks_are_kept), cmocka_unit_test(kept_iq4_nl_is_kept),
        cmocka_unit_test(vectors_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
