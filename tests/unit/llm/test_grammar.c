// test_grammar.c: GBNF and JSON schemas: what they accept, what they refuse, and what is refused of
// them.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constrain_test.h"

typedef struct verdicts {
    const char *grammar;
    const char *accepted[14];
    const char *refused[14];
} verdicts;

static const char json_gbnf[] =
    "root ::= object\n"
    "value ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n"
    "object ::= \"{\" ws ( string \":\" ws value (\",\" ws string \":\" ws value)* )? \"}\" ws\n"
    "array ::= \"[\" ws ( value (\",\" ws value)* )? \"]\" ws\n"
    "string ::= \"\\\"\" ( [^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" "
    "[0-9a-fA-F]{4}) )* \"\\\"\" ws\n"
    "number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? ([eE] [-+]? [0-9] "
    "[1-9]{0,15})? ws\n"
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n";

static const verdicts gbnf_verdicts[] = {
    {"root ::= \"a\"", {"a"}, {"", "b", "aa"}},
    {"root ::= \"\"", {""}, {"a"}},
    {"root ::= |\"x\"", {"", "x"}, {"xx"}},
    {"# words\nroot ::= \"yes\" | # either\n \"no\"  # or\n", {"yes", "no"}, {"ye", "yesno", ""}},
    {"root ::= (\"a\" | \"b\")* \"c\"", {"c", "abac"}, {"ab", "cc"}},
    {"root ::= \"a\"+", {"a", "aaaa"}, {"", "ab"}},
    {"root ::= \"a\"? \"b\"", {"b", "ab"}, {"a", "aab"}},
    {"root ::= \"ab\"{2}", {"abab"}, {"ab", "ababab", "aba"}},
    {"root ::= \"a\"{2,}", {"aa", "aaaaa"}, {"a", ""}},
    {"root ::= \"a\"{1,3}", {"a", "aa", "aaa"}, {"", "aaaa"}},
    {"root ::= [a]{0,2} [b]{0}", {"", "a", "aa"}, {"b", "ab"}},
    {"root ::= [a-cx]", {"a", "b", "c", "x"}, {"d", "-", ""}},
    {"root ::= [^a-c\\n]", {"d", "\xc3\xa9", "\xf0\x9f\x98\x80"}, {"a", "\n", "\xc3", "dd"}},
    {"root ::= [\\]\\\\\\-]", {"]", "\\", "-"}, {"[", "a"}},
    {"root ::= [a-]", {"a", "-"}, {"b"}},
    {"root ::= \"\\n\\t\\r\\\"\\\\\\x41\\u00e9\\U0001F600\"",
     {"\n\t\r\"\\A\xc3\xa9\xf0\x9f\x98\x80"},
     {"\n\t\r\"\\A\xc3\xa9"}},
    {"root ::= .", {"a", "\n", "\xe2\x82\xac"}, {"", "ab", "\xe2\x82", "\xed\xa0\x80", "\xff"}},
    {"root ::= [\xc3\xa0-\xc3\xbf]+", {"\xc3\xa9\xc3\xa0"}, {"e", "\xc3\x80", "\xc3"}},
    {"root ::= [\\u07ff-\\u0801]", {"\xdf\xbf", "\xe0\xa0\x80", "\xe0\xa0\x81"}, {"\xdf\xbe"}},
    {"root ::= a-b c_1\na-b ::= \"x\"\nc_1 ::= \"y\"", {"xy"}, {"x", "y"}},
    {"root ::= list\nlist ::= \"x\" | \"x\" list", {"x", "xxxxxxxxxxxxxxxxx"}, {"", "xy"}},
    {"root ::= p\np ::= \"(\" p \")\" p | \"\"", {"", "()", "(())()"}, {"(", ")", "(()"}},
    {"root ::= s\ns ::= \"a\" s \"b\" | \"c\"", {"c", "aacbb"}, {"ab", "aacb", "acbb"}},
    {"root ::= a* \"x\"\na ::= b? \nb ::= \"b\"?", {"x", "bbbx"}, {"b", "a"}},
    {"root ::= \"a\" dead | \"b\"\ndead ::= \"x\" dead", {"b"}, {"a", "ax"}},
    {"root ::= (\n  \"a\"\n  \"b\" # c\n)\n\n\n", {"ab"}, {"a"}},
    {"root ::= \"abc\" | \"abd\" | \"ab\" word\nword ::= [x-z]+", {"abc", "abd", "abz"}, {"ab"}},
    {json_gbnf,
     {"{}", "{\"a\":1}", "{\"a\": [1,-2.5e3, {\"b\":null}]}", "{\"\xc3\xa9\\u00e9\\n\":\"\"}",
      "{\"a\":\n  true}"},
     {"[]", "{\"a\"}", "{\"a\":01}", "{\"a\":\"\n\"}", "{\"a\":1,}", "{\"\\x\":1}"}},
};

typedef struct refusal {
    const char *text;
    kazeia_status status;
    const char *sentence; // a piece of it
} refusal;

static const refusal gbnf_refusals[] = {
    {"", KAZEIA_BAD_FILE, "no rule 'root'"},
    {"start ::= \"a\"", KAZEIA_BAD_FILE, "no rule 'root'"},
    {"root ::= \"a", KAZEIA_BAD_FILE, "line 1, column 12"},
    {"root ::= \"a\nb\"", KAZEIA_BAD_FILE, "line 1, column 12"},
    {"root ::= [a", KAZEIA_BAD_FILE, "line 1, column 12"},
    {"root ::= (\"a\"", KAZEIA_BAD_FILE, "')' expected"},
    {"root ::= \"a\" )", KAZEIA_BAD_FILE, "found ')'"},
    {"root = \"a\"", KAZEIA_BAD_FILE, "'::=' expected"},
    {"root ::= \"a\"\n\n  ::= \"b\"", KAZEIA_BAD_FILE, "line 3, column 3"},
    {"root ::= \"\\q\"", KAZEIA_BAD_FILE, "after '\\'"},
    {"root ::= \"\\x4\"", KAZEIA_BAD_FILE, "hexadecimal"},
    {"root ::= \"\\uD800\"", KAZEIA_BAD_FILE, "no character"},
    {"root ::= \"\\UFFFFFFFF\"", KAZEIA_BAD_FILE, "no character"},
    {"root ::= [z-a]", KAZEIA_BAD_FILE, "ends before it begins"},
    {"root ::= \"\xff\"", KAZEIA_BAD_FILE, "not UTF-8"},
    {"root ::= \"a\"{", KAZEIA_BAD_FILE, "number of repetitions"},
    {"root ::= \"a\"{3,2}", KAZEIA_BAD_FILE, "fewer than the least"},
    {"root ::= \"a\"{1000000000}", KAZEIA_UNSUPPORTED, "line 1, column 20"},
    {"root ::= \"a\"{0,99999999999999999999}", KAZEIA_UNSUPPORTED, "more than 100000"},
    {"root ::= ((\"a\"{1000}){1000}){1000}", KAZEIA_UNSUPPORTED, "131072 states"},
    {"root ::= ((\"\"{9999} [a]?){9999}){9999}", KAZEIA_UNSUPPORTED, "131072 states"},
    {"root ::= [ab]* \"a\" [ab]{40}", KAZEIA_UNSUPPORTED, "131072 states"},
    {"root ::= nothing", KAZEIA_BAD_FILE, "rule 'nothing' is named here and defined nowhere"},
    {"root ::= \"a\"\nroot ::= \"b\"", KAZEIA_BAD_FILE, "line 2, column 1"},
    {"root ::= root \"a\" | \"b\"", KAZEIA_BAD_FILE, "left recursion"},
    {"root ::= x\nx ::= y \"1\" | \"2\"\ny ::= (\"\" | \"3\")* x", KAZEIA_BAD_FILE,
     "left recursion"},
    {"root ::= \"a\" root", KAZEIA_BAD_FILE, "rule 'root' can never end"},
    {"root ::= []", KAZEIA_BAD_FILE, "can never end"},
    {"root ::= \"a\"?*+?*+?*+?*+", KAZEIA_UNSUPPORTED, "8 repetitions"},
};

static const verdicts schema_verdicts[] = {
    {"{\"type\":\"boolean\"}", {"true", "false"}, {"null", "\"true\"", ""}},
    {"{\"type\":[\"integer\",\"null\"]}",
     {"0", "-7", "null", "123456789012345678"},
     {"1.5", "01", "-", "1234567890123456789"}},
    {"{\"type\":\"number\"}", {"0", "-1.25", "1e5", "2.5E-10"}, {".5", "1.", "1e", "+1", "1e999"}},
    {"{\"type\":\"string\"}",
     {"\"\"", "\"a b\"", "\"\\n\\\"\\/\"", "\"\\u00e9\\uD83D\\uDE00\"", "\"\xf0\x9f\x98\x80\""},
     {"\"", "\"\n\"", "\"\\x\"", "\"\\uD83D\"", "\"\\u0000\"", "a", "\"\xc3\""}},
    {"true", {"null", "[1, {\"a\":[]}]", "\"x\""}, {"", "nul", "[1,]"}},
    {"{}", {"{}", "-0.5"}, {"x"}},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":"
     "\"string\"},\"c\":{\"type\":\"null\"}},\"required\":[\"b\"]}",
     {"{\"b\":\"\"}", "{\"a\":1,\"b\":\"x\"}", "{\"a\": 1, \"b\": \"x\", \"c\": null}",
      "{\"b\":\"x\",\"c\":null}"},
     {"{}", "{\"a\":1}", "{\"b\":\"x\",\"a\":1}", "{\"b\":\"x\",}", "{\"b\":\"x\",\"d\":1}",
      "{\"b\":  \"x\"}", "{ \"b\":\"x\"}"}},
    {"{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"integer\"},\"a\":{\"type\":"
     "\"boolean\"}},\"additionalProperties\":{\"type\":\"null\"}}",
     {"{}", "{\"ab\":1}", "{\"a\":true}", "{\"b\":null}", "{\"abc\":null,\"\":null}",
      "{\"ab\":1,\"a\":true,\"x\":null}"},
     {"{\"ab\":null}", "{\"a\":null}", "{\"b\":1}", "{\"\\u0061\":null}", "{\"x\":null,\"ab\":1}"}},
    {"{\"type\":\"object\"}", {"{}", "{\"x\":[1]}"}, {"[]", "{\"x\"}"}},
    {"{\"type\":\"object\",\"additionalProperties\":false}", {"{}"}, {"{\"x\":1}"}},
    {"{\"required\":[\"k\"],\"additionalProperties\":{\"type\":\"integer\"}}",
     {"{\"k\":1}", "{\"k\":1,\"l\":2}"},
     {"{}", "{\"l\":2}", "{\"k\":\"\"}"}},
    {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":3}",
     {"[1]", "[1, 2,3]"},
     {"[]", "[1,2,3,4]", "[\"\"]", "[1 ,2]"}},
    {"{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}",
     {"[]", "[1]", "[1,\"\"]"},
     {"[\"\"]", "[1,\"\",2]"}},
    {"{\"prefixItems\":[{\"type\":\"integer\"}],\"items\":{\"type\":\"null\"},\"minItems\":2}",
     {"[1,null]", "[1,null,null]"},
     {"[1]", "[]", "[1,1]"}},
    {"{\"enum\":[\"red\",\"gr\\u00e9en\",3,null,[1,{\"a\":\"b\"}],1.5]}",
     {"\"red\"",
      "\"gr\xc3\xa9"
      "en\"",
      "3", "null", "[1,{\"a\":\"b\"}]", "1.5"},
     {"\"re\"", "4", "\"\"", "[1]"}},
    {"{\"type\":\"string\",\"enum\":[\"x\",1]}", {"\"x\""}, {"1"}},
    {"{\"const\":{\"q\\\"\":[true]}}", {"{\"q\\\"\":[true]}"}, {"{\"q\":[true]}"}},
    {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}]}",
     {"1", "[]", "[1,[2,[]]]"},
     {"[\"\"]", "[1", "null"}},
    {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"anyOf\":[{\"required\":[\"a\"]},"
     "{\"required\":[\"b\"]}]}",
     {"{\"a\":1}", "{\"b\":1}", "{\"a\":1,\"b\":2}"},
     {"{}", "{\"c\":1}"}},
    {"{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]},{"
     "\"properties\":{\"b\":{\"type\":\"null\"},\"a\":{\"minimum\":5}}}]}",
     {"{\"a\":5}", "{\"a\":17,\"b\":null}"},
     {"{\"a\":4}", "{\"b\":null}", "{}"}},
    {"{\"$ref\":\"#/$defs/node\",\"$defs\":{\"node\":{\"type\":\"object\",\"properties\":{\"v\":{"
     "\"type\":\"integer\"},\"next\":{\"anyOf\":[{\"$ref\":\"#/$defs/node\"},{\"type\":\"null\"}]}}"
     ",\"required\":[\"v\",\"next\"]}}}",
     {"{\"v\":1,\"next\":null}", "{\"v\":1,\"next\":{\"v\":2,\"next\":null}}"},
     {"{\"v\":1}", "{\"v\":1,\"next\":{}}", "{\"v\":1,\"next\":{\"v\":2,\"next\":null}"}},
    {"{\"definitions\":{\"a/b~c\":{\"const\":1}},\"items\":{\"$ref\":\"#/definitions/a~1b~0c\"}}",
     {"[1,1]", "[]"},
     {"[2]"}},
    {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
     {"\"ab\"", "\"\xc3\xa9\xf0\x9f\x98\x80\\n\""},
     {"\"a\"", "\"abcd\"", "\"\xc3\xa9\""}},
    {"{\"type\":\"string\",\"minLength\":3,\"maxLength\":40}",
     {"\"a plain text with ordinary words, whole\"", "\"one two\""},
     {"\"ab\"", "\"a plain text with ordinary words, whole and long\""}},
    {"{\"pattern\":\"^[A-Z]{2}-\\\\d+(?:x|y)?$\"}",
     {"\"AB-1\"", "\"XY-123y\""},
     {"\"A-1\"", "\"AB-\"", "\"AB-1z\"", "\"AB-1xy\""}},
    {"{\"pattern\":\"b\"}", {"\"b\"", "\"abc\\n\""}, {"\"\"", "\"ac\""}},
    {"{\"pattern\":\"^[^a]\\\"\\\\\\\\$\"}", {"\"x\\\"\\\\\""}, {"\"a\\\"\\\\\"", "\"x\\\"\""}},
    {"{\"pattern\":\"^\\\\s.\\\\W*$\"}", {"\"\\tx!\"", "\" y\""}, {"\"xx\"", "\"  a\""}},
    {"{\"format\":\"date\"}",
     {"\"2024-01-31\"", "\"1999-02-28\""},
     {"\"2024-13-01\"", "\"2024-02-30\"", "\"2024-04-31\"", "\"24-01-01\"", "\"\""}},
    {"{\"format\":\"time\"}", {"\"23:59:59Z\"", "\"00:00:00.5+02:00\""}, {"\"24:00:00Z\""}},
    {"{\"format\":\"date-time\"}", {"\"2024-01-31T12:00:00Z\""}, {"\"2024-01-31\""}},
    {"{\"format\":\"uuid\"}",
     {"\"123e4567-e89b-12d3-a456-426614174000\""},
     {"\"123e4567-e89b-12d3-a456-42661417400\""}},
    {"{\"type\":\"string\",\"format\":\"email\"}", {"\"anything\""}, {"1"}},
    {"{\"type\":\"integer\",\"minimum\":0,\"maximum\":120}",
     {"0", "9", "10", "99", "100", "120"},
     {"-1", "121", "1000", "00", "130", "200"}},
    {"{\"type\":\"integer\",\"minimum\":-12,\"exclusiveMaximum\":5}",
     {"-12", "-1", "-9", "0", "4"},
     {"5", "-13", "-0", "-20", "10"}},
    {"{\"type\":\"integer\",\"minimum\":98.5}", {"99", "100", "98765"}, {"98", "0", "-99"}},
    {"{\"type\":\"integer\",\"exclusiveMinimum\":-4,\"maximum\":-2}",
     {"-3", "-2"},
     {"-4", "-1", "2", "0"}},
    {"{\"type\":\"number\",\"minimum\":0}", {"0", "0.5", "12.25", "0.0"}, {"-1", "1e5", "00"}},
    {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}",
     {"0.01", "1", "1.00", "0.9"},
     {"0", "0.0", "1.01", "-0.5", "2"}},
    {"{\"type\":\"number\",\"minimum\":-2,\"maximum\":2}",
     {"-2", "-1.5", "0", "2.0", "-2.00", "-0.5"},
     {"2.1", "-2.01", "3"}},
    {"{\"type\":\"object\",\"title\":\"t\",\"description\":\"d\",\"default\":{},\"x-more\":1,"
     "\"properties\":{\"a\":{\"const\":1,\"description\":\"one\"}}}",
     {"{\"a\":1}"},
     {"{\"a\":2}"}},
};

static const refusal schema_refusals[] = {
    {"", KAZEIA_BAD_FILE, "line 1, column 1"},
    {"{\"type\":\"string\"", KAZEIA_BAD_FILE, "',' or '}' expected"},
    {"{}\n x", KAZEIA_BAD_FILE, "line 2, column 2"},
    {"[]", KAZEIA_BAD_FILE, "'#' is no schema"},
    {"false", KAZEIA_BAD_FILE, "can never end"},
    {"{\"type\":\"text\"}", KAZEIA_BAD_FILE, "'#/type' is no type"},
    {"{\"type\":\"string\",\"not\":{}}", KAZEIA_UNSUPPORTED, "'#/not'"},
    {"{\"items\":{\"patternProperties\":{}}}", KAZEIA_UNSUPPORTED, "'#/items/patternProperties'"},
    {"{\"type\":\"array\",\"uniqueItems\":true}", KAZEIA_UNSUPPORTED, "'#/uniqueItems'"},
    {"{\"type\":\"integer\",\"multipleOf\":2}", KAZEIA_UNSUPPORTED, "'#/multipleOf'"},
    {"{\"tpye\":\"integer\"}", KAZEIA_UNSUPPORTED, "'#/tpye'"},
    {"{\"type\":\"number\",\"minimum\":0.5}", KAZEIA_UNSUPPORTED, "'#/minimum'"},
    {"{\"$ref\":\"#/$defs/none\"}", KAZEIA_BAD_FILE, "'#/$ref'"},
    {"{\"$ref\":\"other.json\"}", KAZEIA_UNSUPPORTED, "'#/$ref'"},
    {"{\"$ref\":\"#\"}", KAZEIA_BAD_FILE, "leads to itself"},
    {"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}},\"$ref\":"
     "\"#/$defs/a\"}",
     KAZEIA_BAD_FILE, "leads to itself"},
    {"{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}", KAZEIA_BAD_FILE, "left recursion"},
    {"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}",
     KAZEIA_BAD_FILE, "can never end"},
    {"{\"pattern\":\"a(?=b)\"}", KAZEIA_UNSUPPORTED, "no looking around"},
    {"{\"pattern\":\"(a)\\\\1\"}", KAZEIA_UNSUPPORTED, "'#/pattern': character 5"},
    {"{\"pattern\":\"a\\\\b\"}", KAZEIA_UNSUPPORTED, "escape is not supported"},
    {"{\"pattern\":\"(a\"}", KAZEIA_BAD_FILE, "')' expected"},
    {"{\"pattern\":\"^a|b\"}", KAZEIA_UNSUPPORTED, "belongs to one choice"},
    {"{\"pattern\":\"a\",\"minLength\":1}", KAZEIA_UNSUPPORTED, "more than one of"},
    {"{\"maxLength\":1e9}", KAZEIA_UNSUPPORTED, "'#/maxLength'"},
    {"{\"maxLength\":90000}", KAZEIA_UNSUPPORTED, "states"},
    {"{\"enum\":[\"a\"],\"minLength\":1}", KAZEIA_UNSUPPORTED, "'#/enum'"},
    {"{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}", KAZEIA_BAD_FILE, "can never end"},
    {"{\"minItems\":2,\"maxItems\":1}", KAZEIA_BAD_FILE, "can never end"},
    {"{\"title\":\"\\ud800\"}", KAZEIA_BAD_FILE, "no character"},
};

static test_vocabulary small;

static void check_verdicts(const verdicts *row, bool is_schema) {
    kz_grammar *grammar = is_schema ? compile_schema(row->grammar) : compile_gbnf(row->grammar);
    kz_constrain *constrain = make_constrain(grammar, &small);
    for (size_t i = 0; row->accepted[i]; i++) {
        if (!takes_text(constrain, &small, row->accepted[i])) {
            fail_msg("'%s' is not accepted by %s", row->accepted[i], row->grammar);
        }
    }
    for (size_t i = 0; row->refused[i]; i++) {
        if (takes_text(constrain, &small, row->refused[i])) {
            fail_msg("'%s' is accepted by %s", row->refused[i], row->grammar);
        }
    }
    kz_constrain_destroy(constrain);
    kz_grammar_destroy(grammar);
}

static void check_refusal(const refusal *row, bool is_schema) {
    kz_grammar *grammar = NULL;
    const size_t bytes = strlen(row->text);
    const kazeia_status status =
        is_schema ? kz_grammar_compile_json_schema(row->text, bytes, NULL, &grammar)
                  : kz_grammar_compile_gbnf(row->text, bytes, NULL, &grammar);
    if (status != row->status || !strstr(kazeia_last_error(), row->sentence)) {
        fail_msg("%s: status %s, '%s'; '%s' expected", row->text, kazeia_status_name(status),
                 kazeia_last_error(), row->sentence);
    }
    assert_null(grammar);
}

static void gbnf_accepts_its_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof gbnf_verdicts / sizeof gbnf_verdicts[0]; i++) {
        check_verdicts(&gbnf_verdicts[i], false);
    }
}

static void gbnf_is_refused_with_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof gbnf_refusals / sizeof gbnf_refusals[0]; i++) {
        check_refusal(&gbnf_refusals[i], false);
    }
}

static void schemas_accept_their_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof schema_verdicts / sizeof schema_verdicts[0]; i++) {
        check_verdicts(&schema_verdicts[i], true);
    }
}

static void schemas_are_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof schema_refusals / sizeof schema_refusals[0]; i++) {
        check_refusal(&schema_refusals[i], true);
    }
}

// Texts that grow with a number: rules that call each other in a chain, brackets, choices.
static void large_texts_end_soon(void **state) {
    const size_t room = KZ_GRAMMAR_TEXT_LIMIT + 64;
    char *text = malloc(room);
    kz_grammar *grammar = NULL;
    (void)state;
    assert_non_null(text);
    size_t count = 0;
    for (int i = 0; i < 8000; i++) {
        count += (size_t)snprintf(text + count, room - count, "%s%d ::= r%d | \"%d\"\n",
                                  i == 0 ? "root ::= r0\nr" : "r", i, i + 1, i);
    }
    count += (size_t)snprintf(text + count, room - count, "r8000 ::= \"end\"");
    assert_int_equal(kz_grammar_compile_gbnf(text, count, NULL, &grammar), KAZEIA_OK);
    kz_grammar_destroy(grammar);
    for (int i = 0; i < 3; i++) {
        memset(text, "(|["[i], KZ_GRAMMAR_TEXT_LIMIT);
        memcpy(text, "root ::= ", 9);
        const kazeia_status status =
            kz_grammar_compile_gbnf(text, KZ_GRAMMAR_TEXT_LIMIT, NULL, &grammar);
        assert_true(status == KAZEIA_UNSUPPORTED || status == KAZEIA_BAD_FILE);
    }
    assert_int_equal(kz_grammar_compile_gbnf(text, KZ_GRAMMAR_TEXT_LIMIT + 1, NULL, &grammar),
                     KAZEIA_UNSUPPORTED);
    memset(text, '[', 5000);
    assert_int_equal(kz_grammar_compile_json_schema(text, 5000, NULL, &grammar),
                     KAZEIA_UNSUPPORTED);
    free(text);
}

static int open_small(void **state) {
    (void)state;
    open_small_vocabulary(&small);
    return 0;
}

static int close_small(void **state) {
    (void)state;
    close_vocabulary(&small);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gbnf_accepts_its_texts),
        cmocka_unit_test(gbnf_is_refused_with_its_place),
        cmocka_unit_test(schemas_accept_their_texts),
        cmocka_unit_test(schemas_are_refused_by_name),
        cmocka_unit_test(large_texts_end_soon),
    };
    return cmocka_run_group_tests(tests, open_small, close_small);
}
