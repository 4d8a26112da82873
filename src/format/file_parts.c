// file_parts.c: headers of program and weights files to bytes and back, and the content id.
//
// in:  header structs, or the first bytes of a file
// out: bytes, or structs whose numbers were checked
// Magics begin with a byte that is no text and hold both line ends, so that a transfer that "mends"
// line ends is found at once.
#include "format/file_parts.h"

#include <string.h>

#include "format/byte_stream.h"
#include "format/checksum.h"

#define MAGIC_BYTES 8
// A header cannot hold the checksum of itself: its place counts as zeros.
#define CHECKSUM_PLACE 40 // of the header's own checksum, in both headers

static const uint8_t program_magic[MAGIC_BYTES] = {0x8b, 'K', 'Z', 'P', '\r', '\n', 0x1a, '\n'};
static const uint8_t shard_magic[MAGIC_BYTES] = {0x8b, 'K', 'Z', 'W', '\r', '\n', 0x1a, '\n'};

const char *kz_section_name(uint32_t kind) {
    static const char *const names[KZ_SECTION_TABLE_END] = {[KZ_SECTION_METADATA] = "metadata",
                                                            [KZ_SECTION_TENSORS] = "tensors",
                                                            [KZ_SECTION_CONTEXTS] = "contexts",
                                                            [KZ_SECTION_STATES] = "states",
                                                            [KZ_SECTION_METHODS] = "methods",
                                                            [KZ_SECTION_TOKENIZER] = "tokenizer",
                                                            [KZ_SECTION_CHAT_TEMPLATE] =
                                                                "chat_template"};
    if (kind < KZ_SECTION_TABLE_END && names[kind] != NULL) {
        return names[kind];
    }
    return kind == KZ_SECTION_WEIGHTS ? "weights" : "optional";
}

// The checksum of a header whose own checksum counts as zero. `count` <= the largest header.
// A copy, because the file's bytes are mapped read-only.
static uint64_t header_checksum(const uint8_t *bytes, size_t count) {
    uint8_t copy[KZ_HEADER_BYTES + KZ_SECTION_LIMIT * KZ_SECTION_BYTES];
    memcpy(copy, bytes, count);
    kz_store_u64(copy + CHECKSUM_PLACE, 0);
    return kz_checksum(copy, count);
}

size_t kz_header_bytes(uint32_t section_count) {
    return KZ_HEADER_BYTES + (size_t)section_count * KZ_SECTION_BYTES;
}

// --- The program's header -----------------------------------------------------------------------

void kz_header_encode(const kz_file_header *header, uint8_t *out) {
    const size_t header_bytes = kz_header_bytes(header->section_count);
    memset(out, 0, header_bytes);
    memcpy(out, program_magic, MAGIC_BYTES);
    kz_store_u32(out + 8, header->version);
    kz_store_u32(out + 12, (uint32_t)header_bytes);
    kz_store_u64(out + 16, header->file_bytes);
    kz_store_u64(out + 24, header->id);
    kz_store_u32(out + 32, header->section_count);
    for (uint32_t i = 0; i < header->section_count; i++) {
        uint8_t *entry = out + KZ_HEADER_BYTES + (size_t)i * KZ_SECTION_BYTES;
        kz_store_u32(entry, header->sections[i].kind);
        kz_store_u64(entry + 8, header->sections[i].offset);
        kz_store_u64(entry + 16, header->sections[i].length);
        kz_store_u64(entry + 24, header->sections[i].checksum);
    }
    kz_store_u64(out + CHECKSUM_PLACE, header_checksum(out, header_bytes));
}

static kazeia_status check_start(const uint8_t *bytes, size_t count) {
    if (count < KZ_HEADER_BYTES) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program header: the file has %zu bytes, at least %u expected", count,
                       KZ_HEADER_BYTES);
    }
    if (memcmp(bytes, program_magic, MAGIC_BYTES) != 0) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program header: the first bytes are not those of a program file; "
                       "'export' makes one from a checkpoint");
    }
    // Versions are compared before sizes: another version may have another header.
    if (kz_load_u32(bytes + 8) != KZ_FORMAT_VERSION) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "program header: format version %u, this library reads %u; export it again",
                       kz_load_u32(bytes + 8), KZ_FORMAT_VERSION);
    }
    return KAZEIA_OK;
}

static kazeia_status check_header_size(const uint8_t *bytes, size_t count) {
    const uint32_t header_bytes = kz_load_u32(bytes + 12);
    const uint32_t section_count = kz_load_u32(bytes + 32);
    if (section_count > KZ_SECTION_LIMIT || header_bytes != kz_header_bytes(section_count)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program header: %u bytes for %u sections, expected %u + %u for each of at "
                       "most %u",
                       header_bytes, section_count, KZ_HEADER_BYTES, KZ_SECTION_BYTES,
                       KZ_SECTION_LIMIT);
    }
    const uint64_t file_bytes = kz_load_u64(bytes + 16);
    // Both before the checksum, which reads header_bytes bytes.
    if (file_bytes != count || header_bytes > count) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program header: the file has %zu bytes, %llu expected; it was cut or is "
                       "not whole yet",
                       count, (unsigned long long)file_bytes);
    }
    if (kz_load_u64(bytes + CHECKSUM_PLACE) != header_checksum(bytes, header_bytes)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program header: checksum %016llx, expected %016llx; the file is damaged",
                       (unsigned long long)header_checksum(bytes, header_bytes),
                       (unsigned long long)kz_load_u64(bytes + CHECKSUM_PLACE));
    }
    return KAZEIA_OK;
}

// A section lies behind `end`, the first byte that may be used, and inside the file.
static kazeia_status check_section(const kz_section *section, uint32_t index, uint64_t end,
                                   uint64_t file_bytes) {
    const bool is_weights = section->kind == KZ_SECTION_WEIGHTS;
    const uint64_t alignment = is_weights ? KZ_PAGE : KZ_ALIGNMENT;
    // Sections stand in the order of their offsets, so each is compared with one end only and none
    // can overlap.
    if (section->offset < end || section->offset % alignment != 0 || section->offset > file_bytes ||
        section->length > file_bytes - section->offset) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "section %u (%s): %llu bytes at %llu, expected inside bytes %llu to %llu at "
                       "a multiple of %llu",
                       index, kz_section_name(section->kind), (unsigned long long)section->length,
                       (unsigned long long)section->offset, (unsigned long long)end,
                       (unsigned long long)file_bytes, (unsigned long long)alignment);
    }
    const bool is_table = section->kind >= 1 && section->kind < KZ_SECTION_TABLE_END;
    // Kinds with the optional bit are a newer writer's: they are verified and passed over.
    if (!is_table && !is_weights && (section->kind & KZ_SECTION_OPTIONAL) == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED, "section %u: kind %u is not known to this library",
                       index, section->kind);
    }
    return KAZEIA_OK;
}

static kazeia_status decode_sections(const uint8_t *bytes, kz_file_header *header) {
    uint64_t end = kz_header_bytes(header->section_count);
    bool is_there[KZ_SECTION_TABLE_END] = {false};
    for (uint32_t i = 0; i < header->section_count; i++) {
        const uint8_t *entry = bytes + KZ_HEADER_BYTES + (size_t)i * KZ_SECTION_BYTES;
        kz_section *section = &header->sections[i];
        *section = (kz_section){kz_load_u32(entry), kz_load_u64(entry + 8), kz_load_u64(entry + 16),
                                kz_load_u64(entry + 24)};
        KZ_TRY(check_section(section, i, end, header->file_bytes));
        end = section->offset + section->length;
        if (section->kind < KZ_SECTION_TABLE_END) {
            if (is_there[section->kind]) {
                return kz_fail(KAZEIA_BAD_FILE, "section %u: a second section '%s'", i,
                               kz_section_name(section->kind));
            }
            is_there[section->kind] = true;
        }
    }
    // Tokenizer and template may be absent: not every program speaks or hears words.
    for (uint32_t kind = KZ_SECTION_METADATA; kind <= KZ_SECTION_METHODS; kind++) {
        if (!is_there[kind]) {
            return kz_fail(KAZEIA_BAD_FILE, "section table: section '%s' is missing",
                           kz_section_name(kind));
        }
    }
    return KAZEIA_OK;
}

kazeia_status kz_header_decode(const uint8_t *bytes, size_t count, kz_file_header *out_header) {
    KZ_TRY(check_start(bytes, count));
    KZ_TRY(check_header_size(bytes, count));
    out_header->version = kz_load_u32(bytes + 8);
    out_header->file_bytes = count;
    out_header->id = kz_load_u64(bytes + 24);
    out_header->section_count = kz_load_u32(bytes + 32);
    return decode_sections(bytes, out_header);
}

// --- A weights file's header --------------------------------------------------------------------

void kz_shard_header_encode(const kz_shard_header *header, uint8_t out[KZ_SHARD_HEADER_BYTES]) {
    memset(out, 0, KZ_SHARD_HEADER_BYTES);
    memcpy(out, shard_magic, MAGIC_BYTES);
    kz_store_u32(out + 8, KZ_FORMAT_VERSION);
    kz_store_u32(out + 12, header->index);
    kz_store_u32(out + 16, header->count);
    kz_store_u64(out + 24, header->id);
    kz_store_u64(out + 32, header->weight_bytes);
    kz_store_u64(out + 48, header->checksum);
    kz_store_u64(out + CHECKSUM_PLACE, header_checksum(out, KZ_SHARD_HEADER_BYTES));
}

kazeia_status kz_shard_header_decode(const uint8_t *bytes, size_t count,
                                     kz_shard_header *out_header) {
    // The whole first page: weights begin behind it.
    if (count < KZ_PAGE || memcmp(bytes, shard_magic, MAGIC_BYTES) != 0) {
        return kz_fail(KAZEIA_BAD_FILE, "its first bytes are not those of a weights file");
    }
    if (kz_load_u32(bytes + 8) != KZ_FORMAT_VERSION) {
        return kz_fail(KAZEIA_UNSUPPORTED, "format version %u, this library reads %u",
                       kz_load_u32(bytes + 8), KZ_FORMAT_VERSION);
    }
    if (kz_load_u64(bytes + CHECKSUM_PLACE) != header_checksum(bytes, KZ_SHARD_HEADER_BYTES)) {
        return kz_fail(KAZEIA_BAD_FILE, "its header is damaged: checksum %016llx, expected %016llx",
                       (unsigned long long)header_checksum(bytes, KZ_SHARD_HEADER_BYTES),
                       (unsigned long long)kz_load_u64(bytes + CHECKSUM_PLACE));
    }
    *out_header = (kz_shard_header){.index = kz_load_u32(bytes + 12),
                                    .count = kz_load_u32(bytes + 16),
                                    .id = kz_load_u64(bytes + 24),
                                    .weight_bytes = kz_load_u64(bytes + 32),
                                    .checksum = kz_load_u64(bytes + 48)};
    return KAZEIA_OK;
}

bool kz_is_shard_name(const char *name) {
    static const char ending[] = ".kzw";
    const size_t length = strlen(name);
    // A plain name, no hidden one: a program looks in its own folder and nowhere else.
    return length > strlen(ending) && length <= 255 && name[0] != '.' &&
           strchr(name, '/') == NULL && strcmp(name + length - strlen(ending), ending) == 0;
}

// --- The content id -----------------------------------------------------------------------------

uint64_t kz_content_id(const kz_section *tables, size_t table_count,
                       const kz_weight_context *contexts, size_t context_count) {
    // (kind, length, checksum) of each part: an id over checksums costs no second pass over
    // gigabytes.
    uint8_t list[(KZ_SECTION_TABLE_END + KZ_SHARD_LIMIT) * 24] = {0};
    size_t count = 0;
    for (uint32_t kind = KZ_SECTION_METADATA; kind < KZ_SECTION_TABLE_END; kind++) {
        for (size_t i = 0; i < table_count; i++) {
            // In order of kind, not of the file. The table of contexts is left out: it holds file
            // names, and those hold the id.
            if (tables[i].kind == kind && kind != KZ_SECTION_CONTEXTS) {
                kz_store_u64(list + count, kind);
                kz_store_u64(list + count + 8, tables[i].length);
                kz_store_u64(list + count + 16, tables[i].checksum);
                count += 24;
                break;
            }
        }
    }
    for (size_t i = 0; i < context_count && i < KZ_SHARD_LIMIT; i++) {
        kz_store_u64(list + count, KZ_SECTION_WEIGHTS);
        kz_store_u64(list + count + 8, contexts[i].bytes);
        kz_store_u64(list + count + 16, contexts[i].checksum);
        count += 24;
    }
    return kz_checksum(list, count);
}
