// program.c: kazeia_program: opening, checking and closing program files.
//   in   a path, or bytes
//   out  a program, its ability, its need of memory
#include "api/describe.h"

static void free_program(kazeia_program *program) {
    const kazeia_allocator memory = program->allocator;
    kz_free(&memory, program);
}

// The handle is a thin one around a counted program: stages hold the program itself, so that
// closing the handle first does no harm.
static kazeia_status create_handle(const kazeia_allocator *allocator,
                                   kazeia_program **out_program) {
    const kazeia_allocator memory = kz_allocator_or_default(allocator);
    KZ_TRY(kz_alloc(&memory, 1, sizeof **out_program, "program", (void **)out_program));
    (*out_program)->allocator = memory;
    return KAZEIA_OK;
}

kazeia_status kazeia_program_open(const char *path, const kazeia_allocator *allocator,
                                  kazeia_program **out_program) {
    KZ_TRY(kz_require(path, "program: path"));
    KZ_TRY(kz_require(out_program, "program: out_program"));
    kazeia_program *program = NULL;
    KZ_TRY(create_handle(allocator, &program));
    const kazeia_status status = kz_program_open(path, &program->allocator, &program->loaded);
    if (status != KAZEIA_OK) {
        free_program(program);
        return status;
    }
    *out_program = program;
    return KAZEIA_OK;
}

kazeia_status kazeia_program_open_memory(const void *bytes, size_t count,
                                         const kazeia_allocator *allocator,
                                         kazeia_program **out_program) {
    KZ_TRY(kz_require(bytes, "program: bytes"));
    KZ_TRY(kz_require(out_program, "program: out_program"));
    // Weights and tables are read where they lie.
    if ((uintptr_t)bytes % KZ_ALIGNMENT != 0) {
        return kz_fail(KAZEIA_BAD_ARGUMENT, "program: bytes in memory start at no multiple of %u",
                       KZ_ALIGNMENT);
    }
    kazeia_program *program = NULL;
    KZ_TRY(create_handle(allocator, &program));
    const kazeia_status status =
        kz_program_open_memory(bytes, count, &program->allocator, &program->loaded);
    if (status != KAZEIA_OK) {
        free_program(program);
        return status;
    }
    *out_program = program;
    return KAZEIA_OK;
}

void kazeia_program_close(kazeia_program *program) {
    if (program) {
        kz_program_release(program->loaded);
        free_program(program);
    }
}

kazeia_status kazeia_program_verify(const kazeia_program *program) {
    KZ_TRY(kz_require(program, "verify: program"));
    return kz_program_file_verify(kz_program_source(program->loaded));
}

const char *kazeia_program_ability(const kazeia_program *program) {
    const char *ability = kz_program_string(program->loaded, "ability");
    return ability ? ability : "";
}

uint64_t kazeia_program_session_bytes(const kazeia_program *program) {
    const kz_memory_plan plan = kz_describe_memory(program->loaded);
    // Without the weights: they are mapped, shared by all sessions and given back by the system
    // under pressure.
    return plan.arena + plan.states + plan.work;
}

kazeia_status kazeia_program_describe(const kazeia_program *program, kazeia_text_sink sink,
                                      void *context) {
    KZ_TRY(kz_require(program, "describe: program"));
    KZ_TRY(kz_require((const void *)(uintptr_t)sink, "describe: sink"));
    kz_text_buffer text;
    // Bounded, since a hostile file may have as many names as it has bytes.
    KZ_TRY(kz_text_buffer_init(&text, &program->allocator, 0, KZ_DESCRIPTION_BYTES));
    kazeia_status status = kz_describe_program(program->loaded, &text);
    if (status == KAZEIA_OK) {
        status = sink(context, text.bytes, text.count);
    }
    kz_text_buffer_clear(&text);
    return status;
}
