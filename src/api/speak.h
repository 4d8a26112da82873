// speak.h: what voice.c needs of a speaking stage. Inside api/ only.
#ifndef KZ_API_SPEAK_H
#define KZ_API_SPEAK_H

#include "kazeia/program.h"

// The pipeline's kz_speak_table.begun_bytes: bytes of text up to the end of the last sentence whose
// sound has begun. The stage must be a speaking one, which is not checked.
size_t kz_speak_stage_begun_bytes(const kazeia_stage *speak);
// The pipeline's kz_speak_table.set_language; without effect unless the stage follows turns.
void kz_speak_stage_set_language(kazeia_stage *speak, const char *language);

#endif
