// chat_state.h: what the parts of the think stage share. Inside llm/ only.
//
// The phase is the one thing that feed and next share: whoever may act in a phase owns the buffers
// that belong to it, so no lock is needed.
#ifndef KZ_LLM_CHAT_STATE_H
#define KZ_LLM_CHAT_STATE_H

#include "llm/chat.h"
#include "llm/constrain.h"
#include "llm/history.h"
#include "llm/split.h"
#include "text/detokenizer.h"

typedef enum chat_phase {
    PHASE_COLLECTING, // feed fills the turn
    PHASE_FINISHED,   // the turn is whole; next renders it
    PHASE_PREFILLING,
    PHASE_REPLYING,
    PHASE_ENDING,   // the last bytes wait to be taken
    PHASE_SETTLING, // old turns went: what is left is computed again
    PHASE_ENDED,
} chat_phase;

// One conversation; its cache rows are those of the session's sequence of the same number.
typedef struct chat_branch {
    kz_history history;
    // Of the tokens that the sequence holds; beyond its length they mean nothing.
    int32_t *ids; // [context + 1]
    kz_random random;
} chat_branch;

struct kz_chat {
    kazeia_allocator allocator;
    kz_program *program;
    kz_chat_settings settings; // strings and arrays in it are copies or NULL
    kz_bias *biases;           // [bias_count]
    kz_session *session;
    kz_sampler *sampler;
    kz_tokenizer *tokenizer;    // NULL: the program has none
    kz_template *chat_template; // NULL when raw
    kz_stop_tokens stop_tokens;
    kz_grammar *grammar; // NULL, as the constraint: a reply may be anything
    kz_constrain *constrain;
    kz_token_mask mask;
    bool thinks_first; // the prompt opened a thought that the reply has not closed
    kz_loop loop;
    atomic_int phase;
    kz_text_buffer turn; // bytes fed
    int32_t *turn_ids;   // [context]: ids fed, when raw
    size_t turn_id_count;
    bool has_turn_ids;
    chat_branch *branches; // [branch_count]
    uint32_t branch_count, present;
    size_t kept_messages; // those before the present turn
    uint32_t *prompt; // [context]: what is computed next; in SETTLING what shall be in the cache
    size_t prompt_count;
    uint32_t *probe; // [context]: a second rendering, to compare
    kz_detokenizer detokenizer;
    char *decoded; // a token's text
    kz_splitter splitter;
    kz_text_buffer call; // what stands between the marks of a call, so far
    char *waiting;       // bytes of the answer not taken yet
    size_t waiting_from, waiting_count;
    kz_chat_statistics statistics;
    uint64_t finished_ns, prefill_ns, decode_ns;
};

static inline chat_branch *present_branch(const kz_chat *chat) {
    return &chat->branches[chat->present];
}

// Sequentially consistent: what one side wrote to a buffer before it changed the phase is seen by
// the other side after it has read the phase.
static inline chat_phase phase_of(const kz_chat *chat) {
    return (chat_phase)atomic_load(&chat->phase);
}

static inline void set_phase(kz_chat *chat, chat_phase phase) {
    atomic_store(&chat->phase, (int)phase);
}

// chat_turn.c: one step of the present turn; of chat_settle.c when it is over.
KAZEIA_MUST_CHECK kazeia_status kz_chat_work(kz_chat *chat);
// The loop ends where it is; the sequence is then as long as its ids.
void kz_chat_leave_reply(kz_chat *chat);
// Tokens at the start of `ids` [count] that the present sequence holds, at most count - 1: the last
// one is computed in any case.
uint32_t kz_chat_count_cached(const kz_chat *chat, const uint32_t *ids, size_t count);
// Extends the present sequence to the first `count` ids of the prompt, by one chunk; the last chunk
// starts the loop when `is_reply`.
KAZEIA_MUST_CHECK kazeia_status kz_chat_compute_chunk(kz_chat *chat, bool is_reply);

// chat_settle.c: after a reply: drops old turns where the policy and the room ask for it. True when
// something is then to be computed again.
bool kz_chat_make_room(kz_chat *chat);

// chat_file.c: kz_chat_save and kz_chat_restore, between turns.
KAZEIA_MUST_CHECK kazeia_status kz_chat_file_save(kz_chat *chat, const char *path);
KAZEIA_MUST_CHECK kazeia_status kz_chat_file_restore(kz_chat *chat, const char *path);

#endif
