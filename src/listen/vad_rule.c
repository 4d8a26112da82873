// vad_rule.c: from probabilities of speech to spans of speech.
//   in   a probability a window
//   out  spans, in samples
#include "listen/vad_rule.h"

#define HYSTERESIS 0.15f
// The network is sure of a voice a syllable late now and then, when what came before has left it in
// doubt, but it stirs from the first sound on. Silence and noise stay below.
#define STIRRING 0.07f
// A span begins at most so much before the network is sure: an inhaled breath, which stirs it too,
// may be longer.
#define STIRRING_WINDOWS 5u
#define CALM_WINDOWS 2u // what ends the stirring
// A click of one window in a pause must not join the two sentences around it.
#define RESUMING_WINDOWS 3u

void kz_vad_rule_reset(kz_vad_rule *rule) {
    *rule = (kz_vad_rule){.threshold = rule->threshold,
                          .window = rule->window,
                          .min_speech = rule->min_speech,
                          .pre_roll = rule->pre_roll,
                          .hang_over = rule->hang_over};
}

static uint64_t padded_start(const kz_vad_rule *rule, uint64_t start) {
    const uint64_t padded = start > rule->pre_roll ? start - rule->pre_roll : 0;
    return padded > rule->previous_end ? padded : rule->previous_end;
}

// Up to where the present speech is known to reach, the roll behind it included. Windows that were
// not judged yet cannot belong to it.
static uint64_t sure_end(const kz_vad_rule *rule) {
    if (!rule->is_silent) {
        return rule->position;
    }
    const uint64_t padded = rule->silence + rule->pre_roll;
    return padded < rule->position ? padded : rule->position;
}

static bool end_span(kz_vad_rule *rule, uint64_t end, kz_vad_span *out_span) {
    const bool is_span = rule->is_sure;
    if (is_span) {
        const uint64_t padded = sure_end(rule);
        *out_span = (kz_vad_span){padded_start(rule, rule->onset), padded < end ? padded : end};
        rule->previous_end = out_span->end;
    }
    rule->is_speech = false;
    rule->is_sure = false;
    rule->is_silent = false;
    rule->is_resuming = false;
    return is_span;
}

// Where speech that begins with the next window begins in truth.
static uint64_t find_onset(const kz_vad_rule *rule) {
    const uint64_t reach = (uint64_t)STIRRING_WINDOWS * rule->window;
    const uint64_t earliest = rule->position > reach ? rule->position - reach : 0;
    if (!rule->is_stirring) {
        return rule->position;
    }
    return rule->stirring > earliest ? rule->stirring : earliest;
}

static void note_stirring(kz_vad_rule *rule, float probability) {
    if (probability >= STIRRING) {
        rule->stirring = rule->is_stirring ? rule->stirring : rule->position;
        rule->is_stirring = true;
        rule->calm_windows = 0;
    } else {
        rule->calm_windows++;
        rule->is_stirring = rule->is_stirring && rule->calm_windows < CALM_WINDOWS;
    }
}

static void begin_or_go_on(kz_vad_rule *rule) {
    if (!rule->is_speech) {
        rule->is_speech = true;
        rule->start = rule->position;
        rule->onset = find_onset(rule);
    } else if (rule->is_silent && !rule->is_resuming) {
        rule->is_resuming = true;
        rule->resumption = rule->position;
    }
}

// Doubtful windows count, too: what neither ends nor goes on would be waited for without end.
static void believe_resumption(kz_vad_rule *rule) {
    const uint64_t lasted = rule->position + rule->window - rule->resumption;
    // A word that is not believed yet may be in pieces.
    if (rule->is_resuming && (!rule->is_sure || lasted >= RESUMING_WINDOWS * rule->window)) {
        rule->is_resuming = false;
        rule->is_silent = false;
    }
}

static void note_silence(kz_vad_rule *rule) {
    rule->is_resuming = false;
    if (rule->is_speech && !rule->is_silent) {
        rule->is_silent = true;
        rule->silence = rule->position;
    }
}

bool kz_vad_rule_step(kz_vad_rule *rule, float probability, kz_vad_span *out_span) {
    note_stirring(rule, probability);
    // Between the two limits all stays as it is: a voice that fades does not flicker.
    if (probability >= rule->threshold) {
        begin_or_go_on(rule);
    } else if (!(probability >= rule->threshold - HYSTERESIS)) { // also for NaN
        note_silence(rule);
    }
    believe_resumption(rule);
    rule->position += rule->window;
    if (!rule->is_speech) {
        return false;
    }
    const uint64_t speech_end = rule->is_silent ? rule->silence : rule->position;
    rule->is_sure = rule->is_sure || speech_end - rule->start >= rule->min_speech;
    // Not while it may be going on: the last windows may yet turn out to be no silence.
    const uint64_t now = rule->is_resuming ? rule->resumption : rule->position;
    const uint64_t silent_for = now - speech_end;
    // What is too short to be believed waits no longer for more than it would have had to last.
    const uint64_t patience =
        rule->is_sure || rule->min_speech > rule->hang_over ? rule->hang_over : rule->min_speech;
    return rule->is_silent && silent_for >= patience && end_span(rule, rule->position, out_span);
}

bool kz_vad_rule_finish(kz_vad_rule *rule, uint64_t end, kz_vad_span *out_span) {
    return rule->is_speech && end_span(rule, end, out_span);
}

bool kz_vad_rule_sure(const kz_vad_rule *rule, kz_vad_span *out_span) {
    if (rule->is_sure) {
        *out_span = (kz_vad_span){padded_start(rule, rule->onset), sure_end(rule)};
    }
    return rule->is_sure;
}

uint64_t kz_vad_rule_earliest(const kz_vad_rule *rule) {
    return padded_start(rule, rule->is_speech ? rule->onset : find_onset(rule));
}
