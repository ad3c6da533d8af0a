// Compiles VulkanMemoryAllocator, a library in one header.
#define VMA_IMPLEMENTATION
#include "runtime/gpu/third_party_vma.h"
