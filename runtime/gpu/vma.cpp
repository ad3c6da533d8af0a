// The one place where VulkanMemoryAllocator is compiled.
#define VMA_IMPLEMENTATION
#include "runtime/gpu/vma.h"
