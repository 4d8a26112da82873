// split.c: a reply's text as it is written -> answer, thoughts, calls, the stop.
//   in   bytes
//   out  pieces
// Marks are found in the text and not as tokens: some models have tokens for them, others spell
// them, and text that a person sees is what must not have them.
#include "llm/split.h"

#include <string.h>

#define STOP_BYTES_LIMIT 1000u

static size_t longer(size_t length, const char *text) {
    const size_t other = strlen(text);
    return other > length ? other : length;
}

kazeia_status kz_splitter_init(kz_splitter *splitter, const kz_template_marks *marks,
                               const char *const *stops, size_t stop_count, size_t longest_piece,
                               const kazeia_allocator *allocator) {
    *splitter =
        (kz_splitter){.allocator = *allocator, .marks = *marks, .longest_piece = longest_piece};
    size_t longest = longer(longer(0, marks->think_open), marks->think_close);
    longest = longer(longer(longest, marks->call_open), marks->call_close);
    KZ_TRY(kz_alloc(allocator, stop_count, sizeof *splitter->stops, "stop strings",
                    (void **)&splitter->stops));
    for (size_t i = 0; i < stop_count; i++) {
        const size_t bytes = strlen(stops[i]);
        if (bytes == 0 || bytes > STOP_BYTES_LIMIT) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "chat: stop string %zu has %zu bytes, expected 1 to %u", i, bytes,
                           STOP_BYTES_LIMIT);
        }
        KZ_TRY(kz_copy_string(allocator, stops[i], bytes, &splitter->stops[i]));
        splitter->stop_count++;
        longest = longer(longest, stops[i]);
    }
    splitter->capacity = longest_piece + longest;
    return kz_alloc(allocator, splitter->capacity, 1, "reply text", (void **)&splitter->held);
}

void kz_splitter_clear(kz_splitter *splitter) {
    for (size_t i = 0; i < splitter->stop_count; i++) {
        kz_free(&splitter->allocator, splitter->stops[i]);
    }
    kz_free(&splitter->allocator, splitter->stops);
    kz_free(&splitter->allocator, splitter->held);
    *splitter = (kz_splitter){.allocator = splitter->allocator};
}

void kz_splitter_start(kz_splitter *splitter, bool is_thinking) {
    splitter->from = 0;
    splitter->count = 0;
    splitter->part = is_thinking ? KZ_PART_REASONING : KZ_PART_TEXT;
    splitter->skips_lines = is_thinking;
    splitter->is_ending = false;
}

size_t kz_splitter_room(const kz_splitter *splitter) {
    return splitter->capacity;
}

void kz_splitter_push(kz_splitter *splitter, const char *bytes, size_t count) {
    // What is held is shorter than the longest mark: the rest of the buffer takes a piece.
    memmove(splitter->held, splitter->held + splitter->from, splitter->count);
    splitter->from = 0;
    memcpy(splitter->held + splitter->count, bytes, count);
    splitter->count += count;
}

void kz_splitter_finish(kz_splitter *splitter) {
    splitter->is_ending = true;
}

// --- Finding marks ------------------------------------------------------------------------------

typedef struct found_mark {
    size_t place;  // in what is held
    size_t length; // 0: only its beginning is there
    kz_split_event event;
    kz_message_part part; // that is opened or closed
} found_mark;

// Where `mark` first stands or, at the end, begins; keeps the earlier of it and `found`.
static void find_mark(const kz_splitter *splitter, const char *mark, kz_split_event event,
                      kz_message_part part, found_mark *found) {
    const char *held = splitter->held + splitter->from;
    const size_t length = strlen(mark);
    for (size_t place = 0; length > 0 && place < splitter->count && place < found->place; place++) {
        const size_t left = splitter->count - place;
        const bool is_whole = left >= length;
        if (!is_whole && splitter->is_ending) {
            return;
        }
        if (memcmp(held + place, mark, is_whole ? length : left) == 0) {
            *found = (found_mark){place, is_whole ? length : 0, event, part};
            return;
        }
    }
}

// The earliest mark that means something in the present part.
static found_mark find_next(const kz_splitter *splitter) {
    const kz_template_marks *marks = &splitter->marks;
    found_mark found = {.place = splitter->count};
    switch (splitter->part) {
    case KZ_PART_REASONING:
        find_mark(splitter, marks->think_close, KZ_SPLIT_CLOSED, KZ_PART_REASONING, &found);
        break;
    case KZ_PART_CALLS:
        find_mark(splitter, marks->call_close, KZ_SPLIT_CLOSED, KZ_PART_CALLS, &found);
        break;
    default:
        find_mark(splitter, marks->think_open, KZ_SPLIT_OPENED, KZ_PART_REASONING, &found);
        find_mark(splitter, marks->call_open, KZ_SPLIT_OPENED, KZ_PART_CALLS, &found);
        for (size_t i = 0; i < splitter->stop_count; i++) {
            find_mark(splitter, splitter->stops[i], KZ_SPLIT_STOPPED, KZ_PART_TEXT, &found);
        }
    }
    return found;
}

// --- Pieces -------------------------------------------------------------------------------------

static void skip(kz_splitter *splitter, size_t count) {
    splitter->from += count;
    splitter->count -= count;
}

static void skip_lines(kz_splitter *splitter) {
    while (splitter->skips_lines && splitter->count > 0) {
        if (splitter->held[splitter->from] == '\n') {
            skip(splitter, 1);
        } else {
            splitter->skips_lines = false;
        }
    }
}

static kz_split_piece take_text(kz_splitter *splitter, size_t count) {
    const kz_split_piece piece = {.event = KZ_SPLIT_TEXT,
                                  .part = splitter->part,
                                  .bytes = splitter->held + splitter->from,
                                  .count = count};
    skip(splitter, count);
    return piece;
}

kz_split_piece kz_splitter_next(kz_splitter *splitter) {
    skip_lines(splitter);
    const found_mark found = find_next(splitter);
    if (found.place > 0) {
        return take_text(splitter, found.place);
    }
    if (found.length == 0) {
        return (kz_split_piece){.event = KZ_SPLIT_NOTHING};
    }
    skip(splitter, found.length);
    if (found.event == KZ_SPLIT_STOPPED) {
        splitter->count = 0;
    } else {
        splitter->part = found.event == KZ_SPLIT_OPENED ? found.part : KZ_PART_TEXT;
        splitter->skips_lines = true;
    }
    return (kz_split_piece){.event = found.event, .part = found.part};
}
