// shard_names.h: what the weights files beside a program are called, and tidying them.
//
// "NAME.ID.I-of-N.kzw": NAME is the program's file name without ".kzp", ID the first 8 hexadecimal
// digits of its content id, I from 1. Before the id is known a file is written as
// "NAME.I-of-N.kzw".
#ifndef KZ_FORMAT_SHARD_NAMES_H
#define KZ_FORMAT_SHARD_NAMES_H

#include "base/text_buffer.h"

// The name alone, without folder, into `out_name` (emptied first). Index from 0.
KAZEIA_MUST_CHECK kazeia_status kz_shard_name(const char *program_path, uint64_t id, uint32_t index,
                                              uint32_t count, kz_text_buffer *out_name);
// The path, folder included, under which the file is written.
KAZEIA_MUST_CHECK kazeia_status kz_shard_draft_path(const char *program_path, uint32_t index,
                                                    uint32_t count, kz_text_buffer *out_path);

// Removes the weights files of other programs that stood at `program_path`: those whose name fits
// exactly, but the ones with `id` and `count`. What cannot be removed stays; nothing else is
// touched.
void kz_shards_remove_older(const char *program_path, uint64_t id, uint32_t count,
                            const kazeia_allocator *allocator);
// Removes the drafts that killed writers of `program_path` left, with any count.
void kz_shards_remove_stale_drafts(const char *program_path, const kazeia_allocator *allocator);

#endif
