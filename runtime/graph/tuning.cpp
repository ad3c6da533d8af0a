#include "runtime/graph/tuning.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "runtime/base/format.h"
#include "runtime/graph/choose_kernel.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t exact_up_to = 16;

// `unknown` is the dimension that does not count, -1 = none.
std::string type_text(const TensorType& type, int unknown = -1) {
    std::string text;
    for (int i = 0; i < type.shape.rank(); ++i) {
        const std::int64_t size = type.shape[i];
        const bool exact = i + 1 == type.shape.rank() || size <= exact_up_to;
        const auto rounded = exact ? size : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
        text += (i > 0 ? ", " : "") + (i == unknown ? "*" : std::to_string(rounded));
    }
    return std::string(name_of(type.dtype)) + " [" + text + "]";
}

// The dimension of a cache or table that counts tokens: the first, or of [batch, tokens, heads, width] the second.
int context_dimension(const OpCall& call, const Shape& shape) {
    if (shape.rank() < 4) return 0;
    return call.attrs.flag("heads_first") ? shape.rank() - 2 : shape.rank() - 3;
}

}  // namespace

std::string tuning_key(const OpCall& call) {
    const OpDef& op = *call.op;
    std::string text = std::string(op.name) + "(";
    for (int i = 0; i < std::ssize(op.operands); ++i) {
        text += i > 0 ? ", " : "";
        if (!call.has(i)) {
            text += "-";
            continue;
        }
        const TensorType& type = call.in(i);
        const bool held = call.has(op.step) && std::ranges::count(op.context_rows, i) > 0;
        text += type_text(type, held ? context_dimension(call, type.shape) : -1);
    }
    const char* separator = "; ";
    for (const auto& [name, value] : call.attrs.values()) {
        text += separator + name;
        separator = " ";
        if (const auto* integer = std::get_if<std::int64_t>(&value)) text += format("={}", *integer);
        if (const auto* word = std::get_if<std::string>(&value)) text += "=" + *word;
        if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && !*flag) text += "=false";
    }
    text += ")";
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
        if (call.op->alias_of(i) < 0) text += " " + type_text(call.outputs[i]);
    return text;
}

const Kernel* TuningTable::choose(const OpCall& call, const Caps& caps) const {
    if (calls.empty()) return nullptr;
    const auto found = calls.find(tuning_key(call));
    if (found == calls.end()) return nullptr;
    const Kernel* chosen = nullptr;
    for (const Kernel& kernel : call.op->kernels) {
        if (!eligible(kernel, call, caps)) continue;
        if (found->second.seconds.count(kernel.name) == 0) return nullptr;
        if (found->second.kernel == kernel.name) chosen = &kernel;
    }
    return chosen;
}

void TuningTable::merge(const TuningTable& other) {
    for (const auto& [key, call] : other.calls) calls[key] = call;
}

bool faster_beyond_noise(const KernelTime& candidate, const KernelTime& baseline) {
    return candidate.median < 0.95 * baseline.median && candidate.upper_quartile < baseline.lower_quartile;
}

}  // namespace vantage::internal
