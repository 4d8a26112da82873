// espeak_text.h: makes text harmless for espeak-ng.
//
// espeak-ng 1.51 can be crashed by text: a word of 170 bytes ("W.W.W..."), stacked suffixes,
// letters of foreign scripts (it loads a second language in the middle of a sentence and frees what
// it still reads), dashes between them, UTF-8 cut short (its issues 824, 1827, 1913, pull requests
// 2428, 2495).
#ifndef KZ_TEXT_ESPEAK_TEXT_H
#define KZ_TEXT_ESPEAK_TEXT_H

#include "base/status.h"

#define KZ_ESPEAK_WORD_BYTES 40u // longest word; longer ones get a space

// Writes at most 2 * count bytes and a NUL to `out`; returns the bytes without the NUL. What a
// voice of this name cannot read becomes a space: control characters, damaged bytes, letters that
// are neither Latin nor of the voice's own script, and dashes that join no two parts of a word
// (espeak-ng does not speak them, not even as the sign of a number).
size_t kz_espeak_prepare_text(const char *voice, const char *text, size_t count, char *out);

#endif
