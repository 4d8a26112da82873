// audio.c: audio files behind the public interface.
//   in   paths, samples
//   out  samples, WAV files; files as stages
#include <stdatomic.h>

#include "api/handles.h"
#include "api/stage.h"
#include "audio/files.h"
#include "audio/wav_writer.h"
#include "kazeia/listen.h"

kazeia_status kazeia_audio_read(const char *path, uint32_t sample_rate_hz, float **out_samples,
                                size_t *out_count) {
    KZ_TRY(kz_require(path, "audio: path"));
    KZ_TRY(kz_require(out_samples, "audio: out_samples"));
    KZ_TRY(kz_require(out_count, "audio: out_count"));
    // malloc's memory, which kazeia_audio_release gives back without being told where it came from:
    // the caller holds a bare pointer.
    kz_samples samples = {0};
    KZ_TRY(kz_audio_read_file(path, sample_rate_hz, NULL, &samples, NULL));
    *out_samples = samples.samples;
    *out_count = samples.count;
    return KAZEIA_OK;
}

void kazeia_audio_release(float *samples) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    kz_free(&memory, samples);
}

// --- Files as stages ----------------------------------------------------------------------------

// A file that is read, or one that is written.
typedef struct file_stage {
    kazeia_stage stage;
    kazeia_allocator memory;
    kz_audio_reader *reader;
    kz_wav_writer *writer; // NULL once it is in its place, or given up
    bool is_finished;
    atomic_bool is_cancelled;
} file_stage;

static file_stage *of(kazeia_stage *stage) {
    return (file_stage *)stage;
}

static void cancel(kazeia_stage *stage) {
    atomic_store(&of(stage)->is_cancelled, true);
}

static void destroy(kazeia_stage *stage) {
    const kazeia_allocator memory = of(stage)->memory;
    kz_audio_reader_close(of(stage)->reader);
    kz_wav_writer_abandon(of(stage)->writer);
    kz_free(&memory, stage);
}

static kazeia_status create(const kz_stage_table *table, file_stage **out_stage) {
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    KZ_TRY(kz_alloc(&memory, 1, sizeof **out_stage, table->name, (void **)out_stage));
    (*out_stage)->stage.table = table;
    (*out_stage)->memory = memory;
    return KAZEIA_OK;
}

// Gives the stage out, or destroys it when its file could not be opened.
static kazeia_status give(file_stage *created, kazeia_status opened, kazeia_stage **out_stage) {
    if (opened != KAZEIA_OK) {
        destroy(&created->stage);
        return opened;
    }
    *out_stage = &created->stage;
    return KAZEIA_OK;
}

// --- Without input ------------------------------------------------------------------------------

static kazeia_status refuse_input(kazeia_stage *stage, const void *in, size_t count,
                                  size_t *out_taken) {
    (void)stage, (void)in, (void)count, (void)out_taken;
    return kz_fail(KAZEIA_BAD_ARGUMENT, "audio reader: samples are fed; it only gives them");
}

static kazeia_status reader_next(kazeia_stage *stage, void *out, size_t capacity,
                                 size_t *out_count) {
    if (capacity == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "audio reader: room for 0 samples, 1 is needed");
    }
    if (atomic_load(&of(stage)->is_cancelled)) {
        return KAZEIA_CANCELLED;
    }
    KZ_TRY(kz_audio_reader_next(of(stage)->reader, out, capacity, out_count));
    return *out_count > 0 ? KAZEIA_OK : KAZEIA_DONE;
}

static kazeia_status reader_finish(kazeia_stage *stage) {
    // Its input ended before it began.
    (void)stage;
    return KAZEIA_OK;
}

static kazeia_status reader_reset(kazeia_stage *stage) {
    (void)stage;
    return kz_fail(KAZEIA_UNSUPPORTED, "audio reader: a file is read once; create another reader");
}

static const kz_stage_table reader_table = {
    "audio reader", refuse_input, reader_next, reader_finish, cancel, reader_reset, destroy};

kazeia_status kazeia_audio_reader_create(const char *path, uint32_t sample_rate_hz,
                                         uint64_t *out_claimed, kazeia_stage **out_stage) {
    KZ_TRY(kz_require(path, "audio reader: path"));
    KZ_TRY(kz_require(out_stage, "audio reader: out_stage"));
    file_stage *created = NULL;
    KZ_TRY(create(&reader_table, &created));
    const kazeia_status status =
        kz_audio_reader_open(path, sample_rate_hz, 0, NULL, &created->reader);
    if (status == KAZEIA_OK && out_claimed) {
        *out_claimed = kz_audio_reader_claim(created->reader);
    }
    return give(created, status, out_stage);
}

// --- Without output -----------------------------------------------------------------------------

static kazeia_status require_writing(const file_stage *file) {
    if (atomic_load(&file->is_cancelled)) {
        return KAZEIA_CANCELLED;
    }
    if (!file->writer) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "audio writer: the file is finished; create another writer");
    }
    return KAZEIA_OK;
}

static kazeia_status writer_feed(kazeia_stage *stage, const void *in, size_t count,
                                 size_t *out_taken) {
    KZ_TRY(require_writing(of(stage)));
    KZ_TRY(kz_wav_writer_append(of(stage)->writer, in, count));
    *out_taken = count;
    return KAZEIA_OK;
}

static kazeia_status writer_next(kazeia_stage *stage, void *out, size_t capacity,
                                 size_t *out_count) {
    (void)out, (void)capacity, (void)out_count;
    if (atomic_load(&of(stage)->is_cancelled)) {
        return KAZEIA_CANCELLED;
    }
    return of(stage)->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
}

static kazeia_status writer_finish(kazeia_stage *stage) {
    KZ_TRY(require_writing(of(stage)));
    kz_wav_writer *file = of(stage)->writer;
    // Committing destroys it, also on failure.
    of(stage)->writer = NULL;
    KZ_TRY(kz_wav_writer_commit(file));
    of(stage)->is_finished = true;
    return KAZEIA_OK;
}

static kazeia_status writer_reset(kazeia_stage *stage) {
    (void)stage;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "audio writer: a file is written once; create another writer");
}

static const kz_stage_table writer_table = {
    "audio writer", writer_feed, writer_next, writer_finish, cancel, writer_reset, destroy};

kazeia_status kazeia_audio_writer_create(const char *path, uint32_t sample_rate_hz,
                                         kazeia_stage **out_stage) {
    KZ_TRY(kz_require(path, "audio writer: path"));
    KZ_TRY(kz_require(out_stage, "audio writer: out_stage"));
    file_stage *created = NULL;
    KZ_TRY(create(&writer_table, &created));
    return give(created, kz_wav_writer_create(path, sample_rate_hz, NULL, &created->writer),
                out_stage);
}
