// command_number_words.h: small numbers in words, as a recogniser writes them.
#ifndef KZ_TEXT_COMMAND_NUMBER_WORDS_H
#define KZ_TEXT_COMMAND_NUMBER_WORDS_H

#include "base/status.h"

#define KZ_NUMBER_WORDS_BYTES 48

// 0 to 100 in French ("fr") or English, NUL-terminated; form 1 is the feminine where it differs.
// Returns the bytes, 0 where there is no such form. command_numbers.h reads them back.
size_t kz_number_words_write(const char *language, int32_t number, int form,
                             char out[KZ_NUMBER_WORDS_BYTES]);

#endif
