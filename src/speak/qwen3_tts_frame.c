// qwen3_tts_frame.c: one frame of 80 ms: its first code from the talker, the others from the code
// predictor.
//   in   the prompt's rows, then the rows of text that follow
//   out  codes [groups]
// Order as in Hugging Face's generate: repetition penalty, least length, suppression, temperature,
// top-k, top-p. The embeddings of a frame are added in the order of its codebooks, then the text:
// another order rounds otherwise, and greedy codes part after some ten frames.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "speak/qwen3_tts_state.h"

#define LEAST_FRAMES 2 // before the end may come, as in the reference

static double now_ms(void) {
    return (double)kz_clock_now_ns() / 1e6;
}

static void see(const kz_tts_voice *voice, kz_tts_tap_kind kind, const void *values, size_t rows,
                size_t columns) {
    if (voice->tap.see) {
        voice->tap.see(voice->tap.context, kind, values, rows, columns);
    }
}

kazeia_status kz_tts_start(kz_tts_voice *voice) {
    see(voice, KZ_TTS_TAP_PREFILL, voice->prefill, voice->prefill_count, voice->hidden);
    kz_session_trim(voice->session, 0, 0);
    voice->frame = 0;
    voice->has_frame = false;
    return kz_session_extend_rows(voice->session, 0, voice->prefill, voice->prefill_count);
}

// --- The first code -----------------------------------------------------------------------------

static void suppress(const kz_tts_voice *voice, float *logits) {
    const int64_t eos = voice->ids.eos;
    for (int64_t i = voice->ids.first_suppressed; i < voice->vocabulary; i++) {
        if (i != eos || voice->frame < LEAST_FRAMES) {
            logits[i] = -INFINITY;
        }
    }
}

static kazeia_status choose_first(kz_tts_voice *voice, int32_t *out_code) {
    float *logits = NULL;
    KZ_TRY(kz_session_last_logits(voice->session, &logits));
    see(voice, KZ_TTS_TAP_LOGITS, logits, 1, voice->vocabulary);
    kz_penalties_apply(&voice->penalties, voice->first_codes, voice->frame, voice->counts, logits,
                       voice->vocabulary);
    suppress(voice, logits);
    KZ_TRY(kz_sampler_pick(voice->talker_sampler, logits, out_code));
    see(voice, KZ_TTS_TAP_CODE, out_code, 1, 1);
    return KAZEIA_OK;
}

// --- The others ---------------------------------------------------------------------------------

// Rows [count][hidden] at positions from `position` on; the last one's logits choose code `group`.
static kazeia_status predict(kz_tts_voice *voice, const float *rows, uint32_t position,
                             uint32_t count, uint32_t group, int32_t *out_code) {
    kz_context *context = kz_session_context(voice->session);
    const uint32_t symbols[2] = {count, 1};
    const void *inputs[4] = {rows, voice->predictor_table + position, voice->predictor_zeros,
                             voice->predictor_table};
    void *hidden[1] = {voice->predicted};
    KZ_TRY(kz_context_run(context, voice->predict_method, symbols, inputs, hidden));
    const void *last[1] = {voice->predicted + (size_t)(count - 1) * voice->predictor_hidden};
    void *logits[1] = {voice->code_logits};
    KZ_TRY(kz_context_run(context, voice->head_methods[group], symbols, last, logits));
    return kz_sampler_pick(voice->predictor_sampler, voice->code_logits, out_code);
}

static kazeia_status predict_frame(kz_tts_voice *voice, int32_t *codes) {
    const size_t hidden = voice->hidden;
    uint32_t row_count = 0;
    const float *talker = kz_session_hidden_rows(voice->session, &row_count);
    KZ_TRY(kz_tts_code_rows(voice, &codes[0], 1, voice->frame_rows));
    memcpy(voice->pair_rows, talker + (row_count - 1) * hidden, hidden * sizeof(float));
    memcpy(voice->pair_rows + hidden, voice->frame_rows, hidden * sizeof(float));
    KZ_TRY(predict(voice, voice->pair_rows, 0, 2, 1, &codes[1]));
    for (uint32_t g = 1; g < voice->groups; g++) {
        float *row = voice->frame_rows + g * hidden;
        const int32_t id = (int32_t)(voice->vocabulary + (g - 1) * voice->codes) + codes[g];
        KZ_TRY(kz_tts_code_rows(voice, &id, 1, row));
        if (g + 1 < voice->groups) {
            KZ_TRY(predict(voice, row, g + 1, 1, g + 1, &codes[g + 1]));
        }
    }
    return KAZEIA_OK;
}

// --- The frame ----------------------------------------------------------------------------------

static void sum_next_row(kz_tts_voice *voice) {
    const size_t place = voice->text_followed + voice->frame;
    const float *text =
        place < voice->text_known ? voice->text_rows + place * voice->hidden : voice->pad_row;
    memcpy(voice->next_row, voice->frame_rows, voice->hidden * sizeof *voice->next_row);
    for (uint32_t g = 1; g <= voice->groups; g++) {
        const float *row = g < voice->groups ? voice->frame_rows + (size_t)g * voice->hidden : text;
        for (uint32_t i = 0; i < voice->hidden; i++) {
            voice->next_row[i] += row[i];
        }
    }
}

// The talker's step with the last frame and its text. Text that is late is waited for: a pad would
// tell the talker that there is no more.
static kazeia_status give_frame(kz_tts_voice *voice) {
    if (!kz_tts_has_text(voice, voice->frame)) {
        KZ_TRY(kz_tts_read_text(voice));
    }
    if (!kz_tts_has_text(voice, voice->frame)) {
        return KAZEIA_NEEDS_INPUT;
    }
    sum_next_row(voice);
    voice->frame++;
    voice->has_frame = false;
    return kz_session_extend_rows(voice->session, 0, voice->next_row, 1);
}

static kazeia_status make_codes(kz_tts_voice *voice, int32_t *out_codes) {
    KZ_TRY(choose_first(voice, &out_codes[0]));
    if (out_codes[0] == voice->ids.eos) {
        return KAZEIA_DONE;
    }
    if (voice->frame == kz_tts_cap_frames(voice)) {
        voice->done.length_ends += voice->max_frames == 0;
        return KAZEIA_DONE;
    }
    const double start_ms = now_ms();
    KZ_TRY(predict_frame(voice, out_codes));
    see(voice, KZ_TTS_TAP_FRAME, out_codes, 1, voice->groups);
    voice->done.predictor_ms += now_ms() - start_ms;
    voice->done.frames++;
    voice->first_codes[voice->frame] = out_codes[0];
    voice->has_frame = true;
    return KAZEIA_OK;
}

kazeia_status kz_tts_next_frame(kz_tts_voice *voice, int32_t *out_codes) {
    const double start_ms = now_ms() - voice->done.predictor_ms;
    if (voice->has_frame) {
        KZ_TRY(give_frame(voice));
    }
    const kazeia_status status = make_codes(voice, out_codes);
    // What was not the predictor's.
    voice->done.talker_ms += now_ms() - voice->done.predictor_ms - start_ms;
    return status;
}
