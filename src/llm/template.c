// template.c: messages -> the token ids of a prompt.
//   in   a compiled template, messages, options
//   out  token ids, or text
// The machine hands over pieces of text with their origins. Template text is looked through for
// special tokens; plain pieces are strung together, and each run is encoded when a special token,
// given ids, or the end closes it.
#include "llm/template.h"

#include <string.h>

#include "llm/template_machine.h"

#define LEAST_MEMORY ((size_t)256 * 1024)
#define MEMORY_PER_RUN_BYTE 12u // a message is a map and its text may be put together anew
#define STEPS ((uint64_t)1 << 24)
#define STEPS_PER_BYTE 16u
#define TAIL_BYTES 256u

struct kz_template {
    kazeia_allocator allocator;
    kz_tokenizer *tokenizer; // or NULL
    kz_thinking thinking;
    kz_machine machine;
    size_t low, high;        // the heap's ends behind the options
    uint32_t variable_count; // of the options
    uint8_t starts[32];      // a bit for each byte that a control token begins with
    size_t longest_special;
    kz_text_buffer run;
    char tail[TAIL_BYTES]; // the template's own text since the last content
    size_t tail_bytes;
};

// --- Options ------------------------------------------------------------------------------------

static kazeia_status give(kz_template *chat_template, const char *name, const kz_variant *value) {
    return kz_machine_give(&chat_template->machine, name, strlen(name), value);
}

static kazeia_status give_variables(kz_template *chat_template, const kz_variant *variables) {
    const kz_variant function = {.kind = KZ_VARIANT_METHOD};
    if (variables->kind != KZ_VARIANT_MAP) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: options are a %s, expected an object",
                       kz_variant_kind_name(variables));
    }
    for (uint32_t i = 0; i < variables->count; i++) {
        const kz_variant *name = &variables->entries[i].key;
        const kz_variant *value = &variables->entries[i].value;
        // What the function of that name formats.
        const bool is_date = kz_variant_spells(name, "strftime_now");
        if (is_date) {
            chat_template->machine.now = *value;
        }
        KZ_TRY(kz_machine_give(&chat_template->machine, name->text, name->count,
                               is_date ? &function : value));
    }
    return KAZEIA_OK;
}

// A copy in the heap: strings of the values lie in it.
static kazeia_status read_json(kz_template *chat_template, const char *text, const char *what,
                               kz_variant *out_value) {
    kz_heap *heap = &chat_template->machine.heap;
    const size_t count = strlen(text);
    char *copy = NULL;
    KZ_TRY(kz_heap_take(heap, count, 1, (void **)&copy));
    memcpy(copy, text, count);
    return kz_variant_from_json(heap, copy, count, what, out_value);
}

static kazeia_status read_options(kz_template *chat_template, const kz_template_options *options) {
    static const char *const functions[] = {"raise_exception", "namespace", "range", "dict"};
    const kz_variant function = {.kind = KZ_VARIANT_METHOD};
    kz_variant value;
    // So that a template may ask whether they are defined.
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        KZ_TRY(give(chat_template, functions[i], &function));
    }
    if (options->tools) {
        KZ_TRY(read_json(chat_template, options->tools, "tools", &value));
        if (value.kind != KZ_VARIANT_LIST) {
            return kz_fail(KAZEIA_BAD_ARGUMENT, "tools: a %s, expected an array of functions",
                           kz_variant_kind_name(&value));
        }
        KZ_TRY(give(chat_template, "tools", &value));
    }
    if (options->variables) {
        KZ_TRY(read_json(chat_template, options->variables, "template options", &value));
        KZ_TRY(give_variables(chat_template, &value));
    }
    chat_template->low = chat_template->machine.heap.low;
    chat_template->high = chat_template->machine.heap.high;
    chat_template->variable_count = chat_template->machine.variable_count;
    return KAZEIA_OK;
}

// --- Creation -----------------------------------------------------------------------------------

// Most of a template's text begins no special token: one look at a byte tells.
static void note_specials(kz_template *chat_template) {
    const kz_tokenizer *tokenizer = chat_template->tokenizer;
    const uint32_t count = tokenizer ? kz_tokenizer_token_count(tokenizer) : 0;
    for (uint32_t id = 0; id < count; id++) {
        if (kz_tokenizer_token_kind(tokenizer, id) != KZ_TOKEN_CONTROL) {
            continue;
        }
        const kz_bytes token = kz_tokenizer_token_bytes(tokenizer, id);
        if (token.count > 0 && token.count <= KZ_SPECIAL_BYTES_LIMIT) {
            chat_template->starts[token.bytes[0] / 8] |= (uint8_t)(1u << token.bytes[0] % 8);
            chat_template->longest_special = token.count > chat_template->longest_special
                                                 ? token.count
                                                 : chat_template->longest_special;
        }
    }
}

static kazeia_status fill_template(kz_template *created, const kz_template_options *options) {
    kz_heap *heap = &created->machine.heap;
    size_t bytes = options->memory_bytes;
    if (bytes == 0 && (!kz_size_mul(options->longest_run, MEMORY_PER_RUN_BYTE, &bytes) ||
                       !kz_size_add(bytes, LEAST_MEMORY, &bytes))) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: runs of %zu bytes are too long",
                       options->longest_run);
    }
    bytes &= ~(size_t)7;
    KZ_TRY(kz_alloc(&created->allocator, bytes, 1, "chat template", (void **)&heap->memory));
    heap->size = bytes;
    heap->high = bytes;
    heap->work = STEPS;
    note_specials(created);
    KZ_TRY(kz_text_buffer_init(&created->run, &created->allocator, options->longest_run,
                               options->longest_run));
    return read_options(created, options);
}

kazeia_status kz_template_create(const kz_chat_template *compiled, kz_tokenizer *tokenizer,
                                 const kz_template_options *options,
                                 const kazeia_allocator *allocator, kz_template **out_template) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_template *created = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *created, "chat template", (void **)&created));
    created->allocator = memory;
    created->tokenizer = tokenizer;
    created->thinking = options->thinking;
    created->machine.program = *compiled;
    const kazeia_status status = fill_template(created, options);
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
    kz_free(&memory, chat_template->machine.heap.memory);
    kz_free(&memory, chat_template);
}

void kz_template_set_thinking(kz_template *chat_template, kz_thinking thinking) {
    chat_template->thinking = thinking;
}

kz_template_marks kz_template_marks_of(const kz_template *chat_template) {
    const char *const *marks = chat_template->machine.program.marks;
    return (kz_template_marks){marks[KZ_MARK_THINK_OPEN], marks[KZ_MARK_THINK_CLOSE],
                               marks[KZ_MARK_CALL_OPEN], marks[KZ_MARK_CALL_CLOSE]};
}

static const char *find_last(const kz_template *chat_template, const char *mark) {
    const char *last = NULL;
    const char *at = chat_template->tail, *end = at + chat_template->tail_bytes;
    const size_t count = strlen(mark);
    while (count > 0 && (at = memmem(at, (size_t)(end - at), mark, count)) != NULL) {
        last = at++;
    }
    return last;
}

bool kz_template_opens_thinking(const kz_template *chat_template) {
    const kz_template_marks marks = kz_template_marks_of(chat_template);
    const char *open = find_last(chat_template, marks.think_open);
    const char *close = find_last(chat_template, marks.think_close);
    return open && (!close || close < open);
}

// --- Where pieces go ----------------------------------------------------------------------------

// Ids, or text when `text` is not NULL.
typedef struct rendering {
    kz_template *chat_template;
    const kz_message *messages; // NULL: their ids are not wanted
    kz_text_buffer *text;
    uint32_t *ids; // [capacity]
    size_t capacity, count;
    size_t looked_at; // of the run: no special token begins before it
} rendering;

static void note_tail(kz_template *chat_template, const char *text, size_t bytes) {
    if (bytes >= TAIL_BYTES) {
        text += bytes - TAIL_BYTES;
        bytes = TAIL_BYTES;
    }
    const size_t kept = chat_template->tail_bytes + bytes > TAIL_BYTES ? TAIL_BYTES - bytes
                                                                       : chat_template->tail_bytes;
    memmove(chat_template->tail, chat_template->tail + chat_template->tail_bytes - kept, kept);
    memcpy(chat_template->tail + kept, text, bytes);
    chat_template->tail_bytes = kept + bytes;
}

// A run is encoded whole: merges may reach across the border between a template's text and a
// message's, as they do where the template is rendered to one string.
static kazeia_status encode_run(rendering *out, size_t bytes) {
    kz_template *chat_template = out->chat_template;
    size_t count = 0;
    if (bytes > 0) {
        KZ_TRY(kz_tokenizer_encode(chat_template->tokenizer, chat_template->run.bytes, bytes,
                                   KZ_ENCODE_PLAIN, out->ids + out->count,
                                   out->capacity - out->count, &count));
        out->count += count;
    }
    return KAZEIA_OK;
}

static kazeia_status put_ids(rendering *out, const uint32_t *ids, size_t count) {
    if (count > out->capacity - out->count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: more than %zu tokens", out->capacity);
    }
    memcpy(out->ids + out->count, ids, count * sizeof *ids);
    out->count += count;
    return KAZEIA_OK;
}

// The longest special token at the start of `text`. Longest first, as in the tokenizer:
// "<|im_start|>" must not be read as a shorter token that begins it.
static uint32_t match_special(const kz_template *chat_template, const char *text, size_t count,
                              size_t *out_bytes) {
    const kz_tokenizer *tokenizer = chat_template->tokenizer;
    const uint8_t first = (uint8_t)text[0];
    if (!(chat_template->starts[first / 8] >> first % 8 & 1)) {
        return KZ_NO_TOKEN;
    }
    size_t bytes = chat_template->longest_special;
    for (bytes = bytes < count ? bytes : count; bytes > 0; bytes--) {
        const uint32_t token = kz_tokenizer_find(tokenizer, text, bytes);
        if (token != KZ_NO_TOKEN && kz_tokenizer_token_kind(tokenizer, token) == KZ_TOKEN_CONTROL) {
            *out_bytes = bytes;
            return token;
        }
    }
    return KZ_NO_TOKEN;
}

// Looks through the template's text at the run's end for special tokens; the run before each is
// closed. Only once that text is whole: a token may be made of several pieces.
static kazeia_status take_specials(rendering *out) {
    kz_template *chat_template = out->chat_template;
    kz_text_buffer *run = &chat_template->run;
    size_t place = out->looked_at;
    while (place < run->count) {
        size_t length = 1;
        const uint32_t token =
            match_special(chat_template, run->bytes + place, run->count - place, &length);
        if (token == KZ_NO_TOKEN) {
            place++;
            continue;
        }
        KZ_TRY(encode_run(out, place));
        KZ_TRY(put_ids(out, &token, 1));
        kz_text_buffer_drop_front(run, place + length);
        place = 0;
    }
    out->looked_at = run->count;
    return KAZEIA_OK;
}

static kazeia_status close_run(rendering *out) {
    KZ_TRY(take_specials(out));
    KZ_TRY(encode_run(out, out->chat_template->run.count));
    kz_text_buffer_reset(&out->chat_template->run);
    out->looked_at = 0;
    return KAZEIA_OK;
}

static kazeia_status append_run(rendering *out, const char *text, size_t bytes) {
    kz_text_buffer *run = &out->chat_template->run;
    if (bytes > run->limit - run->count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: a text of more than %zu bytes",
                       run->limit);
    }
    return kz_text_buffer_append(run, text, bytes);
}

// The message whose whole content this is and that has ids, or NULL.
static const kz_message *message_of(const rendering *out, size_t bytes, uint32_t source) {
    if (source < KZ_FROM_MESSAGE || !out->messages) {
        return NULL;
    }
    const kz_message *message = &out->messages[source - KZ_FROM_MESSAGE];
    return message->bytes == bytes ? message : NULL;
}

static kazeia_status put_content(rendering *out, const char *text, size_t bytes, uint32_t source) {
    const kz_message *message = message_of(out, bytes, source);
    // A reply goes back as the tokens that the model chose. Encoding its text again may give
    // others, and the cache would be lost from there on.
    if (message) {
        KZ_TRY(close_run(out));
        return put_ids(out, message->ids, message->id_count);
    }
    KZ_TRY(take_specials(out));
    KZ_TRY(append_run(out, text, bytes));
    // Never looked through: a user who types "<|im_end|>" has typed letters and ends no turn.
    out->looked_at = out->chat_template->run.count;
    return KAZEIA_OK;
}

static kazeia_status put_piece(void *context, const char *text, size_t bytes, uint32_t source) {
    rendering *out = context;
    // An empty reply of ids, such as one without any visible token, is still that reply.
    if (bytes == 0 && source < KZ_FROM_MESSAGE) {
        return KAZEIA_OK;
    }
    if (source == KZ_FROM_TEMPLATE) {
        note_tail(out->chat_template, text, bytes);
    } else {
        out->chat_template->tail_bytes = 0;
    }
    if (out->text) {
        return kz_text_buffer_append(out->text, text, bytes);
    }
    return source == KZ_FROM_TEMPLATE ? append_run(out, text, bytes)
                                      : put_content(out, text, bytes, source);
}

// --- Messages -----------------------------------------------------------------------------------

static kz_variant role_value(const char *role, size_t count) {
    bool is_word = true;
    for (size_t i = 0; i < count; i++) {
        const char c = role[i], lower = (char)(c | 0x20);
        is_word = is_word && ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
                              c == '_' || c == '-');
    }
    return kz_variant_text(role, count, is_word ? KZ_FROM_TEMPLATE : KZ_FROM_CONTENT);
}

static void add_entry(kz_entry *entries, uint32_t *count, const char *key,
                      const kz_variant *value) {
    entries[(*count)++] = (kz_entry){kz_variant_text(key, strlen(key), KZ_FROM_TEMPLATE), *value};
}

static kazeia_status message_value(kz_heap *heap, const kz_message *message, uint32_t source,
                                   kz_variant *out_value) {
    kz_entry *entries = NULL;
    const uint32_t room = 2 + (message->reasoning != NULL) + (message->tool_calls != NULL);
    uint32_t count = 0;
    KZ_TRY(kz_heap_take(heap, room, sizeof *entries, (void **)&entries));
    kz_variant value = role_value(message->role, strlen(message->role));
    add_entry(entries, &count, "role", &value);
    value = kz_variant_text(message->text ? message->text : "", message->bytes, source);
    add_entry(entries, &count, "content", &value);
    if (message->reasoning) {
        value = kz_variant_text(message->reasoning, message->reasoning_bytes, KZ_FROM_CONTENT);
        add_entry(entries, &count, "reasoning_content", &value);
    }
    if (message->tool_calls) {
        KZ_TRY(kz_variant_from_json(heap, message->tool_calls, message->tool_calls_bytes,
                                    "tool calls", &value));
        add_entry(entries, &count, "tool_calls", &value);
    }
    *out_value = (kz_variant){.kind = KZ_VARIANT_MAP, .count = count, .entries = entries};
    return KAZEIA_OK;
}

static uint64_t count_bytes(const kz_message *messages, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += messages[i].bytes + messages[i].reasoning_bytes + messages[i].tool_calls_bytes +
                 STEPS_PER_BYTE;
    }
    return bytes;
}

// All that a rendering leaves goes, the options stay.
static void start_rendering(kz_template *chat_template, uint64_t bytes) {
    kz_machine *machine = &chat_template->machine;
    machine->heap.low = chat_template->low;
    machine->heap.high = chat_template->high;
    machine->heap.work = STEPS + bytes * STEPS_PER_BYTE;
    machine->variable_count = chat_template->variable_count;
    machine->scope = 0;
    machine->floor = 0;
    machine->frame_count = 0;
    chat_template->tail_bytes = 0;
    // A rendering that failed half way has left its text there.
    kz_text_buffer_reset(&chat_template->run);
}

static kazeia_status give_messages(kz_template *chat_template, const kz_message *messages,
                                   size_t count) {
    kz_heap *heap = &chat_template->machine.heap;
    kz_variant *items = NULL;
    if (count > UINT32_MAX / 2) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: %zu messages are too many", count);
    }
    KZ_TRY(kz_heap_take(heap, count, sizeof *items, (void **)&items));
    for (size_t i = 0; i < count; i++) {
        const uint32_t source = messages[i].ids ? KZ_FROM_MESSAGE + (uint32_t)i : KZ_FROM_CONTENT;
        KZ_TRY(message_value(heap, &messages[i], source, &items[i]));
    }
    const kz_variant list = kz_variant_list(items, count);
    return give(chat_template, "messages", &list);
}

// --- Rendering ----------------------------------------------------------------------------------

static kazeia_status render(rendering *out, const kz_message *messages, size_t message_count,
                            bool is_generating) {
    kz_template *chat_template = out->chat_template;
    const kz_template_sink sink = {put_piece, out};
    const kz_variant generating = kz_variant_bool(is_generating);
    const kz_variant thinking = kz_variant_bool(chat_template->thinking == KZ_THINKING_ON);
    start_rendering(chat_template, count_bytes(messages, message_count));
    KZ_TRY(give_messages(chat_template, messages, message_count));
    KZ_TRY(give(chat_template, "add_generation_prompt", &generating));
    if (chat_template->thinking != KZ_THINKING_UNSET) {
        KZ_TRY(give(chat_template, "enable_thinking", &thinking));
    }
    return kz_machine_run(&chat_template->machine, &sink);
}

kazeia_status kz_template_encode(kz_template *chat_template, const kz_message *messages,
                                 size_t message_count, bool is_generating, uint32_t *out_ids,
                                 size_t capacity, size_t *out_count) {
    if (!chat_template->tokenizer) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "chat template: ids are asked for without a tokenizer");
    }
    rendering out = {
        .chat_template = chat_template, .messages = messages, .ids = out_ids, .capacity = capacity};
    KZ_TRY(render(&out, messages, message_count, is_generating));
    KZ_TRY(close_run(&out));
    *out_count = out.count;
    return KAZEIA_OK;
}

kazeia_status kz_template_write(kz_template *chat_template, const kz_message *messages,
                                size_t message_count, bool is_generating,
                                kz_text_buffer *out_text) {
    rendering out = {.chat_template = chat_template, .text = out_text};
    return render(&out, messages, message_count, is_generating);
}

kazeia_status kz_template_write_json(kz_template *chat_template, const char *messages,
                                     const char *options, kz_text_buffer *out_text) {
    rendering out = {.chat_template = chat_template, .text = out_text};
    const kz_template_sink sink = {put_piece, &out};
    kz_variant value;
    start_rendering(chat_template, strlen(messages) + (options ? strlen(options) : 0));
    const kz_variant now = chat_template->machine.now;
    KZ_TRY(read_json(chat_template, messages, "messages", &value));
    if (value.kind != KZ_VARIANT_LIST) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "messages: a %s, expected an array",
                       kz_variant_kind_name(&value));
    }
    KZ_TRY(give(chat_template, "messages", &value));
    if (options) {
        KZ_TRY(read_json(chat_template, options, "template options", &value));
        KZ_TRY(give_variables(chat_template, &value));
    }
    const kazeia_status status = kz_machine_run(&chat_template->machine, &sink);
    // What the options of one call say ends with it, and with it the memory that it lies in.
    chat_template->machine.now = now;
    return status;
}
