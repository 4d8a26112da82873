// test_export.c: exports that go wrong: what is left of the program, and what is said.
//
// in:  tests/golden/llama, tests/golden/whisper, tests/golden/checkpoint
// out: cmocka's report
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint_samples.h"
#include "exporter/checkpoint/cursor.h"
#include "format/reader.h"
#include "kazeia/export.h"
#include "model_graphs.h"

#define PATH_BYTES SAMPLE_PATH_BYTES
#define KILLS 50
#define DISK_BYTES ((rlim_t)100 * 1024)

static char folder[PATH_BYTES];
static char output[PATH_BYTES + 16];

static int make_folder(void **state) {
    (void)state;
    sample_folder_create(folder);
    snprintf(output, sizeof output, "%s/m.kzp", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    sample_folder_remove(folder);
    return 0;
}

static kazeia_export_settings settings_of(const char *source) {
    kazeia_export_settings settings = kazeia_export_settings_default();
    settings.source = source;
    settings.output = output;
    return settings;
}

// The id of the program, every byte of which was verified; 0 when there is none.
static uint64_t whole_program(const char *path) {
    kz_program_file *file = NULL;
    if (access(path, F_OK) != 0) {
        return 0;
    }
    CHECK(kz_program_file_open(path, NULL, &file));
    CHECK(kz_program_file_verify(file));
    const uint64_t id = kz_program_file_id(file);
    kz_program_file_close(file);
    return id;
}

static void refuse(const kazeia_export_settings *settings, kazeia_status status,
                   const char *words) {
    assert_int_equal(kazeia_export(settings), status);
    if (strstr(kazeia_last_error(), words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", kazeia_last_error(), words);
    }
}

// --- Arguments ----------------------------------------------------------------------------------

static void wrong_settings_are_refused(void **state) {
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    (void)state;
    settings.weights = "q5";
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "'q5' is none of");
    settings = settings_of(TINY_LLAMA);
    settings.kv = "q8";
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "'q8' is none of f16");
    settings = settings_of(TINY_LLAMA);
    settings.mode = "both";
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "'both' is none of");
    settings = settings_of(TINY_LLAMA);
    settings.context = 513;
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "513 asked for, the model has 512");
    settings = settings_of(TINY_LLAMA);
    settings.shard_count = 65;
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "65 asked for, at most 64");
    settings = settings_of(TINY_LLAMA);
    settings.recipe = "no/such/recipe";
    refuse(&settings, KAZEIA_NOT_FOUND, "no/such/recipe");
    settings = settings_of("no/such/source");
    refuse(&settings, KAZEIA_NOT_FOUND, "no/such/source");
    settings = settings_of(NULL);
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "source");
    assert_int_equal(whole_program(output), 0);
}

static void outputs_that_cannot_be_are_refused(void **state) {
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    (void)state;
    settings.output = "no/such/folder/m.kzp";
    refuse(&settings, KAZEIA_NOT_FOUND, "no/such/folder");
    settings.output = folder;
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "folder");
    settings.output = "/dev/null";
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "/dev/null");
}

static void copy_file(const char *from_folder, const char *name) {
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", from_folder, name);
    byte_string bytes = bytes_of_file(path);
    sample_file_write(folder, name, bytes.bytes, bytes.count);
    bytes_clear(&bytes);
}

static void copy_llama(void) {
    copy_file(TINY_LLAMA, "config.json");
    copy_file(TINY_LLAMA, "model.safetensors");
    copy_file(TINY_LLAMA, "tokenizer.json");
}

static void the_source_is_never_the_output(void **state) {
    static const char *const names[] = {"model.safetensors", "config.json", "tokenizer.json"};
    char path[PATH_BYTES + 32], link_path[PATH_BYTES + 32];
    (void)state;
    copy_llama();
    kazeia_export_settings settings = settings_of(folder);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/./%s", folder, names[i]);
        settings.output = path;
        refuse(&settings, KAZEIA_BAD_ARGUMENT, "is a file of the checkpoint itself");
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    snprintf(link_path, sizeof link_path, "%s/linked.kzp", folder);
    assert_int_equal(symlink(path, link_path), 0);
    settings.output = link_path;
    refuse(&settings, KAZEIA_BAD_ARGUMENT, "is a file of the checkpoint itself");
    settings = settings_of(folder);
    CHECK(kazeia_export(&settings)); // beside it is fine
    assert_int_not_equal(whole_program(output), 0);
}

// --- Folders ------------------------------------------------------------------------------------

static void tokenizers_that_cannot_be_used_are_refused(void **state) {
    kazeia_export_settings settings = settings_of(folder);
    (void)state;
    copy_file(TINY_LLAMA, "config.json");
    copy_file(TINY_LLAMA, "model.safetensors");
    CHECK(kazeia_export(&settings)); // none at all: the program takes ids
    sample_file_write(folder, "vocab.json", "{}", 2);
    sample_file_write(folder, "merges.txt", "a b\n", 4);
    refuse(&settings, KAZEIA_UNSUPPORTED, "its tokenizer is 'vocab.json'");
    refuse(&settings, KAZEIA_UNSUPPORTED, "expected tokenizer.json");
    copy_file(TINY_LLAMA, "tokenizer.json");
    CHECK(kazeia_export(&settings));
}

static void origin_is_kept(void **state) {
    static const char card[] = "---\nlanguage:\n- fr\nlicense: 'apache-2.0'\n---\nlicense: none\n";
    kazeia_export_settings settings = settings_of(folder);
    kz_program_file *file = NULL;
    (void)state;
    copy_llama();
    sample_file_write(folder, "README.md", card, sizeof card - 1);
    CHECK(kazeia_export(&settings));
    CHECK(kz_program_file_open(output, NULL, &file));
    const kz_program_description *description = kz_program_file_description(file);
    assert_string_equal(kz_metadata_find(description, "general.name")->string,
                        strrchr(folder, '/') + 1);
    assert_string_equal(kz_metadata_find(description, "general.license")->string, "apache-2.0");
    kz_program_file_close(file);
    sample_file_write(folder, "README.md", "license: mit\n", 13); // no front matter
    CHECK(kazeia_export(&settings));
    CHECK(kz_program_file_open(output, NULL, &file));
    assert_null(kz_metadata_find(kz_program_file_description(file), "general.license"));
    kz_program_file_close(file);
}

static void replace_in_config(const char *from, const char *to) {
    byte_string bytes = bytes_of_file(TINY_LLAMA "/config.json");
    char text[4096], changed[4096];
    assert_true(bytes.count < sizeof text);
    memcpy(text, bytes.bytes, bytes.count);
    text[bytes.count] = '\0';
    char *place = strstr(text, from);
    assert_non_null(place);
    const int length = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to,
                                place + strlen(from));
    sample_file_write(folder, "config.json", changed, (size_t)length);
    bytes_clear(&bytes);
}

static void other_arithmetic_is_refused(void **state) {
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"\"attention_bias\": false", "\"attention_bias\": true", "'attention_bias' is true"},
        {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"", "hidden_act is 'relu'"},
        {"\"rope_scaling\": null", "\"rope_scaling\": {\"rope_type\": \"llama3\"}", "no 'factor'"},
        {"\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"linear\"}", "no 'factor'"},
        {"\"rope_scaling\": null", "\"rope_parameters\": {\"rope_type\": \"yarn\"}", "'yarn'"},
        {"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", "lm_head.weight"},
        {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4", "model.layers.3."},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "expected 192"},
        {"\"hidden_size\": 96", "\"hidden_size\": 97", "model.embed_tokens.weight"},
        {"\"intermediate_size\": 256", "\"intermediate_size\": 0", "'intermediate_size' is 0"},
        {"\"head_dim\": 16", "\"head_dim\": 15", "do not make a Llama"},
        {"\"model_type\": \"llama\"", "\"model_type\": \"mixtral\"", "'mixtral'"},
    };
    kazeia_export_settings settings = settings_of(folder);
    (void)state;
    copy_llama();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        replace_in_config(cases[i].from, cases[i].to);
        assert_int_not_equal(kazeia_export(&settings), KAZEIA_OK);
        if (strstr(kazeia_last_error(), cases[i].words) == NULL) {
            fail_msg("%s: '%s' says nothing of '%s'", cases[i].to, kazeia_last_error(),
                     cases[i].words);
        }
    }
    assert_int_equal(whole_program(output), 0);
}

static void unknown_models_are_named(void **state) {
    kazeia_export_settings settings = settings_of(folder);
    (void)state;
    copy_llama();
    replace_in_config("\"model_type\": \"llama\"", "\"model_type\": \"strange\"");
    refuse(&settings, KAZEIA_UNSUPPORTED, "architecture 'strange'");
    refuse(&settings, KAZEIA_UNSUPPORTED, "can be exported: gemma3, kokoro, llama, ");
    settings = settings_of("tests/golden/speech/background_noise.wav");
    refuse(&settings, KAZEIA_UNSUPPORTED, "expected GGUF");
}

// Heads of 6 elements have no place for their scales.
static void int8_caches_need_whole_words(void **state) {
    kazeia_export_settings settings = settings_of(folder);
    (void)state;
    copy_llama();
    replace_in_config("\"head_dim\": 16", "\"head_dim\": 6");
    settings.kv = "int8";
    refuse(&settings, KAZEIA_UNSUPPORTED, "heads of 6 elements");
}

// --- One file, a folder, shards of tensors ------------------------------------------------------

// Writes every second tensor into its own file of the two, as save_pretrained shards a model.
static void write_shard(const byte_string *whole, size_t part, json_t *map) {
    const uint64_t header_bytes = kz_read_u64(whole->bytes);
    json_t *header = json_loadb((const char *)whole->bytes + 8, (size_t)header_bytes, 0, NULL);
    const uint8_t *tensors = whole->bytes + 8 + header_bytes;
    json_t *own = json_object(), *entry = NULL;
    byte_string bytes = {0}, file = {0};
    const char *name = NULL;
    size_t index = 0;
    char file_name[64];
    snprintf(file_name, sizeof file_name, "model-0000%zu-of-00002.safetensors", part + 1);
    json_object_foreach(header, name, entry) {
        json_t *offsets = json_object_get(entry, "data_offsets");
        if (!offsets || index++ % 2 != part) {
            continue;
        }
        const size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
        const size_t end = (size_t)json_integer_value(json_array_get(offsets, 1));
        json_t *copy = json_deep_copy(entry);
        json_object_set_new(
            copy, "data_offsets",
            json_pack("[I, I]", (json_int_t)bytes.count, (json_int_t)(bytes.count + end - begin)));
        json_object_set_new(own, name, copy);
        json_object_set_new(map, name, json_string(file_name));
        bytes_append(&bytes, tensors + begin, end - begin);
    }
    char *text = json_dumps(own, JSON_COMPACT);
    bytes_u64(&file, strlen(text));
    bytes_append_text(&file, text);
    bytes_append(&file, bytes.bytes, bytes.count);
    sample_file_write(folder, file_name, file.bytes, file.count);
    free(text);
    bytes_clear(&file);
    bytes_clear(&bytes);
    json_decref(own);
    json_decref(header);
}

static void write_sharded(void) {
    byte_string whole = bytes_of_file(TINY_LLAMA "/model.safetensors");
    json_t *index = json_pack("{s:{}, s:{}}", "metadata", "weight_map");
    for (size_t part = 0; part < 2; part++) {
        write_shard(&whole, part, json_object_get(index, "weight_map"));
    }
    char *text = json_dumps(index, 0);
    sample_file_write(folder, "model.safetensors.index.json", text, strlen(text));
    free(text);
    json_decref(index);
    bytes_clear(&whole);
}

// Bytes of all tensors: the same model gives the same, whatever its name is.
static uint64_t weights_checksum(void) {
    kz_program_file *file = NULL;
    CHECK(kz_program_file_open(output, NULL, &file));
    const uint64_t checksum = kz_program_file_description(file)->contexts[0].checksum;
    kz_program_file_close(file);
    return checksum;
}

static void one_file_a_folder_and_shards_are_one_model(void **state) {
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    (void)state;
    CHECK(kazeia_export(&settings));
    const uint64_t checksum = weights_checksum();
    settings.source = TINY_LLAMA "/model.safetensors";
    CHECK(kazeia_export(&settings));
    assert_true(weights_checksum() == checksum);
    copy_file(TINY_LLAMA, "config.json");
    copy_file(TINY_LLAMA, "tokenizer.json");
    write_sharded();
    settings.source = folder;
    CHECK(kazeia_export(&settings));
    assert_true(weights_checksum() == checksum);
}

// --- Disk, writers, kills -----------------------------------------------------------------------

static size_t count_files(void) {
    size_t count = 0;
    char command[PATH_BYTES + 32];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%zu", &count), 1);
    pclose(pipe);
    return count;
}

// A child whose files may not grow as large as the program: what a full disk does.
static int export_on_a_full_disk(const kazeia_export_settings *settings) {
    const struct rlimit limit = {DISK_BYTES, DISK_BYTES};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 2;
    }
    const kazeia_status status = kazeia_export(settings);
    return status == KAZEIA_IO && strstr(kazeia_last_error(), output) ? 0 : 1;
}

static void a_full_disk_leaves_nothing(void **state) {
    const kazeia_export_settings settings = settings_of(TINY_LLAMA);
    int status = 0;
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(export_on_a_full_disk(&settings));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(count_files(), 0);
}

typedef struct stopper {
    size_t calls_left;
    uint64_t bytes_done, bytes_total;
    size_t last_calls; // with 0 bytes of 0: all is on the disk
    bool stops_at_last;
} stopper;

static kazeia_status count_down(void *context, uint64_t bytes_done, uint64_t bytes_total,
                                const char *tensor) {
    stopper *s = context;
    assert_non_null(tensor);
    if (bytes_total == 0) {
        assert_true(s->bytes_done == s->bytes_total);
        s->last_calls++;
        return s->stops_at_last ? kz_fail(KAZEIA_CANCELLED, "asked for") : KAZEIA_OK;
    }
    assert_true(bytes_done > s->bytes_done && bytes_done <= bytes_total);
    s->bytes_done = bytes_done;
    s->bytes_total = bytes_total;
    return s->calls_left-- > 0 ? KAZEIA_OK : kz_fail(KAZEIA_CANCELLED, "asked for");
}

static void a_stopped_export_leaves_the_old_program(void **state) {
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    stopper s = {.calls_left = SIZE_MAX};
    (void)state;
    settings.progress = count_down;
    settings.progress_context = &s;
    CHECK(kazeia_export(&settings));
    assert_true(s.bytes_done == s.bytes_total);
    assert_int_equal(s.last_calls, 1);
    const uint64_t id = whole_program(output);
    s = (stopper){.calls_left = 20};
    settings.weights = "f32";
    assert_int_equal(kazeia_export(&settings), KAZEIA_CANCELLED);
    assert_true(whole_program(output) == id);
    assert_int_equal(count_files(), 1);
    // All bytes written and flushed, the name not yet taken.
    for (uint32_t shards = 1; shards <= 4; shards += 3) {
        s = (stopper){.calls_left = SIZE_MAX, .stops_at_last = true};
        settings.shard_count = shards;
        assert_int_equal(kazeia_export(&settings), KAZEIA_CANCELLED);
        assert_true(whole_program(output) == id);
        assert_int_equal(count_files(), 1);
    }
}

// A second export to the same path, begun while the first is at work.
static kazeia_status export_again(void *context, uint64_t bytes_done, uint64_t bytes_total,
                                  const char *tensor) {
    bool *has_tried = context;
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    (void)bytes_total;
    (void)bytes_done;
    (void)tensor;
    if (!*has_tried) {
        *has_tried = true;
        settings.shard_count = 4;
        refuse(&settings, KAZEIA_BUSY, "being written by another export");
    }
    return KAZEIA_OK;
}

static void one_export_to_a_path_at_a_time(void **state) {
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    bool has_tried = false;
    (void)state;
    settings.progress = export_again;
    settings.progress_context = &has_tried;
    settings.shard_count = 2;
    CHECK(kazeia_export(&settings));
    assert_true(has_tried);
    assert_int_not_equal(whole_program(output), 0);
    assert_int_equal(count_files(), 3);
}

static uint64_t now_ns(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Exports in a child that is killed after `delay_ns`.
static void export_and_kill(const kazeia_export_settings *settings, uint64_t delay_ns) {
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(kazeia_export(settings) == KAZEIA_OK ? 0 : 1);
    }
    const struct timespec delay = {(time_t)(delay_ns / 1000000000u),
                                   (long)(delay_ns % 1000000000u)};
    (void)nanosleep(&delay, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

static void kill_in_a_loop(uint32_t shard_count) {
    static const char *const weights[] = {"f32", "q8", "f16", "bf16"};
    uint64_t ids[4];
    size_t kept = 0, replaced = 0;
    uint32_t seed = 7 + shard_count;
    kazeia_export_settings settings = settings_of(TINY_LLAMA);
    settings.shard_count = shard_count;
    uint64_t duration_ns = 0;
    for (size_t i = 0; i < 4; i++) {
        settings.weights = weights[i];
        const uint64_t start = now_ns();
        CHECK(kazeia_export(&settings));
        duration_ns = now_ns() - start;
        ids[i] = whole_program(output);
    }
    size_t present = 3;
    for (size_t round = 0; round < KILLS; round++) {
        seed = seed * 1664525u + 1013904223u;
        const size_t next = (present + 1) % 4;
        settings.weights = weights[next];
        export_and_kill(&settings, duration_ns * (seed >> 16) / 45000);
        const uint64_t found = whole_program(output);
        assert_true(found == ids[present] || found == ids[next]);
        kept += found == ids[present];
        replaced += found == ids[next];
        present = found == ids[next] ? next : present;
    }
    print_message("%u shards: %d kills, %zu left the old program, %zu the new one\n", shard_count,
                  KILLS, kept, replaced);
    assert_true(kept > 0);
    CHECK(kazeia_export(&settings)); // and tidies what the killed ones left
    assert_int_equal(count_files(), shard_count > 1 ? 1 + shard_count : 1);
}

static void kills_leave_a_whole_program(void **state) {
    (void)state;
    kill_in_a_loop(1);
}

static void kills_leave_a_whole_sharded_program(void **state) {
    (void)state;
    kill_in_a_loop(4);
}

// --- Memory -------------------------------------------------------------------------------------

static void each_allocation_may_fail(void **state) {
    static const char *const sources[] = {TINY_LLAMA, TINY_WHISPER,
                                          "tests/golden/llama/gguf/llama-tiny-Q4_1.gguf"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kazeia_export_settings settings = settings_of(sources[i]);
        kazeia_status status = KAZEIA_OUT_OF_MEMORY;
        size_t calls = 0;
        for (; status != KAZEIA_OK; calls++) {
            byte_counter counter;
            const kazeia_allocator memory = byte_counter_allocator(&counter, calls);
            settings.allocator = &memory;
            status = kazeia_export(&settings);
            if (status != KAZEIA_OK && status != KAZEIA_OUT_OF_MEMORY) {
                fail_msg("%s, allocation %zu: %s", sources[i], calls, kazeia_last_error());
            }
            assert_int_equal(counter.live_bytes, 0);
            assert_true(calls < 2000);
        }
        print_message("%s: %zu allocations\n", sources[i], calls);
        assert_int_not_equal(whole_program(output), 0);
    }
}

static void a_whisper_takes_no_options_of_a_chat(void **state) {
    kazeia_export_settings settings = settings_of("tests/golden/whisper/tiny");
    (void)state;
    settings.mode = "kv";
    assert_int_equal(kazeia_export(&settings), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "a Whisper has one mode"));
    settings.mode = "hybrid";
    settings.context = 100;
    assert_int_equal(kazeia_export(&settings), KAZEIA_BAD_ARGUMENT);
    assert_non_null(strstr(kazeia_last_error(), "100 asked for"));
    settings.context = 448;
    CHECK(kazeia_export(&settings));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(wrong_settings_are_refused),
        TEST(a_whisper_takes_no_options_of_a_chat),
        TEST(unknown_models_are_named),
        TEST(outputs_that_cannot_be_are_refused),
        TEST(the_source_is_never_the_output),
        TEST(tokenizers_that_cannot_be_used_are_refused),
        TEST(origin_is_kept),
        TEST(other_arithmetic_is_refused),
        TEST(int8_caches_need_whole_words),
        TEST(one_file_a_folder_and_shards_are_one_model),
        TEST(a_full_disk_leaves_nothing),
        TEST(a_stopped_export_leaves_the_old_program),
        TEST(one_export_to_a_path_at_a_time),
        TEST(kills_leave_a_whole_program),
        TEST(kills_leave_a_whole_sharded_program),
        TEST(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
