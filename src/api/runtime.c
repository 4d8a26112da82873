// runtime.c: kazeia_runtime: the threads and kernels that sessions share.
//   in   settings
//   out  a runtime
#include "api/handles.h"

kazeia_runtime_settings kazeia_runtime_settings_default(void) {
    return (kazeia_runtime_settings){0};
}

kazeia_status kazeia_runtime_create(const kazeia_runtime_settings *settings,
                                    kazeia_runtime **out_runtime) {
    KZ_TRY(kz_require(out_runtime, "runtime: out_runtime"));
    const kazeia_runtime_settings given = settings ? *settings : kazeia_runtime_settings_default();
    const kazeia_allocator memory = kz_allocator_or_default(given.allocator);
    kazeia_runtime *runtime = NULL;
    KZ_TRY(kz_alloc(&memory, 1, sizeof *runtime, "runtime", (void **)&runtime));
    runtime->allocator = memory;
    runtime->session_memory_limit = given.session_memory_limit;
    const kazeia_status status = kz_pool_create(given.thread_count, &memory, &runtime->pool);
    if (status != KAZEIA_OK) {
        kazeia_runtime_destroy(runtime);
        return status;
    }
    *out_runtime = runtime;
    return KAZEIA_OK;
}

void kazeia_runtime_destroy(kazeia_runtime *runtime) {
    if (!runtime) {
        return;
    }
    const kazeia_allocator memory = runtime->allocator;
    // Joins the threads: no session may be left that would wait for them.
    kz_pool_destroy(runtime->pool);
    kz_free(&memory, runtime);
}

const char *kazeia_runtime_kernel(const kazeia_runtime *runtime, uint32_t *out_thread_count) {
    if (out_thread_count) {
        *out_thread_count = (uint32_t)kz_pool_thread_count(runtime->pool);
    }
    return kz_cpu_level_name(kz_pool_kernels(runtime->pool)->level);
}
