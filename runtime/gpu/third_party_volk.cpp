// Compiles volk, a library in one header, which opens the Vulkan loader when asked to, not at program start.
#define VOLK_IMPLEMENTATION
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>
