// file_parts.h: what lies around the tables of a program file: headers, sections, the content id.
//
// A program file is a header, a table of sections, and the sections in the order of the table, with
// zeros between them. A weights file (a shard) is one page with a header, then one weight context.
// docs/format.md has the bytes; encode and decode are the two sides of one file.
#ifndef KZ_FORMAT_FILE_PARTS_H
#define KZ_FORMAT_FILE_PARTS_H

#include "format/program.h"

// Weights are used as they are mapped, and they are little-endian.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "program files need a little-endian host");

#define KZ_HEADER_BYTES 64u // without the section table
#define KZ_SECTION_BYTES 32u
#define KZ_SECTION_LIMIT 64u
#define KZ_SHARD_LIMIT 64u // weight contexts of one program
#define KZ_SHARD_HEADER_BYTES 64u

typedef enum kz_section_kind {
    KZ_SECTION_METADATA = 1,
    KZ_SECTION_TENSORS = 2,
    KZ_SECTION_CONTEXTS = 3,
    KZ_SECTION_STATES = 4,
    KZ_SECTION_METHODS = 5,
    KZ_SECTION_TOKENIZER = 6,     // left out when empty
    KZ_SECTION_CHAT_TEMPLATE = 7, // likewise
    KZ_SECTION_TABLE_END = 8,     // kinds below this one appear at most once
    KZ_SECTION_WEIGHTS = 16,      // one for each weight context inside the file, in their order
} kz_section_kind;

// A kind that a reader does not know: with this bit it is skipped (a payload for some backend),
// else the file is refused.
#define KZ_SECTION_OPTIONAL 0x80000000u

// One entry of the section table.
typedef struct kz_section {
    uint32_t kind;     // kz_section_kind
    uint64_t offset;   // from the start of the file
    uint64_t length;   // bytes, without the zeros behind it
    uint64_t checksum; // XXH3-64 of these bytes
} kz_section;

// What stands at the start of a program file.
typedef struct kz_file_header {
    uint32_t version;
    uint64_t file_bytes;
    uint64_t id;
    uint32_t section_count;
    kz_section sections[KZ_SECTION_LIMIT]; // by ascending offset
} kz_file_header;

// What stands at the start of a weights file.
typedef struct kz_shard_header {
    uint32_t index; // from 0
    uint32_t count; // of the program's weights files
    uint64_t id;
    uint64_t weight_bytes; // behind the first page
    uint64_t checksum;     // of these
} kz_shard_header;

// As "tensors"; a constant string for any number.
const char *kz_section_name(uint32_t kind);

// Bytes of header and section table.
size_t kz_header_bytes(uint32_t section_count);
// `out` has kz_header_bytes(header->section_count) bytes.
void kz_header_encode(const kz_file_header *header, uint8_t *out);
// Verifies magic, version, checksum, sizes, and that sections lie in order, apart and inside.
// `count` is the whole file's size. BAD_FILE, or UNSUPPORTED for another version or an unknown
// kind.
KAZEIA_MUST_CHECK kazeia_status kz_header_decode(const uint8_t *bytes, size_t count,
                                                 kz_file_header *out_header);

void kz_shard_header_encode(const kz_shard_header *header, uint8_t out[KZ_SHARD_HEADER_BYTES]);
KAZEIA_MUST_CHECK kazeia_status kz_shard_header_decode(const uint8_t *bytes, size_t count,
                                                       kz_shard_header *out_header);

// What a program is: XXH3-64 over kind, length and checksum of its tables (but CONTEXTS, which
// holds file names made from the id) and over size and checksum of its weight contexts. Two exports
// with the same content have the same id.
uint64_t kz_content_id(const kz_section *tables, size_t table_count,
                       const kz_weight_context *contexts, size_t context_count);

// True for a name that may stand for a weights file: one part of a path, ending in ".kzw".
bool kz_is_shard_name(const char *name);

#endif
