// espeak_library.c: owns espeak-ng and the one lock around it.
//
// in:  text and a voice's name
// out: 16-bit samples through a sink, or phonemes
// The state is a global, one of the three that the design allows: the library itself has only one,
// so that a handle for each user would promise an independence that is not there.
#include "text/espeak_library.h"

#include <assert.h>
#include <string.h>

#include "base/library.h"
#include "base/thread.h"
#include "text/espeak_text.h"

// Values and types of espeak-ng's documented interface (speak_lib).
enum {
    OUTPUT_SYNCHRONOUS = 2, // calls return when done; sound goes to the callback
    // The default of espeak-ng is to end the process when its data are missing.
    INITIALISE_WITHOUT_EXIT = 0x8000,
    BUFFER_MS = 20, // sound given to one callback, hence the delay of a stop
    PARAMETER_RATE = 1,
    POSITION_IS_CHARACTERS = 1,
    TEXT_IS_UTF8 = 1,
    TEXT_END_PAUSE = 0x1000,
    // IPA, with the tie bar U+0361 between the letters of one sound: the "aɪ" of "my" is one, the
    // "a" and "i" of "haï" are two.
    PHONEMES_ARE_TIED_IPA = 0x02 | 0x80 | 0x361 << 8,
};
typedef int (*sound_callback)(short *samples, int count, void *events);
typedef int (*initialise_function)(int output, int buffer_ms, const char *path, int options);
typedef void (*set_callback_function)(sound_callback callback);
typedef int (*set_voice_function)(const char *name);
typedef int (*set_parameter_function)(int parameter, int value, int is_relative);
typedef int (*synth_function)(const void *text, size_t bytes, unsigned position, int position_type,
                              unsigned end_position, unsigned flags, unsigned *out_identifier,
                              void *user_data);
typedef const char *(*phonemes_function)(const void **text, int text_mode, int phoneme_mode);

typedef struct espeak_functions {
    initialise_function initialise;
    set_callback_function set_callback;
    set_voice_function set_voice;
    set_parameter_function set_parameter;
    synth_function synth;
    phonemes_function phonemes;
} espeak_functions;

static struct {
    kz_mutex lock; // guards all below and every call into the library
    size_t open_count;
    kz_library library;
    espeak_functions functions;
    uint32_t sample_rate_hz;               // 0: not loaded
    char voice[KZ_ESPEAK_VOICE_BYTES + 1]; // the one that is set; "" at first
    uint32_t words_per_minute;
    char text[2 * KZ_ESPEAK_TEXT_BYTES + 1]; // broken words grow by less than that
    size_t text_count;
    kz_espeak_sink sink; // of the running synthesis
    void *sink_context;
    bool is_stopped;
} espeak = {.lock = {.native = PTHREAD_MUTEX_INITIALIZER}};

// memcpy, since C has no conversion from an object's address to a function's.
static kazeia_status find_function(const char *symbol, void *out_function) {
    void *address;
    KZ_TRY(kz_library_find(&espeak.library, symbol, &address));
    memcpy(out_function, &address, sizeof address);
    return KAZEIA_OK;
}

static kazeia_status find_functions(void) {
    espeak_functions *functions = &espeak.functions;
    KZ_TRY(find_function("espeak_Initialize", &functions->initialise));
    KZ_TRY(find_function("espeak_SetSynthCallback", &functions->set_callback));
    KZ_TRY(find_function("espeak_SetVoiceByName", &functions->set_voice));
    KZ_TRY(find_function("espeak_SetParameter", &functions->set_parameter));
    KZ_TRY(find_function("espeak_Synth", &functions->synth));
    return find_function("espeak_TextToPhonemes", &functions->phonemes);
}

// Once stopped, the sink is not called again, whatever espeak-ng still sends. NULL samples mark the
// end.
static int pass_to_sink(short *samples, int count, void *events) {
    (void)events;
    if (!espeak.is_stopped && samples != NULL && count > 0) {
        espeak.is_stopped = !espeak.sink(espeak.sink_context, samples, (size_t)count);
    }
    return espeak.is_stopped ? 1 : 0;
}

static kazeia_status load(void) {
    const kazeia_status status = kz_library_open("libespeak-ng.so.1", &espeak.library);
    if (status != KAZEIA_OK) {
        return kz_fail_context(status, "espeak-ng is missing: install the packages libespeak-ng1 "
                                       "and espeak-ng-data, or choose another voice");
    }
    // The caller closes the library when anything from here on fails.
    KZ_TRY(find_functions());
    const int rate_hz =
        espeak.functions.initialise(OUTPUT_SYNCHRONOUS, BUFFER_MS, NULL, INITIALISE_WITHOUT_EXIT);
    if (rate_hz <= 0) {
        return kz_fail(KAZEIA_NOT_FOUND,
                       "espeak-ng finds no voices (it answers %d): install the "
                       "package espeak-ng-data",
                       rate_hz);
    }
    espeak.functions.set_callback(pass_to_sink);
    espeak.sample_rate_hz = (uint32_t)rate_hz;
    espeak.voice[0] = '\0';
    espeak.words_per_minute = 0;
    return KAZEIA_OK;
}

kazeia_status kz_espeak_open(uint32_t *out_sample_rate_hz) {
    kz_mutex_lock(&espeak.lock);
    kazeia_status status = KAZEIA_OK;
    if (espeak.sample_rate_hz == 0) {
        status = load();
    }
    if (status == KAZEIA_OK) {
        espeak.open_count++;
        *out_sample_rate_hz = espeak.sample_rate_hz;
    } else {
        kz_library_close(&espeak.library);
    }
    kz_mutex_unlock(&espeak.lock);
    return status;
}

void kz_espeak_close(void) {
    // The library stays loaded when the last user goes: each start of espeak-ng loses memory, and
    // its data would be read anew.
    kz_mutex_lock(&espeak.lock);
    assert(espeak.open_count > 0);
    espeak.open_count--;
    kz_mutex_unlock(&espeak.lock);
}

// espeak-ng builds file names from voice names, so that only letters, digits and "+-_" may pass.
static kazeia_status check_name(const char *voice) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789+-_";
    const size_t count = strlen(voice);
    if (count == 0 || count > KZ_ESPEAK_VOICE_BYTES || strspn(voice, allowed) != count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "espeak-ng: '%.60s' is no name of a voice: expected one as 'fr' or 'en-us'",
                       voice);
    }
    // espeak-ng would start the program mbrola as a process of its own.
    if (strncmp(voice, "mb-", 3) == 0) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "espeak-ng: '%s' is an mbrola voice, which needs "
                       "another program: choose another, as 'fr'",
                       voice);
    }
    return KAZEIA_OK;
}

// Setting a voice reads files; between sentences of one voice that is saved.
static kazeia_status set_voice(const char *voice) {
    KZ_TRY(check_name(voice));
    if (espeak.open_count == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "espeak-ng: used before it was opened");
    }
    if (strcmp(voice, espeak.voice) == 0) {
        return KAZEIA_OK;
    }
    espeak.voice[0] = '\0'; // whatever happens, the old one is set no more
    espeak.words_per_minute = 0;
    const int answer = espeak.functions.set_voice(voice);
    if (answer != 0) {
        return kz_fail(KAZEIA_NOT_FOUND,
                       "espeak-ng has no voice '%s' (it answers %d): "
                       "'espeak-ng --voices' lists them",
                       voice, answer);
    }
    memcpy(espeak.voice, voice, strlen(voice) + 1);
    return KAZEIA_OK;
}

static kazeia_status set_rate(uint32_t words_per_minute) {
    if (words_per_minute < KZ_ESPEAK_LOWEST_RATE || words_per_minute > KZ_ESPEAK_HIGHEST_RATE) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "espeak-ng: %u words a minute, expected %u to %u",
                       words_per_minute, KZ_ESPEAK_LOWEST_RATE, KZ_ESPEAK_HIGHEST_RATE);
    }
    if (words_per_minute != espeak.words_per_minute) {
        const int answer = espeak.functions.set_parameter(PARAMETER_RATE, (int)words_per_minute, 0);
        if (answer != 0) {
            return kz_fail(KAZEIA_IO, "espeak-ng refuses %u words a minute (it answers %d)",
                           words_per_minute, answer);
        }
        espeak.words_per_minute = words_per_minute;
    }
    return KAZEIA_OK;
}

static kazeia_status prepare_text(const char *voice, const char *text, size_t count) {
    if (count > KZ_ESPEAK_TEXT_BYTES) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "espeak-ng: the text has %zu bytes, expected at most %u", count,
                       KZ_ESPEAK_TEXT_BYTES);
    }
    // Into the shared buffer: the lock is held.
    espeak.text_count = kz_espeak_prepare_text(voice, text, count, espeak.text);
    return KAZEIA_OK;
}

kazeia_status kz_espeak_check_voice(const char *voice) {
    kz_mutex_lock(&espeak.lock);
    const kazeia_status status = set_voice(voice);
    kz_mutex_unlock(&espeak.lock);
    return status;
}

static kazeia_status synthesise_locked(const kz_espeak_request *request, kz_espeak_sink sink,
                                       void *context) {
    KZ_TRY(set_voice(request->voice));
    KZ_TRY(set_rate(request->words_per_minute));
    KZ_TRY(prepare_text(request->voice, request->text, request->count));
    espeak.sink = sink;
    espeak.sink_context = context;
    espeak.is_stopped = false;
    const unsigned flags = TEXT_IS_UTF8 | (request->has_end_pause ? TEXT_END_PAUSE : 0);
    // The size counts the NUL, as espeak-ng's interface asks.
    const int answer = espeak.functions.synth(espeak.text, espeak.text_count + 1, 0,
                                              POSITION_IS_CHARACTERS, 0, flags, NULL, NULL);
    // Before the answer: a callback that stops makes espeak-ng report whatever it likes.
    if (espeak.is_stopped) {
        return kz_fail(KAZEIA_CANCELLED, "espeak-ng: stopped as asked");
    }
    if (answer != 0) {
        return kz_fail(KAZEIA_IO, "espeak-ng cannot speak %zu bytes of text (it answers %d)",
                       request->count, answer);
    }
    return KAZEIA_OK;
}

kazeia_status kz_espeak_synthesise(const kz_espeak_request *request, kz_espeak_sink sink,
                                   void *context) {
    kz_mutex_lock(&espeak.lock);
    const kazeia_status status = synthesise_locked(request, sink, context);
    kz_mutex_unlock(&espeak.lock);
    return status;
}

static kazeia_status phonemes_locked(const char *voice, const char *text, size_t count,
                                     kz_text_buffer *out_phonemes) {
    KZ_TRY(set_voice(voice));
    KZ_TRY(prepare_text(voice, text, count));
    const void *rest = espeak.text;
    bool is_first = true;
    while (rest != NULL) { // each call takes one clause and moves on, to NULL at the end
        const char *clause = espeak.functions.phonemes(&rest, TEXT_IS_UTF8, PHONEMES_ARE_TIED_IPA);
        if (clause == NULL || clause[0] == '\0') {
            continue;
        }
        KZ_TRY(kz_text_buffer_append_format(out_phonemes, "%s%s", is_first ? "" : "\n", clause));
        is_first = false;
    }
    return KAZEIA_OK;
}

kazeia_status kz_espeak_phonemes(const char *voice, const char *text, size_t count,
                                 kz_text_buffer *out_phonemes) {
    kz_mutex_lock(&espeak.lock);
    const kazeia_status status = phonemes_locked(voice, text, count, out_phonemes);
    kz_mutex_unlock(&espeak.lock);
    return status;
}
