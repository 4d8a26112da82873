// grammar_schema.c: a JSON schema -> rules.
//   in   a schema's text
//   out  a grammar of JSON texts that satisfy it
// Every keyword is in one table: handled, an annotation, or refused by name: what restricts is
// never passed over. oneOf is read as anyOf. Where a schema is silent the answer is closed, since a
// model that may add members does so for ever: properties (or prefixItems) without
// additionalProperties (or items) allow no others, and without a type the keywords tell which types
// are meant.
#include "llm/grammar_schema.h"

#include <string.h>

#include "base/number_text.h"

#define REFERENCE_DEPTH 32u
#define CHOICE_LIMIT 8u
#define BRANCH_LIMIT 4096u // anyOf branches of one schema, multiplied out

typedef enum json_type {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_NUMBER = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ANY = 127 - TYPE_INTEGER,
} json_type;

static const struct {
    const char *name;
    uint32_t type;
} type_names[] = {
    {"null", TYPE_NULL},       {"boolean", TYPE_BOOLEAN},
    {"integer", TYPE_INTEGER}, {"number", TYPE_NUMBER | TYPE_INTEGER},
    {"string", TYPE_STRING},   {"array", TYPE_ARRAY},
    {"object", TYPE_OBJECT},
};

typedef enum keyword_use { USE_HANDLED, USE_ANNOTATION, USE_REFUSED, USE_REFUSED_TRUE } keyword_use;

// `types`: which types a schema means that has the keyword and no type.
static const struct {
    const char *name;
    keyword_use use;
    uint32_t types;
} keywords[] = {
    {"type", USE_HANDLED, 0},
    {"enum", USE_HANDLED, 0},
    {"const", USE_HANDLED, 0},
    {"anyOf", USE_HANDLED, 0},
    {"oneOf", USE_HANDLED, 0},
    {"allOf", USE_HANDLED, 0},
    {"$ref", USE_HANDLED, 0},
    {"properties", USE_HANDLED, TYPE_OBJECT},
    {"required", USE_HANDLED, TYPE_OBJECT},
    {"additionalProperties", USE_HANDLED, TYPE_OBJECT},
    {"items", USE_HANDLED, TYPE_ARRAY},
    {"prefixItems", USE_HANDLED, TYPE_ARRAY},
    {"minItems", USE_HANDLED, TYPE_ARRAY},
    {"maxItems", USE_HANDLED, TYPE_ARRAY},
    {"minLength", USE_HANDLED, TYPE_STRING},
    {"maxLength", USE_HANDLED, TYPE_STRING},
    {"pattern", USE_HANDLED, TYPE_STRING},
    {"format", USE_HANDLED, TYPE_STRING},
    {"minimum", USE_HANDLED, TYPE_NUMBER},
    {"maximum", USE_HANDLED, TYPE_NUMBER},
    {"exclusiveMinimum", USE_HANDLED, TYPE_NUMBER},
    {"exclusiveMaximum", USE_HANDLED, TYPE_NUMBER},
    {"title", USE_ANNOTATION, 0},
    {"description", USE_ANNOTATION, 0},
    {"default", USE_ANNOTATION, 0},
    {"example", USE_ANNOTATION, 0},
    {"examples", USE_ANNOTATION, 0},
    {"deprecated", USE_ANNOTATION, 0},
    {"readOnly", USE_ANNOTATION, 0},
    {"writeOnly", USE_ANNOTATION, 0},
    {"$schema", USE_ANNOTATION, 0},
    {"$id", USE_ANNOTATION, 0},
    {"$comment", USE_ANNOTATION, 0},
    {"$defs", USE_ANNOTATION, 0},
    {"definitions", USE_ANNOTATION, 0},
    {"contentEncoding", USE_ANNOTATION, 0},
    {"contentMediaType", USE_ANNOTATION, 0},
    {"contentSchema", USE_ANNOTATION, 0},
    {"uniqueItems", USE_REFUSED_TRUE, TYPE_ARRAY},
};

// Texts that every schema's rules name. A string's \u escapes are whole characters and never NUL,
// which many readers refuse; digits are few enough that a reader's numbers hold them. In strings of
// bounded length `plain_char` stands for a character, whose automaton is a third of `char`'s.
static const char prelude[] =
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "char ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" unit)\n"
    "unit ::= [1-9A-CEFa-cef] hex{3} | [Dd] [0-7] hex{2} | \"0\" low |\n"
    "  [Dd] [89ABab] hex{2} \"\\\\u\" [Dd] [C-Fc-f] hex{2}\n"
    "low ::= [1-9A-Fa-f] hex{2} | \"0\" ([1-9A-Fa-f] hex | \"0\" [1-9A-Fa-f])\n"
    "hex ::= [0-9A-Fa-f]\n"
    "plain_char ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"\\\\/bfnrt]\n"
    "key_char ::= [^\"\\\\\\x00-\\x1F]\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,17})\n"
    "number ::= integer (\".\" [0-9]{1,17})? ([eE] [-+]? [0-9]{1,2})?\n"
    "boolean ::= \"true\" | \"false\"\n"
    "comma ::= \",\" \" \"?\n"
    "colon ::= \":\" \" \"?\n"
    "value ::= \"null\" | boolean | number | string | array | object\n"
    "array ::= \"[\" (value (comma value)*)? \"]\"\n"
    "object ::= \"{\" (string colon value (comma string colon value)*)? \"}\"\n"
    "hour ::= [01] [0-9] | \"2\" [0-3]\n"
    "minute ::= [0-5] [0-9]\n"
    "day ::= \"0\" [1-9] | [12] [0-9]\n"
    "month_day ::= (\"0\" [13-9] | \"1\" [0-2]) \"-\" (day | \"30\") |\n"
    "  (\"0\" [13578] | \"1\" [02]) \"-31\" | \"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8])\n"
    "date ::= [1-9] [0-9]{3} \"-\" month_day\n"
    "time ::= hour \":\" minute \":\" minute (\".\" [0-9]{1,9})? (\"Z\" | [-+] hour \":\" minute)\n"
    "date-time ::= date \"T\" time\n"
    "uuid ::= hex{8} \"-\" hex{4} \"-\" hex{4} \"-\" hex{4} \"-\" hex{12}\n";

// Rules worth an automaton of their own: used in many places, and states within them shared.
static const char *const called[] = {"string", "number", "value", "array", "object"};

// --- Places and sentences -----------------------------------------------------------------------
void kz_schema_path(const kz_schema *schema, uint32_t value, char out[KZ_SCHEMA_PATH_BYTES]) {
    size_t start = KZ_SCHEMA_PATH_BYTES - 1;
    out[start] = '\0';
    for (; value != KZ_JSON_NONE; value = schema->tree.values[value].parent) {
        const kz_json_value *found = &schema->tree.values[value];
        char index[KZ_NUMBER_BYTES];
        const char *name = kz_json_string(&schema->tree, found->key);
        if (found->parent == KZ_JSON_NONE) {
            name = "#";
        } else if (schema->tree.values[found->parent].kind == KZ_JSON_ARRAY) {
            kz_number_write(found->index, 10, index);
            name = index;
        }
        const size_t count = strlen(name);
        if (count + 1 > start) {
            break;
        }
        start -= count;
        memcpy(out + start, name, count);
        if (found->parent != KZ_JSON_NONE) {
            out[--start] = '/';
        }
    }
    memmove(out, out + start, KZ_SCHEMA_PATH_BYTES - start);
}

kazeia_status kz_schema_refuse(const kz_schema *schema, kazeia_status status, uint32_t value,
                               const char *why) {
    char path[KZ_SCHEMA_PATH_BYTES];
    kz_schema_path(schema, value, path);
    return kz_fail(status, "schema: '%s' %s", path, why);
}

// --- Parts --------------------------------------------------------------------------------------
static const kz_json_value *value_at(const kz_schema *schema, uint32_t value) {
    return &schema->tree.values[value];
}

static bool is_text(const kz_schema *schema, kz_json_text text, const char *expected) {
    return text.count == strlen(expected) &&
           memcmp(kz_json_string(&schema->tree, text), expected, text.count) == 0;
}

kazeia_status kz_schema_add_part(const kz_schema *schema, kz_schema_parts *parts, uint32_t value) {
    const kz_json_kind kind = value_at(schema, value)->kind;
    if (kind == KZ_JSON_TRUE) {
        return KAZEIA_OK;
    }
    if (kind == KZ_JSON_FALSE) {
        parts->is_impossible = true;
        return KAZEIA_OK;
    }
    if (kind != KZ_JSON_OBJECT) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, value,
                                "is no schema; an object, true or false expected");
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        if (parts->values[i] == value) {
            return KAZEIA_OK;
        }
    }
    if (parts->count == KZ_SCHEMA_PART_LIMIT) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                "is joined with more than 16 other schemas");
    }
    parts->values[parts->count++] = value;
    return KAZEIA_OK;
}

kazeia_status kz_schema_only_member(const kz_schema *schema, const kz_schema_parts *parts,
                                    const char *key, uint32_t *out_value) {
    *out_value = KZ_JSON_NONE;
    for (uint32_t i = 0; i < parts->count; i++) {
        const uint32_t value = kz_json_member(&schema->tree, parts->values[i], key);
        if (value != KZ_JSON_NONE && *out_value != KZ_JSON_NONE) {
            return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                    "is stated twice for the same value; joining both is not "
                                    "supported");
        }
        *out_value = value != KZ_JSON_NONE ? value : *out_value;
    }
    return KAZEIA_OK;
}

kazeia_status kz_schema_count(const kz_schema *schema, const kz_schema_parts *parts,
                              const char *key, bool wants_largest, uint32_t otherwise,
                              uint32_t *out_count) {
    *out_count = otherwise;
    for (uint32_t i = 0; i < parts->count; i++) {
        const uint32_t value = kz_json_member(&schema->tree, parts->values[i], key);
        double count = 0;
        if (value == KZ_JSON_NONE) {
            continue;
        }
        const kz_json_value *found = value_at(schema, value);
        if (found->kind != KZ_JSON_NUMBER ||
            !kz_number_read(kz_json_string(&schema->tree, found->text), &count) || count < 0 ||
            count > KZ_GRAMMAR_REPEAT_LIMIT || count != (double)(uint32_t)count) {
            return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                    "is no whole number from 0 to 100000");
        }
        if (wants_largest ? (uint32_t)count > *out_count : (uint32_t)count < *out_count) {
            *out_count = (uint32_t)count;
        }
    }
    return KAZEIA_OK;
}

// --- Keywords and references --------------------------------------------------------------------
static kazeia_status check_keyword(const kz_schema *schema, uint32_t member) {
    const kz_json_value *found = value_at(schema, member);
    const char *name = kz_json_string(&schema->tree, found->key);
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (is_text(schema, found->key, keywords[i].name)) {
            return keywords[i].use != USE_REFUSED_TRUE || found->kind == KZ_JSON_FALSE
                       ? KAZEIA_OK
                       : kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, member, "is not supported");
        }
    }
    // Extensions by convention; they mean nothing to JSON schema.
    if (strncmp(name, "x-", 2) == 0) {
        return KAZEIA_OK;
    }
    return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, member,
                            "is a keyword that is not supported");
}

static kazeia_status check_keywords(const kz_schema *schema, uint32_t object) {
    for (uint32_t i = value_at(schema, object)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        KZ_TRY(check_keyword(schema, i));
    }
    return KAZEIA_OK;
}

static bool is_annotation(const kz_schema *schema, uint32_t member) {
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (keywords[i].use == USE_ANNOTATION &&
            is_text(schema, value_at(schema, member)->key, keywords[i].name)) {
            return true;
        }
    }
    return false;
}

// The only member that means something, or KZ_JSON_NONE.
static uint32_t find_only_member(const kz_schema *schema, uint32_t object) {
    uint32_t only = KZ_JSON_NONE;
    for (uint32_t i = value_at(schema, object)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        if (!is_annotation(schema, i)) {
            if (only != KZ_JSON_NONE) {
                return KZ_JSON_NONE;
            }
            only = i;
        }
    }
    return only;
}

// One step of a JSON pointer, "~1" and "~0" undone.
static bool takes_step(const kz_schema *schema, kz_json_text key, const char *step, size_t count) {
    const char *name = kz_json_string(&schema->tree, key);
    size_t j = 0;
    for (size_t i = 0; i < count; i++, j++) {
        char byte = step[i];
        if (byte == '~' && i + 1 < count && (step[i + 1] == '0' || step[i + 1] == '1')) {
            byte = step[++i] == '0' ? '~' : '/';
        }
        if (j == key.count || name[j] != byte) {
            return false;
        }
    }
    return j == key.count;
}

static uint32_t find_step(const kz_schema *schema, uint32_t value, const char *step, size_t count) {
    const bool is_array = value_at(schema, value)->kind == KZ_JSON_ARRAY;
    for (uint32_t i = value_at(schema, value)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        char index[KZ_NUMBER_BYTES];
        kz_number_write(value_at(schema, i)->index, 10, index);
        if (is_array ? strlen(index) == count && memcmp(index, step, count) == 0
                     : takes_step(schema, value_at(schema, i)->key, step, count)) {
            return i;
        }
    }
    return KZ_JSON_NONE;
}

static kazeia_status find_reference(const kz_schema *schema, uint32_t reference,
                                    uint32_t *out_value) {
    const kz_json_value *found = value_at(schema, reference);
    const char *pointer = kz_json_string(&schema->tree, found->text);
    uint32_t value = 0;
    if (found->kind != KZ_JSON_STRING || pointer[0] != '#') {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, reference,
                                "does not begin with '#': only references within the schema are "
                                "followed");
    }
    for (const char *step = pointer + 1; *step != '\0' && value != KZ_JSON_NONE;) {
        const size_t count = *step == '/' ? strcspn(step + 1, "/") : 0;
        value = *step == '/' ? find_step(schema, value, step + 1, count) : KZ_JSON_NONE;
        step += count + 1;
    }
    if (value == KZ_JSON_NONE) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, reference,
                                "refers to a place that the schema does not have");
    }
    *out_value = value;
    return KAZEIA_OK;
}

// Parts whose references and allOf are resolved, and the anyOf and oneOf that are still to choose.
typedef struct schema_facts {
    kz_schema_parts parts;
    uint32_t choices[CHOICE_LIMIT];
    uint32_t choice_count;
} schema_facts;

static kazeia_status add_facts(const kz_schema *schema, uint32_t value, uint32_t depth,
                               schema_facts *facts);

static kazeia_status add_all_of(const kz_schema *schema, uint32_t list, uint32_t depth,
                                schema_facts *facts) {
    if (list == KZ_JSON_NONE) {
        return KAZEIA_OK;
    }
    if (value_at(schema, list)->kind != KZ_JSON_ARRAY) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, list, "is no array of schemas");
    }
    for (uint32_t i = value_at(schema, list)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        KZ_TRY(add_facts(schema, i, depth, facts));
    }
    return KAZEIA_OK;
}

static kazeia_status add_choice(const kz_schema *schema, uint32_t list, schema_facts *facts) {
    if (list == KZ_JSON_NONE) {
        return KAZEIA_OK;
    }
    if (value_at(schema, list)->kind != KZ_JSON_ARRAY) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, list, "is no array of schemas");
    }
    if (facts->choice_count == CHOICE_LIMIT) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, list,
                                "is one of more than 8 choices for the same value");
    }
    facts->choices[facts->choice_count++] = list;
    return KAZEIA_OK;
}

static kazeia_status add_facts(const kz_schema *schema, uint32_t value, uint32_t depth,
                               schema_facts *facts) {
    const uint32_t count = facts->parts.count;
    if (depth == REFERENCE_DEPTH) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, value,
                                "is reached by more than 32 references within references");
    }
    KZ_TRY(kz_schema_add_part(schema, &facts->parts, value));
    if (facts->parts.count == count) {
        return KAZEIA_OK; // true, false, or there already: its references are followed already
    }
    KZ_TRY(check_keywords(schema, value));
    const uint32_t reference = kz_json_member(&schema->tree, value, "$ref");
    if (reference != KZ_JSON_NONE) {
        uint32_t target = 0;
        KZ_TRY(find_reference(schema, reference, &target));
        KZ_TRY(add_facts(schema, target, depth + 1, facts));
    }
    KZ_TRY(add_all_of(schema, kz_json_member(&schema->tree, value, "allOf"), depth + 1, facts));
    KZ_TRY(add_choice(schema, kz_json_member(&schema->tree, value, "anyOf"), facts));
    return add_choice(schema, kz_json_member(&schema->tree, value, "oneOf"), facts);
}

// --- Types --------------------------------------------------------------------------------------
static kazeia_status read_type_name(const kz_schema *schema, uint32_t value, uint32_t *types) {
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (value_at(schema, value)->kind == KZ_JSON_STRING &&
            is_text(schema, value_at(schema, value)->text, type_names[i].name)) {
            *types |= type_names[i].type;
            return KAZEIA_OK;
        }
    }
    return kz_schema_refuse(schema, KAZEIA_BAD_FILE, value,
                            "is no type: null, boolean, integer, number, string, array or object "
                            "expected");
}

static kazeia_status read_type(const kz_schema *schema, uint32_t value, uint32_t *out_types) {
    *out_types = 0;
    if (value_at(schema, value)->kind != KZ_JSON_ARRAY) {
        return read_type_name(schema, value, out_types);
    }
    for (uint32_t i = value_at(schema, value)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        KZ_TRY(read_type_name(schema, i, out_types));
    }
    return KAZEIA_OK;
}

static uint32_t implied_types(const kz_schema *schema, const kz_schema_parts *parts) {
    uint32_t types = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        for (size_t j = 0; j < sizeof keywords / sizeof keywords[0]; j++) {
            if (kz_json_member(&schema->tree, parts->values[i], keywords[j].name) != KZ_JSON_NONE) {
                types |= keywords[j].types;
            }
        }
    }
    return types == 0 ? (uint32_t)TYPE_ANY : types;
}

static kazeia_status find_types(const kz_schema *schema, const kz_schema_parts *parts,
                                bool *out_is_stated, uint32_t *out_types) {
    *out_is_stated = false;
    *out_types = UINT32_MAX;
    for (uint32_t i = 0; i < parts->count; i++) {
        const uint32_t value = kz_json_member(&schema->tree, parts->values[i], "type");
        uint32_t types = 0;
        if (value != KZ_JSON_NONE) {
            KZ_TRY(read_type(schema, value, &types));
            *out_types &= types;
            *out_is_stated = true;
        }
    }
    if (!*out_is_stated) {
        *out_types = implied_types(schema, parts);
    }
    return KAZEIA_OK;
}

// --- Listed values ------------------------------------------------------------------------------
static uint32_t type_of_value(const kz_schema *schema, uint32_t value) {
    static const uint32_t types[] = {TYPE_NULL,   TYPE_BOOLEAN, TYPE_BOOLEAN, TYPE_NUMBER,
                                     TYPE_STRING, TYPE_ARRAY,   TYPE_OBJECT};
    const kz_json_value *found = value_at(schema, value);
    double number = 0;
    if (found->kind == KZ_JSON_NUMBER &&
        kz_number_read(kz_json_string(&schema->tree, found->text), &number) && number > -1e18 &&
        number < 1e18 && number == (double)(int64_t)number) {
        return TYPE_INTEGER;
    }
    return types[found->kind];
}

// Keywords that could forbid a listed value are not looked at, so they may not stand beside it.
static kazeia_status refuse_beside(const kz_schema *schema, const kz_schema_parts *parts,
                                   uint32_t list) {
    for (uint32_t i = 0; i < parts->count; i++) {
        for (size_t j = 0; j < sizeof keywords / sizeof keywords[0]; j++) {
            const uint32_t found =
                keywords[j].types != 0
                    ? kz_json_member(&schema->tree, parts->values[i], keywords[j].name)
                    : KZ_JSON_NONE;
            if (found != KZ_JSON_NONE) {
                KZ_TRY(kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, list,
                                        "stands beside a keyword that restricts; only 'type' is "
                                        "supported beside it"));
            }
        }
    }
    return KAZEIA_OK;
}

static kazeia_status build_listed(kz_schema *schema, const kz_schema_parts *parts, uint32_t list,
                                  bool is_enum, uint32_t *out_node) {
    kz_node_list choices = {0};
    uint32_t types = 0;
    bool is_stated = false;
    KZ_TRY(refuse_beside(schema, parts, list));
    KZ_TRY(find_types(schema, parts, &is_stated, &types));
    if (is_enum && value_at(schema, list)->kind != KZ_JSON_ARRAY) {
        return kz_schema_refuse(schema, KAZEIA_BAD_FILE, list, "is no array of values");
    }
    for (uint32_t i = is_enum ? value_at(schema, list)->child : list; i != KZ_JSON_NONE;
         i = is_enum ? value_at(schema, i)->next : KZ_JSON_NONE) {
        if (!is_stated || (type_of_value(schema, i) & types) != 0) {
            kz_list_add(schema->builder, &choices, kz_schema_literal(schema, i));
        }
    }
    *out_node = kz_build_choice(schema->builder, &choices);
    return KAZEIA_OK;
}

// --- Values -------------------------------------------------------------------------------------
static kazeia_status add_type(kz_schema *schema, const kz_schema_parts *parts, uint32_t type,
                              kz_node_list *choices) {
    uint32_t node = KZ_GRAMMAR_EMPTY;
    switch (type) {
    case TYPE_NULL:
        node = kz_build_text(schema->builder, "null");
        break;
    case TYPE_BOOLEAN:
        node = kz_schema_prelude_node(schema, "boolean");
        break;
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        KZ_TRY(kz_schema_number(schema, parts, type == TYPE_INTEGER, &node));
        break;
    case TYPE_STRING:
        KZ_TRY(kz_schema_string(schema, parts, &node));
        break;
    case TYPE_ARRAY:
        KZ_TRY(kz_schema_array(schema, parts, &node));
        break;
    default:
        KZ_TRY(kz_schema_object(schema, parts, &node));
        break;
    }
    kz_list_add(schema->builder, choices, node);
    return KAZEIA_OK;
}

static kazeia_status build_plain(kz_schema *schema, const kz_schema_parts *parts,
                                 uint32_t *out_node) {
    kz_node_list choices = {0};
    uint32_t types = 0, list = KZ_JSON_NONE, constant = KZ_JSON_NONE;
    bool is_stated = false;
    if (parts->is_impossible) {
        *out_node = kz_build_choice(schema->builder, &choices);
        return KAZEIA_OK;
    }
    KZ_TRY(kz_schema_only_member(schema, parts, "enum", &list));
    KZ_TRY(kz_schema_only_member(schema, parts, "const", &constant));
    if (list != KZ_JSON_NONE && constant != KZ_JSON_NONE) {
        return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, list,
                                "stands beside 'const'; one of both is supported");
    }
    if (list != KZ_JSON_NONE || constant != KZ_JSON_NONE) {
        return build_listed(schema, parts, list != KZ_JSON_NONE ? list : constant,
                            list != KZ_JSON_NONE, out_node);
    }
    KZ_TRY(find_types(schema, parts, &is_stated, &types));
    if ((types & TYPE_NUMBER) != 0) {
        types &= ~(uint32_t)TYPE_INTEGER;
    }
    for (uint32_t type = TYPE_NULL; type <= TYPE_OBJECT; type *= 2) {
        if ((types & type) != 0) {
            KZ_TRY(add_type(schema, parts, type, &choices));
        }
    }
    *out_node = kz_build_choice(schema->builder, &choices);
    return KAZEIA_OK;
}

// Chooses a branch of the last anyOf, then of the others; `left` bounds the branches in all.
static kazeia_status build_choices(kz_schema *schema, const schema_facts *facts, uint32_t *left,
                                   kz_node_list *choices) {
    if (facts->choice_count == 0) {
        uint32_t node = KZ_GRAMMAR_EMPTY;
        KZ_TRY(build_plain(schema, &facts->parts, &node));
        kz_list_add(schema->builder, choices, node);
        return schema->builder->status;
    }
    const uint32_t list = facts->choices[facts->choice_count - 1];
    for (uint32_t i = value_at(schema, list)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        schema_facts chosen = *facts;
        if ((*left)-- == 0) {
            *left = 0;
            return kz_schema_refuse(schema, KAZEIA_UNSUPPORTED, list,
                                    "makes more than 4096 choices for the same value");
        }
        chosen.choice_count--;
        KZ_TRY(add_facts(schema, i, 0, &chosen));
        // A branch that adds the choice itself would go round for ever.
        if (chosen.choice_count > 0 && chosen.choices[chosen.choice_count - 1] == list) {
            return kz_schema_refuse(schema, KAZEIA_BAD_FILE, list, "chooses itself");
        }
        KZ_TRY(build_choices(schema, &chosen, left, choices));
    }
    return KAZEIA_OK;
}

// A choice between schemas with nothing beside it: each branch has its own rule, shared with others
// that refer to it.
static bool is_bare_choice(const kz_schema *schema, const kz_schema_parts *parts,
                           const schema_facts *facts) {
    return parts->count == 1 && facts->parts.count == 1 && facts->choice_count == 1 &&
           find_only_member(schema, parts->values[0]) == facts->choices[0];
}

static kazeia_status build_bare_choice(kz_schema *schema, uint32_t list, kz_node_list *choices) {
    for (uint32_t i = value_at(schema, list)->child; i != KZ_JSON_NONE;
         i = value_at(schema, i)->next) {
        kz_schema_parts branch = {.count = 0};
        uint32_t node = KZ_GRAMMAR_EMPTY;
        KZ_TRY(kz_schema_add_part(schema, &branch, i));
        KZ_TRY(kz_schema_value_node(schema, &branch, &node));
        kz_list_add(schema->builder, choices, node);
    }
    return KAZEIA_OK;
}

static kazeia_status build_body(kz_schema *schema, const kz_schema_parts *parts,
                                uint32_t *out_node) {
    schema_facts facts = {.choice_count = 0};
    kz_node_list choices = {0};
    uint32_t left = BRANCH_LIMIT;
    facts.parts.is_impossible = parts->is_impossible;
    for (uint32_t i = 0; i < parts->count; i++) {
        KZ_TRY(add_facts(schema, parts->values[i], 0, &facts));
    }
    if (is_bare_choice(schema, parts, &facts)) {
        KZ_TRY(build_bare_choice(schema, facts.choices[0], &choices));
    } else {
        KZ_TRY(build_choices(schema, &facts, &left, &choices));
    }
    *out_node = kz_build_choice(schema->builder, &choices);
    return schema->builder->status;
}

// --- Rules --------------------------------------------------------------------------------------
uint32_t kz_schema_prelude_node(kz_schema *schema, const char *name) {
    return kz_build_rule(schema->builder,
                         kz_builder_find_rule(schema->builder, name, strlen(name)));
}

static uint32_t find_work(const kz_schema *schema, const kz_schema_parts *parts) {
    if (parts->count == 1 && !parts->is_impossible) {
        return schema->rule_of_value[parts->values[0]];
    }
    for (uint32_t i = 0; i < schema->work_count; i++) {
        const kz_schema_parts *known = &schema->work[i].parts;
        if (known->count == parts->count && known->is_impossible == parts->is_impossible &&
            memcmp(known->values, parts->values, parts->count * sizeof *parts->values) == 0) {
            return schema->work[i].rule + 1;
        }
    }
    return 0;
}

static kazeia_status add_work(kz_schema *schema, const kz_schema_parts *parts, uint32_t *out_rule) {
    char path[KZ_SCHEMA_PATH_BYTES] = "false";
    if (parts->count > 0) {
        kz_schema_path(schema, parts->values[0], path);
    }
    const uint32_t rule = kz_builder_hidden_rule(schema->builder, path);
    KZ_TRY(schema->builder->status);
    if (schema->work_count == schema->work_capacity) {
        const uint32_t larger = schema->work_capacity < 64 ? 64 : schema->work_capacity * 2;
        KZ_TRY(kz_realloc(&schema->builder->allocator, schema->work_capacity, larger,
                          sizeof *schema->work, "schema", (void **)&schema->work));
        schema->work_capacity = larger;
    }
    schema->work[schema->work_count++] = (kz_schema_work){*parts, rule};
    if (parts->count == 1 && !parts->is_impossible) {
        schema->rule_of_value[parts->values[0]] = rule + 1;
    }
    *out_rule = rule;
    return KAZEIA_OK;
}

// A schema that only refers to another one is that one: all who refer to it share its rule.
static kazeia_status skip_references(const kz_schema *schema, kz_schema_parts *parts) {
    for (uint32_t i = 0; parts->count == 1; i++) {
        const uint32_t only = find_only_member(schema, parts->values[0]);
        uint32_t target = 0;
        if (i == REFERENCE_DEPTH) {
            return kz_schema_refuse(schema, KAZEIA_BAD_FILE, parts->values[0],
                                    "only leads to itself, or by more than 32 references");
        }
        if (only == KZ_JSON_NONE || !is_text(schema, value_at(schema, only)->key, "$ref")) {
            break;
        }
        KZ_TRY(find_reference(schema, only, &target));
        parts->count = 0;
        KZ_TRY(kz_schema_add_part(schema, parts, target));
    }
    return KAZEIA_OK;
}

kazeia_status kz_schema_value_node(kz_schema *schema, const kz_schema_parts *given,
                                   uint32_t *out_node) {
    kz_schema_parts resolved = *given;
    const kz_schema_parts *parts = &resolved;
    KZ_TRY(skip_references(schema, &resolved));
    if (parts->count == 0 && !parts->is_impossible) {
        *out_node = kz_schema_prelude_node(schema, "value");
        return KAZEIA_OK;
    }
    uint32_t rule = find_work(schema, parts);
    if (rule == 0) {
        KZ_TRY(add_work(schema, parts, &rule));
        rule++;
    }
    *out_node = kz_build_rule(schema->builder, rule - 1);
    return KAZEIA_OK;
}

static kazeia_status build_rules(kz_schema *schema, uint32_t *out_root) {
    kz_schema_parts whole = {.count = 0};
    uint32_t root = KZ_GRAMMAR_EMPTY;
    KZ_TRY(kz_gbnf_read(schema->builder, prelude, sizeof prelude - 1));
    for (uint32_t i = 0; i < schema->builder->rule_count; i++) {
        schema->builder->rules[i].line = 0; // the prelude's lines say nothing to anybody
    }
    for (size_t i = 0; i < sizeof called / sizeof called[0]; i++) {
        const uint32_t rule = kz_builder_find_rule(schema->builder, called[i], strlen(called[i]));
        schema->builder->rules[rule].is_called = true;
    }
    KZ_TRY(kz_schema_add_part(schema, &whole, 0));
    KZ_TRY(kz_schema_value_node(schema, &whole, &root));
    for (uint32_t i = 0; i < schema->work_count; i++) {
        const kz_schema_work work = schema->work[i];
        uint32_t body = KZ_GRAMMAR_EMPTY;
        KZ_TRY(build_body(schema, &work.parts, &body));
        schema->builder->rules[work.rule].body = body;
    }
    KZ_TRY(schema->builder->status);
    *out_root = kz_builder_hidden_rule(schema->builder, "the whole schema");
    KZ_TRY(schema->builder->status);
    schema->builder->rules[*out_root].body = root;
    return KAZEIA_OK;
}

static kazeia_status compile(kz_schema *schema, const char *text, size_t bytes,
                             kz_grammar **out_grammar) {
    uint32_t root = 0;
    KZ_TRY(schema->builder->status);
    KZ_TRY(kz_json_tree_read(text, bytes, &schema->builder->allocator, &schema->tree));
    KZ_TRY(kz_alloc(&schema->builder->allocator, schema->tree.count, sizeof(uint32_t), "schema",
                    (void **)&schema->rule_of_value));
    KZ_TRY(build_rules(schema, &root));
    return kz_grammar_finish(schema->builder, root, out_grammar);
}

kazeia_status kz_grammar_compile_json_schema(const char *text, size_t bytes,
                                             const kazeia_allocator *allocator,
                                             kz_grammar **out_grammar) {
    kz_grammar_builder builder;
    kz_builder_init(&builder, "schema", allocator);
    kz_schema schema = {.builder = &builder, .tree = {.allocator = builder.allocator}};
    const kazeia_status status = compile(&schema, text, bytes, out_grammar);
    kz_free(&builder.allocator, schema.work);
    kz_free(&builder.allocator, schema.rule_of_value);
    kz_json_tree_clear(&schema.tree);
    kz_builder_clear(&builder);
    return status;
}
