#include "cli/train/run_log.h"

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "cli/shared/output.h"
#include "runtime/base/files.h"
#include "runtime/base/format.h"

namespace vantage::cli {

namespace {

constexpr std::string_view sample_header = "== step ";

// The samples up to a step, and the step of the last one. None if the step is 0: the run writes its first sample again.
std::string samples_until(const std::string& path, std::int64_t step, std::int64_t& last) {
    std::string kept;
    bool keeps = true;
    for (const std::string& line : internal::split(internal::read_log_file(path), '\n')) {
        long long number = 0;
        if (line.starts_with(sample_header) && std::sscanf(line.c_str() + sample_header.size(), "%lld", &number) == 1) {
            keeps = step > 0 && number <= step;
            if (keeps) last = number;
        }
        if (keeps) kept += line + "\n";
    }
    return kept;
}

// A line of a text that looks like the header of a sample is indented.
std::string without_headers(const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins = i == 0 || text[i - 1] == '\n';
        if (begins && std::string_view(text).substr(i).starts_with(sample_header)) all += ' ';
        all += text[i];
    }
    return all;
}

}  // namespace

bool is_complete(const TrainCommand& c, const Dataset& data, const LoggedRun& run, std::int64_t step) {
    if (step != c.training.steps) return step > c.training.steps;
    const std::vector<double>& steps = run.evaluation_steps;
    return !evaluates(c, data) || (!steps.empty() && steps.back() == static_cast<double>(step - 1));
}

void draw_runs(const std::string& path, const std::vector<std::pair<std::string, LoggedRun>>& runs) {
    StepPanel loss{.title = "loss (nats per target)", .height = 280},
        norm{.title = "norm of the gradients", .logarithmic = true}, rate{.title = "learning rate"};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& [name, run] = runs[i];
        const Rgb colour = step_colours[i % step_colours.size()], dim = mixed(colour, style::background, 0.5f);
        const bool alone = runs.size() == 1;
        loss.curves.push_back({alone ? "training" : name, alone ? dim : colour, run.steps, run.losses});
        if (!run.evaluations.empty())
            loss.curves.push_back({alone ? "validation" : "", alone ? colour : mixed(colour, style::strong, 0.5f),
                                   run.evaluation_steps, run.evaluations});
        norm.curves.push_back({"", colour, run.steps, run.norms});
        rate.curves.push_back({"", colour, run.steps, run.rates});
    }
    const std::string title = runs.size() == 1 ? runs.front().first : "Training runs";
    write_drawing(path, draw_step_chart({.title = title, .panels = {loss, norm, rate}}), title);
}

RunLog::RunLog(const std::string& folder, std::int64_t step, std::vector<std::string> blocks)
    : folder_(folder), blocks_(std::move(blocks)) {
    const std::string path = folder + "/log.jsonl";
    if (std::filesystem::exists(path))
        write_file(path, read_log_lines(path, step, [&](const JsonFields& line) { take_line(run_, line.json()); }),
                   Replaces::own);
    if (const std::string samples = folder + "/samples.txt"; std::filesystem::exists(samples))
        write_file(samples, samples_until(samples, step, sampled_), Replaces::own);
    lines_.emplace(path);
}

void RunLog::add(const TrainRecord& r) {
    const Json line = log_line(r, blocks_);
    take_line(run_, line);
    lines_->add(json_text(line, -1));
}

void RunLog::add_evaluation(std::int64_t step, double loss, const std::optional<LabelQuality>& labels) {
    Json line = log_line(step, loss);
    if (labels) line["accuracy"] = labels->accuracy, line["calibration_error"] = labels->calibration_error;
    take_line(run_, line);
    lines_->add(json_text(line, -1));
}

void RunLog::add_head(std::int64_t step, const HeadChange& change) {
    lines_->add(json_text(Json{{"step", step},
                               {"layer", change.layer},
                               {"head", change.head},
                               {"becomes", change.pattern.id()},
                               {"share", number_or_null(change.pattern.share)}},
                          -1));
}

void RunLog::add_sample(std::int64_t step, const std::string& prompt, const std::string& text) {
    if (!samples_) samples_.emplace(folder_ + "/samples.txt");
    samples_->add(format("{}{}\n{}\n", sample_header, step, without_headers(prompt + text)));
    sampled_ = step;
}

void RunLog::draw() const {
    if (run_.steps.empty()) return;
    for (const char* file : {"loss.png", "loss.svg"})
        draw_runs(folder_ + "/" + file, {{std::filesystem::path(folder_).filename().string(), run_}});
}

}  // namespace vantage::cli
