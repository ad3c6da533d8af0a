// vantage replay: runs the node of a dump alone, and shows where its results differ from the reference.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "runtime/conform/replay_dump.h"
#include "runtime/picture/shown_text.h"

namespace vantage::cli {

namespace {

constexpr std::size_t elements_shown = 8;

struct ReplayCommand {
    std::string folder;
    ReplayOptions options;
    bool json = false;
};

/// A place where the result of this run is wrong, else where the dumped one was.
std::vector<WrongElement> shown_elements(const NodeDump& dump, const ReplayedResult& result) {
    const HostTensor& wrong = result.error.passed ? result.dumped : result.here;
    return wrong_elements(wrong, result.want, tolerances_of_size(dump.call.op->tolerance, result.want), dump.call.attrs,
                          elements_shown);
}

// ---- text -----------------------------------------------------------------------------------------------------------

std::string verdict(const Comparison& error, const ReplayedResult& result) {
    if (error.passed) return "agrees with the reference";
    return format("{} of {} elements wrong, the worst by {:.3g} (allowed {:.3g})", error.wrong, result.want.data.size(),
                  error.worst, error.allowed);
}

void print_result(const NodeDump& dump, const ReplayedResult& result) {
    print_line("{} {}", result.name, result.want.type.text());
    print_line("  here    {}", verdict(result.error, result));
    print_line("  dumped  {}; {} elements are not the same here", verdict(result.dumped_error, result), result.changed);
    for (const WrongElement& element : shown_elements(dump, result)) {
        const double here = result.here[element.index], dumped = result.dumped[element.index];
        print_line("  {:<12} here {:<14.8g} dumped {:<14.8g} expected {:<14.8g} allowed {:.3g}",
                   position_text(result.want.type.shape, element.index), here, dumped, element.want, element.allowed);
    }
}

void print_replay(const Device& device, const NodeDump& dump, const DumpReplay& replay) {
    print_line("{}: {}, kernel {}, on {}", without_controls(dump.node), dump.call.op->name, replay.kernel,
               device.caps().name);
    if (!dump.finding.empty()) print_line("found   {}", without_controls(dump.finding));
    for (const std::string& note : replay.notes) print_line("note    {}", without_controls(note));
    for (const ReplayedResult& result : replay.results) print_result(dump, result);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

Json result_json(const NodeDump& dump, const ReplayedResult& result) {
    const auto error = [](const Comparison& c) {
        return Json{{"passed", c.passed},
                    {"wrong", c.wrong},
                    {"error", number_or_null(c.worst)},
                    {"allowed", number_or_null(c.allowed)}};
    };
    const auto element = [&](const WrongElement& e) {
        return Json{{"position", position_text(result.want.type.shape, e.index)},
                    {"here", number_or_null(result.here[e.index])},
                    {"dumped", number_or_null(result.dumped[e.index])},
                    {"expected", number_or_null(e.want)},
                    {"allowed", number_or_null(e.allowed)}};
    };
    return {{"name", result.name},         {"type", result.want.type.text()},
            {"here", error(result.error)}, {"dumped", error(result.dumped_error)},
            {"changed", result.changed},   {"elements", json_list(shown_elements(dump, result), element)}};
}

void print_replay_json(const Device& device, const NodeDump& dump, const DumpReplay& replay) {
    write_json({{"schema_version", 1},
                {"node", dump.node},
                {"op", dump.call.op->name},
                {"kernel", replay.kernel},
                {"device", device.caps().name},
                {"passed", replay.passed()},
                {"finding", dump.finding},
                {"notes", replay.notes},
                {"results", json_list(replay.results, [&](const auto& one) { return result_json(dump, one); })}});
}

void run(const ReplayCommand& o) {
    const NodeDump dump = read_dump(o.folder);
    if (o.options.dumped_modules && !o.options.kernel.empty() && o.options.kernel != dump.kernel)
        throw usage_error("replay: the dumped modules are those of kernel {}: leave out --kernel", dump.kernel);
    const Device device = open_device();
    const DumpReplay replay = replay_dump(device, dump, o.options);
    (o.json ? print_replay_json : print_replay)(device, dump, replay);
    if (!replay.passed()) set_exit_code(exit_code(ErrorKind::accuracy));
}

}  // namespace

void add_replay(CLI::App& app) {
    auto o = std::make_shared<ReplayCommand>();
    CLI::App& command = add_command(
        app, "replay", "Run one dumped operation again, and show where it differs from its reference",
        "inspect, run, chat, heads and conform write such a folder with --dump DIR.\n"
        "Exit code 7 if a result exceeds its tolerance.\n"
        "Examples:\n  vantage inspect -p \"The dog\" --dump fault --dump-node h.0.attention\n  vantage replay fault\n"
        "  vantage replay fault --device cpu --kernel plain");
    add_option(command, "folder", o->folder, "Folder that --dump wrote", "DIR")->required();
    add_option(command, "--kernel", o->options.kernel, "Run this kernel in place of the dumped one", "NAME");
    command.add_flag("--dumped-modules", o->options.dumped_modules,
                     "Run the shader modules of the folder in place of this build's. Only for a folder that you trust: "
                     "modules are programs without bounds checks");
    command.add_flag("--json", o->json, "Print one JSON object");
    command.callback([o] { run(*o); });
}

}  // namespace vantage::cli
