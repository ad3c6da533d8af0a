#include "runtime/measure/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/base/at.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/step.h"
#include "shaders/params/kept_states.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t block_elements = 65521;  // a prime, so that rows of any length differ

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
    static constexpr std::int64_t unlimited = std::numeric_limits<std::int32_t>::max();
    std::int64_t run = 1, held = unlimited;
};

// Tokens that a table of kept states is enough for.
std::int64_t positions_kept(std::int64_t rows) { return (rows - STATE_RECENT) * STATE_EVERY + STATE_EVERY - 1; }

Rows known_rows(const OpCall& call) {
    using namespace ops;
    const OpDef* op = call.op;
    const std::int64_t sequences = sequences_of(call, op->step);
    const auto first = [&](int i) { return call.has(i) ? call.in(i).shape[0] : Rows::unlimited; };
    const auto last = [&](int i) { return call.in(i).shape[-1]; };
    const auto each = [&](int i) { return call.in(i).shape[0] / sequences; };
    const auto tokens = [&](int i) {  // [.., n, heads, D], or [.., heads, n, D]
        const Shape& shape = call.in(i).shape;
        return shape.rank() == 3 && sequences > 1 ? each(i) : shape[call.attrs.flag("heads_first") ? -2 : -3];
    };
    if (op == &attention_op) return {tokens(attention::q_), tokens(attention::k_)};
    if (op == &cached_linear_attention_op)
        return {tokens(cached_linear_attention::q_), tokens(cached_linear_attention::k_)};
    if (op == &embedding_op)
        return {call.out(0).shape[0] / sequences, std::min(first(embedding::positions_), last(embedding::ids_))};
    if (op == &rope_op) return {tokens(rope::x_), std::min(first(rope::table_), first(rope::positions_))};
    if (op == &rope_write_op)
        return {tokens(rope_write::x_), std::min(first(rope_write::table_), each(rope_write::state_))};
    if (op == &linear_rope_write_op)
        return {.held = std::min(first(linear_rope_write::table_), each(linear_rope_write::k_state_))};
    if (op == &dequantize_op) return {.held = each(dequantize::x_)};
    if (op == &write_op) return {each(write::rows_), each(write::state_)};
    if (op == &split_qkv_write_op)
        return {call.in(split_qkv_write::x_).shape.rows() / sequences, each(split_qkv_write::k_state_)};
    if (op == &state_space_cached_op)
        return {each(state_space_cached::x_), positions_kept(each(state_space_cached::state_))};
    if (op == &causal_conv1d_cached_op)
        return {each(causal_conv1d_cached::x_), positions_kept(each(causal_conv1d_cached::state_))};
    if (op == &route_op) return {.run = each(route::logits_)};
    if (op == &sample_op) return {each(sample::logits_), last(sample::tokens_)};
    if (op == &mark_seen_op) return {.held = last(mark_seen::tokens_)};
    if (op == &alignment_op) return {.run = each(alignment::q_)};
    if (op == &recurrent_op) return {.run = call.out(0).shape.rows() / sequences};
    if (op == &row_before_op) return {.held = each(row_before::state_)};
    if (op == &bigbird_blocks_op) {
        const std::int64_t all = last(bigbird_blocks::table_) * call.attrs.integer("block_size");
        return {all, all};
    }
    if (op == &last_row_op) return {.run = each(last_row::x_)};
    return {.run = call.attrs.integer("rows", 1)};  // begin_step
}
Rows rows_of(const OpCall& call) {
    Rows rows = known_rows(call);
    if (rows.held == Rows::unlimited) rows.held = std::max<std::int64_t>(4 * rows.run, 1024);
    return rows;
}

// A run at the end of `keys` rows. If it appends to a list of tokens, in the middle of the list, because many runs
// follow.
HostTensor step_operand(const OpCall& call, std::int64_t keys) {
    const int i = call.op->step;
    const Rows rows = rows_of(call);
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
HostTensor choices_of(const TensorType& index, std::int64_t experts) {
    HostTensor choices(index);
    for (std::int64_t c = 0; c < index.shape.elements(); ++c)
        choices[c] = static_cast<double>(c * 7 % std::max<std::int64_t>(experts, 1));
    return choices;
}
HostTensor sorted_choices(const HostTensor& choices, std::int64_t experts, int result) {
    return at(run_reference(sort_by_expert_op, {{"experts", experts}}, {&choices, 1}), result);
}
HostTensor expert_operand(const OpCall& call, int i) {
    using namespace ops::expert_linear;
    const std::int64_t experts = call.in(w_).shape[0];
    const HostTensor choices = choices_of(call.in(index_), experts);
    if (i == index_) return choices;
    return sorted_choices(choices, experts,
                          i == slots_   ? ops::sort_by_expert::slots_
                          : i == order_ ? ops::sort_by_expert::order_
                                        : ops::sort_by_expert::offsets_);
}
HostTensor expert_gradient_operand(const OpCall& call, int i) {
    using namespace ops::expert_gradient;
    const std::int64_t experts = call.in(offsets_).shape[0] - 2;
    const HostTensor choices = choices_of({Shape{call.in(order_).shape[0], 1}, DType::i32}, experts);
    return sorted_choices(choices, experts, i == order_ ? ops::sort_by_expert::order_ : ops::sort_by_expert::offsets_);
}

HostTensor integer_operand(const OpCall& call, int i, std::int64_t keys, std::mt19937& random) {
    using namespace ops;
    const TensorType& type = call.in(i);
    const std::int64_t count = std::min(type.shape.elements(), block_elements);
    if (i == call.op->step) return step_operand(call, keys);
    if (call.op == &expert_linear_op) return expert_operand(call, i);
    if (call.op == &expert_gradient_op) return expert_gradient_operand(call, i);
    if (is_one_of({call.op, i},
                  {{&load_balance_op, load_balance::index_}, {&sort_by_expert_op, sort_by_expert::index_}}))
        return choices_of(type, call.attrs.integer("experts"));
    if (is_one_of({call.op, i}, {{&embedding_op, embedding::ids_}}))
        return random_integers(count, call.in(embedding::w_).shape[0], random);
    if (is_one_of({call.op, i}, {{&rope_op, rope::positions_}}))
        return random_integers(count, call.in(rope::table_).shape[0], random);
    if (is_one_of({call.op, i}, {{&attention_op, attention::kv_len_}}))
        return all_equal(type, static_cast<double>(call.in(attention::k_).shape[-3]));
    if (is_one_of({call.op, i}, {{&alignment_op, alignment::kv_len_}})) {
        const std::int64_t rows = call.in(alignment::k_).shape[0] / sequences_of(call, call.op->step);
        return all_equal(type, static_cast<double>(rows));
    }
    if (is_one_of({call.op, i}, {{&attention_op, attention::block_mask_},
                                 {&attention_weights_op, attention_weights::block_mask_},
                                 {&head_statistics_op, head_statistics::block_mask_}}))
        return all_equal(type, 1);
    return all_equal(type, 0);  // token 0, segment 0, nothing seen: always valid
}

// Uniform around 0. Weights are so small that a row times values of size 1 sums to about 1.
HostTensor float_operand(const OpCall& call, int i, std::mt19937& random) {
    using namespace ops;
    const TensorType& type = call.in(i);
    const DTypeInfo& storage = info(type.dtype);
    // quantized types: whole blocks with about as many elements, and not a power of two of them
    const std::int64_t block = storage.elements == 1 ? block_elements : 251 * std::int64_t{storage.elements};
    const std::int64_t count = std::min(type.shape.elements(), block);
    HostTensor tensor({Shape{count}, type.dtype});
    double low = -1.7, high = 1.7;
    if (is_one_of({call.op, i}, {{&matmul_op, matmul::b_}, {&expert_linear_op, expert_linear::w_}})) {
        const bool summed_last = call.op == &expert_linear_op || call.attrs.flag("transpose_b");
        const std::int64_t k = type.shape.rank() < 2 ? 1 : type.shape[summed_last ? -1 : -2];
        high = 1.7 / std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
        low = -high;
    }
    if (is_one_of({call.op, i}, {{&batch_norm_op, batch_norm::variance_},
                                 {&entropy_op, entropy::p_},
                                 {&load_balance_op, load_balance::probs_}}))
        low = 0.1, high = 1;
    if (call.op == &state_space_op || call.op == &state_space_cached_op) {  // steps above 0, decays below 1
        if (i == state_space::delta_ && !call.attrs.flag("softplus")) low = 0.01, high = 0.5;
        if (i == state_space::a_ && !call.attrs.flag("log_a")) low = -1, high = -0.1;
    }
    std::uniform_real_distribution<double> any(low, high);
    for (double& value : tensor.data) value = any(random);
    return tensor;
}

}  // namespace

std::vector<std::byte> default_operand(const OpCall& call, int i, std::int64_t keys) {
    std::mt19937 random(static_cast<unsigned>(7 + i));
    const bool integers = call.in(i).dtype == DType::i32 || call.in(i).dtype == DType::u32;
    HostTensor made = integers ? integer_operand(call, i, keys, random) : float_operand(call, i, random);
    made.type.dtype = call.in(i).dtype;
    return narrow(made);
}

}  // namespace vantage::internal
