// commands_timers.c: kazeia_timers: timers and their file behind the public interface.
//   in   commands, the time
//   out  replies, timers
#include <string.h>

#include "api/handles.h"
#include "kazeia/commands.h"
#include "pipeline/timers.h"

struct kazeia_timers {
    kazeia_allocator allocator;
    char *path;
    kz_timers timers; // as the file had them at the last call
    kz_timer due;
};

kazeia_status kazeia_timers_open(const char *path, const kazeia_allocator *allocator,
                                 kazeia_timers **out_timers) {
    KZ_TRY(kz_require(path, "timers: path"));
    KZ_TRY(kz_require(out_timers, "timers: out_timers"));
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    kazeia_timers *timers = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *timers, "timers", (void **)&timers));
    timers->allocator = memory;
    kazeia_status status = kz_copy_string(&memory, path, strlen(path), &timers->path);
    if (status == KAZEIA_OK) {
        status = kz_timers_load(path, &memory, &timers->timers);
    }
    if (status != KAZEIA_OK) {
        kazeia_timers_close(timers);
        return status;
    }
    *out_timers = timers;
    return KAZEIA_OK;
}

void kazeia_timers_close(kazeia_timers *timers) {
    if (timers) {
        const kazeia_allocator memory = timers->allocator;
        kz_free(&memory, timers->path);
        kz_free(&memory, timers);
    }
}

kazeia_status kazeia_timers_apply(kazeia_timers *timers, const kazeia_command *command, int64_t now,
                                  char *reply, size_t capacity, bool *out_is_timer) {
    kz_command_slot slots[KZ_COMMAND_MAX_SLOTS];
    bool is_changed = false;
    KZ_TRY(kz_require(timers, "timers"));
    KZ_TRY(kz_require(command, "timers: command"));
    KZ_TRY(kz_require(reply, "timers: reply"));
    const kz_command_result result = {.is_match = command->intent != NULL,
                                      .intent = command->intent,
                                      .slots = slots,
                                      .slot_count = command->slot_count < KZ_COMMAND_MAX_SLOTS
                                                        ? (uint32_t)command->slot_count
                                                        : KZ_COMMAND_MAX_SLOTS};
    for (uint32_t i = 0; i < result.slot_count; i++) {
        const kazeia_slot *slot = &command->slots[i];
        slots[i] = (kz_command_slot){.name = slot->name,
                                     .kind = slot->is_number ? KZ_SLOT_NUMBER : KZ_SLOT_TEXT,
                                     .text = slot->text,
                                     .number = slot->number,
                                     .said = ""};
    }
    KZ_TRY(kz_timers_load(timers->path, &timers->allocator, &timers->timers));
    *out_is_timer =
        kz_timers_apply(&timers->timers, &result, command->language ? command->language : "fr", now,
                        &is_changed, reply, capacity);
    return is_changed ? kz_timers_save(timers->path, &timers->allocator, &timers->timers)
                      : KAZEIA_OK;
}

static kazeia_timer present(const kz_timer *timer, int64_t now) {
    return (kazeia_timer){.id = timer->id,
                          .name = timer->name,
                          .area = timer->area,
                          .command = timer->command,
                          .length_s = timer->length_s,
                          .left_s = kz_timer_left(timer, now),
                          .is_paused = timer->is_paused};
}

kazeia_status kazeia_timers_list(kazeia_timers *timers, int64_t now,
                                 kazeia_status (*visit)(void *context, const kazeia_timer *timer),
                                 void *context) {
    KZ_TRY(kz_require(timers, "timers"));
    KZ_TRY(kz_timers_load(timers->path, &timers->allocator, &timers->timers));
    for (uint32_t i = 0; i < timers->timers.count; i++) {
        const kazeia_timer timer = present(&timers->timers.items[i], now);
        KZ_TRY(visit(context, &timer));
    }
    return KAZEIA_OK;
}

kazeia_status kazeia_timers_take_due(kazeia_timers *timers, int64_t now, kazeia_timer *out_timer,
                                     bool *out_is_due) {
    KZ_TRY(kz_require(timers, "timers"));
    KZ_TRY(kz_timers_load(timers->path, &timers->allocator, &timers->timers));
    *out_is_due = kz_timers_take_due(&timers->timers, now, &timers->due);
    if (!*out_is_due) {
        return KAZEIA_OK;
    }
    *out_timer = present(&timers->due, now);
    // Before it rings: a timer that rings twice is worse than one whose process died at that
    // moment.
    return kz_timers_save(timers->path, &timers->allocator, &timers->timers);
}
