// command_numbers.h: numbers in words, French and English, as people say them in commands.
//
// in:  folded text. out: every reading of its beginning: "vingt-cinq minutes" is 20 and 25, and the
// rest of the sentence decides.
#ifndef KZ_TEXT_COMMAND_NUMBERS_H
#define KZ_TEXT_COMMAND_NUMBERS_H

#include "text/utf8.h"

enum { KZ_NUMBER_READINGS = 96 };

// One way to read the text's beginning.
typedef struct kz_number_reading {
    uint32_t length; // bytes
    int32_t value;   // 0 to 999,999
} kz_number_reading;

// Hyphens and spaces count alike; masculine and feminine; "septante", "huitante", "nonante" too.
// `text` need not end after the number. Readings end at words' ends; those beyond
// KZ_NUMBER_READINGS are left out. Returns the count.
size_t kz_number_words_read(const char *language, kz_text_view text,
                            kz_number_reading out_readings[KZ_NUMBER_READINGS]);

#endif
