# Compiler options for all targets of the project: warnings, sanitizers, ccache, clang-tidy.

if(VANTAGE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(VANTAGE_CCACHE_PROGRAM ccache)
  mark_as_advanced(VANTAGE_CCACHE_PROGRAM)
  if(VANTAGE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${VANTAGE_CCACHE_PROGRAM}")
  endif()
endif()

if(VANTAGE_TIDY)
  find_program(VANTAGE_CLANG_TIDY NAMES clang-tidy-16 clang-tidy-18 clang-tidy-19 clang-tidy REQUIRED)
endif()

if(VANTAGE_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "VANTAGE_FUZZ needs clang (libFuzzer); this is ${CMAKE_CXX_COMPILER_ID}. Preset: fuzz")
endif()

set(vantage_sanitize ${VANTAGE_SANITIZE})
if(VANTAGE_FUZZ)
  set(vantage_sanitize "address,undefined")
endif()
if(vantage_sanitize)
  add_compile_options(-fsanitize=${vantage_sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${vantage_sanitize})
  if(VANTAGE_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endif()

# Places in messages are paths in the project, whoever builds it.
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

set(vantage_warning_flags -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor
    -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wcast-qual -Wformat=2 -Wundef -Wunused -Wimplicit-fallthrough
    -Wextra-semi
    -Wno-missing-field-initializers)  # omitted fields of designated initializers have defaults
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND vantage_warning_flags -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND vantage_warning_flags
       -Wno-restrict              # GCC bug 105651: false positives for "text" + std::string
       -Wno-maybe-uninitialized)  # GCC bug 80635: false positives for std::optional
endif()
if(VANTAGE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND vantage_warning_flags -Wno-subobject-linkage)  # false positives in unity files
endif()
if(VANTAGE_UNITY AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND vantage_warning_flags -Wno-shadow)  # false positives in unity files; g++ checks
endif()
if(VANTAGE_WERROR)
  list(APPEND vantage_warning_flags -Werror)
endif()

# For the project's targets only. Third-party headers are SYSTEM and give no warnings.
function(vantage_warnings target)
  target_compile_options(${target} PRIVATE ${vantage_warning_flags})
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/shaders")
  if(VANTAGE_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${VANTAGE_CLANG_TIDY};--quiet")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${VANTAGE_UNITY} UNITY_BUILD_BATCH_SIZE ${VANTAGE_UNITY_FILES})
endfunction()

# For programs and tests, whose speed does not matter: -O1, because they take half of the build time.
function(vantage_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
