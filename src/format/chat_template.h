// chat_template.h: the chat template section of a program: how messages become one prompt.
//
// A role template: each message is its role's prefix, its content and its role's suffix; the
// generation prompt follows when a reply is to be written. The exporter recognises which of a
// checkpoint's own templates are of this shape and fills it; special tokens are spelled out in the
// parts (and only there are they taken for special tokens).
#ifndef KZ_FORMAT_CHAT_TEMPLATE_H
#define KZ_FORMAT_CHAT_TEMPLATE_H

#include "base/alloc.h"
#include "format/program.h"

#define KZ_CHAT_TEMPLATE_VERSION 1u
#define KZ_CHAT_TEMPLATE_MAGIC 0x54435a4bu // "KZCT"
#define KZ_CHAT_ROLE_LIMIT 8u
#define KZ_CHAT_PART_BYTES 1024u // longest part but the default system message
#define KZ_CHAT_SYSTEM_BYTES 65536u

typedef struct kz_chat_role {
    const char *name; // as "user"
    const char *prefix;
    const char *suffix;
} kz_chat_role;

// Strings are NUL-terminated.
typedef struct kz_chat_template {
    const char *start;          // in front of the first message (BOS), or ""
    const char *default_system; // content of a first system message where none is given; NULL: none
    const char *generation;     // after the last message
    kz_chat_role roles[KZ_CHAT_ROLE_LIMIT];
    uint32_t role_count;
} kz_chat_template;

// Reads and checks a section (hostile input) without allocating; the strings lie in the section,
// which must outlive the template. Roles "user" and "assistant" are always there, "system" too
// where there is a default system message.
KAZEIA_MUST_CHECK kazeia_status kz_chat_template_open(const kz_bytes *section,
                                                      kz_chat_template *out_template);
// NULL when the template has no such role.
const kz_chat_role *kz_chat_template_role(const kz_chat_template *chat_template, const char *name);

// The section's bytes (the exporter's side); free with kz_free_aligned. BAD_ARGUMENT when the
// template is one that kz_chat_template_open would refuse.
KAZEIA_MUST_CHECK kazeia_status kz_chat_template_build(const kz_chat_template *chat_template,
                                                       const kazeia_allocator *allocator,
                                                       uint8_t **out_bytes, size_t *out_count);

#endif
