// command_dialogue.c: asking back.
//
// in: sentences, an answer. out: a question, a choice. Silence and anything that is not clearly an
// answer choose nothing: a door stays closed.
#include "pipeline/command_dialogue.h"

#include <stdio.h>
#include <string.h>

#include "text/utf8.h"

void kz_dialogue_ask(kz_dialogue *dialogue, const char *language, const char *first,
                     const char *second) {
    const bool is_french = strcmp(language, "fr") == 0;
    (void)snprintf(dialogue->sentences[0], KZ_DIALOGUE_BYTES, "%s", first);
    (void)snprintf(dialogue->sentences[1], KZ_DIALOGUE_BYTES, "%s", second == NULL ? "" : second);
    dialogue->count = second == NULL ? 1 : 2;
    if (second == NULL) {
        (void)snprintf(dialogue->question, sizeof dialogue->question,
                       is_french ? "Voulez-vous vraiment : %s ?" : "Do you really mean: %s?",
                       first);
        return;
    }
    (void)snprintf(dialogue->question, sizeof dialogue->question,
                   is_french ? "Voulez-vous dire : %s, ou bien : %s ?" : "Do you mean: %s, or: %s?",
                   first, second);
}

// Small letters, every sign a space, a space at both ends: words are found by " word ".
static void write_words(const char *text, char *out, size_t capacity) {
    char folded[2 * KZ_DIALOGUE_BYTES];
    const size_t count = kz_text_fold(text, strlen(text), folded, sizeof folded);
    size_t used = 0;
    out[used++] = ' ';
    for (size_t i = 0; count != SIZE_MAX && i < count && used + 2 < capacity; i++) {
        const bool is_sign = strchr(" .,;:!?%'\"-", folded[i]) != NULL;
        if (!is_sign) {
            out[used++] = folded[i];
        } else if (out[used - 1] != ' ') {
            out[used++] = ' ';
        }
    }
    if (out[used - 1] != ' ') {
        out[used++] = ' ';
    }
    out[used] = '\0';
}

static bool has_any(const char *words, const char *const *wanted) {
    for (size_t i = 0; wanted[i] != NULL; i++) {
        if (strstr(words, wanted[i]) != NULL) {
            return true;
        }
    }
    return false;
}

// How many words of the answer stand in the sentence and not in the other one.
static uint32_t count_own(const char *answer, const char *sentence, const char *other) {
    uint32_t count = 0;
    for (const char *at = answer; at[0] == ' ' && at[1] != '\0';) {
        char word[128];
        const size_t length = strcspn(at + 1, " ");
        if (length + 3 < sizeof word) {
            memcpy(word, at, length + 2);
            word[length + 2] = '\0';
            count += strstr(sentence, word) != NULL && strstr(other, word) == NULL;
        }
        at += length + 1;
    }
    return count;
}

static const char *choose(const kz_dialogue *dialogue, const char *answer) {
    char first[KZ_DIALOGUE_BYTES * 2], second[KZ_DIALOGUE_BYTES * 2];
    static const char *const firsts[] = {" premier ", " première ", " first ", NULL};
    static const char *const seconds[] = {" second ",  " seconde ",  " deuxième ",
                                          " dernier ", " dernière ", NULL};
    write_words(dialogue->sentences[0], first, sizeof first);
    write_words(dialogue->sentences[1], second, sizeof second);
    const uint32_t own_first = count_own(answer, first, second);
    const uint32_t own_second = count_own(answer, second, first);
    if (own_first != own_second) {
        return dialogue->sentences[own_first > own_second ? 0 : 1];
    }
    return has_any(answer, firsts)    ? dialogue->sentences[0]
           : has_any(answer, seconds) ? dialogue->sentences[1]
                                      : NULL;
}

const char *kz_dialogue_answer(kz_dialogue *dialogue, const char *transcript) {
    static const char *const noes[] = {" non ",  " no ",   " annule ", " annuler ",
                                       " rien ", " stop ", NULL};
    static const char *const yeses[] = {" oui ", " yes ",      " ouais ", " vraiment ",
                                        " ok ",  " d accord ", NULL};
    char answer[KZ_DIALOGUE_BYTES * 2];
    const uint32_t count = dialogue->count;
    dialogue->count = 0;
    write_words(transcript, answer, sizeof answer);
    if (count == 0 || has_any(answer, noes)) {
        return NULL;
    }
    if (count == 2) {
        return choose(dialogue, answer);
    }
    return has_any(answer, yeses) ? dialogue->sentences[0] : NULL;
}
