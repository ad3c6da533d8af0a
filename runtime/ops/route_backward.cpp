// The gradient of a router by its logits, of probabilities p = softmax(logits) and of the weights of what was chosen.
//   dlogits = p (dp - Σ p dp),  dp = dprobs + dweight of a chosen expert
//   where weights were divided, w = p / Σ_chosen p: (dweight - Σ dweight w) / Σ_chosen p
// Which experts are chosen has no gradient.
#include "runtime/ops/checks.h"
#include "runtime/ops/route.h"
#include "shaders/params/experts.h"

namespace vantage::internal::ops::route_backward {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    check_choices(call, probs_, index_);
    const TensorType &probs = call.in(probs_), &index = call.in(index_);
    static_cast<void>(call.in(weight_));
    for (const int i : {weight_, dweight_}) require_type(call, i, {index.shape, DType::f32});
    require_type(call, dprobs_, probs);
    return {probs};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t rows = call.in(probs_).shape[0], experts = call.in(probs_).shape[1],
                       top_k = call.in(index_).shape[1];
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<double> dp(static_cast<std::size_t>(experts));
        for (std::int64_t e = 0; e < experts && call.has(dprobs_); ++e) at(dp, e) = in[dprobs_][row * experts + e];
        double kept = 0, mean = 0, total = 0;
        const auto expert_of = [&](std::int64_t c) { return static_cast<std::int64_t>(in[index_][row * top_k + c]); };
        const auto has_expert = [&](std::int64_t c) { return expert_of(c) >= 0 && expert_of(c) < experts; };
        const bool divided = call.attrs.flag("renormalise");
        for (std::int64_t c = 0; c < top_k && call.has(dweight_); ++c) {
            if (has_expert(c)) kept += in[probs_][row * experts + expert_of(c)];
            mean += in[dweight_][row * top_k + c] * in[weight_][row * top_k + c];
        }
        for (std::int64_t c = 0; c < top_k && call.has(dweight_); ++c)
            if (has_expert(c))
                at(dp, expert_of(c)) += (in[dweight_][row * top_k + c] - (divided ? mean : 0)) / (divided ? kept : 1);
        for (std::int64_t e = 0; e < experts; ++e) total += in[probs_][row * experts + e] * at(dp, e);
        for (std::int64_t e = 0; e < experts; ++e)
            out[0][row * experts + e] = in[probs_][row * experts + e] * (at(dp, e) - total);
    }
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, static_cast<double>(call.in(probs_).shape.elements() * (4 + call.in(index_).shape[1])));
}

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape &probs = call.in(probs_).shape, &index = call.in(index_).shape;
    Launch l{.shader = shader,
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps, 64)},
             .operands = {in(probs_), in(index_), in(weight_), in(dprobs_), in(dweight_), out(0)},
             .groups = flat_grid(probs[0], caps)};
    return l.with(params::RouteBackwardParams{.rows = u32(probs[0]),
                                              .experts = u32(probs[1]),
                                              .top_k = u32(index[1]),
                                              .renormalise = call.attrs.flag("renormalise")});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, std::int64_t experts, bool renormalise, bool by_probs, bool by_weight) {
        const TensorType probs{Shape{3, experts}}, weights{Shape{3, 2}};
        Case::Input index = list_of(DType::i32, {4, 0, 1, 3, -1, -1});
        index.type->shape = {3, 2};
        const auto fixed = [](bool there, const TensorType& type, double low, double high) {
            return Case::Input{.type = only_if(there, type),
                               .fill = Case::Fill::uniform,
                               .low = low,
                               .high = high,
                               .fixed_type = true};
        };
        return Case{.name = name,
                    .attrs = {{"renormalise", renormalise}},
                    .inputs = {fixed(true, probs, 0.01, 0.3), index, fixed(true, weights, 0.2, 0.8),
                               fixed(by_probs, probs, -1, 1), fixed(by_weight, weights, -1, 1)}};
    };
    return {of("both, divided", 5, true, true, true), of("weights", 9, false, false, true),
            of("probabilities of 300", 300, false, true, false)};
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"route_backward_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"route_backward">}};

const OpDef route_backward_op =
    define_op("route_backward", "dlogits = p (dp - sum p dp) of a router's probabilities and weights", operand_names,
              infer, reference, cost, kernels, cases, of_a_gradient);

}  // namespace vantage::internal::ops::route_backward
