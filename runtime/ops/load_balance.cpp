// How evenly a router shares tokens out: experts Σ_e f_e P_e, f_e the choices of expert e per token, P_e the mean of
// its probability; top_k for a router that favours none. Shazeer et al. 2017; Fedus et al. 2021 (the loss without its
// factor).
#include "runtime/ops/load_balance.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/route.h"
#include "shaders/params/experts.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::load_balance {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    check_choices(call, probs_, index_);
    return {{Shape{1}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t rows = call.in(probs_).shape[0], experts = call.in(probs_).shape[1];
    std::int64_t tokens = 0;  // without padding, which chose nothing
    for (std::int64_t row = 0; row < rows; ++row) tokens += in[index_][row * call.in(index_).shape[1]] >= 0 ? 1 : 0;
    if (tokens == 0) return;
    for (std::int64_t e = 0; e < experts; ++e) {
        double count = 0, mass = 0;
        for (const double chosen : in[index_].data) count += chosen == static_cast<double>(e) ? 1 : 0;
        for (std::int64_t row = 0; row < rows; ++row) mass += in[probs_][row * experts + e];
        out[0][0] += static_cast<double>(experts) * count * mass / static_cast<double>(tokens * tokens);
    }
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, static_cast<double>(call.in(probs_).shape.elements() * (1 + call.in(index_).shape[1])));
}

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape &probs = call.in(probs_).shape, &index = call.in(index_).shape;
    Launch l{.shader = shader,
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(probs_), in(index_), out(0)}};
    return l.with(params::LoadBalanceParams{.rows = u32(probs[0]), .experts = u32(probs[1]), .top_k = u32(index[1])});
}

// How often an expert was chosen is constant.
std::vector<Tensor> gradient(const GradientCall& g) {
    return add_call(g.inputs[probs_].graph(), load_balance_backward_op, {g.inputs[index_], g.gradients[0]},
                    {{"experts", g.call.in(probs_).shape[1]}}, g.where);
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const auto& [n, experts, top_k] : {std::array<std::int64_t, 3>{12, 5, 2}, {33, 300, 4}, {1, 1, 1}, {0, 4, 2}})
        list.push_back(
            {.name = format("n={} experts={}", n, experts),
             .inputs = {{.type = TensorType{Shape{n, experts}}, .fill = Case::Fill::uniform, .fixed_type = true},
                        integers_below({n, top_k}, experts, -1)}});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"load_balance_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"load_balance">}};

const OpDef load_balance_op =
    define_op("load_balance", "experts sum_e f_e P_e: choices per token times mean probability (Fedus et al. 2021)",
              operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::load_balance

// dprobs[t, e] = dloss experts count_e / tokens²
namespace internal::ops::load_balance_backward {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& index = call.in(index_);
    call.require(index.dtype == DType::i32 && index.shape.rank() == 2 && index.shape[1] > 0,
                 operand_is(call, index_) + ", but must be i32 [n, top_k]");
    static_cast<void>(call.in(dloss_));
    require_type(call, dloss_, {Shape{1}, DType::f32});
    const std::int64_t experts = call.attrs.integer("experts");
    call.require(experts > 0 && experts <= 1 << 16, format("experts is {}, but must be between 1 and 65536", experts));
    return {{Shape{index.shape[0], experts}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t rows = call.in(index_).shape[0], top_k = call.in(index_).shape[1],
                       experts = call.out(0).shape[1];
    double tokens = 0;
    for (std::int64_t row = 0; row < rows; ++row) tokens += in[index_][row * top_k] >= 0 ? 1 : 0;
    for (std::int64_t e = 0; e < experts && tokens > 0; ++e) {
        double count = 0;
        for (const double chosen : in[index_].data) count += chosen == static_cast<double>(e) ? 1 : 0;
        for (std::int64_t row = 0; row < rows; ++row)
            out[0][row * experts + e] = in[dloss_][0] * static_cast<double>(experts) * count / (tokens * tokens);
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, static_cast<double>(call.out(0).shape.elements())); }

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& index = call.in(index_).shape;
    const std::int64_t experts = call.out(0).shape[1];
    Launch l{.shader = shader,
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(index_), in(dloss_), out(0)},
             .groups = flat_grid(experts, caps)};
    return l.with(
        params::LoadBalanceBackwardParams{.rows = u32(index[0]), .experts = u32(experts), .top_k = u32(index[1])});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const auto& [n, experts, top_k] : {std::array<std::int64_t, 3>{12, 5, 2}, {33, 300, 4}, {1, 1, 1}, {0, 4, 2}})
        list.push_back(
            {.name = format("n={} experts={}", n, experts),
             .attrs = {{"experts", experts}},
             .inputs = {integers_below({n, top_k}, experts, -1), {.type = TensorType{Shape{1}}, .fixed_type = true}}});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"load_balance_backward_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"load_balance_backward">}};

const OpDef load_balance_backward_op = define_op("load_balance_backward", "dprobs = dloss experts count_e / tokens^2",
                                                 operand_names, infer, reference, cost, kernels, cases, of_a_gradient);

}  // namespace internal::ops::load_balance_backward

Tensor load_balance(Routing routing, SourceLocation where) {
    return add_call(routing.probs.graph(), load_balance_op, {routing.probs, routing.index}, {}, where)[0];
}

}  // namespace vantage
