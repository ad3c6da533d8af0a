// vantage bench train: tokens per second of training steps, and their share of the device's arithmetic.
#include "cli/bench/bench.h"
#include "cli/shared/commands.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "runtime/bench/roofs.h"
#include "runtime/bench/train_bench.h"
#include "runtime/measure/measure.h"
#include "runtime/models/config.h"
#include "runtime/models/shapes.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::cli {

namespace {

struct BenchTrainOptions {
    std::string shape, precision = "f32";
    std::vector<std::int64_t> tokens;
    std::int64_t sequences = 1, accumulate = 1, document = 0, steps = 20, warm_up = 5;
    TrainOptions training;
    BenchOutput output;
};

// The arithmetic that products can use: matrix units only with f16.
double roof_gflops(const Roofs& roofs, Precision precision) {
    const double matrices = roofs.arithmetic_gflops(Arithmetic::matrix, "f16");
    return precision == Precision::f16 && matrices > 0 ? matrices : roofs.arithmetic_gflops(Arithmetic::f32);
}

void add_row(Report& report, const std::string& name, const BenchTrainOptions& o, const TrainTest& test,
             const TrainTimes& times, double roof) {
    std::vector<double> rates;
    for (const double seconds : times.seconds) rates.push_back(test.step_tokens() / seconds);
    const double median = test.step_tokens() / measurement_of(times.seconds).median,
                 gflops = median * times.flops_per_token / 1e9;
    const bool counted = test.document == 0;  // operations include keys of other documents, which kernels leave out
    report.row()
        .set("model", name)
        .set("precision", o.precision)
        .set("test", test.name())
        .set("t_per_s", mean_of(rates))
        .set("t_per_s_median", median)
        .set("gflop_per_s", counted ? Cell(gflops) : Cell())
        .set("of_roof", counted && roof > 0 ? Cell(gflops / roof) : Cell())
        .set("memory_mib", static_cast<double>(times.bytes) / 0x1p20)
        .set("loss", times.loss)
        .set("steps", std::ssize(times.seconds), ShowIn::data_only)
        .set("step_s", measurement_of(times.seconds).median, ShowIn::data_only)
        .set("flop_per_token", counted ? Cell(times.flops_per_token) : Cell(), ShowIn::data_only)
        .set("recompute", times.recompute, ShowIn::data_only)
        .set("compile_s", times.compile_seconds, ShowIn::data_only)
        .set("parameters", times.parameters, ShowIn::data_only);
}

std::int64_t default_tokens(const ModelConfig& config) {
    constexpr std::int64_t tokens = 512;
    return config.context > 0 ? std::min(config.context, tokens) : tokens;
}

void run(BenchTrainOptions& o) {
    o.output.check();
    o.training.precision = precision_named(o.precision);
    o.training.profile = profiling();
    const bool named = !o.shape.empty();
    const std::string folder = named ? "" : model_folder(), config = named ? shape_named(o.shape).config : "";
    const ModelConfig model =
        named ? parse_trained_config(config, o.shape) : internal::ModelOrigin::from_folder(folder).config();
    if (o.tokens.empty()) o.tokens = {default_tokens(model)};
    for (const std::int64_t tokens : o.tokens)
        if (model.context > 0 && tokens > model.context)
            throw usage_error("bench train: --tokens is {}, but the model has {} positions", tokens, model.context);
    const Device device = open_device();
    Report report("train", device.caps());
    report.note(
        "t_per_s: tokens per second, mean ± standard deviation of steps. loss: of the last step, on drawn tokens.");
    if (profiling()) report.note("With --profile every step waits for its timestamps, so it is slower.");
    Progress progress;
    const auto measure = [&] {
        const Roofs roofs = roofs_of(device, false, [&](const std::string& what) { progress.show("roofs: " + what); });
        for (const std::int64_t tokens : o.tokens) {
            const TrainTest test{
                .accumulate = o.accumulate, .sequences = o.sequences, .tokens = tokens, .document = o.document};
            const TrainTimes times =
                time_training(device, folder, config, test, o.training, o.warm_up, o.steps, [&](std::int64_t step) {
                    progress.show(format("{}: step {} of {}", test.name(), step + 1, o.warm_up + o.steps));
                });
            note_dispatches(device, times.timings);
            add_row(report, named ? o.shape : folder, o, test, times, roof_gflops(roofs, o.training.precision));
        }
        progress.clear();
    };
    measure_and_write(report, measure, [&] { o.output.write(report); });
}

}  // namespace

void add_bench_train(CLI::App& bench) {
    auto o = std::make_shared<BenchTrainOptions>();
    CLI::App& command =
        add_command(bench, "train", "Tokens per second of training steps",
                    "\"1 × 512\": steps of one sequence of 512 drawn tokens. All parameters learn, with "
                    "AdamW. With a folder of adapters only the adapters learn.\n\n"
                    "Examples:\n"
                    "  vantage bench train --tokens 256 -b 16\n"
                    "  vantage bench train --shape gpt2-small --tokens 512\n"
                    "  vantage bench train --shape gpt2-small --tokens 1024 -b 4 --precision f16 -o json\n"
                    "  vantage bench train --shape gpt2-small --tokens 1024 --documents 128");
    add_model_option(command);
    add_shape_option(command, o->shape, "Train a model of this shape with drawn weights, instead of a file");
    add_option(command, "--tokens", o->tokens,
               "Tokens of a sequence; several lengths are several rows. Default: 512, or fewer if the model has fewer "
               "positions",
               "N,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(2, 1 << 20));
    add_option(command, "-b,--batch", o->sequences, "Sequences of a micro-batch", "N")
        ->capture_default_str()
        ->check(CLI::Range(1, 4096));
    add_option(command, "--accumulate", o->accumulate, "Micro-batches of a step", "N")
        ->capture_default_str()
        ->check(CLI::Range(1, 4096));
    add_option(command, "--documents", o->document,
               "Divide sequences into documents of N tokens, which do not attend to each other", "N")
        ->check(CLI::Range(2, 1 << 20));
    add_option(command, "--steps", o->steps, "Steps that count", "N")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    add_option(command, "--warm-up", o->warm_up, "Steps before them, which do not count", "N")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    add_option(command, "--precision", o->precision, "f32, or f16: matrix units multiply operands rounded to f16",
               "TYPE")
        ->capture_default_str();
    add_option(command, "--memory", o->training.memory,
               "Device memory that may be used, as 6G. Default: nine tenths of what is free", "SIZE")
        ->transform(size_in_bytes());
    add_bench_output(command, o->output);
    command.callback([o, &command] {
        refuse_unless(false, command, "--weights", "has no effect: weights that are trained are f32");
        run(*o);
    });
}

}  // namespace vantage::cli
