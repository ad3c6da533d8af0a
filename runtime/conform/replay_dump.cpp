#include "runtime/conform/replay_dump.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/json.h"
#include "runtime/conform/case_runner.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/kernel_names.h"

namespace vantage::internal {
namespace {

const Kernel& kernel_for(const Device& device, const OpCall& call, const std::string& wanted) {
    const std::string name = current_kernel_name(call.op->name, wanted);
    std::vector<std::string> fitting;
    for (const Kernel& kernel : call.op->kernels) {
        if (!eligible(kernel, call, device.caps())) continue;
        if (kernel.name == name) return kernel;
        fitting.emplace_back(kernel.name);
    }
    throw unsupported_error("replay: the kernel {} of {} does not run this call on {}; --kernel takes: {}",
                            in_quotes(name), call.op->name, device.caps().name, join(fitting));
}

bool same_interface(const std::vector<DumpedLaunch>& a, const std::vector<DumpedLaunch>& b) {
    return std::ranges::equal(a, b, [](const DumpedLaunch& x, const DumpedLaunch& y) {
        return x.constants.size() == y.constants.size() && x.parameters.size() == y.parameters.size();
    });
}

/// Lets the plan's only node run the modules of the dump.
void use_dumped_modules(Plan& plan, const NodeDump& dump) {
    if (!same_interface(PlanAccess::describe(plan, 0).launches, dump.launches))
        throw unsupported_error(
            "replay: this build launches the kernel {} otherwise than {}, so it cannot run the modules of the dump",
            dump.kernel, in_quotes(dump.build));
    std::vector<const SpirvModule*> modules;
    for (const DumpedLaunch& launch : dump.launches)
        modules.push_back(&add_spirv(launch.module, dump.modules.at(launch.module)));
    PlanAccess::use_modules(plan, 0, modules);
}

/// How a run of the same kernel differs from the dumped one.
void compare_launches(const NodeDump& dump, const NodeDump& here, std::vector<std::string>& notes) {
    if (dump.launches.size() != here.launches.size()) {
        notes.push_back(format("{} launches, the dump has {}", here.launches.size(), dump.launches.size()));
        return;
    }
    for (std::size_t i = 0; i < here.launches.size(); ++i) {
        const DumpedLaunch &now = here.launches[i], &then = dump.launches[i];
        if (here.modules.at(now.module) != dump.modules.at(then.module))
            notes.push_back(format("the module {} is not that of the dump", now.module));
        if (now.constants != then.constants || now.subgroup_size != then.subgroup_size || now.groups != then.groups ||
            now.parameters != then.parameters)
            notes.push_back(format("{} is launched with other constants or another grid", now.module));
    }
}

void note_not_finite(const NodeDump& dump, const std::vector<HostTensor>& inputs, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto count = std::ranges::count_if(inputs[i].data, [](double x) { return !std::isfinite(x); });
        if (count > 0) notes.push_back(format("{} of the operand {} are not finite", count, dump.call.op->operands[i]));
    }
}

ReplayedResult compared(const OpCall& call, std::size_t i, HostTensor want, HostTensor dumped, HostTensor here) {
    ReplayedResult result{
        .name = format("result{}", i), .want = std::move(want), .dumped = std::move(dumped), .here = std::move(here)};
    const auto error = [&](const HostTensor& got) {
        return compare(result.name, got, result.want, tolerances_of_size(call.op->tolerance, result.want), call.attrs);
    };
    result.dumped_error = error(result.dumped), result.error = error(result.here);
    for (std::int64_t e = 0; e < std::ssize(result.here.data); ++e) {
        const double now = result.here[e], then = result.dumped[e];
        if (now != then && !(std::isnan(now) && std::isnan(then))) ++result.changed;
    }
    return result;
}

DumpReplay replayed(const Device& device, const NodeDump& dump, const ReplayOptions& options) {
    const OpCall& call = dump.call;
    const Kernel& kernel = kernel_for(device, call, options.kernel.empty() ? dump.kernel : options.kernel);
    DumpReplay replay{.kernel = kernel.name};
    const Caps &now = device.caps(), &then = dump.device;
    if (now.name != then.name || now.driver_version != then.driver_version)
        replay.notes.push_back(format("dumped on {}, {}", then.name, then.driver_version));
    if (dump.build != this_build()) replay.notes.push_back("dumped by " + dump.build);
    const std::vector<HostTensor> inputs = inputs_of(dump);
    note_not_finite(dump, inputs, replay.notes);
    std::vector<HostTensor> want = run_reference(call, inputs);
    const auto before = [&](Plan& plan) {
        if (options.dumped_modules) use_dumped_modules(plan, dump);
    };
    const NodeDump here = run_alone(device, call, dump.inputs, kernel, before);
    if (replay.kernel == dump.kernel) compare_launches(dump, here, replay.notes);
    std::vector<HostTensor> then_made = results_of(dump), now_made = results_of(here);
    for (std::size_t i = 0; i < want.size(); ++i)
        replay.results.push_back(
            compared(call, i, std::move(want[i]), std::move(then_made[i]), std::move(now_made[i])));
    return replay;
}

}  // namespace

bool DumpReplay::passed() const {
    return std::ranges::all_of(results, [](const ReplayedResult& result) { return result.error.passed; });
}

DumpReplay replay_dump(const Device& device, const NodeDump& dump, const ReplayOptions& options) {
    try {
        return replayed(device, dump, options);
    } catch (const Error& error) {  // options that infer does not look at
        if (error.kind() == ErrorKind::usage) throw bad_file_error("replay: {}", error.what());
        throw;
    }
}

}  // namespace vantage::internal
