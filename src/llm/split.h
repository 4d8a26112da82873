// split.h: a reply's text as it is written -> answer, thoughts, calls of tools, and where it stops.
//
//   in   bytes of the reply, piece by piece
//   out  pieces of one kind each; marks and stop strings are never among them
//
// A mark may begin in one piece and end in another: what may be the beginning of one is held back,
// and nothing else.
#ifndef KZ_LLM_SPLIT_H
#define KZ_LLM_SPLIT_H

#include "base/alloc.h"
#include "llm/history.h"

typedef enum kz_split_event {
    KZ_SPLIT_NOTHING, // nothing more for now
    KZ_SPLIT_TEXT,    // bytes of `part`
    KZ_SPLIT_OPENED,  // `part` begins
    KZ_SPLIT_CLOSED,  // `part` is whole
    KZ_SPLIT_STOPPED, // a stop string: what follows is of no interest
} kz_split_event;

typedef struct kz_split_piece {
    kz_split_event event;
    kz_message_part part;
    const char *bytes; // valid until the next call
    size_t count;
} kz_split_piece;

// The caller's memory; read only through the functions.
typedef struct kz_splitter {
    kazeia_allocator allocator;
    kz_template_marks marks;
    char **stops; // copies
    size_t stop_count;
    size_t longest_piece;
    char *held; // [capacity]: what is not decided yet, behind what was given out
    size_t from, count, capacity;
    kz_message_part part;
    bool skips_lines; // a part begins: line ends in front of it are layout
    bool is_ending;   // nothing more comes: what is held is text
} kz_splitter;

// `marks`' strings must outlive the splitter; `stops` [stop_count] are copied. `longest_piece`:
// most bytes of one push. BAD_ARGUMENT for a stop string that is empty or longer than 1,000 bytes.
KAZEIA_MUST_CHECK kazeia_status kz_splitter_init(kz_splitter *splitter,
                                                 const kz_template_marks *marks,
                                                 const char *const *stops, size_t stop_count,
                                                 size_t longest_piece,
                                                 const kazeia_allocator *allocator);
// Zeros are fine.
void kz_splitter_clear(kz_splitter *splitter);
// A new reply; it begins inside a thought when the prompt has opened one.
void kz_splitter_start(kz_splitter *splitter, bool is_thinking);
// More of the reply; all pieces of the last push must have been taken.
void kz_splitter_push(kz_splitter *splitter, const char *bytes, size_t count);
// Nothing more comes: a mark that was only begun is text.
void kz_splitter_finish(kz_splitter *splitter);
// The next piece, KZ_SPLIT_NOTHING when there is none.
kz_split_piece kz_splitter_next(kz_splitter *splitter);
// Most bytes of text that the pieces of one push and of a finish can have.
size_t kz_splitter_room(const kz_splitter *splitter);

#endif
