// espeak.c: the espeak-ng voice as a stage.
//
// in:  sentences, each ended by a line break
// out: mono samples at espeak-ng's rate
// One `next` synthesises at most one piece of text (a sentence, or the first part of a long one)
// into a buffer of fixed size, and later ones hand it out: espeak-ng cannot pause, and holding its
// process-wide lock until a player has room would stop every other voice.
#include "speak/espeak.h"

#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"
#include "text/espeak_library.h"

#define QUEUE_BYTES 4096u
#define PIECE_BYTES 240u // longest piece: some 15 s of speech
#define AUDIO_SECONDS 40u

typedef struct espeak_voice {
    kz_voice base;
    kazeia_allocator allocator;
    char name[KZ_ESPEAK_VOICE_BYTES + 1];
    uint32_t words_per_minute;
    atomic_bool is_cancelled;

    kz_mutex text_lock; // guards the queue, between the feeding and the speaking thread
    size_t text_count;
    bool is_finished;
    char text[QUEUE_BYTES];

    char piece[PIECE_BYTES];
    size_t piece_limit; // halved when a piece's sound does not fit, until one does
    int16_t *audio;     // [audio_capacity]
    size_t audio_capacity;
    size_t audio_count;
    size_t audio_given;
    bool is_audio_full;
} espeak_voice;

// A piece of text at the queue's front.
typedef struct text_piece {
    size_t count;
    bool ends_sentence;
} text_piece;

// 0 is the settings' zero value and means normal speed. The test is written so that NaN fails it.
static kazeia_status choose_rate(float speed, uint32_t *out_words_per_minute) {
    const float chosen = speed == 0.0f ? 1.0f : speed;
    const float rate = chosen * (float)KZ_ESPEAK_NORMAL_RATE;
    if (!(rate >= (float)KZ_ESPEAK_LOWEST_RATE && rate <= (float)KZ_ESPEAK_HIGHEST_RATE)) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "voice espeak: speed is %g, expected 0.46 to 2.57",
                       (double)speed);
    }
    *out_words_per_minute = (uint32_t)(rate + 0.5f);
    return KAZEIA_OK;
}

static kazeia_status choose_name(const char *speaker, const char *language, char *out_name) {
    const char *name = speaker[0] != '\0' ? speaker : language;
    if (name == NULL || name[0] == '\0') {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "voice espeak: no language is given: expected one as 'espeak:fr'");
    }
    KZ_TRY(kz_espeak_check_voice(name));
    memcpy(out_name, name, strlen(name) + 1); // a checked name fits
    return KAZEIA_OK;
}

static void clear_stream(espeak_voice *voice) {
    voice->text_count = 0;
    voice->is_finished = false;
    // Not under the lock: creation and reset happen while no other thread uses the voice.
    voice->piece_limit = PIECE_BYTES;
    voice->audio_count = 0;
    voice->audio_given = 0;
}

static kazeia_status create_voice(const kazeia_allocator *allocator, uint32_t sample_rate_hz,
                                  espeak_voice **out_voice) {
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    // More than twice what a piece of PIECE_BYTES takes at normal speed; speak_piece copes with
    // slower ones.
    const size_t capacity = (size_t)AUDIO_SECONDS * sample_rate_hz;
    void *memory;
    KZ_TRY(kz_alloc(&chosen, 1, sizeof(espeak_voice), "espeak voice", &memory));
    espeak_voice *voice = memory;
    kazeia_status status;
    KZ_TRY_DONE(status, kz_alloc(&chosen, capacity, sizeof(int16_t), "espeak sound", &memory));
    voice->audio = memory;
    KZ_TRY_DONE(status, kz_mutex_init(&voice->text_lock));
    voice->base.table = &kz_espeak_voice_table;
    voice->base.sample_rate_hz = sample_rate_hz;
    voice->allocator = chosen;
    voice->audio_capacity = capacity;
    atomic_init(&voice->is_cancelled, false);
    clear_stream(voice);
    *out_voice = voice;
    return KAZEIA_OK;
done:
    kz_free(&chosen, voice->audio);
    kz_free(&chosen, voice);
    return status;
}

static kazeia_status open_voice(const char *speaker, const kz_voice_options *options,
                                const kazeia_allocator *allocator, kz_voice **out_voice) {
    char name[KZ_ESPEAK_VOICE_BYTES + 1];
    uint32_t words_per_minute = 0;
    KZ_TRY(choose_rate(options->speed, &words_per_minute));
    uint32_t sample_rate_hz;
    // Opened before the name is checked, since only the loaded library knows its voices; closed
    // again on each failure after it.
    KZ_TRY(kz_espeak_open(&sample_rate_hz));
    espeak_voice *voice = NULL;
    kazeia_status status = choose_name(speaker, options->language, name);
    if (status == KAZEIA_OK) {
        status = create_voice(allocator, sample_rate_hz, &voice);
    }
    if (status != KAZEIA_OK) {
        kz_espeak_close();
        return status;
    }
    voice->words_per_minute = words_per_minute;
    memcpy(voice->name, name, sizeof name);
    *out_voice = &voice->base;
    return KAZEIA_OK;
}

static void close_voice(kz_voice *base) {
    espeak_voice *voice = (espeak_voice *)base;
    const kazeia_allocator allocator = voice->allocator;
    // The library stays loaded (text/espeak_library.c); this only gives up our claim.
    kz_espeak_close();
    kz_mutex_clear(&voice->text_lock);
    kz_free(&allocator, voice->audio);
    kz_free(&allocator, voice);
}

static kazeia_status refuse_cancelled(void) {
    return kz_fail(KAZEIA_CANCELLED, "voice espeak: cancelled");
}

static kazeia_status feed(kz_voice *base, const char *text, size_t count, size_t *out_taken) {
    espeak_voice *voice = (espeak_voice *)base;
    if (atomic_load(&voice->is_cancelled)) {
        return refuse_cancelled();
    }
    kazeia_status status = KAZEIA_OK;
    kz_mutex_lock(&voice->text_lock);
    // Under the lock, since finish may come from the feeding thread while next looks at the same
    // flag.
    if (voice->is_finished) {
        status = kz_fail(KAZEIA_BAD_ARGUMENT, "voice espeak: fed after finish");
    } else {
        const size_t room = QUEUE_BYTES - voice->text_count;
        *out_taken = count < room ? count : room;
        if (*out_taken > 0) {
            memcpy(voice->text + voice->text_count, text, *out_taken);
        }
        voice->text_count += *out_taken;
    }
    kz_mutex_unlock(&voice->text_lock);
    return status;
}

static void finish(kz_voice *base) {
    espeak_voice *voice = (espeak_voice *)base;
    kz_mutex_lock(&voice->text_lock);
    voice->is_finished = true;
    kz_mutex_unlock(&voice->text_lock);
}

// Seen by keep_sound at the next 20 ms of sound, in the middle of a synthesis.
static void cancel(kz_voice *base) {
    atomic_store(&((espeak_voice *)base)->is_cancelled, true);
}

static void reset(kz_voice *base) {
    espeak_voice *voice = (espeak_voice *)base;
    clear_stream(voice);
    atomic_store(&voice->is_cancelled, false);
}

static bool is_continuation_byte(char byte) {
    return ((unsigned char)byte & 0xc0u) == 0x80u;
}

// Where to cut text that is longer than `limit`: after the last punctuation that a space follows,
// else after the last space, else between characters.
static size_t find_cut(const char *text, size_t limit) {
    size_t after_space = 0;
    for (size_t i = limit; i-- > 1;) {
        if (text[i] != ' ') {
            continue;
        }
        if (strchr(".!?;:,", text[i - 1]) != NULL && text[i - 1] != '\0') {
            return i + 1;
        }
        after_space = after_space == 0 ? i + 1 : after_space;
    }
    if (after_space > 0) {
        return after_space;
    }
    size_t cut = limit;
    while (cut > 1 && limit - cut < 4 && is_continuation_byte(text[cut])) {
        cut--;
    }
    return cut;
}

// The piece to speak next; of 0 bytes when more text has to come first.
static text_piece find_piece(const espeak_voice *voice) {
    const char *text = voice->text;
    const size_t limit = voice->piece_limit;
    const size_t seen = voice->text_count < limit ? voice->text_count : limit;
    // Only within the limit: a line that is longer is cut before its end is looked for.
    const char *line_end = memchr(text, '\n', seen);
    if (line_end != NULL) {
        return (text_piece){(size_t)(line_end - text) + 1, true};
    }
    if (voice->text_count > limit) {
        return (text_piece){find_cut(text, limit), false};
    }
    // Less than a limit's worth without a line end waits for the rest of its sentence, whose melody
    // depends on it.
    return (text_piece){voice->is_finished ? voice->text_count : 0, true};
}

// Copies the next piece out of the queue, where it stays until it has been spoken.
static kazeia_status copy_piece(espeak_voice *voice, text_piece *out_piece) {
    kazeia_status status = KAZEIA_OK;
    kz_mutex_lock(&voice->text_lock);
    *out_piece = find_piece(voice);
    if (out_piece->count > 0) {
        // The synthesis works on the copy, without the lock: the feeding thread may append
        // meanwhile.
        memcpy(voice->piece, voice->text, out_piece->count);
    } else {
        status = voice->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
    }
    kz_mutex_unlock(&voice->text_lock);
    return status;
}

// What was fed since the copy stands behind the piece and moves to the front.
static void drop_text(espeak_voice *voice, size_t count) {
    kz_mutex_lock(&voice->text_lock);
    voice->text_count -= count;
    memmove(voice->text, voice->text + count, voice->text_count);
    kz_mutex_unlock(&voice->text_lock);
}

// Runs inside espeak-ng, under its process-wide lock: it must not block nor call back into it.
static bool keep_sound(void *context, const int16_t *samples, size_t count) {
    espeak_voice *voice = context;
    voice->is_audio_full = count > voice->audio_capacity - voice->audio_count;
    if (voice->is_audio_full || atomic_load(&voice->is_cancelled)) {
        return false;
    }
    memcpy(voice->audio + voice->audio_count, samples, count * sizeof(int16_t));
    voice->audio_count += count;
    return true;
}

static kazeia_status speak_piece(espeak_voice *voice) {
    text_piece piece;
    KZ_TRY(copy_piece(voice, &piece));
    const kz_espeak_request request = {.voice = voice->name,
                                       .words_per_minute = voice->words_per_minute,
                                       .text = voice->piece,
                                       .count = piece.count,
                                       .has_end_pause = piece.ends_sentence};
    voice->audio_count = 0;
    voice->audio_given = 0;
    voice->is_audio_full = false;
    const kazeia_status status = kz_espeak_synthesise(&request, keep_sound, voice);
    // Nothing of the attempt was given out yet, so it can be made again with half the text. A
    // single byte cannot be halved; its sound is cut, which ends the loop.
    if (voice->is_audio_full && piece.count > 1) { // few bytes, long sound: numbers, slow speech
        voice->audio_count = 0;
        voice->piece_limit = piece.count / 2;
        return KAZEIA_OK;
    }
    // Dropped on failure, too: text that espeak-ng refuses would be refused for ever.
    drop_text(voice, piece.count);
    voice->piece_limit = PIECE_BYTES;
    return status;
}

static size_t give_sound(espeak_voice *voice, float *out_samples, size_t capacity) {
    const size_t left = voice->audio_count - voice->audio_given;
    const size_t count = left < capacity ? left : capacity;
    const int16_t *samples = voice->audio + voice->audio_given;
    for (size_t i = 0; i < count; i++) {
        // 32768, not 32767: the division is exact and the wav writer multiplies by the same.
        out_samples[i] = (float)samples[i] / 32768.0f;
    }
    voice->audio_given += count;
    return count;
}

static kazeia_status next(kz_voice *base, float *out_samples, size_t capacity, size_t *out_count) {
    espeak_voice *voice = (espeak_voice *)base;
    *out_count = 0;
    if (atomic_load(&voice->is_cancelled)) {
        return refuse_cancelled();
    }
    // At most one synthesis a call; with no room for its sound the caller comes back for it.
    if (voice->audio_given == voice->audio_count) {
        KZ_TRY(speak_piece(voice));
    }
    *out_count = give_sound(voice, out_samples, capacity);
    return KAZEIA_OK;
}

static kazeia_status set_language(kz_voice *base, const char *language) {
    return choose_name("", language, ((espeak_voice *)base)->name);
}

const kz_voice_table kz_espeak_voice_table = {
    .kind = "espeak",
    .open = open_voice,
    .feed = feed,
    .next = next,
    .finish = finish,
    .cancel = cancel,
    .reset = reset,
    .close = close_voice,
    .set_language = set_language,
};
