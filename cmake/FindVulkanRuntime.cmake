# VulkanRuntime::VulkanRuntime: the headers of Vulkan, volk and VulkanMemoryAllocator, without a library. The loader is
# opened at run time, and volk is compiled from its header. volk's variables have the names of Vulkan functions. In
# object files they are renamed to vantage_vk…, so that a program that links Vantage can also link the loader or its own
# volk. The allocator's functions and classes are renamed likewise (vantage_vma…, vantage_Vma…) by macros in
# vma_names.h.
find_path(VulkanRuntime_VULKAN_DIR vulkan/vulkan.h)
find_path(VulkanRuntime_VOLK_DIR volk.h PATH_SUFFIXES volk Volk)
find_path(VulkanRuntime_VMA_DIR vk_mem_alloc.h PATH_SUFFIXES vma)
if(VulkanRuntime_VULKAN_DIR)
  file(STRINGS "${VulkanRuntime_VULKAN_DIR}/vulkan/vulkan_core.h" _lines
       REGEX "^#define (VK_HEADER_VERSION |VK_HEADER_VERSION_COMPLETE )")
  string(REGEX MATCH "VK_HEADER_VERSION ([0-9]+)" _ "${_lines}")
  set(_patch "${CMAKE_MATCH_1}")
  string(REGEX MATCH "VK_MAKE_API_VERSION\\(0, *([0-9]+), *([0-9]+)," _ "${_lines}")
  set(VulkanRuntime_VERSION "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${_patch}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(VulkanRuntime
  REQUIRED_VARS VulkanRuntime_VULKAN_DIR VulkanRuntime_VOLK_DIR VulkanRuntime_VMA_DIR
  VERSION_VAR VulkanRuntime_VERSION)
mark_as_advanced(VulkanRuntime_VULKAN_DIR VulkanRuntime_VOLK_DIR VulkanRuntime_VMA_DIR)
if(VulkanRuntime_FOUND AND NOT TARGET VulkanRuntime::VulkanRuntime)
  add_library(VulkanRuntime::VulkanRuntime INTERFACE IMPORTED)
  file(READ "${VulkanRuntime_VOLK_DIR}/volk.h" _volk)
  string(REGEX REPLACE "extern (PFN_vk[A-Za-z0-9]+) (vk[A-Za-z0-9]+);" "extern \\1 \\2 __asm__(\"vantage_\\2\");"
         _volk "${_volk}")
  string(REGEX REPLACE "\n([A-Za-z0-9_]+) (volk[A-Za-z]+)\\(([^;()]*)\\);" "\n\\1 \\2(\\3) __asm__(\"vantage_\\2\");"
         _volk "${_volk}")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/volk/volk.h" CONTENT "${_volk}" @ONLY)
  file(READ "${VulkanRuntime_VMA_DIR}/vk_mem_alloc.h" _vma)
  string(REGEX MATCHALL "(VMA_CALL_POST vma|class Vma|struct Vma)[A-Za-z0-9_]+" _names "${_vma}")
  list(TRANSFORM _names REPLACE "^.* ([A-Za-z0-9_]+)$" "#define \\1 vantage_\\1\n")
  list(REMOVE_DUPLICATES _names)
  string(CONCAT _vma ${_names})
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/volk/vma_names.h" CONTENT "#pragma once\n${_vma}" @ONLY)
  set(_dirs "${CMAKE_BINARY_DIR}/generated/volk" "${VulkanRuntime_VULKAN_DIR}" "${VulkanRuntime_VOLK_DIR}"
      "${VulkanRuntime_VMA_DIR}")
  list(REMOVE_DUPLICATES _dirs)
  set_target_properties(VulkanRuntime::VulkanRuntime PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_dirs}"
    INTERFACE_COMPILE_DEFINITIONS VK_NO_PROTOTYPES)
endif()
