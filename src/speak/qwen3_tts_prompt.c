// qwen3_tts_prompt.c: an utterance as the rows that the talker is given.
//   in   text, the speaker, the instruction, a recording to go on from
//   out  prefill rows, and which row of text goes with the first frame
// Layouts are those of QwenLM's modeling_qwen3_tts.py (docs/models/qwen3_tts.md). Every row is a
// text embedding, a codec embedding, or the sum of one of each.
#include <string.h>

#include "speak/qwen3_tts_state.h"

// --- Embeddings ---------------------------------------------------------------------------------

static kazeia_status run_rows(kz_tts_voice *voice, uint32_t method, const int32_t *ids,
                              size_t count, float *out_rows) {
    for (size_t done = 0; done < count;) {
        const size_t left = count - done;
        const uint32_t rows = left < voice->rows_limit ? (uint32_t)left : voice->rows_limit;
        const void *inputs[1] = {ids + done};
        void *outputs[1] = {out_rows + done * voice->hidden};
        KZ_TRY(kz_context_run(kz_session_context(voice->session), method, &rows, inputs, outputs));
        done += rows;
    }
    return KAZEIA_OK;
}

kazeia_status kz_tts_text_rows(kz_tts_voice *voice, const uint32_t *ids, size_t count,
                               float *out_rows) {
    // Ids of a vocabulary are far below 2^31: both types hold them alike.
    return run_rows(voice, voice->text_rows_method, (const int32_t *)ids, count, out_rows);
}

kazeia_status kz_tts_code_rows(kz_tts_voice *voice, const int32_t *ids, uint32_t count,
                               float *out_rows) {
    return run_rows(voice, voice->code_rows_method, ids, count, out_rows);
}

kazeia_status kz_tts_encode(kz_tts_voice *voice, const char *text, size_t count, size_t skipped,
                            uint32_t *out_ids, size_t capacity, size_t *out_count) {
    KZ_TRY(kz_tokenizer_encode(voice->tokenizer, text, count, KZ_ENCODE_PLAIN, out_ids, capacity,
                               out_count));
    if (*out_count < skipped) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: its tokenizer makes %zu tokens of a prompt's head", *out_count);
    }
    *out_count -= skipped;
    memmove(out_ids, out_ids + skipped, *out_count * sizeof *out_ids);
    return KAZEIA_OK;
}

// --- Rows of the prompt -------------------------------------------------------------------------

static kazeia_status take_rows(kz_tts_voice *voice, size_t count, float **out_rows) {
    if (count > voice->context - voice->prefill_count) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "voice: the prompt has more than %u rows; shorten the text, or export the "
                       "voice with a larger --context",
                       voice->context);
    }
    *out_rows = voice->prefill + voice->prefill_count * voice->hidden;
    voice->prefill_count += count;
    return KAZEIA_OK;
}

static void add_row(const kz_tts_voice *voice, float *row, const float *added) {
    for (uint32_t i = 0; i < voice->hidden; i++) {
        row[i] += added[i];
    }
}

static kazeia_status append_sum(kz_tts_voice *voice, const float *a, const float *b) {
    float *row = NULL;
    KZ_TRY(take_rows(voice, 1, &row));
    memcpy(row, a, voice->hidden * sizeof *row);
    add_row(voice, row, b);
    return KAZEIA_OK;
}

static kazeia_status append_text(kz_tts_voice *voice, const uint32_t *ids, size_t count) {
    float *rows = NULL;
    KZ_TRY(take_rows(voice, count, &rows));
    return kz_tts_text_rows(voice, ids, count, rows);
}

static kazeia_status append_head(kz_tts_voice *voice) {
    static const char head[] = "assistant\n";
    uint32_t ids[16] = {(uint32_t)voice->ids.text_start};
    size_t count = 0;
    if (voice->instruct_count) {
        KZ_TRY(append_text(voice, voice->instruct_ids, voice->instruct_count));
    }
    KZ_TRY(kz_tts_encode(voice, head, sizeof head - 1, 0, ids + 1, 15, &count));
    return append_text(voice, ids, count + 1);
}

// How the codec's side begins: what language it is, who speaks.
static kazeia_status append_codec_head(kz_tts_voice *voice) {
    const kz_tts_ids *ids = &voice->ids;
    const bool is_told = ids->language >= 0;
    const int32_t told[] = {(int32_t)ids->think, (int32_t)ids->think_bos, (int32_t)ids->language,
                            (int32_t)ids->think_eos};
    const int32_t untold[] = {(int32_t)ids->nothink, (int32_t)ids->think_bos,
                              (int32_t)ids->think_eos};
    const uint32_t count = is_told ? 4 : 3;
    float *rows = NULL;
    KZ_TRY(take_rows(voice, count, &rows));
    KZ_TRY(kz_tts_code_rows(voice, is_told ? told : untold, count, rows));
    for (uint32_t i = 0; i < count; i++) {
        add_row(voice, rows + (size_t)i * voice->hidden, voice->pad_row);
    }
    if (voice->speaker_row) {
        KZ_TRY(append_sum(voice, voice->speaker_row, voice->pad_row));
    }
    return append_sum(voice, voice->code_pad_row, voice->bos_row);
}

// One row of the recording: the sum of its codes' embeddings, in order.
static kazeia_status reference_row(kz_tts_voice *voice, uint32_t frame, float *out_row) {
    const int32_t *codes = voice->reference_codes + (size_t)frame * voice->groups;
    int32_t ids[KZ_TTS_GROUPS] = {codes[0]};
    for (uint32_t g = 1; g < voice->groups; g++) {
        ids[g] = (int32_t)(voice->vocabulary + (g - 1) * voice->codes) + codes[g];
    }
    KZ_TRY(kz_tts_code_rows(voice, ids, voice->groups, voice->frame_rows));
    memcpy(out_row, voice->frame_rows, voice->hidden * sizeof *out_row);
    for (uint32_t g = 1; g < voice->groups; g++) {
        add_row(voice, out_row, voice->frame_rows + (size_t)g * voice->hidden);
    }
    return KAZEIA_OK;
}

// --- Layouts ------------------------------------------------------------------------------------

static const float *text_row(const kz_tts_voice *voice, size_t index) {
    return voice->text_rows + index * voice->hidden;
}

// All text beside the codec's pad; the last text row is the end.
static kazeia_status append_all_text(kz_tts_voice *voice, size_t count) {
    for (size_t i = 0; i < count; i++) {
        KZ_TRY(append_sum(voice, text_row(voice, i), voice->code_pad_row));
    }
    return KAZEIA_OK;
}

// The codec's begin, then the recording, beside text where there is still some and its pad after.
static kazeia_status append_reference(kz_tts_voice *voice, size_t text_count) {
    for (uint32_t i = 0; i <= voice->reference_frames; i++) {
        float *row = NULL;
        KZ_TRY(take_rows(voice, 1, &row));
        if (i == 0) {
            memcpy(row, voice->code_bos_row, voice->hidden * sizeof *row);
        } else {
            KZ_TRY(reference_row(voice, i - 1, row));
        }
        add_row(voice, row, i < text_count ? text_row(voice, i) : voice->pad_row);
    }
    return KAZEIA_OK;
}

static kazeia_status append_body(kz_tts_voice *voice) {
    const size_t count = voice->text_known;
    const size_t reference = voice->reference_frames ? voice->reference_frames + (size_t)1 : 0;
    voice->text_followed = count;
    if (voice->is_whole) {
        KZ_TRY(append_all_text(voice, count));
        return reference ? append_reference(voice, 0)
                         : append_sum(voice, voice->pad_row, voice->code_bos_row);
    }
    if (reference) {
        KZ_TRY(append_reference(voice, count));
        voice->text_followed = count < reference ? count : reference;
        return KAZEIA_OK;
    }
    voice->text_followed = 1;
    return append_sum(voice, text_row(voice, 0), voice->code_bos_row);
}

// A token of text takes 3 frames or so of speech: eight times that is no speech any more.
uint32_t kz_tts_cap_frames(const kz_tts_voice *voice) {
    const uint32_t by_text = 50 + 24 * (uint32_t)voice->text_count;
    const uint32_t room = voice->context - (uint32_t)voice->prefill_count;
    uint32_t cap = voice->max_frames ? voice->max_frames : by_text;
    cap = cap < voice->frame_limit ? cap : voice->frame_limit;
    return cap < room ? cap : room;
}

kazeia_status kz_tts_build_prompt(kz_tts_voice *voice) {
    voice->prefill_count = 0;
    KZ_TRY(append_head(voice));
    KZ_TRY(append_codec_head(voice));
    return append_body(voice);
}
