// attentive.h: a recogniser that is only asked where somebody speaks.
//
// The listening stage with voice activity in front of it: each span of speech becomes a window of
// its own (several when it is longer than 30 s), and what lies between them is never heard. Memory
// does not grow with the sound, however long it is. Functions and threads are those of
// listen/whisper.h; listen/vad.h says what a span is.
#ifndef KZ_LISTEN_ATTENTIVE_H
#define KZ_LISTEN_ATTENTIVE_H

#include "listen/vad.h"
#include "listen/whisper.h"

typedef struct kz_attentive kz_attentive;

// Takes both: they are destroyed with it. On failure, OUT_OF_MEMORY, they stay the caller's.
KAZEIA_MUST_CHECK kazeia_status kz_attentive_create(kz_whisper *whisper, kz_vad *vad,
                                                    const kazeia_allocator *allocator,
                                                    kz_attentive **out_attentive);
// NULL is fine. No other call may be running.
void kz_attentive_destroy(kz_attentive *attentive);

// Sound for kz_vad_feed, text as kz_whisper_next gives it: KAZEIA_OK is a window with speech in it,
// and its times are those of the speech. DONE without a window before it: nobody spoke.
KAZEIA_MUST_CHECK kazeia_status kz_attentive_feed(kz_attentive *attentive, const float *samples,
                                                  size_t count, size_t *out_taken);
KAZEIA_MUST_CHECK kazeia_status kz_attentive_finish(kz_attentive *attentive);
KAZEIA_MUST_CHECK kazeia_status kz_attentive_next(kz_attentive *attentive, kz_heard *out_heard);
void kz_attentive_cancel(kz_attentive *attentive);
void kz_attentive_reset(kz_attentive *attentive);

#endif
