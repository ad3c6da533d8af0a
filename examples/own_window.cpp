// A program with a window and a Vulkan device of its own, which draws a session's attention into its frames; the session runs in
// another thread. own_window MODEL [PROMPT].
#include <vantage/vantage.h>
#include <vantage/view_vulkan.h>
#include <vantage/vulkan.h>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr VkFormat format = VK_FORMAT_B8G8R8A8_UNORM;

void check(VkResult result, const char* what) {
    if (result >= 0) return;
    std::fprintf(stderr, "%s: VkResult %d\n", what, static_cast<int>(result));
    std::exit(1);
}

/// What a program of this kind has anyway.
struct Graphics {
    GLFWwindow* window = nullptr;
    VkSurfaceKHR surface = VK_NULL_HANDLE;
    vantage::VulkanHandles handles;
    std::vector<const char*> extensions;
    VkSwapchainKHR swapchain = VK_NULL_HANDLE;
    VkExtent2D size{};
    std::vector<VkImage> images;
    std::vector<VkImageView> views;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence drawn = VK_NULL_HANDLE;
    VkSemaphore acquired = VK_NULL_HANDLE;
    std::vector<VkSemaphore> rendered;

    Graphics();
    ~Graphics();
    void make_device();
    void make_swapchain();
    /// The frame of one image; `record` fills it.
    template <class Record>
    void frame(const vantage::Device& device, Record record);
};

Graphics::Graphics() {
    glfwInit();
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
    window = glfwCreateWindow(1280, 800, "A window of one's own", nullptr, nullptr);
    std::uint32_t count = 0;
    const char** names = glfwGetRequiredInstanceExtensions(&count);
    const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                    .pApplicationInfo = &application,
                                    .enabledExtensionCount = count,
                                    .ppEnabledExtensionNames = names};
    check(vkCreateInstance(&info, nullptr, &handles.instance), "vkCreateInstance");
    check(glfwCreateWindowSurface(handles.instance, window, nullptr, &surface), "glfwCreateWindowSurface");
    make_device();
    make_swapchain();
}

/// The first device that has what Vantage needs, with its first queue: it computes, draws and presents.
void Graphics::make_device() {
    std::uint32_t count = 1;
    check(vkEnumeratePhysicalDevices(handles.instance, &count, &handles.physical), "vkEnumeratePhysicalDevices");
    vantage::DeviceFeatures wanted(handles.physical, true);
    extensions = wanted.extensions();
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueFamilyIndex = handles.queue_family,
                                        .queueCount = 1,
                                        .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = wanted.chain(),
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                  .ppEnabledExtensionNames = extensions.data()};
    check(vkCreateDevice(handles.physical, &info, nullptr, &handles.device), "vkCreateDevice");
    vkGetDeviceQueue(handles.device, handles.queue_family, 0, &handles.queue);
}

void Graphics::make_swapchain() {
    VkSurfaceCapabilitiesKHR can{};
    check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(handles.physical, surface, &can), "surface capabilities");
    size = can.currentExtent;
    const VkSwapchainCreateInfoKHR info{.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                        .surface = surface,
                                        .minImageCount = can.minImageCount,
                                        .imageFormat = format,
                                        .imageExtent = size,
                                        .imageArrayLayers = 1,
                                        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                        .preTransform = can.currentTransform,
                                        .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                        .presentMode = VK_PRESENT_MODE_FIFO_KHR};
    check(vkCreateSwapchainKHR(handles.device, &info, nullptr, &swapchain), "vkCreateSwapchainKHR");
    std::uint32_t count = 0;
    vkGetSwapchainImagesKHR(handles.device, swapchain, &count, nullptr);
    images.resize(count), views.resize(count), rendered.resize(count);
    vkGetSwapchainImagesKHR(handles.device, swapchain, &count, images.data());
    const VkSemaphoreCreateInfo semaphore{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    for (std::size_t i = 0; i < count; ++i) {
        const VkImageViewCreateInfo view{.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                         .image = images[i],
                                         .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                         .format = format,
                                         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
        check(vkCreateImageView(handles.device, &view, nullptr, &views[i]), "vkCreateImageView");
        check(vkCreateSemaphore(handles.device, &semaphore, nullptr, &rendered[i]), "vkCreateSemaphore");
    }
    check(vkCreateSemaphore(handles.device, &semaphore, nullptr, &acquired), "vkCreateSemaphore");
    const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    check(vkCreateFence(handles.device, &fence, nullptr, &drawn), "vkCreateFence");
    const VkCommandPoolCreateInfo commands_of{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .queueFamilyIndex = handles.queue_family};
    check(vkCreateCommandPool(handles.device, &commands_of, nullptr, &pool), "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo one{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    check(vkAllocateCommandBuffers(handles.device, &one, &commands), "vkAllocateCommandBuffers");
}

Graphics::~Graphics() {
    vkDeviceWaitIdle(handles.device);
    for (const VkImageView view : views) vkDestroyImageView(handles.device, view, nullptr);
    for (const VkSemaphore semaphore : rendered) vkDestroySemaphore(handles.device, semaphore, nullptr);
    vkDestroySemaphore(handles.device, acquired, nullptr);
    vkDestroyFence(handles.device, drawn, nullptr);
    vkDestroyCommandPool(handles.device, pool, nullptr);
    vkDestroySwapchainKHR(handles.device, swapchain, nullptr);
    vkDestroyDevice(handles.device, nullptr);
    vkDestroySurfaceKHR(handles.instance, surface, nullptr);
    vkDestroyInstance(handles.instance, nullptr);
    glfwDestroyWindow(window);
    glfwTerminate();
}

void change_layout(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to) {
    const VkImageMemoryBarrier2 barrier{.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                        .srcStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                        .srcAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                                        .dstStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                        .dstAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                                        .oldLayout = from,
                                        .newLayout = to,
                                        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .image = image,
                                        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    const VkDependencyInfo info{
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .imageMemoryBarrierCount = 1, .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

template <class Record>
void Graphics::frame(const vantage::Device& device, Record record) {
    std::uint32_t i = 0;
    check(vkAcquireNextImageKHR(handles.device, swapchain, UINT64_MAX, acquired, VK_NULL_HANDLE, &i), "acquire");
    check(vkResetCommandPool(handles.device, pool, 0), "vkResetCommandPool");
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    change_layout(commands, images[i], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    record(views[i]);
    change_layout(commands, images[i], VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .waitSemaphoreCount = 1,
                              .pWaitSemaphores = &acquired,
                              .pWaitDstStageMask = &stage,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &commands,
                              .signalSemaphoreCount = 1,
                              .pSignalSemaphores = &rendered[i]};
    const VkPresentInfoKHR present{.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                   .waitSemaphoreCount = 1,
                                   .pWaitSemaphores = &rendered[i],
                                   .swapchainCount = 1,
                                   .pSwapchains = &swapchain,
                                   .pImageIndices = &i};
    {
        const auto lock = vantage::lock_queue(device);  // the session's thread submits to the same queue
        check(vkQueueSubmit(handles.queue, 1, &submit, drawn), "vkQueueSubmit");
        check(vkQueuePresentKHR(handles.queue, &present), "vkQueuePresentKHR");
    }
    check(vkWaitForFences(handles.device, 1, &drawn, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    check(vkResetFences(handles.device, 1, &drawn), "vkResetFences");
}

/// GLFW's events go to the painter.
void listen(GLFWwindow* window, vantage::ViewPainter& painter) {
    using Painter = vantage::ViewPainter;
    glfwSetWindowUserPointer(window, &painter);
    static const auto of = [](GLFWwindow* w) { return static_cast<Painter*>(glfwGetWindowUserPointer(w)); };
    glfwSetCursorPosCallback(window, [](GLFWwindow* w, double x, double y) { of(w)->mouse_at(x, y); });
    glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int b, int action, int) { of(w)->mouse_button(b, action); });
    glfwSetScrollCallback(window, [](GLFWwindow* w, double x, double y) { of(w)->scrolled(x, y); });
    glfwSetKeyCallback(window, [](GLFWwindow* w, int k, int code, int a, int m) { of(w)->key(k, code, a, m); });
    glfwSetCharCallback(window, [](GLFWwindow* w, unsigned character) { of(w)->character(character); });
}

void show(Graphics& graphics, const std::string& folder, const std::string& prompt) {
    const vantage::Device device = vantage::adopt(graphics.handles, graphics.extensions);
    const vantage::Model model = vantage::Model::load(device, folder);
    vantage::Session session(model, {.record_attention = vantage::RecordAttention::all(), .submission_seconds = 0.004});
    vantage::AttentionFeed feed(session);
    vantage::ViewPainter painter(feed, format);
    listen(graphics.window, painter);
    session.append(model.tokenizer().encode(prompt, true).ids);
    std::jthread writer([&](const std::stop_token& stop) {
        while (!stop.stop_requested() && session.next()) feed.publish();
    });
    while (glfwWindowShouldClose(graphics.window) == GLFW_FALSE) {
        glfwWaitEventsTimeout(0.02);
        if (!painter.due()) continue;
        graphics.frame(device, [&](VkImageView image) { painter.record(graphics.commands, image, graphics.size); });
    }
}

}  // namespace

int main(int count, char** words) {
    try {
        Graphics graphics;
        show(graphics, count > 1 ? words[1] : "models/gpt2",
             count > 2 ? words[2] : "The animal didn't cross the street because it");
    } catch (const vantage::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return vantage::exit_code(error.kind());
    }
}
