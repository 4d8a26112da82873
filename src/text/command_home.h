// command_home.h: what a home has: entities with their domains, areas, floors, and where the
// speaker is.
//
// in:  YAML or JSON: `entities: [{name, domain}]`, `areas: [text]`, `floors: [text]`,
//      `context_area: text`; all may be missing. out: the same, in an arena. Names are literal
//      text, no templates.
#ifndef KZ_TEXT_COMMAND_HOME_H
#define KZ_TEXT_COMMAND_HOME_H

#include "text/command_yaml.h"

enum { KZ_MAX_DOMAINS = 64 };

typedef struct kz_home_entity {
    const kz_yaml_node *name;
    const char *domain; // "" when the file has none
} kz_home_entity;

// All pointers lead into the arena.
typedef struct kz_command_home {
    const kz_home_entity *entities;
    uint32_t entity_count;
    const kz_yaml_node *areas, *floors; // lists of scalars, or NULL
    const char *context_area;           // NULL: not known
} kz_command_home;

// BAD_FILE names file, line and column. `bytes` NULL: a home without anything.
KAZEIA_MUST_CHECK kazeia_status kz_command_home_read(kz_command_arena *arena, const char *file,
                                                     const void *bytes, size_t count,
                                                     kz_command_home *out_home);

#endif
