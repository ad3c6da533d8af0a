#include "runtime/gpu/pipelines.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <system_error>
#include <thread>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/spirv.h"
#include "runtime/base/trace_span.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"

namespace vantage::gpu {
namespace {

/// "matmul_tiled (16, 64, 0) subgroup 32"
std::string text_of(const PipelineKey& key) {
    std::string text =
        format("{} ({})", key.module, join(key.spec, ", ", [](std::uint32_t value) { return std::to_string(value); }));
    if (key.subgroup_size != 0) text += " subgroup " + std::to_string(key.subgroup_size);
    return text;
}

/// Whether the pipeline must request its subgroup size. Throws when the device does not support it.
bool must_require_size(const Caps& caps, const PipelineKey& key) {
    if (key.subgroup_size == 0) return false;
    if (!caps.subgroup_size_control || caps.min_subgroup_size == caps.max_subgroup_size) {
        if (key.subgroup_size == caps.subgroup_size) return false;
    } else if (key.subgroup_size >= caps.min_subgroup_size && key.subgroup_size <= caps.max_subgroup_size) {
        return true;
    }
    throw unsupported_error("{}: {} has subgroups of {} to {}", text_of(key), caps.name, caps.min_subgroup_size,
                            caps.max_subgroup_size);
}

}  // namespace

const SpirvModule& module_named(std::string_view name) {
    const SpirvModule* found = find_spirv(name);
    if (found == nullptr) found = find_added_spirv(name);
    if (found != nullptr) return *found;
    throw unsupported_error(
        "shader '{}' is not in this build: vantage --version lists what the build left out, and a new shader needs a "
        "row in shaders/shaders.cmake",
        name);
}

ShaderModule::ShaderModule(const DeviceState& owner, std::span<const std::uint32_t> code, const std::string& name)
    : device(owner.device) {
    auto info = vk_struct<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    info.codeSize = code.size_bytes();
    info.pCode = code.data();
    VK_CHECK(vkCreateShaderModule(device, &info, nullptr, &handle));
    owner.set_name(VK_OBJECT_TYPE_SHADER_MODULE, handle, name);
}

Pipelines::Pipelines(DeviceState& device)
    : device_(device), cache_(device, pipeline_cache_path(device.parts.physical)) {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
    auto info = vk_struct<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    VK_CHECK(vkCreatePipelineLayout(device.device, &info, nullptr, &layout_));
    device.set_name(VK_OBJECT_TYPE_PIPELINE_LAYOUT, layout_, "addresses in push constants");
}

Pipelines::~Pipelines() {
    save();
    for (const auto& [key, pipeline] : pipelines_) vkDestroyPipeline(device_.device, pipeline, nullptr);
    vkDestroyPipelineLayout(device_.device, layout_, nullptr);
}

bool Pipelines::has(const PipelineKey& key) {
    const std::lock_guard lock(mutex_);
    return pipelines_.count(key) != 0;
}

VkPipeline Pipelines::get(const PipelineKey& key) {
    std::unique_lock lock(mutex_);
    while (true) {
        const auto [entry, inserted] = pipelines_.try_emplace(key, VK_NULL_HANDLE);
        if (inserted) break;
        if (entry->second != VK_NULL_HANDLE) return entry->second;
        made_.wait(lock);  // another thread makes it; if that fails, the entry is gone and this thread tries
    }
    lock.unlock();
    VkPipeline pipeline = VK_NULL_HANDLE;
    try {
        pipeline = make(key);
    } catch (...) {
        lock.lock();
        pipelines_.erase(key);
        made_.notify_all();
        throw;
    }
    lock.lock();
    pipelines_[key] = pipeline;
    ++unsaved_;
    made_.notify_all();
    return pipeline;
}

VkPipeline Pipelines::make(const PipelineKey& key) {
    device_.require_alive();
    const bool require_size = must_require_size(device_.caps(), key);
    const ShaderModule module(device_, module_named(key.module).code, key.module);
    std::vector<VkSpecializationMapEntry> entries;
    for (std::uint32_t i = 0; i < key.spec.size(); ++i) entries.push_back({i, i * 4, 4});
    VkSpecializationInfo constants{};
    constants.mapEntryCount = u32(entries.size());
    constants.pMapEntries = entries.data();
    constants.dataSize = key.spec.size() * 4;
    constants.pData = key.spec.data();
    auto size = vk_struct<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    size.requiredSubgroupSize = key.subgroup_size;
    auto info = vk_struct<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.layout = layout_;
    // Every pipeline can start at any workgroup (Recording::dispatch_piece). With a second pipeline of the same shader
    // for that, NVIDIA's driver 580.159 took the first one from a cache file, and every piece began at workgroup 0.
    info.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.pNext = require_size ? &size : nullptr;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.handle;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &constants;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result =
        VK_RESULT_AS(any, vkCreateComputePipelines(device_.device, cache_.handle(), 1, &info, nullptr, &pipeline));
    if (result != VK_SUCCESS) {
        device_.lose_if_lost(result, "vkCreateComputePipelines");
        throw_vk(result, "vkCreateComputePipelines", SourceLocation::here(),
                 text_of(key) + " on " + device_.caps().name);
    }
    device_.set_name(VK_OBJECT_TYPE_PIPELINE, pipeline, text_of(key));
    count_pipeline(text_of(key));
    return pipeline;
}

void Pipelines::save() noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (unsaved_ == 0) return;
        unsaved_ = 0;
    }
    if (!device_.queue.lost) cache_.save();
}

VkPipeline pipeline(DeviceState& device, const PipelineKey& key) { return device.pipelines->get(key); }

void prepare_pipelines(DeviceState& device, std::span<const PipelineKey> keys) {
    std::set<PipelineKey> each_once;
    for (const PipelineKey& key : keys)
        if (!device.pipelines->has(key)) each_once.insert(key);
    const std::vector<PipelineKey> missing(each_once.begin(), each_once.end());
    if (missing.empty()) return;
    const TraceSpan span("make pipelines", Worker::driver);
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr first;
    const auto work = [&] {
        try {
            for (std::size_t i = next++; i < missing.size(); i = next++) {
                throw_if_interrupted();
                static_cast<void>(device.pipelines->get(missing[i]));
            }
        } catch (...) {
            next = missing.size();
            const std::lock_guard lock(mutex);
            if (!first) first = std::current_exception();
        }
    };
    const std::size_t wanted =
        std::min<std::size_t>({missing.size(), std::max(1u, std::thread::hardware_concurrency()), 4});
    std::vector<std::jthread> threads;
    try {
        while (threads.size() + 1 < wanted) threads.emplace_back(work);
    } catch (const std::system_error&) {
        // The system allows no more threads: the existing ones do the work.
    }
    work();
    threads.clear();  // joins
    if (first) std::rethrow_exception(first);
    device.pipelines->save();
}

}  // namespace vantage::gpu
