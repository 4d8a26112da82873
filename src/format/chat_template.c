// chat_template.c: the chat template section, written and read.
//   in   a role template, or a section's bytes
//   out  a section's bytes, or a checked role template
// Layout: magic, version, start, generation, has_default_system (u32), default_system, role count,
// then name, prefix and suffix of each role; strings as in byte_stream.h.
#include "format/chat_template.h"

#include <string.h>

#include "format/byte_stream.h"

const kz_chat_role *kz_chat_template_role(const kz_chat_template *chat_template, const char *name) {
    for (uint32_t i = 0; i < chat_template->role_count; i++) {
        if (strcmp(chat_template->roles[i].name, name) == 0) {
            return &chat_template->roles[i];
        }
    }
    return NULL;
}

// `reaction` is BAD_FILE for a section that was read and BAD_ARGUMENT for one about to be written:
// both go through the same rules.
static kazeia_status check_length(kazeia_status reaction, const char *part, const char *what,
                                  size_t limit) {
    const size_t count = strlen(part);
    if (count > limit) {
        return kz_fail(reaction, "chat template: its %s has %zu bytes, at most %zu are allowed",
                       what, count, limit);
    }
    return KAZEIA_OK;
}

static kazeia_status check_part(kazeia_status reaction, const char *part, const char *what) {
    return check_length(reaction, part, what, KZ_CHAT_PART_BYTES);
}

static kazeia_status check_role(kazeia_status reaction, const kz_chat_template *chat_template,
                                uint32_t index) {
    const kz_chat_role *role = &chat_template->roles[index];
    KZ_TRY(check_part(reaction, role->name, "role name"));
    KZ_TRY(check_part(reaction, role->prefix, "role prefix"));
    KZ_TRY(check_part(reaction, role->suffix, "role suffix"));
    // The first role of a name must be this one: a second would never be found.
    if (role->name[0] == '\0' || kz_chat_template_role(chat_template, role->name) != role) {
        return kz_fail(reaction, "chat template: role %u, '%s', has no name of its own", index,
                       role->name);
    }
    return KAZEIA_OK;
}

static kazeia_status check_template(kazeia_status reaction, const kz_chat_template *chat_template) {
    KZ_TRY(check_part(reaction, chat_template->start, "start"));
    KZ_TRY(check_part(reaction, chat_template->generation, "generation prompt"));
    if (chat_template->default_system) {
        KZ_TRY(check_length(reaction, chat_template->default_system, "default system message",
                            KZ_CHAT_SYSTEM_BYTES));
    }
    for (uint32_t i = 0; i < chat_template->role_count; i++) {
        KZ_TRY(check_role(reaction, chat_template, i));
    }
    // A default system message needs a role to be said in.
    const bool has_system = kz_chat_template_role(chat_template, "system") != NULL;
    if (!kz_chat_template_role(chat_template, "user") ||
        !kz_chat_template_role(chat_template, "assistant") ||
        (chat_template->default_system && !has_system)) {
        return kz_fail(reaction, "chat template: it lacks one of the roles user, assistant%s",
                       chat_template->default_system ? ", system" : "");
    }
    return KAZEIA_OK;
}

// role_count was compared with KZ_CHAT_ROLE_LIMIT, the length of the array.
static void take_roles(kz_byte_reader *reader, kz_chat_template *chat_template) {
    for (uint32_t i = 0; i < chat_template->role_count; i++) {
        kz_chat_role *role = &chat_template->roles[i];
        role->name = kz_take_string(reader);
        role->prefix = kz_take_string(reader);
        role->suffix = kz_take_string(reader);
    }
}

kazeia_status kz_chat_template_open(const kz_bytes *section, kz_chat_template *out_template) {
    kz_byte_reader reader = {
        .bytes = section->bytes, .count = section->count, .what = "section 'chat_template'"};
    const uint32_t magic = kz_take_u32(&reader);
    const uint32_t version = kz_take_u32(&reader);
    // A section too short for its magic is said to be that, not one of version 0.
    KZ_TRY(reader.status);
    if (magic != KZ_CHAT_TEMPLATE_MAGIC || version != KZ_CHAT_TEMPLATE_VERSION) {
        return kz_fail(magic == KZ_CHAT_TEMPLATE_MAGIC ? KAZEIA_UNSUPPORTED : KAZEIA_BAD_FILE,
                       "chat template: magic %08x version %u found, expected %08x version %u",
                       magic, version, KZ_CHAT_TEMPLATE_MAGIC, KZ_CHAT_TEMPLATE_VERSION);
    }
    kz_chat_template chat_template = {.role_count = 0};
    chat_template.start = kz_take_string(&reader);
    chat_template.generation = kz_take_string(&reader);
    // An empty default message and none are different things.
    const bool has_default_system = kz_take_u32(&reader) != 0;
    const char *default_system = kz_take_string(&reader);
    chat_template.default_system = has_default_system ? default_system : NULL;
    // A role has three strings of at least 5 bytes: length and NUL.
    chat_template.role_count = kz_take_count(&reader, 3 * 5, "roles");
    if (chat_template.role_count > KZ_CHAT_ROLE_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "chat template: it has %u roles, at most %u are allowed",
                       chat_template.role_count, KZ_CHAT_ROLE_LIMIT);
    }
    take_roles(&reader, &chat_template);
    KZ_TRY(kz_take_end(&reader));
    KZ_TRY(check_template(KAZEIA_BAD_FILE, &chat_template));
    *out_template = chat_template;
    return KAZEIA_OK;
}

static void put_template(kz_byte_writer *writer, const kz_chat_template *chat_template) {
    kz_put_u32(writer, KZ_CHAT_TEMPLATE_MAGIC);
    kz_put_u32(writer, KZ_CHAT_TEMPLATE_VERSION);
    kz_put_string(writer, chat_template->start);
    kz_put_string(writer, chat_template->generation);
    kz_put_u32(writer, chat_template->default_system ? 1 : 0);
    kz_put_string(writer, chat_template->default_system);
    kz_put_count(writer, chat_template->role_count);
    for (uint32_t i = 0; i < chat_template->role_count; i++) {
        kz_put_string(writer, chat_template->roles[i].name);
        kz_put_string(writer, chat_template->roles[i].prefix);
        kz_put_string(writer, chat_template->roles[i].suffix);
    }
}

kazeia_status kz_chat_template_build(const kz_chat_template *chat_template,
                                     const kazeia_allocator *allocator, uint8_t **out_bytes,
                                     size_t *out_count) {
    if (chat_template->role_count > KZ_CHAT_ROLE_LIMIT) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: %u roles given, at most %u are allowed",
                       chat_template->role_count, KZ_CHAT_ROLE_LIMIT);
    }
    KZ_TRY(check_template(KAZEIA_BAD_ARGUMENT, chat_template));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_byte_writer writer;
    kz_byte_writer_init(&writer, &memory);
    put_template(&writer, chat_template);
    kazeia_status status = writer.status;
    void *bytes = NULL;
    if (status == KAZEIA_OK) {
        // Freed by kz_free_aligned, like every section that is built.
        status =
            kz_alloc_aligned(&memory, writer.buffer.count, KZ_ALIGNMENT, "chat template", &bytes);
    }
    if (status == KAZEIA_OK) {
        memcpy(bytes, writer.buffer.bytes, writer.buffer.count);
        *out_bytes = bytes;
        *out_count = writer.buffer.count;
    }
    kz_byte_writer_clear(&writer);
    return status;
}
