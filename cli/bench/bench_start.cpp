#include "cli/bench/bench_start.h"

#include <map>

#include "cli/shared/output.h"
#include "runtime/base/clock.h"
#include "runtime/base/files.h"
#include "runtime/base/program.h"
#include "runtime/base/trace_span.h"
#include "runtime/bench/model_bench.h"

namespace vantage::cli {

namespace {

/// Seconds of the main thread's spans by name, and in total for the driver.
struct SpanSums {
    std::map<std::string, double> of;
    double driver = 0;

    SpanSums() {
        listen_to_spans([this](const HostSpan& span) {
            if (span.thread != 0) return;
            of[span.name] += span.end - span.begin;
            if (span.worker == Worker::driver) driver += span.end - span.begin;
        });
    }
    ~SpanSums() { listen_to_spans({}); }
};

constexpr const char* parts[] = {"open_s", "load_s", "compile_s"};

class Starts {
public:
    explicit Starts(std::vector<std::string> arguments) : command_(std::move(arguments)) {
        command_.insert(command_.begin(), program_path());
    }

    /// One start with Vantage's cache in `cache` and the driver's cache in a folder that all starts share.
    void run(const std::string& cache) {
        const std::string driver = folder_.path() + "/driver";
        const Finished finished = run_program(command_, {{"VANTAGE_CACHE_DIR", folder_.path() + "/" + cache},
                                                         {"VANTAGE_PROFILE", ""},
                                                         {"XDG_CACHE_HOME", driver},
                                                         {"MESA_SHADER_CACHE_DIR", driver},
                                                         {"__GL_SHADER_DISK_CACHE_PATH", driver}});
        if (finished.code != 0)
            throw Error(ErrorKind::failure,
                        format("bench model: the process whose start was measured ended with code {}", finished.code));
        const Json figures = parse_json(finished.out, "the figures of a start");
        for (const char* part : parts) samples_[part].push_back(figures.at(part).get<double>());
        samples_["first_token_s"].push_back(finished.first_output_seconds);
        samples_["own_ms"].push_back(1e3 * (finished.first_output_seconds - figures.at("driver_s").get<double>()));
    }
    void add_row(Report& report, const std::string& model, const std::string& name) {
        ReportRow& row = report.row().set("model", model).set("test", name);
        for (const char* part : {"first_token_s", "open_s", "load_s", "compile_s", "own_ms"})
            row.set(part, mean_of(samples_.at(part)));
        samples_.clear();
    }

private:
    TemporaryFolder folder_;
    std::vector<std::string> command_;
    std::map<std::string, std::vector<double>> samples_;
};

}  // namespace

void print_start(const std::function<Model()>& load, const SessionOptions& options) {
    SpanSums sums;
    const double begin = seconds_now();
    const Model model = load();
    const double loaded = seconds_now() - begin - sums.of["open device"];
    const std::int64_t tokens = std::min<std::int64_t>(16, model.info().context - 1);
    time_model(model, {.prompt = true, .tokens = tokens}, options, 0);
    const Json figures = {{"open_s", sums.of["open device"]},
                          {"load_s", loaded},
                          {"compile_s", sums.of["compile plan"]},
                          {"driver_s", sums.driver}};
    write_out(figures.dump() + "\n");
}

void add_start_rows(Report& report, const std::vector<std::string>& arguments, int repeats, const std::string& model) {
    Starts starts(arguments);
    starts.run("first");
    starts.add_row(report, model, "start, nothing cached");
    for (int i = 0; i < repeats; ++i) starts.run("cold " + std::to_string(i));
    starts.add_row(report, model, "start cold: driver's cache filled");
    for (int i = 0; i < repeats; ++i) starts.run("first");
    starts.add_row(report, model, "start warm: all cached");
    report.note(
        "start: a new process until the first token after a prompt of 16. The caches are temporary: Vantage's, and "
        "those of drivers that use XDG_CACHE_HOME, MESA_SHADER_CACHE_DIR or __GL_SHADER_DISK_CACHE_PATH. own_ms: "
        "time outside of the driver (opening the device, creating pipelines, submitting, waiting).");
}

}  // namespace vantage::cli
