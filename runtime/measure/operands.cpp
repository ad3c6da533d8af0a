#include "runtime/measure/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>

#include "runtime/base/at.h"
#include "runtime/ops/sort_by_expert.h"
#include "runtime/ops/step.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t block_elements = 65521;  // a prime, so that rows of any length differ

// Index of an operand by name; -1 if the call does not have it.
int operand(const OpCall& call, std::string_view name) {
    const auto& names = call.op->operands;
    for (int i = 0; i < static_cast<int>(names.size()); ++i)
        if (name == at(names, i) && call.has(i)) return i;
    return -1;
}

HostTensor random_integers(std::int64_t count, std::int64_t below, std::mt19937& random) {
    HostTensor tensor({Shape{count}, DType::i32});
    std::uniform_int_distribution<std::int64_t> any(0, std::max<std::int64_t>(below, 1) - 1);
    for (double& value : tensor.data) value = static_cast<double>(any(random));
    return tensor;
}

HostTensor all_equal(const TensorType& type, double value) {
    HostTensor tensor({Shape{std::min(type.shape.elements(), block_elements)}, type.dtype});
    std::ranges::fill(tensor.data, value);
    return tensor;
}

// Tokens of a sequence in a run, and the capacity of its cache, tables and lists.
struct Rows {
    std::int64_t run = 1, held = std::numeric_limits<std::int32_t>::max();
};

Rows rows_of(const OpCall& call, int step) {
    const std::int64_t sequences = sequences_of(call, step);
    const bool heads_first = call.attrs.flag("heads_first");
    // [.., n, heads, D], or [.., heads, n, D]
    const auto tokens = [&](int i) {
        const Shape& shape = call.in(i).shape;
        return shape.rank() == 3 && sequences > 1 ? shape[0] / sequences : shape[heads_first ? -2 : -3];
    };
    Rows rows;
    if (const int q = operand(call, "q"), k = operand(call, "k"); q >= 0 && k >= 0) return {tokens(q), tokens(k)};
    if (const int x = operand(call, "x"); x >= 0)
        rows.run = call.in(x).shape.rank() >= 3 ? tokens(x) : call.in(x).shape.rows() / sequences;
    if (const int x = operand(call, "rows"); x >= 0) rows.run = call.in(x).shape[0] / sequences;
    if (const int x = operand(call, "logits"); x >= 0) rows.run = call.in(x).shape[0] / sequences;
    if (operand(call, "ids") >= 0) rows.run = call.outputs[0].shape[0] / sequences;
    if (call.attrs.has("rows")) rows.run = call.attrs.integer("rows") / (operand(call, "ids") >= 0 ? sequences : 1);
    const auto hold = [&](const char* name, auto count) {
        if (const int i = operand(call, name); i >= 0) rows.held = std::min(rows.held, count(call.in(i).shape));
    };
    const auto first = [&](const Shape& shape) { return shape[0]; };
    const auto last = [&](const Shape& shape) { return shape[-1]; };
    hold("state", [&](const Shape& shape) { return shape[0] / sequences; });
    hold("table", first);
    hold("positions", first);
    hold("tokens", last);
    if (operand(call, "w") >= 0) hold("ids", last);
    if (rows.held == Rows{}.held) rows.held = std::max<std::int64_t>(4 * rows.run, 1024);
    return rows;
}

// A run at the end of `keys` rows. If it appends to a list of tokens, in the middle of the list, because many runs
// follow.
HostTensor step_operand(const OpCall& call, int i, std::int64_t keys) {
    const Rows rows = rows_of(call, i);
    const bool adds = std::ranges::count(call.op->alias, static_cast<std::int8_t>(i)) > 0;
    const std::int64_t filled = std::max(rows.run, keys > 0 ? std::min(keys, rows.held)
                                                   : adds   ? rows.held / 2
                                                            : rows.held);
    HostTensor step(call.in(i));
    for (std::int64_t sequence = 0; sequence < sequences_of(call, i); ++sequence) {
        double* words = step.data.data() + sequence * STEP_WORDS;
        words[STEP_POSITION] = static_cast<double>(filled - rows.run);
        words[STEP_VALID] = static_cast<double>(rows.run);
        words[STEP_END] = words[STEP_KEYS] = static_cast<double>(filled);
        words[STEP_LIMIT] = static_cast<double>(rows.held);
        words[STEP_TEMPERATURE] = bits_of(0.8f);
        words[STEP_TOP_P] = bits_of(0.95f);
        words[STEP_PENALTY] = bits_of(1.0f);
    }
    return step;
}

// Tables of routed experts: equally many choices for each, in no particular order.
HostTensor expert_operand(const OpCall& call, std::string_view name) {
    const TensorType& index = call.in(operand(call, "index"));
    const int w = operand(call, "w");
    const std::int64_t experts =
        std::max<std::int64_t>(w >= 0 ? call.in(w).shape[0] : call.attrs.integer("experts"), 1);
    HostTensor choices(index);
    for (std::int64_t c = 0; c < index.shape.elements(); ++c) choices[c] = static_cast<double>(c * 7 % experts);
    if (name == "index") return choices;
    OpCall sort{.op = &sort_by_expert_op, .attrs = {{"experts", experts}}, .inputs = {index}, .outputs = {}};
    sort.outputs = sort.op->infer(sort);
    std::vector<HostTensor> out(sort.outputs.begin(), sort.outputs.end());
    sort.op->reference(sort, {&choices, 1}, out);
    return out[name == "slots" ? 0 : name == "order" ? 1 : 2];
}

HostTensor integer_operand(const OpCall& call, int i, std::string_view name, std::int64_t keys, std::mt19937& random) {
    const TensorType& type = call.in(i);
    const std::int64_t count = std::min(type.shape.elements(), block_elements);
    const int w = operand(call, "w"), table = operand(call, "table");
    if (name == "step") return step_operand(call, i, keys);
    if (name == "index" || name == "slots" || name == "order" || name == "offsets") return expert_operand(call, name);
    if (name == "ids" && w >= 0) return random_integers(count, call.in(w).shape[0], random);
    if (name == "positions" && table >= 0) return random_integers(count, call.in(table).shape[0], random);
    if (name == "kv_len") return all_equal(type, static_cast<double>(call.in(operand(call, "k")).shape[-3]));
    if (name == "block_mask") return all_equal(type, 1);
    return all_equal(type, 0);  // token 0, segment 0, nothing seen: always valid
}

// Uniform around 0. Weights are so small that a row times values of size 1 sums to about 1.
HostTensor float_operand(const OpCall& call, int i, std::string_view name, std::mt19937& random) {
    const TensorType& type = call.in(i);
    const DTypeInfo& storage = info(type.dtype);
    // quantized types: whole blocks with about as many elements, and not a power of two of them
    const std::int64_t block = storage.elements == 1 ? block_elements : 251 * std::int64_t{storage.elements};
    const std::int64_t count = std::min(type.shape.elements(), block);
    HostTensor tensor({Shape{count}, type.dtype});
    double low = -1.7, high = 1.7;
    if (name == "b" || name == "w") {
        const int rank = type.shape.rank();
        const bool summed_last = name == "w" || call.attrs.flag("transpose_b");
        const std::int64_t k = rank < 2 ? 1 : type.shape[summed_last ? -1 : -2];
        high = 1.7 / std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
        low = -high;
    }
    if (name == "variance" || name == "p" || name == "probs") low = 0.1, high = 1;
    std::uniform_real_distribution<double> any(low, high);
    for (double& value : tensor.data) value = any(random);
    return tensor;
}

}  // namespace

OperandFill default_operands(std::int64_t keys) {
    return [keys](const OpCall& call, int i) {
        std::mt19937 random(static_cast<unsigned>(7 + i));
        const std::string_view name = at(call.op->operands, i);
        const bool integers = call.in(i).dtype == DType::i32 || call.in(i).dtype == DType::u32;
        HostTensor made =
            integers ? integer_operand(call, i, name, keys, random) : float_operand(call, i, name, random);
        made.type.dtype = call.in(i).dtype;
        return narrow(made);
    };
}

}  // namespace vantage::internal
