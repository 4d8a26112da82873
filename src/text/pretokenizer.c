// pretokenizer.c: pre-tokeniser patterns through PCRE2.
//
// in:  valid UTF-8; patterns from a file
// out: pieces, given to a sink one by one
//
// PCRE2 allocates through a general context that hands on to our allocator while opening and
// refuses afterwards, so that "running allocates nothing" holds by construction. The interpreter
// (used where the system forbids machine code) asks for its frames at the first match: one is made
// at open. UTF is checked by the caller once; PCRE2 would check the whole rest of the text again at
// each match.
//
// A pattern from a hostile file may backtrack for ever. Each match gets a small number of steps
// first; one that needs more draws on an allowance for the whole text that grows linearly with it.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pretokenizer.h"

#include <pcre2.h>
#include <string.h>

// Enough for every piece of ordinary text; a pattern that needs more is slow, or hostile, or both.
#define FIRST_STEPS 4096u
#define STEPS_A_BYTE 512u
#define STEPS_AT_LEAST 1000000u
#define PATTERN_NESTING 64u
// PCRE2's own defaults give machine code 32 KB of the caller's stack; this one may grow eightfold.
#define JIT_STACK_FIRST ((size_t)32 * 1024)
#define JIT_STACK_LIMIT ((size_t)256 * 1024)

struct kz_pretokenizer {
    kazeia_allocator allocator;
    bool is_open;     // from now on PCRE2 gets no memory
    bool has_run_out; // the caller's allocator had none for it
    pcre2_general_context *general;
    pcre2_compile_context *compile;
    pcre2_match_context *match;
    pcre2_match_data *ovector;
    pcre2_jit_stack *jit_stack;
    uint32_t pattern_count;
    pcre2_code *codes[KZ_PATTERN_LIMIT];
    uint64_t steps_left; // of the present text
};

typedef struct piece_target {
    kz_pretokenizer *pretokenizer;
    kz_piece_sink sink;
    void *context;
} piece_target;

static void *allocate_for_pcre2(size_t bytes, void *context) {
    kz_pretokenizer *pretokenizer = context;
    // PCRE2 reports it as an error of memory, which fail_match turns into a sentence.
    if (pretokenizer->is_open) {
        return NULL;
    }
    void *memory = pretokenizer->allocator.allocate(pretokenizer->allocator.context, bytes);
    pretokenizer->has_run_out = pretokenizer->has_run_out || memory == NULL;
    return memory;
}

static void release_for_pcre2(void *memory, void *context) {
    kz_pretokenizer *pretokenizer = context;
    kz_free(&pretokenizer->allocator, memory);
}

static kazeia_status fail_memory(void) {
    return kz_fail(KAZEIA_OUT_OF_MEMORY, "no memory for the pre-tokeniser's patterns");
}

static kazeia_status create_contexts(kz_pretokenizer *pretokenizer) {
    pretokenizer->general =
        pcre2_general_context_create(allocate_for_pcre2, release_for_pcre2, pretokenizer);
    if (pretokenizer->general == NULL) {
        return fail_memory();
    }
    pretokenizer->compile = pcre2_compile_context_create(pretokenizer->general);
    pretokenizer->match = pcre2_match_context_create(pretokenizer->general);
    pretokenizer->ovector = pcre2_match_data_create(1, pretokenizer->general);
    if (pretokenizer->compile == NULL || pretokenizer->match == NULL ||
        pretokenizer->ovector == NULL) {
        return fail_memory();
    }
    // The compiler recurses for each level: a hostile pattern must not use up the stack.
    pcre2_set_parens_nest_limit(pretokenizer->compile, PATTERN_NESTING);
    return KAZEIA_OK;
}

static kazeia_status fail_compile(uint32_t index, const char *pattern, int code, size_t place) {
    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
        return fail_memory();
    }
    char reason[128] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
    return kz_fail(KAZEIA_BAD_FILE, "tokenizer: pattern %u, '%.80s', fails at byte %zu: %s",
                   (unsigned)index, pattern, place, reason);
}

static kazeia_status compile_pattern(kz_pretokenizer *pretokenizer, const char *pattern) {
    const uint32_t index = pretokenizer->pattern_count;
    // \C could leave a match inside a character, and all that follows counts on whole ones.
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
    int code = 0;
    size_t place = 0;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code,
                                         &place, pretokenizer->compile);
    if (compiled == NULL) {
        return fail_compile(index, pattern, code, place);
    }
    pretokenizer->codes[pretokenizer->pattern_count++] = compiled;
    // Where the system refuses machine code the interpreter does the same work; where memory is
    // missing it would only hide that.
    (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    // The program would be slower without a word, so a lack of memory is told instead.
    return pretokenizer->has_run_out ? fail_memory() : KAZEIA_OK;
}

// Finds the first match in `text` from `from` on; pieces never reach outside `count`.
static int match_within(kz_pretokenizer *pretokenizer, const pcre2_code *code, const uint8_t *text,
                        size_t count, size_t from) {
    return pcre2_match(code, text, count, from, PCRE2_NO_UTF_CHECK, pretokenizer->ovector,
                       pretokenizer->match);
}

// Makes the stack for machine code and the interpreter's first frames.
static kazeia_status prepare_matching(kz_pretokenizer *pretokenizer) {
    pretokenizer->jit_stack =
        pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_LIMIT, pretokenizer->general);
    if (pretokenizer->jit_stack != NULL) {
        pcre2_jit_stack_assign(pretokenizer->match, NULL, pretokenizer->jit_stack);
    } else if (pretokenizer->has_run_out) {
        return fail_memory();
    }
    pcre2_set_match_limit(pretokenizer->match, FIRST_STEPS);
    for (uint32_t i = 0; i < pretokenizer->pattern_count; i++) {
        const int code =
            match_within(pretokenizer, pretokenizer->codes[i], (const uint8_t *)"a 1", 3, 0);
        // A pattern may fail on this text otherwise; only memory matters here.
        if (code == PCRE2_ERROR_NOMEMORY) {
            return fail_memory();
        }
    }
    return KAZEIA_OK;
}

static kazeia_status open_patterns(kz_pretokenizer *pretokenizer, const kz_tokenizer_view *view) {
    KZ_TRY(create_contexts(pretokenizer));
    const char *pattern = view->patterns;
    for (uint32_t i = 0; i < view->pattern_count; i++) {
        KZ_TRY(compile_pattern(pretokenizer, pattern));
        pattern += strlen(pattern) + 1;
    }
    return prepare_matching(pretokenizer);
}

kazeia_status kz_pretokenizer_open(const kz_tokenizer_view *view, const kazeia_allocator *allocator,
                                   kz_pretokenizer **out_pretokenizer) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory = NULL;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_pretokenizer), "a pre-tokeniser", &memory));
    kz_pretokenizer *pretokenizer = memory;
    pretokenizer->allocator = own;
    if (view->pattern_count > 0) {
        const kazeia_status status = open_patterns(pretokenizer, view);
        if (status != KAZEIA_OK) {
            kz_pretokenizer_close(pretokenizer);
            return status;
        }
    }
    // From here on allocate_for_pcre2 refuses.
    pretokenizer->is_open = true;
    *out_pretokenizer = pretokenizer;
    return KAZEIA_OK;
}

void kz_pretokenizer_close(kz_pretokenizer *pretokenizer) {
    if (pretokenizer == NULL) {
        return;
    }
    for (uint32_t i = 0; i < pretokenizer->pattern_count; i++) {
        pcre2_code_free(pretokenizer->codes[i]);
    }
    pcre2_jit_stack_free(pretokenizer->jit_stack);
    pcre2_match_data_free(pretokenizer->ovector);
    pcre2_match_context_free(pretokenizer->match);
    pcre2_compile_context_free(pretokenizer->compile);
    pcre2_general_context_free(pretokenizer->general);
    const kazeia_allocator own = pretokenizer->allocator;
    kz_free(&own, pretokenizer);
}

// Steps, the interpreter's frames and the stack of machine code are all given in advance.
static kazeia_status fail_match(int code, size_t count) {
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_NOMEMORY ||
        code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT) {
        return kz_fail(
            KAZEIA_BAD_FILE,
            "tokenizer: a pattern needs more %s than it is given for a text of %zu bytes",
            code == PCRE2_ERROR_MATCHLIMIT ? "steps" : "memory", count);
    }
    char reason[128] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
    return kz_fail(KAZEIA_BAD_FILE, "tokenizer: a pattern fails on a text of %zu bytes: %s", count,
                   reason);
}

// Tries again with more and more steps while the text's allowance lasts.
static int match_with_allowance(kz_pretokenizer *pretokenizer, const pcre2_code *code,
                                const uint8_t *text, size_t count, size_t from) {
    int found = PCRE2_ERROR_MATCHLIMIT;
    for (uint64_t steps = 16u * FIRST_STEPS;
         found == PCRE2_ERROR_MATCHLIMIT && pretokenizer->steps_left > 0; steps *= 16u) {
        const uint64_t given = steps < pretokenizer->steps_left ? steps : pretokenizer->steps_left;
        // Given up whether it was needed or not: the bound holds without PCRE2 telling how many
        // steps it took.
        pretokenizer->steps_left -= given;
        pcre2_set_match_limit(pretokenizer->match, (uint32_t)given);
        found = match_within(pretokenizer, code, text, count, from);
    }
    pcre2_set_match_limit(pretokenizer->match, FIRST_STEPS);
    return found;
}

// The next match that is not empty: [*out_first, *out_end), or both at `count` when there is none.
static kazeia_status find_match(kz_pretokenizer *pretokenizer, const pcre2_code *code,
                                const uint8_t *text, size_t count, size_t from, size_t *out_first,
                                size_t *out_end) {
    *out_first = count;
    *out_end = count;
    while (from < count) {
        int found = match_within(pretokenizer, code, text, count, from);
        if (found == PCRE2_ERROR_MATCHLIMIT) {
            found = match_with_allowance(pretokenizer, code, text, count, from);
        }
        if (found == PCRE2_ERROR_NOMATCH) {
            return KAZEIA_OK;
        }
        if (found < 0) {
            return fail_match(found, count);
        }
        const size_t *place = pcre2_get_ovector_pointer(pretokenizer->ovector);
        // \K can put the start before `from` or behind the end: such a match cuts nothing.
        if (place[1] > place[0] && place[0] >= from) {
            *out_first = place[0];
            *out_end = place[1];
            return KAZEIA_OK;
        }
        // Always forward, and then to the start of a character.
        from = place[1] > from ? place[1] : from + 1;
        while (from < count && (text[from] & 0xc0u) == 0x80u) {
            from++;
        }
    }
    return KAZEIA_OK;
}

// Cuts one piece by the patterns from `level` on. Recursion is as deep as there are patterns, at
// most KZ_PATTERN_LIMIT.
static kazeia_status split_level(const piece_target *target, uint32_t level, const uint8_t *text,
                                 size_t count) {
    kz_pretokenizer *pretokenizer = target->pretokenizer;
    if (count == 0) {
        return KAZEIA_OK;
    }
    if (level == pretokenizer->pattern_count) {
        return target->sink(target->context, text, count);
    }
    for (size_t done = 0; done < count;) {
        size_t first = 0;
        size_t end = 0;
        KZ_TRY(
            find_match(pretokenizer, pretokenizer->codes[level], text, count, done, &first, &end));
        // What lies between matches is a piece as well ("isolated" of Hugging Face).
        KZ_TRY(split_level(target, level + 1, text + done, first - done));
        KZ_TRY(split_level(target, level + 1, text + first, end - first));
        done = end;
    }
    return KAZEIA_OK;
}

kazeia_status kz_pretokenizer_split(kz_pretokenizer *pretokenizer, const uint8_t *text,
                                    size_t count, kz_piece_sink sink, void *context) {
    const piece_target target = {pretokenizer, sink, context};
    const uint64_t steps = (uint64_t)count * STEPS_A_BYTE + STEPS_AT_LEAST;
    pretokenizer->steps_left = steps < UINT32_MAX ? steps : UINT32_MAX;
    return split_level(&target, 0, text, count);
}
