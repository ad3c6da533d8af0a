// Two runs in one window: keys, what is seen of them, and its pixels against the exact weights of both.
#include "panels_shown.h"

#include <cmath>
#include <future>

#include "runtime/base/at.h"
#include "viewer/window/headless.h"

using namespace view_test;

namespace {

std::vector<float> weights_in(LiveModel& live, const HeadId& head, std::int64_t rows) {
    std::promise<std::vector<float>> answer;
    live.with_session([&](Session& session) {
        answer.set_value(session.attention({head.layer, head.head}, {0, rows}, {0, rows}).vector());
    });
    return answer.get_future().get();
}

/// How far the pixels of a map are from the colours that `wanted` gives, in steps of the table, at worst.
template <class Wanted>
int worst_colour(const Image& image, const MapView& map, const ColourTable& table, Wanted wanted) {
    int worst = 0;
    for (std::int64_t row = 0; row < map.rows; ++row)
        for (std::int64_t key = 0; key <= row; ++key) {
            const Rgb pixel = image.at(static_cast<int>(map.x_of(static_cast<double>(key) + 0.5)),
                                       static_cast<int>(map.y_of(static_cast<double>(row) + 0.5)));
            const auto place = static_cast<int>(std::lround(wanted(row, key)));
            int nearest = 256;  // entries may be alike: the nearest of those counts
            for (int i = 0; i < 256; ++i)
                if (at(table, i) == pixel) nearest = std::min(nearest, std::abs(i - place));
            worst = std::max(worst, nearest);
        }
    return worst;
}

}  // namespace

TEST_CASE("two runs in a window: side by side, one of them, in turn, and their difference", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Opened opened;
    const Model quantised =
        Model::load(opened.device, VANTAGE_ROOT "/assets/models/mini-world", {.weights = DType::q4_0});
    LiveModel a(opened.model, {.on_version = WindowSystem::wake}), b(quantised, {.on_version = WindowSystem::wake});
    ViewState state{.max_tokens = 6};
    state.compared = Compared{.weights = DType::q4_0};
    state.head = HeadId{1, 0};
    a.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, a, state, {.width = 1100, .height = 760, .frozen = true, .compared = &b});
    Viewer& viewer = window.viewer();
    User user(window);
    user.until_ended();
    test::Watchdog watchdog("the rows of both runs");
    while (viewer.runs().rows() < a.version().rows) {
        watchdog.look(viewer.runs().rows(), b.version().number);
        user.settle();
    }
    const std::int64_t n = viewer.runs().rows();
    REQUIRE(n == a.version().rows);
    const std::vector<float> p_a = weights_in(a, viewer.runs().head(), n), p_b = weights_in(b, viewer.runs().head(), n);
    const auto at = [&](const std::vector<float>& p, std::int64_t row, std::int64_t key) {
        return p[static_cast<std::size_t>(row * n + key)];
    };
    const auto plain = [&](const std::vector<float>& p) {
        return [&](std::int64_t row, std::int64_t key) {
            return 255 * position_of(at(p, row, key), 1, AttentionScale::square_root);
        };
    };
    const ColourTable& magma = colours_of(ColourMap::magma);

    // ---- side by side
    REQUIRE(viewer.panes().size() == 2);
    CHECK(viewer.panes()[0].map.box.wide == viewer.panes()[1].map.box.wide);
    CHECK(viewer.panes()[1].places.row_labels.wide == 0);  // they are those of A
    CHECK(run_name(b, state, true) == "B · q4 weights");   // as it was asked for
    user.settle();
    Image seen = window.screenshot();
    keep(seen, "compare-both");
    CHECK(worst_colour(seen, viewer.panes()[0].map, magma, plain(p_a)) <= 1);
    CHECK(worst_colour(seen, viewer.panes()[1].map, magma, plain(p_b)) <= 1);

    // ---- the mouse over the right one reads both
    const MapView right = viewer.panes()[1].map;
    user.move(static_cast<double>(right.x_of(0.5)), static_cast<double>(right.y_of(9.5)));
    REQUIRE(viewer.at().cell() == Cell{9, 0});
    REQUIRE(viewer.runs().readings().first.has_value());
    REQUIRE(viewer.runs().readings().second.has_value());
    CHECK(std::abs(viewer.runs().readings().first->weight - at(p_a, 9, 0)) < 1e-5f);
    CHECK(std::abs(viewer.runs().readings().second->weight - at(p_b, 9, 0)) < 1e-5f);

    user.move(-1, -1);  // its crosshair is in no picture now

    // ---- one of them
    user.type("[");
    CHECK(viewer.state().shown == ShownRuns::a);
    REQUIRE(viewer.panes().size() == 1);
    CHECK(worst_colour(window.screenshot(), viewer.panes().front().map, magma, plain(p_a)) <= 1);
    user.type("]");
    CHECK(viewer.state().shown == ShownRuns::b);
    CHECK(worst_colour(window.screenshot(), viewer.panes().front().map, magma, plain(p_b)) <= 1);

    // ---- the difference, and zoom that is the same for all
    user.type("d");
    CHECK(viewer.state().shown == ShownRuns::difference);
    CHECK(viewer.state().statistic == HeadStatistic::difference);  // of the head map, too
    user.settle();
    std::vector<float> differences;  // of the visible weights
    for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t key = 0; key <= row; ++key)
            differences.push_back(std::abs(at(p_b, row, key) - at(p_a, row, key)));
    std::ranges::sort(differences);
    const auto most = static_cast<double>(differences[differences.size() * 99 / 100]);
    CHECK(viewer.state().difference_max >= 0.9 * most);  // the bar ends where almost all do, rounded up
    CHECK(viewer.state().difference_max <= 3 * most);
    viewer.state().difference_max = 0.5;  // chosen: it stays
    viewer.touch(), user.settle();
    CHECK(viewer.state().difference_max == 0.5);
    seen = window.screenshot();
    keep(seen, "compare-difference");
    const auto change = [&](std::int64_t row, std::int64_t key) {
        const float d = at(p_b, row, key) - at(p_a, row, key);
        return 128 + std::copysign(127 * position_of(std::abs(d), 0.5f, AttentionScale::square_root), d);
    };
    // √ is steep at nothing: a difference of 1e-6 more or less is a step of 0.2 there
    CHECK(worst_colour(seen, viewer.panes().front().map, difference_colours(true), change) <= 1);
    const MapView map = viewer.panes().front().map;
    user.move(static_cast<double>(map.x_of(3.5)), static_cast<double>(map.y_of(9.5)));
    CHECK(has_text(texts_of(window), "shown: B − A"));
    user.scroll(3);
    REQUIRE(viewer.state().part.has_value());
    const Rectangle part = viewer.runs().part();
    user.type("w");
    CHECK(viewer.state().shown == ShownRuns::both);
    CHECK(viewer.panes()[0].map.part == part);
    CHECK(viewer.panes()[1].map.part == part);
    user.type("f[");

    // ---- in turn: pictures come by themselves, and stop with it
    inject(glfwSetCharCallback, window.handle(), static_cast<unsigned>('b'));
    user.turn_until("the picture of B", [&] { return viewer.runs().shown() == ShownRuns::b; });
    user.turn_until("the picture of A", [&] { return viewer.runs().shown() == ShownRuns::a; });
    user.type("b");
    CHECK_FALSE(viewer.at().blink_from.has_value());
    CHECK(viewer.runs().shown() == ShownRuns::a);
    user.settle();
    const std::uint64_t drawn = window.counts().pictures;
    for (int i = 0; i < 8; ++i) REQUIRE(window.turn(0.1));
    CHECK(window.counts().pictures == drawn);

    // ---- the same picture without a window, from what Ctrl+C copies
    user.type("d");
    user.settle();
    const ViewState copied = viewer.state();
    CHECK(as_command_line(copied).find("--compare weights=q4") != std::string::npos);
    CHECK(as_command_line(copied).find("--show difference") != std::string::npos);
    user.move(-1, -1);
    user.settle();
    const Image with = window.screenshot();
    PictureMaker maker(a, copied, 1, &b);
    CHECK((maker.draw(1100, 760).rgb == with.rgb));
}

TEST_CASE("keys of two runs say so where there is one", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Opened opened;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    const ViewState state{.max_tokens = 2};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, live, state, {.width = 700, .height = 500, .frozen = true});
    User user(window);
    user.until_ended();
    user.take_note();
    for (const char* key : {"]", "d", "b"}) {
        user.type(key);
        CHECK(user.take_note().find("--compare") != std::string::npos);
        CHECK(window.viewer().state() == state);
    }
}
