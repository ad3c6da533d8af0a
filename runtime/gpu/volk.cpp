// The one place where volk is compiled: it opens the Vulkan loader when asked to, never at program start.
#define VOLK_IMPLEMENTATION
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>
