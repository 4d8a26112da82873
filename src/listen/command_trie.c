// command_trie.c: words of an automaton -> nodes of tokens.
//
// in: positions behind a node. out: its children. A node is opened the first time its children are
// asked for: a grammar of millions of sentences costs what the search looks at.
#include "listen/command_trie.h"

#include <math.h>
#include <string.h>

enum {
    NODE_LIMIT = 1 << 18,
    POSITION_LIMIT = 1 << 21,
    WORD_TOKENS = 512,
    WORD_BYTES = 272,
    TEXT_TOKENS = 128
};

#define NO_NODE UINT32_MAX

typedef struct trie_node {
    int32_t token;
    uint32_t parent, first_child, next_sibling;
    uint32_t positions, position_count; // where the grammar goes on behind a space; 0: nowhere
    bool is_end, is_open;
    uint64_t key; // of its prior
    kz_beam_prior prior;
} trie_node;

struct kz_command_trie {
    kazeia_allocator allocator;
    kz_command_walker *walker;
    kz_tokenizer *tokenizer;
    kz_priors *priors;
    trie_node *nodes; // [NODE_LIMIT]
    uint32_t node_count;
    kz_command_position *positions; // [POSITION_LIMIT]
    uint32_t position_count;
    uint32_t opened; // the node whose words are being added
    kazeia_status status;
};

// ---- nodes

static kazeia_status find_child(kz_command_trie *trie, uint32_t parent, int32_t token,
                                uint32_t *out_child) {
    for (uint32_t i = trie->nodes[parent].first_child; i != NO_NODE;
         i = trie->nodes[i].next_sibling) {
        if (trie->nodes[i].token == token) {
            *out_child = i;
            return KAZEIA_OK;
        }
    }
    if (trie->node_count == NODE_LIMIT) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "commands: more than %d nodes of sentences",
                       NODE_LIMIT);
    }
    *out_child = trie->node_count++;
    trie->nodes[*out_child] = (trie_node){.token = token,
                                          .parent = parent,
                                          .first_child = NO_NODE,
                                          .next_sibling = trie->nodes[parent].first_child,
                                          .key = kz_prior_key(trie->nodes[parent].key, token)};
    trie->nodes[parent].first_child = *out_child;
    (void)kz_priors_find(trie->priors, trie->nodes[*out_child].key, &trie->nodes[*out_child].prior);
    return KAZEIA_OK;
}

static kazeia_status add_text(kz_command_trie *trie, const char *text, size_t count,
                              uint32_t *out_node) {
    uint32_t ids[WORD_TOKENS];
    size_t id_count = 0;
    uint32_t node = trie->opened;
    KZ_TRY(kz_tokenizer_encode(trie->tokenizer, text, count, KZ_ENCODE_PLAIN, ids, WORD_TOKENS,
                               &id_count));
    for (size_t i = 0; i < id_count; i++) {
        KZ_TRY(find_child(trie, node, (int32_t)ids[i], &node));
    }
    *out_node = node;
    return KAZEIA_OK;
}

static kazeia_status keep_positions(kz_command_trie *trie, const kz_command_word *word,
                                    trie_node *node) {
    if (word->next_count > POSITION_LIMIT - trie->position_count) {
        return kz_fail(KAZEIA_OUT_OF_MEMORY, "commands: more than %d places in the grammar",
                       POSITION_LIMIT);
    }
    node->positions = trie->position_count;
    node->position_count = word->next_count;
    memcpy(trie->positions + trie->position_count, word->next,
           word->next_count * sizeof *word->next);
    trie->position_count += word->next_count;
    return KAZEIA_OK;
}

// The large form of the first letter: ASCII, and those of Latin-1 in two bytes; "œ" is the one
// beyond them that French words begin with.
static void enlarge_first(char *text) {
    const unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
    if (first >= 'a' && first <= 'z') {
        text[0] = (char)(first - 32);
    } else if (first == 0xc3 && second >= 0xa0 && second != 0xb7) {
        text[1] = (char)(second - 32);
    } else if (first == 0xc5 && second == 0x93) {
        text[1] = (char)0x92;
    }
}

static kazeia_status add_word(void *context, const kz_command_word *word) {
    kz_command_trie *trie = context;
    char text[WORD_BYTES];
    uint32_t node;
    text[0] = ' ';
    memcpy(text + 1, word->text, word->count + 1);
    if (trie->opened == 0) {
        enlarge_first(text + 1);
    }
    KZ_TRY(add_text(trie, text, word->count + 1, &node));
    trie->nodes[node].is_end = trie->nodes[node].is_end || word->is_end;
    KZ_TRY(keep_positions(trie, word, &trie->nodes[node]));
    if (word->is_end && word->text[word->count - 1] == '%') {
        memcpy(text + 1 + word->count, ".", 2);
        KZ_TRY(add_text(trie, text, word->count + 2, &node));
        trie->nodes[node].is_end = true;
    }
    return KAZEIA_OK;
}

static kazeia_status open_node(kz_command_trie *trie, uint32_t node) {
    const trie_node *own = &trie->nodes[node];
    if (own->is_open || own->position_count == 0) {
        return KAZEIA_OK;
    }
    trie->nodes[node].is_open = true;
    trie->opened = node;
    return kz_command_walker_words(trie->walker, trie->positions + own->positions,
                                   own->position_count, add_word, trie);
}

// ---- for the beam

static size_t list_children(void *context, uint32_t node, kz_token_child *out_children,
                            size_t capacity) {
    kz_command_trie *trie = context;
    size_t count = 0;
    if (trie->status == KAZEIA_OK) {
        trie->status = open_node(trie, node);
    }
    for (uint32_t i = trie->nodes[node].first_child; i != NO_NODE;
         i = trie->nodes[i].next_sibling) {
        // A prior that was kept without those of all children is computed again.
        if (isnan(trie->nodes[i].prior.sum)) {
            trie->nodes[node].prior.is_known = false;
        }
        if (count < capacity) {
            out_children[count] = (kz_token_child){trie->nodes[i].token, i};
        }
        count++;
    }
    return count;
}

static bool is_end(void *context, uint32_t node) {
    const kz_command_trie *trie = context;
    return trie->nodes[node].is_end;
}

kz_token_trie kz_command_trie_table(kz_command_trie *trie) {
    return (kz_token_trie){trie, list_children, is_end};
}

kz_beam_prior *kz_command_trie_prior(void *trie, uint32_t node) {
    return &((kz_command_trie *)trie)->nodes[node].prior;
}

// The children of a node whose prior is known have their sums, and so has the root, always.
void kz_command_trie_keep_priors(kz_command_trie *trie) {
    for (uint32_t i = 0; i < trie->node_count; i++) {
        const trie_node *node = &trie->nodes[i];
        if (trie->nodes[node->parent].prior.is_known) {
            kz_priors_keep(trie->priors, node->key, &node->prior);
        }
    }
}

kazeia_status kz_command_trie_status(const kz_command_trie *trie) {
    return trie->status;
}

uint32_t kz_command_trie_node_count(const kz_command_trie *trie) {
    return trie->node_count;
}

void kz_command_trie_text(const kz_command_trie *trie, uint32_t node, char *out, size_t capacity) {
    uint32_t path[TEXT_TOKENS], count = 0;
    size_t used = 0;
    for (; node != 0 && count < TEXT_TOKENS; node = trie->nodes[node].parent) {
        path[count++] = node;
    }
    while (count > 0) {
        const kz_bytes bytes =
            kz_tokenizer_token_bytes(trie->tokenizer, (uint32_t)trie->nodes[path[--count]].token);
        const size_t skip = used == 0 && bytes.count > 0 && bytes.bytes[0] == ' ' ? 1 : 0;
        const size_t room = capacity - 1 - used;
        const size_t taken = bytes.count - skip < room ? bytes.count - skip : room;
        memcpy(out + used, bytes.bytes + skip, taken);
        used += taken;
    }
    out[used] = '\0';
}

// ---- creation

static void clear_nodes(kz_command_trie *trie) {
    kz_command_walker_reset(trie->walker);
    trie->nodes[0] = (trie_node){.first_child = NO_NODE,
                                 .next_sibling = NO_NODE,
                                 .position_count = 1,
                                 .key = kz_prior_key(0, -1)};
    if (!kz_priors_find(trie->priors, trie->nodes[0].key, &trie->nodes[0].prior)) {
        trie->nodes[0].prior.sum = 0;
    }
    trie->positions[0] = kz_command_walker_start(trie->walker);
    trie->node_count = 1;
    trie->position_count = 1;
    trie->status = KAZEIA_OK;
}

void kz_command_trie_reset(kz_command_trie *trie) {
    kz_command_trie_keep_priors(trie);
    clear_nodes(trie);
}

bool kz_command_trie_is_half_full(const kz_command_trie *trie) {
    return trie->node_count > NODE_LIMIT / 2 || trie->position_count > POSITION_LIMIT / 2;
}

kazeia_status kz_command_trie_create(const kz_command_automaton *automaton, kz_tokenizer *tokenizer,
                                     kz_priors *priors, const kazeia_allocator *allocator,
                                     kz_command_trie **out_trie) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_command_trie), "command trie", &memory));
    kz_command_trie *trie = memory;
    trie->allocator = own;
    trie->tokenizer = tokenizer;
    trie->priors = priors;
    kazeia_status status;
    KZ_TRY_DONE(status, kz_command_walker_create(automaton, &own, &trie->walker));
    KZ_TRY_DONE(status, kz_alloc(&own, NODE_LIMIT, sizeof *trie->nodes, "command trie",
                                 (void **)&trie->nodes));
    KZ_TRY_DONE(status, kz_alloc(&own, POSITION_LIMIT, sizeof *trie->positions, "command trie",
                                 (void **)&trie->positions));
    clear_nodes(trie);
    *out_trie = trie;
    return KAZEIA_OK;
done:
    kz_command_trie_destroy(trie);
    return status;
}

void kz_command_trie_destroy(kz_command_trie *trie) {
    if (trie != NULL) {
        const kazeia_allocator allocator = trie->allocator;
        kz_command_walker_destroy(trie->walker);
        kz_free(&allocator, trie->nodes);
        kz_free(&allocator, trie->positions);
        kz_free(&allocator, trie);
    }
}
