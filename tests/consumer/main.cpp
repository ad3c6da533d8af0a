#include <vantage/device.h>

#include <cstdio>

// A program may have a memory allocator, and a loader, of its own: these names are not Vantage's.
extern "C" {
int vmaCreateAllocator() { return 1; }
int vkCreateInstance() { return 1; }
int volkInitialize() { return 1; }
}
class VmaAllocator_T {
public:
    VmaAllocator_T();
};
VmaAllocator_T::VmaAllocator_T() = default;

int main() {
    try {
        for (const vantage::DeviceListing& found : vantage::Device::list())
            std::printf("%s: %s\n", found.caps.name.c_str(), found.reason.c_str());
    } catch (const vantage::Error& error) {
        std::printf("%s\n", error.what());  // no Vulkan loader here: the library is linked all the same
        return error.kind() == vantage::ErrorKind::no_device ? 0 : vantage::exit_code(error.kind());
    }
}
