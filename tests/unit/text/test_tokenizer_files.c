// test_tokenizer_files.c: reading tokenizer.json, vocab.json with merges.txt, and what they refuse.
//
// in: small JSON texts, each a variation of a sound one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/checkpoint/tokenizer_files.h"
#include "exporter/checkpoint/tokenizer_patterns.h"
#include "text/tokenizer.h"
#include "tokenizer_fixture.h"

#define BYTE_LEVEL "{'type':'ByteLevel','add_prefix_space':false,'use_regex':true}"
#define VOCABULARY "{'a':0,'b':1,'ab':2,'Ġ':3,'Ġab':4}"
#define MERGES "['a b','Ġ ab']"

// The parts of a tokenizer.json; single quotes stand for double ones.
typedef struct json_parts {
    const char *vocabulary, *merges, *model_more, *added, *normalizer, *pretokenizer, *processor;
} json_parts;

static const json_parts SOUND = {VOCABULARY, MERGES, "", "[]", "null", BYTE_LEVEL, "null"};

static json_t *parse_parts(const json_parts *parts) {
    char text[4096];
    const int length =
        snprintf(text, sizeof text,
                 "{'model':{'type':'BPE','vocab':%s,'merges':%s%s},'added_tokens':%s,"
                 "'normalizer':%s,'pre_tokenizer':%s,'post_processor':%s}",
                 parts->vocabulary, parts->merges, parts->model_more, parts->added,
                 parts->normalizer, parts->pretokenizer, parts->processor);
    assert_true(length > 0 && (size_t)length < sizeof text);
    for (char *at = text; *at != 0; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    assert_non_null(root);
    return root;
}

static kazeia_status read_parts(const json_parts *parts, kz_tokenizer_draft **out_draft) {
    json_t *root = parse_parts(parts);
    const kazeia_status status = kz_tokenizer_from_json(root, NULL, out_draft);
    json_decref(root);
    return status;
}

static kz_tokenizer *open_draft(kz_tokenizer_draft *draft, kz_bytes *out_section) {
    uint8_t *bytes = NULL;
    size_t count = 0;
    kz_tokenizer *tokenizer = NULL;
    assert_int_equal(kz_tokenizer_draft_build(draft, &bytes, &count), KAZEIA_OK);
    *out_section = (kz_bytes){bytes, count};
    assert_int_equal(kz_tokenizer_open(out_section, NULL, NULL, &tokenizer), KAZEIA_OK);
    kz_tokenizer_draft_destroy(draft);
    return tokenizer;
}

static void check_parts(const json_parts *parts, const char *text, uint32_t flags,
                        const char *expected) {
    kz_tokenizer_draft *draft = NULL;
    kz_bytes section;
    uint32_t ids[64];
    size_t count = 0;
    assert_int_equal(read_parts(parts, &draft), KAZEIA_OK);
    kz_tokenizer *tokenizer = open_draft(draft, &section);
    assert_int_equal(kz_tokenizer_encode(tokenizer, text, strlen(text), flags, ids, 64, &count),
                     KAZEIA_OK);
    char found[256] = "";
    for (size_t i = 0; i < count; i++) {
        snprintf(found + strlen(found), sizeof found - strlen(found), "%u ", ids[i]);
    }
    assert_string_equal(found, expected);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void merges_are_lines_or_pairs(void **state) {
    (void)state;
    json_parts parts = SOUND;
    check_parts(&parts, "ab ab", 0, "2 4 ");
    parts.merges = "[['a','b'],['Ġ','ab']]";
    check_parts(&parts, "ab ab", 0, "2 4 ");
}

static void components_are_rebuilt(void **state) {
    (void)state;
    json_parts parts = SOUND;
    parts.pretokenizer = "{'type':'Sequence','pretokenizers':[{'type':'Split','pattern':{'Regex':"
                         "'b'},'behavior':'Isolated','invert':false},{'type':'ByteLevel',"
                         "'add_prefix_space':false,'use_regex':false}]}";
    check_parts(&parts, "ab", 0, "0 1 ");
    parts = SOUND;
    parts.vocabulary = "{'a':0,'b':1,'ab':2,'Ġ':3,'Ġab':4,'1':5,'11':6}";
    parts.merges = "['a b','Ġ ab','1 1']";
    check_parts(&parts, "11", 0, "6 ");
    parts.pretokenizer = "{'type':'Sequence','pretokenizers':[{'type':'Digits','individual_digits':"
                         "true}," BYTE_LEVEL "]}";
    check_parts(&parts, "11", 0, "5 5 ");
    parts = SOUND;
    parts.vocabulary = "{'Ã':0,'©':1}";
    parts.merges = "[]";
    parts.normalizer = "{'type':'Sequence','normalizers':[{'type':'NFC'}]}";
    check_parts(&parts, "e\xcc\x81", 0, "0 1 ");
}

static void added_tokens_keep_their_kind(void **state) {
    (void)state;
    json_parts parts = SOUND;
    parts.added = "[{'id':5,'content':'<|x|>','special':true},{'id':7,'content':'<u>',"
                  "'special':false,'lstrip':true}]";
    check_parts(&parts, "a<u>b", 0, "0 7 1 ");
    check_parts(&parts, "a <u>b", 0, "0 7 1 ");
    check_parts(&parts, "a<|x|>b", KZ_ENCODE_PARSE_SPECIAL, "0 5 1 ");
    check_parts(&parts, "a<|x|>b", 0, "0 1 "); // the other characters have no token
}

static void templates_give_bos_and_eos(void **state) {
    (void)state;
    json_parts parts = SOUND;
    parts.added =
        "[{'id':5,'content':'<b>','special':true},{'id':6,'content':'<e>','special':true}]";
#define SPECIALS "'special_tokens':{'<b>':{'ids':[5]},'<e>':{'ids':[6]}}}"
#define PART(name) "{'SpecialToken':{'id':'" name "'}}"
#define TEXT_PART "{'Sequence':{'id':'A'}}"
    parts.processor =
        "{'type':'TemplateProcessing','single':[" PART("<b>") "," TEXT_PART "]," SPECIALS;
    check_parts(&parts, "a", KZ_ENCODE_ADD_BOS_EOS, "5 0 ");
    parts.processor =
        "{'type':'Sequence','processors':[{'type':'ByteLevel'},{'type':"
        "'TemplateProcessing','single':[" PART("<b>") "," TEXT_PART "," PART("<e>") "]," SPECIALS
                                                                                    "]}";
    check_parts(&parts, "a", KZ_ENCODE_ADD_BOS_EOS, "5 0 6 ");
    check_parts(&parts, "a", KZ_ENCODE_PLAIN, "0 ");
    // Whisper's: a prompt of several tokens is no BOS.
    parts.processor = "{'type':'TemplateProcessing','single':[" PART("<b>") "," PART(
        "<b>") "," TEXT_PART "," PART("<e>") "]," SPECIALS;
    check_parts(&parts, "a", KZ_ENCODE_ADD_BOS_EOS, "0 ");
}

static void what_is_not_reproduced_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        json_parts parts;
        kazeia_status status;
        const char *named;
    } CASES[] = {
#define CASE(field, value, code, name) {{.field = value}, KAZEIA_##code, name}
        CASE(normalizer, "{'type':'Lowercase'}", UNSUPPORTED, "Lowercase"),
        CASE(normalizer, "{'type':'Sequence','normalizers':[{'type':'NFKC'}]}", UNSUPPORTED,
             "NFKC"),
        CASE(pretokenizer, "{'type':'Metaspace'}", UNSUPPORTED, "Metaspace"),
        CASE(pretokenizer, "null", UNSUPPORTED, "no pre-tokeniser"),
        CASE(pretokenizer, "{'type':'ByteLevel','add_prefix_space':true}", UNSUPPORTED,
             "add_prefix_space"),
        CASE(pretokenizer,
             "{'type':'Split','pattern':{'Regex':'a'},'behavior':'Removed','invert':false}",
             UNSUPPORTED, "Removed"),
        CASE(pretokenizer,
             "{'type':'Split','pattern':{'Regex':'\\\\h'},'behavior':'Isolated','invert':false}",
             UNSUPPORTED, "\\h"),
        CASE(model_more, ",'byte_fallback':true", UNSUPPORTED, "byte_fallback"),
        CASE(model_more, ",'unk_token':'<unk>'", UNSUPPORTED, "unk_token"),
        CASE(merges, "['a c']", BAD_FILE, "'c'"),
        CASE(merges, "['b a']", BAD_FILE, "makes a text"),
        CASE(merges, "['ab']", BAD_FILE, "'ab'"),
        CASE(merges, "[1]", BAD_FILE, "neither"),
        CASE(merges, "'none'", UNSUPPORTED, "only BPE"),
        CASE(vocabulary, "{'a':-1}", BAD_FILE, "'a'"),
        CASE(vocabulary, "{'a':4000000000}", BAD_FILE, "'a'"),
        CASE(added, "[{'id':9,'content':'w','single_word':true}]", UNSUPPORTED, "single word"),
        CASE(added, "[{'id':9}]", BAD_FILE, "9"),
        CASE(added, "[{'content':'w'}]", BAD_FILE, "'w'"),
        CASE(vocabulary, "{'a':9000}", BAD_FILE, "1 tokens are numbered up to 9000"),
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        json_parts parts = SOUND;
        const char *const *given = (const char *const *)&CASES[i].parts;
        const char **used = (const char **)&parts;
        for (size_t field = 0; field < sizeof parts / sizeof *used; field++) {
            used[field] = given[field] != NULL ? given[field] : used[field];
        }
        kz_tokenizer_draft *draft = NULL;
        assert_int_equal(read_parts(&parts, &draft), CASES[i].status);
        if (strstr(kazeia_last_error(), CASES[i].named) == NULL) {
            fail_msg("case %zu: '%s' is not in '%s'", i, CASES[i].named, kazeia_last_error());
        }
    }
}

static void unknown_names_list_the_known(void **state) {
    (void)state;
    const kz_named_pretokenizer *found = NULL;
    assert_int_equal(kz_find_pretokenizer("tekken", &found), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), "tekken"));
    assert_non_null(strstr(kazeia_last_error(), "smollm"));
    assert_int_equal(kz_find_pretokenizer("qwen2", &found), KAZEIA_OK);
    assert_true((found->flags & KZ_TOKENIZER_NFC) != 0);
}

static void patterns_keep_their_meaning(void **state) {
    (void)state;
    static const struct {
        const char *given, *expected;
    } CASES[] = {{"\\s+(?!\\S)", "[\\t-\\r\\x{85}\\p{Z}]+(?![^\\t-\\r\\x{85}\\p{Z}])"},
                 {"[^\\s\\p{L}]", "[^\\t-\\r\\x{85}\\p{Z}\\p{L}]"},
                 {"\\p{L}++a", "\\p{L}++a"},
                 {"\\d\\[\\]\\\\", "\\p{Nd}\\[\\]\\\\"},
                 {"[\\S]", NULL},
                 {"[a[b]]", NULL},
                 {"[a&&b]", NULL},
                 {"a{1,3}+", NULL},
                 {"\\bx", NULL},
                 {"x\\", NULL}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        kz_text_buffer out;
        assert_int_equal(kz_text_buffer_init(&out, NULL, 0, 4096), KAZEIA_OK);
        const kazeia_status status = kz_translate_pattern(CASES[i].given, &out);
        if (CASES[i].expected == NULL) {
            assert_int_equal(status, KAZEIA_UNSUPPORTED);
        } else {
            assert_int_equal(status, KAZEIA_OK);
            assert_string_equal(out.bytes, CASES[i].expected);
        }
        kz_text_buffer_clear(&out);
    }
}

static void set_token(kz_tokenizer_draft *draft, size_t id, const char *text) {
    assert_int_equal(kz_tokenizer_draft_set_token(draft, id, text, strlen(text), KZ_SPELLED_RAW,
                                                  KZ_TOKEN_NORMAL, 0),
                     KAZEIA_OK);
}

static void merges_are_spelled_as_tokens_are(void **state) {
    (void)state;
    kz_tokenizer_draft *draft = NULL;
    kz_bytes section;
    uint32_t ids[8];
    size_t count = 0;
    assert_int_equal(kz_tokenizer_draft_create(KZ_TOKENIZER_BYTE_BPE, 5, NULL, &draft), KAZEIA_OK);
    set_token(draft, 0, " ");
    set_token(draft, 1, "\xe9");
    set_token(draft, 2, " \xe9");
    assert_int_equal(kz_tokenizer_draft_add_merge(draft, " ", 1, "\xe9", 1), KAZEIA_OK);
    assert_int_equal(kz_tokenizer_draft_add_merge(draft, "Ġ", 2, "\xe9", 1), KAZEIA_BAD_FILE);
    kz_tokenizer *tokenizer = open_draft(draft, &section);
    assert_int_equal(kz_tokenizer_encode(tokenizer, "\xe9", 1, 0, ids, 8, &count), KAZEIA_OK);
    assert_int_equal(ids[0], 1);
    assert_int_equal(kz_tokenizer_find(tokenizer, " \xe9", 2), 2);
    kz_tokenizer_close(tokenizer);
    free_section(section);
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    json_t *root = parse_parts(&SOUND);
    kazeia_status status = KAZEIA_OUT_OF_MEMORY;
    size_t fail_at = 1;
    for (; status == KAZEIA_OUT_OF_MEMORY; fail_at++) {
        counting_allocator counting;
        counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        kz_tokenizer_draft *draft = NULL;
        uint8_t *bytes = NULL;
        size_t count = 0;
        status = kz_tokenizer_from_json(root, &counting.allocator, &draft);
        if (status == KAZEIA_OK) {
            status = kz_tokenizer_draft_build(draft, &bytes, &count);
            kz_tokenizer_draft_destroy(draft);
        }
        kz_free_aligned(&counting.allocator, bytes);
        assert_int_equal(counting.live_count, 0);
    }
    assert_int_equal(status, KAZEIA_OK);
    assert_true(fail_at > 10);
    json_decref(root);
}

// Every known pre-tokeniser compiles, and cuts nothing away.
static void known_pretokenizers_work(void **state) {
    (void)state;
    static const char *const NAMES[] = {
        "gpt-2",  "phi-2",  "mpt",       "smollm",   "refact",           "starcoder",     "qwen2",
        "qwen35", "llama3", "llama-bpe", "llama-v3", "deepseek-r1-qwen", "deepseek-coder"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        kz_tokenizer_draft *draft = NULL;
        kz_bytes section;
        uint32_t ids[64];
        size_t count = 0;
        assert_int_equal(kz_tokenizer_draft_create(KZ_TOKENIZER_BYTE_BPE, 257, NULL, &draft),
                         KAZEIA_OK);
        for (unsigned byte = 0; byte < 256; byte++) {
            const char text = (char)byte;
            assert_int_equal(kz_tokenizer_draft_set_token(draft, byte, &text, 1, KZ_SPELLED_RAW,
                                                          KZ_TOKEN_NORMAL, 0),
                             KAZEIA_OK);
        }
        assert_int_equal(kz_tokenizer_draft_add_named(draft, NAMES[i]), KAZEIA_OK);
        kz_tokenizer_draft_source(draft)->bos = 256;
        kz_tokenizer *tokenizer = open_draft(draft, &section);
        static const char TEXT[] = "I'm 12345 é\r\n\n  x漢_!?";
        assert_int_equal(kz_tokenizer_encode(tokenizer, TEXT, sizeof TEXT - 1, 0, ids, 64, &count),
                         KAZEIA_OK);
        assert_int_equal(count, sizeof TEXT - 1);
        kz_tokenizer_close(tokenizer);
        free_section(section);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_are_lines_or_pairs),
        cmocka_unit_test(components_are_rebuilt),
        cmocka_unit_test(added_tokens_keep_their_kind),
        cmocka_unit_test(templates_give_bos_and_eos),
        cmocka_unit_test(what_is_not_reproduced_is_refused_by_name),
        cmocka_unit_test(unknown_names_list_the_known),
        cmocka_unit_test(patterns_keep_their_meaning),
        cmocka_unit_test(merges_are_spelled_as_tokens_are),
        cmocka_unit_test(failed_allocations_leave_nothing),
        cmocka_unit_test(known_pretokenizers_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
