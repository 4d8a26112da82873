// fuzz_commands.c: command files, and a transcript matched against the ones that open.
//
// in: YAML, then byte 2, then a transcript. out: nothing; a crash, a hang or a leak is the finding.
#include <stdlib.h>
#include <string.h>

#include "text/command_grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void match(const kz_command_grammar *grammar, const char *transcript) {
    static const kz_command_clock clock = {14, 5, 3, 4, 2026, 5};
    kz_command_matcher *matcher;
    kz_command_result result;
    if (kz_command_matcher_create(grammar, NULL, &matcher) != KAZEIA_OK) {
        return;
    }
    if (kz_command_match(matcher, transcript, &clock, &result) == KAZEIA_OK && result.is_match) {
        if (strlen(result.intent) + strlen(result.response) == SIZE_MAX) {
            abort();
        }
    }
    kz_command_matcher_destroy(matcher);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    const uint8_t *border = count == 0 ? NULL : memchr(bytes, 2, count);
    const size_t yaml_count = border == NULL ? count : (size_t)(border - bytes);
    const size_t text_count = border == NULL ? 0 : count - yaml_count - 1;
    kz_command_grammar *grammar;
    char *transcript = malloc(text_count + 1);
    if (transcript == NULL) {
        return 0;
    }
    if (text_count > 0) {
        memcpy(transcript, border + 1, text_count);
    }
    transcript[text_count] = '\0';
    if (kz_command_grammar_read(bytes, yaml_count, "fuzz.yaml", NULL, &grammar) == KAZEIA_OK) {
        match(grammar, transcript);
        kz_command_grammar_close(grammar);
    }
    free(transcript);
    return 0;
}
