// priors.c: a table of priors, and its file.
//
// in: priors by number. out: the same; bytes. The file is the magic word, the program's id, a
// checksum of what follows, the values, and the priors in the order of the table.
#include "listen/priors.h"

#include <math.h>
#include <string.h>

#include "base/file_map.h"
#include "base/file_write.h"
#include "format/byte_stream.h"
#include "format/checksum.h"

enum { SLOTS = 1 << 19, ENTRY_BYTES = 16, HEAD_BYTES = 24 };

#define MAGIC UINT64_C(0x31304e555443414b) // "KACTUN01"

typedef struct prior_slot {
    uint64_t key; // 0: free
    float sum, end;
} prior_slot;

struct kz_priors {
    kazeia_allocator allocator;
    prior_slot *slots; // [SLOTS]
    uint32_t count;
};

// ---- the table

uint64_t kz_prior_key(uint64_t before, int32_t token) {
    uint64_t key = before ^ ((uint64_t)(uint32_t)token + 1) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 31) * UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 29;
    return key == 0 ? 1 : key; // 0 is a free slot
}

// The slot of a key, or the free one where it would be: there are twice as many slots as keys.
static prior_slot *find_slot(const kz_priors *priors, uint64_t key) {
    uint32_t at = (uint32_t)(key & (SLOTS - 1));
    while (priors->slots[at].key != 0 && priors->slots[at].key != key) {
        at = (at + 1) & (SLOTS - 1);
    }
    return &priors->slots[at];
}

bool kz_priors_find(const kz_priors *priors, uint64_t key, kz_beam_prior *out_prior) {
    const prior_slot *slot = find_slot(priors, key);
    if (slot->key == 0) {
        *out_prior = (kz_beam_prior){.sum = NAN, .end = NAN};
        return false;
    }
    *out_prior = (kz_beam_prior){.sum = slot->sum, .end = slot->end, .is_known = !isnan(slot->end)};
    return true;
}

void kz_priors_keep(kz_priors *priors, uint64_t key, const kz_beam_prior *prior) {
    prior_slot *slot = find_slot(priors, key);
    if (key == 0 || isnan(prior->sum)) {
        return;
    }
    if (slot->key == 0) {
        if (priors->count == KZ_PRIORS_LIMIT) {
            return;
        }
        *slot = (prior_slot){.key = key, .end = NAN};
        priors->count++;
    }
    slot->sum = prior->sum;
    slot->end = prior->is_known ? prior->end : slot->end;
}

uint32_t kz_priors_count(const kz_priors *priors) {
    return priors->count;
}

// ---- the file

static void write_rest(const kz_priors *priors, const kz_tuned_values *values,
                       kz_byte_writer *writer) {
    kz_put_u32(writer, values->count);
    for (uint32_t i = 0; i < values->count; i++) {
        kz_put_f32(writer, values->values[i]);
    }
    kz_put_u32(writer, priors->count);
    for (uint32_t i = 0; i < SLOTS; i++) {
        const prior_slot *slot = &priors->slots[i];
        if (slot->key != 0) {
            kz_put_u64(writer, slot->key);
            kz_put_f32(writer, slot->sum);
            kz_put_f32(writer, slot->end);
        }
    }
}

kazeia_status kz_priors_save(const kz_priors *priors, const char *path, uint64_t program_id,
                             const kz_tuned_values *values, const kazeia_allocator *allocator) {
    kz_byte_writer writer;
    kz_byte_writer_init(&writer, allocator);
    kz_put_u64(&writer, MAGIC);
    kz_put_u64(&writer, program_id);
    kz_put_u64(&writer, 0); // the checksum
    write_rest(priors, values, &writer);
    kazeia_status status = writer.status;
    if (status == KAZEIA_OK) {
        uint8_t *bytes = (uint8_t *)writer.buffer.bytes;
        const size_t count = writer.buffer.count;
        kz_store_u64(bytes + 16, kz_checksum(bytes + HEAD_BYTES, count - HEAD_BYTES));
        status = kz_file_write_whole(path, bytes, count);
    }
    kz_byte_writer_clear(&writer);
    return status;
}

static kazeia_status check_head(kz_byte_reader *reader, const char *path, uint64_t program_id) {
    const uint64_t magic = kz_take_u64(reader), id = kz_take_u64(reader);
    const uint64_t checksum = kz_take_u64(reader);
    if (reader->status != KAZEIA_OK || magic != MAGIC) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: not a file of 'kazeia commands tune'", path);
    }
    if (kz_checksum(reader->bytes + HEAD_BYTES, reader->count - HEAD_BYTES) != checksum) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: its checksum does not fit: the file is damaged", path);
    }
    if (id != program_id) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "%s: tuned for the program %016llx, this one is %016llx; run "
                       "'kazeia commands tune' with it",
                       path, (unsigned long long)id, (unsigned long long)program_id);
    }
    return KAZEIA_OK;
}

static kazeia_status take_values(kz_byte_reader *reader, const char *path, uint32_t value_count,
                                 kz_tuned_values *out_values) {
    out_values->count = kz_take_u32(reader);
    if (reader->status != KAZEIA_OK || out_values->count != value_count ||
        value_count > KZ_TUNED_VALUES) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: it holds %u thresholds, expected %u", path,
                       out_values->count, value_count);
    }
    for (uint32_t i = 0; i < value_count; i++) {
        out_values->values[i] = kz_take_f32(reader);
        if (!isfinite(out_values->values[i])) {
            return kz_fail(KAZEIA_BAD_FILE, "%s: threshold %u is no number", path, i);
        }
    }
    return KAZEIA_OK;
}

// Looks at all before the first is kept. A log-probability is a number, below zero but for
// rounding.
static kazeia_status check_entries(const uint8_t *bytes, uint32_t count, const char *path) {
    kz_byte_reader reader = {.bytes = bytes, .count = (size_t)count * ENTRY_BYTES, .what = path};
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = kz_take_u64(&reader);
        const float sum = kz_take_f32(&reader), end = kz_take_f32(&reader);
        if (key == 0 || !(sum <= 1) || !isfinite(sum) || end > 1) {
            return kz_fail(KAZEIA_BAD_FILE, "%s: entry %u of %u is no log-probability", path, i,
                           count);
        }
    }
    return kz_take_end(&reader);
}

static kazeia_status take_all(kz_priors *priors, kz_byte_reader *reader, const char *path,
                              uint64_t program_id, uint32_t value_count,
                              kz_tuned_values *out_values) {
    KZ_TRY(check_head(reader, path, program_id));
    KZ_TRY(take_values(reader, path, value_count, out_values));
    const uint32_t count = kz_take_count(reader, ENTRY_BYTES, "entries");
    KZ_TRY(reader->status);
    if (count > KZ_PRIORS_LIMIT || reader->count - reader->at != (size_t)count * ENTRY_BYTES) {
        return kz_fail(KAZEIA_BAD_FILE, "%s: %u entries in %zu bytes, expected at most %u of %d",
                       path, count, reader->count - reader->at, KZ_PRIORS_LIMIT, ENTRY_BYTES);
    }
    KZ_TRY(check_entries(reader->bytes + reader->at, count, path));
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = kz_take_u64(reader);
        const float sum = kz_take_f32(reader), end = kz_take_f32(reader);
        const kz_beam_prior prior = {.sum = sum, .end = end, .is_known = !isnan(end)};
        kz_priors_keep(priors, key, &prior);
    }
    return KAZEIA_OK;
}

kazeia_status kz_priors_read(kz_priors *priors, const void *bytes, size_t count, const char *name,
                             uint64_t program_id, uint32_t value_count,
                             kz_tuned_values *out_values) {
    kz_byte_reader reader = {.bytes = bytes, .count = count, .what = name};
    *out_values = (kz_tuned_values){.count = 0};
    return take_all(priors, &reader, name, program_id, value_count, out_values);
}

kazeia_status kz_priors_load(kz_priors *priors, const char *path, uint64_t program_id,
                             uint32_t value_count, kz_tuned_values *out_values) {
    kz_file_map map;
    *out_values = (kz_tuned_values){.count = 0};
    KZ_TRY(kz_file_map_open(path, &map));
    const kazeia_status status =
        kz_priors_read(priors, map.bytes, map.size, path, program_id, value_count, out_values);
    kz_file_map_close(&map);
    return status;
}

// ---- creation

kazeia_status kz_priors_create(const kazeia_allocator *allocator, kz_priors **out_priors) {
    const kazeia_allocator own = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&own, 1, sizeof(kz_priors), "priors", &memory));
    kz_priors *priors = memory;
    priors->allocator = own;
    const kazeia_status status =
        kz_alloc(&own, SLOTS, sizeof *priors->slots, "priors", (void **)&priors->slots);
    if (status != KAZEIA_OK) {
        kz_priors_destroy(priors);
        return status;
    }
    *out_priors = priors;
    return KAZEIA_OK;
}

void kz_priors_destroy(kz_priors *priors) {
    if (priors != NULL) {
        const kazeia_allocator allocator = priors->allocator;
        kz_free(&allocator, priors->slots);
        kz_free(&allocator, priors);
    }
}
