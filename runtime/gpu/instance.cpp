#include "runtime/gpu/instance.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"

namespace vantage::gpu {
namespace {

std::atomic<int> validation_errors{0};

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT types,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
    const bool validation = (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) != 0;
    const bool error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    if (error && validation) ++validation_errors;
    // The loader reports skipped drivers as errors. They are of interest for debugging only.
    const LogLevel level = !validation                                                   ? LogLevel::debug
                           : error                                                       ? LogLevel::error
                           : severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT ? LogLevel::warning
                                                                                         : LogLevel::debug;
    log(level, "Vulkan: {}", data->pMessage);
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info() {
    auto info = vk_struct<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info.pfnUserCallback = on_message;
    return info;
}

std::vector<VkExtensionProperties> instance_extensions() {
    return listed<VkExtensionProperties>([](std::uint32_t* count, VkExtensionProperties* all) {
        VK_CHECK(vkEnumerateInstanceExtensionProperties(nullptr, count, all));
    });
}

/// The Khronos layer's name when VANTAGE_VALIDATE=1 asks for it, else null.
const char* validation_layer() {
    static constexpr const char* name = "VK_LAYER_KHRONOS_validation";
    if (!environment_flag("VANTAGE_VALIDATE")) return nullptr;
    const auto layers = listed<VkLayerProperties>(
        [](std::uint32_t* count, VkLayerProperties* all) { VK_CHECK(vkEnumerateInstanceLayerProperties(count, all)); });
    const auto is_it = [](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, name) == 0; };
    if (std::ranges::any_of(layers, is_it)) return name;
    throw Error(ErrorKind::failure,
                std::string("VANTAGE_VALIDATE=1 needs ") + name +
                    ", which is not installed: install vulkan-validationlayers (Debian, Ubuntu), or unset it");
}

// The file at a path, or the .json files of a folder, which the loader reads, too.
std::vector<std::string> manifests_at(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return {};
    if (!fs::is_directory(status)) return {path};
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
        if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    return files;
}

/// Drivers that the environment names. The loader reads their files without limits: some make it crash, others it
/// calls a lack of memory.
void check_driver_files() {
    constexpr std::size_t max_bytes = std::size_t{1} << 20;
    for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"}) {
        for (const std::string& path : split(environment(variable).value_or(""), ':')) {
            try {
                for (const std::string& file : manifests_at(path)) {
                    const Json manifest = read_json(file, max_bytes);
                    static_cast<void>(JsonFields(manifest, file));
                }
            } catch (const Error& wrong) {
                throw Error(
                    ErrorKind::no_device,
                    format("{} names no Vulkan driver: {}; name its JSON file, or unset it", variable, wrong.what()));
            }
        }
    }
}

void require_loader(bool there, const char* what) {
    if (there) return;
    throw Error(ErrorKind::no_device,
                format("{}: install libvulkan1 and a driver, such as mesa-vulkan-drivers (Debian, Ubuntu) or the GPU "
                       "vendor's",
                       what));
}

/// Never destroyed, so that devices in static objects can be closed after main.
struct Shared {
    std::mutex mutex;
    std::weak_ptr<Instance> instance;
};
Shared& shared() {
    static Shared& one = *new Shared;
    return one;
}

/// The validation layers of 2023 crash when an enumeration of devices fails: then this throws before they are loaded.
void try_without_layer(VkInstanceCreateInfo info) {
    info.pNext = nullptr;
    info.enabledLayerCount = 0;
    VkInstance plain = VK_NULL_HANDLE;
    if (vkCreateInstance(&info, nullptr, &plain) != VK_SUCCESS) return;  // the same happens again, with a message
    const auto function = [&](const char* name) { return vkGetInstanceProcAddr(plain, name); };
    std::uint32_t count = 0;
    const VkResult result = reinterpret_cast<PFN_vkEnumeratePhysicalDevices>(function("vkEnumeratePhysicalDevices"))(
        plain, &count, nullptr);
    reinterpret_cast<PFN_vkDestroyInstance>(function("vkDestroyInstance"))(plain, nullptr);
    if (failed(result) && result != VK_ERROR_INITIALIZATION_FAILED)
        throw_vk(result, "vkEnumeratePhysicalDevices", SourceLocation::here());
}

}  // namespace

int validation_error_count() { return validation_errors; }

void load_vulkan() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (vkGetInstanceProcAddr != nullptr && vkCreateInstance != nullptr) return;
    check_driver_files();
    constexpr const char* incomplete = "libvulkan.so.1 is no Vulkan loader: functions are missing";
    void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);  // volk calls what it does not find in it
    require_loader(library == nullptr || ::dlsym(library, "vkGetInstanceProcAddr") != nullptr, incomplete);
    require_loader(volkInitialize() == VK_SUCCESS, "no Vulkan loader (libvulkan.so.1)");
    require_loader(vkCreateInstance != nullptr && vkEnumerateInstanceExtensionProperties != nullptr, incomplete);
    if (volkGetInstanceVersion() < VK_API_VERSION_1_3)
        throw Error(ErrorKind::no_device,
                    "the Vulkan loader (libvulkan.so.1) is older than 1.3: install a newer libvulkan1");
}

// The functions that volk loads for one instance find the driver by the handle. So they work for other instances, too,
// and after the first one is destroyed.
void load_functions() {
    load_vulkan();
    if (volkGetLoadedInstance() == VK_NULL_HANDLE) static_cast<void>(Instance::get());
}

std::shared_ptr<Instance> Instance::get(std::span<const char* const> extensions) {
    const std::lock_guard lock(shared().mutex);
    if (auto living = shared().instance.lock(); living && living->has(extensions)) return living;
    std::shared_ptr<Instance> fresh(new Instance(extensions));
    shared().instance = fresh;
    return fresh;
}

bool Instance::has(std::span<const char* const> extensions) const {
    return std::ranges::all_of(extensions,
                               [&](const char* name) { return std::ranges::count(extensions_, name) != 0; });
}

Instance::Instance(std::span<const char* const> wanted) : extensions_(wanted.begin(), wanted.end()) {
    load_vulkan();
    const char* layer = validation_layer();
    std::vector<const char*> extensions(wanted.begin(), wanted.end());
    VkInstanceCreateFlags flags = 0;
    for (const VkExtensionProperties& found : instance_extensions()) {
        if (std::strcmp(found.extensionName, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0) {
            extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
            debug_utils_ = true;
        } else if (std::strcmp(found.extensionName, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0) {
            extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
            flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
        }
    }
    auto application = vk_struct<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.pApplicationName = application.pEngineName = "Vantage";
    application.apiVersion = VK_API_VERSION_1_3;
    const VkDebugUtilsMessengerCreateInfoEXT messages = messenger_info();
    auto info = vk_struct<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    // In this chain the messenger also gets messages while the instance is created and destroyed, such as leaks.
    if (debug_utils_) info.pNext = &messages;
    info.flags = flags;
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = u32(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    info.enabledLayerCount = layer != nullptr ? 1 : 0;
    info.ppEnabledLayerNames = &layer;
    if (layer != nullptr) try_without_layer(info);
    const VkResult result = VK_RESULT_AS(any, vkCreateInstance(&info, nullptr, &handle_));
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        throw Error(
            ErrorKind::no_device,
            "the Vulkan loader found no driver: install mesa-vulkan-drivers (Debian, Ubuntu) or the GPU vendor's");
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT)
        throw unsupported_error("the Vulkan loader and its drivers cannot show windows (no surface extension)");
    if (failed(result)) throw_vk(result, "vkCreateInstance", SourceLocation::here());
    volkLoadInstance(handle_);
    if (debug_utils_ && layer != nullptr) {
        const VkResult heard =
            VK_RESULT_AS(any, vkCreateDebugUtilsMessengerEXT(handle_, &messages, nullptr, &messenger_));
        if (failed(heard)) {
            vkDestroyInstance(handle_, nullptr);
            throw_vk(heard, "vkCreateDebugUtilsMessengerEXT", SourceLocation::here());
        }
    }
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
    if (handle_ != VK_NULL_HANDLE) vkDestroyInstance(handle_, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
    std::uint32_t count = 0;
    const VkResult result = VK_RESULT_AS(any, vkEnumeratePhysicalDevices(handle_, &count, nullptr));
    // Drivers are installed, but none has a device: an empty list, not an error.
    if (result == VK_ERROR_INITIALIZATION_FAILED) return {};
    if (failed(result)) throw_vk(result, "vkEnumeratePhysicalDevices", SourceLocation::here());
    std::vector<VkPhysicalDevice> devices(count);
    VK_CHECK(vkEnumeratePhysicalDevices(handle_, &count, devices.data()));
    devices.resize(count);
    return devices;
}

}  // namespace vantage::gpu
