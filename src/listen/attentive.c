// attentive.c: a recogniser that is only asked where somebody speaks.
//   in   16 kHz mono samples
//   out  what was said in each span of speech, with its place
// A span is handed on while it is still growing, so that the recogniser works on the first 30 s of
// a long one before its end is known.
#include "listen/attentive.h"

#include <string.h>

#define PIECE_SAMPLES 4096

struct kz_attentive {
    kazeia_allocator allocator;
    kz_whisper *whisper;
    kz_vad *vad;
    kz_vad_news news;     // of the span that is being handed on
    bool is_open;         // the recogniser has begun with it
    uint64_t handed_on;   // up to here, in the turn's samples
    uint64_t given_count; // samples that the recogniser was fed since reset
    double shift_s;       // what the recogniser's times lack
    float piece[PIECE_SAMPLES];
};

kazeia_status kz_attentive_create(kz_whisper *whisper, kz_vad *vad,
                                  const kazeia_allocator *allocator, kz_attentive **out_attentive) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_attentive *attentive = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *attentive, "listening stage", (void **)&attentive));
    attentive->allocator = memory;
    attentive->whisper = whisper;
    attentive->vad = vad;
    *out_attentive = attentive;
    return KAZEIA_OK;
}

void kz_attentive_destroy(kz_attentive *attentive) {
    if (!attentive) {
        return;
    }
    const kazeia_allocator memory = attentive->allocator;
    kz_whisper_destroy(attentive->whisper);
    kz_vad_destroy(attentive->vad);
    kz_free(&memory, attentive);
}

kazeia_status kz_attentive_feed(kz_attentive *attentive, const float *samples, size_t count,
                                size_t *out_taken) {
    return kz_vad_feed(attentive->vad, samples, count, out_taken);
}

kazeia_status kz_attentive_finish(kz_attentive *attentive) {
    kz_vad_finish(attentive->vad);
    return KAZEIA_OK;
}

void kz_attentive_cancel(kz_attentive *attentive) {
    kz_vad_cancel(attentive->vad);
    kz_whisper_cancel(attentive->whisper);
}

void kz_attentive_reset(kz_attentive *attentive) {
    kz_vad_reset(attentive->vad);
    kz_whisper_reset(attentive->whisper);
    attentive->news = (kz_vad_news){0};
    attentive->is_open = false;
    attentive->given_count = 0;
}

// The recogniser counts only what it is fed.
static void open_span(kz_attentive *attentive) {
    const uint64_t start = attentive->news.span.start;
    attentive->is_open = true;
    attentive->handed_on = start;
    attentive->shift_s =
        ((double)(kz_vad_turn_start(attentive->vad) + start) - (double)attentive->given_count) /
        KZ_VAD_RATE_HZ;
}

// Hands on a piece of the span, or its end; *out_is_idle when there is nothing to hand on now.
static kazeia_status hand_on(kz_attentive *attentive, bool *out_is_idle) {
    const kz_vad_news *news = &attentive->news;
    *out_is_idle = !news->is_speech;
    if (!news->is_speech) {
        return KAZEIA_OK;
    }
    if (!attentive->is_open) {
        open_span(attentive);
    }
    const uint64_t left = news->span.end - attentive->handed_on;
    if (left == 0) {
        attentive->is_open = !news->is_over;
        attentive->news.is_speech = false;
        return news->is_over ? kz_whisper_finish(attentive->whisper) : KAZEIA_OK;
    }
    size_t taken = 0;
    const size_t count = left < PIECE_SAMPLES ? (size_t)left : PIECE_SAMPLES;
    kz_vad_copy(attentive->vad, attentive->handed_on, count, attentive->piece);
    KZ_TRY(kz_whisper_feed(attentive->whisper, attentive->piece, count, &taken));
    attentive->handed_on += taken;
    attentive->given_count += taken;
    return KAZEIA_OK;
}

// What was handed on is no longer needed; without a span, all that none can reach any more.
static void forget(kz_attentive *attentive) {
    kz_vad_forget(attentive->vad, attentive->is_open ? attentive->handed_on : UINT64_MAX);
}

kazeia_status kz_attentive_next(kz_attentive *attentive, kz_heard *out_heard) {
    for (;;) {
        bool is_idle = false;
        // First: it holds more than a window only until it was asked once.
        const kazeia_status status = kz_whisper_next(attentive->whisper, out_heard);
        if (status == KAZEIA_OK) {
            out_heard->start_s += attentive->shift_s;
            out_heard->end_s += attentive->shift_s;
            return KAZEIA_OK;
        }
        // DONE: the end of a span.
        if (status != KAZEIA_NEEDS_INPUT && status != KAZEIA_DONE) {
            return status;
        }
        KZ_TRY(hand_on(attentive, &is_idle));
        if (is_idle) {
            KZ_TRY(kz_vad_judge(attentive->vad, &attentive->news));
        }
        forget(attentive);
    }
}
