// command_check.c: counts, unreachable templates, ambiguous sentences.
//
// in: nodes and a matcher. out: findings. A template's sentences are drawn at random from a fixed
// seed, so that a check finds the same twice.
#include "text/command_check.h"

#include <stdio.h>
#include <string.h>

#include "text/command_compiled.h"

enum { SAMPLES = 12, TEXT_BYTES = 512 };

#define TEMPLATE_PAIRS_MOST (1u << 20) // templates tried, times templates they are compared with

// ---- drawing a sentence

typedef struct sentence_writer {
    const kz_command_grammar *grammar;
    const kz_command_block *block;
    uint64_t random;
    char text[TEXT_BYTES];
    size_t count;
    bool is_cut; // no room, or a list without a value that may stand here
} sentence_writer;

static uint32_t draw(sentence_writer *w, uint32_t below) {
    // Knuth's multiplier for 64 bits; the high half is the random one.
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (uint32_t)((w->random >> 33) % below);
}

static void write_bytes(sentence_writer *w, const char *bytes, size_t count) {
    w->is_cut = w->is_cut || count >= sizeof w->text - w->count;
    if (!w->is_cut) {
        memcpy(w->text + w->count, bytes, count);
        w->count += count;
        w->text[w->count] = '\0';
    }
}

static bool may_stand(const sentence_writer *w, const kz_command_value *value) {
    const kz_command_block *block = w->block;
    return value->domain == 0 || ((block->domains == 0 || (value->domain & block->domains) != 0) &&
                                  (value->domain & block->other_domains) == 0);
}

static void write_node(sentence_writer *w, const kz_command_node *node);

static void write_value(sentence_writer *w, const kz_command_list *list) {
    const uint32_t start = draw(w, list->value_count);
    for (uint32_t i = 0; i < list->value_count; i++) {
        const kz_command_value *value = &list->values[(start + i) % list->value_count];
        if (may_stand(w, value)) {
            write_node(w, value->in);
            return;
        }
    }
    w->is_cut = true;
}

static void write_list(sentence_writer *w, const kz_command_list *list) {
    char digits[24];
    const char *anything = strcmp(w->grammar->language, "fr") == 0 ? "quelque chose" : "something";
    if (list->kind == KZ_LIST_VALUES) {
        write_value(w, list);
    } else if (list->kind == KZ_LIST_WILDCARD) {
        write_bytes(w, anything, strlen(anything));
    } else {
        const uint32_t steps = (uint32_t)(list->to - list->from) / (uint32_t)list->step + 1;
        const int32_t number = list->from + (int32_t)draw(w, steps) * list->step;
        const int count = snprintf(digits, sizeof digits, "%d", number);
        write_bytes(w, digits, (size_t)count);
    }
}

// In a random order; items are few.
static void write_permutation(sentence_writer *w, const kz_command_node *node) {
    uint32_t taken = 0;
    for (uint32_t left = node->child_count; left > 0; left--) {
        uint32_t skip = draw(w, left), i = 0;
        while ((taken & (1u << i)) != 0 || skip-- > 0) {
            i++;
        }
        taken |= 1u << i;
        write_node(w, node->children[i]);
    }
}

static void write_node(sentence_writer *w, const kz_command_node *node) {
    // A third of the optional parts stay away: long sentences are rarely ambiguous.
    if (w->is_cut || (node->is_optional && draw(w, 3) == 0)) {
        return;
    }
    switch (node->kind) {
    case KZ_NODE_CHUNK:
        write_bytes(w, node->text.bytes, node->text.count);
        break;
    case KZ_NODE_LIST:
        write_list(w, node->list);
        break;
    case KZ_NODE_RULE:
        write_node(w, node->rule->body);
        break;
    case KZ_NODE_ALTERNATIVES:
        write_node(w, node->children[draw(w, node->child_count)]);
        break;
    case KZ_NODE_PERMUTATION:
        write_permutation(w, node);
        break;
    case KZ_NODE_SEQUENCE:
        for (uint32_t i = 0; i < node->child_count; i++) {
            write_node(w, node->children[i]);
        }
        break;
    }
}

// ---- counting sentences

static double count_said(const kz_command_node *node);

static double count_list(const kz_command_list *list) {
    double count = 0;
    if (list->kind == KZ_LIST_RANGE) {
        return ((double)list->to - list->from) / list->step + 1;
    }
    for (uint32_t i = 0; i < list->value_count; i++) {
        count += count_said(list->values[i].in);
    }
    return count; // none of a wildcard: its sentences have no number
}

static double count_children(const kz_command_node *node) {
    const bool is_choice = node->kind == KZ_NODE_ALTERNATIVES;
    double count = is_choice ? 0 : 1;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const double own = count_said(node->children[i]);
        count = is_choice ? count + own : count * own;
        // The order of a permutation's items.
        count *= node->kind == KZ_NODE_PERMUTATION ? i + 1 : 1;
    }
    return count;
}

static double count_said(const kz_command_node *node) {
    const double count = node->kind == KZ_NODE_CHUNK  ? 1
                         : node->kind == KZ_NODE_LIST ? count_list(node->list)
                         : node->kind == KZ_NODE_RULE ? count_said(node->rule->body)
                                                      : count_children(node);
    return count + node->is_optional;
}

// ---- findings

typedef struct checker {
    const kz_command_grammar *grammar;
    kz_command_matcher *matcher;
    kz_finding_visit visit;
    void *context;
    kz_command_counts *counts;
} checker;

static kazeia_status tell(checker *c, const kz_command_sentence *sentence, kz_finding_kind kind,
                          const char *text) {
    const kz_command_finding finding = {kind, sentence->place.file, sentence->place.line,
                                        sentence->place.column, text};
    *(kind == KZ_FINDING_AMBIGUOUS ? &c->counts->ambiguous : &c->counts->unreachable) += 1;
    return c->visit(c->context, &finding);
}

static bool is_own(const kz_command_sentence *sentence, const kz_command_result *result) {
    return result->is_match && strcmp(result->intent, sentence->block->intent) == 0;
}

static kazeia_status check_sentence(checker *c, const kz_command_sentence *sentence,
                                    uint64_t seed) {
    char text[2 * TEXT_BYTES + 1024];
    sentence_writer w = {.grammar = c->grammar, .block = sentence->block, .random = seed};
    uint32_t drawn = 0, own = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        kz_command_result result;
        w.count = 0;
        w.is_cut = false;
        write_node(&w, sentence->body);
        if (w.is_cut || kz_command_match(c->matcher, w.text, NULL, &result) != KAZEIA_OK) {
            continue;
        }
        drawn++;
        own += is_own(sentence, &result);
        if (!is_own(sentence, &result) && own + 1 >= drawn) {
            (void)snprintf(text, sizeof text, "'%s' of %s is understood as %s: '%.400s'", w.text,
                           sentence->block->intent, result.is_match ? result.intent : "nothing",
                           result.is_match ? result.sentence : "");
        }
    }
    if (drawn == own) {
        return KAZEIA_OK;
    }
    return tell(c, sentence, own == 0 ? KZ_FINDING_UNREACHABLE : KZ_FINDING_AMBIGUOUS, text);
}

static kazeia_status check_one(checker *c, const kz_command_sentence *sentence, uint64_t seed) {
    char text[512];
    if (!sentence->measure.is_dead && !sentence->block->is_dead) {
        return check_sentence(c, sentence, seed);
    }
    (void)snprintf(text, sizeof text, "the home has nothing for '%.400s'", sentence->text);
    return tell(c, sentence, KZ_FINDING_UNREACHABLE, text);
}

static uint32_t count_intents(const kz_command_grammar *g) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->block_count; i++) {
        uint32_t k = 0;
        while (strcmp(g->blocks[k].intent, g->blocks[i].intent) != 0) {
            k++;
        }
        count += k == i;
    }
    return count;
}

static uint32_t count_names(const kz_command_grammar *g) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->list_count; i++) {
        count += g->lists[i].kind == KZ_LIST_VALUES ? g->lists[i].value_count : 0;
    }
    return count;
}

kazeia_status kz_command_check(const kz_command_grammar *grammar, kz_command_matcher *matcher,
                               kz_finding_visit visit, void *context,
                               kz_command_counts *out_counts) {
    checker c = {grammar, matcher, visit, context, out_counts};
    *out_counts = (kz_command_counts){.intents = count_intents(grammar),
                                      .blocks = grammar->block_count,
                                      .sentences = grammar->sentence_count,
                                      .rules = grammar->rule_count,
                                      .lists = grammar->list_count,
                                      .names = count_names(grammar)};
    const uint64_t pairs = (uint64_t)grammar->sentence_count * grammar->sentence_count;
    const uint32_t step = (uint32_t)(pairs / TEMPLATE_PAIRS_MOST) + 1;
    for (uint32_t i = 0; i < grammar->sentence_count; i++) {
        out_counts->said += count_said(grammar->sentences[i].body);
        const bool is_dead =
            grammar->sentences[i].measure.is_dead || grammar->sentences[i].block->is_dead;
        if (is_dead || i % step == 0) {
            out_counts->tried += !is_dead;
            KZ_TRY(check_one(&c, &grammar->sentences[i], i + 1));
        }
    }
    return KAZEIA_OK;
}
