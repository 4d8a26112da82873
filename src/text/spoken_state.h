// spoken_state.h: what the files of the spoken stream share: its state, and how text leaves it.
//
// in:  a window on the text not yet read. out: bytes consumed, and characters put out.
// A reader (kz_spoken_read_*) returns the bytes it consumed; 0 asks for more text and is only
// allowed while the window is shorter than KZ_SPOKEN_LOOKAHEAD and not final.
#ifndef KZ_TEXT_SPOKEN_STATE_H
#define KZ_TEXT_SPOKEN_STATE_H

#include "text/spoken.h"

#define KZ_SPOKEN_LOOKAHEAD 300
#define KZ_SPOKEN_INPUT_BYTES 4096
#define KZ_SPOKEN_OUTPUT_BYTES 1024

// The text that a reader may look at, from the sign that it is to read.
typedef struct kz_spoken_window {
    const char *bytes;
    size_t count;
    bool is_final; // no more text comes
} kz_spoken_window;

// White space that is owed, weakest first. A comma is a border that is to be heard, as between the
// cells of a table.
typedef enum kz_spoken_space {
    KZ_SPACE_NONE,
    KZ_SPACE_WORD,
    KZ_SPACE_COMMA,
    KZ_SPACE_LINE
} kz_spoken_space;

// All that is remembered from one sign to the next: zeros at the start, but is_line_start.
typedef struct kz_spoken_state {
    // Blocks.
    const char *hidden_until; // small letters; all is dropped up to and with this text; NULL: none
    char fence_sign;          // ` or ~ inside a fenced block, 0 outside
    uint32_t fence_length;    // signs that opened it
    uint32_t fence_run;       // signs at the start of the present line
    bool is_fence_line_start; // only spaces and signs so far in the fence's line
    // The line.
    bool is_line_start; // only markers so far
    bool is_cell_start; // right after a table's |
    bool is_in_rule;    // a rule or a table's rule row: dropped to the line's end
    // Links and tokens.
    uint32_t bracket_depth; // [ that are open
    uint32_t target_depth;  // inside the ( ) after a label
    bool is_in_reference;   // inside the [ ] after a label
    bool is_in_autolink;    // a > to come closes it
    bool is_in_role;        // the role's name after a turn token
    // Output.
    kz_spoken_space space; // owed before the next character
    uint32_t space_sign;   // the white space as it was written
    bool has_output;
    bool has_dropped_sign; // an emoji since the last character
    uint32_t previous;     // last character put out
    char word[4];          // its word so far: letters of the ASCII range
    uint32_t word_count;   // letters, counted up to 4
} kz_spoken_state;

// One allocation, buffers included.
struct kz_spoken_stream {
    kazeia_allocator allocator;
    char input[KZ_SPOKEN_INPUT_BYTES];
    size_t begin, end; // of what is in `input` and not read yet
    bool is_finished;
    bool is_pausing;        // a sentence ends with what is in `input`
    struct kz_words *words; // NULL: the clean text is the output
    kz_text_view clean;     // of `output`, what the words have not taken yet
    char output[KZ_SPOKEN_OUTPUT_BYTES];
    size_t output_count;
    kz_spoken_state state;
};

// ---- spoken.c: output

// Puts out a character as it is, with the space owed before it. At most 8 bytes.
void kz_spoken_put(kz_spoken_stream *stream, uint32_t code_point);
// The same for a character of the text: white space is owed, emoji and control signs are dropped.
void kz_spoken_take(kz_spoken_stream *stream, uint32_t code_point);
// Owes a space; a stronger one stays.
void kz_spoken_owe(kz_spoken_stream *stream, kz_spoken_space space);
// A line of the written text ends.
void kz_spoken_end_line(kz_spoken_stream *stream);

// ---- spoken_marks.c: markdown, emoticons, and what the tags below read

// Reads the sign at the start of the window if it is a mark; otherwise *out_is_mark is false.
size_t kz_spoken_read_mark(kz_spoken_stream *stream, kz_spoken_window window, kz_utf8_char sign,
                           bool *out_is_mark);

// ---- spoken_tags.c: HTML, special tokens, entities

// Each reads what its name says at the start of the window and returns the bytes it consumed, 0
// when it needs more. read_hidden drops text up to the end of a hidden block.
size_t kz_spoken_read_tag(kz_spoken_stream *stream, kz_spoken_window window);
size_t kz_spoken_read_entity(kz_spoken_stream *stream, kz_spoken_window window);
size_t kz_spoken_read_hidden(kz_spoken_stream *stream, kz_spoken_window window);

#endif
