#include "runtime/gpu/faults.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
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

/// Arms the fault of VANTAGE_FAULT, if it is set.
void arm_from_environment() {
    static const std::map<std::string, FaultPoint> points{{"allocate", FaultPoint::allocate},
                                                          {"submit", FaultPoint::submit},
                                                          {"wait", FaultPoint::wait},
                                                          {"any", FaultPoint::any}};
    static const std::map<std::string, VkResult> results{{"out_of_memory", VK_ERROR_OUT_OF_DEVICE_MEMORY},
                                                         {"device_lost", VK_ERROR_DEVICE_LOST},
                                                         {"timeout", VK_TIMEOUT}};
    const std::optional<std::string> text = environment("VANTAGE_FAULT");
    if (!text) return;
    std::vector<std::string> words = split(*text, ':');
    words.resize(std::max<std::size_t>(words.size(), 3));
    const std::string &point = words[0], &count = words[1], &result = words[2];
    std::uint64_t nth = 0;
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), nth);
    const bool number = error == std::errc() && end == count.data() + count.size();
    if (words.size() == 3 && !text->ends_with(':') && number && points.contains(point) && results.contains(result))
        return arm_fault(points.at(point), nth, results.at(result));
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
