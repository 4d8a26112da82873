// cmd_inspect.c: kazeia inspect.
//
// in:  a program file
// out: what it holds and needs, for people or as JSON; with --verify also whether every byte is
// right
//
// People get states summed up by type and the tensors of equal layers on one line: a list of
// hundreds of lines says less.
#include <string.h>

#include "cli.h"
#include "description.h"
#include "engine.h"
#include "output.h"
#include "tensor_tree.h"

#define LONGEST_VALUE 60

static kazeia_status print_value(cli_run *run, const char *key, const json_t *value) {
    if (json_is_array(value)) {
        return cli_print(&run->failure, "  %-26s (%zu values)\n", key, json_array_size(value));
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    const size_t length = text == NULL ? 0 : strlen(text);
    size_t kept = length <= LONGEST_VALUE ? length : LONGEST_VALUE;
    // Back to the start of the character that the cut would split.
    while (kept < length && ((unsigned char)text[kept] & 0xc0) == 0x80) {
        kept--;
    }
    const kazeia_status status = cli_print(&run->failure, "  %-26s %.*s%s\n", key, (int)kept,
                                           text == NULL ? "" : text, kept < length ? "..." : "");
    free(text);
    return status;
}

static kazeia_status print_metadata(cli_run *run, json_t *metadata) {
    const char *key = NULL;
    json_t *value = NULL;
    CLI_TRY(cli_print(&run->failure, "metadata\n"));
    json_object_foreach(metadata, key, value) {
        CLI_TRY(print_value(run, key, value));
    }
    return KAZEIA_OK;
}

static kazeia_status print_names(cli_run *run, const json_t *ports) {
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *name = json_object_get(json_array_get(ports, i), "name");
        CLI_TRY(cli_print(&run->failure, "%s%s", i == 0 ? "" : ", ", json_string_value(name)));
    }
    return KAZEIA_OK;
}

static kazeia_status print_methods(cli_run *run, const json_t *methods) {
    size_t i = 0;
    const json_t *method = NULL;
    CLI_TRY(cli_print(&run->failure, "methods\n"));
    json_array_foreach(methods, i, method) {
        CLI_TRY(cli_print(&run->failure, "  %-18s (",
                          json_string_value(json_object_get(method, "name"))));
        CLI_TRY(print_names(run, json_object_get(method, "inputs")));
        CLI_TRY(cli_print(&run->failure, ") -> ("));
        CLI_TRY(print_names(run, json_object_get(method, "outputs")));
        CLI_TRY(cli_print(&run->failure, "), %zu instructions\n",
                          json_array_size(json_object_get(method, "instructions"))));
    }
    return KAZEIA_OK;
}

// Sizes of tensors are below 2^53, where a double is exact.
static double number_of(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

// Sums up `items` by the text under `key`: {KEY: [count, bytes]}.
static json_t *sums_by(const json_t *items, const char *key) {
    json_t *sums = json_object();
    size_t i = 0;
    const json_t *item = NULL;
    json_array_foreach(items, i, item) {
        const char *name = json_string_value(json_object_get(item, key));
        const json_t *before = json_object_get(sums, name == NULL ? "" : name);
        const double count = json_number_value(json_array_get(before, 0)) + 1;
        const double bytes =
            json_number_value(json_array_get(before, 1)) + number_of(item, "bytes");
        // Objects keep the order of first mention, which is the order of the file.
        (void)json_object_set_new(sums, name == NULL ? "" : name,
                                  json_pack("[f, f]", count, bytes));
    }
    return sums;
}

static kazeia_status print_sum(cli_run *run, const char *name, const json_t *sum) {
    CLI_TRY(cli_print(&run->failure, "  %-18s %5.0f   ", name,
                      json_number_value(json_array_get(sum, 0))));
    CLI_TRY(cli_print_size(run, json_number_value(json_array_get(sum, 1))));
    return cli_print(&run->failure, "\n");
}

static kazeia_status print_sums(cli_run *run, const char *title, const json_t *items,
                                const char *key) {
    json_t *sums = sums_by(items, key);
    const char *name = NULL;
    json_t *sum = NULL;
    kazeia_status status = cli_print(&run->failure, "%s\n", title);
    json_object_foreach(sums, name, sum) {
        if (status == KAZEIA_OK) {
            status = print_sum(run, name, sum);
        }
    }
    json_decref(sums);
    return status;
}

static const char *remark_on_memory(const char *name) {
    if (strcmp(name, "weights") == 0) {
        return ", mapped and shared";
    }
    return strcmp(name, "session") == 0 ? ", all that one conversation or stream takes" : "";
}

static kazeia_status print_memory(cli_run *run, json_t *memory) {
    const char *name = NULL;
    json_t *bytes = NULL;
    CLI_TRY(cli_print(&run->failure, "memory\n"));
    json_object_foreach(memory, name, bytes) {
        CLI_TRY(cli_print(&run->failure, "  %-18s ", name));
        CLI_TRY(cli_print_size(run, json_number_value(bytes)));
        CLI_TRY(cli_print(&run->failure, "%s\n", remark_on_memory(name)));
    }
    return KAZEIA_OK;
}

static kazeia_status print_for_people(cli_run *run, const kazeia_program *program,
                                      const json_t *description) {
    const char *ability = kazeia_program_ability(program);
    CLI_TRY(cli_print(&run->failure, "%s: program of format version %.0f, id %s, ability: %s\n",
                      run->options.arguments[0], number_of(description, "format_version"),
                      json_string_value(json_object_get(description, "id")),
                      ability[0] == '\0' ? "none" : ability));
    CLI_TRY(print_metadata(run, json_object_get(description, "metadata")));
    CLI_TRY(print_methods(run, json_object_get(description, "methods")));
    CLI_TRY(print_sums(run, "states", json_object_get(description, "states"), "type"));
    CLI_TRY(cli_print(&run->failure, "tensors\n"));
    CLI_TRY(cli_print_tensor_tree(run, json_object_get(description, "tensors"),
                                  run->options.is_every_tensor));
    CLI_TRY(print_sums(run, "formats", json_object_get(description, "tensors"), "format"));
    CLI_TRY(print_memory(run, json_object_get(description, "memory")));
    return run->options.is_verifying ? cli_print(&run->failure, "every checksum is right\n")
                                     : KAZEIA_OK;
}

static kazeia_status inspect(cli_run *run, const kazeia_program *program) {
    json_t *description = NULL;
    // First: what a damaged file says about itself is not worth printing.
    if (run->options.is_verifying) {
        CLI_TRY(cli_checked(run, kazeia_program_verify(program)));
    }
    CLI_TRY(cli_describe(run, program, &description));
    json_t *memory = json_object_get(description, "memory");
    (void)json_object_set_new(memory, "session",
                              json_integer((json_int_t)kazeia_program_session_bytes(program)));
    if (!run->options.is_json) {
        const kazeia_status status = print_for_people(run, program, description);
        json_decref(description);
        return status;
    }
    if (run->options.is_verifying) {
        (void)json_object_set_new(description, "verified", json_true());
    }
    return cli_print_json(description, &run->failure);
}

kazeia_status cli_inspect(cli_run *run) {
    kazeia_program *program = NULL;
    CLI_TRY(cli_program_open(run, run->options.arguments[0], NULL, &program));
    const kazeia_status status = inspect(run, program);
    kazeia_program_close(program);
    return status;
}
