// vantage view: shows a running model and its attention in a window, or writes pictures without one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/head_pictures.h"
#include "cli/shared/loaded_model.h"
#include "cli/shared/model_input.h"
#include "cli/shared/progress.h"
#include "cli/shared/token_ids.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/base/terminal.h"
#include "runtime/picture/apng.h"
#include "runtime/session/model_access.h"
#include "vantage/vulkan.h"
#include "viewer/export/view_export.h"
#include "viewer/window/headless.h"
#include "viewer/window/window.h"

namespace vantage::cli {

namespace {

struct ViewOptions {
    bool headless = false, frozen = false, keys = false, stable = false;
    std::string size = "1280x800", png, apng, frames, precision = "f16";
    std::vector<std::string> files;  ///< .svg, .html, .csv, .json, .npy
    AttentionVariant variant = {};
    double scale = 1, frames_per_second = 8;
    std::optional<double> budget, speed;
    std::int64_t context = 0;
    bool recover = true;
    std::vector<std::string> words;  ///< options of the view's state, as typed
    bool writes() const { return !png.empty() || !apng.empty() || !frames.empty() || !files.empty(); }
};

constexpr double built_in_speed = 5;  // tokens per second: it would be done before anybody sees it at work

struct Size {
    std::uint32_t width, height;
};

Size size_of(const std::string& text) {
    constexpr int min_side = 1, max_side = 16384;
    int width = 0, height = 0;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, width);
    const bool two = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
    const auto second = std::from_chars(two ? first.ptr + 1 : end, end, height);
    if (second.ec != std::errc() || second.ptr != end || std::min(width, height) < min_side ||
        std::max(width, height) > max_side)
        throw usage_error("--size {}: expected WIDTHxHEIGHT in pixels, 1 to 16384 each, such as 1600x1000", text);
    return {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)};
}

/// The viewer recomputes weights from the recorded queries and keys, so its sessions do not round to int8.
Precision checked_precision(Precision precision) {
    if (precision == Precision::int8)
        throw usage_error(
            "view: precision int8 is not supported, because the viewer records attention; use f16 or f32");
    return precision;
}

view::LiveOptions live_options(const ViewOptions& o) {
    return {.context = o.context,
            .precision = checked_precision(precision_named(o.precision)),
            .stable = o.stable,
            .variant = o.variant};
}

/// The command line of this run, without the options of the view's state.
std::string command_of(const ViewOptions& o) {
    std::string line = "vantage view";
    const auto add = [&](const char* option, const std::string& value) {
        if (!value.empty()) line += std::string(" ") + option + " " + shell_word(value);
    };
    add("--device", common().device);
    add("-m", common().model);
    add("--weights", common().weights);
    add("--lora", common().lora);
    add("--precision", o.precision == ViewOptions().precision ? "" : o.precision);
    add("--ctx", o.context > 0 ? std::to_string(o.context) : "");
    if (o.stable) line += " --stable";
    if (o.variant.form != AttentionForm::own) add("--attention-kind", name_of(o.variant));
    return line;
}

/// The second run of --compare. It differs from the first only in what --compare says.
struct SecondRun {
    std::optional<Model> model;
    std::unique_ptr<view::LiveModel> live;
};

SecondRun second_run(const Model& first, const view::ViewState& state, view::LiveOptions options) {
    if (!state.compared) return {};
    const view::Compared& other = *state.compared;
    SecondRun second;
    if (other.model || other.weights) {
        LoadOptions load = load_options();
        if (other.weights) load.weights = other.weights;
        if (other.model) load.lora.clear();
        second.model.emplace(Model::load(first.device(), other.model.value_or(first.info().directory), load));
    } else {
        second.model.emplace(first);
    }
    if (config_of(first).sees() || config_of(*second.model).sees())
        throw usage_error("view: --compare supports text models only, and one of these is a vision model");
    options.variant = other.variant.value_or(options.variant);
    options.precision = checked_precision(other.precision.value_or(options.precision));
    second.live = std::make_unique<view::LiveModel>(*second.model, options);
    return second;
}

/// The prompt: a text, or an image for a vision model.
view::LivePrompt prompt_of(const Model& model, const view::ViewState& state) {
    auto image =
        image_of("view", {.image = state.image, .image_index = static_cast<std::size_t>(state.image_index)}, model);
    if (!image && !model.has_tokenizer() && state.prompt == view::ViewState::default_prompt)
        throw usage_error("view: {} has no tokenizer; give token ids with -p, such as -p \"5, 9, 2\"",
                          model.info().name);
    if (!image && !model.has_tokenizer())
        return {.text = {}, .ids = read_ids(state.prompt, "view: -p, without a tokenizer", "token id")};
    if (!image) return {.text = state.prompt};
    if (state.prompt != view::ViewState::default_prompt)
        throw usage_error("view: {} is a vision model; give --image FILE instead of -p", model.info().name);
    return {.text = {}, .pixels = std::move(image->pixels), .seen = std::move(image->seen)};
}

void start(view::LiveModel& live, const view::ViewState& state) {
    if (state.head && std::ranges::count(live.heads(), *state.head) == 0) {
        const ModelInfo& info = live.model().info();
        throw usage_error("view: there is no head {}; {} has {} layers of {} heads of this attention kind",
                          name_of(*state.head), info.name, info.layers_of(state.head->kind).size(),
                          info.heads_of(state.head->kind));
    }
    live.start(prompt_of(live.model(), state), state.sampling, state.max_tokens);
}

/// One picture per token, each with the text up to that token. The last one is the view itself.
void write_frames(const ViewOptions& o, view::PictureMaker& maker, const Size& size) {
    if (!o.frames.empty()) make_folder(o.frames);
    maker.draw(size.width, size.height);  // after this, the number of rows is known
    const std::optional<std::int64_t> wanted = maker.state().rows;
    const std::int64_t all = maker.rows();
    const PngTexts texts = maker.texts();
    std::optional<ApngWriter> animation;
    if (!o.apng.empty()) animation.emplace(o.apng, all, 1 / o.frames_per_second);
    Progress progress("drawing");
    for (std::int64_t rows = 1; rows <= all; ++rows) {
        progress.show(rows, all);
        maker.state().rows = rows < all ? std::optional(rows) : wanted;
        const Image picture = maker.draw(size.width, size.height);
        if (!o.frames.empty()) write_png(o.frames + format("/{:05}.png", rows), picture, maker.texts());
        if (animation) animation->add(picture, texts);
    }
    if (animation) animation->finish();
}

std::unique_ptr<view::LiveModel> live_model(LoadedModel& model, const view::LiveOptions& options) {
    return model.make([&](const Model& m) { return std::make_unique<view::LiveModel>(m, options); });
}

/// Calls `show`, again after each loss of the device. A second loss soon after the first must not be without new rows.
template <class Show>
void show_and_recover(LoadedModel& model, view::LiveModel& live, Show show) {
    constexpr double soon = 60;  // seconds
    double last = -soon;
    std::int64_t rows = -1;
    while (true) {
        try {
            return show();
        } catch (const Error& error) {
            if (seconds_now() - last < soon && live.version().rows <= rows) throw;
            model.note_loss(error);
        }
        live.recover(model.reloader());
        last = seconds_now();
        rows = live.version().rows;
    }
}

/// As `run` says it. An encoder generates nothing.
void warn_of_full_context(const view::LiveModel& live, const view::ViewState& state) {
    const view::Version now = live.version();
    const bool full = now.tokens >= live.context() && now.tokens - now.prompt_tokens < state.max_tokens;
    if (full && config_of(live.model()).kind != ModelKind::encoder)
        log(LogLevel::warning, "the context of {} tokens is full", live.context());
}

void draw_headless(const ViewOptions& o, const view::ViewState& state) {
    if (!o.writes())
        throw usage_error("view --headless: no output; give --png FILE, --frames DIR, --apng FILE or --save FILE");
    for (const std::string& file : o.files) view::require_view_format(file);
    const Size size = size_of(o.size);
    LoadedModel model(o.recover, tower_for(!state.image.empty()));
    const std::unique_ptr<view::LiveModel> live = live_model(model, live_options(o));
    start(*live, state);
    show_and_recover(model, *live, [&] {
        const SecondRun second = second_run(*model, state, live_options(o));
        view::wait_for_model(*live);
        warn_of_full_context(*live, state);
        view::PictureMaker maker(*live, state, static_cast<float>(o.scale), second.live.get(), command_of(o));
        if (!o.frames.empty() || !o.apng.empty()) write_frames(o, maker, size);
        const Image picture = maker.draw(size.width, size.height);
        if (!o.png.empty()) write_png(o.png, picture, maker.texts());
        for (const std::string& file : o.files) maker.write(file);
    });
}

void show_window(const ViewOptions& o, view::ViewState state) {
    Size size = size_of(o.size);
    const view::KeyBindings keys = view::own_keys();
    const view::WindowSystem system;
    LoadedModel model(o.recover, tower_for(!state.image.empty()),
                      [&](const std::string& wish) { return open_for_windows(wish, system.instance_extensions()); });
    view::LiveOptions options = live_options(o);
    options.on_version = view::WindowSystem::wake;
    const std::unique_ptr<view::LiveModel> live = live_model(model, options);
    start(*live, state);
    const double speed = o.speed.value_or(common().model.empty() ? built_in_speed : 0);
    live->set_speed(speed);
    log(LogLevel::info, "speed: {}", speed > 0 ? format("at most {:g} tokens per second", speed) : "no limit");
    show_and_recover(model, *live, [&] {
        const SecondRun second = second_run(*model, state, options);
        if (second.live) second.live->set_speed(live->speed());
        view::Window window(model->device(), *live, state,
                            {.title = "Vantage · " + model->info().name,
                             .width = static_cast<int>(size.width),
                             .height = static_cast<int>(size.height),
                             .scale = static_cast<float>(o.scale),
                             .frozen = o.frozen,
                             .budget_percent = o.budget,
                             .keys = keys,
                             .prompt = [&model](const view::ViewState& s) { return prompt_of(*model, s); },
                             .compared = second.live.get(),
                             .command = command_of(o)});
        try {
            window.run();
        } catch (const Error&) {  // for the next window
            state = window.state();
            const auto [width, height] = window.size();
            size = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)};
            throw;
        }
    });
}

void run(const ViewOptions& o) {
    if (o.keys) {
        std::fputs(view::own_keys().as_file().c_str(), stdout);
        return;
    }
    view::ViewState state = view::state_from(o.words);
    if (state.prompt == "-") state.prompt = read_stdin();
    if (o.headless) return draw_headless(o, state);
    if (o.writes())
        throw usage_error(
            "view: --png, --frames, --apng and --save need --headless; in the window, press E or Shift+E");
    show_window(o, std::move(state));
}

/// Options of the view's state. Their words are collected and parsed together.
void add_state_options(CLI::App& command, const std::shared_ptr<ViewOptions>& o) {
    for (const view::OptionText& option : view::option_texts()) {
        if (option.value.empty()) {
            command.add_flag_callback(
                option.name, [o, name = option.name] { o->words.push_back(name); }, option.help);
            continue;
        }
        const auto take = [o, name = option.name](const std::vector<std::string>& values) {
            for (const std::string& value : values) o->words.insert(o->words.end(), {name, value});
        };
        const std::string names = option.name == "-p"   ? "-p,--prompt"
                                  : option.name == "-n" ? "-n,--n-predict"
                                                        : option.name;
        command.add_option_function<std::vector<std::string>>(names, take, option.help)
            ->type_name(option.value)
            ->expected(1)
            ->multi_option_policy(option.repeatable ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::Throw);
    }
}

void add_file_options(CLI::App& command, const std::shared_ptr<ViewOptions>& o) {
    add_option(command, "--png", o->png, "With --headless: write one picture after the last token", "FILE");
    add_option(command, "--frames", o->frames, "With --headless: write one picture per token", "DIR");
    add_option(command, "--apng", o->apng, "With --headless: write one animated PNG with a frame per token", "FILE");
    add_setting(command, "--fps", o->frames_per_second, "Frames per second of the animated PNG, 0.1 to 60")
        ->check(between(0.1, 60));
    add_option(command, "--save", o->files,
               "With --headless: write the map as .svg, .html, .csv, .json or .npy; can be given several times",
               "FILE");
}

}  // namespace

void add_view(CLI::App& app) {
    auto o = std::make_shared<ViewOptions>();
    CLI::App& command = add_command(
        app, "view", "Watch a model generate, with its attention live, in a window",
        "Examples:\n  vantage view\n  vantage view --headless -p \"The keys to the cabinet are\" --png view.png\n"
        "  vantage view --compare weights=q4    # compare with 4-bit weights: [ and ] show one run, B blinks, D "
        "shows the difference\n"
        "  vantage view --compare attention-kind=linear    # the same weights, another attention\n"
        "  vantage view -p \"Mia saw the red box\" --compare \"prompt=Tom saw the blue box\"");
    add_model_option(command);
    add_lora_option(command);
    command.add_flag("--headless", o->headless, "Write files without a window; needs no display");
    command.add_flag("--keys", o->keys,
                     "Print the key bindings in keymap-file format; to change them, save them as "
                     "$XDG_CONFIG_HOME/vantage/keys");
    add_option(command, "--size", o->size, "Size of the window or the picture, in pixels", "WxH")
        ->capture_default_str();
    add_file_options(command, o);
    add_state_options(command, o);
    add_setting(command, "--ui-scale", o->scale, "Scale of the interface, 0.5 to 4")->check(between(0.5, 4));
    add_option(command, "--viewer-budget", o->budget,
               "Maximum time of the viewer, in percent of the model's time. Default: no limit", "PERCENT")
        ->check(between(0, 100));
    add_option(command, "--speed", o->speed,
               "Tokens per second of the window at most; 0: no limit. Default: 5 for the built-in model, else 0", "N")
        ->check(between(0, 1000));
    add_option(command, "-c,--ctx,--context", o->context,
               "Context length in tokens; 0: the model's maximum, at most 32768, or less if memory is short", "N")
        ->check(zero_or_more);
    add_recording_precision_option(command, o->precision);
    add_stable_option(command, o->stable);
    add_variant_option(command, o->variant);
    add_recover_option(command, o->recover);
    command.add_flag("--frozen-clock", o->frozen, "Do not show times, so that pictures can be compared");
    command.callback([o, &command] {
        refuse_unless(!o->apng.empty(), command, "--fps", "is for --apng");
        for (const char* of_window : {"--viewer-budget", "--speed"})
            refuse_unless(!o->headless, command, of_window, "is for the window, which --headless does not open");
        run(*o);
    });
}

}  // namespace vantage::cli
