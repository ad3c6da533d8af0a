// vantage bench model: how fast a model reads prompts and draws tokens.
#include <CLI/CLI.hpp>

#include "bench.h"
#include "commands.h"
#include "generation_options.h"
#include "runtime/base/log.h"
#include "runtime/bench/model_bench.h"
#include "runtime/models/config.h"
#include "runtime/models/shapes.h"

namespace vantage::cli {

namespace {

struct BenchModelOptions {
    std::string shape, weights = "f32", precision = "f16";
    std::vector<std::int64_t> prompts, texts, depths = {0};
    std::int64_t sequences = 1;
    int repeats = 5;
    BenchOutput output;
};

std::vector<ModelTest> tests_of(const BenchModelOptions& o, const Model& model) {
    std::vector<std::int64_t> prompts = o.prompts, texts = o.texts;
    if (prompts.empty() && texts.empty()) {
        const std::int64_t most = model.info().context - 1;
        prompts = {std::min<std::int64_t>(512, most)};
        if (model.config().kind != ModelKind::encoder) texts = {std::min<std::int64_t>(128, most)};
    }
    std::vector<ModelTest> tests;
    for (const std::int64_t depth : o.depths) {
        for (const std::int64_t tokens : prompts) tests.push_back({true, tokens, depth, o.sequences});
        for (const std::int64_t tokens : texts) tests.push_back({false, tokens, depth, o.sequences});
    }
    return tests;
}

DType weights_named(const std::string& name) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16})
        if (name == name_of(type)) return type;
    throw Error(ErrorKind::usage, "there are no weights of type " + name);
}

Model model_of(const BenchModelOptions& o, const Device& device) {
    if (o.shape.empty()) return load_model(device);
    const NamedShape& shape = shape_named(o.shape);
    return Model::random(device, shape.name, shape.config, weights_named(o.weights));
}

void run(const BenchModelOptions& o) {
    o.output.checked_format();
    const Device device = open_device();
    const Model model = model_of(o, device);
    const SessionOptions session{.precision = precision_named(o.precision)};
    Report report("model", device.caps());
    for (const ModelTest& test : tests_of(o, model)) {
        const ModelTimes times = time_model(model, test, session, o.repeats);
        ReportRow& row = report.row();
        row.set("model", model.info().name)
            .set("weights", model.info().weight_types)
            .set("precision", o.precision)
            .set("test", test.name())
            .set("t_per_s", times.tokens_per_second())
            .set("t_per_s_median", times.median(), Shown::data_only);
        if (!test.prompt) row.set("host_us", 1e6 * times.host_seconds);
    }
    o.output.write(report);
}

}  // namespace

void add_bench_model(CLI::App& bench) {
    auto o = std::make_shared<BenchModelOptions>();
    CLI::App* command = bench.add_subcommand("model", "Tokens per second of a model, for prompts and for drawn tokens");
    add_model_option(*command);
    command->add_option("--shape", o->shape, "gpt2-small")->type_name("NAME");
    command->add_option("--pp", o->prompts, "Prompts of so many tokens")->type_name("N")->delimiter(',');
    command->add_option("--tg", o->texts, "Texts of so many drawn tokens")->type_name("N")->delimiter(',');
    command->add_option("--depth", o->depths, "Tokens that have run before")->type_name("N")->delimiter(',');
    command->add_option("--weights", o->weights, "f32, f16, bf16");
    add_precision_option(*command, o->precision);
    command->add_option("-r,--repeats", o->repeats, "Repeats");
    command->add_option("-b,--batch", o->sequences, "Sequences at once");
    add_bench_output(*command, o->output);
    command->callback([o] { run(*o); });
}

}  // namespace vantage::cli
