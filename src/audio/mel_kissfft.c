// mel_kissfft.c: the log-mel spectrogram, over kissfft's real transform.
//
// in:  up to 30 s of 16 kHz mono samples
// out: 3000 rows of log-mel values, for Whisper's encoder
// Filters are kept as one run of weights per channel: of 201 bins a channel sees 2 to 20. Rows past
// the sound need no transform: their power is zero.
#include <kiss_fftr.h>
#include <string.h>

#include "audio/mel.h"

#define HALF_WINDOW (KZ_MEL_WINDOW / 2)
#define LOWEST_POWER 1.0e-10f
#define SILENCE_LOG (-10.0f) // log10(LOWEST_POWER)
#define LOG_RANGE 8.0f       // below the loudest value by more is flat
#define PI 3.14159265358979323846

typedef struct filter_run {
    uint32_t first_bin;
    uint32_t bin_count;
    uint32_t first_weight; // in kz_mel.weights
} filter_run;

struct kz_mel {
    kazeia_allocator allocator;
    uint32_t channel_count;
    filter_run *runs;        // [channel_count]
    float *weights;          // the runs' weights, one after the other
    kiss_fftr_cfg transform; // kissfft's state, in our memory
    float window[KZ_MEL_WINDOW];
    float frame[KZ_MEL_WINDOW];
    kiss_fft_cpx spectrum[KZ_MEL_BINS];
    float power[KZ_MEL_BINS];
};

static kazeia_status check_arguments(uint32_t channel_count, const float *filters) {
    if (channel_count < 1 || channel_count > KZ_MEL_MOST_CHANNELS) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "mel: %u channels, expected 1 to %u", channel_count,
                       KZ_MEL_MOST_CHANNELS);
    }
    for (uint32_t i = 0; filters != NULL && i < channel_count * KZ_MEL_BINS; i++) {
        if (!isfinite(filters[i])) {
            return kz_fail(KAZEIA_BAD_ARGUMENT,
                           "mel: the filter of channel %u is not finite at bin %u", i / KZ_MEL_BINS,
                           i % KZ_MEL_BINS);
        }
    }
    return KAZEIA_OK;
}

// A filter from a checkpoint may hold zeros inside its run; they are kept as weights. One of zeros
// only has a run of none.
// The run of bins from the first to the last weight that is not zero.
static filter_run find_run(const float *filter) {
    uint32_t first = 0;
    uint32_t end = KZ_MEL_BINS;
    while (first < end && filter[first] == 0.0f) {
        first++;
    }
    while (end > first && filter[end - 1] == 0.0f) {
        end--;
    }
    return (filter_run){.first_bin = first, .bin_count = end - first};
}

static void pack_filters(kz_mel *mel, const float *filters) {
    uint32_t weight_count = 0;
    for (uint32_t channel = 0; channel < mel->channel_count; channel++) {
        const float *filter = filters + (size_t)channel * KZ_MEL_BINS;
        filter_run *run = &mel->runs[channel];
        *run = find_run(filter);
        run->first_weight = weight_count;
        memcpy(mel->weights + weight_count, filter + run->first_bin,
               run->bin_count * sizeof(float));
        weight_count += run->bin_count;
    }
}

static kazeia_status prepare_filters(kz_mel *mel, const float *filters) {
    const size_t dense_count = (size_t)mel->channel_count * KZ_MEL_BINS;
    void *memory;
    KZ_TRY(kz_alloc(&mel->allocator, mel->channel_count, sizeof(filter_run), "mel filter runs",
                    &memory));
    mel->runs = memory;
    // Room for dense filters: a checkpoint's may be of any shape.
    KZ_TRY(kz_alloc(&mel->allocator, dense_count, sizeof(float), "mel filter weights", &memory));
    mel->weights = memory;
    if (filters != NULL) {
        pack_filters(mel, filters);
        return KAZEIA_OK;
    }
    KZ_TRY(kz_alloc(&mel->allocator, dense_count, sizeof(float), "mel filters", &memory));
    kz_mel_make_slaney_filters(mel->channel_count, memory);
    pack_filters(mel, memory);
    kz_free(&mel->allocator, memory);
    return KAZEIA_OK;
}

static kazeia_status prepare_transform(kz_mel *mel) {
    for (uint32_t i = 0; i < KZ_MEL_WINDOW; i++) {
        // The periodic Hann window divides by the length, not by the length less one:
        // torch.hann_window's default, which Whisper was trained with.
        mel->window[i] = (float)(0.5 - 0.5 * cos(2.0 * PI * i / KZ_MEL_WINDOW));
    }
    size_t bytes = 0;
    kiss_fftr_alloc(KZ_MEL_WINDOW, 0, NULL, &bytes); // only tells the size
    void *memory;
    KZ_TRY(kz_alloc(&mel->allocator, bytes, 1, "kissfft state", &memory));
    // kissfft builds its state in place, so kz_free of the same address gives it back.
    mel->transform = kiss_fftr_alloc(KZ_MEL_WINDOW, 0, memory, &bytes);
    if (mel->transform == NULL) {
        kz_free(&mel->allocator, memory);
        return kz_fail(KAZEIA_UNSUPPORTED, "mel: kissfft refuses %zu bytes for %u points", bytes,
                       KZ_MEL_WINDOW);
    }
    return KAZEIA_OK;
}

kazeia_status kz_mel_create(uint32_t channel_count, const float *filters,
                            const kazeia_allocator *allocator, kz_mel **out_mel) {
    KZ_TRY(check_arguments(channel_count, filters));
    const kazeia_allocator chosen = kz_allocator_or_default(allocator);
    void *memory;
    KZ_TRY(kz_alloc(&chosen, 1, sizeof(kz_mel), "mel front end", &memory));
    kz_mel *mel = memory;
    mel->allocator = chosen;
    mel->channel_count = channel_count;
    kazeia_status status = prepare_filters(mel, filters);
    if (status == KAZEIA_OK) {
        status = prepare_transform(mel);
    }
    if (status != KAZEIA_OK) {
        kz_mel_destroy(mel);
        return status;
    }
    *out_mel = mel;
    return KAZEIA_OK;
}

void kz_mel_destroy(kz_mel *mel) {
    if (mel == NULL) {
        return;
    }
    const kazeia_allocator allocator = mel->allocator;
    kz_free(&allocator, mel->transform);
    kz_free(&allocator, mel->weights);
    kz_free(&allocator, mel->runs);
    kz_free(&allocator, mel);
}

uint32_t kz_mel_channel_count(const kz_mel *mel) {
    return mel->channel_count;
}

// A sample of the 30 s window, whose edges are mirrored without repeating the edge itself.
static float sample_at(const float *samples, size_t count, ptrdiff_t index) {
    const ptrdiff_t last = (ptrdiff_t)KZ_MEL_SAMPLES - 1;
    const ptrdiff_t mirrored = index < 0 ? -index : (index > last ? 2 * last - index : index);
    return (size_t)mirrored < count ? kz_sample_or_silence(samples[mirrored]) : 0.0f;
}

// Inside the sound, as nearly all frames are, no index needs mirroring.
static void window_frame(kz_mel *mel, const float *samples, size_t count, size_t row) {
    const ptrdiff_t start = (ptrdiff_t)(row * KZ_MEL_HOP) - (ptrdiff_t)HALF_WINDOW;
    if (start >= 0 && (size_t)start + KZ_MEL_WINDOW <= count) {
        for (size_t i = 0; i < KZ_MEL_WINDOW; i++) {
            mel->frame[i] = kz_sample_or_silence(samples[(size_t)start + i]) * mel->window[i];
        }
        return;
    }
    for (size_t i = 0; i < KZ_MEL_WINDOW; i++) {
        mel->frame[i] = sample_at(samples, count, start + (ptrdiff_t)i) * mel->window[i];
    }
}

static float apply_filter(const kz_mel *mel, uint32_t channel) {
    const filter_run run = mel->runs[channel];
    const float *weights = mel->weights + run.first_weight;
    const float *power = mel->power + run.first_bin;
    float sum = 0.0f;
    for (uint32_t i = 0; i < run.bin_count; i++) {
        sum += weights[i] * power[i];
    }
    return sum;
}

// One row of log10 values; returns the larger of `loudest` and the row's largest.
static float compute_row(kz_mel *mel, float loudest, float *out_row) {
    kiss_fftr(mel->transform, mel->frame, mel->spectrum);
    for (size_t bin = 0; bin < KZ_MEL_BINS; bin++) {
        const kiss_fft_cpx value = mel->spectrum[bin];
        mel->power[bin] = value.r * value.r + value.i * value.i;
    }
    for (uint32_t channel = 0; channel < mel->channel_count; channel++) {
        // Clamped before the logarithm: the power of digital silence is 0.
        out_row[channel] = log10f(fmaxf(apply_filter(mel, channel), LOWEST_POWER));
        loudest = fmaxf(loudest, out_row[channel]);
    }
    return loudest;
}

static float normalise(float value, float floor) {
    return (fmaxf(value, floor) + 4.0f) / 4.0f;
}

size_t kz_mel_compute(kz_mel *mel, const float *samples, size_t count, float *out_rows) {
    count = count < KZ_MEL_SAMPLES ? count : KZ_MEL_SAMPLES;
    // Row r sees samples from r * hop - half a window; the mirrored right edge adds no row.
    const size_t reached = count > 0 ? (count + HALF_WINDOW + KZ_MEL_HOP - 1) / KZ_MEL_HOP : 0;
    const size_t sounding = reached < KZ_MEL_ROWS ? reached : KZ_MEL_ROWS;
    const size_t channels = mel->channel_count;
    float loudest = SILENCE_LOG;
    for (size_t row = 0; row < sounding; row++) {
        window_frame(mel, samples, count, row);
        loudest = compute_row(mel, loudest, out_rows + row * channels);
    }
    // The floor hangs on the loudest value of the whole window, so no row can be scaled before all
    // are computed.
    const float floor = loudest - LOG_RANGE;
    for (size_t i = 0; i < sounding * channels; i++) {
        out_rows[i] = normalise(out_rows[i], floor);
    }
    const float silence = normalise(SILENCE_LOG, floor);
    for (size_t i = sounding * channels; i < KZ_MEL_ROWS * channels; i++) {
        out_rows[i] = silence;
    }
    return sounding;
}
