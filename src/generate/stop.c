// stop.c: the plain stop rule.
//   in   a token id
//   out  whether it ends the reply
#include "generate/stop.h"

static kz_stop_action judge_by_list(void *context, int32_t token) {
    const kz_stop_tokens *tokens = context;
    // A handful of ids: a search costs nothing beside a token.
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->ids[i] == token) {
            return KZ_STOP_END;
        }
    }
    return KZ_STOP_CONTINUE;
}

kz_stop_rule kz_stop_rule_tokens(kz_stop_tokens *tokens) {
    return (kz_stop_rule){.context = tokens, .judge = judge_by_list};
}
