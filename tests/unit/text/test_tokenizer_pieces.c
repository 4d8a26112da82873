// test_tokenizer_pieces.c: SentencePiece's vocabularies in tokenizer.json, and folders without one.
//
// in: a vocabulary of 256 byte tokens and a few pieces, made here; GPT-2's files
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/checkpoint/tokenizer_files.h"
#include "text/tokenizer.h"
#include "tokenizer_fixture.h"

#define MARK "\xe2\x96\x81" // U+2581
#define PREPEND "{'type':'Prepend','prepend':'" MARK "'}"
#define REPLACE "{'type':'Replace','pattern':{'String':' '},'content':'" MARK "'}"
#define METASPACE(more) "{'type':'Metaspace','replacement':'" MARK "','split':false," more "}"

// Ids: <unk> <s> </s>, the bytes from 3 on, then these.
enum { BYTES = 3, SPACE = 259, A, B, AB, BA, SPACE_A, ABA, TWO_SPACES };
static const char *const PIECES[] = {MARK, "a", "b", "ab", "ba", MARK "a", "aba", MARK MARK};
// "ba" before "ab": the list's order counts, not the place in the text.
#define MERGES "[['b','a'],['a','b'],['" MARK "','a'],['a','ba'],['" MARK "','" MARK "']]"
#define SPECIALS                                                                         \
    "{'id':0,'content':'<unk>','special':true},{'id':1,'content':'<s>','special':true}," \
    "{'id':2,'content':'</s>','special':true,'rstrip':true}"

typedef struct piece_parts {
    const char *model_more, *added, *normalizer, *pretokenizer;
    size_t byte_count;
} piece_parts;

static const piece_parts SOUND = {"", "", REPLACE, "null", 256};

static void append(char *text, size_t capacity, const char *more) {
    assert_true(strlen(text) + strlen(more) < capacity);
    strcat(text, more);
}

static void append_vocabulary(const piece_parts *parts, char *text, size_t capacity) {
    char entry[64];
    append(text, capacity, "'<unk>':0,'<s>':1,'</s>':2");
    for (size_t i = 0; i < parts->byte_count; i++) {
        snprintf(entry, sizeof entry, ",'<0x%02zX>':%zu", i, BYTES + i);
        append(text, capacity, entry);
    }
    for (size_t i = 0; i < sizeof PIECES / sizeof PIECES[0]; i++) {
        snprintf(entry, sizeof entry, ",'%s':%zu", PIECES[i], SPACE + i);
        append(text, capacity, entry);
    }
}

static json_t *parse_parts(const piece_parts *parts) {
    static char text[16384];
    text[0] = 0;
    append(text, sizeof text,
           "{'model':{'type':'BPE','byte_fallback':true,'fuse_unk':true,"
           "'unk_token':'<unk>','vocab':{");
    append_vocabulary(parts, text, sizeof text);
    append(text, sizeof text, "},'merges':" MERGES);
    append(text, sizeof text, parts->model_more);
    append(text, sizeof text, "},'added_tokens':[" SPECIALS);
    append(text, sizeof text, parts->added);
    append(text, sizeof text, "],'normalizer':");
    append(text, sizeof text, parts->normalizer);
    append(text, sizeof text, ",'pre_tokenizer':");
    append(text, sizeof text, parts->pretokenizer);
    append(text, sizeof text, "}");
    for (char *at = text; *at != 0; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    assert_non_null(root);
    return root;
}

static kazeia_status read_parts(const piece_parts *parts, kz_tokenizer_draft **out_draft) {
    json_t *root = parse_parts(parts);
    const kazeia_status status = kz_tokenizer_from_json(root, NULL, out_draft);
    json_decref(root);
    return status;
}

// Encodes with the draft, which it takes.
static void check_draft(kz_tokenizer_draft *draft, const char *text, uint32_t flags,
                        const char *expected) {
    uint8_t *bytes = NULL;
    size_t count = 0;
    kz_tokenizer *tokenizer = NULL;
    uint32_t ids[64];
    char found[256] = "";
    assert_int_equal(kz_tokenizer_draft_build(draft, &bytes, &count), KAZEIA_OK);
    const kz_bytes section = {bytes, count};
    assert_int_equal(kz_tokenizer_open(&section, NULL, NULL, &tokenizer), KAZEIA_OK);
    assert_int_equal(kz_tokenizer_encode(tokenizer, text, strlen(text), flags, ids, 64, &count),
                     KAZEIA_OK);
    for (size_t i = 0; i < count; i++) {
        snprintf(found + strlen(found), sizeof found - strlen(found), "%u ", ids[i]);
    }
    assert_string_equal(found, expected);
    kz_tokenizer_close(tokenizer);
    free_section(section);
    kz_tokenizer_draft_destroy(draft);
}

static void check_parts(const piece_parts *parts, const char *text, uint32_t flags,
                        const char *expected) {
    kz_tokenizer_draft *draft = NULL;
    assert_int_equal(read_parts(parts, &draft), KAZEIA_OK);
    check_draft(draft, text, flags, expected);
}

static void merges_go_by_the_list(void **state) {
    (void)state;
    check_parts(&SOUND, "aba", 0, "265 ");     // a + ba
    check_parts(&SOUND, "ab", 0, "262 ");      //
    check_parts(&SOUND, "  a", 0, "259 264 "); // the mark's merge with a comes first
    check_parts(&SOUND, "   ", 0, "266 259 ");
    check_parts(&SOUND, "a\xc3\xa9", 0, "260 198 172 "); // bytes c3 a9
    check_parts(&SOUND, "<0x41>", 0, "63 51 123 55 52 65 ");
}

static void spaces_go_where_the_pipeline_puts_them(void **state) {
    (void)state;
    static const struct {
        const char *normalizer, *pretokenizer, *expected[4];
    } CASES[] = {
        // Of "a", " a", "</s> a", "<s>a": with special tokens parsed; </s> strips to its right.
        {REPLACE, "null", {"260 ", "264 ", "2 260 ", "1 260 "}},
        {REPLACE,
         "{'type':'Split','pattern':{'String':' '},'behavior':'MergedWithPrevious'}",
         {"260 ", "264 ", "2 260 ", "1 260 "}},
        {"{'type':'Sequence','normalizers':[" PREPEND "," REPLACE "]}",
         "null",
         {"264 ", "259 264 ", "2 264 ", "1 264 "}},
        {"null", METASPACE("'prepend_scheme':'first'"), {"264 ", "264 ", "2 260 ", "1 260 "}},
        {"null", METASPACE("'prepend_scheme':'always'"), {"264 ", "264 ", "2 264 ", "1 264 "}},
        {"null", METASPACE("'prepend_scheme':'never'"), {"260 ", "264 ", "2 260 ", "1 260 "}},
        {"null", METASPACE("'add_prefix_space':true"), {"264 ", "264 ", "2 264 ", "1 264 "}},
    };
    static const char *const TEXTS[] = {"a", " a", "</s> a", "<s>a"};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        piece_parts parts = SOUND;
        parts.normalizer = CASES[i].normalizer;
        parts.pretokenizer = CASES[i].pretokenizer;
        for (size_t text = 0; text < 4; text++) {
            check_parts(&parts, TEXTS[text], KZ_ENCODE_PARSE_SPECIAL, CASES[i].expected[text]);
        }
    }
}

static void added_tokens_of_spaces_are_merged(void **state) {
    (void)state;
    piece_parts parts = SOUND;
    parts.added = ",{'id':266,'content':'" MARK MARK "','special':false}";
    check_parts(&parts, "   ", 0, "266 259 ");
    parts.added = ",{'id':263,'content':'ba','special':false}";
    check_parts(&parts, "aba", 0, "260 263 ");
}

static void what_is_not_reproduced_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        piece_parts parts;
        const char *named;
    } CASES[] = {
        {{"", "", REPLACE, "null", 255}, "255 of 256"},
        {{"", "", "null", "null", 256}, "U+2581"},
        {{"", "", "{'type':'NFKC'}", "null", 256}, "NFKC"},
        {{"", "", "{'type':'Replace','pattern':{'String':'x'},'content':'y'}", "null", 256},
         "Replace"},
        {{"", "", "{'type':'Prepend','prepend':'x'}", "null", 256}, "Prepend"},
        {{"", "", "null", "{'type':'Metaspace','replacement':'" MARK "'}", 256}, "'split'"},
        {{"", "", REPLACE, "{'type':'Split','pattern':{'String':'x'}}", 256}, "Split"},
        {{"", "", REPLACE, "{'type':'WhitespaceSplit'}", 256}, "WhitespaceSplit"},
        {{",'ignore_merges':true", "", REPLACE, "null", 256}, "ignore_merges"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        kz_tokenizer_draft *draft = NULL;
        assert_int_equal(read_parts(&CASES[i].parts, &draft), KAZEIA_UNSUPPORTED);
        if (strstr(kazeia_last_error(), CASES[i].named) == NULL) {
            fail_msg("case %zu: '%s' is not in '%s'", i, CASES[i].named, kazeia_last_error());
        }
    }
}

// --- Folders ------------------------------------------------------------------------------------

static void write_file(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void remove_folder(const char *folder) {
    static const char *const NAMES[] = {"vocab.json", "merges.txt", "tokenizer.json",
                                        "tokenizer_config.json"};
    char path[256];
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static kazeia_status read_folder(const char *folder, kz_tokenizer_draft **out_draft) {
    kz_checkpoint *checkpoint = NULL;
    assert_int_equal(kz_checkpoint_open_text(folder, NULL, &checkpoint), KAZEIA_OK);
    const kazeia_status status = kz_tokenizer_from_folder(checkpoint, NULL, out_draft);
    kz_checkpoint_close(checkpoint);
    return status;
}

static void check_folder(const char *folder, const char *text, uint32_t flags,
                         const char *expected) {
    kz_tokenizer_draft *draft = NULL;
    assert_int_equal(read_folder(folder, &draft), KAZEIA_OK);
    check_draft(draft, text, flags, expected);
}

static void refuse_folder(const char *folder, const char *named) {
    kz_tokenizer_draft *draft = NULL;
    assert_int_equal(read_folder(folder, &draft), KAZEIA_UNSUPPORTED);
    assert_non_null(strstr(kazeia_last_error(), named));
}

// The class says how text is cut: qwen2's rules keep "'X" together, gpt-2's do not.
static void classes_stand_for_pretokenizers(void **state) {
    (void)state;
    char folder[] = "/tmp/kazeia-pieces-XXXXXX";
    assert_non_null(mkdtemp(folder));
    write_file(folder, "vocab.json", "{\"'\":0,\"X\":1,\"'X\":2,\"<|end|>\":3}");
    write_file(folder, "merges.txt", "#version: 0.2\n' X\n");
    write_file(folder, "tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}");
    check_folder(folder, "'X<|end|>", KZ_ENCODE_PARSE_SPECIAL, "0 1 3 ");
    write_file(folder, "tokenizer_config.json",
               "{\"tokenizer_class\":\"Qwen2Tokenizer\",\"added_tokens_decoder\":{\"4\":{"
               "\"content\":\"<t>\",\"special\":false},\"5\":{\"content\":\"<c>\",\"special\":true"
               "}}}");
    check_folder(folder, "'X<t><c>", KZ_ENCODE_PARSE_SPECIAL, "2 4 5 ");
    check_folder(folder, "'X<t>", 0, "2 4 ");
    write_file(folder, "tokenizer_config.json", "{\"tokenizer_class\":\"BartTokenizer\"}");
    refuse_folder(folder, "BartTokenizer");
    write_file(folder, "tokenizer_config.json",
               "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_prefix_space\":true}");
    refuse_folder(folder, "add_prefix_space");
    write_file(folder, "tokenizer_config.json", "{}");
    refuse_folder(folder, "vocab.json");
    remove_folder(folder);
}

static void the_config_overrides_bos_and_eos_for_its_classes(void **state) {
    (void)state;
    char folder[] = "/tmp/kazeia-pieces-XXXXXX";
    assert_non_null(mkdtemp(folder));
    json_t *root = parse_parts(&SOUND);
    char *text = json_dumps(root, JSON_COMPACT);
    assert_non_null(text);
    write_file(folder, "tokenizer.json", text);
    check_folder(folder, "a", KZ_ENCODE_ADD_BOS_EOS, "260 ");
#define CONFIG(class)                                                                      \
    "{\"tokenizer_class\":\"" class "\",\"bos_token\":\"<s>\",\"eos_token\":{\"content\":" \
                                    "\"</s>\"},\"add_bos_token\":true,\"add_eos_token\":true}"
    write_file(folder, "tokenizer_config.json", CONFIG("LlamaTokenizer"));
    check_folder(folder, "a", KZ_ENCODE_ADD_BOS_EOS, "1 260 2 ");
    check_folder(folder, "a", 0, "260 ");
    write_file(folder, "tokenizer_config.json", CONFIG("PreTrainedTokenizerFast"));
    check_folder(folder, "a", KZ_ENCODE_ADD_BOS_EOS, "260 ");
    free(text);
    json_decref(root);
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_go_by_the_list),
        cmocka_unit_test(spaces_go_where_the_pipeline_puts_them),
        cmocka_unit_test(added_tokens_of_spaces_are_merged),
        cmocka_unit_test(what_is_not_reproduced_is_refused_by_name),
        cmocka_unit_test(classes_stand_for_pretokenizers),
        cmocka_unit_test(the_config_overrides_bos_and_eos_for_its_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
