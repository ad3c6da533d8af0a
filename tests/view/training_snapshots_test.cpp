// The window on a model that learns: what it shows of a step is what the heads did then, and the slider goes through the
// steps.
#include <array>

#include "panels_shown.h"
#include "runtime/session/session_access.h"
#include "viewer/data/training_snapshots.h"

using namespace view_test;

namespace {

/// A session that reads another text of equal length at each step, in place of a model whose parameters change.
struct Learning {
    static constexpr std::int64_t tokens = 24;
    Session session;
    std::vector<std::vector<float>> weights;  ///< of a head, at each step
    HeadId head{1, 2};
    explicit Learning(const Model& model)
        : session(model, {.context = tokens, .record_attention = RecordAttention::all()}) {
        read();
    }
    void read() {
        std::vector<std::int32_t> ids;
        for (std::int64_t i = 0; i < tokens; ++i)
            ids.push_back(static_cast<std::int32_t>((7 * i + 31 * std::ssize(weights)) % 500));
        session.restart();
        session.append(ids);
        session.run();
        weights.push_back(session.attention(head).vector());
    }
};

constexpr float f32_sums = 1e-5f;  // of 24 products each, by two kernels

float worst(const std::vector<float>& a, const std::vector<float>& b) {
    float worst = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
}

}  // namespace

TEST_CASE("snapshots of a model that learns have the attention of their step", "[view]") {
    const Model model = Model::load(Device::open(), VANTAGE_ROOT "/assets/models/mini-world");
    Learning learning(model);
    int heard = 0;
    TrainingSnapshots snapshots(learning.session, [&] { ++heard; });
    Tap tap(model.device().state());
    const auto shown = [&] {
        return tap.weights(snapshots.live().source(learning.head.layer), learning.head.head, 0, Learning::tokens, 0,
                           Learning::tokens);
    };
    CHECK_FALSE(snapshots.is_news({}));
    CHECK_FALSE(snapshots.show({}));
    for (const std::int64_t step : {0, 10, 20, 30}) {
        if (step > 0) learning.read();
        snapshots.add({.step = step, .loss = 0.5 * static_cast<double>(step)});
    }
    CHECK(heard >= 4);
    // in any order; between two snapshots the one before
    for (const auto& [step, place] : {std::pair{20, 2}, {0, 0}, {30, 3}, {15, 1}, {99, 3}}) {
        const std::uint64_t run = snapshots.live().version().run;
        CHECK(snapshots.show(step));
        CHECK(snapshots.shown().step == 10 * place);
        CHECK(snapshots.shown().loss == 5.0 * place);
        CHECK(snapshots.live().version().run > run);
        CHECK(snapshots.live().version().rows == Learning::tokens);
        CHECK(snapshots.live().version().activity == Activity::learning);
        CHECK(worst(shown(), learning.weights[static_cast<std::size_t>(place)]) < f32_sums);
        CHECK(worst(shown(), learning.weights[place == 0 ? 1 : 0]) > 0.01f);
        CHECK_FALSE(snapshots.show(step));
    }
    snapshots.finish();
    CHECK(snapshots.show({}));
    CHECK(snapshots.live().version().activity == Activity::ended);
}

TEST_CASE("every second snapshot is dropped where there is no more memory", "[view]") {
    const Model model = Model::load(Device::open(), VANTAGE_ROOT "/assets/models/mini-world");
    Learning learning(model);
    std::uint64_t bytes = 0;  // of a snapshot
    for (const std::int64_t layer : model.info().layers_of(AttentionKind::self)) {
        const TapSource source = SessionAccess::tap_source(learning.session, layer);
        for (const TapSource::Data* data : {&source.q, &source.k, &source.v, &source.lse})
            bytes += data->buffer.requested_bytes();
    }
    TrainingSnapshots snapshots(learning.session, {}, 4 * bytes);
    const auto steps = [&] {
        std::vector<std::int64_t> all;
        for (const TrainingSnapshot& snapshot : snapshots.all()) all.push_back(snapshot.step);
        return all;
    };
    using Steps = std::vector<std::int64_t>;
    const std::array<Steps, 10> wanted{Steps{0},     {0, 1},       {0, 1, 2}, {0, 1, 2, 3}, {0, 2, 4},
                                       {0, 2, 4, 5}, {0, 2, 4, 6}, {0, 4, 7}, {0, 4, 8},    {0, 4, 8, 9}};
    for (std::int64_t step = 0; step < std::ssize(wanted); ++step) {
        snapshots.add({.step = step});
        CHECK(steps() == at(wanted, step));
    }
}

TEST_CASE("a window shows each step of a model that learns", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Opened opened;
    Learning learning(opened.model);
    TrainingSnapshots snapshots(learning.session, WindowSystem::wake);
    const ViewState state{.head = learning.head};
    Window window(opened.device, snapshots.live(), state,
                  {.width = 1200, .height = 760, .frozen = true, .training = &snapshots});
    Viewer& viewer = window.viewer();
    User user(window);
    const auto shows = [&](std::size_t place) {
        return worst_of_map(window.screenshot(), viewer, learning.weights[place], true) <= 1;
    };
    for (const std::int64_t step : {0, 10, 20, 30}) {
        if (step > 0) learning.read();
        snapshots.add({.step = step, .loss = 0.5 * static_cast<double>(step)});
        user.settle();
        CHECK(shows(static_cast<std::size_t>(step / 10)));
    }
    user.move(-1, -1);
    keep(window.screenshot(), "learning");
    CHECK(has_text(texts_of(window), "Step 30"));
    CHECK(has_text(texts_of(window), "learning"));
    CHECK(has_text(texts_of(window), "loss 15.0000"));
    user.type("<<");
    CHECK(shows(1));
    CHECK(has_text(texts_of(window), "viewing step 10"));
    learning.read();
    snapshots.add({.step = 40});  // the step that is looked at stays
    user.settle();
    CHECK(shows(1));
    user.type(">");
    CHECK(shows(2));
    CHECK(viewer.subject().training_step == 20);
    user.type("l");
    CHECK(shows(4));
    user.type("<<<<<<");
    CHECK(shows(0));
    user.press(GLFW_KEY_ESCAPE);
    CHECK(shows(4));
    // the slider, from its left end to its right one
    const Box& panel = viewer.layout().prompt;
    const auto middle = static_cast<double>(panel.y + panel.high / 2);
    user.move(static_cast<double>(panel.x) + 135, middle);
    user.click();
    CHECK(shows(0));
    user.drag(static_cast<double>(panel.right()) - 210, middle);
    CHECK(shows(4));
    CHECK_FALSE(viewer.at().step);
    snapshots.finish();
    user.settle();
    user.move(-1, -1);
    CHECK(has_text(texts_of(window), "finished"));
    user.press(GLFW_KEY_ENTER);  // there is no prompt
    CHECK(has_text(texts_of(window), "the model is being trained"));
}
