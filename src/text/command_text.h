// command_text.h: a transcript made ready for matching.
//
// in:  what was heard. out: folded text (small letters, NFC, single spaces, no punctuation at the
// ends of words), and for each of its bytes where it stands in the cleaned text with its capitals.
#ifndef KZ_TEXT_COMMAND_TEXT_H
#define KZ_TEXT_COMMAND_TEXT_H

#include "text/command_grammar.h"
#include "text/utf8.h"

// Some 3 KB in the caller's memory, made anew for each transcript.
typedef struct kz_command_text {
    char folded[KZ_COMMAND_TEXT_BYTES + 4];
    char written[KZ_COMMAND_TEXT_BYTES * 2 + 4]; // the same characters, capitals kept
    uint16_t origin[KZ_COMMAND_TEXT_BYTES + 5];  // folded byte -> written byte; one more at the end
    size_t count;                                // of folded
    size_t written_count;
} kz_command_text;

// False when the text is too long to be a command.
bool kz_command_text_prepare(const char *transcript, kz_command_text *out_text);

typedef enum kz_skip_where { KZ_SKIP_ALL, KZ_SKIP_AT_END, KZ_SKIP_AT_START } kz_skip_where;

// A copy without skip words (folded, longest first). True when any was removed.
bool kz_command_text_skip(const kz_command_text *text, const kz_text_view *skip_words,
                          uint32_t skip_count, kz_skip_where where, kz_command_text *out_text);

// The words between two places of the folded text, with their capitals; NUL-terminated, cut at
// `capacity`. Returns the bytes written.
size_t kz_command_text_said(const kz_command_text *text, size_t start, size_t end, char *out,
                            size_t capacity);

#endif
