// A token is generated without an allocation on the host. operator new is counted, except in drivers and layers.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <new>

#include "runtime/gpu/vulkan_calls.h"
#include "test_model.h"
#include "vantage/session.h"

using namespace vantage;

namespace {

thread_local bool counting = false;
thread_local std::size_t news = 0;

void* counted(std::size_t bytes) {
    if (counting) ++news;
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}

/// While it exists, the Vulkan calls for a token are not counted.
class WithoutDriver {
public:
    WithoutDriver() {
        submit_ = vkQueueSubmit2, wait_ = vkWaitSemaphores;
        vkQueueSubmit2 = [](VkQueue queue, std::uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
            counting = false;
            const VkResult result = submit_(queue, count, infos, fence);
            counting = true;
            return result;
        };
        vkWaitSemaphores = [](VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t nanoseconds) {
            counting = false;
            const VkResult result = wait_(device, info, nanoseconds);
            counting = true;
            return result;
        };
    }
    ~WithoutDriver() { vkQueueSubmit2 = submit_, vkWaitSemaphores = wait_; }
    WithoutDriver(const WithoutDriver&) = delete;
    WithoutDriver& operator=(const WithoutDriver&) = delete;

private:
    static inline PFN_vkQueueSubmit2 submit_ = nullptr;
    static inline PFN_vkWaitSemaphores wait_ = nullptr;
};

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("generating a token does not allocate on the host", "[session]") {
    const WithoutGuard free;
    Session session(mini_world(), {.largest_chunk = 32});
    session.restart({.temperature = 0.7, .seed = 3, .ignore_end = true});
    session.append(some_ids(9));
    for (int i = 0; i < 4; ++i)
        REQUIRE(session.next().has_value());  // until the sizes of the submissions no longer change
    const WithoutDriver ours;
    news = 0;
    bool all = true;
    for (int i = 0; i < 8; ++i) {
        counting = true;
        all = session.next().has_value() && all;
        counting = false;
    }
    CHECK(all);
    CHECK(news == 0);
    counting = true;
    const std::vector<int> one(1);
    counting = false;
    CHECK(news == 1);  // the counter works
}
