// VulkanMemoryAllocator, configured once: functions come through volk, Vulkan 1.3. In object files all of it has names of our own.
#pragma once

#include "runtime/gpu/vk.h"

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_VULKAN_VERSION 1003000
#include <vk_mem_alloc.h>
