// VulkanMemoryAllocator with Vantage's configuration: functions from volk, Vulkan 1.3. vma_names.h, which
// vulkan_calls.h includes, gives all its symbols names of our own, so that a program can link another copy.
#pragma once

#include "runtime/gpu/vulkan_calls.h"

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_VULKAN_VERSION 1003000
#include <vk_mem_alloc.h>
