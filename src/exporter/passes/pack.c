// pack.c: weights from the checkpoint's rows into the program's tiles, as a stream, on many
// threads.
//   in   weights: where their rows come from, the type they get
//   out  tensor bytes, in the order of the description
// Slices are made by any thread and written by the caller's alone, in order: the file does not
// depend on the number of threads. Memory is a few slices, whatever the model's size: pages of the
// source that were read are let go. A thread that fails says nothing, since sentences belong to
// threads: the caller makes that slice again and meets the same failure, the first in the file.
#include "base/thread.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/slices.h"

#define SLOTS_PER_THREAD 2

typedef enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_READY, SLOT_FAILED } slot_state;

typedef struct slot {
    slot_state state;
    kz_slice slice;
    uint8_t *bytes;
} slot;

typedef struct packing packing;

typedef struct worker {
    packing *packing;
    kz_slice_maker maker;
    kz_thread thread; // of the first worker: never started, it is the caller
} worker;

struct packing {
    kz_graph *graph;
    const kz_checkpoint *checkpoint;
    kz_program_writer *writer;
    const kz_pack_settings *settings;
    uint64_t bytes_done, bytes_total;
    worker *workers;
    uint32_t worker_count;
    slot *slots; // slice n of the program goes through slot n % slot_count
    size_t slot_count;
    kz_mutex lock; // of all below, and of the slots' states
    kz_condition changed;
    kz_slice_cursor next;  // the slice to be taken next
    kz_slice_cursor ahead; // the slice to be read ahead: some slots later
    uint64_t taken, written;
    bool is_all_taken;
    bool is_ending; // nothing more is wanted of the workers
};

// --- Making slices, on every thread -------------------------------------------------------------

// The next slice, in its slot; NULL when there is no room or none left. Under the lock.
static slot *take_slot(packing *p) {
    if (p->is_all_taken || p->taken - p->written == p->slot_count) {
        return NULL;
    }
    slot *next = &p->slots[p->taken % p->slot_count];
    if (!kz_slice_next(&p->next, &next->slice)) {
        p->is_all_taken = true;
        kz_condition_signal_all(&p->changed);
        return NULL;
    }
    next->state = SLOT_TAKEN;
    p->taken++;
    return next;
}

// Takes and makes one slice; false when none could be taken. The lock is held before and after.
static bool make_one(worker *self) {
    packing *p = self->packing;
    kz_slice ahead;
    slot *mine = take_slot(p);
    if (!mine) {
        return false;
    }
    const bool is_ahead = kz_slice_next(&p->ahead, &ahead);
    kz_mutex_unlock(&p->lock);
    if (is_ahead) {
        kz_slice_advise(&ahead, p->checkpoint, true);
    }
    const kazeia_status status = kz_slice_make(&self->maker, &mine->slice, mine->bytes);
    // Its pages leave memory at once: mapped ones count as ours.
    kz_slice_advise(&mine->slice, p->checkpoint, false);
    kz_mutex_lock(&p->lock);
    mine->state = status == KAZEIA_OK ? SLOT_READY : SLOT_FAILED;
    kz_condition_signal_all(&p->changed);
    return true;
}

static void run_worker(void *context) {
    worker *self = context;
    packing *p = self->packing;
    kz_mutex_lock(&p->lock);
    while (!p->is_ending && !p->is_all_taken) {
        if (!make_one(self) && !p->is_all_taken) {
            kz_condition_wait(&p->changed, &p->lock);
        }
    }
    kz_mutex_unlock(&p->lock);
}

// --- Writing them, on the caller's thread -------------------------------------------------------

// The caller may end the export by a failure of its own.
static kazeia_status report(packing *p, const kz_slice *slice) {
    p->bytes_done += slice->bytes;
    if (!p->settings->progress) {
        return KAZEIA_OK;
    }
    return p->settings->progress(p->settings->progress_context, p->bytes_done, p->bytes_total,
                                 slice->weight->name);
}

static kazeia_status write_slot(packing *p, slot *done) {
    if (done->state == SLOT_FAILED) {
        KZ_TRY(kz_slice_make(&p->workers[0].maker, &done->slice, done->bytes));
    }
    KZ_TRY(kz_program_writer_append(p->writer, done->bytes, done->slice.bytes));
    return report(p, &done->slice);
}

// Writes what is ready and makes slices meanwhile. The lock is held before and after.
static kazeia_status write_in_order(packing *p) {
    while (!p->is_all_taken || p->written < p->taken) {
        slot *oldest = &p->slots[p->written % p->slot_count];
        if (p->written < p->taken && oldest->state != SLOT_TAKEN) {
            kz_mutex_unlock(&p->lock);
            const kazeia_status status = write_slot(p, oldest);
            kz_mutex_lock(&p->lock);
            KZ_TRY(status);
            oldest->state = SLOT_FREE;
            p->written++;
            kz_condition_signal_all(&p->changed);
        } else if (!make_one(&p->workers[0]) && p->written < p->taken) {
            kz_condition_wait(&p->changed, &p->lock);
        }
    }
    return KAZEIA_OK;
}

static kazeia_status run_all(packing *p) {
    kazeia_status status = KAZEIA_OK;
    for (uint32_t i = 1; i < p->worker_count && status == KAZEIA_OK; i++) {
        status = kz_thread_start(&p->workers[i].thread, run_worker, &p->workers[i]);
    }
    kz_mutex_lock(&p->lock);
    if (status == KAZEIA_OK) {
        status = write_in_order(p);
    }
    p->is_ending = true;
    kz_condition_signal_all(&p->changed);
    kz_mutex_unlock(&p->lock);
    for (uint32_t i = 1; i < p->worker_count; i++) {
        kz_thread_join(&p->workers[i].thread);
    }
    return status;
}

// --- Work memory --------------------------------------------------------------------------------

static kazeia_status allocate_slots(packing *p, const kz_slice_sizes *sizes) {
    const kazeia_allocator *memory = &p->graph->memory.allocator;
    const size_t bytes = sizes->largest_bytes > 0 ? sizes->largest_bytes : 1;
    KZ_TRY(kz_alloc(memory, p->slot_count, sizeof *p->slots, "slots", (void **)&p->slots));
    for (size_t i = 0; i < p->slot_count; i++) {
        KZ_TRY(kz_alloc_aligned(memory, bytes, KZ_ALIGNMENT, "a slice of weights",
                                (void **)&p->slots[i].bytes));
    }
    return KAZEIA_OK;
}

static kazeia_status allocate_work(packing *p) {
    const kazeia_allocator *memory = &p->graph->memory.allocator;
    kz_slice_sizes sizes;
    KZ_TRY(kz_slices_measure(p->graph, &sizes));
    p->bytes_total = sizes.bytes_total;
    KZ_TRY(kz_alloc(memory, p->worker_count, sizeof *p->workers, "workers", (void **)&p->workers));
    for (uint32_t i = 0; i < p->worker_count; i++) {
        p->workers[i].packing = p;
        KZ_TRY(kz_slice_maker_init(&p->workers[i].maker, sizes.widest_columns, memory));
    }
    return allocate_slots(p, &sizes);
}

static void free_work(packing *p) {
    const kazeia_allocator *memory = &p->graph->memory.allocator;
    for (uint32_t i = 0; p->workers && i < p->worker_count; i++) {
        kz_slice_maker_clear(&p->workers[i].maker, memory);
    }
    for (size_t i = 0; p->slots && i < p->slot_count; i++) {
        kz_free_aligned(memory, p->slots[i].bytes);
    }
    kz_free(memory, p->workers);
    kz_free(memory, p->slots);
}

static kazeia_status pack_with_lock(packing *p) {
    kz_slice first;
    kazeia_status status = kz_condition_init(&p->changed);
    if (status != KAZEIA_OK) {
        return status;
    }
    status = allocate_work(p);
    for (size_t i = 0; i < p->slot_count && status == KAZEIA_OK; i++) {
        if (kz_slice_next(&p->ahead, &first)) {
            kz_slice_advise(&first, p->checkpoint, true);
        }
    }
    if (status == KAZEIA_OK) {
        status = run_all(p);
    }
    // Freed whatever happened: what was not taken is NULL.
    free_work(p);
    kz_condition_clear(&p->changed);
    return status;
}

static uint32_t choose_worker_count(uint32_t wanted) {
    const uint32_t count = wanted > 0 ? wanted : kz_thread_core_count();
    return count < KZ_PACK_THREAD_LIMIT ? count : KZ_PACK_THREAD_LIMIT;
}

kazeia_status kz_pass_pack(kz_graph *graph, const kz_checkpoint *checkpoint,
                           kz_program_writer *writer, const kz_pack_settings *settings) {
    packing p = {.graph = graph,
                 .checkpoint = checkpoint,
                 .writer = writer,
                 .settings = settings,
                 .worker_count = choose_worker_count(settings->thread_count),
                 .next = {.graph = graph},
                 .ahead = {.graph = graph}};
    p.slot_count = (size_t)p.worker_count * SLOTS_PER_THREAD + 1;
    KZ_TRY(kz_mutex_init(&p.lock));
    const kazeia_status status = pack_with_lock(&p);
    kz_mutex_clear(&p.lock);
    return status;
}
