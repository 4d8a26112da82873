// espeak_library.h: espeak-ng, opened at run time: text to sound, text to IPA phonemes.
//
// espeak-ng is GPL and has one state per process. So it is never linked, its few functions are
// declared in the .c from its public documentation, and everything here goes through one lock:
// these functions may be called from any thread, and wait while another one synthesises.
//
// The first opener loads libespeak-ng.so.1; it stays until the process ends, because espeak-ng
// loses memory with every start and end (2.5 KB, measured). Another trap of its own: loading sets
// the process's LC_CTYPE locale to UTF-8.
#ifndef KZ_TEXT_ESPEAK_LIBRARY_H
#define KZ_TEXT_ESPEAK_LIBRARY_H

#include "base/text_buffer.h"

#define KZ_ESPEAK_TEXT_BYTES 512u  // longest text of one call
#define KZ_ESPEAK_VOICE_BYTES 40u  // longest voice name
#define KZ_ESPEAK_NORMAL_RATE 175u // words a minute at speed 1
#define KZ_ESPEAK_LOWEST_RATE 80u
#define KZ_ESPEAK_HIGHEST_RATE 450u

// One piece of text to speak; nothing of it is kept.
typedef struct kz_espeak_request {
    const char *voice;         // as espeak-ng names them: "fr", "en-us", "fr+f3"
    uint32_t words_per_minute; // KZ_ESPEAK_LOWEST_RATE to KZ_ESPEAK_HIGHEST_RATE
    const char *text;          // UTF-8; made harmless first (espeak_text.h)
    size_t count;              // bytes, at most KZ_ESPEAK_TEXT_BYTES
    bool has_end_pause;        // a sentence's pause after the text
} kz_espeak_request;

// Takes sound as it is made, 20 ms at a time; false stops the synthesis at once. Called with the
// lock held: it must not call these functions.
typedef bool (*kz_espeak_sink)(void *context, const int16_t *samples, size_t count);

// NOT_FOUND when the library or its data is absent (the sentence names the package). Each success
// needs one kz_espeak_close.
KAZEIA_MUST_CHECK kazeia_status kz_espeak_open(uint32_t *out_sample_rate_hz);
void kz_espeak_close(void);

// Whether a voice of this name exists and can be used: NOT_FOUND, BAD_ARGUMENT (not a name) or
// UNSUPPORTED (mbrola voices: they need another program and have their own rate).
KAZEIA_MUST_CHECK kazeia_status kz_espeak_check_voice(const char *voice);

// Synthesises the whole text into `sink` before it returns: mono at the rate that open gave.
// CANCELLED when the sink said false, IO when espeak-ng fails, BAD_ARGUMENT and NOT_FOUND for the
// request.
KAZEIA_MUST_CHECK kazeia_status kz_espeak_synthesise(const kz_espeak_request *request,
                                                     kz_espeak_sink sink, void *context);

// The text in IPA phonemes (UTF-8), with tie bars within one sound, one clause a line, appended to
// `out_phonemes`.
KAZEIA_MUST_CHECK kazeia_status kz_espeak_phonemes(const char *voice, const char *text,
                                                   size_t count, kz_text_buffer *out_phonemes);

#endif
