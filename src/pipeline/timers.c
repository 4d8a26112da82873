// timers.c: commands about timers -> timers.
//
// in: a command, the time. out: timers and a sentence. Which timer is meant: the one whose length,
// name or room was said; without any of these the one that rings next.
#include "pipeline/timers.h"

#include <stdio.h>
#include <string.h>

typedef struct timer_request {
    kz_timers *timers;
    const kz_command_result *command;
    bool is_french;
    int64_t now;
    char *reply;
    size_t capacity;
} timer_request;

static const kz_command_slot *find_slot(const timer_request *r, const char *name) {
    for (uint32_t i = 0; i < r->command->slot_count; i++) {
        if (strcmp(r->command->slots[i].name, name) == 0) {
            return &r->command->slots[i];
        }
    }
    return NULL;
}

static int64_t number_of(const timer_request *r, const char *name) {
    const kz_command_slot *slot = find_slot(r, name);
    const bool is_usable =
        slot != NULL && slot->kind == KZ_SLOT_NUMBER && slot->number >= 0 && slot->number <= 1e6;
    return is_usable ? (int64_t)slot->number : 0;
}

static int64_t duration(const timer_request *r) {
    return 3600 * number_of(r, "hours") + 60 * number_of(r, "minutes") + number_of(r, "seconds");
}

static void copy_slot(const timer_request *r, const char *name, char *out, size_t capacity) {
    const kz_command_slot *slot = find_slot(r, name);
    (void)snprintf(out, capacity, "%s", slot == NULL ? "" : slot->text);
}

static void say(const timer_request *r, const char *french, const char *english) {
    (void)snprintf(r->reply, r->capacity, "%s", r->is_french ? french : english);
}

// "1 heure 2 minutes 5 secondes", parts of 0 left out.
static void write_duration(int64_t seconds, bool is_french, char *out, size_t capacity) {
    static const char *const units[2][3] = {{"heure", "minute", "seconde"},
                                            {"hour", "minute", "second"}};
    const int64_t parts[] = {seconds / 3600, seconds / 60 % 60, seconds % 60};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < 3; i++) {
        // French has the plural from 2 on, English for 0, too.
        const bool is_plural = is_french ? parts[i] >= 2 : parts[i] != 1;
        if (parts[i] > 0 || (i == 2 && used == 0)) {
            const int count =
                snprintf(out + used, capacity - used, "%s%lld %s%s", used > 0 ? " " : "",
                         (long long)parts[i], units[!is_french][i], is_plural ? "s" : "");
            used += count > 0 && (size_t)count < capacity - used ? (size_t)count : 0;
        }
    }
}

static void say_with_duration(const timer_request *r, int64_t seconds, const char *french,
                              const char *english) {
    char text[128];
    write_duration(seconds, r->is_french, text, sizeof text);
    (void)snprintf(r->reply, r->capacity, "%s %s.", r->is_french ? french : english, text);
}

int64_t kz_timer_left(const kz_timer *timer, int64_t now) {
    const int64_t left = timer->is_paused ? timer->left_s : timer->ends_at - now;
    return left > 0 ? left : 0;
}

// ---- which timer

static bool is_meant(const timer_request *r, const kz_timer *timer) {
    const int64_t length = 3600 * number_of(r, "start_hours") + 60 * number_of(r, "start_minutes") +
                           number_of(r, "start_seconds");
    const kz_command_slot *name = find_slot(r, "name"), *area = find_slot(r, "area");
    return (length == 0 || timer->length_s == length) &&
           (name == NULL || strcmp(timer->name, name->text) == 0) &&
           (area == NULL || strcmp(timer->area, area->text) == 0);
}

static kz_timer *find_timer(const timer_request *r) {
    kz_timer *found = NULL;
    for (uint32_t i = 0; i < r->timers->count; i++) {
        kz_timer *timer = &r->timers->items[i];
        if (is_meant(r, timer) &&
            (found == NULL || kz_timer_left(timer, r->now) < kz_timer_left(found, r->now))) {
            found = timer;
        }
    }
    if (found == NULL) {
        say(r, "Il n'y a pas de tel minuteur.", "There is no such timer.");
    }
    return found;
}

static void remove_timer(kz_timers *timers, kz_timer *timer) {
    const size_t index = (size_t)(timer - timers->items);
    timers->count--;
    memmove(timer, timer + 1, (timers->count - index) * sizeof *timer);
}

// ---- what is done; true: the timers have changed

static bool start_timer(const timer_request *r) {
    const int64_t length = duration(r);
    if (r->timers->count == KZ_TIMER_LIMIT) {
        say(r, "Il y a trop de minuteurs.", "There are too many timers.");
        return false;
    }
    if (length < 1 || length > KZ_TIMER_LONGEST_S) {
        say(r, "Cette durée n'est pas possible.", "I cannot set a timer that long.");
        return false;
    }
    kz_timer *timer = &r->timers->items[r->timers->count++];
    *timer = (kz_timer){.id = ++r->timers->last_id, .length_s = length, .ends_at = r->now + length};
    copy_slot(r, "name", timer->name, sizeof timer->name);
    copy_slot(r, "area", timer->area, sizeof timer->area);
    copy_slot(r, "conversation_command", timer->command, sizeof timer->command);
    say_with_duration(r, length, "Le minuteur est lancé :", "The timer is set:");
    return true;
}

static bool cancel_timer(const timer_request *r) {
    kz_timer *timer = find_timer(r);
    if (timer == NULL) {
        return false;
    }
    remove_timer(r->timers, timer);
    say(r, "Le minuteur est supprimé.", "The timer is cancelled.");
    return true;
}

static bool cancel_all(const timer_request *r) {
    const bool had_any = r->timers->count > 0;
    r->timers->count = 0;
    say(r, "Il n'y a plus de minuteur.", "There are no timers left.");
    return had_any;
}

// A timer that is shortened beyond its end rings at once.
static bool change_by(const timer_request *r, int64_t seconds) {
    kz_timer *timer = find_timer(r);
    if (timer == NULL) {
        return false;
    }
    timer->ends_at += seconds;
    timer->left_s += seconds;
    say_with_duration(r, kz_timer_left(timer, r->now), "Il reste maintenant", "There is now left:");
    return true;
}

static bool increase(const timer_request *r) {
    return change_by(r, duration(r));
}

static bool decrease(const timer_request *r) {
    return change_by(r, -duration(r));
}

static bool pause_timer(const timer_request *r) {
    kz_timer *timer = find_timer(r);
    if (timer == NULL) {
        return false;
    }
    timer->left_s = kz_timer_left(timer, r->now);
    timer->is_paused = true;
    say_with_duration(r, timer->left_s, "Le minuteur attend ; il reste", "Paused, with");
    return true;
}

static bool unpause_timer(const timer_request *r) {
    kz_timer *timer = find_timer(r);
    if (timer == NULL) {
        return false;
    }
    timer->ends_at = r->now + kz_timer_left(timer, r->now);
    timer->is_paused = false;
    say_with_duration(r, kz_timer_left(timer, r->now), "Le minuteur repart pour", "Going on, with");
    return true;
}

static bool tell_status(const timer_request *r) {
    const kz_timer *timer = find_timer(r);
    if (timer != NULL) {
        say_with_duration(r, kz_timer_left(timer, r->now), "Il reste", "There is left:");
    }
    return false;
}

static const struct {
    const char *intent;
    bool (*carry_out)(const timer_request *r);
} actions[] = {{"HassStartTimer", start_timer},     {"HassCancelTimer", cancel_timer},
               {"HassCancelAllTimers", cancel_all}, {"HassIncreaseTimer", increase},
               {"HassDecreaseTimer", decrease},     {"HassPauseTimer", pause_timer},
               {"HassUnpauseTimer", unpause_timer}, {"HassTimerStatus", tell_status}};

bool kz_timers_apply(kz_timers *timers, const kz_command_result *command, const char *language,
                     int64_t now, bool *out_is_changed, char *out_reply, size_t capacity) {
    const timer_request request = {timers, command,   strcmp(language, "fr") == 0,
                                   now,    out_reply, capacity};
    *out_is_changed = false;
    for (size_t i = 0; command->is_match && i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].intent, command->intent) == 0) {
            *out_is_changed = actions[i].carry_out(&request);
            return true;
        }
    }
    return false;
}

bool kz_timers_take_due(kz_timers *timers, int64_t now, kz_timer *out_timer) {
    for (uint32_t i = 0; i < timers->count; i++) {
        if (!timers->items[i].is_paused && timers->items[i].ends_at <= now) {
            *out_timer = timers->items[i];
            remove_timer(timers, &timers->items[i]);
            return true;
        }
    }
    return false;
}
