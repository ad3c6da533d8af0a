// Remembers the tokens of a run as bits: the repetition penalty asks for them.
//   seen |= Σ_r 1 << tokens[position + r], r < valid
#include "shaders/params/mark_seen.h"
#include "runtime/base/log.h"
#include "runtime/graph/op.h"
#include "runtime/ops/step.h"
#include "vantage/ops.h"

namespace vantage {

namespace ops::mark_seen {
namespace {

enum : int { seen_, tokens_, step_ };

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &seen = call.in(seen_), &tokens = call.in(tokens_);
    call.require(seen.shape.rank() == 1 && seen.dtype == DType::u32,
                 operand_is(call, seen_) + ", but has to be u32 [words of 32 bits]");
    call.require(tokens.shape.rank() == 1 && tokens.dtype == DType::i32,
                 operand_is(call, tokens_) + ", but has to be i32 [context]");
    require_step(call, step_);
    return {seen};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t first = word(in[step_], STEP_POSITION), last = first + word(in[step_], STEP_VALID);
    for (std::int64_t i = first; i < std::min(last, call.in(tokens_).shape[0]); ++i) {
        const auto token = static_cast<std::int64_t>(in[tokens_][i]);
        if (token < 0 || token / 32 >= call.in(seen_).shape[0]) continue;
        out[0][token / 32] = static_cast<double>(static_cast<std::uint32_t>(out[0][token / 32]) | 1u << (token % 32));
    }
}

Cost cost(const OpCall&) { return {}; }  // a few tokens

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    Launch l{.shader = "mark_seen", .spec = {workgroup_size(caps)}, .operands = {update(0), in(tokens_), in(step_)}};
    return l.with(params::MarkSeenParams{.words = static_cast<std::uint32_t>(call.in(seen_).shape[0]),
                                         .token_count = static_cast<std::uint32_t>(call.in(tokens_).shape[0])});
}

std::vector<Case> cases() {
    const auto seen = [](const std::vector<double>& words) {
        return Case::Input{.type = TensorType{Shape{static_cast<std::int64_t>(words.size())}, DType::u32},
                           .fill = Case::Fill::given,
                           .given = words};
    };
    const auto tokens = [](std::int64_t n, double vocab) {
        return Case::Input{.type = TensorType{Shape{n}, DType::i32}, .fill = Case::Fill::ids, .high = vocab};
    };
    const Case::Input odd{
        .type = TensorType{Shape{6}, DType::i32}, .fill = Case::Fill::given, .given = {31, -1, 32, 96, 63, 0}};
    return {
        {.name = "300 of 400 tokens",
         .attrs = {},
         .inputs = {seen(std::vector<double>(32)), tokens(400, 997), step_of_case(50, 300)}},
        {.name = "same words, ids outside",
         .attrs = {},
         .inputs = {seen({4, 2147483648.0, 1}), odd, step_of_case(0, 5)}},
        {.name = "nothing valid", .attrs = {}, .inputs = {seen({7, 0}), tokens(5, 64), step_of_case(2, 0)}},
        {.name = "beyond the tokens", .attrs = {}, .inputs = {seen({0, 0}), tokens(5, 64), step_of_case(3, 9)}},
    };
}

}  // namespace
}  // namespace ops::mark_seen

extern const OpDef mark_seen_op;
const OpDef mark_seen_op = {
    .name = "mark_seen",
    .summary = "sets the bit of every token of a run in a set of seen tokens",
    .operands = {"seen", "tokens", "step"},
    .infer = ops::mark_seen::infer,
    .reference = ops::mark_seen::reference,
    .cost = ops::mark_seen::cost,
    .kernels = {{.name = "plain", .launch = ops::mark_seen::launch}},
    .cases = ops::mark_seen::cases,
    .alias = {ops::mark_seen::seen_, -1, -1, -1},
};

Tensor mark_seen(Tensor seen, Tensor tokens, Tensor step, Where where) {
    return seen.graph().call(mark_seen_op, {seen, tokens, step}, {}, where)[0];
}

}  // namespace vantage
