// commands.h: voice commands: sentences that are understood without the language model.
//
//     kazeia_command command;
//     TRY(kazeia_commands_match(commands, "Allume la lampe du salon.", &command));
//     if (command.intent) {
//         carry_out(command.intent, command.slots, command.slot_count);
//     }
//
// Nothing is carried out here: the library says what was meant and which answer the file has for
// it.
#ifndef KAZEIA_COMMANDS_H
#define KAZEIA_COMMANDS_H

#include "kazeia/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// A compiled command grammar and the memory of one match: one thread at a time, two objects for two
// threads.
typedef struct kazeia_commands kazeia_commands;

// A value that the sentence named: of a list, a range or a wildcard of the grammar.
typedef struct kazeia_slot {
    const char *name; // as the template calls it
    // The value: as the file gives it, or as it was said where the file gives none; the digits of a
    // number; a JSON array where the sentence named several values.
    const char *text;
    double number;  // when is_number, else 0
    bool is_number; // the slot is a number
    bool is_list;   // text is a JSON array
} kazeia_slot;

// What was understood. Strings and slots belong to the kazeia_commands and are valid until its next
// match, a turn of a voice that uses it included.
typedef struct kazeia_command {
    const char *intent; // NULL: no command
    // [slot_count]: in the order of the sentence, then those that the file fixes.
    const kazeia_slot *slots;
    size_t slot_count;
    const char *response;     // what to say, placeholders filled; "" when there is none
    const char *response_key; // which of the intent's responses; "default" unless the file says
    const char *sentence;     // the template that matched
    const char *language;     // of the commands, ISO 639-1, as their file says it
    const char *found;        // "text" or "sound"
    // 0 to 1: of text 1; of sound the odds against the next other command, as a share.
    double confidence;
} kazeia_command;

// What commands are compiled for; zeros: nothing.
typedef struct kazeia_commands_options {
    // A YAML or JSON file of the user's home: `entities: [{name, domain}]`, `areas`, `floors`,
    // `context_area`; NULL: none. `home_bytes` [home_count], unless NULL, is the file itself, and
    // `home` only its name in sentences.
    const char *home;
    const void *home_bytes;
    size_t home_count;
} kazeia_commands_options;

// Reads and compiles commands (docs/commands.md): a YAML file in the layout of Home Assistant's
// custom sentences, a file with `rules` and `blocks` (grammar.json), or a folder of intents in Home
// Assistant's layout. `options` may be NULL. NOT_FOUND or IO for the file; BAD_FILE, with line and
// column, for what is in it; UNSUPPORTED for a sound file that uses what is not handled.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_commands_open(const char *path, const kazeia_commands_options *options,
                     const kazeia_allocator *allocator, kazeia_commands **out_commands);
KAZEIA_API void kazeia_commands_close(kazeia_commands *commands);
// Looks for the best match of the whole transcript; case and punctuation do not count. No match is
// KAZEIA_OK with intent NULL, so is a sentence that is too long for a command (over 600 bytes) or
// too ambiguous to decide in bounded time. Does not allocate. Placeholders for the time of day are
// filled from the system's clock.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_commands_match(kazeia_commands *commands,
                                                                 const char *transcript,
                                                                 kazeia_command *out_command);

// ---- checking

typedef struct kazeia_commands_counts {
    uint32_t intents, blocks, sentences, rules, lists, names; // sentences: templates
    uint32_t tried; // templates whose sentences were looked at: all, but for thousands
    uint32_t unreachable, ambiguous; // templates
    double said; // sentences that the templates without wildcards stand for: an upper bound
} kazeia_commands_counts;

// Something that the writer of a grammar should know; strings are valid during the visit.
typedef struct kazeia_commands_finding {
    const char *kind; // "unreachable" or "ambiguous"
    const char *file;
    uint32_t line, column; // of the template, from 1
    const char *text;
} kazeia_commands_finding;

// Looks for templates that no text can reach in this home, and, among some sentences drawn from
// each template, for those that another command claims. A status of `visit` that is not KAZEIA_OK
// ends it and is returned.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_commands_check(kazeia_commands *commands,
                      kazeia_status (*visit)(void *context, const kazeia_commands_finding *finding),
                      void *context, kazeia_commands_counts *out_counts);

// ---- commands from sound
//
// Of all sentences of the grammar (wildcards apart) the one is found that the recogniser itself
// gives the highest score for the window that it heard last; see docs/commands.md for the scores.

// When a heard sentence counts. All are natural logarithms.
typedef struct kazeia_commands_thresholds {
    double score;         // least score of a sentence of one word
    double word_score;    // and for each further word this much more
    double end;           // least log-probability that the sentence ends there
    double margin;        // least distance to the next other command
    double guarded_score; // least score for locks, doors and alarms
    // When the next command is lone_margin away, the score may be this much lower, for one word and
    // for each further one.
    double lone_score, lone_word_score, lone_margin;
    // With another command nearer than near_margin, or an end below fair_end, the score must be
    // near_score higher, twice that with another nearer than tie_margin, else the person is asked.
    double near_score, near_margin, tie_margin, fair_end;
} kazeia_commands_thresholds;

typedef enum kazeia_command_verdict {
    KAZEIA_COMMAND_REFUSED,  // not a command
    KAZEIA_COMMAND_ACCEPTED, // to be carried out
    KAZEIA_COMMAND_ASK,      // one of two: ask which
    // A lock, door or alarm that was heard too faintly, or another command is near: ask whether.
    KAZEIA_COMMAND_CONFIRM,
} kazeia_command_verdict;

// What the window sounds like. Strings are valid until the next call with these commands.
typedef struct kazeia_heard_command {
    kazeia_command_verdict verdict;
    kazeia_command command; // of `text`; intent NULL: the grammar has no sentence like it
    const char *text;       // the best sentence; "" when there is none
    double score, end;
    double margin;         // infinity: there is no other command
    const char *runner_up; // the best sentence of another command; "" when there is none
    double runner_up_score;
    uint32_t positions, prior_positions; // tokens computed: while hearing, and without
    uint32_t nodes;                      // of the grammar looked at so far
    double seconds;
} kazeia_heard_command;

// What commands in sound are judged by; zeros: by what was measured for Whisper base
// (docs/commands.md).
typedef struct kazeia_commands_hearing {
    // A file of kazeia_commands_tune for the stage's program: its thresholds, and priors that need
    // not be computed again. NULL: none. Another program's is refused with UNSUPPORTED.
    const char *tuned;
    const kazeia_commands_thresholds *thresholds; // NULL: the file's
} kazeia_commands_hearing;

// Takes all that hearing needs. `listen` is a stage of kazeia_listen_create, which must outlive the
// commands; `hearing` may be NULL. UNSUPPORTED when the stage's program cannot score commands,
// BAD_ARGUMENT when it does not hear whole windows (kazeia_audio_context).
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_commands_listen(
    kazeia_commands *commands, kazeia_stage *listen, const kazeia_commands_hearing *hearing);
// Scores the window that the stage's last next gave. BAD_ARGUMENT without kazeia_commands_listen.
// Sound that leads through more sentences than there is room for is no command. Does not allocate;
// CANCELLED with the stage.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_commands_hear(kazeia_commands *commands,
                                                                kazeia_heard_command *out_heard);

// What was heard best in a sound of which it is known what was said.
typedef struct kazeia_commands_label {
    const char *text;
    double score, end, margin;
    bool is_right; // the command that was said; else another one was, or none
} kazeia_commands_label;

// Looks for thresholds that carry out nothing wrong and as much as possible that is right, sets
// them, and writes them into the file `path` (NULL: none), together with what was learnt of the
// stage's program since kazeia_commands_listen, which names it. No labels: the thresholds stay.
// The file is written atomically. `out_thresholds` may be NULL.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_commands_tune(kazeia_commands *commands, const kazeia_commands_label *labels, size_t count,
                     const char *path, kazeia_commands_thresholds *out_thresholds);

// ---- timers
//
// Started, stretched, paused, asked about and cancelled by commands; kept in a file that is written
// atomically, so that another process (`kazeia timers run`) may ring. Times are seconds of the
// system's calendar, which the caller brings.

typedef struct kazeia_timers kazeia_timers;

// Strings are valid until the next call with these timers.
typedef struct kazeia_timer {
    uint32_t id;
    const char *name, *area; // "": none
    const char *command;     // what was asked to be done then; "": nothing
    int64_t length_s, left_s;
    bool is_paused;
} kazeia_timer;

// `path` need not exist yet.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_timers_open(const char *path,
                                                              const kazeia_allocator *allocator,
                                                              kazeia_timers **out_timers);
KAZEIA_API void kazeia_timers_close(kazeia_timers *timers);
// Reads the file, carries a command out and writes the file. *out_is_timer false: the command is
// about something else, and nothing was done. `reply` [capacity] is what to say, in the command's
// language.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_timers_apply(kazeia_timers *timers,
                                                               const kazeia_command *command,
                                                               int64_t now, char *reply,
                                                               size_t capacity, bool *out_is_timer);
// Reads the file and visits all timers in the order of their starts.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status
kazeia_timers_list(kazeia_timers *timers, int64_t now,
                   kazeia_status (*visit)(void *context, const kazeia_timer *timer), void *context);
// Reads the file and takes one timer that is due out of it; *out_is_due false when there is none.
KAZEIA_API KAZEIA_MUST_CHECK kazeia_status kazeia_timers_take_due(kazeia_timers *timers,
                                                                  int64_t now,
                                                                  kazeia_timer *out_timer,
                                                                  bool *out_is_due);

#ifdef __cplusplus
}
#endif

#endif
