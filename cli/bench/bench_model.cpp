// vantage bench model: tokens per second for prompts and generation, start time, and with --quality the loss of quality
// by quantization.
#include "cli/bench/bench.h"
#include "cli/bench/bench_quality.h"
#include "cli/bench/bench_start.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "runtime/base/json.h"
#include "runtime/bench/model_bench.h"
#include "runtime/models/attention_variant.h"
#include "runtime/models/config.h"
#include "runtime/models/shapes.h"
#include "runtime/session/model_access.h"
#include "runtime/session/weight_types.h"

namespace vantage::cli {

namespace {

struct BenchModelOptions {
    std::string shape, precision = "f16";
    std::optional<DType> cache;
    std::vector<std::int64_t> prompts, texts, depths = {0};
    std::int64_t sequences = 1;
    int repeats = 5;
    bool no_start = false, start_figures = false, stable = false;
    AttentionVariant variant = {};
    QualityOptions quality;
    BenchOutput output;
};

/// `wanted`, halved until it fits the context.
std::int64_t fitting(std::int64_t wanted, const Model& model) {
    while (wanted > 1 && wanted >= model.info().context) wanted /= 2;
    return wanted;
}

std::vector<ModelTest> tests_of(const BenchModelOptions& o, const Model& model) {
    std::vector<std::int64_t> prompts = o.prompts, texts = o.texts;
    if (prompts.empty() && texts.empty()) {
        prompts = {fitting(512, model)};
        if (config_of(model).kind != ModelKind::encoder) texts = {fitting(128, model)};
    }
    std::vector<ModelTest> tests;
    for (const std::int64_t depth : o.depths) {
        for (const std::int64_t tokens : prompts) tests.push_back({true, tokens, depth, o.sequences});
        for (const std::int64_t tokens : texts) tests.push_back({false, tokens, depth, o.sequences});
    }
    return tests;
}

Model model_of(const BenchModelOptions& o, const Device& device) {
    if (o.shape.empty()) return load_model(device);
    const NamedShape& shape = shape_named(o.shape);
    Json config = parse_json(shape.config, shape.name);
    if (has_weights(o.variant.form)) config["attention_kinds"] = {name_of(o.variant)};
    return Model::random(device, shape.name, config.dump(), load_options().weights.value_or(DType::f32));
}

SessionOptions session_of(const BenchModelOptions& o) {
    return {.precision = precision_named(o.precision),
            .cache = o.cache,
            .stable = o.stable,
            .profile = profiling(),
            .variant = o.variant};
}

/// The arguments of the process whose start is measured, with the same model.
std::vector<std::string> start_arguments(const BenchModelOptions& o) {
    std::vector<std::string> arguments = {"bench", "model", "--start-figures", "-q", "--precision", o.precision};
    const auto add = [&](const char* option, const std::string& value) {
        if (!value.empty()) arguments.insert(arguments.end(), {option, value});
    };
    add("--device", common().device), add("--model", common().model), add("--shape", o.shape);
    add("--weights", common().weights);
    if (o.cache) add("--cache", weight_type_name(*o.cache));
    if (o.stable) arguments.emplace_back("--stable");
    if (o.variant.form != AttentionForm::own) add("--attention-kind", name_of(o.variant));
    return arguments;
}

void add_speed_rows(Report& report, const BenchModelOptions& o, const Model& model) {
    const std::vector<ModelTest> tests = tests_of(o, model);
    for (const ModelTest& test : tests) require_possible(model, test);  // check all of them before measuring
    report.note(
        "t_per_s: tokens per second, mean ± standard deviation; pp: a prompt and the next token; tg: generation, "
        "token by token. host_us: host time per token without waiting. peak_mib: maximum device memory, including "
        "weights.");
    if (!o.shape.empty() && has_weights(o.variant.form))
        report.note("The weights of attention kind " + name_of(o.variant) + " are random, as all of this shape.");
    if (profiling()) report.note("With --profile every run waits for its timestamps, so it is slower.");
    const bool own = o.variant.form == AttentionForm::own;
    Progress progress;
    std::string energy_source;
    for (const ModelTest& test : tests) {
        progress.show(model.info().name + " " + test.name());
        const ModelTimes times = time_model(model, test, session_of(o), o.repeats);
        note_dispatches(model.device(), times.dispatches);
        energy_source = times.energy_source;
        const bool has_energy = !energy_source.empty();
        report.row()
            .set("model", model.info().name)
            .set("weights", model.info().weight_types)
            .set("precision", o.precision, ShowIn::data_only)
            .set("cache", o.cache ? Cell(weight_type_name(*o.cache)) : Cell("as precision"),
                 o.cache ? ShowIn::everywhere : ShowIn::data_only)
            .set("stable", session_of(o).is_stable(), ShowIn::data_only)
            .set("attention_kind", name_of(o.variant), own ? ShowIn::data_only : ShowIn::everywhere)
            .set("test", test.name())
            .set("t_per_s", times.tokens_per_second())
            .set("t_per_s_median", times.median(), ShowIn::data_only)
            .set("t_per_cpu_s", times.tokens / times.cpu_seconds, ShowIn::data_only)
            .set("host_us", test.prompt ? Cell() : Cell(1e6 * times.host_seconds))
            .set("peak_mib", static_cast<double>(times.peak_bytes) / 0x1p20)
            .set("j_per_token", has_energy ? Cell(times.joules / times.tokens) : Cell(),
                 has_energy ? ShowIn::everywhere : ShowIn::data_only)
            .set("compile_s", times.compile_seconds, ShowIn::data_only)
            .set("parameters", model.info().parameters, ShowIn::data_only)
            .set("weight_bytes", model.info().weight_bytes, ShowIn::data_only);
    }
    if (!energy_source.empty())
        report.note("j_per_token: joules per token of the whole device, other programs included, from " +
                    energy_source + ".");
}

void run(const BenchModelOptions& o) {
    o.output.check();
    const Device device = open_device();
    Report report("model", device.caps());
    const auto measure = [&] {
        if (o.quality.wanted) return add_quality_rows(report, device, o.quality);
        const std::string name = [&] {
            const Model model = model_of(o, device);
            add_speed_rows(report, o, model);
            return model.info().name;
        }();  // the model is freed here: the starts may need its memory
        if (!o.no_start) add_start_rows(report, start_arguments(o), std::min(o.repeats, 3), name);
    };
    measure_and_write(report, measure, [&] { o.output.write(report); });
}

void add_quality_options(CLI::App& command, QualityOptions& o) {
    CLI::Option* quality = command.add_flag("--quality", o.wanted,
                                            "Measure perplexity on a text with weights of each type instead of speed");
    add_option(command, "--text", o.text, "Text file. Default: the validation text of the built-in model", "FILE")
        ->needs(quality);
    add_option(command, "--tokens", o.tokens, "Number of tokens of the text", "N")
        ->capture_default_str()
        ->check(CLI::Range(2, 1 << 24))
        ->needs(quality);
    add_option(command, "--window", o.window, "Window length in tokens. Default: the model's context, at most 512", "N")
        ->check(CLI::Range(2, 1 << 20))
        ->needs(quality);
}

CLI::Option* add_list(CLI::App& command, const char* name, std::vector<std::int64_t>& list, const char* what) {
    return add_option(command, name, list, what, "N,…")->delimiter(',')->allow_extra_args(false);
}

}  // namespace

void add_bench_model(CLI::App& bench) {
    auto o = std::make_shared<BenchModelOptions>();
    CLI::App& command = add_command(
        bench, "model", "Tokens per second for prompts and generation; start time; quality",
        "pp512: a prompt of 512 tokens. tg128: generation of 128 tokens. \"@ d4096\": after 4096 tokens. \"x4\": "
        "four sequences in a batch.\n\n"
        "Examples:\n"
        "  vantage bench model --shape gpt2-small --pp 512 --tg 64\n"
        "  vantage bench model --shape llama-8b --weights f16 --pp 512,4096 --tg 128 --depth 0,4096 -o json\n"
        "  vantage bench model --quality");
    add_model_option(command);
    add_shape_option(command, o->shape,
                     "Use a model of this shape with random weights, made on the device, instead of a file");
    constexpr double max_tokens = 1e9;
    add_list(command, "--pp", o->prompts, "Prompt lengths in tokens. Default: without --pp and --tg, --pp 512 --tg 128")
        ->check(between(1, max_tokens));
    add_list(command, "--tg", o->texts, "Numbers of tokens to generate")->check(between(1, max_tokens));
    add_list(command, "--depth", o->depths, "Numbers of tokens in the context before")->check(between(0, max_tokens));
    add_precision_option(command, o->precision);
    add_cache_option(command, o->cache);
    add_stable_option(command, o->stable);
    add_variant_option(command, o->variant);
    add_option(command, "-r,--repeats", o->repeats, "Repeats, after one warm-up run", "N")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    add_option(command, "-b,--batch", o->sequences, "Sequences in a batch", "N")
        ->capture_default_str()
        ->check(CLI::Range(1, 4096));
    command.add_flag("--no-start", o->no_start, "Do not measure the time of a new process until its first token");
    command.add_flag("--start-figures", o->start_figures)->group("");  // hidden: see print_start
    add_quality_options(command, o->quality);
    exclude_others(command, *command.get_option("--quality"),
                   {"--model", "--weights", "--text", "--tokens", "--window"});
    add_bench_output(command, o->output);
    command.callback([o] {
        if (o->start_figures)
            print_start([&] { return model_of(*o, open_device()); }, session_of(*o));
        else
            run(*o);
    });
}

}  // namespace vantage::cli
