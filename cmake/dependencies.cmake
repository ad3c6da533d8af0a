# All dependencies are system packages (and .deps/usr on Debian 12). Nothing is downloaded.

# find_package; on failure names the apt package.
macro(vantage_dependency package apt)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing: apt install ${apt} (or run ./vantage, which does). "
                        "${${package}_NOT_FOUND_MESSAGE}")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
vantage_dependency(Threads libc6-dev)
vantage_dependency(nlohmann_json nlohmann-json3-dev)
vantage_dependency(PCRE2 libpcre2-dev)
vantage_dependency(Utf8proc libutf8proc-dev)
vantage_dependency(PNG libpng-dev)
vantage_dependency(JPEG libjpeg-dev)
vantage_dependency(Freetype libfreetype-dev)
vantage_dependency(ImGui libimgui-dev)
vantage_dependency(glfw3 libglfw3-dev)
vantage_dependency(VulkanRuntime "libvulkan-dev libvulkan-volk-dev libvulkan-memory-allocator-dev" 1.3.275)
# Optional: compiles the GLSL of custom kernels. Without it CustomKernel::glsl throws.
find_package(Glslang QUIET)
# Optional: without it there is no `vantage serve`.
find_package(Microhttpd QUIET)
# Optional: without it there is no `vantage bench serve`.
find_package(CURL QUIET)
if(VANTAGE_BUILD_CLI)
  vantage_dependency(CLI11 libcli11-dev)
endif()
if(VANTAGE_BUILD_TESTS AND NOT VANTAGE_FUZZ)
  vantage_dependency(Catch2 catch2 3)
endif()

find_program(VANTAGE_GLSLANG NAMES glslang glslangValidator HINTS "${PROJECT_SOURCE_DIR}/.deps/usr/bin")
if(NOT VANTAGE_GLSLANG)
  message(FATAL_ERROR "glslang is missing: apt install glslang-tools (or run ./vantage, which does)")
endif()
find_program(VANTAGE_SPIRV_VAL NAMES spirv-val)
if(NOT VANTAGE_SPIRV_VAL)
  message(FATAL_ERROR "spirv-val is missing: apt install spirv-tools (or run ./vantage, which does)")
endif()
