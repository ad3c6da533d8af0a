// What a view says of the run that it shows, the command line that makes its picture again, and numbers back in time.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/files.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "tests/device/gated_model.h"
#include "viewer/data/comparison.h"
#include "viewer/panels/focus_finder.h"
#include "window_user.h"

using namespace view_test;

namespace {

void wait_until_ended(LiveModel& live) {
    test::Watchdog watchdog("the end of the model's run");
    while (live.version().activity != Activity::ended && !live.error()) {
        watchdog.look(live.version().number);
        ::usleep(1000);
    }
    REQUIRE_FALSE(live.error());
}

/// The most that numbers of heads differ; 2 where one of them is not defined alone.
double farthest(std::span<const HeadMeans> a, std::span<const HeadMeans> b) {
    REQUIRE(a.size() == b.size());
    double max_difference = 0;
    for (std::size_t head = 0; head < a.size(); ++head) {
        if (a[head].rows != b[head].rows) return 2;
        for (std::size_t i = 0; i < a[head].mean.size(); ++i) {
            if (std::isnan(a[head].mean[i]) != std::isnan(b[head].mean[i])) return 2;
            if (!std::isnan(a[head].mean[i]))
                max_difference = std::max(max_difference, std::abs(a[head].mean[i] - b[head].mean[i]));
        }
    }
    return max_difference;
}

Wanted wanted_of(std::int64_t rows) {
    const auto n = static_cast<double>(rows);
    return {.head = {1, 0}, .part = {0, n, 0, n}, .pixels_high = 64, .pixels_wide = 64};
}

/// Whether two pictures are the same but for a box.
bool same_outside(const Image& a, const Image& b, const Box& box) {
    if (a.width != b.width || a.height != b.height) return false;
    for (int y = 0; y < a.height; ++y)
        for (int x = 0; x < a.width; ++x)
            if (!box.has(static_cast<float>(x), static_cast<float>(y)) && !(a.at(x, y) == b.at(x, y))) return false;
    return true;
}

}  // namespace

TEST_CASE("files and command lines are of the run that is shown, not of the fields", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    const ViewState state{.sampling = {.temperature = 0.8, .seed = 5}, .max_tokens = 6};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, live, state, {.width = 1100, .height = 700, .frozen = true});
    User user(window);
    Viewer& viewer = window.viewer();
    user.until_ended();
    viewer.at().area = Area::seed, user.press(GLFW_KEY_UP);
    viewer.at().area = Area::length, user.press(GLFW_KEY_UP);
    viewer.at().area = Area::temperature, user.press(GLFW_KEY_UP);
    viewer.at().prompt = "another";
    CHECK(viewer.at().sampling.seed == 6);
    CHECK(viewer.at().max_tokens == 7);
    const ViewSubject subject = viewer.subject();
    CHECK(subject.state.sampling.seed == 5);
    CHECK(subject.state.prompt == state.prompt);
    CHECK(caption_of(subject).ends_with("seed 5"));
    CHECK(subject.command.find("-n 6 --temp 0.8 --seed 5") != std::string::npos);
    CHECK(subject.command.find("--size 1100x700") != std::string::npos);
    viewer.at().area.reset();
    viewer.run_prompt();  // now they are the run's, as soon as it has begun
    CHECK(viewer.state().sampling.seed == 5);
    user.settle();
    user.until_ended();
    CHECK(viewer.state().sampling.seed == 6);
    CHECK(viewer.subject().command.find("-p another -n 7 --temp 0.85 --seed 6") != std::string::npos);
}

#ifdef VANTAGE_PROGRAM
TEST_CASE("the line that is copied makes the same picture without a window", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    // It waits for each look at it, so that it can be stopped on its way.
    test::GatedModel model(opened.model, {.precision = Precision::f32, .on_version = WindowSystem::wake});
    LiveModel& live = model.live;
    const ViewState state{.sampling = {.temperature = 0.9, .seed = 3, .ignore_end = true}, .max_tokens = 300};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(
        opened.device, live, state,
        {.width = 1040,
         .height = 720,
         .scale = 1.25f,
         .frozen = true,
         .command = "vantage view -m " + internal::shell_word(opened.model.info().directory) + " --precision f32"});
    User user(window);
    Viewer& viewer = window.viewer();
    user.turn_until("30 rows", [&] {
        model.looked_at(live.version());
        return live.version().rows >= 30;
    });
    viewer.stop();
    model.gate.open();
    user.until_ended();
    user.type("mrt");  // the largest weight, by distance, in the light theme
    user.press(GLFW_KEY_RIGHT);
    user.type(",");  // a token back
    const Image shown = window.screenshot();
    keep(shown, "copied");
    viewer.copy_command_line();
    const std::string line = glfwGetClipboardString(window.handle());
    CAPTURE(line);
    REQUIRE(line.starts_with("vantage view -m "));
    CHECK(line.find("-n 300") == std::string::npos);  // it was stopped before
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/again.png";
    const std::string command = internal::shell_word(VANTAGE_PROGRAM) + line.substr(line.find(' ')) +
                                " -q --headless --png " + internal::shell_word(file);
    REQUIRE(std::system(command.c_str()) == 0);
    const Image again = read_png(file).image;
    keep(again, "again");
    // the prompt's panel shows the number of tokens that was asked for
    CHECK(same_outside(shown, again, viewer.layout().prompt));
}
#endif

TEST_CASE("of an encoder–decoder the tokens given are the decoder's", "[view]") {
    const Device device = Device::open();
    const Model model = Model::load(device, VANTAGE_TEST_DATA "/data/oracle/models/bart");
    const std::vector<std::int32_t> source{5, 9, 21, 33, 8, 40, 17, 12, 30, 2};
    LiveModel a(model, {.precision = Precision::f32}), b(model, {.precision = Precision::f32});
    a.start({.ids = source}, {.ignore_end = true}, 8);
    wait_until_ended(a);
    LiveTokens tokens_a, tokens_b;
    a.read_tokens(tokens_a);
    const Version version = a.version();
    CHECK(version.prompt_tokens == (config_of(model).forced_first_token >= 0 ? 2 : 1));
    CHECK(version.tokens == version.prompt_tokens + 8);
    CHECK(version.given_of(AttentionKind::self) == version.prompt_tokens);
    CHECK(version.given_of(AttentionKind::cross) == version.prompt_tokens);
    CHECK(version.given_of(AttentionKind::encoder) == 10);

    // ---- a second run reads the same tokens, those that its decoder began with no second time
    RunComparison comparison(a, b);
    ViewState state;
    state.compared = Compared{.precision = Precision::f32};
    comparison.start(state);
    test::Watchdog watchdog("the end of the second run");
    do {
        watchdog.look(b.version().number);
        a.read_tokens(tokens_a), b.read_tokens(tokens_b);
        comparison.update({a.version(), tokens_a}, {b.version(), tokens_b});
        ::usleep(1000);
    } while (!comparison.settled(a.version(), b.version()));
    b.read_tokens(tokens_b);
    tokens_a.ids.resize(static_cast<std::size_t>(version.rows));
    CHECK(tokens_b.ids == tokens_a.ids);

    // ---- a head is looked for as soon as the decoder has some rows, fewer than the source
    const auto finder = std::make_shared<FocusFinder>();
    finder->wait(a, version);
    CHECK(finder->found().has_value());
}

TEST_CASE("numbers of heads are those of the rows that are shown", "[view][once]") {
    const Device device = Device::open();
    const Model model = Model::load(device, VANTAGE_ROOT "/assets/models/mini-world");
    std::vector<std::int32_t> ids(200);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(3 + i * i % 61);
    LiveModel live(model, {.precision = Precision::f32});
    live.start({.ids = ids}, {}, 0);
    wait_until_ended(live);
    ViewData data(live);
    static_cast<void>(data.finish({}, wanted_of(200)));
    const std::uint64_t all_summed = data.counts().rows_summed;
    CHECK(data.finish({}, wanted_of(200)).heads[0].rows == 200);
    for (const std::int64_t rows : {150, 64, 63, 5, 100, 101, 200}) {
        CAPTURE(rows);
        ViewState back;
        back.rows = rows;
        const FrameData& frame = data.finish(back, wanted_of(rows));
        CHECK(frame.heads[0].rows == rows);
        CHECK(frame.rows_checked <= rows);
        // A text that ends there: attention is causal, so its rows are the same.
        LiveModel shorter(model, {.precision = Precision::f32});
        shorter.start({.ids = {ids.begin(), ids.begin() + rows}}, {}, 0);
        wait_until_ended(shorter);
        ViewData fresh(shorter);
        CHECK(farthest(frame.heads, fresh.finish({}, wanted_of(rows)).heads) <= 1e-5);
    }
    // Going back costs the rows from the nearest that were kept, 64 at most, and coming back to the end none.
    const auto layers = static_cast<std::uint64_t>(model.info().layers);
    CHECK(data.counts().rows_summed - all_summed <= layers * (22 + 63 + 5 + 36 + 1));
}

TEST_CASE("weights times values end where the head's longest value does", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel live(opened.model, {.precision = Precision::f32, .on_version = WindowSystem::wake});
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 2};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, live, state, {.width = 900, .height = 640, .frozen = true});
    User user(window);
    user.until_ended();
    Viewer& viewer = window.viewer();
    const ViewSubject plain = viewer.subject();
    user.type("v");
    const ViewSubject weighted = viewer.subject();
    double longest = 0;
    for (std::int64_t key = 0; key < plain.cells.columns; ++key)  // each is seen by its own query
        longest = std::max(longest, static_cast<double>(weighted.at(key, key) / plain.at(key, key)));
    CHECK(std::abs(viewer.state().range.max / longest - 1) < 1e-3);
    CHECK(weighted.state.range == viewer.state().range);
    for (const float value : weighted.cells.mass)
        CHECK(static_cast<double>(value) <= weighted.state.range.max * 1.0001);
    CHECK(weighted.command.find("--value-weighted --max ") != std::string::npos);
    keep(window.screenshot(), "times-values");
    user.type("v)");  // an end that was moved is kept
    const double moved = viewer.state().range.max;
    CHECK(moved > 1);
    user.type("o");
    CHECK(viewer.state().range == ValueRange{1.0 / 16, moved});
    user.type("0");
    CHECK(viewer.state().range == ValueRange{1.0 / 16, 16});
    CHECK(viewer.state().scale == AttentionScale::logarithmic);
    keep(window.screenshot(), "over-expected");
    user.type("o");
    CHECK(viewer.state().range == ValueRange{});
    CHECK(viewer.state().scale == AttentionScale::square_root);
}

TEST_CASE("files are made while the window goes on, and a window that closes waits for them", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    const ViewState state{.max_tokens = 8};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    const TemporaryFolder folder;
    const std::string first = folder.path() + "/vantage-view-001", second = folder.path() + "/vantage-view-002",
                      third = folder.path() + "/vantage-view-003";
    write_file(first + ".svg", std::string("mine"));  // a name that is taken
    {
        Window window(opened.device, live, state,
                      {.width = 1200, .height = 800, .frozen = true, .pictures = folder.path()});
        User user(window);
        user.until_ended();
        window.viewer().request(Request::exports);
        REQUIRE(window.turn(0.01));
        CHECK(window.viewer().at().note == "saving " + second + " …");  // and no file was waited for
        user.turn_until("the files", [&] { return window.viewer().at().note.starts_with("saved"); });
        CHECK(window.viewer().at().note == "saved " + second + ".png, .svg, .html, .csv, .json, .npy");
        window.viewer().request(Request::exports);
        REQUIRE(window.turn(0.01));
    }
    CHECK(read_file(first + ".svg") == "mine");
    for (const std::string& name : {second, third}) {
        CHECK(read_png(name + ".png").image.width == 1200);
        for (const char* ending : {".svg", ".html", ".csv", ".json", ".npy", ".npy.json"})
            CHECK_FALSE(read_file(name + ending).empty());
    }
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1 + 2 * 7);  // no half of a file

    Window window(opened.device, live, state, {.width = 400, .height = 300, .pictures = folder.path() + "/nowhere"});
    User user(window);
    user.until_ended();
    window.viewer().request(Request::picture);
    user.turn_until("the error", [&] { return window.viewer().at().note.starts_with("cannot write"); });
    CHECK(window.viewer().at().note.find("nowhere/vantage-view-001.png") != std::string::npos);
}

TEST_CASE("a file that is made while the model writes is of what was drawn, and waits for no end", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    test::GatedModel model(opened.model, {.on_version = WindowSystem::wake});
    LiveModel& live = model.live;
    const ViewState state{.sampling = {.ignore_end = true}, .max_tokens = 900};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, live, state, {.width = 600, .height = 400, .frozen = true});
    Viewer& viewer = window.viewer();
    User(window).turn_until("30 rows", [&] {
        const Version version = live.version();
        model.looked_at(version);
        return version.activity == Activity::writing && version.rows >= 30;
    });
    static_cast<void>(window.screenshot());
    const Version drawn = viewer.runs().a().version;
    test::Watchdog watchdog("10 more rows");
    while (live.version().rows < drawn.rows + 10) {
        watchdog.look(live.version().number);
        model.looked_at(live.version());
        ::usleep(1000);
    }
    const ViewSubject subject = viewer.subject();
    CHECK(live.version().activity == Activity::writing);
    // The map may be a version newer than the panels, which were made first; not ten.
    CHECK(subject.cells.rows >= drawn.rows);
    CHECK(subject.cells.rows < drawn.rows + 10);
    CHECK(subject.state.max_tokens >= drawn.tokens - drawn.prompt_tokens);
    CHECK(subject.state.max_tokens < drawn.tokens - drawn.prompt_tokens + 10);
    viewer.stop();
}

TEST_CASE("a search without a match, and a part that is nowhere, say so", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    ViewState state{.max_tokens = 0};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    state.part = Rectangle{500, 520, 0, 10};
    Window window(opened.device, live, state, {.width = 900, .height = 640, .frozen = true});
    User user(window);
    user.until_ended();
    Viewer& viewer = window.viewer();
    CHECK(user.take_note().starts_with("--part 500:520,0:10 shows nothing: the map has rows 0:"));
    CHECK_FALSE(viewer.state().part);
    user.type("/");
    user.type("zebra");
    user.press(GLFW_KEY_ENTER);
    CHECK(user.take_note() == "no token has “zebra”");
    CHECK(viewer.state().pins.empty());
}
