// test_say.c: text to sentences to a scripted voice: what the voice is fed and when, what was
// begun, failures and cancelling.
//
// in:  texts
// out: cmocka's report
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "pipeline/say.h"
#include "scripted_stages.h"

typedef struct fixture {
    script_voice voice;
    kz_say *say;
    size_t samples;
} fixture;

static void open_say(fixture *f, bool cuts_first_early) {
    memset(f, 0, sizeof *f);
    const kz_speak_table table = script_voice_table(&f->voice);
    const kz_say_options options = {.language = "fr", .cuts_first_early = cuts_first_early};
    assert_int_equal(kz_say_create(&table, &options, NULL, &f->say), KAZEIA_OK);
}

// Speaks until the stage wants more or ends.
static kazeia_status speak(fixture *f) {
    float samples[64];
    size_t count = 0;
    kazeia_status status = KAZEIA_OK;
    while (status == KAZEIA_OK) {
        status = kz_say_next(f->say, samples, 64, &count);
        f->samples += count;
    }
    return status;
}

// Feeds `piece_bytes` at a time, speaking in between, and finishes.
static void say_text(fixture *f, const char *text, size_t piece_bytes) {
    const size_t count = strlen(text);
    for (size_t at = 0, taken = 0; at < count; at += taken) {
        const size_t piece = piece_bytes < count - at ? piece_bytes : count - at;
        assert_int_equal(kz_say_feed(f->say, text + at, piece, &taken), KAZEIA_OK);
        assert_int_equal(speak(f), KAZEIA_NEEDS_INPUT);
    }
    assert_int_equal(kz_say_finish(f->say), KAZEIA_OK);
    assert_int_equal(speak(f), KAZEIA_DONE);
    assert_int_equal(speak(f), KAZEIA_DONE);
    f->voice.fed[f->voice.fed_count] = '\0';
}

// --- What the voice is fed ----------------------------------------------------------------------

// A voice that takes words early is given the same text, cut elsewhere.
static void open_early(fixture *f) {
    memset(f, 0, sizeof *f);
    const kz_speak_table table = script_voice_table(&f->voice);
    const kz_say_options options = {.language = "fr", .gives_words_early = true};
    assert_int_equal(kz_say_create(&table, &options, NULL, &f->say), KAZEIA_OK);
}

typedef struct spoken_case {
    const char *text, *fed; // fed: a line for each sentence
} spoken_case;

static const spoken_case spoken_cases[] = {
    {"Bonjour. Comment ça va ?", "Bonjour.\nComment ça va ?\n"},
    {"Super !", "Super !\n"},
    {"Bien sûr ! Oui !", "Bien sûr !\nOui !\n"},
    {"Je lis « R&D", NULL},
    {"si a<b", NULL},
    {"**Gras**. Suite", "Gras.\nSuite\n"},
    {"Tu as **raison**", "Tu as raison\n"},
    {"C'est fait 😀", "C'est fait\n"},
    {"C'est fait ! 😀 Autre chose ?", "C'est fait !\nAutre chose ?\n"},
    {"C'est fait ! 😀", "C'est fait !\n"},
    {"Voici :\n- du pain\n- du lait\n", "Voici :\ndu pain\ndu lait\n"},
    {"Voici :\n\n1. Ouvre.\n2. Ferme.\n", NULL},
    {"Regarde :\n```c\nint a = 1. Non.\n```\nFini.", "Regarde :\nFini.\n"},
    {"<think>\nHmm. Il dit bonjour. Bon !\n</think>\n\nSalut ! Ça va ?", "Salut !\nÇa va ?\n"},
    {"<think>Sans fin. Et encore.", ""},
    {"Il fait 3.5 degrés à 8 h. 30 ?", NULL},
    {"", ""},
    {"   \n\n ", ""},
    {"😀", ""},
    {"Oui", "Oui\n"},
};

// White space aside, is every sign of `text` that is a letter or digit in `fed`?
static void check_words(const char *text, const char *fed) {
    for (const char *sign = text; *sign; sign++) {
        const bool is_word = (*sign >= 'a' && *sign <= 'z') || (*sign >= 'A' && *sign <= 'Z');
        if (is_word) {
            fed = strchr(fed, *sign);
            assert_non_null(fed);
            fed++;
        }
    }
}

static void check_case(const spoken_case *spoken, size_t piece, bool is_early) {
    fixture f;
    if (is_early) {
        open_early(&f);
    } else {
        open_say(&f, false);
    }
    say_text(&f, spoken->text, piece);
    if (spoken->fed) {
        assert_string_equal(f.voice.fed, spoken->fed);
    } else {
        check_words(spoken->text, f.voice.fed);
    }
    assert_int_equal(f.samples, f.voice.fed_count * SAMPLES_PER_BYTE);
    kz_say_destroy(f.say);
}

static void sentences_reach_the_voice_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof spoken_cases / sizeof *spoken_cases; i++) {
        for (size_t piece = 1; piece < 80; piece = piece < 8 ? piece + 1 : piece * 3) {
            check_case(&spoken_cases[i], piece, false);
            check_case(&spoken_cases[i], piece, true);
        }
    }
}

static void expect_early(const char *text, const char *fed) {
    fixture f;
    size_t taken = 0;
    open_early(&f);
    assert_int_equal(kz_say_feed(f.say, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(speak(&f), KAZEIA_NEEDS_INPUT);
    f.voice.fed[f.voice.fed_count] = '\0';
    assert_string_equal(f.voice.fed, fed);
    kz_say_destroy(f.say);
}

// A word is given once the next one is whole, and none that could be read otherwise.
static void first_words_come_early(void **state) {
    (void)state;
    expect_early("Il", "");
    expect_early("Il fait", "");
    expect_early("Il fait beau", "Il ");
    expect_early("Il fait beau, ce", "Il fait ");
    expect_early("Aujourd'hui, peut-être demain ", "Aujourd'hui, peut-être ");
    expect_early("Il a 12 ans de plus", "Il ");
    expect_early("Voir Mme Dupont qui arrive", "");
    expect_early("<think>il fait beau ce soir", "");
    expect_early("Voici [un lien vers la page", "");
    expect_early("```\nil fait beau ce soir", "");
}

// A sentence is spoken as soon as the first sign of the next is there.
static void a_sentence_does_not_wait_for_the_next(void **state) {
    (void)state;
    static const char *const sentences[] = {"Bonjour !",  "**Gras**.", "Il a dit *non*.",
                                            "Voici R&D.", "Fini 😀 ?",  "Prends-le (ici)."};
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        fixture f;
        size_t taken = 0;
        open_say(&f, false);
        assert_int_equal(kz_say_feed(f.say, sentences[i], strlen(sentences[i]), &taken), KAZEIA_OK);
        assert_int_equal(speak(&f), KAZEIA_NEEDS_INPUT);
        assert_int_equal(f.samples, 0);
        assert_int_equal(kz_say_feed(f.say, " Et", 3, &taken), KAZEIA_OK);
        assert_int_equal(speak(&f), KAZEIA_NEEDS_INPUT);
        f.voice.fed[f.voice.fed_count] = '\0';
        check_words(sentences[i], f.voice.fed);
        assert_true(f.samples > 0);
        assert_int_equal(kz_say_begun_bytes(f.say), strlen(sentences[i]) + 1);
        kz_say_destroy(f.say);
    }
}

static void the_first_fragment_is_cut_early_only_when_asked(void **state) {
    (void)state;
    static const char text[] = "Bien sûr que oui, je peux t'aider à ranger la cuisine";
    for (int early = 0; early < 2; early++) {
        fixture f;
        size_t taken = 0;
        open_say(&f, early);
        assert_int_equal(kz_say_feed(f.say, text, strlen(text), &taken), KAZEIA_OK);
        assert_int_equal(speak(&f), KAZEIA_NEEDS_INPUT);
        assert_int_equal(f.voice.fed_count > 0, early);
        kz_say_destroy(f.say);
    }
}

static void a_long_sentence_is_given_in_parts(void **state) {
    (void)state;
    static char text[4096];
    while (strlen(text) < 3000) {
        strcat(text, "encore et encore ");
    }
    fixture f;
    open_say(&f, false);
    f.voice.room = 50; // less than a piece of the cutter's
    f.voice.samples_per_call = 7;
    say_text(&f, text, 1000);
    check_words(text, f.voice.fed);
    assert_int_equal(f.samples, f.voice.fed_count * SAMPLES_PER_BYTE);
    kz_say_destroy(f.say);
}

static void a_voice_may_have_nothing_to_say(void **state) {
    (void)state;
    fixture f;
    open_say(&f, false);
    f.voice.gives_nothing = true;
    say_text(&f, "Bonjour. Ça va ?", 4);
    assert_string_equal(f.voice.fed, "Bonjour.\nÇa va ?\n");
    assert_int_equal(f.samples, 0);
    assert_int_equal(kz_say_begun_bytes(f.say), 0);
    kz_say_destroy(f.say);
}

// --- What was begun -----------------------------------------------------------------------------

static void begun_bytes_grow_by_sentences(void **state) {
    (void)state;
    static const char text[] = "Un. **Deux**. 😀 Trois.";
    static const size_t ends[] = {0, 4, 14, sizeof text - 1};
    fixture f;
    float sample;
    size_t taken = 0, count = 0, place = 0;
    open_say(&f, false);
    assert_int_equal(kz_say_feed(f.say, text, strlen(text), &taken), KAZEIA_OK);
    assert_int_equal(kz_say_finish(f.say), KAZEIA_OK);
    while (kz_say_next(f.say, &sample, 1, &count) == KAZEIA_OK) {
        const size_t begun = kz_say_begun_bytes(f.say);
        assert_true(count > 0 || begun == ends[place]);
        place += begun != ends[place];
        assert_int_equal(begun, ends[place]);
    }
    assert_int_equal(place, 3);
    assert_int_equal(kz_say_reset(f.say), KAZEIA_OK);
    assert_int_equal(kz_say_begun_bytes(f.say), 0);
    kz_say_destroy(f.say);
}

// --- Failures -----------------------------------------------------------------------------------

static void failures_pass_and_reset_begins_anew(void **state) {
    (void)state;
    script_trouble trouble = {.fails_at = MOMENT_NEVER};
    fixture f;
    size_t taken = 0;
    open_say(&f, false);
    f.voice.trouble = &trouble;
    for (int moment = MOMENT_SPEAK_FEED; moment <= MOMENT_SPEAK; moment++) {
        trouble.fails_at = (script_moment)moment;
        assert_int_equal(kz_say_feed(f.say, "Un. Deux. Trois", 15, &taken), KAZEIA_OK);
        assert_int_equal(speak(&f), KAZEIA_IO);
        trouble.fails_at = MOMENT_NEVER;
        assert_int_equal(kz_say_reset(f.say), KAZEIA_OK);
        say_text(&f, "Quatre. Cinq.", 3);
        assert_string_equal(f.voice.fed, "Quatre.\nCinq.\n");
        assert_int_equal(kz_say_feed(f.say, "x", 1, &taken), KAZEIA_BAD_ARGUMENT);
        assert_int_equal(taken, 0);
        assert_int_equal(kz_say_reset(f.say), KAZEIA_OK);
    }
    kz_say_destroy(f.say);
}

static kazeia_status take_nothing(void *self, const char *text, size_t bytes, size_t *out_taken) {
    (void)self;
    (void)text;
    (void)bytes;
    *out_taken = 0;
    return KAZEIA_OK;
}

static void a_voice_that_takes_nothing_is_refused(void **state) {
    (void)state;
    script_voice voice = {0};
    kz_speak_table table = script_voice_table(&voice);
    const kz_say_options options = {.language = NULL};
    float samples[8];
    size_t taken = 0, count = 0;
    kz_say *say = NULL;
    table.feed = take_nothing;
    assert_int_equal(kz_say_create(&table, &options, NULL, &say), KAZEIA_OK);
    assert_int_equal(kz_say_feed(say, "Un. Deux", 8, &taken), KAZEIA_OK);
    assert_int_equal(kz_say_next(say, samples, 8, &count), KAZEIA_UNSUPPORTED);
    kz_say_destroy(say);
}

// --- Threads ------------------------------------------------------------------------------------

typedef struct feeder {
    kz_say *say;
    const char *text;
    size_t rounds;
} feeder;

static void feed_all(void *context) {
    const feeder *job = context;
    for (size_t round = 0; round < job->rounds; round++) {
        const size_t count = strlen(job->text);
        for (size_t at = 0, taken = 0; at < count; at += taken) {
            if (kz_say_feed(job->say, job->text + at, count - at < 3 ? count - at : 3, &taken) !=
                KAZEIA_OK) {
                abort();
            }
        }
    }
    if (kz_say_finish(job->say) != KAZEIA_OK) {
        abort();
    }
}

static void one_thread_feeds_and_one_speaks(void **state) {
    (void)state;
    fixture f;
    open_say(&f, false);
    feeder job = {.say = f.say, .text = "Bonjour. Ça va ? ", .rounds = 100};
    kz_thread thread = {.is_running = false};
    assert_int_equal(kz_thread_start(&thread, feed_all, &job), KAZEIA_OK);
    while (speak(&f) == KAZEIA_NEEDS_INPUT) {
        kz_thread_yield();
    }
    kz_thread_join(&thread);
    assert_int_equal(f.voice.fed_count, 100 * strlen("Bonjour.\nÇa va ?\n"));
    assert_int_equal(kz_say_begun_bytes(f.say), 100 * strlen(job.text));
    kz_say_destroy(f.say);
}

static void cancel_when_it_waits(void *context) {
    const fixture *f = context;
    while (atomic_load(&f->voice.trouble->waiting) == MOMENT_NEVER) {
        kz_thread_yield();
    }
    kz_say_cancel(f->say);
}

static void cancelling_is_seen_until_reset(void **state) {
    (void)state;
    script_trouble trouble = {.waits_at = MOMENT_SPEAK};
    fixture f;
    size_t taken = 0;
    open_say(&f, false);
    f.voice.trouble = &trouble;
    kz_thread thread = {.is_running = false};
    assert_int_equal(kz_thread_start(&thread, cancel_when_it_waits, &f), KAZEIA_OK);
    assert_int_equal(kz_say_feed(f.say, "Un. Deux. Trois", 15, &taken), KAZEIA_OK);
    assert_int_equal(speak(&f), KAZEIA_CANCELLED);
    kz_thread_join(&thread);
    assert_int_equal(speak(&f), KAZEIA_CANCELLED);
    trouble.waits_at = MOMENT_NEVER;
    assert_int_equal(kz_say_reset(f.say), KAZEIA_OK);
    say_text(&f, "Quatre.", 2);
    assert_string_equal(f.voice.fed, "Quatre.\n");
    kz_say_destroy(f.say);
}

// Numbers and abbreviations are those of the language that was told last.
static void a_polyglot_reads_each_language(void **state) {
    (void)state;
    static const struct {
        const char *language, *text, *fed;
    } cases[] = {{"en", "At 3:30 pm, e.g. today.", "At three thirty p m, for example today.\n"},
                 {"fr", "J'ai 2 amis.", "J'ai deux amis.\n"},
                 {"en-gb", "I have 2 friends.", "I have two friends.\n"},
                 {"de", "Ich habe 2 Freunde.", "Ich habe 2 Freunde.\n"}};
    fixture f;
    memset(&f, 0, sizeof f);
    const kz_speak_table table = script_voice_table(&f.voice);
    const kz_say_options options = {.is_polyglot = true};
    assert_int_equal(kz_say_create(&table, &options, NULL, &f.say), KAZEIA_OK);
    say_text(&f, "J'ai 2 amis.", 3);
    assert_string_equal(f.voice.fed, "J'ai deux amis.\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(kz_say_reset(f.say), KAZEIA_OK);
        f.voice.fed_count = 0;
        kz_say_set_language(f.say, cases[i].language);
        say_text(&f, cases[i].text, 5);
        assert_string_equal(f.voice.fed, cases[i].fed);
    }
    kz_say_destroy(f.say);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_reach_the_voice_whole),
        cmocka_unit_test(first_words_come_early),
        cmocka_unit_test(a_sentence_does_not_wait_for_the_next),
        cmocka_unit_test(the_first_fragment_is_cut_early_only_when_asked),
        cmocka_unit_test(a_long_sentence_is_given_in_parts),
        cmocka_unit_test(a_voice_may_have_nothing_to_say),
        cmocka_unit_test(begun_bytes_grow_by_sentences),
        cmocka_unit_test(failures_pass_and_reset_begins_anew),
        cmocka_unit_test(a_voice_that_takes_nothing_is_refused),
        cmocka_unit_test(one_thread_feeds_and_one_speaks),
        cmocka_unit_test(cancelling_is_seen_until_reset),
        cmocka_unit_test(a_polyglot_reads_each_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
