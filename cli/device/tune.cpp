// vantage tune: measures all kernels that fit the calls of a model, and saves the fastest in a tuning table.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/device/tune_report.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/output.h"
#include "cli/shared/progress.h"
#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/merge_projections.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/shapes.h"
#include "runtime/models/weight_storage.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

struct TuneCommand {
    std::string shape, precision = "f16", save;
    std::optional<std::int64_t> context;
    double seconds = 600;
    bool quick = false, show = false, forget = false, json = false;
};

/// The model to tune for: its config, and its graph for a plan.
struct Subject {
    std::string name;
    ModelConfig config;
    std::function<Graph(const BuildOptions&)> graph;
};

// Storage of a shape's weights by name: `wanted` for matrices, f32 for others, as in Model::random.
Graph::WeightTypes storage_of_weights(const ModelConfig& config, DType wanted) {
    Graph one_row = build_model(config, {.rows = 1, .context = std::min<std::int64_t>(config.context, 16)},
                                [](const std::string&) { return DType::f32; });
    transpose_weights(one_row);
    store_matrices(one_row, config, wanted);
    const auto types = std::make_shared<std::map<std::string, DType>>();
    for (const Value& value : one_row.values()) {
        if (value.kind != ValueKind::weight) continue;
        (*types)[value.name] = value.type.dtype;
        for (const std::string& part : value.parts) (*types)[part] = value.type.dtype;
    }
    return [types](const std::string& name) { return types->at(name); };
}

Subject subject_of(const TuneCommand& o, const Device& device) {
    if (o.shape.empty()) {
        const Model model = load_model(device);
        return {model.info().name, config_of(model),
                [model](const BuildOptions& build) { return graph_of(model, build); }};
    }
    const NamedShape& shape = shape_named(o.shape);
    const ModelConfig config = parse_model_config(shape.config, shape.name);
    const Graph::WeightTypes types = storage_of_weights(config, load_options().weights.value_or(DType::f32));
    return {shape.name, config,
            [config, types](const BuildOptions& build) { return build_model(config, build, types); }};
}

// Rows of the plans of a session, the most important ones first: 1, the largest chunk, the others.
std::vector<std::int64_t> plan_rows(const ModelConfig& config, bool is_encoder, bool quick) {
    if (config.sees() && is_encoder) return {config.image.places()};
    std::vector<std::int64_t> rows;
    for (const std::int64_t size : chunk_sizes)
        if (size <= config.context && !(is_encoder ? size == 1 : config.row_by_row && size > 1))
            rows.insert(rows.begin(), size);
    if (!is_encoder) std::rotate(rows.begin(), rows.end() - 1, rows.end());
    if (quick && rows.size() > 2) rows.resize(2);
    return rows;
}

// The calls of all plans on this device, in the order of plan_rows.
std::vector<ModelCall> calls_of(const Subject& subject, const TuneCommand& o, std::int64_t context, const Caps& caps) {
    const ModelConfig& config = subject.config;
    const std::int64_t default_context = config.context_by_default();
    const Precision precision = precision_named(o.precision);
    std::vector<ModelCall> calls;
    const auto add = [&](bool encoder) {
        const bool is_encoder = encoder || config.kind == ModelKind::encoder;
        for (const std::int64_t rows : plan_rows(config, is_encoder, o.quick)) {
            const std::int64_t held = config.is_vision()
                                          ? config.context
                                          : std::max({rows, context, std::min<std::int64_t>(default_context, 4096)});
            Graph graph = subject.graph({.rows = rows,
                                         .context = held,
                                         .encoder = encoder,
                                         .cache = precision == Precision::f32 ? DType::f32 : DType::f16});
            fuse(graph);
            if (precision != Precision::f32) allow_f16_operands(graph);
            if (precision == Precision::int8) allow_int8_operands(graph);
            merge_projections(graph, caps,
                              [&](const OpCall& call, const Caps& c) { return choose_kernel(call, c, &tuning_of(c)); });
            add_calls(calls, graph, rows);
        }
    };
    add(false);
    if (config.kind == ModelKind::encoder_decoder) add(true);
    return calls;
}

// Adds a result to the file of --save (for all devices of this kind), or to the user's table. Sets `report.path`.
void keep(const TuneCommand& o, const Device& device, const TunedModelCall& call, TuneReport& report) {
    const std::string path = o.save.empty() ? own_tuning_path(device.caps()) : o.save;
    if (path.empty() || call.result->entry.kernel.empty()) return;
    report.path.clear();  // until it is saved
    TuningTable measured;
    measured.calls[call.model.key] = call.result->entry;
    if (o.save.empty())
        add_to_own_tuning(device.caps(), measured);
    else
        add_to_tuning_file(o.save, {TunedDevice::of(device.caps()).of_its_kind(), measured});
    report.path = path;
}

// Measures call by call until the time limit. Results are kept at once, so an error or Ctrl-C leaves those before it.
void tune_all(const Device& device, const TuneCommand& o, std::int64_t context, TuneReport& report) {
    const double end = seconds_now() + o.seconds;
    Progress progress;
    for (std::size_t i = 0; i < report.calls.size(); ++i) {
        TunedModelCall& call = report.calls[i];
        if (seconds_now() > end) break;
        progress.show(format("{} of {}: {}", i + 1, report.calls.size(), call.model.key));
        throw_if_interrupted();
        try {
            call.result = tune_call(device, call.model.call, {.seconds = o.quick ? 0.1 : 0.5, .keys = context});
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::out_of_memory) throw;
            call.result = TunedResult{.entry = {}, .times = {}, .notes = {error.what()}};
        }
        keep(o, device, call, report);
        progress.clear();
        for (const std::string& note : call.result->notes) log(LogLevel::warning, "{}", note);
    }
}

// Calls with at least two eligible kernels, and the kernel that is chosen now.
TuneReport report_of(const Device& device, const Subject& subject, const TuneCommand& o, std::int64_t context) {
    TuneReport report{.model = subject.name, .device = TunedDevice::of(device.caps()), .context = context};
    const Caps& caps = device.caps();
    for (ModelCall& call : calls_of(subject, o, context, caps)) {
        const auto able =
            std::ranges::count_if(call.call.op->kernels, [&](const Kernel& k) { return eligible(k, call.call, caps); });
        if (able < 2) continue;
        const Kernel* before = choose_kernel(call.call, caps, &tuning_of(caps));
        report.calls.push_back({.model = std::move(call), .before = before, .result = {}});
    }
    return report;
}

void tune(const TuneCommand& o, const Device& device) {
    const Subject subject = subject_of(o, device);
    const std::int64_t maximum = subject.config.context;
    if (o.context && (subject.config.is_vision() || subject.config.attending_layers(AttentionKind::self).empty()))
        throw usage_error("tune: --ctx is for models with keys and values in a cache, and {} has none", subject.name);
    const std::int64_t context = o.context.value_or(std::min<std::int64_t>(1024, maximum));
    if (context < 1 || context > maximum)
        throw usage_error("tune: --ctx is {}; {} supports 1 to {}", context, subject.name, maximum);
    TuneReport report = report_of(device, subject, o, context);
    if (!o.save.empty())  // adds nothing: fails before the measurement if the file is not usable
        add_to_tuning_file(o.save, {TunedDevice::of(device.caps()).of_its_kind(), {}});
    else if (own_tuning_path(device.caps()).empty())
        throw usage_error(
            "tune: there is no cache directory for the results: set VANTAGE_CACHE_DIR, or give --save FILE");
    if (environment("VANTAGE_DISABLE_TUNING").value_or("0") != "0")
        log(LogLevel::warning, "VANTAGE_DISABLE_TUNING is set: plans do not use the results");
    log(LogLevel::info, "{} calls have several kernels; time limit: {:.0f} s", report.calls.size(), o.seconds);
    try {
        tune_all(device, o, context, report);
    } catch (const Error&) {
        if (!report.path.empty()) log(LogLevel::warning, "results so far are saved in {}", report.path);
        throw;
    }
    o.json ? print_json(report) : print_text(report);
}

void run(const TuneCommand& o) {
    const Device device = open_device();
    if (o.forget) {
        const std::string path = own_tuning_path(device.caps());
        const bool forgotten = forget_own_tuning(device.caps());
        if (o.json) return write_json({{"schema_version", 1}, {"removed", forgotten ? Json(path) : Json()}});
        print_line("{}{}", forgotten ? "removed: " : "there is no tuning table for ",
                   forgotten ? path : device.caps().name);
    } else if (o.show) {
        print_tables(device.caps(), o.json);
    } else {
        tune(o, device);
    }
}

}  // namespace

void add_tune(CLI::App& app) {
    auto o = std::make_shared<TuneCommand>();
    CLI::App& command = add_command(
        app, "tune", "Measure the kernels for a model on this device, and use the fastest from now on",
        "Measures every kernel for every call of the model's plans (prompts and generated tokens), in turns. A "
        "kernel replaces the default if its results are correct and it is at least 5 % faster, beyond noise. The "
        "table is saved in the cache directory for this device and driver. VANTAGE_DISABLE_TUNING=1 ignores all "
        "tables.\n"
        "Examples:\n  vantage tune -m ./gpt2\n  vantage tune --shape llama-1b --weights f16 --context 4096\n  "
        "vantage tune --show");
    add_model_option(command);
    add_option(
        command, "--shape", o->shape,
        "Tune for this shape instead of a model: gpt2-small, llama-1b, llama-8b, gpt-oss-20b, mamba-130m or bert-base",
        "NAME")
        ->excludes("--model");
    add_option(command, "-c,--ctx,--context", o->context,
               "Tokens in the key-value cache during the measurement. Default: 1024, or the model's maximum", "N");
    add_precision_option(command, o->precision);
    add_setting(command, "--seconds", o->seconds, "Time limit in seconds: no call is started later")->check(above_zero);
    command.add_flag("--quick", o->quick, "Measure only single tokens and the largest chunk, with fewer samples");
    add_option(command, "--save", o->save,
               "Add results to the table FILE, for all devices and drivers of this kind, instead of the cache", "FILE");
    CLI::Option* show = command.add_flag("--show", o->show, "Print the tables for this device; measure nothing");
    CLI::Option* forget = command.add_flag("--forget", o->forget, "Remove the results for this device and driver");
    command.add_flag("--json", o->json, "Print one JSON object");
    exclude_others(command, *show, {"--json"});
    exclude_others(command, *forget, {"--json"});
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
