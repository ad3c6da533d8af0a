// A Vulkan layer that writes down what a program gives to a device: its compute pipelines, with the statistics and the
// assembly of the driver's compiler, and its commands in the order in which they are submitted.
//
// VANTAGE_CAPTURE names the folder. trace.jsonl has one JSON object per line:
//   {"device": NAME, "driver": TEXT}
//   {"pipeline": N, "module": HASH, "constants": {ID: VALUE}, "subgroup": REQUIRED, "executables":
//       [{"name", "subgroup", "statistics": {NAME: VALUE}, "assembly": FILE}]}   "failed": RESULT if it was refused
//   {"name": TEXT, "of": N}                                 a pipeline's debug name
//   {"commands": N, "list": [["dispatch", PIPELINE, X, Y, Z] | ["indirect", PIPELINE] | ["barrier"] | ["copy"] | ["fill"]]}
//   {"submit": [N, …]}                                      command buffers, recorded before
//   {"wait": true}                                          the host waits for the device
// Threads: any; one lock around all. A process may open devices one after the other, and one at a time.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

template <class T>
T filled(VkStructureType type) {
    T value{};
    value.sType = type;
    return value;
}

struct State {
    std::mutex mutex;
    PFN_vkGetInstanceProcAddr next_instance = nullptr;
    PFN_vkGetDeviceProcAddr next_device = nullptr;
    VkInstance instance = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    std::filesystem::path folder;
    std::FILE* trace = nullptr;
    std::map<VkShaderModule, std::string> modules;  // their hashes
    std::map<VkPipeline, int> pipelines;
    int made = 0;
    struct Commands {
        int number = 0;
        VkPipeline bound = VK_NULL_HANDLE;
        Json list = Json::array();
    };
    std::map<VkCommandBuffer, Commands> commands;
    int recorded = 0;

    void write(const Json& line) {
        if (trace == nullptr) return;
        const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        std::fwrite(text.data(), 1, text.size(), trace);
        std::fflush(trace);  // the program may end at any time
    }
};
State& state() {
    static State one;
    return one;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(state().next_device(state().device, name));
}

void open_trace() {
    State& s = state();
    const char* folder = std::getenv("VANTAGE_CAPTURE");
    if (folder == nullptr || s.trace != nullptr) return;
    s.folder = folder;
    s.trace = std::fopen((s.folder / "trace.jsonl").c_str(), "a");
}

// ---- instance and device

template <class Info>
Info* link_of(const void* chain, VkStructureType type) {
    auto* at = static_cast<Info*>(const_cast<void*>(chain));
    while (at != nullptr && (at->sType != type || at->function != VK_LAYER_LINK_INFO))
        at = static_cast<Info*>(const_cast<void*>(at->pNext));
    return at;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* memory,
                                               VkInstance* out) {
    State& s = state();
    auto* link = link_of<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    s.next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(s.next_instance(VK_NULL_HANDLE, "vkCreateInstance"));
    const VkResult result = create(info, memory, out);
    if (result == VK_SUCCESS) s.instance = *out;
    open_trace();
    return result;
}

// The device gets the extension whose statistics are wanted.
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* wanted,
                                             const VkAllocationCallbacks* memory, VkDevice* out) {
    State& s = state();
    auto* link = link_of<VkLayerDeviceCreateInfo>(wanted->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    const auto next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    s.next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;

    VkDeviceCreateInfo info = *wanted;
    const std::string extension = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    std::vector<const char*> names(info.ppEnabledExtensionNames,
                                   info.ppEnabledExtensionNames + info.enabledExtensionCount);
    bool has_name = false, has_feature = false;
    for (const char* name : names) has_name |= name == extension;
    if (!has_name) names.push_back(extension.c_str());
    info.ppEnabledExtensionNames = names.data();
    info.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
    auto feature = filled<VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
    feature.pipelineExecutableInfo = VK_TRUE;
    for (auto* at = static_cast<VkBaseOutStructure*>(const_cast<void*>(info.pNext)); at != nullptr; at = at->pNext)
        if (at->sType == feature.sType) {
            reinterpret_cast<decltype(feature)*>(at)->pipelineExecutableInfo = VK_TRUE;
            has_feature = true;
        }
    feature.pNext = const_cast<void*>(info.pNext);
    if (!has_feature) info.pNext = &feature;
    const auto create = reinterpret_cast<PFN_vkCreateDevice>(next_instance(s.instance, "vkCreateDevice"));
    const VkResult result = create(physical, &info, memory, out);
    if (result != VK_SUCCESS) return result;
    s.device = *out;

    auto driver = filled<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    auto properties = filled<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    properties.pNext = &driver;
    reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(next_instance(s.instance, "vkGetPhysicalDeviceProperties2"))(
        physical, &properties);
    const std::lock_guard lock(s.mutex);
    s.write({{"device", properties.properties.deviceName}, {"driver", driver.driverInfo}});
    return result;
}

// ---- pipelines

std::string hash_of(const std::uint32_t* words, std::size_t count) {  // FNV-1a by words
    std::uint64_t hash = 1469598103934665603U;
    for (std::size_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * 1099511628211U;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

// Keeps the module beside the trace.
std::string kept_module(const VkShaderModuleCreateInfo& info) {
    const std::size_t words = info.codeSize / sizeof(std::uint32_t);
    const std::string hash = hash_of(info.pCode, words);
    if (std::FILE* file = std::fopen((state().folder / (hash + ".spv")).c_str(), "wb")) {
        std::fwrite(info.pCode, sizeof(std::uint32_t), words, file);
        std::fclose(file);
    }
    return hash;
}

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* memory, VkShaderModule* out) {
    const VkResult result = next<PFN_vkCreateShaderModule>("vkCreateShaderModule")(device, info, memory, out);
    const std::lock_guard lock(state().mutex);
    if (result == VK_SUCCESS) state().modules[*out] = kept_module(*info);
    return result;
}

Json constants_of(const VkSpecializationInfo* info) {
    Json constants = Json::object();
    for (std::uint32_t i = 0; info != nullptr && i < info->mapEntryCount; ++i) {
        const VkSpecializationMapEntry& entry = info->pMapEntries[i];
        std::uint32_t value = 0;
        std::memcpy(&value, static_cast<const char*>(info->pData) + entry.offset,
                    std::min<std::size_t>(entry.size, sizeof value));
        constants[std::to_string(entry.constantID)] = value;
    }
    return constants;
}

Json statistics_of(VkDevice device, const VkPipelineExecutableInfoKHR& executable) {
    const auto get = next<PFN_vkGetPipelineExecutableStatisticsKHR>("vkGetPipelineExecutableStatisticsKHR");
    std::uint32_t count = 0;
    get(device, &executable, &count, nullptr);
    std::vector all(count,
                    filled<VkPipelineExecutableStatisticKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR));
    get(device, &executable, &count, all.data());
    Json statistics = Json::object();
    for (const VkPipelineExecutableStatisticKHR& one : all) {
        Json& value = statistics[one.name];
        if (one.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR)
            value = one.value.f64;
        else if (one.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR)
            value = one.value.b32;
        else
            value = one.value.i64;
    }
    return statistics;
}

// Writes each text of an executable to pN.EXECUTABLE.TEXT; the last one is the assembly.
std::string kept_assembly(VkDevice device, const VkPipelineExecutableInfoKHR& executable, int pipeline) {
    const auto get = next<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
        "vkGetPipelineExecutableInternalRepresentationsKHR");
    std::uint32_t count = 0;
    get(device, &executable, &count, nullptr);
    std::vector all(count, filled<VkPipelineExecutableInternalRepresentationKHR>(
                               VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR));
    get(device, &executable, &count, all.data());
    std::vector<std::string> texts(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        texts[i].resize(all[i].dataSize);
        all[i].pData = texts[i].data();
    }
    get(device, &executable, &count, all.data());
    std::string name;
    for (std::uint32_t i = 0; i < count; ++i) {
        name = "p" + std::to_string(pipeline) + "." + std::to_string(executable.executableIndex) + "." + all[i].name;
        for (char& c : name)
            if (c == ' ' || c == '/') c = '_';
        if (std::FILE* file = std::fopen((state().folder / name).c_str(), "wb")) {
            std::fwrite(texts[i].data(), 1, std::strlen(texts[i].c_str()), file);
            std::fclose(file);
        }
    }
    return name;
}

Json executables_of(VkDevice device, VkPipeline pipeline, int number) {
    const auto get = next<PFN_vkGetPipelineExecutablePropertiesKHR>("vkGetPipelineExecutablePropertiesKHR");
    Json list = Json::array();
    if (get == nullptr) return list;
    auto info = filled<VkPipelineInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR);
    info.pipeline = pipeline;
    std::uint32_t count = 0;
    get(device, &info, &count, nullptr);
    std::vector all(count,
                    filled<VkPipelineExecutablePropertiesKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR));
    get(device, &info, &count, all.data());
    for (std::uint32_t i = 0; i < count; ++i) {
        auto executable = filled<VkPipelineExecutableInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
        executable.pipeline = pipeline, executable.executableIndex = i;
        list.push_back({{"name", all[i].name},
                        {"subgroup", all[i].subgroupSize},
                        {"statistics", statistics_of(device, executable)},
                        {"assembly", kept_assembly(device, executable, number)}});
    }
    return list;
}

// The module in place, or the one that was created before.
std::string module_of(const VkPipelineShaderStageCreateInfo& stage) {
    for (const auto* at = static_cast<const VkBaseInStructure*>(stage.pNext); at != nullptr; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO)
            return kept_module(*reinterpret_cast<const VkShaderModuleCreateInfo*>(at));
    return state().modules[stage.module];
}

std::uint32_t required_subgroup(const VkPipelineShaderStageCreateInfo& stage) {
    for (const auto* at = static_cast<const VkBaseInStructure*>(stage.pNext); at != nullptr; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO)
            return reinterpret_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(at)
                ->requiredSubgroupSize;
    return 0;
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                                const VkComputePipelineCreateInfo* infos,
                                                const VkAllocationCallbacks* memory, VkPipeline* out) {
    const auto create = next<PFN_vkCreateComputePipelines>("vkCreateComputePipelines");
    VkResult all = VK_SUCCESS;
    for (std::uint32_t i = 0; i < count; ++i) {
        VkComputePipelineCreateInfo info = infos[i];
        info.flags |=
            VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
        const VkResult result = create(device, cache, 1, &info, memory, &out[i]);
        if (result != VK_SUCCESS) all = result;
        const std::lock_guard lock(state().mutex);
        const int number = state().made++;
        Json line = {{"pipeline", number},
                     {"module", module_of(info.stage)},
                     {"constants", constants_of(info.stage.pSpecializationInfo)},
                     {"subgroup", required_subgroup(info.stage)}};
        if (result == VK_SUCCESS) {
            state().pipelines[out[i]] = number;
            line["executables"] = executables_of(device, out[i], number);
        } else {
            line["failed"] = result;
        }
        state().write(line);
    }
    return all;
}

VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
    if (info->objectType == VK_OBJECT_TYPE_PIPELINE && info->pObjectName != nullptr) {
        const std::lock_guard lock(state().mutex);
        const auto found = state().pipelines.find(reinterpret_cast<VkPipeline>(info->objectHandle));
        if (found != state().pipelines.end()) state().write({{"name", info->pObjectName}, {"of", found->second}});
    }
    const auto set = next<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT");
    return set != nullptr ? set(device, info) : VK_SUCCESS;
}

// ---- commands

void note(VkCommandBuffer commands, Json event) {
    const std::lock_guard lock(state().mutex);
    state().commands[commands].list.push_back(std::move(event));
}
Json with_pipeline(VkCommandBuffer commands, const char* what) {
    const std::lock_guard lock(state().mutex);
    return Json::array({what, state().pipelines[state().commands[commands].bound]});
}

VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
    {
        const std::lock_guard lock(state().mutex);
        state().commands[commands] = {.number = state().recorded++};
    }
    return next<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, info);
}
VKAPI_ATTR VkResult VKAPI_CALL end(VkCommandBuffer commands) {
    {
        const std::lock_guard lock(state().mutex);
        const State::Commands& one = state().commands[commands];
        state().write({{"commands", one.number}, {"list", one.list}});
    }
    return next<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands);
}
VKAPI_ATTR void VKAPI_CALL bind(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
    {
        const std::lock_guard lock(state().mutex);
        state().commands[commands].bound = pipeline;
    }
    next<PFN_vkCmdBindPipeline>("vkCmdBindPipeline")(commands, point, pipeline);
}
void note_dispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    Json event = with_pipeline(commands, "dispatch");
    for (const std::uint32_t size : {x, y, z}) event.push_back(size);
    note(commands, std::move(event));
}
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    note_dispatch(commands, x, y, z);
    next<PFN_vkCmdDispatch>("vkCmdDispatch")(commands, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer commands, std::uint32_t bx, std::uint32_t by, std::uint32_t bz,
                                         std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    note_dispatch(commands, x, y, z);
    next<PFN_vkCmdDispatchBase>("vkCmdDispatchBase")(commands, bx, by, bz, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL indirect(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset) {
    note(commands, with_pipeline(commands, "indirect"));
    next<PFN_vkCmdDispatchIndirect>("vkCmdDispatchIndirect")(commands, buffer, offset);
}
VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                                   VkDependencyFlags flags, std::uint32_t memories, const VkMemoryBarrier* memory,
                                   std::uint32_t buffers, const VkBufferMemoryBarrier* buffer, std::uint32_t images,
                                   const VkImageMemoryBarrier* image) {
    note(commands, Json::array({"barrier"}));
    next<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(commands, from, to, flags, memories, memory, buffers, buffer,
                                                           images, image);
}
VKAPI_ATTR void VKAPI_CALL barrier_2(VkCommandBuffer commands, const VkDependencyInfo* info) {
    note(commands, Json::array({"barrier"}));
    next<PFN_vkCmdPipelineBarrier2>("vkCmdPipelineBarrier2")(commands, info);
}
VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, std::uint32_t count,
                                const VkBufferCopy* regions) {
    note(commands, Json::array({"copy"}));
    next<PFN_vkCmdCopyBuffer>("vkCmdCopyBuffer")(commands, from, to, count, regions);
}
VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize bytes,
                                std::uint32_t word) {
    note(commands, Json::array({"fill"}));
    next<PFN_vkCmdFillBuffer>("vkCmdFillBuffer")(commands, buffer, offset, bytes, word);
}

void note_submit(const std::vector<VkCommandBuffer>& buffers) {
    const std::lock_guard lock(state().mutex);
    Json numbers = Json::array();
    for (VkCommandBuffer one : buffers) numbers.push_back(state().commands[one].number);
    state().write({{"submit", numbers}});
}
VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    std::vector<VkCommandBuffer> buffers;
    for (std::uint32_t i = 0; i < count; ++i)
        buffers.insert(buffers.end(), infos[i].pCommandBuffers, infos[i].pCommandBuffers + infos[i].commandBufferCount);
    note_submit(buffers);
    return next<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, count, infos, fence);
}
VKAPI_ATTR VkResult VKAPI_CALL submit_2(VkQueue queue, std::uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
    std::vector<VkCommandBuffer> buffers;
    for (std::uint32_t i = 0; i < count; ++i)
        for (std::uint32_t k = 0; k < infos[i].commandBufferInfoCount; ++k)
            buffers.push_back(infos[i].pCommandBufferInfos[k].commandBuffer);
    note_submit(buffers);
    return next<PFN_vkQueueSubmit2>("vkQueueSubmit2")(queue, count, infos, fence);
}
VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t timeout) {
    {
        const std::lock_guard lock(state().mutex);
        state().write({{"wait", true}});
    }
    return next<PFN_vkWaitSemaphores>("vkWaitSemaphores")(device, info, timeout);
}

// ---- what the loader asks for

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name);

template <class Function>
PFN_vkVoidFunction any(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}
PFN_vkVoidFunction own_function(const std::string& name) {
    static const std::map<std::string, PFN_vkVoidFunction> own{
        {"vkGetDeviceProcAddr", any(device_function)},
        {"vkCreateShaderModule", any(create_module)},
        {"vkCreateComputePipelines", any(create_pipelines)},
        {"vkSetDebugUtilsObjectNameEXT", any(set_name)},
        {"vkBeginCommandBuffer", any(begin)},
        {"vkEndCommandBuffer", any(end)},
        {"vkCmdBindPipeline", any(bind)},
        {"vkCmdDispatch", any(dispatch)},
        {"vkCmdDispatchBase", any(dispatch_base)},
        {"vkCmdDispatchIndirect", any(indirect)},
        {"vkCmdPipelineBarrier", any(barrier)},
        {"vkCmdPipelineBarrier2", any(barrier_2)},
        {"vkCmdPipelineBarrier2KHR", any(barrier_2)},
        {"vkCmdCopyBuffer", any(copy)},
        {"vkCmdFillBuffer", any(fill)},
        {"vkQueueSubmit", any(submit)},
        {"vkQueueSubmit2", any(submit_2)},
        {"vkQueueSubmit2KHR", any(submit_2)},
        {"vkWaitSemaphores", any(wait)},
        {"vkWaitSemaphoresKHR", any(wait)},
    };
    const auto found = own.find(name);
    return found == own.end() ? nullptr : found->second;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    const PFN_vkVoidFunction own = own_function(name);
    return own != nullptr ? own : state().next_device(device, name);
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    const std::string wanted = name;
    if (wanted == "vkCreateInstance") return any(create_instance);
    if (wanted == "vkCreateDevice") return any(create_device);
    if (wanted == "vkGetInstanceProcAddr") return any(instance_function);
    const PFN_vkVoidFunction own = own_function(name);
    if (own != nullptr) return own;
    return state().next_instance != nullptr ? state().next_instance(instance, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
    interface->pfnGetInstanceProcAddr = instance_function;
    interface->pfnGetDeviceProcAddr = device_function;
    interface->pfnGetPhysicalDeviceProcAddr = nullptr;
    interface->loaderLayerInterfaceVersion = 2;
    return VK_SUCCESS;
}
