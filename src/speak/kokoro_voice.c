// kokoro_voice.c: a Kokoro as a voice: sentences -> sound.
//   in   sentences, each ended by a line break
//   out  samples
// One `next` does one bounded thing: it takes a line, reads a clause, says a piece, or gives sound.
// A pause is given with the piece after it, since only then is it known that there is one.
#include "speak/kokoro_voice.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "speak/kokoro.h"
#include "speak/kokoro_symbols.h"
#include "speak/line_queue.h"
#include "text/espeak_library.h"
#include "text/phonemes.h"

#define IPA_BYTES 65536u // of one clause: a digit becomes up to 40 bytes
#define CLAUSE_IDS 2048u // looked at together
#define PIECE_IDS 1024u  // of any program
#define SILENCE 0.004f   // of full scale: below the softest breath of a consonant
#define ROLL_MS 40u      // what is kept around the first and last sound
#define FADE_MS 5u       // of these, at the outer ends: no click
#define PAUSE_IN_CLAUSE_MS 30u
#define PAUSE_AT_LINE_END_MS 350u
#define SLOWEST 0.5f
#define FASTEST 2.0f

// Marks that end a piece, and how long it is silent after them at speed 1.
typedef struct pause {
    uint32_t mark;
    uint32_t ms;
} pause;

static const pause pauses[] = {
    {'.', 350}, {'!', 350}, {'?', 350},    {0x2026, 400}, // …
    {':', 250}, {';', 250}, {0x2014, 200},                // —
    {',', 150},
};
static const uint32_t closing_marks[] = {')', '"', 0x201d};

// What is usual where only a language is known; other languages take the program's first.
static const struct {
    const char *language, *speaker;
} usual_speakers[] = {{"fr", "ff_siwis"}, {"en", "af_heart"}};

typedef struct kokoro_voice {
    kz_voice base;
    kazeia_allocator allocator;
    kz_kokoro *kokoro;
    kz_kokoro_shape shape;
    kz_kokoro_symbols symbols;
    const kz_kokoro_language *language;
    float speed;
    bool has_espeak;
    void (*see)(void *context, const int32_t *ids, size_t count);
    void *see_context;
    atomic_bool is_cancelled;
    kz_line_queue queue;

    char line[KZ_LINE_BYTES];
    size_t line_count, line_at;
    kz_text_buffer ipa; // of a clause of the line
    size_t ipa_at;
    int32_t clause[CLAUSE_IDS]; // of the IPA so far
    size_t clause_count;
    int32_t piece[PIECE_IDS]; // clauses that are said together
    size_t piece_count, piece_at;
    bool is_piece_whole; // no more clauses join it

    uint32_t pause_ms;    // before the next piece; 0 before the first
    size_t pause_left;    // samples
    const float *samples; // of the piece that was said: the model's
    size_t sample_count, sample_begin, sample_at;
} kokoro_voice;

static kokoro_voice *of(kz_voice *base) {
    return (kokoro_voice *)base;
}

// --- Words --------------------------------------------------------------------------------------

static bool is_mark(const kokoro_voice *voice, int32_t id, const uint32_t *marks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (id == kz_kokoro_symbol_id(&voice->symbols, marks[i])) {
            return true;
        }
    }
    return false;
}

static bool is_closing(const kokoro_voice *voice, int32_t id) {
    return id == voice->symbols.space ||
           is_mark(voice, id, closing_marks, sizeof closing_marks / sizeof closing_marks[0]);
}

static const pause *find_pause(const kokoro_voice *voice, int32_t id) {
    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++) {
        if (id == kz_kokoro_symbol_id(&voice->symbols, pauses[i].mark)) {
            return &pauses[i];
        }
    }
    return NULL;
}

// Whether there is anything to say: marks alone would be a sigh.
static bool has_sound(const kokoro_voice *voice, const int32_t *ids, size_t count) {
    static const uint32_t silent_marks[] = {'(', 0x201c, 0x02c8, 0x02cc, 0x02d0};
    for (size_t i = 0; i < count; i++) {
        if (!is_closing(voice, ids[i]) && find_pause(voice, ids[i]) == NULL &&
            !is_mark(voice, ids[i], silent_marks, sizeof silent_marks / sizeof silent_marks[0])) {
            return true;
        }
    }
    return false;
}

// The next clause of the line in ids, or the next part of a very long one.
static kazeia_status read_clause(kokoro_voice *voice) {
    size_t taken = 0;
    if (voice->ipa_at == voice->ipa.count) {
        kz_text_buffer_reset(&voice->ipa);
        voice->ipa_at = 0;
        const kazeia_status status =
            kz_phonemes_of_clause(voice->language->espeak_voice, voice->line + voice->line_at,
                                  voice->line_count - voice->line_at, &voice->ipa, &taken);
        voice->line_at += taken;
        KZ_TRY(status);
    }
    const kz_text_view rest = {voice->ipa.bytes + voice->ipa_at, voice->ipa.count - voice->ipa_at};
    voice->clause_count = kz_kokoro_symbols_of(&voice->symbols, voice->language, rest, CLAUSE_IDS,
                                               voice->clause, &taken);
    voice->ipa_at += taken;
    return KAZEIA_OK;
}

// The longest beginning of at most `limit` ids that ends before a space: behind a mark, if that
// leaves at least half of them, else behind a word, else `limit`.
static size_t find_cut(const kokoro_voice *voice, const int32_t *ids, size_t limit) {
    size_t behind_word = 0;
    for (size_t cut = limit; cut > 0; cut--) {
        if (ids[cut] != voice->symbols.space) {
            continue;
        }
        if (cut >= limit / 2 && find_pause(voice, ids[cut - 1]) != NULL) {
            return cut;
        }
        behind_word = behind_word == 0 ? cut : behind_word;
    }
    return behind_word > 0 ? behind_word : limit;
}

static void move_to_piece(kokoro_voice *voice, size_t count) {
    if (voice->piece_count > 0) {
        voice->piece[voice->piece_count++] = voice->symbols.space;
    }
    memcpy(voice->piece + voice->piece_count, voice->clause, count * sizeof *voice->piece);
    voice->piece_count += count;
    while (count < voice->clause_count && voice->clause[count] == voice->symbols.space) {
        count++;
    }
    voice->clause_count -= count;
    memmove(voice->clause, voice->clause + count, voice->clause_count * sizeof *voice->clause);
}

// Adds the clause to the piece, or, when it is too long for that, ends the piece.
static void join_clause(kokoro_voice *voice) {
    const size_t limit = voice->shape.symbol_limit;
    const size_t joined = voice->piece_count + (voice->piece_count > 0) + voice->clause_count;
    if (joined <= limit) {
        move_to_piece(voice, voice->clause_count);
    } else if (voice->piece_count == 0) {
        move_to_piece(voice, find_cut(voice, voice->clause, limit));
        voice->is_piece_whole = true;
    } else {
        voice->is_piece_whole = true;
    }
}

// --- Sound --------------------------------------------------------------------------------------

// What was said last lies in front of `end`.
static uint32_t pause_after(const kokoro_voice *voice, const int32_t *ids, const int32_t *end) {
    while (end > ids && is_closing(voice, end[-1])) {
        end--;
    }
    const pause *found = end > ids ? find_pause(voice, end[-1]) : NULL;
    if (found != NULL) {
        return found->ms;
    }
    const bool is_line_over = voice->piece_at == voice->piece_count &&
                              voice->line_at == voice->line_count && voice->clause_count == 0 &&
                              voice->ipa_at == voice->ipa.count;
    return is_line_over ? PAUSE_AT_LINE_END_MS : PAUSE_IN_CLAUSE_MS;
}

// Leaves the silence at both ends out, but for a roll.
static void trim(kokoro_voice *voice) {
    const float *samples = voice->samples;
    const size_t roll = (size_t)voice->shape.sample_rate_hz * ROLL_MS / 1000;
    size_t begin = 0, end = voice->sample_count;
    // So written that what is no number counts as silence.
    while (begin < end && !(fabsf(samples[begin]) > SILENCE)) {
        begin++;
    }
    while (end > begin && !(fabsf(samples[end - 1]) > SILENCE)) {
        end--;
    }
    if (begin == end) {
        voice->sample_begin = voice->sample_at = voice->sample_count;
        return;
    }
    voice->sample_begin = voice->sample_at = begin > roll ? begin - roll : 0;
    voice->sample_count = voice->sample_count - end > roll ? end + roll : voice->sample_count;
}

// Durations that are too long in all halve the piece.
static kazeia_status measure(kokoro_voice *voice, size_t *out_count) {
    int32_t *durations = NULL;
    size_t count = voice->piece_count - voice->piece_at;
    const int32_t *ids = voice->piece + voice->piece_at;
    KZ_TRY(kz_kokoro_measure(voice->kokoro, ids, (uint32_t)count, voice->speed, &durations));
    while (count > 1 &&
           kz_kokoro_frames(durations, (uint32_t)count + 2) > voice->shape.frame_limit) {
        count = find_cut(voice, ids, count / 2);
        KZ_TRY(kz_kokoro_measure(voice->kokoro, ids, (uint32_t)count, voice->speed, &durations));
    }
    *out_count = count;
    return KAZEIA_OK;
}

static void drop_piece(kokoro_voice *voice) {
    voice->piece_count = voice->piece_at = 0;
    voice->is_piece_whole = false;
}

// Says the piece, or the first part of one that lasts too long.
static kazeia_status say_part(kokoro_voice *voice) {
    size_t count = 0;
    const int32_t *ids = voice->piece + voice->piece_at;
    KZ_TRY(measure(voice, &count));
    if (voice->see != NULL) {
        voice->see(voice->see_context, ids, count);
    }
    KZ_TRY(kz_kokoro_speak(voice->kokoro, &voice->samples, &voice->sample_count));
    trim(voice);
    voice->pause_left = (size_t)((float)voice->shape.sample_rate_hz * (float)voice->pause_ms /
                                 (1000.0f * voice->speed));
    voice->piece_at += count;
    voice->pause_ms = pause_after(voice, ids, ids + count);
    if (voice->piece_at == voice->piece_count) {
        drop_piece(voice);
    }
    return KAZEIA_OK;
}

static kazeia_status say_piece(kokoro_voice *voice) {
    if (!has_sound(voice, voice->piece + voice->piece_at, voice->piece_count - voice->piece_at)) {
        drop_piece(voice);
        return KAZEIA_OK;
    }
    const kazeia_status status = say_part(voice);
    // What the model refuses would be refused for ever.
    if (status != KAZEIA_OK) {
        drop_piece(voice);
    }
    return status;
}

// One step towards more sound.
static kazeia_status advance(kokoro_voice *voice) {
    if (voice->is_piece_whole) {
        return say_piece(voice);
    }
    if (voice->clause_count > 0) {
        join_clause(voice);
        return KAZEIA_OK;
    }
    if (voice->line_at < voice->line_count || voice->ipa_at < voice->ipa.count) {
        return read_clause(voice);
    }
    if (voice->piece_count > 0) {
        voice->is_piece_whole = true;
        return KAZEIA_OK;
    }
    voice->line_at = voice->line_count = 0;
    return kz_line_queue_take(&voice->queue, voice->line, &voice->line_count);
}

// 0 to 1: rises at the piece's beginning, falls at its end.
static float gain_at(const kokoro_voice *voice, size_t place) {
    const size_t fade = (size_t)voice->shape.sample_rate_hz * FADE_MS / 1000;
    const size_t from_begin = place - voice->sample_begin;
    const size_t to_end = voice->sample_count - 1 - place;
    const size_t nearest = from_begin < to_end ? from_begin : to_end;
    return nearest < fade ? (float)nearest / (float)fade : 1.0f;
}

static size_t give_sound(kokoro_voice *voice, float *out_samples, size_t capacity) {
    size_t given = 0;
    for (; given < capacity && voice->pause_left > 0; voice->pause_left--) {
        out_samples[given++] = 0.0f;
    }
    for (; given < capacity && voice->sample_at < voice->sample_count; voice->sample_at++) {
        out_samples[given++] = voice->samples[voice->sample_at] * gain_at(voice, voice->sample_at);
    }
    return given;
}

// --- The stage ----------------------------------------------------------------------------------

static kazeia_status refuse_cancelled(void) {
    return kz_fail(KAZEIA_CANCELLED, "voice: cancelled");
}

static kazeia_status feed(kz_voice *base, const char *text, size_t count, size_t *out_taken) {
    *out_taken = 0;
    return atomic_load(&of(base)->is_cancelled)
               ? refuse_cancelled()
               : kz_line_queue_feed(&of(base)->queue, text, count, out_taken);
}

static kazeia_status next(kz_voice *base, float *out_samples, size_t capacity, size_t *out_count) {
    kokoro_voice *voice = of(base);
    *out_count = 0;
    if (atomic_load(&voice->is_cancelled)) {
        return refuse_cancelled();
    }
    if (voice->sample_at == voice->sample_count) {
        voice->pause_left = 0; // of a piece without sound
        KZ_TRY(advance(voice));
    }
    *out_count = give_sound(voice, out_samples, capacity);
    return KAZEIA_OK;
}

static void finish(kz_voice *base) {
    kz_line_queue_finish(&of(base)->queue);
}

static void cancel(kz_voice *base) {
    atomic_store(&of(base)->is_cancelled, true);
    kz_kokoro_cancel(of(base)->kokoro);
}

static void reset(kz_voice *base) {
    kokoro_voice *voice = of(base);
    kz_line_queue_reset(&voice->queue);
    kz_text_buffer_reset(&voice->ipa);
    voice->line_at = voice->line_count = voice->ipa_at = voice->clause_count = 0;
    drop_piece(voice);
    voice->pause_ms = 0;
    voice->pause_left = voice->sample_count = voice->sample_begin = voice->sample_at = 0;
    kz_kokoro_resume(voice->kokoro);
    atomic_store(&voice->is_cancelled, false);
}

static void close_voice(kz_voice *base) {
    kokoro_voice *voice = of(base);
    const kazeia_allocator memory = voice->allocator;
    kz_kokoro_destroy(voice->kokoro);
    if (voice->has_espeak) {
        kz_espeak_close();
    }
    kz_text_buffer_clear(&voice->ipa);
    kz_line_queue_clear(&voice->queue);
    kz_free(&memory, voice);
}

// --- Opening ------------------------------------------------------------------------------------

static kazeia_status choose_usual(kokoro_voice *voice, const char *language) {
    for (size_t i = 0; i < sizeof usual_speakers / sizeof usual_speakers[0]; i++) {
        if (kz_kokoro_is_language(usual_speakers[i].language, language) &&
            kz_kokoro_choose(voice->kokoro, usual_speakers[i].speaker) == KAZEIA_OK &&
            kz_kokoro_is_language(language, kz_kokoro_language_of(voice->kokoro))) {
            return KAZEIA_OK;
        }
    }
    const char *speaker = kz_kokoro_speaker_for(voice->kokoro, language);
    return speaker != NULL ? kz_kokoro_choose(voice->kokoro, speaker)
                           : kz_fail(KAZEIA_NOT_FOUND,
                                     "voice: the program has no speaker of '%.20s'", language);
}

// A speaker may read another language, with an accent.
static kazeia_status choose_language(kokoro_voice *voice, const char *language) {
    const char *own = kz_kokoro_language_of(voice->kokoro);
    const char *read = language == NULL || kz_kokoro_is_language(language, own) ? own : language;
    const kz_kokoro_language *found = kz_kokoro_find_language(read);
    if (found == NULL) {
        found = kz_kokoro_find_language(strcmp(read, "en") == 0 ? "en-us" : "");
    }
    if (found == NULL) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "voice: there are no rules to read '%.20s', expected a language as 'fr'",
                       read);
    }
    KZ_TRY(kz_espeak_check_voice(found->espeak_voice));
    voice->language = found;
    return KAZEIA_OK;
}

static kazeia_status set_language(kz_voice *base, const char *language) {
    kokoro_voice *voice = of(base);
    const char *before = kz_kokoro_speaker_of(voice->kokoro);
    kazeia_status status = choose_usual(voice, language);
    if (status == KAZEIA_OK) {
        status = choose_language(voice, language);
    }
    if (status != KAZEIA_OK) {
        KZ_TRY(kz_kokoro_choose(voice->kokoro, before)); // it is one of its speakers
    }
    return status;
}

static const kz_voice_table kokoro_voice_table = {
    .kind = "kokoro",
    .feed = feed,
    .next = next,
    .finish = finish,
    .cancel = cancel,
    .reset = reset,
    .close = close_voice,
    .set_language = set_language,
};

static kazeia_status choose_speaker(kokoro_voice *voice, const kz_kokoro_settings *settings) {
    if (settings->speaker != NULL && settings->speaker[0] != '\0') {
        return kz_kokoro_choose(voice->kokoro, settings->speaker);
    }
    if (settings->language != NULL) {
        return choose_usual(voice, settings->language);
    }
    // The first usual one that there is, else the program's first.
    for (size_t i = 0; i < sizeof usual_speakers / sizeof usual_speakers[0]; i++) {
        if (kz_kokoro_choose(voice->kokoro, usual_speakers[i].speaker) == KAZEIA_OK) {
            break;
        }
    }
    return KAZEIA_OK;
}

static kazeia_status check_speed(float speed, float *out_speed) {
    *out_speed = speed == 0.0f ? 1.0f : speed;
    // So written that what is no number fails.
    if (!(*out_speed >= SLOWEST && *out_speed <= FASTEST)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "voice: speed is %g, expected %g to %g", (double)speed,
                       (double)SLOWEST, (double)FASTEST);
    }
    return KAZEIA_OK;
}

static kazeia_status check_shape(const kokoro_voice *voice) {
    if (voice->shape.symbol_limit < 1 || voice->shape.symbol_limit > PIECE_IDS) {
        return kz_fail(KAZEIA_BAD_FILE, "program: pieces of %u symbols, expected 1 to %u",
                       voice->shape.symbol_limit, PIECE_IDS);
    }
    return KAZEIA_OK;
}

static kazeia_status fill(kokoro_voice *voice, kz_program *program, kz_pool *pool,
                          const kz_kokoro_settings *settings) {
    uint32_t espeak_rate_hz = 0;
    KZ_TRY(check_speed(settings->speed, &voice->speed));
    KZ_TRY(kz_line_queue_init(&voice->queue));
    KZ_TRY(kz_text_buffer_init(&voice->ipa, &voice->allocator, IPA_BYTES, IPA_BYTES));
    KZ_TRY(kz_kokoro_create(program, pool, KZ_PRIORITY_SPEAK, &voice->allocator, &voice->kokoro));
    voice->shape = *kz_kokoro_shape_of(voice->kokoro);
    voice->base.sample_rate_hz = voice->shape.sample_rate_hz;
    KZ_TRY(check_shape(voice));
    KZ_TRY(kz_kokoro_symbols_read(program, voice->shape.id_limit, &voice->symbols));
    KZ_TRY(kz_espeak_open(&espeak_rate_hz));
    voice->has_espeak = true;
    KZ_TRY(choose_speaker(voice, settings));
    return choose_language(voice, settings->language);
}

bool kz_kokoro_is_spoken_by(const kz_program *program) {
    const char *const *symbols = NULL;
    size_t count = 0;
    return kz_program_strings(program, "speak.symbols", &symbols, &count);
}

kazeia_status kz_kokoro_voice_open(kz_program *program, kz_pool *pool,
                                   const kz_kokoro_settings *settings,
                                   const kazeia_allocator *allocator, kz_voice **out_voice) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kokoro_voice *voice = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *voice, "voice", (void **)&voice));
    voice->base.table = &kokoro_voice_table;
    voice->allocator = memory;
    voice->see = settings->see;
    voice->see_context = settings->see_context;
    atomic_init(&voice->is_cancelled, false);
    const kazeia_status status = fill(voice, program, pool, settings);
    if (status != KAZEIA_OK) {
        close_voice(&voice->base);
        return status;
    }
    *out_voice = &voice->base;
    return KAZEIA_OK;
}

const char *kz_kokoro_voice_language(const kz_voice *voice) {
    return ((const kokoro_voice *)voice)->language->name;
}
