// test_constrain.c: masks against each token tried alone, random texts under masks, memory, limits.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../metered_allocator.h"
#include "constrain_test.h"

#define TEXT_BYTES 65536

static test_vocabulary small, gpt2;

// --- Masks --------------------------------------------------------------------------------------
static bool may_come_alone(kz_constrain *constrain, const test_vocabulary *vocabulary,
                           const char *text, size_t count, uint32_t token) {
    const kz_bytes bytes = kz_tokenizer_token_bytes(vocabulary->tokenizer, token);
    kz_constrain_reset(constrain);
    assert_true(kz_constrain_feed(constrain, text, count));
    if (token == (uint32_t)vocabulary->stop) {
        return kz_constrain_is_complete(constrain);
    }
    return bytes.count > 0 && !kz_tokenizer_is_special(vocabulary->tokenizer, token) &&
           kz_constrain_feed(constrain, (const char *)bytes.bytes, bytes.count);
}

static uint32_t choose_allowed(const uint32_t *mask, uint32_t count, uint32_t *random) {
    uint32_t chosen = UINT32_MAX, found = 0;
    for (uint32_t id = 0; id < count; id++) {
        if (has_token(mask, id) && next_random(random) % ++found == 0) {
            chosen = id;
        }
    }
    return chosen;
}

// Walks at random for some tokens; at each `stride`-th all tokens of the vocabulary are tried.
static void check_masks(const kz_grammar *grammar, const test_vocabulary *vocabulary,
                        uint32_t steps, uint32_t stride, uint32_t seed) {
    kz_constrain *constrain = make_constrain(grammar, vocabulary);
    kz_constrain *alone = make_constrain(grammar, vocabulary);
    const kz_token_mask mask = kz_constrain_mask(constrain);
    char text[TEXT_BYTES];
    size_t count = 0;
    for (uint32_t step = 0; step < steps; step++) {
        const uint32_t *allowed = mask.allowed(mask.context);
        for (uint32_t id = 0; step % stride == 0 && id < vocabulary->count; id++) {
            if (has_token(allowed, id) != may_come_alone(alone, vocabulary, text, count, id)) {
                fail_msg("token %u after '%.*s': the mask says %d", id, (int)count, text,
                         has_token(allowed, id));
            }
        }
        for (uint32_t id = vocabulary->count; id < vocabulary->count + 70; id++) {
            assert_false(has_token(allowed, id));
        }
        const uint32_t token = choose_allowed(allowed, vocabulary->count, &seed);
        assert_int_not_equal(token, UINT32_MAX);
        if (token == (uint32_t)vocabulary->stop) {
            break;
        }
        const kz_bytes bytes = kz_tokenizer_token_bytes(vocabulary->tokenizer, token);
        assert_true(count + bytes.count < TEXT_BYTES);
        memcpy(text + count, bytes.bytes, bytes.count);
        count += bytes.count;
        mask.advance(mask.context, (int32_t)token);
        assert_int_equal(kz_constrain_check(constrain), KAZEIA_OK);
    }
    kz_constrain_destroy(constrain);
    kz_constrain_destroy(alone);
}

static const char *const mask_grammars[] = {
    "root ::= [a-c]* | \"<\" root \">\" [a-z]?",
    "root ::= (\"ab\" | \"abc\" | \"a\" [b-c]{2,5})+ \".\"",
    "root ::= word (\" \" word)* \n word ::= [a-z]+ | \"\xc3\xa9\" | \"'\" word \"'\"",
    "root ::= \"(\" root \")\" root | \"\"",
    "root ::= .{0,20} \"!\"",
};

static const char *const mask_schemas[] = {
    "{}",
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":40},"
    "\"tags\":{\"type\":\"array\",\"items\":{\"enum\":[\"ab\",\"abc\",\"bc\"]}},"
    "\"next\":{\"$ref\":\"#\"}},\"additionalProperties\":{\"type\":\"number\"}}",
    "{\"type\":\"string\",\"pattern\":\"^[abc ]+\\\\d{3}\"}",
};

static void masks_are_those_of_each_token_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mask_grammars / sizeof mask_grammars[0]; i++) {
        kz_grammar *grammar = compile_gbnf(mask_grammars[i]);
        for (uint32_t seed = 1; seed <= 4; seed++) {
            check_masks(grammar, &small, 60, 1, seed);
        }
        check_masks(grammar, &gpt2, 30, 15, 7);
        kz_grammar_destroy(grammar);
    }
    for (size_t i = 0; i < sizeof mask_schemas / sizeof mask_schemas[0]; i++) {
        kz_grammar *grammar = compile_schema(mask_schemas[i]);
        for (uint32_t seed = 1; seed <= 4; seed++) {
            check_masks(grammar, &small, 60, 1, seed);
        }
        check_masks(grammar, &gpt2, 30, 10, 7);
        kz_grammar_destroy(grammar);
    }
}

// --- Random texts -------------------------------------------------------------------------------
// Fills `text`; true when the text ended. Every other choice is made among tokens that begin as the
// end of a value does, so that texts end.
static bool write_random(kz_constrain *constrain, const test_vocabulary *vocabulary, uint32_t seed,
                         char text[TEXT_BYTES]) {
    const kz_token_mask mask = kz_constrain_mask(constrain);
    uint32_t enders[64];
    size_t count = 0;
    kz_constrain_reset(constrain);
    for (uint32_t step = 0; step < 1000; step++) {
        const uint32_t *allowed = mask.allowed(mask.context);
        uint32_t token = choose_allowed(allowed, vocabulary->count, &seed), found = 0;
        for (uint32_t id = 0; id < vocabulary->count && found < 64; id++) {
            const kz_bytes bytes = kz_tokenizer_token_bytes(vocabulary->tokenizer, id);
            if (has_token(allowed, id) && bytes.count == 1 && strchr("\"]}", bytes.bytes[0])) {
                enders[found++] = id;
            }
        }
        if (found > 0 && next_random(&seed) % 2 == 0) {
            token = enders[next_random(&seed) % found];
        }
        assert_int_not_equal(token, UINT32_MAX);
        if (token == (uint32_t)vocabulary->stop) {
            text[count] = '\0';
            return true;
        }
        const kz_bytes bytes = kz_tokenizer_token_bytes(vocabulary->tokenizer, token);
        assert_true(count + bytes.count < TEXT_BYTES);
        memcpy(text + count, bytes.bytes, bytes.count);
        count += bytes.count;
        mask.advance(mask.context, (int32_t)token);
    }
    return false;
}

static bool has_type(const json_t *value, const char *type) {
    static const struct {
        const char *name;
        json_type type;
    } types[] = {{"object", JSON_OBJECT},
                 {"array", JSON_ARRAY},
                 {"string", JSON_STRING},
                 {"integer", JSON_INTEGER},
                 {"null", JSON_NULL}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i].name) == 0) {
            return json_typeof(value) == types[i].type;
        }
    }
    return strcmp(type, "boolean") == 0 ? json_is_boolean(value) : json_is_number(value);
}

static size_t count_characters(const char *text) {
    size_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}

static bool is_valid(const json_t *value, const json_t *schema);

static bool is_valid_object(const json_t *value, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");
    const char *key = NULL;
    json_t *member = NULL, *name = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(schema, "required"), i, name) {
        if (!json_object_get(value, json_string_value(name))) {
            return false;
        }
    }
    json_object_foreach((json_t *)value, key, member) {
        const json_t *own = json_object_get(properties, key);
        own = own ? own : json_object_get(schema, "additionalProperties");
        if (!own || !is_valid(member, own)) {
            return false;
        }
    }
    return true;
}

static bool is_valid_array(const json_t *value, const json_t *schema) {
    const json_t *most = json_object_get(schema, "maxItems");
    const size_t least = (size_t)json_integer_value(json_object_get(schema, "minItems"));
    json_t *item = NULL;
    size_t i = 0;
    json_array_foreach(value, i, item) {
        if (!is_valid(item, json_object_get(schema, "items"))) {
            return false;
        }
    }
    return i >= least && (!most || i <= (size_t)json_integer_value(most));
}

static bool is_valid_scalar(const json_t *value, const json_t *schema) {
    const json_t *list = json_object_get(schema, "enum");
    const json_t *longest = json_object_get(schema, "maxLength");
    const json_t *low = json_object_get(schema, "minimum");
    const json_t *high = json_object_get(schema, "maximum");
    json_t *listed = NULL;
    bool is_listed = !list;
    size_t i = 0;
    json_array_foreach(list, i, listed) {
        is_listed = is_listed || json_equal(listed, value);
    }
    if (json_is_string(value) && longest &&
        count_characters(json_string_value(value)) > (size_t)json_integer_value(longest)) {
        return false;
    }
    return is_listed && (!low || json_number_value(value) >= json_number_value(low)) &&
           (!high || json_number_value(value) <= json_number_value(high));
}

// The keywords that the schemas below use.
static bool is_valid(const json_t *value, const json_t *schema) {
    const json_t *any = json_object_get(schema, "anyOf");
    const json_t *type = json_object_get(schema, "type");
    json_t *choice = NULL;
    bool is_one = !any;
    size_t i = 0;
    json_array_foreach(any, i, choice) {
        is_one = is_one || is_valid(value, choice);
    }
    if (!is_one || (type && !has_type(value, json_string_value(type)))) {
        return false;
    }
    if (json_is_object(value)) {
        return is_valid_object(value, schema);
    }
    return json_is_array(value) ? is_valid_array(value, schema) : is_valid_scalar(value, schema);
}

static const char *const random_schemas[] = {
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":12},\"age\":{"
    "\"type\":\"integer\",\"minimum\":0,\"maximum\":150},\"tags\":{\"type\":\"array\",\"items\":{"
    "\"type\":\"string\"},\"minItems\":1,\"maxItems\":4},\"kind\":{\"enum\":[\"a\",\"b\",null,3]}},"
    "\"required\":[\"name\",\"tags\"],\"additionalProperties\":{\"type\":\"boolean\"}}",
    "{\"anyOf\":[{\"type\":\"number\",\"minimum\":-3,\"maximum\":40},{\"type\":\"array\",\"items\":"
    "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},\"y\":{\"type\":\"string\"}},"
    "\"required\":[\"y\"]}}]}",
};

static void random_texts_are_valid(void **state) {
    char *text = malloc(TEXT_BYTES);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < sizeof random_schemas / sizeof random_schemas[0]; i++) {
        kz_grammar *grammar = compile_schema(random_schemas[i]);
        kz_constrain *constrain = make_constrain(grammar, &gpt2);
        json_t *schema = json_loads(random_schemas[i], 0, NULL);
        uint32_t ended = 0;
        for (uint32_t seed = 1; seed <= 20; seed++) {
            if (write_random(constrain, &gpt2, seed, text)) {
                json_error_t problem;
                json_t *value = json_loads(text, JSON_DECODE_ANY, &problem);
                if (!value || !is_valid(value, schema)) {
                    fail_msg("seed %u: %s: %s", seed, value ? "not valid" : problem.text, text);
                }
                json_decref(value);
                ended++;
            }
        }
        assert_true(ended >= 15);
        json_decref(schema);
        kz_constrain_destroy(constrain);
        kz_grammar_destroy(grammar);
    }
    free(text);
}

// --- Memory and limits --------------------------------------------------------------------------
static void running_takes_no_memory(void **state) {
    metered_allocator meter = {.calls_allowed = SIZE_MAX};
    const kazeia_allocator allocator = {&meter, allocate_metered, release_metered};
    kz_grammar *grammar = NULL;
    kz_constrain *constrain = NULL;
    char *text = malloc(TEXT_BYTES);
    (void)state;
    assert_non_null(text);
    assert_int_equal(kz_grammar_compile_json_schema(mask_schemas[1], strlen(mask_schemas[1]),
                                                    &allocator, &grammar),
                     KAZEIA_OK);
    assert_int_equal(kz_constrain_create(grammar, gpt2.tokenizer, &gpt2.stop, 1, gpt2.count,
                                         &allocator, &constrain),
                     KAZEIA_OK);
    const size_t calls = meter.calls;
    for (uint32_t seed = 1; seed <= 5; seed++) {
        write_random(constrain, &gpt2, seed, text);
    }
    assert_int_equal(meter.calls, calls);
    kz_constrain_destroy(constrain);
    kz_grammar_destroy(grammar);
    assert_int_equal(meter.live, 0);
    free(text);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        metered_allocator meter = {.calls_allowed = allowed};
        const kazeia_allocator allocator = {&meter, allocate_metered, release_metered};
        kz_grammar *grammar = NULL;
        kz_constrain *constrain = NULL;
        kazeia_status status = kz_grammar_compile_json_schema(
            mask_schemas[1], strlen(mask_schemas[1]), &allocator, &grammar);
        if (status == KAZEIA_OK) {
            status = kz_constrain_create(grammar, small.tokenizer, &small.stop, 1, small.count,
                                         &allocator, &constrain);
        }
        kz_constrain_destroy(constrain);
        kz_grammar_destroy(grammar);
        assert_int_equal(meter.live, 0);
        if (status == KAZEIA_OK) {
            break;
        }
        assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
    }
}

static void nesting_ends_at_its_limit(void **state) {
    kz_grammar *grammar = compile_gbnf("root ::= \"[\" root \"]\" | \"x\"");
    kz_constrain *constrain = make_constrain(grammar, &small);
    const kz_token_mask mask = kz_constrain_mask(constrain);
    (void)state;
    for (uint32_t i = 0; i < KZ_CONSTRAIN_DEPTH; i++) {
        assert_true(has_token(mask.allowed(mask.context), '['));
        mask.advance(mask.context, '[');
    }
    assert_false(has_token(mask.allowed(mask.context), '['));
    assert_true(has_token(mask.allowed(mask.context), 'x'));
    mask.advance(mask.context, 'x');
    for (uint32_t i = 0; i < KZ_CONSTRAIN_DEPTH; i++) {
        mask.advance(mask.context, ']');
    }
    assert_true(kz_constrain_is_complete(constrain));
    kz_constrain_destroy(constrain);
    kz_grammar_destroy(grammar);
}

// Each letter may close any number of what is open: the stacks grow without end.
static void too_many_ways_are_a_sentence(void **state) {
    kz_grammar *grammar =
        compile_gbnf("root ::= s\ns ::= \"x\" s t | \"x\" s | \"x\"\nt ::= \"x\" s \"y\" | \"x\"");
    kz_constrain *constrain = make_constrain(grammar, &small);
    const kz_token_mask mask = kz_constrain_mask(constrain);
    kazeia_status status = KAZEIA_OK;
    (void)state;
    for (uint32_t i = 0; i < 5000 && status == KAZEIA_OK; i++) {
        const uint32_t *allowed = mask.allowed(mask.context);
        status = kz_constrain_check(constrain);
        if (status == KAZEIA_OK) {
            assert_true(has_token(allowed, 'x'));
            mask.advance(mask.context, 'x');
            status = kz_constrain_check(constrain);
        }
    }
    assert_int_equal(status, KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "more ways to go on"));
    assert_false(has_token(mask.allowed(mask.context), 'x'));
    kz_constrain_reset(constrain);
    assert_int_equal(kz_constrain_check(constrain), KAZEIA_OK);
    assert_true(has_token(mask.allowed(mask.context), 'x'));
    kz_constrain_destroy(constrain);
    kz_grammar_destroy(grammar);
}

static void a_forbidden_token_is_a_sentence(void **state) {
    kz_grammar *grammar = compile_gbnf("root ::= \"ab\"");
    kz_constrain *constrain = make_constrain(grammar, &small);
    const kz_token_mask mask = kz_constrain_mask(constrain);
    (void)state;
    mask.advance(mask.context, 'x');
    assert_int_equal(kz_constrain_check(constrain), KAZEIA_BAD_ARGUMENT);
    kz_constrain_reset(constrain);
    mask.advance(mask.context, -1);
    assert_int_equal(kz_constrain_check(constrain), KAZEIA_BAD_ARGUMENT);
    kz_constrain_destroy(constrain);
    // A vocabulary of so few logits has no letter that the grammar wants.
    assert_int_equal(
        kz_constrain_create(grammar, small.tokenizer, &small.stop, 1, 'a', NULL, &constrain),
        KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "no token"));
    kz_grammar_destroy(grammar);
}

static int open_all(void **state) {
    (void)state;
    open_small_vocabulary(&small);
    open_gpt2_vocabulary(&gpt2);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    close_vocabulary(&small);
    close_vocabulary(&gpt2);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_those_of_each_token_alone),
        cmocka_unit_test(random_texts_are_valid),
        cmocka_unit_test(running_takes_no_memory),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(nesting_ends_at_its_limit),
        cmocka_unit_test(too_many_ways_are_a_sentence),
        cmocka_unit_test(a_forbidden_token_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
