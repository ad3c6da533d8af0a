// vantage bench view: how much the window slows a model down, and how long maps of long texts take.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <thread>

#include "cli/bench/bench.h"
#include "cli/shared/commands.h"
#include "cli/shared/progress.h"
#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/queue.h"
#include "runtime/models/shapes.h"
#include "vantage/vulkan.h"
#include "viewer/data/view_data.h"
#include "viewer/window/headless.h"
#include "viewer/window/window.h"

namespace vantage::cli {

namespace {

struct BenchViewOptions {
    std::string shape;
    std::int64_t tokens = 100;
    int repeats = 5;
    std::vector<std::int64_t> keys;
    BenchOutput output;
};

/// A way of viewing: without a window, or in one with a budget.
struct Look {
    const char* name;
    std::optional<double> budget;
    bool window = true;
};
const std::vector<Look> looks = {
    {"no window", {}, false}, {"window", {}}, {"budget 100 %", 100.0}, {"budget 5 %", 5.0}, {"budget 1 %", 1.0}};

struct Figures {
    std::vector<double> tokens_per_second, pictures_per_second, picture_seconds, idle_percent;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Runs the window's event loop, or waits if there is none, until `done`.
void turn_until(view::Window* window, const std::function<bool()>& done) {
    while (!done()) {
        throw_if_interrupted();
        if (window == nullptr)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        else if (!window->turn(0.02))
            throw Error(ErrorKind::interrupted, "the window was closed");
    }
}

std::int64_t context_for(const Model& model) { return std::min<std::int64_t>(model.info().context, 1024); }

constexpr std::int64_t prompt_tokens = 24, later_tokens = 8;  // those before the measurement

/// Generates one text of `tokens` tokens and measures it.
void measure(const Look& look, const Model& model, std::int64_t tokens, Figures& figures) {
    constexpr double idle_seconds = 2;
    view::LiveOptions options{.context = context_for(model)};
    if (look.window) options.on_version = view::WindowSystem::wake;
    view::LiveModel live(model, options);
    std::unique_ptr<view::Window> window;
    if (look.window)
        window = std::make_unique<view::Window>(
            model.device(), live, view::ViewState(),
            view::WindowOptions{.title = "vantage bench view", .budget_percent = look.budget});
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < prompt_tokens; ++i) ids.push_back(11 + i * 37);
    const auto rows = [&] { return live.version().rows; };
    live.start({.ids = ids}, {.ignore_end = true}, tokens + later_tokens);
    turn_until(window.get(), [&] { return rows() >= 28; });  // plans and pipelines exist by then
    const double begin = seconds_now();
    const std::int64_t first = rows();
    const std::uint64_t drawn = window ? window->counts().pictures : 0;
    turn_until(window.get(), [&] { return live.version().activity == view::Activity::ended; });
    const double seconds = seconds_now() - begin;
    figures.tokens_per_second.push_back(static_cast<double>(rows() - first) / seconds);
    if (!window) return;
    figures.pictures_per_second.push_back(static_cast<double>(window->counts().pictures - drawn) / seconds);
    figures.picture_seconds.push_back(window->counts().picture_seconds /
                                      static_cast<double>(std::max<std::uint64_t>(window->counts().pictures, 1)));
    const double settled = seconds_now() + idle_seconds;
    turn_until(window.get(), [&] { return seconds_now() > settled; });
    const double cpu = cpu_seconds(), end = seconds_now() + idle_seconds;
    turn_until(window.get(), [&] { return seconds_now() > end; });
    figures.idle_percent.push_back(100 * (cpu_seconds() - cpu) / idle_seconds);
}

vantage::Cell median_or_nothing(std::vector<double> values) {
    if (values.empty()) return std::monostate();
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// The cost of viewing. The ways take turns, so that other load on the machine affects all of them.
void add_costs(Report& report, const BenchViewOptions& o, const Model& model) {
    std::vector<Figures> figures(looks.size());
    Progress progress("measuring");
    for (int round = 0; round < o.repeats; ++round)
        for (std::size_t i = 0; i < looks.size(); ++i) {
            progress.show(round * std::ssize(looks) + static_cast<std::int64_t>(i), o.repeats * std::ssize(looks));
            measure(looks[i], model, o.tokens, figures[i]);
        }
    for (std::size_t i = 0; i < looks.size(); ++i) {
        const Figures& f = figures[i];
        std::vector<double> shares;  // percent of the same round without a window
        for (std::size_t r = 0; r < f.tokens_per_second.size(); ++r)
            shares.push_back(100 * f.tokens_per_second[r] / figures[0].tokens_per_second[r]);
        const auto in_ms = [](std::vector<double> values) {
            for (double& value : values) value *= 1e3;
            return values;
        };
        report.row()
            .set("model", model.info().name)
            .set("seen", looks[i].name)
            .set("t_per_s", median_or_nothing(f.tokens_per_second))
            .set("percent", median_or_nothing(shares))
            .set("pictures_per_s", median_or_nothing(f.pictures_per_second))
            .set("picture_ms", median_or_nothing(in_ms(f.picture_seconds)))
            .set("idle_cpu_percent", median_or_nothing(f.idle_percent));
    }
    report.note(
        "Medians over rounds in which all ways take turns. percent: of the tokens per second without a window in the "
        "same round. picture_ms: time of a frame until its submission. idle_cpu_percent: of one core, while nothing "
        "changes.");
}

/// A model with this context: one layer, two heads, width 32.
Model long_model(const Device& device, std::int64_t tokens) {
    const std::string config = format(
        R"({{"model_type":"llama","num_hidden_layers":1,"hidden_size":32,"num_attention_heads":2,"num_key_value_heads":1,
            "head_dim":16,"intermediate_size":32,"vocab_size":1000,"max_position_embeddings":{},"rms_norm_eps":1e-5,
            "rope_theta":10000.0,"tie_word_embeddings":true}})",
        tokens);
    return Model::random(device, "long", config, DType::f32, 1);
}

/// Updates, as frames of a window do, until `done` and the device is idle. Returns seconds.
double seconds_until(const Device& device, view::ViewData& data, const view::Wanted& wanted,
                     const std::function<bool(const view::FrameData&)>& done) {
    const double begin = seconds_now();
    while (!done(data.update({}, wanted, seconds_now()))) {
        throw_if_interrupted();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    gpu::wait_idle(device.state());
    return seconds_now() - begin;
}

/// A map of `tokens` tokens at 800 × 800 pixels: all of it, then zoomed and moved.
void add_map(Report& report, const Device& device, std::int64_t tokens) {
    const Model model = long_model(device, tokens);
    view::LiveModel live(model, {.context = tokens, .largest_chunk = 512});
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 997);
    const double begin = seconds_now();
    live.start({.ids = ids}, {}, 0);
    turn_until(nullptr, [&] { return live.version().activity == view::Activity::ended; });
    const double read = seconds_now() - begin;
    const std::uint64_t before = device.state().memory.held;
    view::ViewData data(live);
    const auto n = static_cast<double>(tokens);
    view::Wanted wanted{.head = {0, 1}, .part = {0, n, 0, n}, .pixels_high = 800, .pixels_wide = 800};
    const auto whole = [](const view::FrameData& frame) { return frame.map.progress >= 1; };
    const double first =
        seconds_until(device, data, wanted, [&](const auto&) { return data.counts().device_seconds > 0; });
    const double refined = first + seconds_until(device, data, wanted, whole);
    const view::ViewCounts counts = data.counts();
    // Zoom in by factors of 2 until single weights at three quarters of the text, move, and zoom out again.
    std::vector<double> in, out, moves;
    std::vector<view::Rectangle> path;
    for (double width = n / 2; width >= 400; width /= 2) {
        wanted.part = {0.75 * n - width / 2, 0.75 * n + width / 2, 0.5 * n - width / 2, 0.5 * n + width / 2};
        path.push_back(wanted.part);
        in.push_back(seconds_until(device, data, wanted, whole));
    }
    for (int i = 0; i < 8; ++i) {
        wanted.part.first_column += 40, wanted.part.last_column += 40;
        moves.push_back(seconds_until(device, data, wanted, whole));
    }
    for (auto part = path.rbegin(); part != path.rend(); ++part) {
        wanted.part = *part;
        out.push_back(seconds_until(device, data, wanted, whole));
    }
    const double view_mib = static_cast<double>(device.state().memory.held - before) / 0x1p20;
    const auto ms = [](const std::vector<double>& values) { return 1e3 * *std::ranges::max_element(values); };
    report.row()
        .set("keys", tokens)
        .set("read_s", read)
        .set("first_s", first)
        .set("whole_s", refined)
        .set("device_s", counts.device_seconds)
        .set("batches", counts.submissions)
        .set("closer_ms", ms(in))
        .set("move_ms", ms(moves))
        .set("farther_ms", ms(out))
        .set("picture_ms", 1e3 * view::seconds_of_a_picture(live, 1280, 800))
        .set("view_mib", view_mib);
}

void run(const BenchViewOptions& o) {
    o.output.check();
    if (!o.keys.empty()) {
        const Device device = open_device();
        Report report("view", device.caps());
        report.note(
            "One head of width 16, 800 × 800 pixels. read_s: the model processes the text; first_s: until the first "
            "part of the map; whole_s: until the whole map; closer_ms, move_ms, farther_ms: the slowest step, until "
            "the whole map; picture_ms: host time of a frame with all panels; view_mib: device memory of the view.");
        return measure_and_write(
            report,
            [&] {
                for (const std::int64_t tokens : o.keys) add_map(report, device, tokens);
            },
            [&] { o.output.write(report); });
    }
    const view::WindowSystem system;
    const Device device = open_for_windows(common().device, system.instance_extensions());
    Report report("view", device.caps());
    const Model model = o.shape.empty() ? load_model(device)
                                        : Model::random(device, o.shape, shape_named(o.shape).config,
                                                        load_options().weights.value_or(DType::f32));
    if (const std::int64_t context = context_for(model), most = context - prompt_tokens - later_tokens; o.tokens > most)
        throw usage_error("bench view: --tg is {}, but at most {} fit the context of {}", o.tokens, most, context);
    add_costs(report, o, model);
    o.output.write(report);
}

}  // namespace

void add_bench_view(CLI::App& bench) {
    auto o = std::make_shared<BenchViewOptions>();
    CLI::App& command =
        add_command(bench, "view", "Measure how much the viewer slows a model down",
                    "Examples:\n  vantage bench view\n  xvfb-run -a vantage bench view --shape gpt2-small --tg 40\n"
                    "  vantage bench view --keys 8192,32768");
    add_model_option(command);
    add_shape_option(command, o->shape, "Use a model of this shape with random weights");
    add_setting(command, "--tg", o->tokens, "Tokens to generate per text")->check(CLI::Range(8, 900));
    add_setting(command, "-r,--repeats", o->repeats, "Rounds in which all ways of viewing take turns")
        ->check(CLI::Range(1, 1000));
    add_option(command, "--keys", o->keys, "Measure maps of texts of these lengths instead, without a window", "N,…")
        ->delimiter(',')
        ->check(CLI::Range(800, 1 << 20))  // what is zoomed into
        ->excludes("--model")              // it has one of its own
        ->excludes("--weights")
        ->excludes("--shape")
        ->excludes("--tg")
        ->excludes("--repeats");
    add_bench_output(command, o->output);
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
