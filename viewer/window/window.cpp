#include "viewer/window/window.h"

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/gpu/vulkan_calls.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <future>

#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/gpu/queue.h"
#include "runtime/picture/png.h"
#include "vantage/vulkan.h"
#include "viewer/draw/frame.h"
#include "viewer/draw/picture.h"
#include "viewer/panels/viewer.h"
#include "viewer/window/keys.h"
#include "viewer/window/swapchain.h"
#include "viewer/window/x11_errors.h"

namespace vantage::view {
namespace {

std::string glfw_message() {
    const char* text = nullptr;
    glfwGetError(&text);
    return text != nullptr ? text : "no reason given";
}

Viewer& viewer_of(GLFWwindow* window) { return static_cast<Window*>(glfwGetWindowUserPointer(window))->viewer(); }

/// Converts the mouse position to pixels: screens of high density use other units.
void on_mouse(GLFWwindow* window, double x, double y) {
    int wide = 0, high = 0, pixels_wide = 0, pixels_high = 0;
    glfwGetWindowSize(window, &wide, &high);
    glfwGetFramebufferSize(window, &pixels_wide, &pixels_high);
    viewer_of(window).mouse_at(static_cast<float>(x * pixels_wide / std::max(1, wide)),
                               static_cast<float>(y * pixels_high / std::max(1, high)));
}

void on_key(GLFWwindow* window, int key, int scancode, int action, int modifiers) {
    send_key(viewer_of(window), key, scancode, action, modifiers);
    if (key == GLFW_KEY_LEFT_ALT && action != GLFW_REPEAT) viewer_of(window).alt_key(action == GLFW_PRESS);
}

void listen(GLFWwindow* window) {
    glfwSetCursorPosCallback(window, on_mouse);
    glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int entered) {
        if (entered == 0) viewer_of(w).mouse_left();
    });
    glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int modifiers) {
        send_button(viewer_of(w), button, action, modifiers);
    });
    glfwSetScrollCallback(window, [](GLFWwindow* w, double x, double y) {
        viewer_of(w).scrolled(static_cast<float>(x), static_cast<float>(y));
    });
    glfwSetKeyCallback(window, on_key);
    glfwSetCharCallback(window, [](GLFWwindow* w, unsigned character) { viewer_of(w).character(character); });
    glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int focused) {
        if (focused == 0) viewer_of(w).focus_lost();  // GLFW releases all keys then
    });
    glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { viewer_of(w).touch(); });
    glfwSetFramebufferSizeCallback(window, [](GLFWwindow* w, int, int) { viewer_of(w).touch(); });
}

VkSurfaceKHR make_surface(const Device& device, GLFWwindow* window) {
    VkSurfaceKHR surface = VK_NULL_HANDLE;
    const VkResult result = glfwCreateWindowSurface(handles(device).instance, window, nullptr, &surface);
    if (result != VK_SUCCESS) gpu::throw_vk(result, "glfwCreateWindowSurface", SourceLocation::here(), glfw_message());
    return surface;
}

}  // namespace

WindowSystem::WindowSystem() {
    if (glfwInit() != GLFW_TRUE)
        throw unsupported_error(
            "no window can be opened ({}): is there a display? vantage view --headless --png FILE needs none",
            glfw_message());
    end_plainly_at_x11_errors();
    if (glfwVulkanSupported() != GLFW_TRUE) {
        glfwTerminate();
        throw Error(ErrorKind::no_device,
                    "GLFW finds no Vulkan loader with a driver that shows windows: use --headless --png FILE");
    }
}

WindowSystem::~WindowSystem() { glfwTerminate(); }

std::vector<const char*> WindowSystem::instance_extensions() const {
    std::uint32_t count = 0;
    const char** names = glfwGetRequiredInstanceExtensions(&count);
    if (names == nullptr) throw unsupported_error("Vulkan has no extension for this display ({})", glfw_message());
    return {names, names + count};
}

void WindowSystem::wake() { glfwPostEmptyEvent(); }

struct Window::State {
    Device device;
    WindowOptions options;
    GLFWwindow* window = nullptr;
    std::unique_ptr<Swapchain> swapchain;
    std::unique_ptr<DrawPipelines> pipelines;
    FrameRing frames;
    std::unique_ptr<Viewer> viewer;
    WindowCounts counts;
    ImGuiMouseCursor shape = ImGuiMouseCursor_Arrow;  ///< of the cursor
    GLFWcursor* cursor = nullptr;                     ///< null: the arrow
    bool stale = true;                                ///< the images do not fit the window
    std::array<int, 2> fitted{};                      ///< the window's pixels when they did
    int saved = 0;
    std::vector<std::future<std::string>> writing;  ///< files being written, with their final message

    State(const Device& device_in, const WindowOptions& options_in)
        : device(device_in), options(options_in), frames(device_in) {}
    ~State() {
        try {
            finish_files();
        } catch (const std::exception& error) {
            log(LogLevel::error, "{}", error.what());
        }
        viewer.reset();
        pipelines.reset();
        swapchain.reset();
        if (cursor != nullptr) glfwDestroyCursor(cursor);
        if (window != nullptr) glfwDestroyWindow(window);
    }

    bool draw(gpu::Buffer* pixels);
    bool fit();
    void show_cursor();
    void serve_request();
    std::string save(bool data);
    void hear_of_files();
    void finish_files();
    void tell(const std::function<std::string()>& what);
    Image screenshot();
};

Window::Window(const Device& device, LiveModel& live, const ViewState& state, const WindowOptions& options)
    : state_(std::make_unique<State>(device, options)) {
    State& s = *state_;
    if (options.width < 1 || options.height < 1)
        throw usage_error("a window must have 1 × 1 pixels or more, got {} × {}", options.width, options.height);
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    s.window = glfwCreateWindow(options.width, options.height, options.title.c_str(), nullptr, nullptr);
    if (s.window == nullptr) throw unsupported_error("no window can be opened: {}", glfw_message());
    s.swapchain = std::make_unique<Swapchain>(device, make_surface(device, s.window));
    s.pipelines = std::make_unique<DrawPipelines>(device, s.swapchain->format());
    float across = 1, down = 1;
    glfwGetWindowContentScale(s.window, &across, &down);
    s.viewer = std::make_unique<Viewer>(
        live, state,
        ViewerOptions{
            .scale = options.scale * std::max(1.0f, across),
            .frozen = options.frozen,
            .budget_percent = options.budget_percent,
            .copy = [window = s.window](const std::string& text) { glfwSetClipboardString(window, text.c_str()); },
            .paste =
                [window = s.window] {
                    const char* text = glfwGetClipboardString(window);
                    return std::string(text != nullptr ? text : "");
                },
            .keys = options.keys,
            .prompt = options.prompt,
            .compared = options.compared,
            .training = options.training,
            .command = options.command});
    glfwSetWindowUserPointer(s.window, this);
    listen(s.window);
}

Window::~Window() = default;
Viewer& Window::viewer() { return *state_->viewer; }
GLFWwindow* Window::handle() const { return state_->window; }
const ViewState& Window::state() const { return state_->viewer->state(); }
std::array<int, 2> Window::size() const {
    int width = 0, height = 0;
    float across = 1, down = 1;
    glfwGetWindowSize(handle(), &width, &height);
    glfwGetWindowContentScale(handle(), &across, &down);  // GLFW multiplies the size by it
    return {static_cast<int>(std::lround(static_cast<float>(width) / std::max(1.0f, across))),
            static_cast<int>(std::lround(static_cast<float>(height) / std::max(1.0f, down)))};
}
const WindowCounts& Window::counts() const { return state_->counts; }

/// Resizes the images to the window; false while it is minimised.
bool Window::State::fit() {
    int width = 0, height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    if (width == 0 || height == 0 || glfwGetWindowAttrib(window, GLFW_ICONIFIED) != 0) return false;
    const std::array size{width, height};
    if (stale || size != fitted) {  // not every driver says that images have become too small
        fitted = size;
        swapchain->resize(u32(width), u32(height));
        ++counts.resized;
        stale = swapchain->empty();
    }
    return !stale;
}

/// The cursor says what a drag does here. Where its theme lacks a shape, it stays the arrow.
void Window::State::show_cursor() {
    if (viewer->cursor() == shape) return;
    shape = viewer->cursor();
    const int standard = shape == ImGuiMouseCursor_ResizeEW    ? GLFW_HRESIZE_CURSOR
                         : shape == ImGuiMouseCursor_ResizeNS  ? GLFW_VRESIZE_CURSOR
                         : shape == ImGuiMouseCursor_TextInput ? GLFW_IBEAM_CURSOR
                                                               : 0;
    GLFWcursor* const before = std::exchange(cursor, standard != 0 ? glfwCreateStandardCursor(standard) : nullptr);
    glfwSetCursor(window, cursor);
    if (before != nullptr) glfwDestroyCursor(before);
}

/// One picture; false when there is none now. With `pixels` the picture is whole, and copied there from the screen's
/// image.
bool Window::State::draw(gpu::Buffer* pixels) {
    if (!fit()) return false;
    const auto image = swapchain->acquire();
    if (!image) {
        stale = true;
        return false;
    }
    const double begin = seconds_now(), waited = gpu::seconds_waited();
    Frame& frame = frames.begin();
    const VkCommandBuffer commands = frame.commands();
    change_layout(commands, image->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    viewer->draw(frame, *pipelines, image->target, begin, pixels != nullptr);
    show_cursor();
    if (pixels != nullptr) {
        change_layout(commands, image->image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        *pixels = gpu::allocate(device.state(), std::uint64_t{image->target.width} * image->target.height * 4,
                                gpu::MemoryKind::readback, "screenshot");
        copy_to_buffer(commands, image->image, image->target.width, image->target.height, *pixels);
    }
    change_layout(commands, image->image,
                  pixels != nullptr ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    auto wait = gpu::vk_struct<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
    wait.semaphore = image->free;
    wait.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    VkSemaphoreSubmitInfo signal = wait;
    signal.semaphore = image->drawn;
    const std::uint64_t done = frames.submit(frame, std::span(&wait, 1), std::span(&signal, 1));
    if (!swapchain->present(*image)) stale = true;
    ++counts.pictures;
    if (gpu::seconds_waited() > waited) ++counts.waits;
    const double end = seconds_now();
    counts.picture_seconds += end - begin;
    viewer->note_frame(end, frames.device_seconds(), end - begin);
    if (pixels != nullptr) gpu::wait(device.state(), done);
    return true;
}

Image Window::State::screenshot() {
    gpu::Buffer pixels;
    for (int tries = 0; tries < 4; ++tries) {
        if (fit() && !swapchain->readable())
            throw Error(ErrorKind::failure, "pixels of this window cannot be read back: use --headless --png FILE");
        if (!draw(&pixels)) continue;
        int width = 0, height = 0;
        glfwGetFramebufferSize(window, &width, &height);
        if (pixels.bytes() < std::uint64_t(width) * std::uint64_t(height) * 4) continue;  // resized in between
        return image_of(pixels, u32(width), u32(height), swapchain->format() == VK_FORMAT_B8G8R8A8_UNORM);
    }
    throw Error(ErrorKind::failure, "the window shows nothing that could be saved: it is minimised or hidden");
}

constexpr std::array data_endings = {".svg", ".html", ".csv", ".json", ".npy"};

/// Saves a picture; with `data` in all other formats, too. Device data is read here; another thread writes the files.
/// Returns the message for the user.
std::string Window::State::save(bool data) {
    const auto taken = [&](const std::string& name) {
        return std::ranges::any_of(data_endings, [&](const char* e) { return std::filesystem::exists(name + e); }) ||
               std::filesystem::exists(name + ".png");
    };
    std::string name;  // the first free one
    do name = options.pictures + format("/vantage-view-{:03}", ++saved);
    while (taken(name));
    Image picture = screenshot();
    writing.push_back(std::async(std::launch::async, [=, picture = std::move(picture), subject = viewer->subject()] {
        write_png(name + ".png", picture, facts_of(subject));
        for (const char* ending : data_endings)
            if (data) write_view(name + ending, subject);
        return "saved " + name + (data ? ".png, .svg, .html, .csv, .json, .npy" : ".png");
    }));
    return "saving " + name + " …";
}

/// Shows an error of a file in place of closing the window.
void Window::State::tell(const std::function<std::string()>& what) {
    viewer->touch();
    try {
        viewer->say(what());
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::bad_file && error.kind() != ErrorKind::failure) throw;
        viewer->say(error.what());
    }
}

void Window::State::hear_of_files() {
    const auto done = std::ranges::partition(writing, [](const std::future<std::string>& file) {
        return file.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    });
    std::vector<std::future<std::string>> ready(std::move_iterator(done.begin()), std::move_iterator(done.end()));
    writing.erase(done.begin(), done.end());
    for (std::future<std::string>& file : ready) tell([&] { return file.get(); });
}

/// Waits for files being written. Throws the last error.
void Window::State::finish_files() {
    std::exception_ptr wrong;
    for (std::future<std::string>& file : std::exchange(writing, {})) {
        try {
            file.get();
        } catch (...) {
            wrong = std::current_exception();
        }
    }
    if (wrong) std::rethrow_exception(wrong);
}

void Window::State::serve_request() {
    const Request request = viewer->take_request();
    if (request == Request::quit) return glfwSetWindowShouldClose(window, GLFW_TRUE);
    if (request != Request::none) tell([&] { return save(request == Request::exports); });
}

Image Window::screenshot() { return state_->screenshot(); }

bool Window::turn(double seconds) {
    State& s = *state_;
    constexpr double while_drawn = 0.001;   // until the previous pictures are checked again
    constexpr double while_written = 0.05;  // … and files
    const double wait =
        std::min({seconds, std::max(s.viewer->wake_in(seconds_now()), s.frames.ready() ? 0 : while_drawn),
                  s.writing.empty() ? seconds : while_written});
    const bool hidden = glfwGetWindowAttrib(s.window, GLFW_ICONIFIED) != 0;
    if (wait > 0 || hidden)
        glfwWaitEventsTimeout(std::max(hidden ? std::min(seconds, 1.0) : wait, 1e-4));
    else
        glfwPollEvents();
    throw_if_interrupted();
    if (glfwWindowShouldClose(s.window) != 0) return false;
    s.hear_of_files();
    s.serve_request();
    if (s.viewer->due(seconds_now()) && s.frames.ready()) static_cast<void>(s.draw(nullptr));
    return glfwWindowShouldClose(s.window) == 0;
}

void Window::run() {
    constexpr double longest_wait = 1;
    while (turn(longest_wait)) {
    }
    state_->finish_files();
}

}  // namespace vantage::view
