// vad.c: voice activity: samples in, the spans in which somebody speaks out.
//   in   16 kHz mono samples
//   out  spans, and the sound in them
// The network's own memory (LSTM, samples before the window) are states of the program; a turn
// begins with all of them zero, as the original does with each file.
#include "listen/vad.h"

#include <string.h>

#include "audio/samples.h"
#include "listen/sample_queue.h"

#define WINDOW_LIMIT 4096u
#define WINDOWS_AT_ONCE 16
#define ROLL_LIMIT_MS 2000u
#define LEAST_THRESHOLD 0.15f // the rule's hysteresis: below it nothing would be silence

struct kz_vad {
    kazeia_allocator allocator;
    kz_program *program;
    kz_context *context;
    uint32_t method, window;
    kz_vad_rule rule;
    kz_sample_queue queue;
    uint64_t turn_start;
    bool is_ended; // the last window of the turn was judged
    float samples[WINDOW_LIMIT];
};

// --- Creation -----------------------------------------------------------------------------------

static kazeia_status check_setting(const char *name, uint32_t value, uint32_t most) {
    return value <= most ? KAZEIA_OK
                         : kz_fail(KAZEIA_BAD_ARGUMENT, "vad: %s is %u ms, expected at most %u",
                                   name, value, most);
}

static kazeia_status check_settings(const kz_vad_settings *settings) {
    if (!(settings->threshold >= LEAST_THRESHOLD && settings->threshold <= 1.0f)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "vad: threshold is %g, expected %g to 1",
                       (double)settings->threshold, (double)LEAST_THRESHOLD);
    }
    KZ_TRY(check_setting("min_speech", settings->min_speech_ms, ROLL_LIMIT_MS));
    KZ_TRY(check_setting("pre_roll", settings->pre_roll_ms, ROLL_LIMIT_MS));
    return check_setting("hang_over", settings->hang_over_ms, KZ_VAD_MOST_HANG_OVER_MS);
}

static bool is_f32_of(const kz_value *value, uint64_t count) {
    return value->type == KZ_F32 && kz_value_bytes(value, NULL, 0) == count * sizeof(float);
}

static kazeia_status check_method(kz_vad *vad) {
    KZ_TRY(kz_program_require_method(vad->program, "speech", &vad->method));
    const kz_method *method = &kz_program_describe(vad->program)->methods[vad->method];
    if (method->symbol_count != 0 || method->input_count != 1 || method->output_count != 1 ||
        !is_f32_of(&method->values[method->inputs[0]], vad->window) ||
        !is_f32_of(&method->values[method->outputs[0]], 1)) {
        return kz_fail(KAZEIA_BAD_FILE,
                       "program: method 'speech' does not make one probability of %u samples",
                       vad->window);
    }
    return KAZEIA_OK;
}

static uint32_t samples_of(uint32_t ms) {
    return ms * (KZ_VAD_RATE_HZ / 1000);
}

// What a span may need of the past lies in the queue besides what is fed ahead: its roll, the
// silence that may yet be bridged, and speech that is not believed yet.
static size_t queue_capacity(const kz_vad_rule *rule) {
    return (size_t)samples_of(KZ_VAD_HELD_MS) + rule->pre_roll + rule->hang_over +
           2 * (size_t)rule->min_speech + (size_t)(WINDOWS_AT_ONCE + 1) * rule->window;
}

static kazeia_status fill(kz_vad *vad, kz_pool *pool, const kz_vad_settings *settings) {
    int64_t rate = 0, window = 0;
    KZ_TRY(check_settings(settings));
    KZ_TRY(kz_program_require_integer(vad->program, "vad.sample_rate_hz", KZ_VAD_RATE_HZ,
                                      KZ_VAD_RATE_HZ, &rate));
    KZ_TRY(kz_program_require_integer(vad->program, "vad.window", 64, WINDOW_LIMIT, &window));
    vad->window = (uint32_t)window;
    KZ_TRY(check_method(vad));
    vad->rule = (kz_vad_rule){.threshold = settings->threshold,
                              .window = vad->window,
                              .min_speech = samples_of(settings->min_speech_ms),
                              .pre_roll = samples_of(settings->pre_roll_ms),
                              .hang_over = samples_of(settings->hang_over_ms)};
    KZ_TRY(kz_context_create(vad->program, pool, KZ_PRIORITY_LISTEN, settings->memory_limit,
                             &vad->allocator, &vad->context));
    return kz_sample_queue_init(&vad->queue, queue_capacity(&vad->rule), &vad->allocator);
}

kazeia_status kz_vad_create(kz_program *program, kz_pool *pool, const kz_vad_settings *settings,
                            const kazeia_allocator *allocator, kz_vad **out_vad) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kz_vad *vad = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *vad, "voice activity", (void **)&vad));
    vad->allocator = memory;
    vad->program = kz_program_retain(program);
    const kazeia_status status = fill(vad, pool, settings);
    if (status != KAZEIA_OK) {
        kz_vad_destroy(vad);
        return status;
    }
    *out_vad = vad;
    return KAZEIA_OK;
}

void kz_vad_destroy(kz_vad *vad) {
    if (!vad) {
        return;
    }
    const kazeia_allocator memory = vad->allocator;
    kz_context_destroy(vad->context);
    kz_sample_queue_clear(&vad->queue);
    kz_program_release(vad->program);
    kz_free(&memory, vad);
}

// --- Input --------------------------------------------------------------------------------------

kazeia_status kz_vad_feed(kz_vad *vad, const float *samples, size_t count, size_t *out_taken) {
    return kz_sample_queue_feed(&vad->queue, samples, count, out_taken);
}

void kz_vad_finish(kz_vad *vad) {
    kz_sample_queue_finish(&vad->queue);
}

void kz_vad_cancel(kz_vad *vad) {
    kz_context_cancel(vad->context);
}

static void clear_states(kz_vad *vad) {
    const kz_program_description *description = kz_program_describe(vad->program);
    for (uint32_t i = 0; i < description->state_count; i++) {
        const kz_state *state = &description->states[i];
        // The context holds as many bytes: the product was checked when it was created.
        memset(kz_context_state(vad->context, i), 0,
               (size_t)(state->rows * kz_state_row_bytes(state)));
    }
}

// The queue last: from then on the feeding thread is at work on the next turn.
static void begin_turn(kz_vad *vad, uint64_t turn_start) {
    clear_states(vad);
    kz_vad_rule_reset(&vad->rule);
    vad->turn_start = turn_start;
    vad->is_ended = false;
    kz_sample_queue_restart(&vad->queue);
}

void kz_vad_reset(kz_vad *vad) {
    kz_context_resume(vad->context);
    begin_turn(vad, 0);
}

// --- Judging ------------------------------------------------------------------------------------

// `count` samples are there of the window, the rest is silence: only the last one is short.
static kazeia_status judge_window(kz_vad *vad, size_t count, float *out_probability) {
    kz_sample_queue_copy(&vad->queue, vad->rule.position, count, vad->samples);
    for (size_t i = 0; i < vad->window; i++) {
        vad->samples[i] = i < count ? kz_sample_or_silence(vad->samples[i]) : 0.0f;
    }
    const void *inputs[] = {vad->samples};
    void *outputs[] = {out_probability};
    return kz_context_run(vad->context, vad->method, NULL, inputs, outputs);
}

// How many samples of the next window can be judged now; NEEDS_INPUT when there is none yet. DONE
// when all of the turn were.
static kazeia_status next_window(kz_vad *vad, const kz_sample_view *view, size_t *out_count) {
    const uint64_t position = vad->rule.position;
    // The last window may reach beyond the end.
    const uint64_t left = view->end > position ? view->end - position : 0;
    if (left < vad->window && !view->is_finished) {
        return KAZEIA_NEEDS_INPUT;
    }
    *out_count = left < vad->window ? (size_t)left : vad->window;
    return left > 0 ? KAZEIA_OK : KAZEIA_DONE;
}

static void tell(const kz_vad *vad, bool is_over, const kz_vad_span *ended, kz_vad_news *out_news) {
    *out_news = (kz_vad_news){.is_speech = is_over, .is_over = is_over};
    if (is_over) {
        out_news->span = *ended;
    } else {
        out_news->is_speech = kz_vad_rule_sure(&vad->rule, &out_news->span);
    }
}

// The turn's last word: a span that its end cuts off, then DONE.
static kazeia_status end_turn(kz_vad *vad, uint64_t end, kz_vad_news *out_news) {
    kz_vad_span span = {0, 0};
    if (!vad->is_ended && kz_vad_rule_finish(&vad->rule, end, &span)) {
        vad->is_ended = true;
        tell(vad, true, &span, out_news);
        return KAZEIA_OK;
    }
    begin_turn(vad, vad->turn_start + end);
    return KAZEIA_DONE;
}

kazeia_status kz_vad_judge(kz_vad *vad, kz_vad_news *out_news) {
    if (kz_context_is_cancelled(vad->context)) {
        return kz_fail(KAZEIA_CANCELLED, "vad: stopped");
    }
    const kz_sample_view view = kz_sample_queue_look(&vad->queue);
    kz_vad_span span = {0, 0};
    size_t count = 0;
    bool is_over = false;
    const kazeia_status first = next_window(vad, &view, &count);
    if (first != KAZEIA_OK) {
        return first == KAZEIA_DONE ? end_turn(vad, view.end, out_news) : first;
    }
    for (size_t i = 0; i < WINDOWS_AT_ONCE && !is_over; i++) {
        float probability = 0;
        if (next_window(vad, &view, &count) != KAZEIA_OK) {
            break;
        }
        KZ_TRY(judge_window(vad, count, &probability));
        is_over = kz_vad_rule_step(&vad->rule, probability, &span);
    }
    // A last window that reached beyond the sound's end has no samples there.
    span.end = span.end < view.end ? span.end : view.end;
    tell(vad, is_over, &span, out_news);
    out_news->span.end = out_news->span.end < view.end ? out_news->span.end : view.end;
    return KAZEIA_OK;
}

void kz_vad_copy(const kz_vad *vad, uint64_t from, size_t count, float *out_samples) {
    kz_sample_queue_copy(&vad->queue, from, count, out_samples);
}

void kz_vad_forget(kz_vad *vad, uint64_t position) {
    const kz_sample_view view = kz_sample_queue_look(&vad->queue);
    const uint64_t earliest = kz_vad_rule_earliest(&vad->rule);
    // Of a span that was told the caller knows what it still wants; of one to come nobody does yet.
    uint64_t begin = vad->rule.is_sure || position < earliest ? position : earliest;
    begin = begin < view.end ? begin : view.end;
    // A caller that asks for less than before has forgotten it all the same.
    kz_sample_queue_drop(&vad->queue, begin > view.begin ? begin : view.begin);
}

uint64_t kz_vad_turn_start(const kz_vad *vad) {
    return vad->turn_start;
}

// --- Spans alone --------------------------------------------------------------------------------

kazeia_status kz_vad_next(kz_vad *vad, double *out_start_s, double *out_end_s) {
    kz_vad_news news = {0};
    do {
        KZ_TRY(kz_vad_judge(vad, &news));
        // Only the span's places are wanted: its sound may go at once.
        kz_vad_forget(vad, vad->rule.position);
    } while (!news.is_over);
    *out_start_s = (double)(vad->turn_start + news.span.start) / KZ_VAD_RATE_HZ;
    *out_end_s = (double)(vad->turn_start + news.span.end) / KZ_VAD_RATE_HZ;
    return KAZEIA_OK;
}
