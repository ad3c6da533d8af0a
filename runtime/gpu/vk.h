// Vulkan for the runtime: headers without prototypes (volk loads the functions at run time) and checked calls. vma_names.h comes
// before whatever names a type of the allocator.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vma_names.h>
#include <volk.h>
#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>

#include "vantage/error.h"

namespace vantage::gpu {

const char* name_of(VkResult result);
/// Throws the Error that `result` stands for: out of memory, device lost (also for a timeout), or failure. `what` names
/// the thing that was to be made.
[[noreturn]] void throw_vk(VkResult result, const char* call, SourceLocation where, const std::string& what = {});

/// VK_NV_cooperative_matrix2, which is newer than the headers that Vantage asks for.
constexpr const char* matrix2_extension = "VK_NV_cooperative_matrix2";

/// A structure with its type set and everything else zero.
template <class Struct>
Struct vk_struct(VkStructureType type) {
    Struct made{};
    made.sType = type;
    return made;
}

/// A negative result, or a timeout where the caller did not ask for one.
inline bool failed(VkResult result) { return result < 0 || result == VK_TIMEOUT; }

/// Which calls are counted when faults are injected: memory allocations, queue submissions, waits, or every checked call.
enum class FaultPoint : std::uint8_t { allocate, submit, wait, any };
/// Counts a call; true when this one is to fail with `result`. See faults.h.
bool fault_due(FaultPoint point, VkResult& result);

}  // namespace vantage::gpu

/// The result of a call that can fail, for code that acts on it. `POINT` is the FaultPoint it counts as.
#define VK_RESULT_AS(POINT, call)                                                                            \
    ([&]() -> VkResult {                                                                                     \
        VkResult injected_ = VK_SUCCESS;                                                                     \
        return ::vantage::gpu::fault_due(::vantage::gpu::FaultPoint::POINT, injected_) ? injected_ : (call); \
    }())
/// Makes a call that can fail and throws if it does, in release builds too.
#define VK_CHECK_AS(POINT, call)                                                                        \
    do {                                                                                                \
        const VkResult vk_result_ = VK_RESULT_AS(POINT, call);                                          \
        if (::vantage::gpu::failed(vk_result_))                                                         \
            ::vantage::gpu::throw_vk(vk_result_, #call, ::vantage::SourceLocation{__FILE__, __LINE__}); \
    } while (false)
#define VK_CHECK(call) VK_CHECK_AS(any, call)
