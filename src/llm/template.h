// template.h: messages -> the token ids of a prompt.
//
//   in   a role template of the program (format/chat_template.h), messages
//   out  token ids
//
// Special tokens are made only from the template's own parts. Content is plain text whatever it
// spells, so that nobody can end a turn by writing the token that ends it. Plain text of the
// template and the content beside it are encoded as one run, as the model's training text was.
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
    // A reply of the model: the very ids that it wrote, instead of text. NULL: the text.
    const uint32_t *ids;
    size_t id_count;
} kz_message;

// `roles` lies in the program's section, which must outlive the template, as must the tokenizer.
// `longest_run`: bytes of the longest text between two special tokens.
KAZEIA_MUST_CHECK kazeia_status kz_template_create(const kz_chat_template *roles,
                                                   kz_tokenizer *tokenizer, size_t longest_run,
                                                   const kazeia_allocator *allocator,
                                                   kz_template **out_template);
// NULL is fine.
void kz_template_destroy(kz_template *chat_template);

// Renders the conversation and, with `is_generating`, the start of the reply into `out_ids`
// [capacity]. Where no system
// message comes first, the template's own does. Never allocates. BAD_ARGUMENT when a role is not
// the template's, or when there are more than `capacity` ids or a run is too long.
KAZEIA_MUST_CHECK kazeia_status kz_template_encode(kz_template *chat_template,
                                                   const kz_message *messages, size_t message_count,
                                                   bool is_generating, uint32_t *out_ids,
                                                   size_t capacity, size_t *out_count);
// The same as text, for people and tests; ids of messages are ignored. Appends to `out_text`.
KAZEIA_MUST_CHECK kazeia_status kz_template_write(const kz_template *chat_template,
                                                  const kz_message *messages, size_t message_count,
                                                  bool is_generating, kz_text_buffer *out_text);

#endif
