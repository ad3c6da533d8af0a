// Sets the bits of the tokens of a run, for each sequence: the repetition penalty reads them.
//   seen |= Σ_r 1 << tokens[position + r], r < valid
#include "runtime/ops/mark_seen.h"

#include "runtime/ops/step.h"
#include "shaders/params/mark_seen.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::mark_seen {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &seen = call.in(seen_), &tokens = call.in(tokens_);
    require_step(call, step_);
    call.require(is_row_of_each(call, seen_, step_) && seen.dtype == DType::u32,
                 operand_is(call, seen_) + ", but must be u32 [words of 32 bits], of each sequence");
    call.require(is_row_of_each(call, tokens_, step_) && tokens.dtype == DType::i32,
                 operand_is(call, tokens_) + ", but must be i32 [context], of each sequence");
    return {seen};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t context = call.in(tokens_).shape[-1], words = call.in(seen_).shape[-1];
    for (std::int64_t b = 0; b < sequences_of(call, step_); ++b) {
        const std::int64_t own = sequence_of(in[step_], b);
        const std::int64_t first = word(in[step_], STEP_POSITION, b), last = first + word(in[step_], STEP_VALID, b);
        for (std::int64_t i = first; i < std::min(last, context); ++i) {
            const auto token = static_cast<std::int64_t>(in[tokens_][own * context + i]);
            if (token < 0 || token / 32 >= words) continue;
            double& bits = out[0][own * words + token / 32];
            bits = static_cast<double>(static_cast<std::uint32_t>(bits) | 1u << (token % 32));
        }
    }
}

Cost cost(const OpCall&) { return {}; }  // a few tokens

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    Launch l{.shader = "mark_seen",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {update(0), in(tokens_), in(step_)},
             .groups = {u32(sequences_of(call, step_)), 1, 1}};
    return l.with(
        params::MarkSeenParams{.words = u32(call.in(seen_).shape[-1]), .token_count = u32(call.in(tokens_).shape[-1])});
}

std::vector<Case> cases() {
    const auto seen = [](const std::vector<double>& words) { return list_of(DType::u32, words); };
    const Case::Input odd = list_of(DType::i32, {31, -1, 32, 96, 63, 0}), two_tokens = integers_below({2, 5}, 96),
                      two_seen = filled_with(TensorType{Shape{2, 3}, DType::u32}, {0, 1, 0, 0, 9, 0});
    return {
        {.name = "2 sequences",
         .inputs = {two_seen, two_tokens, steps_of_case({step_of_case(1, 3), step_of_case(4, 2)})}},
        {.name = "2 sequences in reverse",
         .inputs = {two_seen, two_tokens, reversed_lanes(steps_of_case({step_of_case(1, 3), step_of_case(4, 2)}))}},
        {.name = "300 of 400 tokens",
         .inputs = {seen(std::vector<double>(32)), integers_below({400}, 997), step_of_case(50, 300)}},
        {.name = "same words, ids outside", .inputs = {seen({4, 2147483648.0, 1}), odd, step_of_case(0, 5)}},
        {.name = "nothing valid", .inputs = {seen({7, 0}), integers_below({5}, 64), step_of_case(2, 0)}},
        {.name = "beyond the tokens", .inputs = {seen({0, 0}), integers_below({5}, 64), step_of_case(3, 9)}},
    };
}

}  // namespace

const OpDef mark_seen_op =
    define_op("mark_seen", "sets the bit of every token of a run in a set of seen tokens", operand_names, infer,
              reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_state,
              {.step = step_, .context_rows = {tokens_}, .alias = {seen_}});

}  // namespace internal::ops::mark_seen

Tensor mark_seen(Tensor seen, Tensor tokens, Tensor step, SourceLocation where) {
    return add_call(seen.graph(), mark_seen_op, {seen, tokens, step}, {}, where)[0];
}

}  // namespace vantage
