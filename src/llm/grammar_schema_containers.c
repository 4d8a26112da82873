// grammar_schema_containers.c: arrays and objects of a JSON schema -> nodes.
//   in   the parts of a schema
//   out  nodes
// Members come in the schema's order; one that is not required may be left out. What follows member
// i is a rule of its own, so that an object of n members takes some n pieces, not n * n. Other keys
// than those of `properties` are written without escapes, so that none can spell one of them in
// another way.
#include <string.h>

#include "llm/grammar_schema.h"
#include "text/utf8.h"

#define PREFIX_LIMIT 64u
#define MEMBER_LIMIT 1024u
#define KEY_BYTES_LIMIT 80u // of a key beside which others may stand: they are spelled out

typedef struct object_member {
    kz_json_text key;
    kz_schema_parts parts;
    bool is_required;
} object_member;

typedef struct object_shape {
    object_member *members; // [count]
    uint32_t count;
    bool is_open;           // other keys may follow
    kz_schema_parts others; // what their values must be
} object_shape;

static uint32_t chain(kz_schema *schema, uint32_t first, uint32_t second) {
    kz_node_list parts = {0};
    kz_list_add(schema->builder, &parts, first);
    kz_list_add(schema->builder, &parts, second);
    return kz_build_sequence(schema->builder, &parts);
}

static uint32_t after_comma(kz_schema *schema, uint32_t node) {
    return chain(schema, kz_schema_prelude_node(schema, "comma"), node);
}

static uint32_t between(kz_schema *schema, const char *begin, uint32_t node, const char *end) {
    const uint32_t open = kz_build_text(schema->builder, begin);
    const uint32_t inner = chain(schema, open, node);
    return chain(schema, inner, kz_build_text(schema->builder, end));
}

// --- Arrays -------------------------------------------------------------------------------------
typedef struct array_shape {
    uint32_t prefix[PREFIX_LIMIT]; // schemas
    uint32_t prefix_count;
    kz_schema_parts items;
    uint32_t least, most;
} array_shape;

static kazeia_status read_array(const kz_schema *schema, const kz_schema_parts *parts,
                                array_shape *shape) {
    uint32_t prefix = KZ_JSON_NONE;
    *shape = (array_shape){.prefix_count = 0};
    KZ_TRY(kz_schema_only_member(schema, parts, "prefixItems", &prefix));
    KZ_TRY(kz_schema_count(schema, parts, "minItems", true, 0, &shape->least));
    KZ_TRY(kz_schema_count(schema, parts, "maxItems", false, KZ_REPEAT_FOR_EVER, &shape->most));
    bool has_items = false;
    for (uint32_t i = 0; i < parts->count; i++) {
        const uint32_t items = kz_json_member(&schema->tree, parts->values[i], "items");
        if (items != KZ_JSON_NONE) {
            has_items = true;
            KZ_TRY(kz_schema_add_part(schema, &shape->items, items));
        }
    }
    if (prefix == KZ_JSON_NONE) {
        return KAZEIA_OK;
    }
    if (schema->tree.values[prefix].child_count > PREFIX_LIMIT) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, prefix, "has more than 64 schemas");
    }
    for (uint32_t i = schema->tree.values[prefix].child; i != KZ_JSON_NONE;
         i = schema->tree.values[i].next) {
        shape->prefix[shape->prefix_count++] = i;
    }
    shape->items.is_impossible = shape->items.is_impossible || !has_items;
    return KAZEIA_OK;
}

// What may follow `done` elements that are all behind the prefix, or none.
static kazeia_status build_items(kz_schema *schema, const array_shape *shape, uint32_t done,
                                 uint32_t *out_node) {
    uint32_t first = KZ_GRAMMAR_EMPTY, other = KZ_GRAMMAR_EMPTY;
    const uint32_t least = shape->least > done ? shape->least - done : 0;
    const uint32_t most =
        shape->most == KZ_REPEAT_FOR_EVER ? KZ_REPEAT_FOR_EVER : shape->most - done;
    *out_node = KZ_GRAMMAR_EMPTY;
    if (most == 0) {
        return KAZEIA_OK;
    }
    KZ_TRY(kz_schema_value_node(schema, &shape->items, &other));
    other = after_comma(schema, other);
    if (done > 0) {
        *out_node = kz_build_repeat(schema->builder, other, least, most);
        return KAZEIA_OK;
    }
    KZ_TRY(kz_schema_value_node(schema, &shape->items, &first));
    other = kz_build_repeat(schema->builder, other, least > 0 ? least - 1 : 0,
                            most == KZ_REPEAT_FOR_EVER ? most : most - 1);
    *out_node = chain(schema, first, other);
    if (least == 0) {
        *out_node = kz_build_repeat(schema->builder, *out_node, 0, 1);
    }
    return KAZEIA_OK;
}

kazeia_status kz_schema_array(kz_schema *schema, const kz_schema_parts *parts, uint32_t *out_node) {
    array_shape shape;
    uint32_t body = KZ_GRAMMAR_EMPTY;
    KZ_TRY(read_array(schema, parts, &shape));
    if (shape.least > shape.most) {
        *out_node = kz_build_class(schema->builder, NULL, 0, false);
        return KAZEIA_OK;
    }
    const uint32_t prefix = shape.prefix_count < shape.most ? shape.prefix_count : shape.most;
    KZ_TRY(build_items(schema, &shape, prefix, &body));
    for (uint32_t i = prefix; i-- > 0;) {
        kz_schema_parts element = {.count = 0};
        uint32_t node = KZ_GRAMMAR_EMPTY;
        KZ_TRY(kz_schema_add_part(schema, &element, shape.prefix[i]));
        KZ_TRY(kz_schema_value_node(schema, &element, &node));
        body = chain(schema, i > 0 ? after_comma(schema, node) : node, body);
        if (i >= shape.least) {
            body = kz_build_repeat(schema->builder, body, 0, 1);
        }
    }
    *out_node = between(schema, "[", body, "]");
    return KAZEIA_OK;
}

// --- An object's shape --------------------------------------------------------------------------
static object_member *find_member(const kz_schema *schema, object_shape *shape, kz_json_text key) {
    for (uint32_t i = 0; i < shape->count; i++) {
        const kz_json_text known = shape->members[i].key;
        if (known.count == key.count &&
            memcmp(kz_json_string(&schema->tree, known), kz_json_string(&schema->tree, key),
                   key.count) == 0) {
            return &shape->members[i];
        }
    }
    return NULL;
}

static kazeia_status want_member(const kz_schema *schema, object_shape *shape, uint32_t value,
                                 kz_json_text key, object_member **out_member) {
    *out_member = find_member(schema, shape, key);
    if (*out_member) {
        return KAZEIA_OK;
    }
    if (shape->count == MEMBER_LIMIT) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                "belongs to an object with more than 1024 members");
    }
    *out_member = &shape->members[shape->count++];
    **out_member = (object_member){.key = key};
    return KAZEIA_OK;
}

static kazeia_status read_properties(const kz_schema *schema, uint32_t part, object_shape *shape) {
    const uint32_t properties = kz_json_member(&schema->tree, part, "properties");
    if (properties == KZ_JSON_NONE) {
        return KAZEIA_OK;
    }
    if (schema->tree.values[properties].kind != KZ_JSON_OBJECT) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, properties, "is no object of schemas");
    }
    for (uint32_t i = schema->tree.values[properties].child; i != KZ_JSON_NONE;
         i = schema->tree.values[i].next) {
        object_member *member = NULL;
        KZ_TRY(want_member(schema, shape, i, schema->tree.values[i].key, &member));
        KZ_TRY(kz_schema_add_part(schema, &member->parts, i));
    }
    return KAZEIA_OK;
}

static kazeia_status read_required(const kz_schema *schema, uint32_t part, object_shape *shape) {
    const uint32_t required = kz_json_member(&schema->tree, part, "required");
    if (required == KZ_JSON_NONE) {
        return KAZEIA_OK;
    }
    for (uint32_t i = schema->tree.values[required].child; i != KZ_JSON_NONE;
         i = schema->tree.values[i].next) {
        const kz_json_value *name = &schema->tree.values[i];
        object_member *member = NULL;
        if (name->kind != KZ_JSON_STRING) {
            return kz_schema_refuse(schema, KAZEIA_BAD_FILE, i, "is no name of a property");
        }
        // One that is in no `properties` is among the others, whose values `others` restricts.
        KZ_TRY(want_member(schema, shape, i, name->text, &member));
        member->is_required = true;
    }
    return KAZEIA_OK;
}

static bool has_property(const kz_schema *schema, uint32_t part, kz_json_text key) {
    const uint32_t properties = kz_json_member(&schema->tree, part, "properties");
    return kz_json_member(&schema->tree, properties, kz_json_string(&schema->tree, key)) !=
           KZ_JSON_NONE;
}

// additionalProperties restricts, of each part, the members that its own `properties` lack.
static kazeia_status read_additional(const kz_schema *schema, uint32_t part, object_shape *shape,
                                     bool *is_stated) {
    const uint32_t additional = kz_json_member(&schema->tree, part, "additionalProperties");
    if (additional == KZ_JSON_NONE) {
        return KAZEIA_OK;
    }
    *is_stated = true;
    for (uint32_t i = 0; i < shape->count; i++) {
        if (!has_property(schema, part, shape->members[i].key)) {
            KZ_TRY(kz_schema_add_part(schema, &shape->members[i].parts, additional));
        }
    }
    return kz_schema_add_part(schema, &shape->others, additional);
}

static kazeia_status read_object(const kz_schema *schema, const kz_schema_parts *parts,
                                 object_shape *shape) {
    bool is_stated = false, has_properties = false;
    for (uint32_t i = 0; i < parts->count; i++) {
        KZ_TRY(read_properties(schema, parts->values[i], shape));
        has_properties = has_properties || kz_json_member(&schema->tree, parts->values[i],
                                                          "properties") != KZ_JSON_NONE;
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        KZ_TRY(read_required(schema, parts->values[i], shape));
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        KZ_TRY(read_additional(schema, parts->values[i], shape, &is_stated));
    }
    shape->is_open = !shape->others.is_impossible && (is_stated || !has_properties);
    // Members that may not be there are left out, unless they must be: then nothing fits.
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shape->count; i++) {
        if (!shape->members[i].parts.is_impossible || shape->members[i].is_required) {
            shape->members[kept++] = shape->members[i];
        }
    }
    shape->count = kept;
    return KAZEIA_OK;
}

// --- Keys that are none of the members' ---------------------------------------------------------
typedef struct key_list {
    const char *keys[MEMBER_LIMIT];
    uint32_t count;
} key_list;

// Characters at `place` of the keys that begin as keys[first] does, each once; ranges has room for
// them and the three that no key may have.
static uint32_t build_other_key(kz_schema *schema, const key_list *keys, const uint8_t *taken,
                                size_t place);

static uint32_t build_free_key(kz_schema *schema) {
    return kz_build_repeat(schema->builder, kz_schema_prelude_node(schema, "key_char"), 0,
                           KZ_REPEAT_FOR_EVER);
}

// Marks in `out_taken` the keys among `taken` that go on with `character` at `place`.
static void select_keys(const key_list *keys, const uint8_t *taken, size_t place,
                        kz_utf8_char character, const char *bytes, uint8_t *out_taken) {
    for (uint32_t i = 0; i < keys->count; i++) {
        out_taken[i] = taken[i] && strncmp(keys->keys[i] + place, bytes, character.length) == 0;
    }
}

static bool was_seen(const kz_char_range *ranges, uint32_t count, uint32_t character) {
    for (uint32_t i = 0; i < count; i++) {
        if (ranges[i].low <= character && character <= ranges[i].high) {
            return true;
        }
    }
    return false;
}

static uint32_t build_other_key(kz_schema *schema, const key_list *keys, const uint8_t *taken,
                                size_t place) {
    kz_node_list choices = {0};
    kz_char_range ranges[260] = {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
    uint32_t range_count = 3;
    bool is_key = false;
    for (uint32_t i = 0; i < keys->count; i++) {
        const char *bytes = keys->keys[i] + place;
        is_key = is_key || (taken[i] && *bytes == '\0');
        const kz_utf8_char character = kz_utf8_read_last(bytes, taken[i] ? strlen(bytes) : 0);
        if (character.length == 0 || range_count == 260 ||
            was_seen(ranges, range_count, character.code_point)) {
            continue;
        }
        uint8_t further[MEMBER_LIMIT];
        select_keys(keys, taken, place, character, bytes, further);
        ranges[range_count++] = (kz_char_range){character.code_point, character.code_point};
        kz_list_add(schema->builder, &choices,
                    chain(schema, kz_build_bytes(schema->builder, bytes, character.length),
                          build_other_key(schema, keys, further, place + character.length)));
    }
    if (!is_key) {
        kz_list_add(schema->builder, &choices, KZ_GRAMMAR_EMPTY);
    }
    kz_list_add(schema->builder, &choices,
                chain(schema, kz_build_class(schema->builder, ranges, range_count, true),
                      build_free_key(schema)));
    return kz_build_choice(schema->builder, &choices);
}

// `"key": value` of any key that is no member's.
static kazeia_status build_other_member(kz_schema *schema, const object_shape *shape,
                                        uint32_t *out_node) {
    key_list keys = {.count = 0};
    uint8_t taken[MEMBER_LIMIT];
    uint32_t value = KZ_GRAMMAR_EMPTY;
    for (uint32_t i = 0; i < shape->count; i++) {
        if (shape->members[i].key.count > KEY_BYTES_LIMIT) {
            return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, shape->members[i].parts.values[0],
                                    "has a name longer than 80 bytes, and other properties may "
                                    "stand beside it");
        }
        keys.keys[keys.count] = kz_json_string(&schema->tree, shape->members[i].key);
        taken[keys.count++] = 1;
    }
    KZ_TRY(kz_schema_value_node(schema, &shape->others, &value));
    const uint32_t key = between(schema, "\"", build_other_key(schema, &keys, taken, 0), "\"");
    *out_node = chain(schema, key, chain(schema, kz_schema_prelude_node(schema, "colon"), value));
    return schema->builder->status;
}

// --- Objects ------------------------------------------------------------------------------------
static kazeia_status build_member(kz_schema *schema, const object_member *member,
                                  uint32_t *out_node) {
    uint32_t value = KZ_GRAMMAR_EMPTY;
    KZ_TRY(kz_schema_value_node(schema, &member->parts, &value));
    const uint32_t key =
        kz_schema_quoted(schema, kz_json_string(&schema->tree, member->key), member->key.count);
    *out_node = chain(schema, key, chain(schema, kz_schema_prelude_node(schema, "colon"), value));
    return KAZEIA_OK;
}

// Rules of what follows when something stands before: rests[i] for the members from i on.
static kazeia_status build_rests(kz_schema *schema, const object_shape *shape, uint32_t other_rule,
                                 uint32_t *rests) {
    kz_grammar_builder *builder = schema->builder;
    for (uint32_t i = shape->count + 1; i-- > 0;) {
        uint32_t body = KZ_GRAMMAR_EMPTY;
        rests[i] = kz_builder_hidden_rule(builder, "an object's rest");
        KZ_TRY(builder->status);
        if (i == shape->count && shape->is_open) {
            body = kz_build_repeat(builder, after_comma(schema, kz_build_rule(builder, other_rule)),
                                   0, KZ_REPEAT_FOR_EVER);
        } else if (i < shape->count) {
            KZ_TRY(build_member(schema, &shape->members[i], &body));
            body = kz_build_repeat(builder, after_comma(schema, body),
                                   shape->members[i].is_required, 1);
            body = chain(schema, body, kz_build_rule(builder, rests[i + 1]));
        }
        builder->rules[rests[i]].body = body;
    }
    return KAZEIA_OK;
}

// The first member is any up to the first that is required.
static kazeia_status build_first(kz_schema *schema, const object_shape *shape, uint32_t other_rule,
                                 const uint32_t *rests, uint32_t *out_node) {
    kz_grammar_builder *builder = schema->builder;
    kz_node_list choices = {0};
    uint32_t i = 0;
    for (; i < shape->count && (i == 0 || !shape->members[i - 1].is_required); i++) {
        uint32_t member = KZ_GRAMMAR_EMPTY;
        KZ_TRY(build_member(schema, &shape->members[i], &member));
        kz_list_add(builder, &choices, chain(schema, member, kz_build_rule(builder, rests[i + 1])));
    }
    if (i == 0 || !shape->members[i - 1].is_required) {
        kz_list_add(builder, &choices, KZ_GRAMMAR_EMPTY);
        if (shape->is_open) {
            const uint32_t other = kz_build_rule(builder, other_rule);
            kz_list_add(builder, &choices,
                        chain(schema, other, kz_build_rule(builder, rests[shape->count])));
        }
    }
    *out_node = kz_build_choice(builder, &choices);
    return builder->status;
}

static kazeia_status build_object(kz_schema *schema, const object_shape *shape, uint32_t *rests,
                                  uint32_t *out_node) {
    uint32_t other_rule = KZ_NO_RULE, body = KZ_GRAMMAR_EMPTY;
    if (shape->is_open) {
        uint32_t other = KZ_GRAMMAR_EMPTY;
        other_rule = kz_builder_hidden_rule(schema->builder, "another member");
        KZ_TRY(build_other_member(schema, shape, &other));
        schema->builder->rules[other_rule].body = other;
    }
    KZ_TRY(build_rests(schema, shape, other_rule, rests));
    KZ_TRY(build_first(schema, shape, other_rule, rests, &body));
    *out_node = between(schema, "{", body, "}");
    return KAZEIA_OK;
}

kazeia_status kz_schema_object(kz_schema *schema, const kz_schema_parts *parts,
                               uint32_t *out_node) {
    const kazeia_allocator *allocator = &schema->builder->allocator;
    object_shape shape = {.count = 0};
    uint32_t *rests = NULL;
    kazeia_status status =
        kz_alloc(allocator, MEMBER_LIMIT, sizeof *shape.members, "schema", (void **)&shape.members);
    if (status == KAZEIA_OK) {
        status = kz_alloc(allocator, MEMBER_LIMIT + 1, sizeof *rests, "schema", (void **)&rests);
    }
    if (status == KAZEIA_OK) {
        status = read_object(schema, parts, &shape);
    }
    if (status == KAZEIA_OK) {
        status = build_object(schema, &shape, rests, out_node);
    }
    kz_free(allocator, shape.members);
    kz_free(allocator, rests);
    return status;
}
