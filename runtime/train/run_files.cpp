#include "runtime/train/run_files.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "runtime/base/files.h"
#include "runtime/base/format.h"
#include "runtime/base/log.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::internal {

namespace {

// NaN for what is no number. Logged numbers were f32 on the device, so larger ones are damage; charts would overflow.
double logged_number(const Json& line, const char* key) {
    const auto found = line.find(key);
    if (found == line.end() || !found->is_number()) return NAN;
    const double value = found->get<double>();
    return std::abs(value) <= std::numeric_limits<float>::max() ? value : NAN;
}

// Five digits keep the lines of models with many blocks short.
double rounded(double value) {
    if (value == 0 || !std::isfinite(value)) return value;
    const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

}  // namespace

Json to_json(const RunSettings& s) {
    return {{"eval_every", s.eval_every}, {"sample_every", s.sample_every},
            {"prompt", s.prompt},         {"log_heads", s.log_heads},
            {"rollback", s.rollback},     {"probe", s.probe},
            {"save_every", s.save_every}, {"keep", s.keep},
            {"patience", s.patience},     {"evaluations_from", s.evaluations_from}};
}

RunSettings run_settings_of(const JsonFields& fields) {
    return {.eval_every = fields.integer("eval_every", 0),
            .sample_every = fields.integer("sample_every", 0),
            .save_every = fields.integer("save_every", 0),
            .keep = fields.integer("keep", 1),
            .patience = fields.integer("patience", 0),
            .prompt = fields.text("prompt"),
            .log_heads = fields.optional_flag("log_heads").value_or(false),
            .rollback = fields.optional_flag("rollback").value_or(false),
            .probe = fields.optional_text("probe").value_or(""),
            .evaluations_from = fields.optional_integer("evaluations_from", 0, max_steps).value_or(0)};
}

Json log_line(const TrainRecord& r, const std::vector<std::string>& blocks) {
    Json norms = Json::object();
    for (std::size_t i = 0; i < blocks.size(); ++i)
        norms[blocks[i].empty() ? "others" : blocks[i]] = number_or_null(rounded(r.block_norms.at(i)));
    return {{"step", r.step},
            {"loss", number_or_null(r.loss)},
            {"norm", number_or_null(r.norm)},
            {"block_norms", norms},
            {"rate", r.rate},
            {"tokens", r.tokens},
            {"seconds", r.seconds},
            {"skipped", r.skipped}};
}
Json log_line(std::int64_t step, double evaluation) { return {{"step", step}, {"eval", number_or_null(evaluation)}}; }

void take_line(LoggedRun& run, const Json& line) {
    const double step = logged_number(line, "step");
    if (line.contains("becomes")) return;  // a head that begins to follow a pattern
    if (line.contains("eval")) {
        run.evaluation_steps.push_back(step), run.evaluations.push_back(logged_number(line, "eval"));
    } else {
        run.steps.push_back(step), run.losses.push_back(logged_number(line, "loss"));
        run.tokens = logged_number(line, "tokens");
        run.norms.push_back(logged_number(line, "norm")), run.rates.push_back(logged_number(line, "rate"));
    }
}

std::optional<BestCheckpoint> best_checkpoint(const LoggedRun& run,
                                              const std::map<std::int64_t, std::string>& checkpoints,
                                              std::int64_t from) {
    std::optional<BestCheckpoint> best;
    for (std::size_t i = 0; i < run.evaluations.size(); ++i) {
        // the log counts steps from 0; a checkpoint has the number of completed steps
        const std::int64_t step = static_cast<std::int64_t>(run.evaluation_steps[i]) + 1;
        const double loss = run.evaluations[i];
        if (step > from && checkpoints.contains(step) && loss < (best ? best->loss : INFINITY)) best = {step, loss};
    }
    return best;
}

std::string read_log_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
        throw bad_file_error("cannot read {}: it is not a file", path);
    return read_file(path);
}

std::string read_log_lines(const std::string& path, std::int64_t before,
                           const std::function<void(const JsonFields& line)>& take) {
    const std::string text = read_log_file(path);
    const std::vector<std::string> lines = split(text, '\n');
    std::string kept;
    std::size_t number = 0;
    for (const std::string& line : lines) {
        ++number;
        if (line.empty()) continue;
        const bool cut_off = number == lines.size() && !text.ends_with('\n');  // the process was killed while it wrote
        try {
            const std::string name = format("{}:{}", path, number);
            const Json json = parse_json(line, name);
            const JsonFields fields(json, name);
            if (fields.integer("step", 0, max_steps) >= before) continue;
            take(fields);
            kept += line + "\n";
        } catch (const Error& error) {
            if (!cut_off) log(LogLevel::warning, "{}; the lines from here on are left out", error.what());
            break;
        }
    }
    return kept;
}

LoggedRun read_log(const std::string& path) {
    LoggedRun run;
    read_log_lines(path, INT64_MAX, [&](const JsonFields& line) { take_line(run, line.json()); });
    if (run.steps.empty()) throw bad_file_error("{}: no steps", path);
    return run;
}

void take_heads(LoggedHeads& heads, const JsonFields& line) {
    struct Row {
        std::int64_t layer, head;
        double previous, induction;
        std::string pattern;
    };
    std::vector<Row> rows;
    for (const Json& one : line.list("heads")) {
        const JsonFields fields(one, line.name());
        rows.push_back({fields.integer("layer", 0), fields.integer("head", 0), logged_number(one, "previous"),
                        logged_number(one, "induction"), fields.text("pattern")});
    }
    const double step = logged_number(line.json(), "step");
    for (const Row& row : rows) {
        LoggedHead& head = heads[{row.layer, row.head}];
        head.steps.push_back(step), head.previous.push_back(row.previous), head.induction.push_back(row.induction);
        head.pattern = row.pattern;
    }
}

}  // namespace vantage::internal
