#include "viewer/window/headless.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/gpu/queue.h"
#include "viewer/draw/picture.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {
namespace {

constexpr double seconds_a_picture = 1.0 / 60;  // of the clock without a window
constexpr int pictures_to_settle = 3;           // sizes and readings depend on the picture before

}  // namespace

struct PictureMaker::State {
    Device device;
    Viewer viewer;
    DrawPipelines pipelines;
    FrameRing frames;
    int drawn = 0;
};

PictureMaker::PictureMaker(LiveModel& live, const ViewState& state, float scale, LiveModel* compared,
                           const std::string& command)
    : state_(new State{
          .device = live.model().device(),
          .viewer = Viewer(live, state, {.scale = scale, .frozen = true, .compared = compared, .command = command}),
          .pipelines = DrawPipelines(live.model().device(), picture_format),
          .frames = FrameRing(live.model().device())}) {}

PictureMaker::~PictureMaker() = default;
ViewState& PictureMaker::state() { return state_->viewer.state(); }
std::int64_t PictureMaker::rows() const { return state_->viewer.runs().rows(); }
PngTexts PictureMaker::texts() { return state_->viewer.picture_texts(); }
void PictureMaker::write(const std::string& path) { write_view(path, state_->viewer.subject()); }

Image PictureMaker::draw(std::uint32_t width, std::uint32_t height) {
    State& s = *state_;
    Picture picture(s.device, width, height);
    for (int i = 0; i < pictures_to_settle; ++i) {
        s.viewer.finish(width, height);
        Frame& frame = s.frames.begin();
        picture.begin(frame);
        s.viewer.draw(frame, s.pipelines, picture.target(), seconds_a_picture * ++s.drawn);
        picture.end(frame);
        gpu::wait(s.device.state(), s.frames.submit(frame));
    }
    return picture.image();
}

double seconds_of_a_picture(LiveModel& live, std::uint32_t width, std::uint32_t height) {
    constexpr int pictures = 40, first = 10;  // warm-up: glyphs and pipelines
    const Device& device = live.model().device();
    Viewer viewer(live, {}, {.frozen = true});
    DrawPipelines pipelines(device, picture_format);
    FrameRing frames(device);
    Picture picture(device, width, height);
    std::vector<double> seconds;
    for (int i = 0; i < pictures; ++i) {
        viewer.mouse_at(static_cast<float>(width) * 0.3f + static_cast<float>(4 * i),
                        static_cast<float>(height) * 0.3f + static_cast<float>(3 * i));
        Frame& frame = frames.begin();
        const double begin = seconds_now();
        picture.begin(frame);
        viewer.draw(frame, pipelines, picture.target(), seconds_a_picture * i);
        picture.end(frame);
        frames.submit(frame);
        if (i >= first) seconds.push_back(seconds_now() - begin);
    }
    const auto middle = seconds.begin() + std::ssize(seconds) / 2;
    std::ranges::nth_element(seconds, middle);
    return *middle;
}

void wait_for_model(LiveModel& live) {
    using namespace std::chrono_literals;
    while (true) {
        throw_if_interrupted();
        if (const auto error = live.error()) throw Error(error->kind, error->message);
        const Activity activity = live.version().activity;
        if (activity == Activity::ended || activity == Activity::paused) return;
        std::this_thread::sleep_for(2ms);
    }
}

}  // namespace vantage::view
