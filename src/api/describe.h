// describe.h: a program as JSON, and its need of memory. Inside api/ only.
//
// The need of memory depends on which stage runs the program, and only api/ knows all stages.
#ifndef KZ_API_DESCRIBE_H
#define KZ_API_DESCRIBE_H

#include "api/handles.h"
#include "base/text_buffer.h"
#include "runtime/context.h"

#define KZ_DESCRIPTION_BYTES ((size_t)256 * 1024 * 1024) // longest JSON text

// What one session of the program's own stage takes; for a program without an ability, or without
// the methods that its ability asks for, what its context takes. Allocates nothing.
kz_memory_plan kz_describe_memory(kz_program *program);
// Appends the object that kazeia_program_describe promises. OUT_OF_MEMORY leaves a part of it
// there.
KAZEIA_MUST_CHECK kazeia_status kz_describe_program(kz_program *program, kz_text_buffer *text);

#endif
