// bpe.c: byte-pair merging with a priority queue.
//
// in:  bytes of a piece and the checked view of a vocabulary
// out: token ids in order
//
// A symbol is named by the byte at which it begins, so that its text is known without storing it. A
// pair that has changed leaves its old entry in the heap; the entry is stale when its rank is no
// longer that of the pair at its place, and is then passed over. Each merge removes one entry and
// adds at most two, so the heap never holds more than twice as many entries as there are bytes.
#include "text/bpe.h"

#include "text/utf8.h"

#define NO_SYMBOL 0xffffffffu

typedef struct bpe_symbol {
    uint32_t previous, next; // NO_SYMBOL at the ends
    uint32_t token;          // KZ_NO_TOKEN: a character that is no piece
    uint32_t rank;           // of the pair with the next symbol; KZ_NO_TOKEN: none
    uint32_t merged;         // the token that the pair makes
} bpe_symbol;

struct kz_bpe {
    kazeia_allocator allocator;
    const kz_tokenizer_view *view;
    size_t max_bytes;
    bpe_symbol *symbols; // [max_bytes]
    uint64_t *heap;      // [2 * max_bytes] rank << 32 | place
    size_t heap_count;
    const uint8_t *piece;
    size_t piece_bytes;
    uint64_t step_count;
    bool has_merges; // pairs are ranked by the list of merges
};

// Counts past the capacity, so that the caller learns how much room there should have been.
void kz_token_list_append(kz_token_list *list, uint32_t id) {
    if (list->count < list->capacity) {
        list->ids[list->count] = id;
    }
    list->count++;
}

size_t kz_bpe_bytes(size_t max_bytes) {
    size_t bytes = 0;
    // Symbols for each byte and two heap entries: most of the tokenizer's memory, and so what a
    // memory plan asks for.
    if (!kz_size_mul(max_bytes, sizeof(bpe_symbol) + 2 * sizeof(uint64_t), &bytes) ||
        !kz_size_add(bytes, sizeof(kz_bpe), &bytes)) {
        return SIZE_MAX;
    }
    return bytes;
}

static kazeia_status allocate_room(kz_bpe *bpe) {
    void *memory = NULL;
    KZ_TRY(kz_alloc(&bpe->allocator, bpe->max_bytes, sizeof *bpe->symbols, "symbols of a text",
                    &memory));
    bpe->symbols = memory;
    KZ_TRY(kz_alloc(&bpe->allocator, bpe->max_bytes, 2 * sizeof *bpe->heap, "pairs of a text",
                    &memory));
    bpe->heap = memory;
    return KAZEIA_OK;
}

kazeia_status kz_bpe_create(const kz_tokenizer_view *view, size_t max_bytes,
                            const kazeia_allocator *allocator, kz_bpe **out_bpe) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    // A place has 32 bits, and the largest number means none.
    if (max_bytes >= NO_SYMBOL) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "tokenizer: texts of %zu bytes; less than 4 GB fit",
                       max_bytes);
    }
    void *memory = NULL;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_bpe), "merging", &memory));
    kz_bpe *bpe = memory;
    bpe->allocator = own;
    bpe->view = view;
    bpe->has_merges =
        view->kind == KZ_TOKENIZER_BYTE_BPE || (view->flags & KZ_TOKENIZER_RANKED_MERGES) != 0;
    bpe->max_bytes = max_bytes;
    const kazeia_status status = allocate_room(bpe);
    if (status != KAZEIA_OK) {
        kz_bpe_destroy(bpe);
        return status;
    }
    *out_bpe = bpe;
    return KAZEIA_OK;
}

void kz_bpe_destroy(kz_bpe *bpe) {
    if (bpe == NULL) {
        return;
    }
    const kazeia_allocator own = bpe->allocator;
    kz_free(&own, bpe->symbols);
    kz_free(&own, bpe->heap);
    kz_free(&own, bpe);
}

uint64_t kz_bpe_step_count(const kz_bpe *bpe) {
    return bpe->step_count;
}

// The entry is the rank above the place: one comparison finds the lowest rank and, of equal ranks,
// the leftmost pair, as both reference implementations merge.
static void push_entry(kz_bpe *bpe, uint64_t entry) {
    size_t place = bpe->heap_count++;
    while (place > 0 && bpe->heap[(place - 1) / 2] > entry) {
        bpe->heap[place] = bpe->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    bpe->heap[place] = entry;
}

static uint64_t pop_entry(kz_bpe *bpe) {
    const uint64_t first = bpe->heap[0];
    const uint64_t last = bpe->heap[--bpe->heap_count];
    size_t place = 0;
    for (size_t child = 1; child < bpe->heap_count; child = 2 * place + 1) {
        if (child + 1 < bpe->heap_count && bpe->heap[child + 1] < bpe->heap[child]) {
            child++;
        }
        if (bpe->heap[child] >= last) {
            break;
        }
        bpe->heap[place] = bpe->heap[child];
        place = child;
    }
    bpe->heap[place] = last;
    return first;
}

static uint32_t end_of(const kz_bpe *bpe, uint32_t symbol) {
    const uint32_t next = bpe->symbols[symbol].next;
    return next == NO_SYMBOL ? (uint32_t)bpe->piece_bytes : next;
}

// The rank is the merge's place in the list. Only the tokens count: two pairs of equal text that
// were merged differently are different pairs. A character that is no token is in no merge.
static void rank_by_merges(const kz_bpe *bpe, bpe_symbol *left, const bpe_symbol *right) {
    left->rank = kz_tokenizer_view_find_merge(bpe->view, left->token, right->token);
    if (left->rank != KZ_NO_TOKEN) {
        left->merged = bpe->view->merges[left->rank].merged;
    }
}

// SentencePiece's own rule: the rank is that of the piece which both texts make together.
static void rank_by_piece(const kz_bpe *bpe, bpe_symbol *left) {
    const uint32_t first = (uint32_t)(left - bpe->symbols);
    const uint32_t end = end_of(bpe, left->next);
    left->merged = kz_tokenizer_view_find_piece(bpe->view, bpe->piece + first, end - first);
    left->rank = left->merged == KZ_NO_TOKEN ? KZ_NO_TOKEN : bpe->view->ranks[left->merged];
}

// Finds the rank of the pair that begins at `place` and enters it.
static void rank_pair(kz_bpe *bpe, uint32_t place) {
    bpe_symbol *left = &bpe->symbols[place];
    left->rank = KZ_NO_TOKEN;
    if (left->next == NO_SYMBOL) {
        return;
    }
    // Steps are counted for the test that a hostile text costs no more than n log n.
    bpe->step_count++;
    if (bpe->has_merges) {
        rank_by_merges(bpe, left, &bpe->symbols[left->next]);
    } else {
        rank_by_piece(bpe, left);
    }
    if (left->rank != KZ_NO_TOKEN) {
        push_entry(bpe, (uint64_t)left->rank << 32 | place);
    }
}

static void merge_pair(kz_bpe *bpe, uint32_t place) {
    bpe_symbol *left = &bpe->symbols[place];
    // The merged symbol keeps the left one's place; the right one's is never used again for this
    // piece.
    bpe_symbol *right = &bpe->symbols[left->next];
    left->token = left->merged;
    left->next = right->next;
    right->rank = KZ_NO_TOKEN; // its entries are stale from now on
    if (left->next != NO_SYMBOL) {
        bpe->symbols[left->next].previous = place;
    }
    rank_pair(bpe, place);
    if (left->previous != NO_SYMBOL) {
        rank_pair(bpe, left->previous);
    }
}

static void merge_all(kz_bpe *bpe) {
    while (bpe->heap_count > 0) {
        const uint64_t entry = pop_entry(bpe);
        const uint32_t place = (uint32_t)entry;
        bpe->step_count++;
        // An entry only says where to look: what is merged is the pair that stands there now, so an
        // old entry of the same rank does no harm.
        if (bpe->symbols[place].rank == (uint32_t)(entry >> 32)) {
            merge_pair(bpe, place);
        }
    }
}

static void append_symbol(kz_bpe *bpe, uint32_t place, uint32_t token, uint32_t *last) {
    bpe->symbols[place] = (bpe_symbol){*last, NO_SYMBOL, token, KZ_NO_TOKEN, KZ_NO_TOKEN};
    if (*last != NO_SYMBOL) {
        bpe->symbols[*last].next = place;
    }
    *last = place;
}

// A byte without a token of its own is left out: a byte-level vocabulary has all 256, but a file
// need not.
static uint32_t begin_bytes(kz_bpe *bpe) {
    uint32_t first = NO_SYMBOL;
    uint32_t last = NO_SYMBOL;
    for (uint32_t i = 0; i < bpe->piece_bytes; i++) {
        const uint32_t token = bpe->view->byte_tokens[bpe->piece[i]];
        if (token != KZ_NO_TOKEN) {
            append_symbol(bpe, i, token, &last);
            first = first == NO_SYMBOL ? i : first;
        }
    }
    return first;
}

static uint32_t begin_characters(kz_bpe *bpe) {
    uint32_t last = NO_SYMBOL;
    for (uint32_t i = 0; i < bpe->piece_bytes;) {
        const char *bytes = (const char *)bpe->piece + i;
        // An invalid byte counts as a character of one byte and falls back to its byte token.
        const uint32_t length = kz_utf8_read_last(bytes, bpe->piece_bytes - i).length;
        append_symbol(bpe, i, kz_tokenizer_view_find_piece(bpe->view, bpe->piece + i, length),
                      &last);
        i += length;
    }
    return bpe->piece_bytes > 0 ? 0 : NO_SYMBOL;
}

// A character that is no piece: its bytes, when there are tokens for them, else the unknown token.
// All bytes or none: a character of which some bytes are missing could not be read back.
static void append_fallback(const kz_bpe *bpe, uint32_t place, kz_token_list *list) {
    const uint32_t end = end_of(bpe, place);
    bool has_all = true;
    for (uint32_t i = place; i < end; i++) {
        has_all = has_all && bpe->view->byte_tokens[bpe->piece[i]] != KZ_NO_TOKEN;
    }
    if (!has_all && bpe->view->unknown != KZ_NO_TOKEN) {
        kz_token_list_append(list, bpe->view->unknown);
    }
    for (uint32_t i = place; has_all && i < end; i++) {
        kz_token_list_append(list, bpe->view->byte_tokens[bpe->piece[i]]);
    }
}

static void append_tokens(const kz_bpe *bpe, uint32_t first, kz_token_list *list) {
    for (uint32_t i = first; i != NO_SYMBOL; i = bpe->symbols[i].next) {
        if (bpe->symbols[i].token != KZ_NO_TOKEN) {
            kz_token_list_append(list, bpe->symbols[i].token);
        } else {
            append_fallback(bpe, i, list);
        }
    }
}

void kz_bpe_encode(kz_bpe *bpe, const uint8_t *piece, size_t count, kz_token_list *list) {
    // Asked before merging: some vocabularies hold words that no row of merges leads to
    // ("ignore_merges" of Hugging Face).
    if ((bpe->view->flags & KZ_TOKENIZER_WHOLE_PIECES) != 0) {
        const uint32_t whole = kz_tokenizer_view_find_piece(bpe->view, piece, count);
        if (whole != KZ_NO_TOKEN) {
            kz_token_list_append(list, whole);
            return;
        }
    }
    bpe->piece = piece;
    bpe->piece_bytes = count;
    bpe->heap_count = 0;
    const uint32_t first =
        bpe->view->kind == KZ_TOKENIZER_BYTE_BPE ? begin_bytes(bpe) : begin_characters(bpe);
    for (uint32_t i = first; i != NO_SYMBOL; i = bpe->symbols[i].next) {
        rank_pair(bpe, i);
    }
    merge_all(bpe);
    append_tokens(bpe, first, list);
}
