// tokenizer.c: the checked view of a tokenizer section and its three look-ups.
//
// in:  the section's bytes as mapped, from a file that nobody vouches for
// out: counts and pointers that the tokenizer may follow without a further bounds check
//
// The pass over all parts looks at each number once and allocates nothing, so that a vocabulary of
// 150,000 tokens opens within a millisecond or two. The hash tables are checked for range only: a
// wrong slot costs a wrong token, never a wild read, and the probe limit bounds every search.
#include "format/tokenizer.h"

#include <string.h>

// 2^64 / phi as multiplier (Fibonacci hashing), then a finish like SplitMix64's with its first
// constant.
uint64_t kz_tokenizer_pair_hash(uint32_t left, uint32_t right) {
    uint64_t hash = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

uint64_t kz_tokenizer_piece_hash(const uint8_t *bytes, size_t count) {
    // FNV-1a, 64 bits. Builder and reader share both functions: they are part of the format.
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    }
    return hash;
}

// Adds a part of `count` elements; NULL when it holds none.
static const void *place_part(const uint8_t *section, uint64_t count, uint64_t bytes_each,
                              uint64_t *offset) {
    const uint8_t *part = section != NULL && count > 0 ? section + *offset : NULL;
    *offset += count * bytes_each;
    return part;
}

// Parts of u32 come first and bytes last: each is aligned without gaps, given a section aligned to
// 4. Counts are at most 2^32 - 1, so the sum of 64 bits does not wrap.
uint64_t kz_tokenizer_view_place(kz_tokenizer_view *view, const uint8_t *section) {
    uint64_t offset = KZ_TOKENIZER_HEADER_WORDS * sizeof(uint32_t);
    const bool has_ranks = view->kind == KZ_TOKENIZER_SENTENCEPIECE_BPE;
    view->byte_tokens = place_part(section, 256, 4, &offset);
    view->offsets = place_part(section, (uint64_t)view->token_count + 1, 4, &offset);
    view->ranks = place_part(section, has_ranks ? view->token_count : 0, 4, &offset);
    view->merges = place_part(section, view->merge_count, sizeof *view->merges, &offset);
    view->merge_slots = place_part(section, view->merge_slot_count, 4, &offset);
    view->piece_slots = place_part(section, view->piece_slot_count, 4, &offset);
    view->specials = place_part(section, view->special_count, 4, &offset);
    view->token_kinds = place_part(section, view->token_count, 1, &offset);
    view->patterns = place_part(section, view->pattern_bytes, 1, &offset);
    view->vocabulary = place_part(section, view->vocabulary_bytes, 1, &offset);
    return offset;
}

static void read_header(const uint8_t *section, kz_tokenizer_view *view) {
    uint32_t words[KZ_TOKENIZER_HEADER_WORDS];
    memcpy(words, section, sizeof words);
    *view = (kz_tokenizer_view){
        .kind = (kz_tokenizer_kind)words[2],
        .flags = words[3],
        .token_count = words[4],
        .vocabulary_bytes = words[5],
        .max_token_bytes = words[6],
        .merge_count = words[7],
        .merge_slot_count = words[8],
        .merge_probe_limit = words[9],
        .piece_slot_count = words[10],
        .piece_probe_limit = words[11],
        .special_count = words[12],
        .pattern_count = words[13],
        .pattern_bytes = words[14],
        .bos = words[15],
        .eos = words[16],
        .unknown = words[17],
    };
}

static kazeia_status check_identity(const uint8_t *section, const kz_tokenizer_view *view) {
    uint32_t words[2];
    memcpy(words, section, sizeof words);
    if (words[0] != KZ_TOKENIZER_MAGIC || words[1] != KZ_TOKENIZER_VERSION) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tokenizer: begins with 0x%08x, version %u; expected 0x%08x, version %u",
                       (unsigned)words[0], (unsigned)words[1], KZ_TOKENIZER_MAGIC,
                       KZ_TOKENIZER_VERSION);
    }
    if (view->kind != KZ_TOKENIZER_BYTE_BPE && view->kind != KZ_TOKENIZER_SENTENCEPIECE_BPE) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: kind %u is not 1 or 2", (unsigned)view->kind);
    }
    // A flag that is not known changes how text is cut: passing over it would give other ids
    // without a word.
    if ((view->flags & ~(uint32_t)KZ_TOKENIZER_FLAG_MASK) != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: unknown flags 0x%x",
                       (unsigned)(view->flags & ~(uint32_t)KZ_TOKENIZER_FLAG_MASK));
    }
    const uint32_t bytes_only = KZ_TOKENIZER_NFC | KZ_TOKENIZER_WHOLE_PIECES;
    const uint32_t pieces_only = KZ_TOKENIZER_SPACE_PREFIX | KZ_TOKENIZER_RANKED_MERGES |
                                 KZ_TOKENIZER_PREFIX_ONCE | KZ_TOKENIZER_PREFIX_MISSING;
    const uint32_t others = view->kind == KZ_TOKENIZER_BYTE_BPE ? pieces_only : bytes_only;
    if ((view->flags & others) != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: flags 0x%x do not belong to kind %u",
                       (unsigned)(view->flags & others), (unsigned)view->kind);
    }
    return KAZEIA_OK;
}

static kazeia_status check_count(const char *what, uint32_t count, uint32_t least, uint32_t most) {
    if (count < least || count > most) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: %u %s; expected %u to %u", (unsigned)count,
                       what, (unsigned)least, (unsigned)most);
    }
    return KAZEIA_OK;
}

static kazeia_status check_slot_count(const char *what, uint32_t slot_count) {
    // A search wraps by a mask.
    if ((slot_count & (slot_count - 1)) != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: %u %s are not a power of two",
                       (unsigned)slot_count, what);
    }
    // 0 passes the test above, and a mask of 0 - 1 would not wrap.
    return check_count(what, slot_count, 1, 4 * KZ_TOKENIZER_COUNT_LIMIT);
}

static kazeia_status check_counts(const kz_tokenizer_view *view) {
    const bool is_bytes = view->kind == KZ_TOKENIZER_BYTE_BPE;
    KZ_TRY(check_count("tokens", view->token_count, 1, KZ_TOKENIZER_COUNT_LIMIT));
    KZ_TRY(
        check_count("bytes in the longest token", view->max_token_bytes, 0, KZ_TOKEN_BYTES_LIMIT));
    const bool has_merges = is_bytes || (view->flags & KZ_TOKENIZER_RANKED_MERGES) != 0;
    KZ_TRY(check_count("merges", view->merge_count, 0, has_merges ? KZ_TOKENIZER_COUNT_LIMIT : 0));
    KZ_TRY(check_slot_count("merge slots", view->merge_slot_count));
    KZ_TRY(check_slot_count("piece slots", view->piece_slot_count));
    KZ_TRY(check_count("probes for a merge", view->merge_probe_limit, 0, KZ_PROBE_LIMIT));
    KZ_TRY(check_count("probes for a piece", view->piece_probe_limit, 0, KZ_PROBE_LIMIT));
    KZ_TRY(check_count("special tokens", view->special_count, 0, view->token_count));
    KZ_TRY(check_count("patterns", view->pattern_count, 0, is_bytes ? KZ_PATTERN_LIMIT : 0));
    return check_count("bytes of patterns", view->pattern_bytes, 0, KZ_PATTERN_BYTES_LIMIT);
}

// All numbers are below `limit`, or KZ_NO_TOKEN where that is allowed.
static kazeia_status check_numbers(const char *what, const uint32_t *numbers, size_t count,
                                   uint32_t limit, bool may_be_absent) {
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] >= limit && !(may_be_absent && numbers[i] == KZ_NO_TOKEN)) {
            return kz_fail(KAZEIA_BAD_FILE, "tokenizer: %s %zu holds %u; the limit is %u", what, i,
                           (unsigned)numbers[i], (unsigned)limit);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status check_tokens(const kz_tokenizer_view *view) {
    // Ends fixed and order checked below: every token then lies inside the vocabulary.
    if (view->offsets[0] != 0 || view->offsets[view->token_count] != view->vocabulary_bytes) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tokenizer: tokens lie from byte %u to %u; the vocabulary has %u",
                       (unsigned)view->offsets[0], (unsigned)view->offsets[view->token_count],
                       (unsigned)view->vocabulary_bytes);
    }
    for (uint32_t i = 0; i < view->token_count; i++) {
        const uint32_t first = view->offsets[i];
        const uint32_t end = view->offsets[i + 1];
        if (end < first || end - first > view->max_token_bytes) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "tokenizer: token %u lies from byte %u to %u; at most %u bytes expected",
                           (unsigned)i, (unsigned)first, (unsigned)end,
                           (unsigned)view->max_token_bytes);
        }
        if ((view->token_kinds[i] & KZ_TOKEN_KIND_MASK) >= KZ_TOKEN_KIND_COUNT) {
            return kz_fail(KAZEIA_BAD_FILE, "tokenizer: token %u has the unknown kind %u",
                           (unsigned)i, (unsigned)(view->token_kinds[i] & KZ_TOKEN_KIND_MASK));
        }
    }
    return KAZEIA_OK;
}

static int compare_tokens(const kz_tokenizer_view *view, uint32_t a, uint32_t b) {
    const kz_bytes left = kz_tokenizer_view_token(view, a);
    const kz_bytes right = kz_tokenizer_view_token(view, b);
    const size_t common = left.count < right.count ? left.count : right.count;
    const int order = common > 0 ? memcmp(left.bytes, right.bytes, common) : 0;
    return order != 0 ? order : (left.count > right.count) - (left.count < right.count);
}

static kazeia_status check_specials(const kz_tokenizer_view *view) {
    KZ_TRY(check_numbers("special token", view->specials, view->special_count, view->token_count,
                         false));
    for (uint32_t i = 0; i < view->special_count; i++) {
        const size_t bytes = kz_tokenizer_view_token(view, view->specials[i]).count;
        KZ_TRY(check_count("bytes in a special token", (uint32_t)bytes, 1, KZ_SPECIAL_BYTES_LIMIT));
        // Strictly rising: matching halves the list again and again, and needs each text once.
        if (i > 0 && compare_tokens(view, view->specials[i - 1], view->specials[i]) >= 0) {
            return kz_fail(KAZEIA_BAD_FILE, "tokenizer: special token %u of %u is out of order",
                           (unsigned)i, (unsigned)view->special_count);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status check_patterns(const kz_tokenizer_view *view) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < view->pattern_bytes; i++) {
        if (view->patterns[i] != 0) {
            continue;
        }
        // An empty pattern would match everywhere and never move on.
        if (i == 0 || view->patterns[i - 1] == 0) {
            return kz_fail(KAZEIA_BAD_FILE, "tokenizer: pattern %u is empty", (unsigned)found);
        }
        found++;
    }
    const bool is_ended = view->pattern_bytes == 0 || view->patterns[view->pattern_bytes - 1] == 0;
    if (found != view->pattern_count || !is_ended) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: %u patterns found in %u bytes; expected %u",
                       (unsigned)found, (unsigned)view->pattern_bytes,
                       (unsigned)view->pattern_count);
    }
    return KAZEIA_OK;
}

static kazeia_status check_named_tokens(const kz_tokenizer_view *view) {
    const uint32_t named[3] = {view->bos, view->eos, view->unknown};
    KZ_TRY(check_numbers("named token (bos, eos, unknown)", named, 3, view->token_count, true));
    if (((view->flags & KZ_TOKENIZER_ADD_BOS) != 0 && view->bos == KZ_NO_TOKEN) ||
        ((view->flags & KZ_TOKENIZER_ADD_EOS) != 0 && view->eos == KZ_NO_TOKEN)) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: BOS or EOS is to be added but is not named");
    }
    return KAZEIA_OK;
}

static kazeia_status check_parts(const kz_tokenizer_view *view) {
    KZ_TRY(check_named_tokens(view));
    KZ_TRY(check_tokens(view));
    KZ_TRY(check_numbers("byte", view->byte_tokens, 256, view->token_count, true));
    // Three numbers a merge: the struct is u32 throughout.
    KZ_TRY(check_numbers("merge number", (const uint32_t *)view->merges,
                         3 * (size_t)view->merge_count, view->token_count, false));
    KZ_TRY(check_numbers("merge slot", view->merge_slots, view->merge_slot_count, view->merge_count,
                         true));
    KZ_TRY(check_numbers("piece slot", view->piece_slots, view->piece_slot_count, view->token_count,
                         true));
    KZ_TRY(check_specials(view));
    return check_patterns(view);
}

kazeia_status kz_tokenizer_view_open(const kz_bytes *section, kz_tokenizer_view *out_view) {
    const size_t header_bytes = KZ_TOKENIZER_HEADER_WORDS * sizeof(uint32_t);
    if (section->count < header_bytes) {
        return kz_fail(KAZEIA_BAD_FILE, "tokenizer: the section has %zu bytes; its header has %zu",
                       section->count, header_bytes);
    }
    if ((uintptr_t)section->bytes % sizeof(uint32_t) != 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "tokenizer: the section is not aligned to 4 bytes");
    }
    kz_tokenizer_view view;
    read_header(section->bytes, &view);
    KZ_TRY(check_identity(section->bytes, &view));
    KZ_TRY(check_counts(&view));
    // Equality with the section's size proves every part inside it, before any is read.
    const uint64_t expected = kz_tokenizer_view_place(&view, NULL);
    if (expected != section->count) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tokenizer: the section has %zu bytes; its counts make %llu", section->count,
                       (unsigned long long)expected);
    }
    (void)kz_tokenizer_view_place(&view, section->bytes);
    KZ_TRY(check_parts(&view));
    *out_view = view;
    return KAZEIA_OK;
}

kz_bytes kz_tokenizer_view_token(const kz_tokenizer_view *view, uint32_t token) {
    const uint32_t first = view->offsets[token];
    if (view->vocabulary == NULL) {
        return (kz_bytes){NULL, 0};
    }
    return (kz_bytes){view->vocabulary + first, view->offsets[token + 1] - first};
}

kz_token_kind kz_tokenizer_view_kind(const kz_tokenizer_view *view, uint32_t token) {
    return (kz_token_kind)(view->token_kinds[token] & KZ_TOKEN_KIND_MASK);
}

uint32_t kz_tokenizer_view_find_merge(const kz_tokenizer_view *view, uint32_t left,
                                      uint32_t right) {
    // The probe limit is the farthest that the builder had to go, so a key that is not met within
    // it is not there.
    const uint32_t mask = view->merge_slot_count - 1;
    const uint32_t first = (uint32_t)kz_tokenizer_pair_hash(left, right);
    for (uint32_t i = 0; i < view->merge_probe_limit; i++) {
        const uint32_t rank = view->merge_slots[(first + i) & mask];
        if (rank == KZ_NO_TOKEN) {
            return KZ_NO_TOKEN;
        }
        if (view->merges[rank].left == left && view->merges[rank].right == right) {
            return rank;
        }
    }
    return KZ_NO_TOKEN;
}

uint32_t kz_tokenizer_view_find_piece(const kz_tokenizer_view *view, const uint8_t *bytes,
                                      size_t count) {
    if (count == 0 || count > view->max_token_bytes) {
        return KZ_NO_TOKEN;
    }
    const uint32_t mask = view->piece_slot_count - 1;
    const uint32_t first = (uint32_t)kz_tokenizer_piece_hash(bytes, count);
    for (uint32_t i = 0; i < view->piece_probe_limit; i++) {
        const uint32_t token = view->piece_slots[(first + i) & mask];
        if (token == KZ_NO_TOKEN) {
            return KZ_NO_TOKEN;
        }
        const kz_bytes piece = kz_tokenizer_view_token(view, token);
        if (piece.count == count && memcmp(piece.bytes, bytes, count) == 0) {
            return token;
        }
    }
    return KZ_NO_TOKEN;
}

// The first special token in [low, high) whose byte at `depth` is >= value; tokens there share
// their first `depth` bytes, and one that ends before `depth` sorts first.
static uint32_t lower_bound(const kz_tokenizer_view *view, uint32_t low, uint32_t high,
                            size_t depth, unsigned value) {
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const kz_bytes token = kz_tokenizer_view_token(view, view->specials[middle]);
        if (token.count <= depth || token.bytes[depth] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t kz_tokenizer_view_match_special(const kz_tokenizer_view *view, const uint8_t *bytes,
                                         size_t count, bool with_control) {
    uint32_t low = 0;
    uint32_t high = view->special_count;
    uint32_t longest = KZ_NO_TOKEN;
    for (size_t depth = 0; depth < count && low < high; depth++) {
        low = lower_bound(view, low, high, depth, bytes[depth]);
        // With 256 for the byte 255 nothing is cut off: all that are left have a byte at this
        // depth.
        high = lower_bound(view, low, high, depth, bytes[depth] + 1u);
        if (low == high) {
            break;
        }
        // Of those that share the bytes so far the shortest sorts first: only it can end here.
        const uint32_t token = view->specials[low];
        const bool is_whole = kz_tokenizer_view_token(view, token).count == depth + 1;
        if (is_whole && (with_control || kz_tokenizer_view_kind(view, token) == KZ_TOKEN_USER)) {
            longest = token;
        }
    }
    return longest;
}
