// The null device: a Vulkan 1.3 driver that runs no shader, for tests without a device and for injecting failures.
//
// Build the target vantage_null_device and select the driver with VK_DRIVER_FILES=BUILD/null_device.json. It has one
// device, "Null device", with the features that Vantage uses. It behaves like a GPU with its own memory:
//
// - Memory is the host's, and starts as zeros. The address of a buffer is the host's pointer.
// - A submission is complete when vkQueueSubmit2 returns: copies and fills are done, timestamps written, semaphores and
//   fences signalled. It does not wait for semaphores. Dispatches do nothing, so results are what the memory held.
// - A copy, fill or update outside of its buffer ends the process.
//
// Environment variables:
//
//   NULL_DEVICE_MEMORY=BYTES                 the size of the memory (default 4 GiB)
//   NULL_DEVICE_FAIL=FUNCTION:NUMBER:RESULT  call NUMBER (from 1) of FUNCTION does nothing and returns RESULT, such as
//                                            vkAllocateMemory:3:-2. FUNCTION `any` counts the calls of all functions
//                                            that return VkResult. After VK_ERROR_DEVICE_LOST (-4) submissions, waits
//                                            and queries fail, too, as those of a lost device do, and no other device
//                                            is created.
//   NULL_DEVICE_COUNT=FILE                   at exit FILE gets a line "FUNCTION CALLS" for each function that was
//                                            called. The line ends with " result" if the function returns VkResult.
//                                            A line "any CALLS" has the sum of these.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "tests/null_device/functions.h"

namespace null_device {
namespace {

enum Id : std::size_t {
#define NULL_DEVICE_ID(name) id_##name,
    NULL_DEVICE_INSTANCE_FUNCTIONS(NULL_DEVICE_ID) NULL_DEVICE_DEVICE_FUNCTIONS(NULL_DEVICE_ID) function_count
#undef NULL_DEVICE_ID
};
constexpr std::size_t first_device_function = id_GetDeviceProcAddr;

constexpr std::array<std::string_view, function_count> names{
#define NULL_DEVICE_NAME(name) "vk" #name,
    NULL_DEVICE_INSTANCE_FUNCTIONS(NULL_DEVICE_NAME) NULL_DEVICE_DEVICE_FUNCTIONS(NULL_DEVICE_NAME)
#undef NULL_DEVICE_NAME
};

std::array<std::atomic<std::uint64_t>, function_count> calls;
std::atomic<std::uint64_t> result_calls;  ///< calls of functions that return VkResult
std::atomic<bool> lost;

/// NULL_DEVICE_FAIL.
struct Fault {
    std::string function;
    std::uint64_t number = 0;
    VkResult result = VK_SUCCESS;

    Fault() {
        const char* text = std::getenv("NULL_DEVICE_FAIL");
        if (text == nullptr) return;
        std::array<char, 64> name{};
        unsigned long long count = 0;
        int code = 0;
        if (std::sscanf(text, "%63[^:]:%llu:%d", name.data(), &count, &code) != 3) {
            std::fprintf(stderr, "NULL_DEVICE_FAIL=%s: use FUNCTION:NUMBER:RESULT\n", text);
            std::abort();
        }
        function = name.data();
        number = count;
        result = static_cast<VkResult>(code);
    }
};

constexpr bool fails_when_lost(Id id) {
    return id == id_QueueSubmit2 || id == id_WaitSemaphores || id == id_GetSemaphoreCounterValue ||
           id == id_GetQueryPoolResults || id == id_WaitForFences || id == id_GetFenceStatus ||
           id == id_DeviceWaitIdle || id == id_QueueWaitIdle || id == id_CreateDevice;
}

/// What call number `call` of a function must return instead of running, or VK_SUCCESS.
VkResult failure_of(Id id, std::uint64_t call) {
    static const Fault fault;
    const std::uint64_t any = ++result_calls;
    if (lost && fails_when_lost(id)) return VK_ERROR_DEVICE_LOST;
    const bool due =
        fault.function == "any" ? any == fault.number : fault.function == names[id] && call == fault.number;
    if (!due) return VK_SUCCESS;
    if (fault.result == VK_ERROR_DEVICE_LOST) lost = true;
    return fault.result;
}

/// What callers get instead of `function`: counts the call, and injects the failure.
template <Id id, auto function>
struct Entry;
template <Id id, class Result, class... Arguments, Result (*function)(Arguments...)>
struct Entry<id, function> {
    static constexpr bool returns_result = std::is_same_v<Result, VkResult>;
    static Result call(Arguments... arguments) {
        const std::uint64_t number = ++calls[id];
        if constexpr (returns_result) {
            if (const VkResult failure = failure_of(id, number); failure != VK_SUCCESS) return failure;
        }
        return function(arguments...);
    }
};

struct Row {
    PFN_vkVoidFunction function;
    bool returns_result;
};
// NOLINTBEGIN(bugprone-macro-parentheses)
const std::array<Row, function_count> rows{{
#define NULL_DEVICE_ROW(name) \
    {reinterpret_cast<PFN_vkVoidFunction>(&Entry<id_##name, &name>::call), Entry<id_##name, &name>::returns_result},
    NULL_DEVICE_INSTANCE_FUNCTIONS(NULL_DEVICE_ROW) NULL_DEVICE_DEVICE_FUNCTIONS(NULL_DEVICE_ROW)
#undef NULL_DEVICE_ROW
}};
// NOLINTEND(bugprone-macro-parentheses)

PFN_vkVoidFunction find(std::string_view name, std::size_t first) {
    for (std::size_t i = first; i < function_count; ++i)
        if (names[i] == name) return rows[i].function;
    return nullptr;
}

/// NULL_DEVICE_COUNT, when the process ends.
struct Report {
    ~Report() {
        const char* path = std::getenv("NULL_DEVICE_COUNT");
        if (path == nullptr) return;
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), std::fclose);
        if (!file) {
            std::perror(path);
            return;
        }
        for (std::size_t i = 0; i < function_count; ++i) {
            if (const unsigned long long count = calls[i]; count != 0)
                std::fprintf(file.get(), "%s %llu%s\n", names[i].data(), count,
                             rows[i].returns_result ? " result" : "");
        }
        std::fprintf(file.get(), "any %llu\n", static_cast<unsigned long long>(result_calls));
    }
};
const Report report;

}  // namespace

PFN_vkVoidFunction GetInstanceProcAddr(VkInstance, const char* name) { return find(name, 0); }
PFN_vkVoidFunction GetDeviceProcAddr(VkDevice, const char* name) { return find(name, first_device_function); }

}  // namespace null_device

// ---- the interface to the loader -----------------------------------------------------------------------------------

extern "C" {

__attribute__((visibility("default"))) VkResult vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t* version) {
    *version = *version < 5 ? *version : 5;
    return VK_SUCCESS;
}

__attribute__((visibility("default"))) PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance, const char* name) {
    return null_device::find(name, 0);
}

}  // extern "C"
