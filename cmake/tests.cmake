# Tests: tests/host (no device), tests/device (any device), tests/view (any device and an in-memory display),
# tests/cli/*.sh (the program, VANTAGE_BIN), tests/fuzz (replays the corpus), tests/build, tests/consumer. A script with
# a line "# Once: …" has the label `once`: with VANTAGE_TEST_ONCE=1 `./vantage test` runs it on one device only.

set(vantage_test_cache "${PROJECT_BINARY_DIR}/test-cache")

# vantage_test_program(name pattern…): a Catch2 program of these files.
function(vantage_test_program name)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  if(vantage_sanitize)
    list(FILTER sources EXCLUDE REGEX "/host_allocations_test\\.cpp$")  # replaces operator new, as sanitizers do
  endif()
  if(NOT TARGET vantage_serve)
    list(FILTER sources EXCLUDE REGEX "/serve_test\\.cpp$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE $<TARGET_NAME_IF_EXISTS:vantage_serve> vantage_bench vantage_train vantage_view
                        vantage_conform vantage_cost vantage
                        VulkanRuntime::VulkanRuntime nlohmann_json::nlohmann_json Catch2::Catch2WithMain)
  target_compile_definitions(${name} PRIVATE VANTAGE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests"
                             VANTAGE_ROOT="${PROJECT_SOURCE_DIR}" VANTAGE_TEST_CACHE="${vantage_test_cache}")
  vantage_warnings(${name})
  vantage_optimise_little(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# A Vulkan driver that runs nothing, for tests/cli/null_device.sh and targets of tests/fuzz. It is selected with
# VK_DRIVER_FILES; tests/null_device/null_device.cpp describes it.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/null_device/*.cpp")
add_library(vantage_null_device MODULE ${sources})
target_link_libraries(vantage_null_device PRIVATE VulkanRuntime::VulkanRuntime)
vantage_warnings(vantage_null_device)
vantage_optimise_little(vantage_null_device)
# Without sanitizers, so that any program can load it. It stays loaded, because its counts are of the whole process.
target_compile_options(vantage_null_device PRIVATE -fno-sanitize=all)
target_link_options(vantage_null_device PRIVATE -fno-sanitize=all -Wl,-z,nodelete)
set_target_properties(vantage_null_device PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(vantage_null_device_manifest "${PROJECT_BINARY_DIR}/null_device.json")
configure_file("${PROJECT_SOURCE_DIR}/tests/null_device/null_device.json" "${vantage_null_device_manifest}" COPYONLY)

if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  list(TRANSFORM VANTAGE_HOST_TESTS REPLACE "(.+)" "tests/host/\\1.cpp" OUTPUT_VARIABLE patterns)
  vantage_test_program(vantage_tests_host ${patterns})
  list(TRANSFORM VANTAGE_DEVICE_TESTS REPLACE "(.+)" "tests/device/\\1.cpp" OUTPUT_VARIABLE patterns)
  vantage_test_program(vantage_tests_device ${patterns})
  vantage_test_program(vantage_tests_view "tests/view/*.cpp")
  if(TARGET vantage_tests_view)
    # The main function of the device tests, which counts validation messages.
    target_sources(vantage_tests_view PRIVATE "${PROJECT_SOURCE_DIR}/tests/device/main.cpp")
    target_link_libraries(vantage_tests_view PRIVATE ImGui::ImGui glfw)
    if(TARGET vantage_cli)
      add_dependencies(vantage_tests_view vantage_cli)
      target_compile_definitions(vantage_tests_view PRIVATE VANTAGE_PROGRAM="$<TARGET_FILE:vantage_cli>")
    endif()
    set_tests_properties(vantage_tests_view PROPERTIES RUN_SERIAL TRUE)
  endif()
  if(TARGET vantage_tests_device)
    set_tests_properties(vantage_tests_device PROPERTIES RUN_SERIAL TRUE)
  endif()
  # `ctest --preset tsan`: the host tests, and the device tests with the tag [threads], which call the runtime from
  # several threads.
  if(vantage_sanitize STREQUAL "thread")
    add_test(NAME device_threads COMMAND vantage_tests_device "[threads]")
    set(suppressions "${PROJECT_SOURCE_DIR}/tests/full/tsan.supp")
    set_tests_properties(vantage_tests_host device_threads PROPERTIES LABELS tsan
      ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${suppressions}")
  endif()
  if(TARGET vantage_cli)
    file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/*.sh")
    foreach(script IN LISTS scripts)
      get_filename_component(name "${script}" NAME_WE)
      add_test(NAME cli_${name} COMMAND bash "${script}")
      set_tests_properties(cli_${name} PROPERTIES FAIL_REGULAR_EXPRESSION "Validation Error|VUID-" SKIP_RETURN_CODE 77
        ENVIRONMENT "VANTAGE_BIN=$<TARGET_FILE:vantage_cli>;VANTAGE_ROOT=${PROJECT_SOURCE_DIR};VANTAGE_GUARD=1")
      set_property(TEST cli_${name} APPEND PROPERTY ENVIRONMENT "VANTAGE_NULL_DEVICE=${vantage_null_device_manifest}")
      file(STRINGS "${script}" once REGEX "^# Once: ")
      if(once)
        set_tests_properties(cli_${name} PROPERTIES LABELS once)
      endif()
    endforeach()
  endif()
endif()

# Makes calls of the program fail (tests/faults/run.sh), at a sample of all places; without a sample it takes hours.
# Sanitizers replace operator new, too.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ AND NOT vantage_sanitize AND TARGET vantage_cli)
  add_library(vantage_faults_preload MODULE "${PROJECT_SOURCE_DIR}/tests/faults/preload.cpp")
  set_target_properties(vantage_faults_preload PROPERTIES CXX_VISIBILITY_PRESET default)  # it replaces functions
  vantage_warnings(vantage_faults_preload)
  add_test(NAME faults COMMAND bash "${PROJECT_SOURCE_DIR}/tests/faults/run.sh" --sample 2
           tokenize run embed train run:new:ChromeTrace::text run:write:ChromeTrace::write
           view:new:Viewer::draw_panels view:write:write_png
           train:new:Trainer::save train:write:write_safetensors)
  set(environment "VANTAGE_BIN=$<TARGET_FILE:vantage_cli>" "VANTAGE_ROOT=${PROJECT_SOURCE_DIR}"
    "VANTAGE_FAULTS_PRELOAD=$<TARGET_FILE:vantage_faults_preload>")
  add_test(NAME kills COMMAND bash "${PROJECT_SOURCE_DIR}/tests/faults/kills.sh" --sample 4)
  set_tests_properties(faults kills PROPERTIES LABELS once ENVIRONMENT "${environment}")
endif()

# Programs that others wrote, from npm, against `vantage serve`; skipped without npm or a network.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ AND TARGET vantage_cli AND TARGET vantage_serve)
  add_test(NAME clients COMMAND bash "${PROJECT_SOURCE_DIR}/tests/clients/run.sh")
  set_tests_properties(clients PROPERTIES LABELS once SKIP_RETURN_CODE 77
    ENVIRONMENT "VANTAGE_BIN=$<TARGET_FILE:vantage_cli>;VANTAGE_CLIENTS=${PROJECT_BINARY_DIR}/clients")
endif()

# tests/soak/run.sh, which takes hours.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  add_executable(vantage_soak EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/soak/soak.cpp")
  target_link_libraries(vantage_soak PRIVATE vantage_view vantage)
  vantage_warnings(vantage_soak)
endif()

# Sends signals to the program (tests/signals/run.sh): a sample, which judges nothing by the clock.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ AND TARGET vantage_cli)
  add_test(NAME signals COMMAND bash "${PROJECT_SOURCE_DIR}/tests/signals/run.sh" --sample 6)
  set_tests_properties(signals PROPERTIES COST 100 LABELS once
    ENVIRONMENT "VANTAGE_BIN=$<TARGET_FILE:vantage_cli>;VANTAGE_ROOT=${PROJECT_SOURCE_DIR}")
endif()

# Run copies of ./vantage and tests/run.bash in separate folders, with stand-ins for what they call. They need no build.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  foreach(script launcher runner)
    add_test(NAME ${script} COMMAND bash "${PROJECT_SOURCE_DIR}/tests/build/${script}.sh")
    set_tests_properties(${script} PROPERTIES ENVIRONMENT "VANTAGE_ROOT=${PROJECT_SOURCE_DIR}")
  endforeach()
endif()

if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ AND CMAKE_GENERATOR MATCHES Ninja)
  add_test(NAME shader_dependencies COMMAND bash "${PROJECT_SOURCE_DIR}/tests/build/shader_dependencies.sh")
  set_tests_properties(shader_dependencies PROPERTIES
    ENVIRONMENT "VANTAGE_BUILD=${PROJECT_BINARY_DIR};VANTAGE_ROOT=${PROJECT_SOURCE_DIR}")
endif()

# Commands and code blocks in README.md and docs/*.md.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  set(program "")
  if(TARGET vantage_cli)
    set(program "$<TARGET_FILE:vantage_cli>")
  endif()
  add_test(NAME documents COMMAND bash "${PROJECT_SOURCE_DIR}/tests/build/documents.sh" "${PROJECT_SOURCE_DIR}"
    "${PROJECT_BINARY_DIR}/documents")
  set_tests_properties(documents PROPERTIES
    ENVIRONMENT "VANTAGE_BIN=${program};CXX=${CMAKE_CXX_COMPILER};VANTAGE_GLSLANG=${VANTAGE_GLSLANG}")
endif()

# A layer may only include headers of layers that CMakeLists.txt links to it.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  get_property(layer_table GLOBAL PROPERTY VANTAGE_LAYER_TABLE)
  list(JOIN layer_table "\n" layer_table)
  file(WRITE "${PROJECT_BINARY_DIR}/generated/layers.txt" "${layer_table}\n")
  add_test(NAME layers COMMAND bash "${PROJECT_SOURCE_DIR}/tests/build/layers.sh" "${PROJECT_SOURCE_DIR}"
    "${PROJECT_BINARY_DIR}/generated/layers.txt")
endif()

# Each public header states its threads and errors.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  add_test(NAME headers COMMAND bash "${PROJECT_SOURCE_DIR}/tests/build/headers.sh" "${PROJECT_SOURCE_DIR}")
endif()

# Installs Vantage into a folder, then builds and runs a small project that uses it.
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  add_test(NAME consumer COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" "-DROOT=${PROJECT_SOURCE_DIR}"
    "-DSOURCE=${PROJECT_SOURCE_DIR}/tests/consumer" "-DWORK=${PROJECT_BINARY_DIR}/consumer"
    "-DGENERATOR=${CMAKE_GENERATOR}" "-DCXX=${CMAKE_CXX_COMPILER}" "-DTYPE=${CMAKE_BUILD_TYPE}"
    "-DSANITIZE=${vantage_sanitize}" "-DPROGRAM=$<TARGET_EXISTS:vantage_cli>"
    "-DVULKAN_HEADERS=${VulkanRuntime_VULKAN_DIR}"
    -P "${PROJECT_SOURCE_DIR}/tests/consumer/test.cmake")
endif()

# tests/fuzz/fuzz_NAME.cpp defines LLVMFuzzerTestOneInput; its corpus is tests/fuzz/corpus/NAME/.
add_custom_target(replays)
file(GLOB fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.cpp")
if(NOT TARGET vantage_serve)
  list(FILTER fuzzers EXCLUDE REGEX "/fuzz_serve\\.cpp$")
endif()
foreach(source IN LISTS fuzzers)
  get_filename_component(target "${source}" NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" name "${target}")
  if(VANTAGE_FUZZ)
    add_executable(${target} "${source}")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    set(target replay_${name})
    add_executable(${target} "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp")
    add_test(NAME ${target} COMMAND ${target} "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    add_dependencies(replays ${target})
  endif()
  target_link_libraries(${target} PRIVATE vantage_models vantage_picture nlohmann_json::nlohmann_json)
  if(name STREQUAL "conllu")
    target_link_libraries(${target} PRIVATE vantage_inspect)
  elseif(name STREQUAL "gguf")
    target_link_libraries(${target} PRIVATE vantage_checkpoint)
  elseif(name STREQUAL "grammar")
    target_compile_definitions(${target} PRIVATE VANTAGE_ROOT="${PROJECT_SOURCE_DIR}")
  elseif(name STREQUAL "dump")
    target_link_libraries(${target} PRIVATE vantage_exec)
  elseif(name MATCHES "^(load|recorded_run|serve|training_data|training_run)$")
    target_link_libraries(${target} PRIVATE vantage)
    if(name STREQUAL "serve")
      target_link_libraries(${target} PRIVATE vantage_serve)
    elseif(NOT name STREQUAL "load")
      target_link_libraries(${target} PRIVATE vantage_train)
    endif()
    target_compile_definitions(${target} PRIVATE VANTAGE_NULL_DEVICE="${vantage_null_device_manifest}"
                               VANTAGE_ROOT="${PROJECT_SOURCE_DIR}")
    add_dependencies(${target} vantage_null_device)
  endif()
  vantage_warnings(${target})
  vantage_optimise_little(${target})
endforeach()

# Caches and tuning tables of the user's are neither read nor written.
get_property(all_tests DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTY TESTS)
foreach(name IN LISTS all_tests)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "VANTAGE_CACHE_DIR=${vantage_test_cache}")
endforeach()
