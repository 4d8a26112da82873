// constrain_trie.c: token bytes -> a trie in one array.
//   in   a tokenizer
//   out  nodes, and the ids in the order of their bytes
// Sorted bytes are the walk's order: a token makes a node for each byte that the token before it
// does not share.
#include "llm/constrain_trie.h"

#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

typedef struct sorted_token {
    const uint8_t *bytes;
    uint32_t count, id;
} sorted_token;

typedef struct trie_maker {
    kz_byte_trie *trie;
    sorted_token *sorted; // [2 * token_count] all of them, then those that are not plain
    uint32_t count, rest_count;
    uint32_t *open; // [depth + 1] the nodes on the way to the last one
} trie_maker;

static bool has_bit(const uint32_t *bits, uint32_t index) {
    return (bits[index / 32] >> (index % 32) & 1) != 0;
}

static bool is_plain(const uint8_t *bytes, uint32_t count) {
    uint32_t characters = 0;
    for (uint32_t i = 0; i < count; characters++) {
        const kz_utf8_char read = kz_utf8_read_last((const char *)bytes + i, count - i);
        if (!read.is_valid || read.code_point < 0x20 || read.code_point == 0x7f ||
            read.code_point == '"' || read.code_point == '\\') {
            return false;
        }
        i += read.length;
    }
    return characters <= KZ_PLAIN_CHARACTERS;
}

static int compare_tokens(const void *left, const void *right) {
    const sorted_token *a = left, *b = right;
    const int order = memcmp(a->bytes, b->bytes, a->count < b->count ? a->count : b->count);
    if (order != 0) {
        return order;
    }
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

static void collect_tokens(trie_maker *maker, const kz_tokenizer *tokenizer, const uint32_t *stops,
                           uint32_t vocabulary) {
    const uint32_t known = kz_tokenizer_token_count(tokenizer);
    for (uint32_t id = 0; id < known && id < vocabulary; id++) {
        const kz_bytes bytes = kz_tokenizer_token_bytes(tokenizer, id);
        if (bytes.count > 0 && !kz_tokenizer_is_special(tokenizer, id) && !has_bit(stops, id)) {
            const uint32_t count = (uint32_t)bytes.count;
            maker->sorted[maker->count++] = (sorted_token){bytes.bytes, count, id};
            maker->trie->depth = count > maker->trie->depth ? count : maker->trie->depth;
        }
    }
    if (maker->count > 0) {
        qsort(maker->sorted, maker->count, sizeof *maker->sorted, compare_tokens);
    }
    maker->trie->token_count = maker->count;
    for (uint32_t i = 0; i < maker->count; i++) {
        const sorted_token *token = &maker->sorted[i];
        if (is_plain(token->bytes, token->count)) {
            maker->trie->plain[token->id / 32] |= 1u << (token->id % 32);
        } else {
            maker->sorted[maker->count + maker->rest_count++] = *token;
        }
    }
}

static uint32_t shared_bytes(const sorted_token *before, const sorted_token *token) {
    const uint32_t most = before->count < token->count ? before->count : token->count;
    uint32_t shared = 0;
    while (shared < most && before->bytes[shared] == token->bytes[shared]) {
        shared++;
    }
    return shared;
}

static uint32_t count_nodes(const sorted_token *sorted, uint32_t count) {
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < count; i++) {
        nodes += sorted[i].count - (i > 0 ? shared_bytes(&sorted[i - 1], &sorted[i]) : 0);
    }
    return nodes;
}

static void close_nodes(trie_maker *maker, uint32_t from, uint32_t to) {
    for (uint32_t depth = from; depth <= to; depth++) {
        maker->trie->nodes[maker->open[depth]].end = maker->trie->node_count;
    }
}

// Appends a forest; its tokens are `sorted` [first, first + count).
static void add_forest(trie_maker *maker, uint32_t first, uint32_t count) {
    kz_byte_trie *trie = maker->trie;
    uint32_t depth = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const sorted_token *token = &maker->sorted[i];
        const uint32_t shared = i > first ? shared_bytes(token - 1, token) : 0;
        close_nodes(maker, shared + 1, depth);
        for (depth = shared; depth < token->count; depth++) {
            maker->open[depth + 1] = trie->node_count;
            // Only the last of these nodes has the token; for those above it, it is the first
            // behind them in the walk, which makes their own lists empty.
            trie->nodes[trie->node_count++] =
                (kz_trie_node){.first_token = i, .depth = depth + 1, .byte = token->bytes[depth]};
        }
        trie->tokens[i] = token->id;
    }
    close_nodes(maker, 1, depth);
}

static kazeia_status make_trie(trie_maker *maker) {
    kz_byte_trie *trie = maker->trie;
    const size_t tokens = (size_t)maker->count + maker->rest_count;
    const size_t nodes = (size_t)count_nodes(maker->sorted, maker->count) +
                         count_nodes(maker->sorted + maker->count, maker->rest_count);
    KZ_TRY(kz_alloc(&trie->allocator, nodes + 1, sizeof *trie->nodes, "token trie",
                    (void **)&trie->nodes));
    KZ_TRY(kz_alloc(&trie->allocator, tokens, sizeof *trie->tokens, "token trie",
                    (void **)&trie->tokens));
    KZ_TRY(kz_alloc(&trie->allocator, (size_t)trie->depth + 1, sizeof *maker->open, "token trie",
                    (void **)&maker->open));
    add_forest(maker, 0, maker->count);
    trie->rest = trie->node_count;
    add_forest(maker, maker->count, maker->rest_count);
    trie->nodes[trie->node_count] = (kz_trie_node){.first_token = (uint32_t)tokens};
    return KAZEIA_OK;
}

kazeia_status kz_byte_trie_create(const kz_tokenizer *tokenizer, const uint32_t *stops,
                                  uint32_t vocabulary, const kazeia_allocator *allocator,
                                  kz_byte_trie *out_trie) {
    trie_maker maker = {.trie = out_trie};
    *out_trie = (kz_byte_trie){.allocator = kz_allocator_or_default(allocator)};
    kazeia_status status = kz_alloc(&out_trie->allocator, vocabulary / 32 + 1, sizeof(uint32_t),
                                    "token trie", (void **)&out_trie->plain);
    if (status == KAZEIA_OK) {
        status = kz_alloc(&out_trie->allocator, kz_tokenizer_token_count(tokenizer),
                          2 * sizeof *maker.sorted, "token trie", (void **)&maker.sorted);
    }
    if (status == KAZEIA_OK) {
        collect_tokens(&maker, tokenizer, stops, vocabulary);
        status = make_trie(&maker);
    }
    kz_free(&out_trie->allocator, maker.sorted);
    kz_free(&out_trie->allocator, maker.open);
    return status;
}

void kz_byte_trie_clear(kz_byte_trie *trie) {
    kz_free(&trie->allocator, trie->nodes);
    kz_free(&trie->allocator, trie->tokens);
    kz_free(&trie->allocator, trie->plain);
}
