// test_command_golden.c: every public French test, in each one's own home and in one home of all.
//
// in:  tests/golden/commands
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/command_automaton.h"
#include "text/command_check.h"
#include "text/command_grammar.h"
#include "text/utf8.h"
#include "text_test.h"

#define FOLDER "tests/golden/commands/"

typedef struct golden {
    json_t *homes;      // file -> home
    json_t *everything; // one home of all
    bool is_union;
    char *file; // whose home is compiled
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    size_t count, wrong;
} golden;

// ---- homes

static const char *name_of(const json_t *item) {
    return json_string_value(json_is_object(item) ? json_object_get(item, "name") : item);
}

static bool is_same(const char *left, const char *right) {
    char a[512], b[512];
    const size_t count = kz_text_fold(left, strlen(left), a, sizeof a);
    return count == kz_text_fold(right, strlen(right), b, sizeof b) && memcmp(a, b, count) == 0;
}

static void add_names(json_t *all, const json_t *more) {
    for (size_t i = 0; i < json_array_size(more); i++) {
        size_t k = 0;
        while (k < json_array_size(all) &&
               !is_same(name_of(json_array_get(all, k)), name_of(json_array_get(more, i)))) {
            k++;
        }
        if (k == json_array_size(all)) {
            json_array_append(all, json_array_get(more, i));
        }
    }
}

static void take_home(void *context, json_t *line) {
    static const char *const keys[] = {"entities", "areas", "floors"};
    golden *g = context;
    json_object_set(g->homes, json_string_value(json_object_get(line, "file")), line);
    json_object_set(g->everything, "context_area", json_object_get(line, "context_area"));
    for (size_t i = 0; i < 3; i++) {
        add_names(json_object_get(g->everything, keys[i]), json_object_get(line, keys[i]));
    }
}

static void drop_grammar(golden *g) {
    kz_command_matcher_destroy(g->matcher);
    kz_command_grammar_close(g->grammar);
    free(g->file);
    g->file = NULL;
    g->matcher = NULL;
    g->grammar = NULL;
}

static void compile_for(golden *g, const char *file) {
    if (g->file != NULL && strcmp(g->file, file) == 0) {
        return;
    }
    drop_grammar(g);
    const json_t *home = json_object_get(g->homes, file);
    char *bytes = json_dumps(home != NULL && !g->is_union ? home : g->everything, 0);
    const kz_command_home_file source = {bytes, strlen(bytes), "home"};
    if (kz_command_grammar_open_for(FOLDER "grammar.json", &source, NULL, &g->grammar) !=
        KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    assert_int_equal(kz_command_matcher_create(g->grammar, NULL, &g->matcher), KAZEIA_OK);
    free(bytes);
    g->file = strdup(file);
}

// ---- results

static bool is_value(const kz_command_slot *slot, const json_t *wanted) {
    if (json_is_number(wanted)) {
        return slot->kind == KZ_SLOT_NUMBER && slot->number == json_number_value(wanted);
    }
    if (json_is_array(wanted)) {
        for (size_t i = 0; i < json_array_size(wanted); i++) {
            if (is_value(slot, json_array_get(wanted, i))) {
                return true;
            }
        }
        return false;
    }
    // Of a list of values one in common is enough.
    return json_is_string(wanted) &&
           (slot->kind == KZ_SLOT_LIST ? strstr(slot->text, json_string_value(wanted)) != NULL
                                       : is_same(slot->text, json_string_value(wanted)));
}

static bool is_right(const kz_command_result *result, const json_t *line) {
    const char *intent = json_string_value(json_object_get(line, "intent"));
    const json_t *slots = json_object_get(line, "slots");
    const bool drops_area = json_is_true(json_object_get(line, "context_area"));
    size_t count = 0;
    if (intent == NULL || !result->is_match) {
        return result->is_match == (intent != NULL);
    }
    for (uint32_t i = 0; i < result->slot_count; i++) {
        const kz_command_slot *slot = &result->slots[i];
        if (drops_area && strcmp(slot->name, "area") == 0) {
            continue;
        }
        const json_t *wanted = json_object_get(slots, slot->name);
        if (wanted == NULL || !is_value(slot, wanted)) {
            return false;
        }
        count++;
    }
    return strcmp(result->intent, intent) == 0 && count == json_object_size(slots);
}

static void check_line(void *context, json_t *line) {
    golden *g = context;
    const char *file = json_string_value(json_object_get(line, "file"));
    const char *sentence = json_string_value(json_object_get(line, "sentence"));
    kz_command_result result;
    compile_for(g, g->is_union || file == NULL ? "" : file);
    assert_int_equal(kz_command_match(g->matcher, sentence, NULL, &result), KAZEIA_OK);
    const bool right = is_right(&result, line);
    if (!right) {
        fprintf(stderr, "%s -> %s\n", sentence, result.intent);
    }
    g->count++;
    g->wrong += !right;
}

static void run(const char *tests, bool is_union, size_t count) {
    golden g = {.homes = json_object(), .is_union = is_union};
    g.everything = json_pack("{s:[], s:[], s:[]}", "entities", "areas", "floors");
    for_each_line(FOLDER "fixtures.jsonl", take_home, &g);
    for_each_line(tests, check_line, &g);
    drop_grammar(&g);
    json_decref(g.homes);
    json_decref(g.everything);
    assert_int_equal(g.wrong, 0);
    assert_int_equal(g.count, count);
}

static void own_homes(void **state) {
    (void)state;
    run(FOLDER "tests.jsonl", false, 631);
}

static void one_home(void **state) {
    (void)state;
    run(FOLDER "tests.jsonl", true, 631);
}

static void numbers_in_words(void **state) {
    (void)state;
    run(FOLDER "tests_words.jsonl", false, 267);
    run(FOLDER "tests_words.jsonl", true, 267);
}

static void no_commands(void **state) {
    (void)state;
    run(FOLDER "negatives.jsonl", true, 60);
}

// ---- what the automaton says is what the matcher reads

typedef struct walk {
    kz_command_walker *walker;
    kz_command_matcher *matcher;
    char text[512];
    size_t count, sentences;
} walk;

static kazeia_status visit_word(void *context, const kz_command_word *word) {
    walk *w = context;
    kz_command_result result;
    (void)snprintf(w->text + w->count, sizeof w->text - w->count, "%s%s", w->count > 0 ? " " : "",
                   word->text);
    if (word->is_end) {
        assert_int_equal(kz_command_match(w->matcher, w->text, NULL, &result), KAZEIA_OK);
        if (!result.is_match) {
            fail_msg("'%s' is said and not understood", w->text);
        }
        w->sentences++;
    }
    w->text[w->count] = '\0';
    return KAZEIA_OK;
}

static void every_first_word_is_understood(void **state) {
    (void)state;
    kz_command_grammar *grammar;
    kz_command_automaton *automaton;
    walk w = {.count = 0};
    assert_int_equal(kz_command_grammar_open("examples/commandes.yaml", NULL, &grammar), KAZEIA_OK);
    assert_int_equal(kz_command_matcher_create(grammar, NULL, &w.matcher), KAZEIA_OK);
    assert_int_equal(kz_command_automaton_create(grammar, NULL, &automaton), KAZEIA_OK);
    assert_int_equal(kz_command_walker_create(automaton, NULL, &w.walker), KAZEIA_OK);
    const kz_command_position start = kz_command_walker_start(w.walker);
    assert_int_equal(kz_command_walker_words(w.walker, &start, 1, visit_word, &w), KAZEIA_OK);
    assert_true(kz_command_automaton_state_count(automaton) > 100);
    kz_command_walker_destroy(w.walker);
    kz_command_automaton_destroy(automaton);
    kz_command_matcher_destroy(w.matcher);
    kz_command_grammar_close(grammar);
}

static kazeia_status count_finding(void *context, const kz_command_finding *finding) {
    assert_non_null(strstr(finding->file, "grammar.json"));
    assert_true(finding->line > 1 && finding->column > 0);
    ++*(size_t *)context;
    return KAZEIA_OK;
}

static void a_home_without_names_leaves_templates_out(void **state) {
    (void)state;
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    kz_command_counts counts;
    size_t findings = 0;
    assert_int_equal(kz_command_grammar_open(FOLDER "grammar.json", NULL, &grammar), KAZEIA_OK);
    assert_int_equal(kz_command_matcher_create(grammar, NULL, &matcher), KAZEIA_OK);
    assert_int_equal(kz_command_check(grammar, matcher, count_finding, &findings, &counts),
                     KAZEIA_OK);
    assert_int_equal(counts.sentences, 755);
    assert_int_equal(counts.intents, 41);
    assert_int_equal(findings, counts.unreachable + counts.ambiguous);
    assert_true(counts.unreachable > 300);
    assert_in_range(counts.sentences - counts.tried, 301, counts.unreachable);
    kz_command_matcher_destroy(matcher);
    kz_command_grammar_close(grammar);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_homes),
                                       cmocka_unit_test(one_home),
                                       cmocka_unit_test(numbers_in_words),
                                       cmocka_unit_test(no_commands),
                                       cmocka_unit_test(every_first_word_is_understood),
                                       cmocka_unit_test(a_home_without_names_leaves_templates_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
