// test_command.c: the shipped command files, the template language, numbers, errors, hostile files.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/command_grammar.h"
#include "text_test.h"

enum { GRAMMAR_BYTES = 65536 };

// ---- an allocator that counts, and fails when asked to

typedef struct counter {
    size_t allocations, live, fails_at; // fails_at 0: never
} counter;

static void *count_allocate(void *context, size_t bytes) {
    counter *c = context;
    if (++c->allocations == c->fails_at) {
        return NULL;
    }
    c->live++;
    return malloc(bytes);
}

static void count_release(void *context, void *memory) {
    counter *c = context;
    c->live -= memory != NULL;
    free(memory);
}

static kazeia_allocator counting(counter *c) {
    return (kazeia_allocator){c, count_allocate, count_release};
}

// ---- helpers

static const kz_command_clock clock_of_test = {14, 5, 3, 4, 2026, 5};

typedef struct opened {
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
} opened;

static kazeia_status open_text(const char *yaml, opened *out) {
    out->grammar = NULL;
    out->matcher = NULL;
    KZ_TRY(kz_command_grammar_read(yaml, strlen(yaml), "test.yaml", NULL, &out->grammar));
    return kz_command_matcher_create(out->grammar, NULL, &out->matcher);
}

static void close_text(opened *o) {
    kz_command_matcher_destroy(o->matcher);
    kz_command_grammar_close(o->grammar);
}

// "Intent slot=value slot=value", "-" for no match.
static void describe(kz_command_matcher *matcher, const char *text, char *out, size_t capacity) {
    kz_command_result result;
    assert_int_equal(kz_command_match(matcher, text, &clock_of_test, &result), KAZEIA_OK);
    size_t used = (size_t)snprintf(out, capacity, "%s", result.is_match ? result.intent : "-");
    for (uint32_t i = 0; i < result.slot_count && used < capacity; i++) {
        used += (size_t)snprintf(out + used, capacity - used, " %s=%s", result.slots[i].name,
                                 result.slots[i].text);
    }
}

// ---- shipped files

static bool has_slots(const kz_command_result *result, json_t *wanted) {
    if (json_object_size(wanted) != result->slot_count) {
        return false;
    }
    for (uint32_t i = 0; i < result->slot_count; i++) {
        const kz_command_slot *slot = &result->slots[i];
        const json_t *value = json_object_get(wanted, slot->name);
        const bool is_same = json_is_string(value)
                                 ? strcmp(slot->text, json_string_value(value)) == 0
                                 : value != NULL && slot->number == json_number_value(value);
        if (!is_same) {
            return false;
        }
    }
    return true;
}

typedef struct tally {
    opened commands;
    size_t wrong, matched;
} tally;

static void check_command(void *context, json_t *line) {
    tally *t = context;
    const char *text = json_string_value(json_object_get(line, "text"));
    const char *intent = json_string_value(json_object_get(line, "intent"));
    kz_command_result result;
    assert_int_equal(kz_command_match(t->commands.matcher, text, &clock_of_test, &result),
                     KAZEIA_OK);
    const bool is_right =
        result.is_match == (intent != NULL) &&
        (intent == NULL ||
         (strcmp(result.intent, intent) == 0 &&
          has_slots(&result, json_object_get(line, "slots")) &&
          strcmp(result.response, json_string_value(json_object_get(line, "response"))) == 0));
    if (!is_right) {
        fprintf(stderr, "%s -> %s, [%s]\n", text, result.intent, result.response);
    }
    t->wrong += !is_right;
    t->matched += result.is_match;
}

static void open_file(const char *path, opened *out) {
    if (kz_command_grammar_open(path, NULL, &out->grammar) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    assert_int_equal(kz_command_matcher_create(out->grammar, NULL, &out->matcher), KAZEIA_OK);
}

static void test_french_commands(void **state) {
    (void)state;
    tally t = {.wrong = 0};
    open_file("examples/commandes.yaml", &t.commands);
    assert_string_equal(kz_command_grammar_language(t.commands.grammar), "fr");
    for_each_line("tests/golden/text/commands_fr.jsonl", check_command, &t);
    assert_int_equal(t.wrong, 0);
    assert_true(t.matched >= 30);
    close_text(&t.commands);
}

static void test_english_commands(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"Turn on the living room lamp.", "HassTurnOn area=living room domain=light"},
        {"Turn the lights off", "HassTurnOff domain=light"},
        {"Please close the blinds in the bedroom!", "HassTurnOff area=bedroom domain=cover"},
        {"Set a timer for five minutes and 30 seconds.", "HassStartTimer minutes=5 seconds=30"},
        {"Start a twenty-five minute timer", "HassStartTimer minutes=25"},
        {"Could you set the kitchen light to 40%?", "HassLightSet area=kitchen brightness=40"},
        {"What's the time?", "HassGetCurrentTime"},
        {"I turned on the light yesterday", "-"},
    };
    char found[512];
    opened commands;
    open_file("examples/commands_en.yaml", &commands);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        describe(commands.matcher, cases[i][0], found, sizeof found);
        assert_string_equal(found, cases[i][1]);
    }
    close_text(&commands);
}

// ---- the template language: one grammar, one text, what comes out

#define ONE(sentence) \
    "language: fr\nintents:\n  I:\n    data:\n      - sentences: ['" sentence "']\n"
#define LISTS                                                                                \
    "lists:\n"                                                                               \
    "  lieu: {values: [salon, {in: 'chambre[s]', out: room}, {in: cave, out: 3}, "           \
    "{in: store, out: [blind, shade]}, \"salle d'eau\"]}\n"                                  \
    "  nombre: {range: {from: -5, to: 100}}\n"                                               \
    "  pas: {range: {from: 0, to: 100, step: 10}}\n"                                         \
    "  degres: {range: {from: 5, to: 30, fractions: halves}}\n"                              \
    "  moins: {range: {from: 0, to: 50, multiplier: -1}}\n"                                  \
    "  chose: {wildcard: true}\n"                                                            \
    "expansion_rules:\n  le: \"(le |la |les |l')\"\n  dans: (dans|du|à)\n  lie: '{lieu}'\n" \
    "  poli: 'veux bien|peux'\n"                                                             \
    "skip_words: [merci, \"s'il te plaît\", \"s'il\"]\n"

static const struct template_case {
    const char *yaml, *text, *expected;
} template_cases[] = {
    {ONE("allume la lampe") LISTS, "Allume la lampe.", "I"},
    {ONE("allume la lampe") LISTS, "  ALLUME\tla   Lampe !", "I"},
    {ONE("allume la lampe") LISTS, "allume la lampes", "-"},
    {ONE("allume la lampe") LISTS, "allume lampe", "-"},
    {ONE("lumière[s]") LISTS, "lumie\xcc\x80res", "I"},
    {ONE("lumière[s]") LISTS, "lumiere", "-"},
    {ONE("(a|b) c") LISTS, "b c", "I"},
    {ONE("a|b c") LISTS, "a", "I"},
    {ONE("[a] c") LISTS, "c", "I"},
    {ONE("(rouge;vert;bleu)") LISTS, "vert bleu rouge", "I"},
    {ONE("(rouge;vert;bleu)") LISTS, "vert bleu", "-"},
    {ONE("x (rouge;[très] vert) y") LISTS, "x très vert rouge y", "I"},
    {ONE("<poli> venir") LISTS, "veux bien venir", "I"},
    {ONE("va [<dans>] [<le>]{lieu}") LISTS, "va dans la chambre", "I lieu=room"},
    {ONE("va [<dans>] [<le>]{lieu}") LISTS, "va salon", "I lieu=salon"},
    {ONE("va {lieu:ou}") LISTS, "va Salle d’eau", "I ou=Salle d’eau"},
    {ONE("va {lieu}") LISTS, "va cave", "I lieu=3"},
    {ONE("va {lieu}") LISTS, "va store", "I lieu=[\"blind\",\"shade\"]"},
    {ONE("va <lie> puis {lieu:b}") LISTS, "va salon puis chambres", "I lieu=salon b=room"},
    {ONE("à {nombre}[ ]%") LISTS, "à 50%", "I nombre=50"},
    {ONE("à {nombre}[ ]%") LISTS, "à 50 %", "I nombre=50"},
    {ONE("à {nombre}") LISTS, "à -5", "I nombre=-5"},
    {ONE("à {nombre}") LISTS, "à 101", "-"},
    {ONE("à {nombre}") LISTS, "à vingt-et-un", "I nombre=21"},
    {ONE("à {nombre}") LISTS, "à quatre-vingt-dix-sept", "I nombre=97"},
    {ONE("à {nombre} cinq") LISTS, "à vingt cinq", "I nombre=20"},
    {ONE("à {pas}") LISTS, "à 35", "-"},
    {ONE("à {pas}") LISTS, "à trente", "I pas=30"},
    {ONE("à {degres} degrés") LISTS, "à 20,5 degrés", "I degres=20.5"},
    {ONE("à {degres} degrés") LISTS, "à 20.7 degrés", "-"},
    {ONE("{moins}") LISTS, "12", "I moins=-12"},
    {ONE("{1..9:n} pas") LISTS, "trois pas", "I n=3"},
    {ONE("{1..9,2:n} pas") LISTS, "4 pas", "-"},
    {ONE("dis {chose}") LISTS, "Dis Bonjour Madame Merle", "I chose=Bonjour Madame Merle"},
    {ONE("dis {chose} à {lieu}") LISTS, "dis va à Lyon à salon", "I chose=va à Lyon lieu=salon"},
    {ONE("ajoute {nombre} {chose}") LISTS, "ajoute 3 pommes", "I nombre=3 chose=pommes"},
    {ONE("allume") LISTS, "allume s'il te plaît merci", "I"},
    {ONE("allume le {lieu}") LISTS, "merci allume merci le salon", "I lieu=salon"},
    {ONE("{chose} dit") LISTS, "merci a dit merci", "I chose=merci a"},
    {ONE("porte fenêtre") LISTS, "porte-fenêtre", "I"},
    {ONE("a \\(b\\)") LISTS, "a (b)", "I"},
    {ONE("s.v.p.") LISTS, "S.V.P.", "I"},
    {ONE("allume") LISTS, "", "-"},
    {ONE("allume") LISTS, "... !", "-"},
    {ONE("allume") LISTS, "\xff\xfe", "-"},
};

static void test_templates(void **state) {
    (void)state;
    size_t wrong = 0;
    char found[512];
    for (size_t i = 0; i < sizeof template_cases / sizeof template_cases[0]; i++) {
        const struct template_case *c = &template_cases[i];
        opened commands;
        if (open_text(c->yaml, &commands) != KAZEIA_OK) {
            fail_msg("%s", kazeia_last_error());
        }
        describe(commands.matcher, c->text, found, sizeof found);
        if (strcmp(found, c->expected) != 0) {
            fprintf(stderr, "case %zu, [%s] -> [%s], expected [%s]\n", i, c->text, found,
                    c->expected);
            wrong++;
        }
        close_text(&commands);
    }
    assert_int_equal(wrong, 0);
}

// Of several readings: a name, fewer wildcards, more literal text, intent name, order in the file.
static void test_best_reading(void **state) {
    (void)state;
    static const char yaml[] =
        "language: fr\n"
        "lists:\n  n: {values: [lampe, lampe verte]}\n  x: {wildcard: true}\n"
        "intents:\n"
        "  Z: {data: [{sentences: ['mets {x}']}]}\n"
        "  Y: {data: [{sentences: ['mets la lampe verte']}, {sentences: ['mets la lampe {x}']}]}\n"
        "  B: {data: [{sentences: ['ouvre tout'], slots: {mode: deux}}]}\n"
        "  A: {data: [{sentences: ['ouvre tout'], slots: {mode: un, reste: 4}}]}\n"
        "  N: {data: [{sentences: ['allume la {n:name}', 'allume {x}', 'allume la lampe "
        "verte']}]}\n";
    static const char *const cases[][2] = {
        {"mets la lampe verte", "Y"},
        {"mets la lampe rouge", "Y x=rouge"},
        {"mets du pain", "Z x=du pain"},
        {"ouvre tout", "A mode=un reste=4"},
        {"allume la lampe verte", "N name=lampe verte"},
    };
    char found[512];
    opened commands;
    assert_int_equal(open_text(yaml, &commands), KAZEIA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        describe(commands.matcher, cases[i][0], found, sizeof found);
        assert_string_equal(found, cases[i][1]);
    }
    close_text(&commands);
}

static void test_numbers_in_words(void **state) {
    (void)state;
    static const struct {
        const char *language, *text;
        int value;
    } cases[] = {
        {"fr", "zéro", 0},
        {"fr", "une", 1},
        {"fr", "seize", 16},
        {"fr", "dix-neuf", 19},
        {"fr", "vingt et une", 21},
        {"fr", "trente-deux", 32},
        {"fr", "soixante et onze", 71},
        {"fr", "soixante-dix-sept", 77},
        {"fr", "quatre-vingts", 80},
        {"fr", "quatre-vingt-un", 81},
        {"fr", "quatre vingt onze", 91},
        {"fr", "septante-cinq", 75},
        {"fr", "nonante-neuf", 99},
        {"fr", "cent", 100},
        {"fr", "deux cents", 200},
        {"fr", "deux-cent-quarante-trois", 243},
        {"fr", "mille", 1000},
        {"fr", "deux mille trois cent quatre", 2304},
        {"fr", "cent mille", 100000},
        {"en", "zero", 0},
        {"en", "twenty-one", 21},
        {"en", "ninety nine", 99},
        {"en", "one hundred and five", 105},
        {"en", "a hundred", 100},
        {"en", "two thousand three hundred", 2300},
        {"en", "twelve thousand and six", 12006},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[512], found[128], expected[128];
        snprintf(yaml, sizeof yaml,
                 "language: %s\nlists: {n: {range: {from: 0, to: 200000}}}\n"
                 "intents: {I: {data: [{sentences: ['x {n}']}]}}\n",
                 cases[i].language);
        opened commands;
        assert_int_equal(open_text(yaml, &commands), KAZEIA_OK);
        snprintf(found, sizeof found, "x %s", cases[i].text);
        describe(commands.matcher, found, found, sizeof found);
        snprintf(expected, sizeof expected, "I n=%d", cases[i].value);
        assert_string_equal(found, expected);
        close_text(&commands);
    }
}

static void test_responses(void **state) {
    (void)state;
    static const char yaml[] =
        "language: fr\n"
        "lists: {n: {range: {from: 0, to: 90, fractions: halves}}, l: {values: [{in: Salon, out: "
        "4}, "
        "{in: rouge, out: red}]}}\n"
        "intents: {I: {data: [{sentences: ['a [{n}] [{l}] [{l:c}]'], response: r}]}}\n"
        "responses: {intents: {I: {r: 'Oui[ {n|heure|heures}][, {l}][, {c} !] à {clock_hour}'}}}\n";
    static const char *const cases[][2] = {
        {"a", "Oui à 14"},
        {"a 1", "Oui 1 heure à 14"},
        {"a 1,5 rouge", "Oui 1,5 heure, rouge à 14"},
        {"a 2 salon rouge", "Oui 2 heures, 4, rouge ! à 14"},
    };
    opened commands;
    kz_command_result result;
    if (open_text(yaml, &commands) != KAZEIA_OK) {
        fail_msg("%s", kazeia_last_error());
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(kz_command_match(commands.matcher, cases[i][0], &clock_of_test, &result),
                         KAZEIA_OK);
        assert_string_equal(result.response, cases[i][1]);
    }
    assert_int_equal(kz_command_match(commands.matcher, "a 1", NULL, &result), KAZEIA_OK);
    assert_string_equal(result.response, "Oui 1 heure à ");
    close_text(&commands);
}

// ---- errors: the sentence names file, line, column, and what is wrong

static const struct error_case {
    const char *yaml;
    kazeia_status status;
    const char *place, *what;
} error_cases[] = {
    {"", KAZEIA_BAD_FILE, "test.yaml", "empty"},
    {"a: [", KAZEIA_BAD_FILE, "test.yaml:2:", "broken"},
    {"language: fr\nintents: [a]\n", KAZEIA_BAD_FILE, "test.yaml:2:10", "expected a map"},
    {"language: fr\n", KAZEIA_BAD_FILE, "test.yaml:1:1", "'intents' is missing"},
    {"language: de\nintents: {}\n", KAZEIA_UNSUPPORTED, "test.yaml:1:11", "'de'"},
    {"language: fr\nintents: {}\n", KAZEIA_BAD_FILE, "test.yaml:2:10", "no sentence"},
    {"language: fr\nintent: {}\n", KAZEIA_BAD_FILE, "test.yaml:2:1", "unknown key 'intent'"},
    {"language: fr\nlanguage: fr\n", KAZEIA_BAD_FILE, "test.yaml:2:1", "twice"},
    {"a: &x 1\nb: *x\n", KAZEIA_UNSUPPORTED, "test.yaml:1:4", "anchors"},
    {"a: 1\n---\nb: 1\n", KAZEIA_UNSUPPORTED, "test.yaml:2:1", "second document"},
    {ONE("allume (la"), KAZEIA_BAD_FILE, "test.yaml:5:29", "not closed"},
    {ONE("allume la)"), KAZEIA_BAD_FILE, "test.yaml:5:31", "nothing opened"},
    {ONE("éé <le> x"), KAZEIA_BAD_FILE, "test.yaml:5:25", "'le' is not in this file"},
    {ONE("va {lieu}"), KAZEIA_BAD_FILE, "test.yaml:5:25", "list 'lieu'"},
    {ONE("va {lieu"), KAZEIA_BAD_FILE, "test.yaml:5:25", "not closed"},
    {ONE("{1..x:n}"), KAZEIA_BAD_FILE, "test.yaml:5:22", "range"},
    {ONE("(a|b;c)"), KAZEIA_BAD_FILE, "test.yaml:5:26", "mixed"},
    {ONE("(a;b;c;d;e;f)"), KAZEIA_BAD_FILE, "test.yaml:5:22", "more than 5"},
    {ONE("[allume] [x]"), KAZEIA_BAD_FILE, "test.yaml:5:21", "may be empty"},
    {ONE("<a>") "expansion_rules: {a: '<b> x', b: 'y [<a>]'}\n", KAZEIA_BAD_FILE,
     "test.yaml:6:", "leads back to itself"},
    {ONE("{l}") "lists: {l: {values: ['<a>']}}\nexpansion_rules: {a: 'x {l}'}\n", KAZEIA_BAD_FILE,
     "test.yaml:", "leads back to itself"},
    {ONE("{l}") "lists: {l: {range: {from: 5, to: 1}}}\n", KAZEIA_BAD_FILE,
     "test.yaml:6:", "from 5 to 1"},
    {ONE("{l}") "lists: {l: {range: {from: 1}}}\n", KAZEIA_BAD_FILE,
     "test.yaml:6:", "'to' is missing"},
    {ONE("{l}") "lists: {l: {wildcard: false}}\n", KAZEIA_BAD_FILE, "test.yaml:6:", "must be true"},
    {"language: fr\nintents: {I: {data: [{sentences: [x], requires_context: {area: a}}]}}\n",
     KAZEIA_UNSUPPORTED, "test.yaml:2:58", "'area' is not handled"},
    {"language: fr\nintents: {I: {data: [{sentences: [x], response: r}]}}\n", KAZEIA_BAD_FILE,
     "test.yaml:2:49", "'r'"},
    {ONE("x") "responses: {intents: {I: {default: 'a {b}'}}}\n", KAZEIA_BAD_FILE, "test.yaml:6:36",
     "{b}"},
    {ONE("x") "responses: {intents: {I: {default: 'a {{ slots.b }}'}}}\n", KAZEIA_UNSUPPORTED,
     "test.yaml:6:36", "Jinja"},
    {ONE("x") "responses: {intents: {I: {default: 'a [b'}}}\n", KAZEIA_BAD_FILE, "test.yaml:6:36",
     "not closed"},
};

static void test_errors_name_the_place(void **state) {
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof error_cases / sizeof error_cases[0]; i++) {
        const struct error_case *c = &error_cases[i];
        opened commands;
        const kazeia_status status = open_text(c->yaml, &commands);
        const char *sentence = status == KAZEIA_OK ? "(no error)" : kazeia_last_error();
        if (status != c->status || strncmp(sentence, c->place, strlen(c->place)) != 0 ||
            strstr(sentence, c->what) == NULL) {
            fprintf(stderr, "case %zu: %s '%s', expected %s '%s ... %s'\n", i,
                    kazeia_status_name(status), sentence, kazeia_status_name(c->status), c->place,
                    c->what);
            wrong++;
        }
        close_text(&commands);
    }
    assert_int_equal(wrong, 0);
    kz_command_grammar *grammar = NULL;
    assert_int_equal(kz_command_grammar_open("no/such/file.yaml", NULL, &grammar),
                     KAZEIA_NOT_FOUND);
    // A mapped file without bytes has no address.
    assert_int_equal(kz_command_grammar_read(NULL, 0, "none.yaml", NULL, &grammar),
                     KAZEIA_BAD_FILE);
    assert_string_equal(kazeia_last_error(), "none.yaml: it is empty, expected commands");
}

// ---- hostile files

// Rules that double twenty times are refused; optional ones that match nothing too.
static void test_exploding_rules_are_refused(void **state) {
    (void)state;
    static char yaml[GRAMMAR_BYTES];
    size_t used = (size_t)snprintf(yaml, sizeof yaml, ONE("x <r0>") "expansion_rules:\n");
    for (int i = 0; i < 40; i++) {
        used += (size_t)snprintf(yaml + used, sizeof yaml - used,
                                 "  r%d: '[<r%d>] [<r%d>] (a|b)'\n", i, i + 1, i + 1);
    }
    snprintf(yaml + used, sizeof yaml - used, "  r40: 'z'\n");
    opened commands;
    assert_int_equal(open_text(yaml, &commands), KAZEIA_BAD_FILE);
    assert_non_null(strstr(kazeia_last_error(), "parts"));
}

static char *repeat(const char *head, const char *unit, size_t times, const char *tail) {
    const size_t length = strlen(unit);
    char *text = malloc(strlen(head) + length * times + strlen(tail) + 1);
    assert_non_null(text);
    size_t used = strlen(head);
    memcpy(text, head, used);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + used, unit, length);
        used += length;
    }
    memcpy(text + used, tail, strlen(tail) + 1);
    return text;
}

// Forty names in one sentence, whose scores together pass 16 bits, still beat a wildcard.
static void test_many_names_win(void **state) {
    (void)state;
    char *yaml = repeat("language: fr\n"
                        "lists: {n: {values: [a]}, x: {wildcard: true}}\n"
                        "intents:\n  W: {data: [{sentences: ['a {x}']}]}\n"
                        "  N: {data: [{sentences: ['",
                        "{n:name} ", 40, "']}]}\n");
    char *text = repeat("", "a ", 40, "");
    char found[512];
    opened commands;
    assert_int_equal(open_text(yaml, &commands), KAZEIA_OK);
    describe(commands.matcher, text, found, sizeof found);
    assert_string_equal(found, "N name=a");
    close_text(&commands);
    free(text);
    free(yaml);
}

static void test_huge_and_deep_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *head, *unit, *tail;
        size_t times;
    } files[] = {
        {"language: fr\nlists: {l: {values: [", "abcdefg, ", "x]}}\n", 1200000},
        {"language: fr\nlists: {l: {values: [", "a,", "x]}}\n", 1900000},
        {"language: ", "[", "", 100000},
        {"language: ", "{a: ", "", 100000},
        {"language: fr\nintents: {I: {data: [{sentences: ['", "(", "']}]}}\n", 100000},
        {"language: fr\nintents: {I: {data: [{sentences: ['", "(a|[", "']}]}}\n", 100000},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *yaml = repeat(files[i].head, files[i].unit, files[i].times, files[i].tail);
        opened commands;
        assert_int_equal(open_text(yaml, &commands), KAZEIA_BAD_FILE);
        close_text(&commands);
        free(yaml);
    }
}

// Many wildcards and options over a long text end in time: either a result or the sentence.
static void test_ambiguous_grammar_ends(void **state) {
    (void)state;
    static const char yaml[] =
        "language: fr\nlists: {x: {wildcard: true}}\n"
        "intents: {I: {data: [{sentences: ['{x:a}[ ]{x:b}[ ]{x:c}[ ]{x:d}[ ]{x:e} fin']}]}}\n";
    char *text = repeat("", "a ", 298, "b");
    kz_command_result result;
    opened commands;
    assert_int_equal(open_text(yaml, &commands), KAZEIA_OK);
    const kazeia_status status = kz_command_match(commands.matcher, text, NULL, &result);
    assert_true(status == KAZEIA_OK || status == KAZEIA_UNSUPPORTED);
    assert_false(result.is_match);
    close_text(&commands);
    free(text);
    text = repeat("", "allume ", 100000, "");
    assert_int_equal(open_text(ONE("allume"), &commands), KAZEIA_OK);
    assert_int_equal(kz_command_match(commands.matcher, text, NULL, &result), KAZEIA_OK);
    assert_false(result.is_match);
    close_text(&commands);
    free(text);
}

static size_t read_whole(const char *path, char *out, size_t capacity) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(out, 1, capacity, file);
    fclose(file);
    return count;
}

// Mutated files: a sentence or a grammar that matches without harm.
static void test_mutated_files(void **state) {
    (void)state;
    static const char signs[] = "aetr 19()[]{}<>|;:-\n '\"&*#!%@`,\\\xff\x01";
    static char original[GRAMMAR_BYTES], mutated[GRAMMAR_BYTES];
    const size_t count = read_whole("examples/commandes.yaml", original, sizeof original);
    uint32_t seed = 11;
    size_t opened_count = 0;
    for (int round = 0; round < 400; round++) {
        memcpy(mutated, original, count);
        for (int change = 0; change <= round % 4; change++) {
            seed = seed * 1664525u + 1013904223u;
            mutated[(seed >> 8) % count] = signs[(seed >> 3) % (sizeof signs - 1)];
        }
        kz_command_grammar *grammar;
        kz_command_matcher *matcher;
        kz_command_result result;
        if (kz_command_grammar_read(mutated, count - (size_t)(round % 7 == 0) * (seed % count),
                                    "mutated.yaml", NULL, &grammar) != KAZEIA_OK) {
            assert_non_null(strstr(kazeia_last_error(), "mutated.yaml"));
            continue;
        }
        opened_count++;
        assert_int_equal(kz_command_matcher_create(grammar, NULL, &matcher), KAZEIA_OK);
        assert_int_equal(kz_command_match(matcher, "minuteur de deux heures et 5 minutes",
                                          &clock_of_test, &result),
                         KAZEIA_OK);
        kz_command_matcher_destroy(matcher);
        kz_command_grammar_close(grammar);
    }
    assert_true(opened_count > 20);
}

// ---- memory

static void test_matching_does_not_allocate(void **state) {
    (void)state;
    counter c = {0, 0, 0};
    const kazeia_allocator allocator = counting(&c);
    kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    kz_command_result result;
    assert_int_equal(kz_command_grammar_open("examples/commandes.yaml", &allocator, &grammar),
                     KAZEIA_OK);
    assert_int_equal(kz_command_matcher_create(grammar, &allocator, &matcher), KAZEIA_OK);
    const size_t before = c.allocations;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(kz_command_match(matcher, "Allume la chambre à 80 %.", NULL, &result),
                         KAZEIA_OK);
        assert_true(result.is_match);
    }
    assert_int_equal(c.allocations, before);
    kz_command_matcher_destroy(matcher);
    kz_command_grammar_close(grammar);
    assert_int_equal(c.live, 0);
}

static void test_each_allocation_may_fail(void **state) {
    (void)state;
    for (size_t at = 1;; at++) {
        counter c = {0, 0, at};
        const kazeia_allocator allocator = counting(&c);
        kz_command_grammar *grammar = NULL;
        kz_command_matcher *matcher = NULL;
        kazeia_status status =
            kz_command_grammar_open("examples/commandes.yaml", &allocator, &grammar);
        if (status == KAZEIA_OK) {
            status = kz_command_matcher_create(grammar, &allocator, &matcher);
        }
        kz_command_matcher_destroy(matcher);
        kz_command_grammar_close(grammar);
        assert_int_equal(c.live, 0);
        if (status == KAZEIA_OK) {
            assert_true(at > 3);
            return;
        }
        assert_int_equal(status, KAZEIA_OUT_OF_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_french_commands),
        cmocka_unit_test(test_english_commands),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_best_reading),
        cmocka_unit_test(test_numbers_in_words),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_errors_name_the_place),
        cmocka_unit_test(test_exploding_rules_are_refused),
        cmocka_unit_test(test_many_names_win),
        cmocka_unit_test(test_huge_and_deep_files_are_refused),
        cmocka_unit_test(test_ambiguous_grammar_ends),
        cmocka_unit_test(test_mutated_files),
        cmocka_unit_test(test_matching_does_not_allocate),
        cmocka_unit_test(test_each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
