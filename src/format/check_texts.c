// check_texts.c: does the tokenizer belong to the model?
//
// in:  a description
// out: a status
// The section has its own checks, when it is used (tokenizer.c). Here it is held to what metadata
// say of it: a tokenizer of another model would open well and turn every text into the wrong ids.
#include "format/byte_stream.h"
#include "format/check_parts.h"
#include "format/tokenizer.h"

#define COUNT_PLACE 16u // of token_count in the section's header

static const kz_metadata *find_integer(const kz_program_description *description, const char *key) {
    const kz_metadata *entry = kz_metadata_find(description, key);
    return entry != NULL && entry->type == KZ_METADATA_INTEGER ? entry : NULL;
}

kazeia_status kz_check_tokenizer(const kz_program_description *description) {
    const kz_bytes section = description->tokenizer;
    const kz_metadata *tokens = find_integer(description, "tokenizer.tokens");
    const kz_metadata *vocabulary = find_integer(description, "model.vocabulary");
    if (tokens == NULL) {
        return KAZEIA_OK;
    }
    if (section.count < COUNT_PLACE + 4) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "metadata 'tokenizer.tokens' is %lld, but the program has no tokenizer",
                       (long long)tokens->integer);
    }
    const uint32_t found = kz_load_u32(section.bytes + COUNT_PLACE);
    if (found != tokens->integer) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tokenizer: %u tokens, metadata 'tokenizer.tokens' is %lld; it is the "
                       "tokenizer of another model",
                       found, (long long)tokens->integer);
    }
    // Fewer tokens than rows are common: embeddings are padded to round numbers.
    if (vocabulary != NULL && found > vocabulary->integer) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "tokenizer: %u tokens, metadata 'model.vocabulary' is %lld; it is the "
                       "tokenizer of another model",
                       found, (long long)vocabulary->integer);
    }
    return KAZEIA_OK;
}
