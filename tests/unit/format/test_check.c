// test_check.c: a sound description passes; each unsound one is refused with a sentence that says
// why.
//
// Every refusal starts from the sound sample and changes one thing. The sentence is compared, so
// that a refusal for some other reason does not count.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/check.h"
#include "programs.h"

static void expect_refusal(sample_program *sample, const char *expected, int line) {
    for (size_t i = 0; i < sample->description.tensor_count; i++) {
        sample->tensors[i].offset = 0;
    }
    const kazeia_status status = kz_check_description(&sample->description, NULL);
    if (status == KAZEIA_OK || strstr(kazeia_last_error(), expected) == NULL) {
        fail_msg("line %d: status %d, '%s' lacks '%s'", line, (int)status,
                 status == KAZEIA_OK ? "" : kazeia_last_error(), expected);
    }
    sample_program_clear(sample);
}

// One weight context that is large enough for every tensor at offset 0.
static const kz_weight_context context = {.offset = KZ_PAGE, .bytes = 1u << 20};

static void make_checkable(sample_program *sample) {
    sample_program_make(sample);
    sample->description.contexts = &context;
    sample->description.context_count = 1;
}

// Makes a sample, changes it, and expects to read `expected` in the sentence.
#define REFUSED(expected, change)               \
    do {                                        \
        sample_program s;                       \
        make_checkable(&s);                     \
        change;                                 \
        expect_refusal(&s, expected, __LINE__); \
    } while (0)

#define OP(method, op) sample_find(&s, method, KZ_OP_##op, 0)
#define VALUE(method, op, i) s.parts[method].values[OP(method, op)->operands[i]]
#define TENSOR(method, op, i) s.tensors[VALUE(method, op, i).index]

static void sound_descriptions_pass(void **state) {
    (void)state;
    sample_program sample;
    make_checkable(&sample);
    if (kz_check_description(&sample.description, NULL) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    for (uint32_t op = 0; op < 64; op++) { // the sample is worth its name: every op is in it
        bool is_used = kz_op_find(op) == NULL;
        for (uint32_t m = 0; m < 3; m++) {
            for (uint32_t i = 0; i < sample.methods[m].instruction_count; i++) {
                is_used = is_used || (uint32_t)sample.parts[m].instructions[i].op == op;
            }
        }
        assert_true(is_used);
    }
    sample_program_clear(&sample);
    const kz_program_description empty = {0};
    assert_int_equal(kz_check_description(&empty, NULL), KAZEIA_OK);
}

static void names_and_metadata(void **state) {
    (void)state;
    REFUSED("a name of 0 bytes", s.tensors[3].name = "");
    REFUSED("'norm' is there twice", s.tensors[3].name = "norm");
    REFUSED("metadata 'stops' is there twice", s.metadata[0].key = "stops");
    REFUSED("state 'value.0' is there twice", s.states[0].name = "value.0");
    REFUSED("method 'encode' is there twice", s.methods[0].name = "encode");
    REFUSED("byte 1 is a control character", s.tensors[0].name = "a\x1b[2J");
    REFUSED("byte 1 is a control character", s.methods[0].name = "a\xc2\x9b");
    REFUSED("byte 1 is no UTF-8", s.states[0].name = "a\xff");
    REFUSED("byte 0 is no UTF-8", s.states[0].name = "\xc0\x80");
    REFUSED("byte 0 is no UTF-8", s.states[0].name = "\xed\xa0\x80");
    REFUSED("byte 0 is no UTF-8", s.states[0].name = "\xf4\x90\x80\x80");
    REFUSED("byte 0 is no UTF-8", s.states[0].name = "\xe2\x82");
    char long_name[257];
    memset(long_name, 'x', 256);
    long_name[256] = '\0';
    REFUSED("a name of 256 bytes", s.states[0].name = long_name);
    REFUSED("bool 2", s.metadata[2].integer = 2);
    REFUSED("type 9 is unknown", s.metadata[2].type = (kz_metadata_type)9);
    REFUSED("licence 'a\?b'", s.metadata[3].string = "a\x01"
                                                     "b");
    const char *const strings[] = {"fine", "\x80"};
    REFUSED("languages", (s.metadata[5].strings = strings, s.metadata[5].count = 2));
}

static void tensors_and_states(void **state) {
    (void)state;
    REFUSED("type 5 in layout 1", s.tensors[0].type = (kz_type)5);
    REFUSED("type 48 in layout 1", s.tensors[0].type = KZ_A8);
    REFUSED("type 16 in layout 0", s.tensors[0].layout = KZ_ROWS);
    REFUSED("type 16 in layout 7", s.tensors[0].layout = (kz_layout)7);
    REFUSED("rank 1 in layout tile16, 2 to 2", s.tensors[0].rank = 1);
    REFUSED("rank 5 in layout rows, 1 to 4", s.tensors[1].rank = 5);
    REFUSED("extent 0 of 2 is 0", s.tensors[1].dims[0] = 0);
    REFUSED("extent 2 of 2 is 2", s.tensors[1].dims[2] = 2);
    REFUSED("extent 1 of 2 is 18446744073709551615", s.tensors[1].dims[1] = UINT64_MAX);
    REFUSED("a multiple of 32", s.tensors[0].dims[1] = 65);
    REFUSED("a multiple of 256", s.tensors[0].type = KZ_Q6_K);
    REFUSED("bytes for 40 x 64 q8_0", s.tensors[0].bytes++);
    REFUSED("are too large", (s.tensors[1].dims[0] = INT32_MAX, s.tensors[1].dims[1] = INT32_MAX));
    REFUSED("weight context 1 of 1", s.tensors[0].context = 1);
    REFUSED("weight context 0 of 0", s.description.context_count = 0);
    static const kz_weight_context small = {.bytes = 64};
    REFUSED("within the 64 bytes", s.description.contexts = &small);
    REFUSED("f32, f16 or i8", s.states[0].type = KZ_Q8_0);
    REFUSED("heads of 0", s.states[0].head_dim = 0);
    REFUSED("heads of 6 elements of i8, a multiple of 4", s.states[0].head_dim = 6);
    REFUSED("heads of 1025", (s.states[0].type = KZ_F16, s.states[0].head_dim = 1025));
    REFUSED("0 rows", s.states[0].rows = 0);
    REFUSED("0 heads", s.states[0].heads = 0);
    REFUSED("rows of 2 heads", s.states[0].rows = UINT64_MAX);
    REFUSED("too many", (s.states[0].rows = INT32_MAX, s.states[0].heads = 1u << 20));
}

static void offsets_of_tensors(void **state) {
    (void)state;
    sample_program sample;
    make_checkable(&sample);
    sample.tensors[0].offset = 32;
    assert_int_equal(kz_check_description(&sample.description, NULL), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "a multiple of 64"));
    sample.tensors[0].offset = UINT64_MAX - 63;
    assert_int_equal(kz_check_description(&sample.description, NULL), KAZEIA_BAD_FILE);
    sample.tensors[0].offset = context.bytes;
    assert_int_equal(kz_check_description(&sample.description, NULL), KAZEIA_BAD_FILE);
    sample_program_clear(&sample);
}

static void symbols_and_values(void **state) {
    (void)state;
    REFUSED("5 symbols", s.methods[0].symbol_count = 5);
    REFUSED("its maximum is 0", s.parts[0].symbols[1].maximum = 0);
    REFUSED("its maximum is 1048577", s.parts[0].symbols[1].maximum = 1048577);
    REFUSED("symbol 'tokens' is there twice", s.parts[0].symbols[1].name = "tokens");
    REFUSED("kind 9 is unknown", VALUE(0, EMBED, 2).kind = (kz_value_kind)9);
    REFUSED("type unknown in the arena", VALUE(0, EMBED, 2).type = (kz_type)99);
    REFUSED("type i32 in the arena", VALUE(0, EMBED, 2).type = KZ_I32);
    REFUSED("rank 3, 1 or 2", VALUE(0, EMBED, 2).rank = 3);
    REFUSED("at a multiple of 64", VALUE(0, EMBED, 2).offset += 4);
    REFUSED("within the arena's", VALUE(0, EMBED, 2).offset = UINT64_MAX - 63);
    REFUSED("within the arena's", s.methods[0].arena_bytes -= 64);
    REFUSED("an arena of 18446744073709551615", s.methods[0].arena_bytes = UINT64_MAX);
    REFUSED("it has a name", VALUE(0, EMBED, 2).name = "x");
    REFUSED("it lacks a name", VALUE(0, EMBED, 0).name = NULL);
    REFUSED("dimension 0 is negative", VALUE(0, EMBED, 2).dims[0].offset = -1);
    REFUSED("dimension 0 is negative", VALUE(0, EMBED, 2).dims[0].scale[0] = -1);
    REFUSED("dimension 0 is negative", VALUE(0, EMBED, 2).dims[0].scale[3] = 1);
    REFUSED("dimension 1 is negative", VALUE(0, EMBED, 2).dims[1].divisor = 0);
    REFUSED("tensor 99 of", VALUE(0, EMBED, 1).index = 99);
    REFUSED("state 5 of 5", VALUE(0, CACHE_WRITE, 4).index = 5);
    REFUSED("rank 0 expected", VALUE(0, CACHE_WRITE, 4).rank = 2);
    REFUSED("type f16, f32 or i32", VALUE(0, EMBED, 0).type = KZ_F16);
    REFUSED("limit 0 of its elements", VALUE(0, EMBED, 0).limit = 0);
    REFUSED("type a8, f32 expected", sample_value(&s, 0, "hidden")->type = KZ_A8);
    REFUSED("view of value 1000 of", VALUE(0, HEAD_RMS_NORM, 0).index = 1000);
    REFUSED("view of value 0 (input i32", VALUE(0, HEAD_RMS_NORM, 0).index = 0);
    REFUSED("view from column 100 on", VALUE(0, HEAD_RMS_NORM, 0).column = 100);
    REFUSED("view from column 4294967295", VALUE(0, HEAD_RMS_NORM, 0).column = UINT32_MAX);
    REFUSED("of the same number", VALUE(0, HEAD_RMS_NORM, 0).dims[0].scale[1] = 1);
    REFUSED("constant columns", VALUE(0, HEAD_RMS_NORM, 0).dims[1] = kz_dim_symbol(0));
}

static void inputs_and_outputs(void **state) {
    (void)state;
    REFUSED("'tokens' is there twice", sample_value(&s, 0, "positions")->name = "tokens");
    REFUSED("'tokens' is there twice", sample_value(&s, 0, "hidden")->name = "tokens");
    REFUSED("value 0 of", s.parts[0].inputs[1] = 0);
    REFUSED("value 4000 of", s.parts[0].inputs[1] = 4000);
    REFUSED("is no output", s.parts[0].outputs[0] = 0);
    REFUSED("'rows') is missing in the list of inputs", s.methods[0].input_count--);
    REFUSED("'hidden') is missing in the list of outputs", s.methods[0].output_count--);
    REFUSED("output 'hidden' is written by no", s.methods[0].instruction_count--);
}

static void operands(void **state) {
    (void)state;
    REFUSED("op 0 is not known", OP(0, EMBED)->op = (kz_op)0);
    REFUSED("op 77 is not known", OP(0, EMBED)->op = (kz_op)77);
    REFUSED("operand 1 is value 99", OP(0, EMBED)->operands[1] = 99);
    REFUSED("operand 1 is value 4294967295", OP(0, EMBED)->operands[1] = KZ_NO_VALUE);
    REFUSED("a weight matrix in layout tile16", OP(0, EMBED)->operands[1] = 0);
    REFUSED("tokens below 41", VALUE(0, EMBED, 0).limit = 41);
    REFUSED("one element for each row", VALUE(0, EMBED, 0).dims[0] = kz_dim_symbol(1));
    REFUSED("scale is nan", OP(0, EMBED)->floats[0] = NAN);
    REFUSED("arena or output, since it is written",
            OP(1, UNFOLD)->operands[1] = s.parts[1].inputs[0];
            OP(1, UNFOLD)->ints[0] = 1; OP(1, UNFOLD)->ints[1] = 1; OP(1, UNFOLD)->ints[3] = 0;
            OP(1, UNFOLD)->ints[4] = 0);
    REFUSED("and all of its rows", s.parts[0].symbols[0].maximum = 9;
            s.methods[0].arena_bytes *= 2);
    REFUSED("a value that an earlier instruction writes",
            OP(0, ADD)->operands[0] = OP(0, QUANTISE)->operands[0]);
    REFUSED("memory apart", OP(0, LAYER_NORM)->operands[3] = OP(0, LAYER_NORM)->operands[0]);
    REFUSED("memory apart", OP(0, HEAD_RMS_NORM)->operands[2] = OP(0, HEAD_RMS_NORM)->operands[0]);
    REFUSED("an f32 weight of 64", OP(0, RMS_NORM)->operands[1] = OP(0, EMBED)->operands[1]);
    REFUSED("an f32 weight of 64", OP(0, LAYER_NORM)->operands[2] = OP(0, ROPE)->operands[2]);
    REFUSED("epsilon is -1", OP(0, RMS_NORM)->floats[0] = -1.0f);
    REFUSED("epsilon is inf", OP(0, LAYER_NORM)->floats[0] = INFINITY);
    REFUSED("head_dim is 0", OP(0, HEAD_RMS_NORM)->ints[0] = 0);
    REFUSED("columns in whole heads", OP(0, HEAD_RMS_NORM)->ints[0] = 24);
    REFUSED("a8 or a16 rows expected", OP(0, QUANTISE)->operands[1] = OP(0, EMBED)->operands[2]);
    REFUSED("a8 or a16 rows for a quantised",
            OP(0, LINEAR)->operands[0] = OP(0, EMBED)->operands[2]);
    REFUSED("f32 rows for a float weight",
            OP(0, LINEAR)->operands[1] = OP(0, GATE)->operands[0] - 3);
    REFUSED("a8 rows of 65537 columns", VALUE(1, UNFOLD, 1).type = KZ_A8;
            VALUE(1, UNFOLD, 1).dims[1] = kz_dim_constant(65537);
            s.methods[1].arena_bytes = 1u << 24);
    REFUSED("as many columns as operand 0",
            OP(1, LINEAR)->operands[0] = OP(1, ACTIVATE)->operands[1]);
    REFUSED("an f32 weight of 128", OP(0, LINEAR)->operands[2] = OP(0, RMS_NORM)->operands[1]);
    REFUSED("128 columns (not 64)", OP(0, LINEAR)->operands[3] = OP(0, EMBED)->operands[2]);
    REFUSED("activation is 4", OP(0, LINEAR)->ints[0] = KZ_ACTIVATION_COUNT);
    REFUSED("activation is -1", OP(0, LINEAR)->ints[0] = -1);
}

static void heads_and_caches(void **state) {
    (void)state;
    REFUSED("rotary is 18", OP(0, ROPE)->ints[1] = 18);
    REFUSED("an even number rotated", OP(0, ROPE)->ints[1] = 15);
    REFUSED("pairing is 2", OP(0, ROPE)->ints[2] = 2);
    REFUSED("an f32 weight of 7", OP(0, ROPE)->ints[1] = 14);
    REFUSED("an i32 input with one", OP(0, ROPE)->operands[1] = OP(0, CACHE_WRITE)->operands[1]);
    REFUSED("a state expected", OP(0, CACHE_WRITE)->operands[4] = 0);
    REFUSED("heads that make up the columns", s.states[0].heads = 1);
    REFUSED("rows below 65, but the state has 64", sample_value(&s, 0, "rows")->limit = 65);
    REFUSED("rows below 64, but the state has 63", s.states[1].rows = 63);
    REFUSED("positions below 33", sample_value(&s, 0, "positions")->limit = 33);
    REFUSED("sequences below 3", sample_value(&s, 0, "sequences")->limit = 3);
    REFUSED("a row table", OP(0, ATTENTION)->operands[3] = 0);
    REFUSED("the type, heads and head size of operand 1", s.states[1].type = KZ_F32);
    REFUSED("heads is 0", OP(0, ATTENTION)->ints[0] = 0);
    REFUSED("heads of the states' size", OP(0, ATTENTION)->ints[0] = 8);
    REFUSED("heads is 2050 for states of 2", OP(0, ATTENTION)->ints[0] = 2050);
    REFUSED("window is -1", OP(0, ATTENTION)->ints[1] = -1);
    REFUSED("scale is inf", OP(0, ATTENTION)->floats[0] = INFINITY);
    REFUSED("memory apart", OP(0, ATTENTION)->operands[6] = OP(0, ATTENTION)->operands[0]);
    REFUSED("columns in whole heads", OP(1, ATTENTION_FULL)->ints[0] = 5);
    REFUSED("memory apart", OP(1, ATTENTION_FULL)->operands[3] = OP(1, ACTIVATE)->operands[1]);
    REFUSED("quantised as operand 0", OP(0, LINEAR)->operands[1] = OP(0, LINEAR)->operands[4];
            OP(0, LINEAR)->op = KZ_OP_UNFOLD);
    REFUSED("kernel is 0", OP(1, UNFOLD)->ints[0] = 0);
    REFUSED("stride is 0", OP(1, UNFOLD)->ints[1] = 0);
    REFUSED("dilation is 0", OP(1, UNFOLD)->ints[2] = 0);
    REFUSED("left is -1", OP(1, UNFOLD)->ints[3] = -1);
    REFUSED("right is 65537", OP(1, UNFOLD)->ints[4] = 65537);
    REFUSED("rows of kernel * columns", OP(1, UNFOLD)->ints[0] = 4);
    REFUSED("rows of kernel * columns", OP(1, UNFOLD)->ints[2] = 3);
    REFUSED("rows of kernel * columns", OP(1, UNFOLD)->ints[3] = 2);
    REFUSED("rows of kernel * columns", OP(1, UNFOLD)->ints[4] = 2);
    REFUSED("activation is 0", OP(1, ACTIVATE)->ints[0] = 0);
    REFUSED("activation is 1", OP(0, GATE)->ints[0] = KZ_ACTIVATION_GELU);
    REFUSED("64 columns (not 128)", OP(0, GATE)->operands[1] = OP(0, GATE)->operands[0]);
}

#define STATE(op, i) s.states[VALUE(2, op, i).index]

static void elements_of_signals(void **state) {
    (void)state;
    REFUSED("function is 0", OP(2, MAP)->ints[0] = 0);
    REFUSED("function is 13", OP(2, MAP)->ints[0] = KZ_MAP_COUNT);
    REFUSED("a is 0", OP(2, MAP)->ints[0] = KZ_MAP_LOG; OP(2, MAP)->floats[0] = 0.0f);
    REFUSED("a is nan", OP(2, MAP)->floats[0] = NAN);
    REFUSED("b is -2", OP(2, MAP)->floats[1] = -2.0f);
    REFUSED("32 columns (not 16)", OP(2, MAP)->operands[0] = OP(2, MAGNITUDE)->operands[0]);
    REFUSED("an f32 weight of 16", OP(2, MUL)->operands[1] = OP(2, FOLD)->operands[1]);
    REFUSED("16 columns (not 32)", OP(2, MUL)->operands[1] = OP(2, MAGNITUDE)->operands[0]);
    REFUSED("as many rows as operand 0", OP(2, MUL)->operands[1] = OP(2, JOIN_TAIL)->operands[2]);
    REFUSED("an f32 weight of 16", OP(2, SNAKE)->operands[1] = OP(2, DEPTHWISE)->operands[1]);
    REFUSED("an f32 weight of 16", OP(2, SNAKE)->operands[2] = OP(2, FOLD)->operands[1]);
    REFUSED("memory apart", OP(2, SNAKE)->operands[0] = OP(2, MUL)->operands[2];
            OP(2, SNAKE)->operands[3] = OP(2, MUL)->operands[2]);
    REFUSED("32 columns (not 16)", OP(2, SCALE_SHIFT)->operands[1] = OP(2, SNAKE)->operands[0]);
    REFUSED("arena or output", OP(2, SCALE_SHIFT)->operands[2] = OP(2, SCALE_SHIFT)->operands[0]);
    REFUSED("columns in two halves", VALUE(2, LSTM, 4).dims[1] = kz_dim_constant(7);
            OP(2, MAGNITUDE)->operands[0] = OP(2, LSTM)->operands[4]);
    REFUSED("16 columns (not 8)", OP(2, MAGNITUDE)->operands[1] = OP(2, LSTM)->operands[4]);
    REFUSED("epsilon is -1", OP(2, MAGNITUDE)->floats[0] = -1.0f);
}

static void sources_and_convolutions(void **state) {
    (void)state;
    REFUSED("stretch is 0", OP(2, SINES)->ints[0] = 0);
    REFUSED("harmonics is 33", OP(2, SINES)->ints[1] = 33);
    REFUSED("rate is 0", OP(2, SINES)->floats[0] = 0.0f);
    REFUSED("threshold is -1", OP(2, SINES)->floats[1] = -1.0f);
    REFUSED("one column", OP(2, SINES)->operands[0] = OP(2, POLAR)->operands[0]);
    REFUSED("stretch rows for each", OP(2, SINES)->ints[0] = 5);
    REFUSED("a column a harmonic", OP(2, SINES)->ints[1] = 4);
    REFUSED("an f32 weight of 16", OP(2, POLAR)->operands[1] = OP(2, CONVOLVE)->operands[2]);
    REFUSED("least magnitude is -1", OP(2, POLAR)->floats[0] = -1.0f);
    REFUSED("columns in two halves", OP(2, POLAR)->operands[0] = OP(2, SINES)->operands[1]);
    REFUSED("32 columns (not 8)", OP(2, POLAR)->operands[2] = OP(2, CONVOLVE)->operands[4]);
    REFUSED("one row of twice", OP(2, COLUMN_FIT)->operands[1] = OP(2, COLUMN_FIT)->operands[0]);
    REFUSED("one row of three times", OP(2, COLUMN_FIT)->operands[2] = OP(2, POLAR)->operands[2]);
    REFUSED("epsilon is 0", OP(2, COLUMN_FIT)->floats[0] = 0.0f);
    REFUSED("one row of three times", OP(2, ADAPT)->operands[1] = OP(2, POLAR)->operands[2]);
    REFUSED("alpha and beta, or neither", OP(2, ADAPT)->operands[2] = KZ_NO_VALUE);
    REFUSED("alpha and beta, or neither", OP(2, ADAPT)->operands[3] = KZ_NO_VALUE);
    REFUSED("an f32 weight of 16", OP(2, ADAPT)->operands[3] = OP(2, CONVOLVE)->operands[2]);
    REFUSED("slope is nan", OP(2, ADAPT)->floats[0] = NAN);
    REFUSED("16 columns (not 8)", OP(2, ADAPT)->operands[4] = OP(2, CONVOLVE)->operands[4]);
    REFUSED("kernel is 0", OP(2, CONVOLVE)->ints[0] = 0);
    REFUSED("right is -1", OP(2, CONVOLVE)->ints[4] = -1);
    REFUSED("kernel * columns columns", OP(2, CONVOLVE)->ints[0] = 4);
    REFUSED("a row a window", OP(2, CONVOLVE)->ints[3] = 2);
    REFUSED("an f32 weight of 8", OP(2, CONVOLVE)->operands[2] = OP(2, POLAR)->operands[1]);
    REFUSED("8 columns (not 32)", OP(2, CONVOLVE)->operands[3] = OP(2, POLAR)->operands[2]);
    REFUSED("f32 rows for a float weight",
            OP(2, CONVOLVE)->operands[0] = OP(2, SNAKE)->operands[3]);
}

static void windows_of_signals(void **state) {
    (void)state;
    REFUSED("a state expected", OP(2, JOIN_TAIL)->operands[1] = OP(2, JOIN_TAIL)->operands[0]);
    REFUSED("f32 rows of operand 0's columns", STATE(JOIN_TAIL, 1).type = KZ_F16);
    REFUSED("f32 rows of operand 0's columns", STATE(JOIN_TAIL, 1).heads = 1);
    REFUSED("the state's rows and operand 0's", STATE(JOIN_TAIL, 1).rows = 3);
    REFUSED("kernel is 0", OP(2, DEPTHWISE)->ints[0] = 0);
    REFUSED("dilation is 0", OP(2, DEPTHWISE)->ints[1] = 0);
    REFUSED("left is -1", OP(2, DEPTHWISE)->ints[2] = -1);
    REFUSED("right is 65537", OP(2, DEPTHWISE)->ints[3] = 65537);
    REFUSED("multiplier is 0", OP(2, DEPTHWISE)->ints[4] = 0);
    REFUSED("multiplier * kernel rows", OP(2, DEPTHWISE)->ints[4] = 1);
    REFUSED("multiplier * kernel rows", TENSOR(2, DEPTHWISE, 1).type = KZ_F16;
            TENSOR(2, DEPTHWISE, 1).bytes /= 2);
    REFUSED("rows + left + right", OP(2, DEPTHWISE)->ints[1] = 1);
    REFUSED("rows + left + right", OP(2, DEPTHWISE)->ints[3] = 1);
    REFUSED("an f32 weight of 32", OP(2, DEPTHWISE)->operands[2] = OP(2, FOLD)->operands[1]);
    REFUSED("kernel is 0", OP(2, FOLD)->ints[0] = 0);
    REFUSED("stride is 0", OP(2, FOLD)->ints[1] = 0);
    REFUSED("left is -1", OP(2, FOLD)->ints[2] = -1);
    REFUSED("right is -1", OP(2, FOLD)->ints[3] = -1);
    REFUSED("columns for each row", OP(2, FOLD)->ints[0] = 5);
    REFUSED("an f32 weight of 8", OP(2, FOLD)->operands[1] = OP(2, SNAKE)->operands[1]);
    REFUSED("kernel - left - right", OP(2, FOLD)->ints[3] = 1);
    REFUSED("kernel - left - right", OP(2, FOLD)->ints[1] = 3);
    REFUSED("mode is 3", OP(2, PAD)->ints[0] = KZ_PAD_COUNT);
    REFUSED("left is -1", OP(2, PAD)->ints[1] = -1);
    REFUSED("right is 65537", OP(2, PAD)->ints[2] = 65537);
    REFUSED("left + rows + right", OP(2, PAD)->ints[1] = 2);
    REFUSED("left + rows + right", OP(2, PAD)->operands[1] = OP(2, JOIN_TAIL)->operands[2]);
}

static void rows_along_signals(void **state) {
    (void)state;
    REFUSED("four gates", VALUE(2, LSTM, 4).dims[1] = kz_dim_constant(7);
            OP(2, LSTM)->operands[0] = OP(2, LSTM)->operands[4]);
    REFUSED("four gates", s.parts[2].instructions[0] = *OP(2, LSTM);
            OP(2, LSTM)->operands[0] = s.parts[2].inputs[0];
            VALUE(2, LSTM, 0).dims[1] = kz_dim_constant(4100));
    REFUSED("a weight matrix in layout tile16",
            OP(2, LSTM)->operands[1] = OP(2, DEPTHWISE)->operands[1]);
    REFUSED("a row for each gate's element", TENSOR(2, LSTM, 1).dims[1] = 9;
            TENSOR(2, LSTM, 1).bytes = 9 * 32 * sizeof(float));
    REFUSED("one f32 row of the hidden", STATE(LSTM, 2).rows = 2);
    REFUSED("one f32 row of the hidden", STATE(LSTM, 2).type = KZ_F16);
    REFUSED("one f32 row of the hidden", STATE(LSTM, 3).head_dim = 4);
    REFUSED("a state expected", OP(2, LSTM)->operands[3] = OP(2, LSTM)->operands[0]);
    REFUSED("a state apart", OP(2, LSTM)->operands[3] = OP(2, LSTM)->operands[2]);
    REFUSED("is_reversed is 2", OP(2, LSTM)->ints[0] = 2);
    REFUSED("order is -1", OP(2, LSTM)->ints[1] = -1);
    REFUSED("8 columns (not 16)", OP(2, LSTM)->operands[4] = OP(2, COLUMN_NORM)->operands[0]);
    REFUSED("epsilon is nan", OP(2, COLUMN_NORM)->floats[0] = NAN);
    REFUSED("as many rows as operand 0",
            OP(2, COLUMN_NORM)->operands[1] = OP(2, JOIN_TAIL)->operands[2]);
    REFUSED("16 columns (not 32)",
            OP(2, COLUMN_SOFTMAX)->operands[1] = OP(2, DEPTHWISE)->operands[3]);
    REFUSED("16 columns (not 32)", OP(2, COLUMN_POOL)->operands[1] = OP(2, DEPTHWISE)->operands[3]);
    REFUSED("epsilon is -1", OP(2, COLUMN_POOL)->floats[0] = -1.0f);
    REFUSED("one row of twice", OP(2, COLUMN_POOL)->operands[2] = OP(2, DEPTHWISE)->operands[3]);
    REFUSED("as many columns as operand 0", VALUE(2, COPY, 1).dims[1] = kz_dim_constant(31));
    REFUSED("as many rows as operand 0", OP(2, COPY)->operands[0] = OP(2, DEPTHWISE)->operands[3]);
    REFUSED("an index below 9", VALUE(2, GATHER, 1).limit = 9);
    REFUSED("one element for each row", OP(2, GATHER)->operands[2] = OP(2, PAD)->operands[1]);
    REFUSED("16 columns (not 32)", OP(2, GATHER)->operands[2] = OP(2, COPY)->operands[1]);
    REFUSED("an i32 input", OP(2, GATHER)->operands[1] = OP(2, MAP)->operands[0]);
}

// Rotates once more by each of `count` further inverse frequency tensors.
static void add_rotations(sample_program *sample, size_t count) {
    static const char *const names[] = {"more.0", "more.1", "more.2", "more.3"};
    kz_method *method = &sample->methods[0];
    sample_method *parts = &sample->parts[0];
    const kz_instruction rope = *sample_find(sample, 0, KZ_OP_ROPE, 0);
    for (size_t i = 0; i < count; i++) {
        const size_t tensor = sample->description.tensor_count++;
        sample->tensors[tensor] = sample->tensors[parts->values[rope.operands[2]].index];
        sample->tensors[tensor].name = names[i];
        parts->values[method->value_count] =
            (kz_value){.kind = KZ_VALUE_WEIGHT, .index = (uint32_t)tensor};
        parts->instructions[method->instruction_count] = rope;
        parts->instructions[method->instruction_count++].operands[2] = method->value_count++;
    }
}

static void rotations_are_few(void **state) {
    (void)state;
    sample_program sample;
    make_checkable(&sample);
    add_rotations(&sample, 3);
    if (kz_check_description(&sample.description, NULL) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    sample_program_clear(&sample);
    REFUSED("(rope): 'more.3' is one inverse frequency tensor more than the 4",
            add_rotations(&s, 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_descriptions_pass),
        cmocka_unit_test(names_and_metadata),
        cmocka_unit_test(tensors_and_states),
        cmocka_unit_test(offsets_of_tensors),
        cmocka_unit_test(symbols_and_values),
        cmocka_unit_test(inputs_and_outputs),
        cmocka_unit_test(operands),
        cmocka_unit_test(heads_and_caches),
        cmocka_unit_test(elements_of_signals),
        cmocka_unit_test(windows_of_signals),
        cmocka_unit_test(sources_and_convolutions),
        cmocka_unit_test(rows_along_signals),
        cmocka_unit_test(rotations_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
