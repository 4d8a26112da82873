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

// --- A file as a stage without input ------------------------------------------------------------

typedef struct reader_stage {
    kazeia_stage stage;
    kazeia_allocator memory;
    kz_audio_reader *reader;
    atomic_bool is_cancelled;
} reader_stage;

static kazeia_status refuse_input(kazeia_stage *stage, const void *in, size_t count,
                                  size_t *out_taken) {
    (void)stage, (void)in, (void)count, (void)out_taken;
    return kz_fail(KAZEIA_BAD_ARGUMENT, "audio reader: samples are fed; it only gives them");
}

static kazeia_status reader_next(kazeia_stage *stage, void *out, size_t capacity,
                                 size_t *out_count) {
    reader_stage *reader = (reader_stage *)stage;
    if (capacity == 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "audio reader: room for 0 samples, 1 is needed");
    }
    if (atomic_load(&reader->is_cancelled)) {
        return KAZEIA_CANCELLED;
    }
    KZ_TRY(kz_audio_reader_next(reader->reader, out, capacity, out_count));
    return *out_count > 0 ? KAZEIA_OK : KAZEIA_DONE;
}

static kazeia_status reader_finish(kazeia_stage *stage) {
    // Its input ended before it began.
    (void)stage;
    return KAZEIA_OK;
}

static void reader_cancel(kazeia_stage *stage) {
    atomic_store(&((reader_stage *)stage)->is_cancelled, true);
}

static kazeia_status reader_reset(kazeia_stage *stage) {
    (void)stage;
    return kz_fail(KAZEIA_UNSUPPORTED, "audio reader: a file is read once; create another reader");
}

static void reader_destroy(kazeia_stage *stage) {
    reader_stage *reader = (reader_stage *)stage;
    const kazeia_allocator memory = reader->memory;
    kz_audio_reader_close(reader->reader);
    kz_free(&memory, reader);
}

static const kz_stage_table reader_table = {"audio reader", refuse_input,  reader_next,
                                            reader_finish,  reader_cancel, reader_reset,
                                            reader_destroy};

kazeia_status kazeia_audio_reader_create(const char *path, uint32_t sample_rate_hz,
                                         uint64_t *out_claimed, kazeia_stage **out_stage) {
    KZ_TRY(kz_require(path, "audio reader: path"));
    KZ_TRY(kz_require(out_stage, "audio reader: out_stage"));
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    reader_stage *created = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *created, "audio reader", (void **)&created));
    created->stage.table = &reader_table;
    created->memory = memory;
    const kazeia_status status =
        kz_audio_reader_open(path, sample_rate_hz, 0, NULL, &created->reader);
    if (status != KAZEIA_OK) {
        kz_free(&memory, created);
        return status;
    }
    if (out_claimed) {
        *out_claimed = kz_audio_reader_claim(created->reader);
    }
    *out_stage = &created->stage;
    return KAZEIA_OK;
}

// --- A file as a stage without output -----------------------------------------------------------

typedef struct writer_stage {
    kazeia_stage stage;
    kazeia_allocator memory;
    kz_wav_writer *writer; // NULL once it is in its place, or given up
    bool is_finished;
    atomic_bool is_cancelled;
} writer_stage;

static kazeia_status require_writing(const writer_stage *writer) {
    if (atomic_load(&writer->is_cancelled)) {
        return KAZEIA_CANCELLED;
    }
    if (!writer->writer) {
        return kz_fail(KAZEIA_BAD_ARGUMENT,
                       "audio writer: the file is finished; create another writer");
    }
    return KAZEIA_OK;
}

static kazeia_status writer_feed(kazeia_stage *stage, const void *in, size_t count,
                                 size_t *out_taken) {
    writer_stage *writer = (writer_stage *)stage;
    KZ_TRY(require_writing(writer));
    KZ_TRY(kz_wav_writer_append(writer->writer, in, count));
    *out_taken = count;
    return KAZEIA_OK;
}

static kazeia_status writer_next(kazeia_stage *stage, void *out, size_t capacity,
                                 size_t *out_count) {
    const writer_stage *writer = (const writer_stage *)stage;
    (void)out, (void)capacity, (void)out_count;
    if (atomic_load(&writer->is_cancelled)) {
        return KAZEIA_CANCELLED;
    }
    return writer->is_finished ? KAZEIA_DONE : KAZEIA_NEEDS_INPUT;
}

static kazeia_status writer_finish(kazeia_stage *stage) {
    writer_stage *writer = (writer_stage *)stage;
    KZ_TRY(require_writing(writer));
    kz_wav_writer *file = writer->writer;
    // Committing destroys it, also on failure.
    writer->writer = NULL;
    KZ_TRY(kz_wav_writer_commit(file));
    writer->is_finished = true;
    return KAZEIA_OK;
}

static void writer_cancel(kazeia_stage *stage) {
    atomic_store(&((writer_stage *)stage)->is_cancelled, true);
}

static kazeia_status writer_reset(kazeia_stage *stage) {
    (void)stage;
    return kz_fail(KAZEIA_UNSUPPORTED,
                   "audio writer: a file is written once; create another writer");
}

static void writer_destroy(kazeia_stage *stage) {
    writer_stage *writer = (writer_stage *)stage;
    const kazeia_allocator memory = writer->memory;
    kz_wav_writer_abandon(writer->writer);
    kz_free(&memory, writer);
}

static const kz_stage_table writer_table = {"audio writer", writer_feed,   writer_next,
                                            writer_finish,  writer_cancel, writer_reset,
                                            writer_destroy};

kazeia_status kazeia_audio_writer_create(const char *path, uint32_t sample_rate_hz,
                                         kazeia_stage **out_stage) {
    KZ_TRY(kz_require(path, "audio writer: path"));
    KZ_TRY(kz_require(out_stage, "audio writer: out_stage"));
    const kazeia_allocator memory = kz_allocator_or_default(NULL);
    writer_stage *created = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *created, "audio writer", (void **)&created));
    created->stage.table = &writer_table;
    created->memory = memory;
    const kazeia_status status = kz_wav_writer_create(path, sample_rate_hz, NULL, &created->writer);
    if (status != KAZEIA_OK) {
        kz_free(&memory, created);
        return status;
    }
    *out_stage = &created->stage;
    return KAZEIA_OK;
}
