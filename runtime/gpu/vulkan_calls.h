// Vulkan for the runtime: types, functions that volk loads at run time, and calls whose results are checked.
#pragma once

// vma_names.h must come before everything that names a type of VulkanMemoryAllocator.
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vma_names.h>
#include <volk.h>
#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/error.h"

namespace vantage::gpu {

/// "VK_ERROR_DEVICE_LOST" and so on.
const char* name_of(VkResult result);
/// "vkQueueSubmit2: VK_ERROR_DEVICE_LOST (what that means)"; `call` is the source text of the call.
std::string result_text(VkResult result, const char* call);
/// Throws the Error for `result`: out_of_memory, device_lost (also for a timeout) or failure. `call` is the source text
/// of the call, `what` names the object that was to be made.
[[noreturn]] void throw_vk(VkResult result, const char* call, SourceLocation where, const std::string& what = {});

/// Extensions that are newer than the Vulkan headers that Vantage requires.
constexpr const char *matrix2_extension = "VK_NV_cooperative_matrix2",
                     *float_dot_extension = "VK_VALVE_shader_mixed_float_dot_product";

/// A structure with its type set and everything else zero.
template <class Struct>
Struct vk_struct(VkStructureType type) {
    Struct made{};
    made.sType = type;
    return made;
}

/// Links structures by pNext, each to the one behind it.
template <class First, class Second, class... More>
void chain(First& first, Second& second, More&... more) {
    first.pNext = &second;
    if constexpr (sizeof...(more) > 0) chain(second, more...);
}

/// What `list(count, elements)` lists: it is called for the number of elements, then for the elements.
template <class Element, class List>
std::vector<Element> listed(List list, const Element& blank = {}) {
    std::uint32_t count = 0;
    list(&count, static_cast<Element*>(nullptr));
    std::vector<Element> elements(count, blank);
    list(&count, elements.data());
    elements.resize(count);
    return elements;
}
std::vector<VkQueueFamilyProperties> queue_families(VkPhysicalDevice physical);

/// A negative result, or a timeout that the caller did not ask for.
inline bool failed(VkResult result) { return result < 0 || result == VK_TIMEOUT; }

/// The kinds of calls that injected faults count: memory allocations, queue submissions, waits, or every checked call.
enum class FaultPoint : std::uint8_t { allocate, submit, wait, any };
/// Counts a call. True when this one must fail with `result`. Implemented in faults.cpp.
bool fault_due(FaultPoint point, VkResult& result);

}  // namespace vantage::gpu

/// The result of a call that can fail, for code that handles it. `POINT` is the FaultPoint that it counts as.
#define VK_RESULT_AS(POINT, call)                                                                            \
    ([&]() -> VkResult {                                                                                     \
        VkResult injected_ = VK_SUCCESS;                                                                     \
        return ::vantage::gpu::fault_due(::vantage::gpu::FaultPoint::POINT, injected_) ? injected_ : (call); \
    }())
/// Makes a call that can fail, and throws if it does. Release builds check, too.
#define VK_CHECK_AS(POINT, call)                                                                        \
    do {                                                                                                \
        const VkResult vk_result_ = VK_RESULT_AS(POINT, call);                                          \
        if (::vantage::gpu::failed(vk_result_))                                                         \
            ::vantage::gpu::throw_vk(vk_result_, #call, ::vantage::SourceLocation{__FILE__, __LINE__}); \
    } while (false)
#define VK_CHECK(call) VK_CHECK_AS(any, call)
