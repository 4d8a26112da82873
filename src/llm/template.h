// template.h: messages -> the token ids of a prompt.
//
//   in   the program's compiled template (format/chat_template.h), messages, options
//   out  token ids, or text
//
// Special tokens are made only from the template's own text. Content is plain text whatever it
// spells, so that nobody can end a turn by writing the token that ends it: messages, tools and
// variables are content, and so is all that the template cuts out of them. A role of letters,
// digits, '_' and '-' alone counts as the template's, since templates build tokens around it. Plain
// text of the template and the content beside it are encoded as one run, as the model's training
// text was.
#ifndef KZ_LLM_TEMPLATE_H
#define KZ_LLM_TEMPLATE_H

#include "base/text_buffer.h"
#include "format/chat_template.h"
#include "text/tokenizer.h"

typedef struct kz_template kz_template;

// One message of a conversation; everything belongs to whoever made it.
typedef struct kz_message {
    const char *role; // as "user"
    const char *text;
    size_t bytes;
    // A reply of the model: the very ids that it wrote, taken instead of `text` where the template
    // prints that whole and unchanged. NULL: the text.
    const uint32_t *ids;
    size_t id_count;
    // A reply's thoughts, which templates call reasoning_content; NULL: none apart from `text`.
    const char *reasoning;
    size_t reasoning_bytes;
    // A reply's calls of tools: a JSON array; NULL: none.
    const char *tool_calls;
    size_t tool_calls_bytes;
} kz_message;

// What templates call enable_thinking; UNSET leaves it undefined, and the template decides.
typedef enum kz_thinking {
    KZ_THINKING_UNSET,
    KZ_THINKING_ON,
    KZ_THINKING_OFF,
} kz_thinking;

typedef struct kz_template_options {
    size_t longest_run;  // bytes of the longest text between two special tokens
    size_t memory_bytes; // for the values of a rendering; 0: in proportion to longest_run
    kz_thinking thinking;
    // JSON texts, read at creation and not needed after it. NULL: none.
    const char *tools;     // an array
    const char *variables; // an object: the template's other variables
} kz_template_options;

// How a reply spells what is no part of its answer; "" where the model has no such thing.
typedef struct kz_template_marks {
    const char *think_open, *think_close;
    const char *call_open, *call_close;
} kz_template_marks;

// `compiled` lies in the program's section, which must outlive the template, as must the tokenizer
// (NULL: text is all that is written). All memory is taken here. BAD_ARGUMENT when the options are
// not JSON. Of the variables, strftime_now is a date (2026-01-31 or 2026-01-31T12:00:00) that the
// function of that name formats; without it the function is not defined.
KAZEIA_MUST_CHECK kazeia_status kz_template_create(const kz_chat_template *compiled,
                                                   kz_tokenizer *tokenizer,
                                                   const kz_template_options *options,
                                                   const kazeia_allocator *allocator,
                                                   kz_template **out_template);
// From the next rendering on.
void kz_template_set_thinking(kz_template *chat_template, kz_thinking thinking);
// Strings that live as long as the program's section.
kz_template_marks kz_template_marks_of(const kz_template *chat_template);
// True when the prompt rendered last ends inside a thought, so that the reply begins with one.
bool kz_template_opens_thinking(const kz_template *chat_template);
// NULL is fine.
void kz_template_destroy(kz_template *chat_template);

// Renders the conversation and, with `is_generating`, the start of the reply into `out_ids`
// [capacity]. Never allocates. BAD_ARGUMENT for a conversation that the template refuses, when
// there are more than `capacity` ids or a run is too long; OUT_OF_MEMORY when memory_bytes do not
// suffice.
KAZEIA_MUST_CHECK kazeia_status kz_template_encode(kz_template *chat_template,
                                                   const kz_message *messages, size_t message_count,
                                                   bool is_generating, uint32_t *out_ids,
                                                   size_t capacity, size_t *out_count);
// The same as text, for people and tests; ids of messages are ignored. Appends to `out_text`.
KAZEIA_MUST_CHECK kazeia_status kz_template_write(kz_template *chat_template,
                                                  const kz_message *messages, size_t message_count,
                                                  bool is_generating, kz_text_buffer *out_text);
// The same of JSON texts: `messages` an array of objects with whatever members the template reads,
// `options` an object of all its variables (NULL: none; add_generation_prompt is one of them).
KAZEIA_MUST_CHECK kazeia_status kz_template_write_json(kz_template *chat_template,
                                                       const char *messages, const char *options,
                                                       kz_text_buffer *out_text);

#endif
