// voice.c: from a voice's name to its table.
//
// in:  "KIND:SPEAKER"
// out: an open voice of that kind
#include "speak/voice.h"

#include <string.h>

#include "speak/espeak.h"

static const kz_voice_table *const built_in_voices[] = {&kz_espeak_voice_table};
#define BUILT_IN_COUNT (sizeof built_in_voices / sizeof built_in_voices[0])

static const kz_voice_table *find_table(const char *name, const char **out_speaker) {
    for (size_t i = 0; i < BUILT_IN_COUNT; i++) {
        const char *kind = built_in_voices[i]->kind;
        const size_t length = strlen(kind);
        // "espeak" alone is a kind without a speaker; "espeakX" is another name.
        if (strncmp(name, kind, length) == 0 && (name[length] == ':' || name[length] == '\0')) {
            *out_speaker = name + length + (name[length] == ':');
            return built_in_voices[i];
        }
    }
    return NULL;
}

bool kz_voice_is_built_in(const char *name) {
    const char *speaker;
    return find_table(name, &speaker) != NULL;
}

kazeia_status kz_voice_open(const char *name, const kz_voice_options *options,
                            const kazeia_allocator *allocator, kz_voice **out_voice) {
    const char *speaker;
    const kz_voice_table *table = find_table(name, &speaker);
    if (table == NULL) {
        return kz_fail(KAZEIA_NOT_FOUND, "there is no voice '%s': expected one as 'espeak:fr'",
                       name);
    }
    // Zeros are every voice's defaults, so that an option added later needs no change at the
    // callers.
    const kz_voice_options none = {0};
    return table->open(speaker, options != NULL ? options : &none, allocator, out_voice);
}

void kz_voice_close(kz_voice *voice) {
    if (voice != NULL) {
        voice->table->close(voice);
    }
}
