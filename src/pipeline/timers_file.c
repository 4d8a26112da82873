// timers_file.c: timers as a file.
//
// in: a path. out: timers, or a JSON file of them. Read by the YAML reader of the command files,
// which knows the place of what is wrong.
#include <string.h>

#include "base/file_map.h"
#include "base/file_system.h"
#include "base/file_write.h"
#include "base/json_writer.h"
#include "base/number_text.h"
#include "pipeline/timers.h"
#include "text/command_yaml.h"

enum { STATE_BYTES = 64 * 1024, ARENA_BYTES = 4 << 20 };

static kazeia_status read_whole(const kz_yaml_node *map, const char *key, int64_t *out_value) {
    const kz_yaml_node *node = kz_yaml_find(map, key);
    double number = 0;
    if (node == NULL || node->kind != KZ_YAML_SCALAR ||
        !kz_number_read(node->text.bytes, &number) || number < -1e15 || number > 1e15) {
        return kz_command_fail(node == NULL ? &map->place : &node->place, KAZEIA_BAD_FILE,
                               "a timer's '%s' is no number", key);
    }
    *out_value = (int64_t)number;
    return KAZEIA_OK;
}

static kazeia_status read_text(const kz_yaml_node *map, const char *key, char *out,
                               size_t capacity) {
    const kz_yaml_node *node = kz_yaml_find(map, key);
    out[0] = '\0';
    if (node == NULL) {
        return KAZEIA_OK;
    }
    if (node->kind != KZ_YAML_SCALAR || node->text.count >= capacity) {
        return kz_command_fail(&node->place, KAZEIA_BAD_FILE,
                               "a timer's '%s' is no text below %zu bytes", key, capacity);
    }
    memcpy(out, node->text.bytes, node->text.count + 1);
    return KAZEIA_OK;
}

static kazeia_status read_timer(const kz_yaml_node *map, kz_timer *timer) {
    int64_t id = 0, is_paused = 0;
    KZ_TRY(kz_yaml_expect(map, KZ_YAML_MAP, "a timer"));
    KZ_TRY(read_whole(map, "id", &id));
    KZ_TRY(read_whole(map, "length_s", &timer->length_s));
    KZ_TRY(read_whole(map, "ends_at", &timer->ends_at));
    KZ_TRY(read_whole(map, "left_s", &timer->left_s));
    KZ_TRY(read_whole(map, "is_paused", &is_paused));
    timer->id = (uint32_t)id;
    timer->is_paused = is_paused != 0;
    KZ_TRY(read_text(map, "name", timer->name, sizeof timer->name));
    KZ_TRY(read_text(map, "area", timer->area, sizeof timer->area));
    return read_text(map, "command", timer->command, sizeof timer->command);
}

static kazeia_status read_timers(const kz_yaml_node *root, kz_timers *timers) {
    const kz_yaml_node *list = kz_yaml_find(root, "timers");
    int64_t last_id = 0;
    KZ_TRY(kz_yaml_expect(root, KZ_YAML_MAP, "the file"));
    KZ_TRY(read_whole(root, "last_id", &last_id));
    timers->last_id = (uint32_t)last_id;
    if (list == NULL || list->kind != KZ_YAML_LIST || list->count > KZ_TIMER_LIMIT) {
        return kz_command_fail(&root->place, KAZEIA_BAD_FILE,
                               "expected a list 'timers' of at most %u", KZ_TIMER_LIMIT);
    }
    for (const kz_yaml_node *n = list->first; n != NULL; n = n->next) {
        KZ_TRY(read_timer(n, &timers->items[timers->count++]));
    }
    return KAZEIA_OK;
}

kazeia_status kz_timers_load(const char *path, const kazeia_allocator *allocator,
                             kz_timers *out_timers) {
    kz_file_map map;
    kz_command_arena arena;
    const kz_yaml_node *root = NULL;
    memset(out_timers, 0, sizeof *out_timers);
    if (kz_path_query(path, NULL) == KZ_PATH_MISSING) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_file_map_open(path, &map));
    kz_command_arena_init(&arena, allocator, ARENA_BYTES);
    kazeia_status status = kz_yaml_read(&arena, path, map.bytes, map.size, &root);
    if (status == KAZEIA_OK) {
        status = read_timers(root, out_timers);
    }
    kz_command_arena_clear(&arena);
    kz_file_map_close(&map);
    return status;
}

static void write_timer(kz_json_writer *json, const kz_timer *timer) {
    kz_json_begin_object(json, NULL);
    kz_json_put_integer(json, "id", timer->id);
    kz_json_put_string(json, "name", timer->name);
    kz_json_put_string(json, "area", timer->area);
    kz_json_put_string(json, "command", timer->command);
    kz_json_put_integer(json, "length_s", timer->length_s);
    kz_json_put_integer(json, "ends_at", timer->ends_at);
    kz_json_put_integer(json, "left_s", timer->left_s);
    kz_json_put_integer(json, "is_paused", timer->is_paused);
    kz_json_end_object(json);
}

kazeia_status kz_timers_save(const char *path, const kazeia_allocator *allocator,
                             const kz_timers *timers) {
    kz_text_buffer text;
    kz_json_writer json;
    KZ_TRY(kz_text_buffer_init(&text, allocator, 1024, STATE_BYTES));
    kz_json_writer_init(&json, &text);
    kz_json_begin_object(&json, NULL);
    kz_json_put_integer(&json, "last_id", timers->last_id);
    kz_json_begin_array(&json, "timers");
    for (uint32_t i = 0; i < timers->count; i++) {
        write_timer(&json, &timers->items[i]);
    }
    kz_json_end_array(&json);
    kz_json_end_object(&json);
    kazeia_status status = json.status;
    if (status == KAZEIA_OK) {
        status = kz_file_write_whole(path, text.bytes, text.count);
    }
    kz_text_buffer_clear(&text);
    return status;
}
