// chat.h: what other files of api/ ask of a chat stage. Inside api/ only.
#ifndef KZ_API_CHAT_H
#define KZ_API_CHAT_H

#include "kazeia/chat.h"

// True when all of the reply has been given and next only makes room for the next turn, or has made
// it.
bool kz_chat_stage_is_reply_given(const kazeia_stage *chat);

#endif
