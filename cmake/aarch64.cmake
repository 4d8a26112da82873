# Cross build for 64-bit ARM Linux, tests run by qemu: cmake --toolchain cmake/aarch64.cmake.
#
# In: Debian's gcc-aarch64-linux-gnu and qemu-user; the target's libraries in build/aarch64-root, where
# scripts/aarch64-root puts them (the variable KAZEIA_AARCH64_ROOT names another place). QEMU_CPU in the
# environment chooses the processor: cortex-a53 has no extension, cortex-a76 dotprod, max all.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(KAZEIA_AARCH64_ROOT "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root"
    CACHE PATH "Root of the target's headers and libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KAZEIA_AARCH64_ROOT)
if(NOT EXISTS "${KAZEIA_AARCH64_ROOT}/usr/include")
  message(FATAL_ERROR "no headers in '${KAZEIA_AARCH64_ROOT}': run scripts/aarch64-root")
endif()
get_filename_component(CMAKE_SYSROOT "${KAZEIA_AARCH64_ROOT}" REALPATH)

# Programs are the host's, everything else the target's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
    "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${CMAKE_SYSROOT}")
