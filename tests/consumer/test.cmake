# cmake -DBUILD=… -DSOURCE=… -DWORK=… … -P test.cmake (by ctest, see cmake/tests.cmake): installs Vantage into a folder,
# builds this project against that folder alone, and runs it.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "consumer: ${what} failed (${failed}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
set(FLAGS "")
if(SANITIZE)
  set(FLAGS "-fsanitize=${SANITIZE}")
endif()
file(REMOVE_RECURSE "${WORK}")
step("install" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
step("configure" "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
     "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_BUILD_TYPE=${TYPE}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
     "-DVULKAN_HEADERS=${VULKAN_HEADERS}")
step("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
step("run" "${WORK}/build/consumer")
message(STATUS "${output}")

# The examples, on a display in memory where there is one. They end when their window is closed: here they are ended.
step("configure the examples" "${CMAKE_COMMAND}" -S "${ROOT}/examples" -B "${WORK}/examples" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_BUILD_TYPE=${TYPE}"
     "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DVULKAN_HEADERS=${VULKAN_HEADERS}")
step("build the examples" "${CMAKE_COMMAND}" --build "${WORK}/examples")
foreach(program next_token head_entropies own_block attention_rules threads batch similar_texts save_attention
        own_kernel hand_over own_training own_loss)
  set(arguments "")
  if(program STREQUAL "similar_texts")
    set(arguments "${ROOT}/tests/data/oracle/models/bert")
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "VANTAGE_ASSETS=${WORK}/prefix/share/vantage"
                          "${WORK}/examples/${program}" ${arguments} WORKING_DIRECTORY "${WORK}"
                  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT failed EQUAL 0 AND NOT failed EQUAL 3)  # 3: no Vulkan device here
    message(FATAL_ERROR "consumer: examples/cpp/${program}.cpp failed (${failed}):\n${output}")
  endif()
endforeach()
find_program(XVFB_RUN xvfb-run)
if(XVFB_RUN)
  foreach(example attention_window own_window)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=WAYLAND_DISPLAY --unset=XDG_SESSION_TYPE  # of the desktop
                            "${XVFB_RUN}" -a timeout 6 "${WORK}/examples/${example}" "${ROOT}/assets/models/mini-world"
                    "Mia put the red cup"
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 124 OR output MATCHES "Validation Error|VUID-")
      message(FATAL_ERROR
              "consumer: examples/${example} ended by itself, or did something wrong (${result}):\n${output}")
    endif()
  endforeach()
endif()
# pkg-config's file, and a component that does not exist.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc_file "${WORK}/prefix/*/vantage.pc")
  get_filename_component(pc_directory "${pc_file}" DIRECTORY)
  step("a build with pkg-config" "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${pc_directory}" sh -c
       "eval \"'${CXX}' ${FLAGS} '${SOURCE}/main.cpp' -o '${WORK}/with_pkg_config' \
        $('${PKG_CONFIG}' --cflags --libs --static vantage)\"")  # which escapes spaces in paths
  step("run what pkg-config built" "${WORK}/with_pkg_config")
endif()
set(start "cmake_minimum_required(VERSION 3.25)\nproject(none LANGUAGES CXX)\n")
file(WRITE "${WORK}/optional/CMakeLists.txt"
     "${start}find_package(vantage REQUIRED OPTIONAL_COMPONENTS nothing)\nif(vantage_nothing_FOUND)\n"
     "  message(FATAL_ERROR found)\nendif()\n")
step("an optional component that does not exist" "${CMAKE_COMMAND}" -S "${WORK}/optional" -B "${WORK}/optional/build"
     -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
file(WRITE "${WORK}/components/CMakeLists.txt" "${start}find_package(vantage REQUIRED COMPONENTS nothing)\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}/components" -B "${WORK}/components/build" -G "${GENERATOR}"
                "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
                RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT failed OR NOT output MATCHES "no component nothing")
  message(FATAL_ERROR "consumer: a component that does not exist was accepted, or refused without its name:\n${output}")
endif()

# The links of the installed README.
file(GLOB_RECURSE readme "${WORK}/prefix/share/doc/*/README.md")
get_filename_component(documents "${readme}" DIRECTORY)
file(READ "${readme}" text)
string(REPLACE "](" "link<" text "${text}")  # a bracket without its partner would join the elements of the list
string(REGEX MATCHALL "link<[^)#:]+[)#]" links "${text}")
foreach(link IN LISTS links)
  string(REGEX REPLACE "^link<|[)#]$" "" link "${link}")
  if(NOT EXISTS "${documents}/${link}")
    message(FATAL_ERROR "consumer: the installed README links to ${link}, which is not installed")
  endif()
endforeach()

file(GLOB_RECURSE installed "${WORK}/prefix/*.cmake")
foreach(file IN LISTS installed)
  file(READ "${file}" text)
  string(FIND "${text}" "${ROOT}/" position)  # not a regular expression: the path may contain any character
  if(NOT position EQUAL -1)
    string(SUBSTRING "${text}" ${position} 200 text)
    message(FATAL_ERROR "consumer: ${file} names the source tree: ${text}")
  endif()
endforeach()
if(PROGRAM)
  step("the installed program" "${WORK}/prefix/bin/vantage" --version)
  message(STATUS "${output}")
endif()
file(REMOVE_RECURSE "${WORK}")
