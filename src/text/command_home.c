// command_home.c: a home's file -> its names.
//
// in: bytes. out: nodes of the names. An area that is null or missing is not known: commands about
// "here" then match nothing, which is safer than any guess.
#include "text/command_home.h"

#include <string.h>

#include "text/command_layout.h"

static kazeia_status read_entity(const kz_yaml_node *item, kz_home_entity *entity) {
    const kz_yaml_node *domain;
    KZ_TRY(kz_yaml_check_keys(item, " name domain area floor state attributes metadata ",
                              "an entity"));
    KZ_TRY(kz_yaml_need(item, "name", KZ_YAML_SCALAR, &entity->name));
    KZ_TRY(kz_yaml_look_for(item, "domain", KZ_YAML_SCALAR, &domain));
    entity->domain = domain == NULL ? "" : domain->text.bytes;
    return KAZEIA_OK;
}

static kazeia_status read_entities(kz_command_arena *arena, const kz_yaml_node *list,
                                   kz_command_home *home) {
    void *memory;
    if (list == NULL) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_command_arena_take(arena, list->count, sizeof(kz_home_entity), &memory));
    kz_home_entity *entities = memory;
    home->entities = entities;
    for (const kz_yaml_node *item = list->first; item != NULL; item = item->next) {
        KZ_TRY(read_entity(item, &entities[home->entity_count++]));
    }
    return KAZEIA_OK;
}

static kazeia_status check_names(const kz_yaml_node *list, const char *what) {
    for (const kz_yaml_node *item = list == NULL ? NULL : list->first; item != NULL;
         item = item->next) {
        KZ_TRY(kz_yaml_expect(item, KZ_YAML_SCALAR, what));
    }
    return KAZEIA_OK;
}

static bool is_null(const kz_yaml_node *scalar) {
    return !scalar->is_quoted &&
           (scalar->text.count == 0 || strcmp(scalar->text.bytes, "null") == 0 ||
            strcmp(scalar->text.bytes, "~") == 0);
}

kazeia_status kz_command_home_read(kz_command_arena *arena, const char *file, const void *bytes,
                                   size_t count, kz_command_home *out_home) {
    const kz_yaml_node *root, *entities, *area;
    *out_home = (kz_command_home){.context_area = NULL};
    if (bytes == NULL) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_yaml_read(arena, file, bytes, count, &root));
    // `file` is how a line of fixtures names its tests.
    KZ_TRY(kz_yaml_check_keys(root, " entities areas floors context_area file language metadata ",
                              "a home"));
    KZ_TRY(kz_yaml_look_for(root, "entities", KZ_YAML_LIST, &entities));
    KZ_TRY(kz_yaml_look_for(root, "areas", KZ_YAML_LIST, &out_home->areas));
    KZ_TRY(kz_yaml_look_for(root, "floors", KZ_YAML_LIST, &out_home->floors));
    KZ_TRY(kz_yaml_look_for(root, "context_area", KZ_YAML_SCALAR, &area));
    KZ_TRY(check_names(out_home->areas, "an area"));
    KZ_TRY(check_names(out_home->floors, "a floor"));
    out_home->context_area = area == NULL || is_null(area) ? NULL : area->text.bytes;
    return read_entities(arena, entities, out_home);
}
