// The router of a mixture of experts: which experts a token goes to, and with which weights.
//   p = softmax(logits);  the top_k largest p, by their index; weight = p, or p / Σ of the chosen p
// Divided by their sum they are the softmax of the chosen logits alone: a softmax after the choice.
// Shazeer et al. 2017; Fedus et al. 2021 (top_k 1, not divided); Jiang et al. 2024 (Mixtral).
#include "runtime/ops/route.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/step.h"
#include "shaders/params/experts.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::route {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& logits = call.in(logits_);
    const std::int64_t top_k = call.attrs.integer("top_k", 1);
    call.require(is_float(logits.dtype) && logits.shape.rank() == 2,
                 operand_is(call, logits_) + ", but must be [n, experts]");
    require_step(call, step_);
    rows_of_each(call, logits_, step_);
    call.require(top_k >= 1 && top_k <= std::min<std::int64_t>(logits.shape[1], MAX_EXPERTS_PER_TOKEN),
                 format("top_k is {}, but must be between 1 and the {} experts, {} at most", top_k, logits.shape[1],
                        MAX_EXPERTS_PER_TOKEN));
    const Shape choices{logits.shape[0], top_k};
    return {{logits.shape, DType::f32}, {choices, DType::i32}, {choices, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t rows = call.in(logits_).shape[0], experts = call.in(logits_).shape[1],
                       top_k = call.attrs.integer("top_k", 1), each = rows_of_each(call, logits_, step_);
    for (std::int64_t row = 0; row < rows; ++row) {
        const bool valid = !call.has(step_) || row % each < word(in[step_], STEP_VALID, row / each);
        const double* logit = in[logits_].data.data() + row * experts;
        const double peak = *std::max_element(logit, logit + experts);
        std::vector<double> p(static_cast<std::size_t>(experts));
        std::transform(logit, logit + experts, p.begin(), [&](double x) { return std::exp(x - peak); });
        const double sum = std::accumulate(p.begin(), p.end(), 0.0);
        for (double& x : p) x /= sum;
        std::vector<std::int64_t> order(p.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int64_t a, std::int64_t b) { return logit[a] > logit[b]; });
        double kept = 0;
        for (std::int64_t c = 0; c < top_k; ++c) kept += at(p, at(order, c));
        for (std::int64_t e = 0; e < experts; ++e) out[probs_][row * experts + e] = valid ? at(p, e) : 0;
        for (std::int64_t c = 0; c < top_k; ++c) {
            const std::int64_t expert = at(order, c);
            const double weight = at(p, expert) / (call.attrs.flag("renormalise") ? kept : 1);
            out[index_][row * top_k + c] = valid ? static_cast<double>(expert) : -1;
            out[weight_][row * top_k + c] = valid ? weight : 0;
        }
    }
}

Cost cost(const OpCall& call) {
    const double cells = static_cast<double>(call.in(logits_).shape.elements());
    return streaming_cost(call, cells * (8.0 + static_cast<double>(call.attrs.integer("top_k", 1))));
}

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& logits = call.in(logits_).shape;
    Launch l{.shader = shader,
             .spec = params::RouteConstants{.lanes = workgroup_size(caps, 64), .X_TYPE = storage_of(call, logits_)},
             .operands = {in(logits_), in(step_), out(probs_), out(index_), out(weight_)},
             .groups = flat_grid(logits[0], caps)};
    return l.with(params::RouteParams{.rows = u32(logits[0]),
                                      .experts = u32(logits[1]),
                                      .top_k = u32(call.attrs.integer("top_k", 1)),
                                      .renormalise = call.attrs.flag("renormalise"),
                                      .rows_each = u32(rows_of_each(call, logits_, step_))});
}

std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.call.has(step_), of_a_state);
    return add_call(
        g.inputs[logits_].graph(), route_backward_op,
        {g.outputs[probs_], g.outputs[index_], g.outputs[weight_], g.gradients[probs_], g.gradients[weight_]},
        {{"renormalise", g.call.attrs.flag("renormalise")}}, g.where);
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape logits, std::int64_t top_k, bool renormalise, Case::Input step = {}) {
        list.push_back({.name = name,
                        .attrs = {{"top_k", top_k}, {"renormalise", renormalise}},
                        .inputs = {{.type = TensorType{logits}, .high = 2, .fixed_type = true}, step}});
    };
    add("8 experts, 2 chosen", {17, 8}, 2, true);
    add("5 experts, top 1", {12, 5}, 1, false);
    add("200 experts, 6 chosen", {3, 200}, 6, false);
    add("all chosen", {4, 7}, 7, true);
    add("padding", {4, 8}, 2, true, step_of_case(9, 3));
    add("padding of 2 sequences", {8, 8}, 2, true, steps_of_case({step_of_case(9, 1), step_of_case(0, 3)}));
    add("no tokens", {0, 8}, 2, true);
    list.push_back({.name = "equal logits",
                    .attrs = {{"top_k", 2}, {"renormalise", true}},
                    .inputs = {{.type = TensorType{Shape{2, 4}},
                                .fill = Case::Fill::given,
                                .given = {1, 1, 1, 1, -3, 2, 0, 2},
                                .fixed_type = true}}});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"route_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"route">}};

const OpDef route_op =
    define_op("route", "p = softmax(logits), the top_k largest and their weights p or p / sum (Shazeer et al. 2017)",
              operand_names, infer, reference, cost, kernels, cases, gradient, {.step = step_});

}  // namespace internal::ops::route

void internal::check_choices(const OpCall& call, int probs, int index) {
    const TensorType &p = call.in(probs), &chosen = call.in(index);
    call.require(p.dtype == DType::f32 && p.shape.rank() == 2,
                 operand_is(call, probs) + ", but must be f32 [n, experts]");
    call.require(
        chosen.dtype == DType::i32 && chosen.shape.rank() == 2 && chosen.shape[0] == p.shape[0] && chosen.shape[1] > 0,
        operand_is(call, index) + ", but probs is " + p.text());
}

Routing route(Tensor logits, std::int64_t top_k, bool renormalise, Tensor step, SourceLocation where) {
    const std::vector<Tensor> results =
        add_call(logits.graph(), route_op, {logits, step}, {{"top_k", top_k}, {"renormalise", renormalise}}, where);
    return {results[ops::route::probs_], results[ops::route::index_], results[ops::route::weight_]};
}

}  // namespace vantage
