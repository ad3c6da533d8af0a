#include "cli/train/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>

#include "cli/shared/output.h"
#include "cli/train/run_log.h"
#include "runtime/base/log.h"
#include "runtime/io/safetensors.h"
#include "runtime/train/scaling_law.h"

namespace vantage::cli {

namespace fs = std::filesystem;
using namespace internal;

namespace {

struct ComparedRun {
    std::string name;
    LoggedRun log;
    std::optional<double> parameters = {};  ///< of the newest checkpoint; none for adapters

    // Of the last evaluation, or the mean of the last tenth of the steps.
    double loss(bool of_evaluation) const {
        if (of_evaluation) return log.evaluations.back();
        const auto last = static_cast<std::ptrdiff_t>(std::max<std::size_t>(log.losses.size() / 10, 1));
        return std::accumulate(log.losses.end() - last, log.losses.end(), 0.0) / static_cast<double>(last);
    }
    // Floating-point operations by the rule of Kaplan et al. (2020).
    std::optional<double> flops() const {
        return parameters ? std::optional(6 * *parameters * log.tokens) : std::nullopt;
    }
};

ComparedRun read_run(const std::string& path) {
    if (!fs::is_directory(path)) return {.name = path, .log = read_log(path)};
    ComparedRun run{.name = path, .log = read_log(path + "/log.jsonl")};
    if (const std::string weights = path + "/latest/model.safetensors"; fs::exists(weights)) {
        try {
            const SafeTensors file(weights);
            double count = 0;
            for (const auto& [name, tensor] : file.entries()) count += static_cast<double>(tensor.elements());
            run.parameters = count;
        } catch (const Error& error) {  // the curves do not need it
            log(LogLevel::warning, "{}", error.what());
        }
    }
    return run;
}

struct FittedLaw {
    const char *of, *symbol;
    PowerLaw law;
};

// Laws by what differs in at least three runs: through two any curve fits.
std::vector<FittedLaw> laws_of(const std::vector<ComparedRun>& runs) {
    using Size = std::function<std::optional<double>(const ComparedRun&)>;
    struct Axis {
        const char *of, *symbol;
        Size size;
    };
    const std::vector<Axis> axes{{"parameters", "N", [](const ComparedRun& run) { return run.parameters; }},
                                 {"tokens", "D", [](const ComparedRun& run) { return std::optional(run.log.tokens); }},
                                 {"flops", "C", [](const ComparedRun& run) { return run.flops(); }}};
    const bool evaluated =
        std::ranges::all_of(runs, [](const ComparedRun& run) { return !run.log.evaluations.empty(); });
    const auto counts = [](double number) { return std::isfinite(number) && number > 0; };
    std::vector<FittedLaw> laws;
    for (const Axis& axis : axes) {
        std::vector<double> sizes, losses, sorted;
        for (const ComparedRun& run : runs)
            if (const auto size = axis.size(run); size && counts(*size) && counts(run.loss(evaluated)))
                sizes.push_back(*size), losses.push_back(run.loss(evaluated));
        sorted = sizes;
        std::ranges::sort(sorted);
        if (std::unique(sorted.begin(), sorted.end()) - sorted.begin() < 3) continue;
        if (const auto law = fit_power_law(sizes, losses)) laws.push_back({axis.of, axis.symbol, *law});
    }
    return laws;
}

Json to_json(const std::vector<ComparedRun>& runs, const std::vector<FittedLaw>& laws) {
    return {{"schema_version", 1},
            {"runs", json_list(runs,
                               [](const ComparedRun& run) {
                                   const std::vector<double>& evaluations = run.log.evaluations;
                                   const auto or_null = [](const std::optional<double>& number) {
                                       return number ? number_or_null(*number) : Json();
                                   };
                                   return Json{
                                       {"run", run.name},
                                       {"steps", run.log.steps.size()},
                                       {"tokens", run.log.tokens},
                                       {"parameters", or_null(run.parameters)},
                                       {"flops", or_null(run.flops())},
                                       {"loss", number_or_null(run.log.losses.back())},
                                       {"eval", evaluations.empty() ? Json() : number_or_null(evaluations.back())}};
                               })},
            {"laws", json_list(laws, [](const FittedLaw& one) {
                 return Json{{"of", one.of},
                             {"floor", one.law.floor},
                             {"factor", number_or_null(one.law.factor)},
                             {"exponent", one.law.exponent},
                             {"worst", one.law.worst}};
             })}};
}

}  // namespace

void compare_runs(const std::vector<std::string>& folders, const std::string& picture, bool json) {
    std::vector<ComparedRun> runs;
    std::vector<std::pair<std::string, LoggedRun>> logs;
    for (const std::string& folder : folders) {
        runs.push_back(read_run(folder));
        logs.emplace_back(folder, runs.back().log);
    }
    draw_runs(picture, logs);
    const std::vector<FittedLaw> laws = laws_of(runs);
    if (json) return write_json(to_json(runs, laws));
    for (const ComparedRun& run : runs)
        print_line("{}: {} steps, loss {:.4f}{}", escape_controls(run.name), run.log.steps.size(),
                   run.log.losses.back(),
                   run.log.evaluations.empty() ? "" : format(", validation {:.4f}", run.log.evaluations.back()));
    for (const auto& [of, symbol, law] : laws)
        print_line("loss by {}: {}{:.4g} · {}^{:.3f}, off by at most {:.2g} %", of,
                   law.floor >= 5e-5 ? format("{:.4f} + ", law.floor) : "", law.factor, symbol, -law.exponent,
                   100 * law.worst);
    print_line("wrote {}", escape_controls(picture));
}

}  // namespace vantage::cli
