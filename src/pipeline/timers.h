// timers.h: kitchen timers that commands start, stretch, pause, ask about and cancel.
//
// in:  what was understood, the time
// out: the timers after it, and what to say
//
// Pure but for load and save: the caller brings the time, in seconds of the system's calendar, so
// that timers outlive the process that started them. A timer that is paused keeps what is left.
#ifndef KZ_PIPELINE_TIMERS_H
#define KZ_PIPELINE_TIMERS_H

#include "text/command_grammar.h"

#define KZ_TIMER_LIMIT 64u
#define KZ_TIMER_NAME_BYTES 96u
#define KZ_TIMER_LONGEST_S (100 * 3600)

typedef struct kz_timer {
    uint32_t id;
    char name[KZ_TIMER_NAME_BYTES], area[KZ_TIMER_NAME_BYTES]; // "": none
    char command[KZ_TIMER_NAME_BYTES * 2]; // what is to be done then; "": it only rings
    int64_t length_s;                      // as it was started
    int64_t ends_at;                       // unless it is paused
    int64_t left_s;                        // when it is paused
    bool is_paused;
} kz_timer;

// A plain value; zeros are no timers.
typedef struct kz_timers {
    kz_timer items[KZ_TIMER_LIMIT]; // in the order of their starts
    uint32_t count;
    uint32_t last_id;
} kz_timers;

// Carries a command out. False: it is not about timers, nothing changes. *out_is_changed: there is
// something to save. The reply is in `language` ("fr" or "en"), cut at `capacity`.
bool kz_timers_apply(kz_timers *timers, const kz_command_result *command, const char *language,
                     int64_t now, bool *out_is_changed, char *out_reply, size_t capacity);

// Takes out the first timer that is due; false when none is.
bool kz_timers_take_due(kz_timers *timers, int64_t now, kz_timer *out_timer);
// Seconds until it rings, never below 0.
int64_t kz_timer_left(const kz_timer *timer, int64_t now);

// A file that does not exist has no timers. BAD_FILE names line and column.
KAZEIA_MUST_CHECK kazeia_status kz_timers_load(const char *path, const kazeia_allocator *allocator,
                                               kz_timers *out_timers);
// Atomically: the old file stays whole until the new one is.
KAZEIA_MUST_CHECK kazeia_status kz_timers_save(const char *path, const kazeia_allocator *allocator,
                                               const kz_timers *timers);

#endif
