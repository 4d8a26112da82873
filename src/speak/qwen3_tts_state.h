// qwen3_tts_state.h: an open Qwen3-TTS voice. Inside speak/qwen3_tts*.c only.
#ifndef KZ_SPEAK_QWEN3_TTS_STATE_H
#define KZ_SPEAK_QWEN3_TTS_STATE_H

#include <stdatomic.h>

#include "base/thread.h"
#include "generate/penalty.h"
#include "generate/sampler.h"
#include "generate/session.h"
#include "speak/codec.h"
#include "speak/qwen3_tts.h"
#include "text/tokenizer.h"

#define KZ_TTS_GROUPS 16u         // at most
#define KZ_TTS_QUEUE_BYTES 16384u // of text that waits
#define KZ_TTS_TEXT_TOKENS 2048u  // of one utterance

// Ids of the program, by what they stand for.
typedef struct kz_tts_ids {
    int64_t text_start, text_end, text_assistant, text_pad, text_bos, text_eos;
    int64_t pad, bos, eos, think, nothink, think_bos, think_eos;
    int64_t language;         // < 0: it is to find it out
    int64_t first_suppressed; // codes from here on are not sound, but for the end
} kz_tts_ids;

typedef struct kz_tts_voice {
    kz_voice base;
    kazeia_allocator allocator;
    kz_program *program;
    kz_session *session; // the talker's; its context is also the predictor's and the codec's
    kz_codec *codec;
    kz_tokenizer *tokenizer;
    kz_sampler *talker_sampler, *predictor_sampler;
    kz_penalties penalties;
    kz_tts_ids ids;
    kz_tts_tap tap;
    bool is_whole, is_verbatim;
    uint32_t max_frames, frame_limit;
    uint32_t hidden, predictor_hidden, vocabulary, codes, groups, context;
    uint32_t text_rows_method, code_rows_method, predict_method, head_methods[KZ_TTS_GROUPS];
    uint32_t rows_limit; // rows of one call of text_rows and of code_rows

    // Made at opening.
    float *pad_row, *bos_row, *eos_row;     // [hidden]: text
    float *code_pad_row, *code_bos_row;     // [hidden]
    float *speaker_row;                     // [hidden]; NULL: none
    uint32_t *instruct_ids, *reference_ids; // text tokens
    size_t instruct_count, reference_count;
    int32_t *reference_codes; // [reference_frames][groups]
    uint32_t reference_frames;
    int32_t *predictor_table; // [groups]: row i is position i
    int32_t *predictor_zeros; // [groups]

    // One utterance.
    uint32_t *text_ids;   // [KZ_TTS_TEXT_TOKENS + 4]: the recording's first
    float *text_rows;     // [KZ_TTS_TEXT_TOKENS + 1][hidden]: of text_ids, then the end
    size_t text_count;    // tokens so far
    size_t text_known;    // rows: text_count, one more once the end is there
    size_t text_followed; // rows that the prompt has; the next one goes with the first frame
    bool is_text_ended;   // no more text belongs to the utterance
    float *prefill;       // [context][hidden]
    size_t prefill_count;
    float *frame_rows;           // [groups][hidden]: embeddings of the frame's codes
    float *pair_rows;            // [2][hidden]: what the predictor is given first
    float *next_row;             // [hidden]
    float *predicted;            // [2][predictor_hidden]
    float *code_logits;          // [codes]
    int32_t *first_codes;        // [frame_limit]: of the utterance, for the penalty
    uint32_t *counts;            // [vocabulary], for the penalty
    uint32_t frame;              // frames that the talker has been given
    bool has_frame;              // one more is made: the talker waits for its text
    bool is_speaking, has_ended; // an utterance is under way; its codes are all there

    int32_t *waiting_codes; // [codec's frame_limit][groups]
    uint32_t waiting_frames;
    uint32_t chunk_frames; // frames that the next call of the codec takes
    float *sound;          // [frame_limit of the codec * samples_per_frame]
    size_t sound_count, sound_given;
    size_t silent_samples; // at the end of what was decoded
    kz_tts_counts done;

    atomic_bool is_cancelled;
    kz_mutex text_lock; // guards the queue, between the feeding and the speaking thread
    bool has_lock;
    size_t queued_count;
    bool is_finished;
    char queue[KZ_TTS_QUEUE_BYTES];

    // Text of the utterance that is no tokens yet, behind "assistant\n" at first.
    bool is_line_begun, has_break; // some are tokens; it was ended by a line break
    size_t line_count;
    char line[KZ_TTS_QUEUE_BYTES + 16];
} kz_tts_voice;

// qwen3_tts_prompt.c: an utterance as rows.
// Rows of text tokens, and of codes in the table of all codebooks.
KAZEIA_MUST_CHECK kazeia_status kz_tts_text_rows(kz_tts_voice *voice, const uint32_t *ids,
                                                 size_t count, float *out_rows);
KAZEIA_MUST_CHECK kazeia_status kz_tts_code_rows(kz_tts_voice *voice, const int32_t *ids,
                                                 uint32_t count, float *out_rows);
// Tokens of a text without the first `skipped` ones.
KAZEIA_MUST_CHECK kazeia_status kz_tts_encode(kz_tts_voice *voice, const char *text, size_t count,
                                              size_t skipped, uint32_t *out_ids, size_t capacity,
                                              size_t *out_count);
// Fills prefill from the text so far.
KAZEIA_MUST_CHECK kazeia_status kz_tts_build_prompt(kz_tts_voice *voice);
// Frames at most, by the text so far.
uint32_t kz_tts_cap_frames(const kz_tts_voice *voice);

// qwen3_tts_text.c: text as it comes, to tokens and rows.
// The utterance has no text yet.
void kz_tts_clear_text(kz_tts_voice *voice);
// Turns what was fed of the utterance into tokens, as far as no later text can change them. A voice
// that is given whole utterances (is_whole) waits for all of it.
KAZEIA_MUST_CHECK kazeia_status kz_tts_read_text(kz_tts_voice *voice);
// Takes what was fed of the utterance without speaking it.
void kz_tts_drop_text(kz_tts_voice *voice);
// Whether the row of text that belongs to frame `frame` is known: one of text, or the pad behind
// its end.
bool kz_tts_has_text(const kz_tts_voice *voice, size_t frame);

// qwen3_tts_frame.c: one frame.
// Gives the talker the prompt.
KAZEIA_MUST_CHECK kazeia_status kz_tts_start(kz_tts_voice *voice);
// Makes the next frame's codes, [groups], or DONE at the utterance's end; NEEDS_INPUT when the text
// that belongs to the frame before has not come.
KAZEIA_MUST_CHECK kazeia_status kz_tts_next_frame(kz_tts_voice *voice, int32_t *out_codes);

// qwen3_tts.c, qwen3_tts_open.c
extern const kz_voice_table kz_qwen3_tts_voice_table;
void kz_tts_close(kz_voice *base);

#endif
