// template.c: messages -> the token ids of a prompt.
//   in   a role template, messages
//   out  token ids, or text
// The template's parts are cut at special tokens once, at creation; rendering strings plain pieces
// together and encodes each run when a special token, given ids, or the end closes it.
#include "llm/template.h"

#include <string.h>

// A stretch of a part: a special token, or plain text.
typedef struct part_piece {
    uint32_t token; // KZ_NO_TOKEN: text
    const char *text;
    size_t bytes;
} part_piece;

typedef struct part_pieces {
    const char *text; // the whole part
    size_t first, count;
} part_pieces;

struct kz_template {
    kazeia_allocator allocator;
    kz_chat_template roles;
    kz_tokenizer *tokenizer;
    part_piece *pieces;
    size_t piece_count;
    part_pieces start, generation;
    part_pieces prefixes[KZ_CHAT_ROLE_LIMIT], suffixes[KZ_CHAT_ROLE_LIMIT];
    kz_text_buffer run;
};

// --- Cutting the parts --------------------------------------------------------------------------

// The longest special token at the start of `text`. Longest first, as in the tokenizer:
// "<|im_start|>" must not be read as a shorter token that begins it.
static uint32_t match_special(const kz_tokenizer *tokenizer, const char *text, size_t count,
                              size_t *out_bytes) {
    const size_t longest = kz_tokenizer_longest_token(tokenizer);
    size_t bytes = longest < KZ_SPECIAL_BYTES_LIMIT ? longest : KZ_SPECIAL_BYTES_LIMIT;
    for (bytes = bytes < count ? bytes : count; bytes > 0; bytes--) {
        const uint32_t token = kz_tokenizer_find(tokenizer, text, bytes);
        if (token != KZ_NO_TOKEN && kz_tokenizer_token_kind(tokenizer, token) == KZ_TOKEN_CONTROL) {
            *out_bytes = bytes;
            return token;
        }
    }
    return KZ_NO_TOKEN;
}

// Appends a piece; without an array it only counts.
static void add_piece(part_piece *pieces, size_t *count, const part_piece *piece) {
    if (piece->bytes == 0) {
        return;
    }
    if (pieces) {
        pieces[*count] = *piece;
    }
    (*count)++;
}

static part_pieces cut_part(const kz_tokenizer *tokenizer, const char *text, part_piece *pieces,
                            size_t *count) {
    part_pieces part = {.text = text, .first = *count};
    const size_t bytes = strlen(text);
    // Text grows byte by byte until a special token ends it; special tokens begin at ASCII or whole
    // characters, so no character is torn.
    part_piece plain = {.token = KZ_NO_TOKEN, .text = text};
    for (size_t place = 0; place < bytes;) {
        size_t length = 1;
        const uint32_t token = match_special(tokenizer, text + place, bytes - place, &length);
        if (token == KZ_NO_TOKEN) {
            plain.bytes++;
        } else {
            const part_piece special = {.token = token, .text = text + place, .bytes = length};
            add_piece(pieces, count, &plain);
            add_piece(pieces, count, &special);
            plain = (part_piece){.token = KZ_NO_TOKEN, .text = text + place + length};
        }
        place += length;
    }
    add_piece(pieces, count, &plain);
    part.count = *count - part.first;
    return part;
}

static void cut_parts(kz_template *chat_template) {
    const kz_chat_template *roles = &chat_template->roles;
    const kz_tokenizer *tokenizer = chat_template->tokenizer;
    part_piece *pieces = chat_template->pieces;
    size_t count = 0;
    chat_template->start = cut_part(tokenizer, roles->start, pieces, &count);
    chat_template->generation = cut_part(tokenizer, roles->generation, pieces, &count);
    // The array is one for all parts; each part keeps its place in it.
    for (uint32_t i = 0; i < roles->role_count; i++) {
        const kz_chat_role *role = &roles->roles[i];
        chat_template->prefixes[i] = cut_part(tokenizer, role->prefix, pieces, &count);
        chat_template->suffixes[i] = cut_part(tokenizer, role->suffix, pieces, &count);
    }
    chat_template->piece_count = count;
}

kazeia_status kz_template_create(const kz_chat_template *roles, kz_tokenizer *tokenizer,
                                 const kz_template_options *options,
                                 const kazeia_allocator *allocator, kz_template **out_template) {
    if (options->tools || options->variables) {
        return kz_fail(KAZEIA_UNSUPPORTED, "chat template: a template of roles has no variables");
    }
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_template *created = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *created, "chat template", (void **)&created));
    created->allocator = memory;
    created->roles = *roles;
    created->tokenizer = tokenizer;
    // The same code counts and fills, so that the two cannot disagree.
    cut_parts(created); // counts
    kazeia_status status = kz_alloc(&memory, created->piece_count, sizeof *created->pieces,
                                    "chat template", (void **)&created->pieces);
    if (status == KAZEIA_OK) {
        cut_parts(created); // fills
        status =
            kz_text_buffer_init(&created->run, &memory, options->longest_run, options->longest_run);
    }
    if (status != KAZEIA_OK) {
        kz_template_destroy(created);
        return status;
    }
    *out_template = created;
    return KAZEIA_OK;
}

void kz_template_destroy(kz_template *chat_template) {
    if (!chat_template) {
        return;
    }
    const kazeia_allocator memory = chat_template->allocator;
    kz_text_buffer_clear(&chat_template->run);
    kz_free(&memory, chat_template->pieces);
    kz_free(&memory, chat_template);
}

// Nothing in a template of roles depends on thinking, and it marks none.
void kz_template_set_thinking(kz_template *chat_template, kz_thinking thinking) {
    (void)chat_template;
    (void)thinking;
}

kz_template_marks kz_template_marks_of(const kz_template *chat_template) {
    (void)chat_template;
    return (kz_template_marks){"", "", "", ""};
}

bool kz_template_opens_thinking(const kz_template *chat_template) {
    (void)chat_template;
    return false;
}

// --- Rendering ----------------------------------------------------------------------------------

// Where a rendering goes: ids, or text when `text` is not NULL.
typedef struct rendering {
    const kz_template *chat_template;
    kz_text_buffer *run;
    kz_text_buffer *text;
    uint32_t *ids; // [capacity]
    size_t capacity, count;
} rendering;

// A run is encoded whole: merges may reach across the border between a template's text and a
// message's, as they do where the template is rendered to one string.
static kazeia_status close_run(rendering *out) {
    if (out->text || out->run->count == 0) {
        return KAZEIA_OK;
    }
    size_t count = 0;
    KZ_TRY(kz_tokenizer_encode(out->chat_template->tokenizer, out->run->bytes, out->run->count,
                               KZ_ENCODE_PLAIN, out->ids + out->count, out->capacity - out->count,
                               &count));
    out->count += count;
    kz_text_buffer_reset(out->run);
    return KAZEIA_OK;
}

static kazeia_status put_ids(rendering *out, const uint32_t *ids, size_t count) {
    // Given ids stand for text that was encoded before: what is before them is closed off, so order
    // is kept.
    KZ_TRY(close_run(out));
    if (count > out->capacity - out->count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: more than %zu tokens", out->capacity);
    }
    memcpy(out->ids + out->count, ids, count * sizeof *ids);
    out->count += count;
    return KAZEIA_OK;
}

// KZ_ENCODE_PLAIN later: a user who types "<|im_end|>" has typed letters and ends no turn.
static kazeia_status put_text(rendering *out, const char *text, size_t bytes) {
    if (out->text) {
        return kz_text_buffer_append(out->text, text, bytes);
    }
    if (bytes > out->run->limit - out->run->count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: a text of more than %zu bytes",
                       out->run->limit);
    }
    return kz_text_buffer_append(out->run, text, bytes);
}

static kazeia_status put_part(rendering *out, const part_pieces *part) {
    for (size_t i = 0; i < part->count; i++) {
        const part_piece *piece = &out->chat_template->pieces[part->first + i];
        if (piece->token == KZ_NO_TOKEN || out->text) {
            KZ_TRY(put_text(out, piece->text, piece->bytes));
        } else {
            KZ_TRY(put_ids(out, &piece->token, 1));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status put_message(rendering *out, const kz_message *message) {
    const kz_template *chat_template = out->chat_template;
    const kz_chat_role *role = kz_chat_template_role(&chat_template->roles, message->role);
    if (!role) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: it has no role '%s'", message->role);
    }
    const size_t index = (size_t)(role - chat_template->roles.roles);
    KZ_TRY(put_part(out, &chat_template->prefixes[index]));
    // A reply goes back as the tokens that the model chose. Encoding its text again may give
    // others, and the cache would be lost from there on.
    if (message->ids && !out->text) {
        KZ_TRY(put_ids(out, message->ids, message->id_count));
    } else {
        KZ_TRY(put_text(out, message->text, message->bytes));
    }
    return put_part(out, &chat_template->suffixes[index]);
}

static kazeia_status render(rendering *out, const kz_message *messages, size_t message_count,
                            bool is_generating) {
    const kz_template *chat_template = out->chat_template;
    const char *system = chat_template->roles.default_system;
    KZ_TRY(put_part(out, &chat_template->start));
    // Only where the caller gives no system message of their own: that is what the model's own
    // template does.
    if (system && (message_count == 0 || strcmp(messages[0].role, "system") != 0)) {
        const kz_message message = {.role = "system", .text = system, .bytes = strlen(system)};
        KZ_TRY(put_message(out, &message));
    }
    for (size_t i = 0; i < message_count; i++) {
        KZ_TRY(put_message(out, &messages[i]));
    }
    if (is_generating) {
        KZ_TRY(put_part(out, &chat_template->generation));
    }
    return close_run(out);
}

kazeia_status kz_template_encode(kz_template *chat_template, const kz_message *messages,
                                 size_t message_count, bool is_generating, uint32_t *out_ids,
                                 size_t capacity, size_t *out_count) {
    // A rendering that failed half way has left its text there.
    kz_text_buffer_reset(&chat_template->run);
    rendering out = {.chat_template = chat_template,
                     .run = &chat_template->run,
                     .ids = out_ids,
                     .capacity = capacity};
    KZ_TRY(render(&out, messages, message_count, is_generating));
    *out_count = out.count;
    return KAZEIA_OK;
}

kazeia_status kz_template_write(const kz_template *chat_template, const kz_message *messages,
                                size_t message_count, bool is_generating,
                                kz_text_buffer *out_text) {
    rendering out = {.chat_template = chat_template, .text = out_text};
    return render(&out, messages, message_count, is_generating);
}
