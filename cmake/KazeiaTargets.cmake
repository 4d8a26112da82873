# Helpers for the build: one warning set, one way to declare a layer, a test and a fuzz target.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# A required library from pkg-config, as target PkgConfig::NAME; says which package to install.
function(kazeia_require name module debian_package)
  pkg_check_modules(${name} IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "'${module}' is missing: install Debian's ${debian_package}")
  endif()
endfunction()

# gcc 12 for ARM stops with an internal error where it makes vectors of a sum of floats in double
# (vect_transform_reduction). Kernels say themselves what is a vector.
set(KAZEIA_COMPILER_FAULTS "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_C_COMPILER_ID STREQUAL GNU
   AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
  set(KAZEIA_COMPILER_FAULTS -fno-tree-loop-vectorize)
endif()

set(KAZEIA_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                    -Wvla -Wundef -Werror)

function(kazeia_target_options target)
  target_compile_features(${target} PRIVATE c_std_11)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
                                             POSITION_INDEPENDENT_CODE ON)
  # No contraction: ARM always has fused multiplication and addition, plain x86-64 never, and both are
  # to give the same numbers.
  target_compile_options(${target} PRIVATE ${KAZEIA_WARNINGS} -fno-math-errno -ffp-contract=off
                                           ${KAZEIA_COMPILER_FAULTS})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                               ${PROJECT_SOURCE_DIR}/src)
  if(KAZEIA_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${KAZEIA_SANITIZE}
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
    string(REPLACE ",fuzzer-no-link" "" link_sanitizers "${KAZEIA_SANITIZE}")
    target_link_options(${target} PUBLIC -fsanitize=${link_sanitizers})
  endif()
endfunction()

# One layer of src/: kazeia_layer(text SOURCES a.c b.c LINKS PkgConfig::PCRE2). The static library
# kz_text holds its objects; libkazeia gathers all layers.
function(kazeia_layer layer)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(kz_${layer} STATIC ${ARG_SOURCES})
  kazeia_target_options(kz_${layer})
  target_link_libraries(kz_${layer} PUBLIC ${ARG_LINKS})
endfunction()

# A test program for ctest: kazeia_test(unit_text_bpe SOURCES test_bpe.c LINKS kz_text). Its working
# folder is the repository's root, so that tests name their data as "tests/golden/...".
function(kazeia_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;ARGUMENTS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  kazeia_target_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} PkgConfig::CMOCKA)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# A fuzz target (clang with KAZEIA_FUZZ): kazeia_fuzz(fuzz_gguf SOURCES fuzz_gguf.c LINKS ...).
# The source defines LLVMFuzzerTestOneInput.
function(kazeia_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  kazeia_target_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
