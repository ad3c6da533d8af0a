#include "runtime/gpu/faults.h"

#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/options.h"

namespace vantage::gpu {
namespace {

struct Fault {
    FaultPoint point = FaultPoint::any;
    std::uint64_t left = 0;  ///< calls until it occurs
    VkResult result = VK_SUCCESS;
};

std::mutex fault_mutex;
Fault fault;                     // guarded by fault_mutex
std::atomic<bool> armed{false};  // avoids the lock when no fault is armed
std::atomic<std::uint64_t> recordings{0}, allocations{0}, submissions{0};
std::mutex pipelines_mutex;
std::set<std::string> pipelines;  // guarded by pipelines_mutex

std::optional<FaultPoint> point_named(const std::string& word) {
    if (word == "allocate") return FaultPoint::allocate;
    if (word == "submit") return FaultPoint::submit;
    if (word == "wait") return FaultPoint::wait;
    if (word == "any") return FaultPoint::any;
    return std::nullopt;
}

std::optional<VkResult> result_named(const std::string& word) {
    if (word == "out_of_memory") return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (word == "device_lost") return VK_ERROR_DEVICE_LOST;
    if (word == "timeout") return VK_TIMEOUT;
    return std::nullopt;
}

/// Arms the fault of VANTAGE_FAULT, if it is set.
void arm_from_environment() {
    const std::optional<std::string> text = environment("VANTAGE_FAULT");
    if (!text) return;
    const std::size_t first = text->find(':');
    const std::size_t second = first == std::string::npos ? first : text->find(':', first + 1);
    if (second != std::string::npos) {
        const std::string count = text->substr(first + 1, second - first - 1);
        std::uint64_t nth = 0;
        const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), nth);
        const auto point = point_named(text->substr(0, first));
        const auto result = result_named(text->substr(second + 1));
        if (error == std::errc() && end == count.data() + count.size() && point && result)
            return arm_fault(*point, nth, *result);
    }
    throw usage_error(
        "VANTAGE_FAULT={} is no fault: use allocate|submit|wait|any : NUMBER : out_of_memory|device_lost|timeout, such "
        "as allocate:3:out_of_memory",
        *text);
}

}  // namespace

void arm_fault(FaultPoint point, std::uint64_t nth, VkResult result) {
    const std::lock_guard lock(fault_mutex);
    fault = {point, nth, result};
    armed = nth != 0;
}

bool fault_armed() { return armed; }

bool fault_due(FaultPoint point, VkResult& result) {
    static const bool read = (arm_from_environment(), true);
    static_cast<void>(read);
    if (!armed.load(std::memory_order_relaxed)) return false;
    const std::lock_guard lock(fault_mutex);
    if (fault.left == 0 || (fault.point != FaultPoint::any && fault.point != point) || --fault.left != 0) return false;
    armed = false;
    result = fault.result;
    return true;
}

CallCounts call_counts() {
    const std::lock_guard lock(pipelines_mutex);
    return {recordings, allocations, submissions, pipelines.size()};
}
void count_pipeline(const std::string& key) {
    const std::lock_guard lock(pipelines_mutex);
    pipelines.insert(key);
}
void count_recording() { ++recordings; }
void count_allocation() { ++allocations; }
void count_submission() { ++submissions; }

}  // namespace vantage::gpu
