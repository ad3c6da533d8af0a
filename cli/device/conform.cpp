// vantage conform: compares every kernel that this device supports with its reference.
#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "cli/device/conform_report.h"
#include "cli/device/machine_report.h"
#include "cli/device/training_report.h"
#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/kernel_option.h"
#include "cli/shared/output.h"
#include "cli/shared/progress.h"
#include "runtime/base/interrupt.h"
#include "runtime/conform/oracle_cases.h"

namespace vantage::cli {

namespace {

struct ConformOptions {
    std::string op, cases, training, test, kernel, dump, file;
    bool json = false;
};

std::string rerun(const ConformOptions& o, const std::string& op, const std::string& test, const std::string& kernel) {
    return "vantage conform" + (common().device.empty() ? "" : " --device " + shell_word(common().device)) +
           (o.cases.empty() ? "" : " --cases " + shell_word(o.cases)) + " --op " + op + " --case " + shell_word(test) +
           " --kernel " + kernel;
}

// ---- built-in cases -------------------------------------------------------------------------------------------------

void check_names(const ConformOptions& o) {
    std::set<std::string> ops, tests, kernels;
    for (const OpDef* op : all_ops()) {
        ops.insert(op->name);
        if (!o.op.empty() && o.op != op->name) continue;
        for (const Kernel& kernel : op->kernels) kernels.insert(kernel.name);
        if (op->cases == nullptr || o.test.empty()) continue;
        for (const Case& test : op->cases()) tests.insert(test.name);
    }
    require_known("conform", "op", o.op, ops);
    require_known("conform", "kernel", o.kernel, kernels);
    require_known("conform", "case", o.test, tests);
}

void run_own_cases(const Device& device, const ConformOptions& o, ConformReport& report) {
    check_names(o);
    Progress progress;
    run_all_cases(
        device, o.op, o.test, o.kernel,
        [&](const OpDef& op, const Case& test, const CaseTypes& types, const Kernel& kernel, const CaseResult& result) {
            throw_if_interrupted();
            if (result.status == CaseResult::not_fitting) return true;
            progress.clear();
            report.add(Outcome{.op = op.name,
                               .kernel = kernel.name,
                               .test = test.name,
                               .part = {},
                               .types = types.text(),
                               .result = result,
                               .unit = std::string(op.name) + ": " + test.name,
                               .rerun = rerun(o, op.name, test.name, kernel.name)});
            progress.show(std::string(op.name) + " " + kernel.name + ": " + test.name);
            return true;
        });
}

// ---- cases from files -----------------------------------------------------------------------------------------------

void check_names(const ConformOptions& o, const std::vector<OracleCase>& cases) {
    std::set<std::string> ops, tests, kernels;
    for (const OpDef* op : all_ops()) {
        ops.insert(op->name);
        for (const Kernel& kernel : op->kernels) kernels.insert(kernel.name);
    }
    for (const OracleCase& test : cases) ops.insert(test.op), tests.insert(test.name);
    kernels.insert("host");
    require_known("conform", "op", o.op, ops);
    require_known("conform", "kernel", o.kernel, kernels);
    require_known("conform", "case", o.test, tests);
}

void run_files(const Device& device, const ConformOptions& o, ConformReport& report) {
    const std::vector<OracleCase> cases = read_oracle_cases(o.cases);
    check_names(o, cases);
    Progress progress;
    for (const OracleCase& test : cases) {
        if (!o.test.empty() && o.test != test.name) continue;
        const bool by_file = o.op.empty() || o.op == test.op;  // by the name in the file or the name of the op
        if (!test.not_supported.empty()) {
            if (by_file) report.add(NotSupported{test.name, test.not_supported});
            continue;
        }
        for (const std::string& what : test.partly)
            if (by_file) report.add(NotSupported{test.name, what, true});
        run_oracle_case(
            device, test, [&](const OracleCall& call) { return by_file || o.op == call.op; }, o.kernel,
            [&](const OracleRun& run) {
                throw_if_interrupted();
                progress.clear();
                report.add(Outcome{.op = run.call.op,
                                   .kernel = run.kernel,
                                   .test = test.name,
                                   .part = run.call.part,
                                   .types = name_of(run.storage),
                                   .result = run.result,
                                   .unit = test.name,
                                   .rerun = rerun(o, run.call.op, test.name, run.kernel)});
                progress.show(run.call.op + " " + run.kernel + ": " + test.name);
                return true;
            });
    }
}

void run(const ConformOptions& o) {
    const Device device = open_device();
    if (!o.training.empty()) {
        if (!repeat_training(device, o.training, o.json)) set_exit_code(exit_code(ErrorKind::accuracy));
        return;
    }
    if (!o.file.empty()) require_writable(o.file);
    ConformReport report(device, o.json, common().verbose > 0, o.dump);
    o.cases.empty() ? run_own_cases(device, o, report) : run_files(device, o, report);
    if (report.empty())
        throw usage_error("conform: no case to run: this device or case does not support this op and kernel");
    if (!o.file.empty()) write_file(o.file, json_text(machine_report(device, report.json())) + "\n");
    if (!report.finish()) set_exit_code(exit_code(ErrorKind::accuracy));
}

}  // namespace

void add_conform(CLI::App& app) {
    auto o = std::make_shared<ConformOptions>();
    CLI::App& command = add_command(
        app, "conform", "Compare every kernel of every op with its reference, or with case files",
        "Default: the built-in cases of each op. Cases of ops or options that Vantage does not have are listed, and "
        "are not failures.\nExit code 7 if a result exceeds its tolerance.\n"
        "Examples:\n  vantage conform --op attention -v\n  vantage conform --cases tests/data/oracle/ops --json");
    add_option(command, "--op", o->op, "Only this op", "NAME");
    add_option(command, "--cases", o->cases,
               "Folder with case files, ops.json and ops.safetensors (format: tests/data/oracle/README.md, section 3)",
               "DIR");
    add_option(command, "--case", o->test, "Only this case", "NAME");
    add_option(command, "--training", o->training,
               "Folder with a recorded training run: repeats it, and compares losses, gradient norms, gradients and "
               "parameters (format: tests/data/oracle/train_more/README.md)",
               "DIR");
    add_kernel_option(command, o->kernel);
    add_dump_option(command, o->dump, "Write the first run that fails");
    add_option(command, "--report", o->file,
               "Write a JSON file for a bug report: build, device, driver, switches, tuning and every run. It has no "
               "paths and no names of users or hosts",
               "FILE");
    command.add_flag("--json", o->json, "Print one JSON object: every run with its error, and totals");
    command.callback([o, &command] {
        for (const char* option : {"--op", "--cases", "--case", "--kernel", "--dump", "--report"})
            refuse_unless(o->training.empty(), command, option,
                          "has no effect on --training, which repeats a run as a whole");
        o->kernel = kernel_wanted(o->op, o->kernel);
        run(*o);
    });
}

}  // namespace vantage::cli
