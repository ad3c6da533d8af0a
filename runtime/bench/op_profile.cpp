#include "runtime/bench/op_profile.h"

#include <algorithm>
#include <array>

#include "runtime/base/format.h"
#include "runtime/bench/report.h"

namespace vantage::internal {

std::vector<OpTime> time_by_op(std::span<const DispatchTiming> timings) {
    std::vector<OpTime> ops;
    for (const DispatchTiming& t : timings) {
        const std::string name = t.op.empty() ? "grids" : t.op;
        auto op = std::ranges::find_if(ops, [&](const OpTime& o) { return o.op == name && o.kernel == t.kernel; });
        if (op == ops.end()) op = ops.insert(op, {.op = name, .kernel = t.kernel});
        ++op->dispatches;
        op->seconds += t.seconds(), op->flops += t.flops;
        op->bytes_read += t.bytes_read, op->bytes_written += t.bytes_written;
    }
    std::ranges::stable_sort(ops, std::ranges::greater(), &OpTime::seconds);
    return ops;
}

namespace {

// Minimum time by the roofs / measured time, in percent.
double percent_of_roof(const OpTime& op, const Roofs& roofs) {
    const auto dispatches = static_cast<double>(op.dispatches);
    const double moving = dispatches * roofs.seconds_moving(op.bytes_read / dispatches, op.bytes_written / dispatches),
                 arithmetic = 1e9 * roofs.arithmetic_gflops(Arithmetic::f32);
    const double min_seconds = std::max(moving, arithmetic > 0 ? op.flops / arithmetic : 0);
    return op.seconds > 0 ? 100 * min_seconds / op.seconds : 0;
}

constexpr std::array profile_columns{24, 16, 10, 10, 6, 9, 9, 8, 6};

std::string line_of(const std::array<std::string, profile_columns.size()>& cells, bool with_roofs) {
    std::string line;
    for (std::size_t i = 0; i < cells.size() - (with_roofs ? 0 : 1); ++i)
        line += (i > 0 ? " " : "") + (i < 2 ? format("{:<{}}", cells[i], profile_columns[i])
                                            : format("{:>{}}", cells[i], profile_columns[i]));
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

std::string giga(double per_second) { return per_second > 0 ? short_number(per_second / 1e9) : ""; }

}  // namespace

std::string profile_table(std::span<const OpTime> ops, const std::optional<Roofs>& roofs) {
    OpTime sum{.op = "all"};
    for (const OpTime& op : ops) {
        sum.dispatches += op.dispatches, sum.seconds += op.seconds;
        sum.flops += op.flops, sum.bytes_read += op.bytes_read, sum.bytes_written += op.bytes_written;
    }
    const auto row = [&](const OpTime& op) {
        const double share = sum.seconds > 0 ? 100 * op.seconds / sum.seconds : 0,
                     mean = op.dispatches > 0 ? 1e6 * op.seconds / static_cast<double>(op.dispatches) : 0,
                     each = op.seconds > 0 ? 1 / op.seconds : 0;
        const bool known = roofs && (op.flops > 0 || op.bytes() > 0) && op.op != "all";
        return line_of({op.op, op.kernel, std::to_string(op.dispatches), format("{:.2f}", 1e3 * op.seconds),
                        format("{:.1f}", share), format("{:.1f}", mean), giga(op.flops * each), giga(op.bytes() * each),
                        known ? format("{:.0f} %", percent_of_roof(op, *roofs)) : ""},
                       roofs.has_value());
    };
    std::string text =
        line_of({"op", "kernel", "dispatches", "ms", "%", "mean us", "GFLOP/s", "GB/s", "roof"}, roofs.has_value());
    for (const OpTime& op : ops) text += row(op);
    return text + row(sum);
}

}  // namespace vantage::internal
