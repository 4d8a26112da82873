// chat_file.c: a conversation to a file and back.
//   in   a conversation between turns; or a file, which is hostile
//   out  a file; or the conversation, which goes on token for token
// File, little-endian: header [64 bytes]: magic, version, 0, bytes of the whole, the program's
// content id, XXH3-64 of all behind the header, bytes of the table; then table (counts, messages;
// see put_table), texts, replies' ids, cached ids, and for each state the rows of the cached tokens
// in their order. So what is read does not depend on which cache rows a session happened to take.
#include <string.h>

#include "base/file_map.h"
#include "base/file_write.h"
#include "format/byte_stream.h"
#include "format/checksum.h"
#include "llm/chat_state.h"
#include "llm/tool_call.h"

#define MAGIC "KZCHAT\r\n"
#define VERSION 1u
#define HEADER_BYTES 64u
#define MESSAGE_BYTES 33u // least of one in the table

// Places in the header.
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_TOTAL = 16,
    AT_PROGRAM = 24,
    AT_CHECKSUM = 32,
    AT_TABLE = 40,
};

static uint64_t program_id(const kz_chat *chat) {
    return kz_program_file_id(kz_program_source(chat->program));
}

// --- Rows ---------------------------------------------------------------------------------------

// Where a run of cache rows that follow one another lies.
typedef struct row_run {
    uint8_t *bytes;
    size_t count; // bytes
} row_run;

// The longest run of `state` that begins at `position`; *position moves behind it.
static row_run next_run(kz_chat *chat, uint32_t state, uint32_t length, uint32_t *position) {
    const size_t row_bytes = kz_state_row_bytes(&kz_program_describe(chat->program)->states[state]);
    const int32_t *rows = kz_cache_rows_table(kz_session_rows(chat->session)) +
                          (size_t)chat->present * kz_session_limit(chat->session);
    const uint32_t first = *position;
    while (++*position < length && rows[*position] == rows[*position - 1] + 1) {
    }
    uint8_t *memory = kz_context_state(kz_session_context(chat->session), state);
    return (row_run){memory + (size_t)rows[first] * row_bytes, (*position - first) * row_bytes};
}

// A state whose rows are no tokens' could not be told from the cache by a row number.
static kazeia_status check_states(const kz_chat *chat) {
    const kz_program_description *description = kz_program_describe(chat->program);
    const uint32_t rows = kz_cache_rows_count(kz_session_rows(chat->session));
    for (size_t i = 0; i < description->state_count; i++) {
        if (description->states[i].rows != rows) {
            return kz_fail(
                KAZEIA_UNSUPPORTED,
                "chat: the program's state '%s' is no cache: its conversations cannot be "
                "saved",
                description->states[i].name);
        }
    }
    return KAZEIA_OK;
}

// --- Saving -------------------------------------------------------------------------------------

typedef struct saving {
    kz_chat *chat;
    kz_file_writer *writer;
    kz_checksum_stream *checksum;
    size_t table_bytes;
} saving;

static kazeia_status put(saving *save, const void *bytes, size_t count) {
    kz_checksum_stream_add(save->checksum, bytes, count);
    return kz_file_writer_append(save->writer, bytes, count);
}

static void put_table(const kz_chat *chat, kz_byte_writer *table) {
    const kz_history *history = &present_branch(chat)->history;
    kz_put_u32(table, chat->settings.is_raw);
    kz_put_u32(table, kz_session_length(chat->session, chat->present));
    kz_put_u64(table, kz_sampler_random(chat->sampler).state);
    kz_put_count(table, history->count);
    for (size_t i = 0; i < history->count; i++) {
        const kz_message *message = &history->messages[i];
        kz_put_string(table, message->role);
        kz_put_u64(table, message->reasoning_bytes);
        kz_put_u64(table, message->bytes);
        kz_put_u64(table, message->tool_calls_bytes);
        kz_put_count(table, message->id_count);
        kz_put_u32(table, message->ids != NULL);
    }
}

static kazeia_status write_table(saving *save) {
    kz_byte_writer table;
    kz_byte_writer_init(&table, &save->chat->allocator);
    put_table(save->chat, &table);
    kazeia_status status = table.status;
    if (status == KAZEIA_OK) {
        save->table_bytes = table.buffer.count;
        status = put(save, table.buffer.bytes, table.buffer.count);
    }
    kz_byte_writer_clear(&table);
    return status;
}

// Ids are written as they lie in memory: so are the states, and the machines are little-endian.
static kazeia_status write_body(saving *save) {
    kz_chat *chat = save->chat;
    const kz_history *history = &present_branch(chat)->history;
    const uint32_t length = kz_session_length(chat->session, chat->present);
    KZ_TRY(write_table(save));
    KZ_TRY(put(save, history->text, history->text_bytes));
    KZ_TRY(put(save, history->ids, history->id_count * sizeof *history->ids));
    KZ_TRY(put(save, present_branch(chat)->ids, length * sizeof(int32_t)));
    const size_t states = kz_program_describe(chat->program)->state_count;
    for (uint32_t state = 0; state < states; state++) {
        for (uint32_t position = 0; position < length;) {
            const row_run run = next_run(chat, state, length, &position);
            KZ_TRY(put(save, run.bytes, run.count));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status write_file(saving *save) {
    uint8_t header[HEADER_BYTES] = {0};
    KZ_TRY(kz_file_writer_append(save->writer, header, sizeof header));
    KZ_TRY(write_body(save));
    memcpy(header + AT_MAGIC, MAGIC, 8);
    kz_store_u32(header + AT_VERSION, VERSION);
    kz_store_u64(header + AT_TOTAL, kz_file_writer_offset(save->writer));
    kz_store_u64(header + AT_PROGRAM, program_id(save->chat));
    kz_store_u64(header + AT_CHECKSUM, kz_checksum_stream_finish(save->checksum));
    kz_store_u64(header + AT_TABLE, save->table_bytes);
    return kz_file_writer_patch(save->writer, 0, header, sizeof header);
}

kazeia_status kz_chat_file_save(kz_chat *chat, const char *path) {
    saving save = {.chat = chat};
    KZ_TRY(check_states(chat));
    KZ_TRY(kz_checksum_stream_create(&chat->allocator, &save.checksum));
    kazeia_status status = kz_file_writer_create(path, &chat->allocator, &save.writer);
    if (status == KAZEIA_OK) {
        status = write_file(&save);
        if (status == KAZEIA_OK) {
            status = kz_file_writer_commit(save.writer);
        } else {
            kz_file_writer_abandon(save.writer);
        }
    }
    kz_checksum_stream_destroy(save.checksum);
    return status;
}

// --- Restoring ----------------------------------------------------------------------------------

// What a file says, all of it checked; pointers lie in the map.
typedef struct restored {
    kz_byte_reader messages; // at the first one
    uint32_t message_count, length;
    kz_random random;
    const uint8_t *text, *reply_ids, *ids, *rows;
    size_t text_bytes, id_count;
} restored;

static kazeia_status check_header(const kz_chat *chat, const kz_file_map *map) {
    const uint8_t *header = map->bytes;
    if (map->size < HEADER_BYTES || memcmp(header + AT_MAGIC, MAGIC, 8) != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "the file is no saved conversation");
    }
    if (kz_load_u32(header + AT_VERSION) != VERSION) {
        return kz_fail(KAZEIA_UNSUPPORTED, "the conversation has version %u, version %u is known",
                       kz_load_u32(header + AT_VERSION), VERSION);
    }
    const uint64_t total = kz_load_u64(header + AT_TOTAL);
    if (total != map->size) {
        return kz_fail(KAZEIA_BAD_FILE, "the conversation has %zu bytes, %llu expected: it was cut",
                       map->size, (unsigned long long)total);
    }
    const uint64_t program = kz_load_u64(header + AT_PROGRAM);
    if (program != program_id(chat)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "the conversation belongs to the program with the id %016llx, this one is "
                       "%016llx: its cache would mean nothing here",
                       (unsigned long long)program, (unsigned long long)program_id(chat));
    }
    const uint64_t checksum = kz_checksum(header + HEADER_BYTES, map->size - HEADER_BYTES);
    if (checksum != kz_load_u64(header + AT_CHECKSUM)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "the conversation's checksum is %016llx, %016llx expected: "
                       "it is damaged",
                       (unsigned long long)checksum,
                       (unsigned long long)kz_load_u64(header + AT_CHECKSUM));
    }
    return KAZEIA_OK;
}

// One message of the table; it points nowhere yet. Failures stay in the reader.
static kz_message take_message(kz_byte_reader *reader, bool *out_has_ids) {
    kz_message message = {.role = kz_history_role(kz_take_string(reader))};
    message.reasoning_bytes = (size_t)kz_take_u64(reader);
    message.bytes = (size_t)kz_take_u64(reader);
    message.tool_calls_bytes = (size_t)kz_take_u64(reader);
    message.id_count = kz_take_u32(reader);
    *out_has_ids = kz_take_u32(reader) == 1 && message.id_count > 0;
    return message;
}

// Adds without wrapping: beyond `limit` the sum stays there.
static size_t add_within(size_t sum, size_t more, size_t limit) {
    return sum > limit || more > limit - sum ? limit + 1 : sum + more;
}

static kazeia_status check_messages(const kz_chat *chat, restored *file) {
    const kz_history *history = &present_branch(chat)->history;
    kz_byte_reader reader = file->messages;
    if (file->message_count > history->message_limit) {
        return kz_fail(KAZEIA_BAD_FILE, "the conversation has %u messages, at most %zu fit",
                       file->message_count, history->message_limit);
    }
    const size_t most = history->text_limit;
    for (uint32_t i = 0; i < file->message_count && reader.status == KAZEIA_OK; i++) {
        bool has_ids = false;
        const kz_message message = take_message(&reader, &has_ids);
        if (!message.role) {
            return kz_fail(KAZEIA_BAD_FILE, "the conversation's message %u has no known role", i);
        }
        file->text_bytes = add_within(file->text_bytes, message.reasoning_bytes, most);
        file->text_bytes = add_within(file->text_bytes, message.bytes, most);
        file->text_bytes = add_within(file->text_bytes, message.tool_calls_bytes, most);
        file->id_count = add_within(file->id_count, message.id_count, history->id_limit);
    }
    KZ_TRY(kz_take_end(&reader));
    if (file->text_bytes > most || file->id_count > history->id_limit) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "the conversation's texts are longer than a context of %u "
                       "tokens holds",
                       kz_session_limit(chat->session));
    }
    return KAZEIA_OK;
}

static kazeia_status read_table(const kz_chat *chat, const kz_file_map *map, restored *file) {
    const uint64_t table_bytes = kz_load_u64(map->bytes + AT_TABLE);
    if (table_bytes > map->size - HEADER_BYTES) {
        return kz_fail(KAZEIA_BAD_FILE, "the conversation's table of %llu bytes ends behind it",
                       (unsigned long long)table_bytes);
    }
    kz_byte_reader reader = {.bytes = map->bytes + HEADER_BYTES,
                             .count = (size_t)table_bytes,
                             .what = "saved conversation"};
    const bool is_raw = kz_take_u32(&reader) == 1;
    file->length = kz_take_u32(&reader);
    file->random.state = kz_take_u64(&reader);
    file->message_count = kz_take_count(&reader, MESSAGE_BYTES, "messages");
    KZ_TRY(reader.status);
    file->messages = reader;
    if (is_raw != chat->settings.is_raw || file->length > kz_session_limit(chat->session)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "the conversation is%s raw and has %u tokens in its cache: this chat is%s "
                       "and holds %u",
                       is_raw ? "" : " not", file->length, chat->settings.is_raw ? "" : " not",
                       kz_session_limit(chat->session));
    }
    return check_messages(chat, file);
}

static kazeia_status check_ids(const kz_chat *chat, const uint8_t *ids, size_t count) {
    const uint32_t vocabulary = kz_session_vocabulary(chat->session);
    for (size_t i = 0; i < count; i++) {
        if (kz_load_u32(ids + i * sizeof(uint32_t)) >= vocabulary) {
            return kz_fail(KAZEIA_BAD_FILE, "the conversation's id %u is no token of the model",
                           kz_load_u32(ids + i * sizeof(uint32_t)));
        }
    }
    return KAZEIA_OK;
}

// Every part's place follows from the sizes before it; together they are the file.
static kazeia_status lay_out(const kz_chat *chat, const kz_file_map *map, restored *file) {
    const kz_program_description *description = kz_program_describe(chat->program);
    const uint64_t table_end = HEADER_BYTES + kz_load_u64(map->bytes + AT_TABLE);
    uint64_t row_bytes = 0;
    for (size_t i = 0; i < description->state_count; i++) {
        row_bytes += kz_state_row_bytes(&description->states[i]);
    }
    // All are within the program's own limits by now, which fit in memory.
    const uint64_t ids_at = table_end + file->text_bytes;
    const uint64_t cached_at = ids_at + file->id_count * sizeof(uint32_t);
    const uint64_t rows_at = cached_at + (uint64_t)file->length * sizeof(int32_t);
    if (rows_at + file->length * row_bytes != map->size) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "the conversation's parts have %llu bytes together, the file %zu",
                       (unsigned long long)(rows_at + file->length * row_bytes), map->size);
    }
    file->text = map->bytes + table_end;
    file->reply_ids = map->bytes + ids_at;
    file->ids = map->bytes + cached_at;
    file->rows = map->bytes + rows_at;
    KZ_TRY(check_ids(chat, file->reply_ids, file->id_count));
    return check_ids(chat, file->ids, file->length);
}

// Calls are read as JSON by templates.
static kazeia_status check_calls(const restored *file) {
    kz_byte_reader reader = file->messages;
    const char *text = (const char *)file->text;
    for (uint32_t i = 0; i < file->message_count; i++) {
        bool has_ids = false;
        const kz_message message = take_message(&reader, &has_ids);
        text += message.reasoning_bytes + message.bytes;
        if (message.tool_calls_bytes && !kz_json_is_whole(text, message.tool_calls_bytes, '[')) {
            return kz_fail(KAZEIA_BAD_FILE,
                           "the conversation's message %u has calls that are no "
                           "JSON array",
                           i);
        }
        text += message.tool_calls_bytes;
    }
    return KAZEIA_OK;
}

// The history stays as it was when there are no rows; its cache is then computed again.
static kazeia_status restore_cache(kz_chat *chat, const restored *file) {
    kz_cache_rows *rows = kz_session_rows(chat->session);
    kz_cache_rows_trim(rows, chat->present, 0);
    KZ_TRY(kz_cache_rows_extend(rows, chat->present, file->length));
    const uint8_t *from = file->rows;
    const size_t states = kz_program_describe(chat->program)->state_count;
    for (uint32_t state = 0; state < states; state++) {
        for (uint32_t position = 0; position < file->length;) {
            const row_run run = next_run(chat, state, file->length, &position);
            memcpy(run.bytes, from, run.count);
            from += run.count;
        }
    }
    memcpy(present_branch(chat)->ids, file->ids, file->length * sizeof(int32_t));
    return KAZEIA_OK;
}

// Cannot fail: all was checked, and no allocation is needed.
static void restore_history(kz_chat *chat, const restored *file) {
    kz_history *history = &present_branch(chat)->history;
    kz_byte_reader reader = file->messages;
    history->count = file->message_count;
    history->text_bytes = file->text_bytes;
    history->id_count = file->id_count;
    memcpy(history->text, file->text, file->text_bytes);
    memcpy(history->ids, file->reply_ids, file->id_count * sizeof *history->ids);
    for (uint32_t i = 0; i < file->message_count; i++) {
        bool has_ids = false;
        history->messages[i] = take_message(&reader, &has_ids);
        history->messages[i].ids = has_ids ? history->ids : NULL;
    }
    kz_history_point(history);
    kz_sampler_set_random(chat->sampler, file->random);
    chat->statistics = (kz_chat_statistics){.stop = KZ_CHAT_STOP_NONE};
}

static kazeia_status restore_map(kz_chat *chat, const kz_file_map *map) {
    restored file = {0};
    KZ_TRY(check_states(chat));
    KZ_TRY(check_header(chat, map));
    KZ_TRY(read_table(chat, map, &file));
    KZ_TRY(lay_out(chat, map, &file));
    KZ_TRY(check_calls(&file));
    KZ_TRY(restore_cache(chat, &file));
    restore_history(chat, &file);
    return KAZEIA_OK;
}

kazeia_status kz_chat_file_restore(kz_chat *chat, const char *path) {
    kz_file_map map = {0};
    KZ_TRY(kz_file_map_open(path, &map));
    const kazeia_status status = restore_map(chat, &map);
    kz_file_map_close(&map);
    return status == KAZEIA_OK ? status : kz_fail_context(status, "'%s'", path);
}
