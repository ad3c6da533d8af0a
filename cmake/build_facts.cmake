# The two generated sources of runtime/base/version.h: build_facts.cpp, written at configure time, and commit.cpp,
# written at build time. commit.cpp changes only when HEAD moves, so that a new commit recompiles one small file.
set(VANTAGE_BUILD_FACTS "${PROJECT_BINARY_DIR}/generated/build_facts.cpp" "${PROJECT_BINARY_DIR}/generated/commit.cpp")

find_package(Git QUIET)
add_custom_target(vantage_commit
  COMMAND "${CMAKE_COMMAND}" "-DGIT=${GIT_EXECUTABLE}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
          "-DOUTPUT=${PROJECT_BINARY_DIR}/generated/commit.cpp" -P "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
  BYPRODUCTS "${PROJECT_BINARY_DIR}/generated/commit.cpp" COMMENT "Looking at the commit" VERBATIM)
