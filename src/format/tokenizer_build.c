// tokenizer_build.c: a vocabulary as the exporter has it -> the tokenizer section.
//
// in:  tokens, merges, patterns and rules, already brought to raw bytes
// out: one block of bytes that the reader uses in place
//
// A hash table starts at a load of at most two thirds and doubles until no key lies further from
// its first slot than KZ_PROBE_LIMIT; the farthest distance goes into the header, so that a
// reader's search is bounded whatever the file says. Scores become ranks: only their order matters
// to merging, and integers compare the same on every machine.
#include <string.h>

#include "format/tokenizer.h"

typedef struct kz_tokenizer_builder {
    const kz_tokenizer_source *source;
    const kazeia_allocator *allocator;
    kz_tokenizer_view view; // counts first, places once the block is there
    uint32_t *merge_slots;  // filled before the block's size is known
    uint32_t *piece_slots;
    uint32_t *specials;
    uint32_t *order; // scratch of sorting: [token_count]
} kz_tokenizer_builder;

typedef int (*token_compare)(const kz_tokenizer_source *source, uint32_t a, uint32_t b);

// Merge sort: stable, and never worse than n log n on a hostile vocabulary.
static void sort_tokens(const kz_tokenizer_source *source, token_compare compare, uint32_t *tokens,
                        uint32_t *scratch, uint32_t count) {
    if (count < 2) {
        return;
    }
    const uint32_t half = count / 2;
    sort_tokens(source, compare, tokens, scratch, half);
    sort_tokens(source, compare, tokens + half, scratch, count - half);
    memcpy(scratch, tokens, count * sizeof *tokens);
    uint32_t left = 0;
    uint32_t right = half;
    for (uint32_t i = 0; i < count; i++) {
        const bool takes_left =
            right == count || (left < half && compare(source, scratch[left], scratch[right]) <= 0);
        tokens[i] = takes_left ? scratch[left++] : scratch[right++];
    }
}

static int compare_bytes(const kz_tokenizer_source *source, uint32_t a, uint32_t b) {
    const kz_tokenizer_token *left = &source->tokens[a];
    const kz_tokenizer_token *right = &source->tokens[b];
    const uint32_t common = left->count < right->count ? left->count : right->count;
    const int order = common > 0 ? memcmp(left->bytes, right->bytes, common) : 0;
    return order != 0 ? order : (left->count > right->count) - (left->count < right->count);
}

static int compare_scores(const kz_tokenizer_source *source, uint32_t a, uint32_t b) {
    const float left = source->tokens[a].score;
    const float right = source->tokens[b].score;
    // Best first. NaN was refused: it would have no place in an order.
    return (left < right) - (left > right);
}

static kz_token_kind kind_of(const kz_tokenizer_token *token) {
    return (kz_token_kind)(token->kind & KZ_TOKEN_KIND_MASK);
}

// MERGED_ONLY tokens are spelled with marks in the text's own form: they are made by merging, never
// found raw.
static bool is_special(const kz_tokenizer_token *token) {
    const kz_token_kind kind = kind_of(token);
    return token->count > 0 && (token->kind & KZ_TOKEN_MERGED_ONLY) == 0 &&
           (kind == KZ_TOKEN_CONTROL || kind == KZ_TOKEN_USER);
}

static bool is_piece(kz_tokenizer_kind tokenizer, const kz_tokenizer_token *token) {
    const bool is_merged = tokenizer == KZ_TOKENIZER_SENTENCEPIECE_BPE &&
                           token->kind == (KZ_TOKEN_USER | KZ_TOKEN_MERGED_ONLY);
    return token->count > 0 && (kind_of(token) == KZ_TOKEN_NORMAL || is_merged);
}

static kazeia_status check_token(const kz_tokenizer_builder *builder, uint32_t index) {
    const kz_tokenizer_token *token = &builder->source->tokens[index];
    // Specials are looked for at every place of a text, so their length bounds that search.
    const uint32_t limit = is_special(token) ? KZ_SPECIAL_BYTES_LIMIT : KZ_TOKEN_BYTES_LIMIT;
    if (token->count > limit) {
        return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: token %u has %u bytes; at most %u fit",
                       (unsigned)index, (unsigned)token->count, (unsigned)limit);
    }
    if (token->score != token->score) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: the score of token %u is no number",
                       (unsigned)index);
    }
    return KAZEIA_OK;
}

static kazeia_status measure_tokens(kz_tokenizer_builder *builder) {
    const kz_tokenizer_source *source = builder->source;
    kz_tokenizer_view *view = &builder->view;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < source->token_count; i++) {
        KZ_TRY(check_token(builder, i));
        const uint32_t count = source->tokens[i].count;
        bytes += count;
        view->max_token_bytes = count > view->max_token_bytes ? count : view->max_token_bytes;
    }
    if (bytes > UINT32_MAX) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "tokenizer: the tokens have %llu bytes; at most 4 GB fit",
                       (unsigned long long)bytes);
    }
    view->vocabulary_bytes = (uint32_t)bytes;
    return KAZEIA_OK;
}

static kazeia_status check_source(const kz_tokenizer_source *source) {
    if (source->token_count == 0 || source->token_count > KZ_TOKENIZER_COUNT_LIMIT ||
        source->merge_count > KZ_TOKENIZER_COUNT_LIMIT) {
        return kz_fail(
            KAZEIA_UNSUPPORTED,
            "tokenizer: %u tokens and %u merges; 1 to %u tokens and up to as many merges "
            "are handled",
            (unsigned)source->token_count, (unsigned)source->merge_count, KZ_TOKENIZER_COUNT_LIMIT);
    }
    for (uint32_t i = 0; i < source->merge_count; i++) {
        const kz_tokenizer_merge *merge = &source->merges[i];
        if (merge->left >= source->token_count || merge->right >= source->token_count ||
            merge->merged >= source->token_count) {
            return kz_fail(KAZEIA_BAD_FILE, "tokenizer: merge %u names a token beyond the %u known",
                           (unsigned)i, (unsigned)source->token_count);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status measure_patterns(kz_tokenizer_builder *builder) {
    const kz_tokenizer_source *source = builder->source;
    size_t bytes = 0;
    for (uint32_t i = 0; i < source->pattern_count; i++) {
        bytes += strlen(source->patterns[i]) + 1;
    }
    if (source->pattern_count > KZ_PATTERN_LIMIT || bytes > KZ_PATTERN_BYTES_LIMIT) {
        return kz_fail(
            KAZEIA_UNSUPPORTED, "tokenizer: %u patterns of %zu bytes; at most %u of %u bytes fit",
            (unsigned)source->pattern_count, bytes, KZ_PATTERN_LIMIT, KZ_PATTERN_BYTES_LIMIT);
    }
    builder->view.pattern_bytes = (uint32_t)bytes;
    return KAZEIA_OK;
}

// True when the two keys of a table are the same key.
typedef bool (*key_equal)(const kz_tokenizer_source *source, uint32_t a, uint32_t b);
typedef uint64_t (*key_hash)(const kz_tokenizer_source *source, uint32_t key);

static bool is_same_pair(const kz_tokenizer_source *source, uint32_t a, uint32_t b) {
    return source->merges[a].left == source->merges[b].left &&
           source->merges[a].right == source->merges[b].right;
}

static uint64_t hash_of_pair(const kz_tokenizer_source *source, uint32_t key) {
    return kz_tokenizer_pair_hash(source->merges[key].left, source->merges[key].right);
}

static bool is_same_piece(const kz_tokenizer_source *source, uint32_t a, uint32_t b) {
    return compare_bytes(source, a, b) == 0;
}

static uint64_t hash_of_piece(const kz_tokenizer_source *source, uint32_t key) {
    return kz_tokenizer_piece_hash(source->tokens[key].bytes, source->tokens[key].count);
}

typedef struct slot_table {
    const kz_tokenizer_source *source;
    key_hash hash;
    key_equal equal;
    uint32_t *slots;
    uint32_t slot_count;
    uint32_t probe_limit; // the most slots that any key needs
} slot_table;

// False when the key would lie too far from its first slot. A key that is there already is left
// out: the first one of a pair counts.
static bool insert_key(slot_table *table, uint32_t key) {
    const uint32_t first = (uint32_t)table->hash(table->source, key);
    for (uint32_t i = 0; i < KZ_PROBE_LIMIT; i++) {
        uint32_t *slot = &table->slots[(first + i) & (table->slot_count - 1)];
        if (*slot == KZ_NO_TOKEN) {
            // Linear probing keeps a key's candidates in one or two cache lines.
            *slot = key;
            table->probe_limit = i + 1 > table->probe_limit ? i + 1 : table->probe_limit;
            return true;
        }
        if (table->equal(table->source, *slot, key)) {
            return true;
        }
    }
    return false;
}

static bool insert_keys(slot_table *table, const uint32_t *keys, uint32_t key_count) {
    table->probe_limit = 0;
    memset(table->slots, 0xff, table->slot_count * sizeof *table->slots);
    for (uint32_t i = 0; i < key_count; i++) {
        if (!insert_key(table, keys != NULL ? keys[i] : i)) {
            return false;
        }
    }
    return true;
}

// Keys are `keys`, or 0..key_count-1 when that is NULL.
static kazeia_status fill_table(slot_table *table, const kazeia_allocator *allocator,
                                const uint32_t *keys, uint32_t key_count) {
    table->slot_count = 1;
    while ((uint64_t)table->slot_count * 2 < (uint64_t)key_count * 3) {
        table->slot_count *= 2;
    }
    // Keys that collide on purpose spread no better in a larger table: the bound ends the attempt.
    for (; table->slot_count <= 4 * KZ_TOKENIZER_COUNT_LIMIT; table->slot_count *= 2) {
        void *slots = NULL;
        KZ_TRY(kz_alloc(allocator, table->slot_count, sizeof(uint32_t), "a tokenizer's table",
                        &slots));
        table->slots = slots;
        if (insert_keys(table, keys, key_count)) {
            return KAZEIA_OK;
        }
        kz_free(allocator, slots);
        table->slots = NULL;
    }
    return kz_fail(KAZEIA_UNSUPPORTED, "tokenizer: %u keys do not spread over %u slots",
                   (unsigned)key_count, (unsigned)(4 * KZ_TOKENIZER_COUNT_LIMIT));
}

static kazeia_status build_merge_slots(kz_tokenizer_builder *builder) {
    slot_table table = {.source = builder->source, .hash = hash_of_pair, .equal = is_same_pair};
    KZ_TRY(fill_table(&table, builder->allocator, NULL, builder->source->merge_count));
    builder->merge_slots = table.slots;
    builder->view.merge_slot_count = table.slot_count;
    builder->view.merge_probe_limit = table.probe_limit;
    return KAZEIA_OK;
}

static kazeia_status build_piece_slots(kz_tokenizer_builder *builder) {
    const kz_tokenizer_source *source = builder->source;
    uint32_t count = 0;
    for (uint32_t i = 0; i < source->token_count; i++) {
        if (is_piece(source->kind, &source->tokens[i])) {
            builder->order[count++] = i;
        }
    }
    slot_table table = {.source = source, .hash = hash_of_piece, .equal = is_same_piece};
    KZ_TRY(fill_table(&table, builder->allocator, builder->order, count));
    builder->piece_slots = table.slots;
    builder->view.piece_slot_count = table.slot_count;
    builder->view.piece_probe_limit = table.probe_limit;
    return KAZEIA_OK;
}

static void build_specials(kz_tokenizer_builder *builder) {
    const kz_tokenizer_source *source = builder->source;
    uint32_t count = 0;
    for (uint32_t i = 0; i < source->token_count; i++) {
        if (is_special(&source->tokens[i])) {
            builder->specials[count++] = i;
        }
    }
    sort_tokens(source, compare_bytes, builder->specials, builder->order, count);
    uint32_t kept = 0; // of tokens with one text the first counts: the sort is stable
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 ||
            compare_bytes(source, builder->specials[kept - 1], builder->specials[i]) != 0) {
            builder->specials[kept++] = builder->specials[i];
        }
    }
    builder->view.special_count = kept;
}

static void write_header(const kz_tokenizer_view *view, uint8_t *block) {
    const uint32_t words[KZ_TOKENIZER_HEADER_WORDS] = {
        KZ_TOKENIZER_MAGIC,
        KZ_TOKENIZER_VERSION,
        (uint32_t)view->kind,
        view->flags,
        view->token_count,
        view->vocabulary_bytes,
        view->max_token_bytes,
        view->merge_count,
        view->merge_slot_count,
        view->merge_probe_limit,
        view->piece_slot_count,
        view->piece_probe_limit,
        view->special_count,
        view->pattern_count,
        view->pattern_bytes,
        view->bos,
        view->eos,
        view->unknown,
    };
    memcpy(block, words, sizeof words);
}

// Where a part of the new block lies, for writing.
// The view's pointers are const for readers; the same place in the block that is being filled.
static void *part_of(uint8_t *block, const void *part) {
    return block + ((const uint8_t *)part - block);
}

static void write_bytes(const kz_tokenizer_builder *builder, uint8_t *block) {
    const kz_tokenizer_source *source = builder->source;
    uint32_t *byte_tokens = part_of(block, builder->view.byte_tokens);
    // Byte BPE has a normal token for each byte; SentencePiece has byte tokens for what it cannot
    // spell.
    const kz_token_kind kind =
        source->kind == KZ_TOKENIZER_BYTE_BPE ? KZ_TOKEN_NORMAL : KZ_TOKEN_BYTE;
    memset(byte_tokens, 0xff, 256 * sizeof *byte_tokens);
    for (uint32_t i = 0; i < source->token_count; i++) {
        const kz_tokenizer_token *token = &source->tokens[i];
        if (token->count == 1 && kind_of(token) == kind &&
            byte_tokens[token->bytes[0]] == KZ_NO_TOKEN) {
            byte_tokens[token->bytes[0]] = i;
        }
    }
}

static void write_vocabulary(const kz_tokenizer_builder *builder, uint8_t *block) {
    const kz_tokenizer_source *source = builder->source;
    uint32_t *offsets = part_of(block, builder->view.offsets);
    uint8_t *kinds = part_of(block, builder->view.token_kinds);
    uint32_t offset = 0;
    for (uint32_t i = 0; i < source->token_count; i++) {
        const kz_tokenizer_token *token = &source->tokens[i];
        offsets[i] = offset;
        kinds[i] = token->kind;
        if (token->count > 0) {
            uint8_t *vocabulary = part_of(block, builder->view.vocabulary);
            memcpy(vocabulary + offset, token->bytes, token->count);
        }
        offset += token->count;
    }
    offsets[source->token_count] = offset;
}

// Tokens of one score share a rank; the best score has rank 0.
static void write_ranks(kz_tokenizer_builder *builder, uint32_t *scratch, uint8_t *block) {
    const kz_tokenizer_source *source = builder->source;
    uint32_t *ranks = part_of(block, builder->view.ranks);
    for (uint32_t i = 0; i < source->token_count; i++) {
        builder->order[i] = i;
    }
    sort_tokens(source, compare_scores, builder->order, scratch, source->token_count);
    for (uint32_t i = 0, rank = 0; i < source->token_count; i++) {
        // Neighbours only: the order is sorted.
        if (i > 0 && compare_scores(source, builder->order[i - 1], builder->order[i]) != 0) {
            rank++;
        }
        ranks[builder->order[i]] = rank;
    }
}

static void write_patterns(const kz_tokenizer_builder *builder, uint8_t *block) {
    char *text = builder->view.patterns != NULL ? part_of(block, builder->view.patterns) : NULL;
    for (uint32_t i = 0; i < builder->source->pattern_count; i++) {
        const size_t bytes = strlen(builder->source->patterns[i]) + 1;
        memcpy(text, builder->source->patterns[i], bytes);
        text += bytes;
    }
}

static void copy_numbers(uint8_t *block, const void *part, const void *numbers, size_t bytes) {
    if (bytes > 0) {
        memcpy(part_of(block, part), numbers, bytes);
    }
}

static void write_block(kz_tokenizer_builder *builder, uint8_t *block) {
    const kz_tokenizer_view *view = &builder->view;
    write_header(view, block);
    write_bytes(builder, block);
    write_vocabulary(builder, block);
    copy_numbers(block, view->merges, builder->source->merges,
                 view->merge_count * sizeof *view->merges);
    copy_numbers(block, view->merge_slots, builder->merge_slots,
                 4 * (size_t)view->merge_slot_count);
    copy_numbers(block, view->piece_slots, builder->piece_slots,
                 4 * (size_t)view->piece_slot_count);
    copy_numbers(block, view->specials, builder->specials, 4 * (size_t)view->special_count);
    write_patterns(builder, block);
    if (view->ranks != NULL) {
        write_ranks(builder, builder->specials, block); // the list is copied: its room is free
    }
}

static kazeia_status build_parts(kz_tokenizer_builder *builder, uint8_t **out_bytes,
                                 size_t *out_count) {
    KZ_TRY(check_source(builder->source));
    KZ_TRY(measure_tokens(builder));
    KZ_TRY(measure_patterns(builder));
    void *memory = NULL;
    const uint32_t token_count = builder->source->token_count;
    KZ_TRY(kz_alloc(builder->allocator, token_count, sizeof(uint32_t), "sorted tokens", &memory));
    builder->order = memory;
    KZ_TRY(kz_alloc(builder->allocator, token_count, sizeof(uint32_t), "special tokens", &memory));
    builder->specials = memory;
    // The tables come first: their sizes, found by trying, decide the block's.
    KZ_TRY(build_merge_slots(builder));
    KZ_TRY(build_piece_slots(builder));
    build_specials(builder);
    const uint64_t count = kz_tokenizer_view_place(&builder->view, NULL);
    KZ_TRY(kz_alloc_aligned(builder->allocator, (size_t)count, KZ_ALIGNMENT, "a tokenizer section",
                            &memory));
    (void)kz_tokenizer_view_place(&builder->view, memory);
    // Every byte is written: parts follow each other without gaps.
    write_block(builder, memory);
    *out_bytes = memory;
    *out_count = (size_t)count;
    return KAZEIA_OK;
}

kazeia_status kz_tokenizer_build(const kz_tokenizer_source *source,
                                 const kazeia_allocator *allocator, uint8_t **out_bytes,
                                 size_t *out_count) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    kz_tokenizer_builder builder = {
        .source = source,
        .allocator = &own,
        .view = {.kind = source->kind,
                 .flags = source->flags,
                 .token_count = source->token_count,
                 .merge_count = source->merge_count,
                 .pattern_count = source->pattern_count,
                 .bos = source->bos,
                 .eos = source->eos,
                 .unknown = source->unknown},
    };
    uint8_t *bytes = NULL;
    size_t count = 0;
    kazeia_status status = build_parts(&builder, &bytes, &count);
    kz_free(&own, builder.merge_slots);
    kz_free(&own, builder.piece_slots);
    kz_free(&own, builder.specials);
    kz_free(&own, builder.order);
    // What the reader would refuse is never written.
    if (status == KAZEIA_OK) {
        kz_tokenizer_view view;
        status = kz_tokenizer_view_open(&(kz_bytes){bytes, count}, &view);
    }
    if (status != KAZEIA_OK) {
        kz_free_aligned(&own, bytes);
        return status;
    }
    *out_bytes = bytes;
    *out_count = count;
    return KAZEIA_OK;
}
