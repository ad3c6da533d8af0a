// The probabilities that `sample` draws from, for tests and for programs that sample on their own.
//   p = softmax(x / temperature) over what top-k, then top-p, then min-p leave
// Fan et al. 2018 (top-k); Holtzman et al. 2019 (top-p, "nucleus"); Nguyen et al. 2024 (min-p).
#include "runtime/ops/sampling_probs.h"

#include <limits>
#include <numeric>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/sampling.h"
#include "shaders/params/sampling_probs.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::sampling_probs {
namespace {

SamplingRule rule_of(const OpCall& call) {
    return {.temperature = static_cast<float>(call.attrs.number("temperature", 1)),
            .top_k = u32(call.attrs.integer("top_k")),
            .top_p = static_cast<float>(call.attrs.number("top_p", 1)),
            .min_p = static_cast<float>(call.attrs.number("min_p"))};
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(logits_);
    require_floats(call);
    call.require(x.shape.rank() >= 1, operand_is(call, logits_) + ", but must be [rows, vocabulary]");
    const double temperature = call.attrs.number("temperature", 1), top_p = call.attrs.number("top_p", 1),
                 min_p = call.attrs.number("min_p");
    call.require(temperature >= 0, format("temperature is {:g}, but must be 0 or more", temperature));
    call.require(
        call.attrs.integer("top_k") >= 0 && call.attrs.integer("top_k") <= std::numeric_limits<std::uint32_t>::max(),
        "top_k must be 0 (all) or a count of tokens");
    call.require(top_p >= 0 && top_p <= 1 && min_p >= 0 && min_p <= 1,
                 format("top_p is {:g} and min_p is {:g}, but both must be between 0 and 1", top_p, min_p));
    return {{x.shape, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const auto cols = static_cast<std::size_t>(call.in(logits_).shape[-1]);
    for (std::size_t begin = 0; begin < in[logits_].data.size(); begin += cols) {
        const std::vector<std::uint64_t> weights =
            sampling_weights(std::span(in[logits_].data).subspan(begin, cols), rule_of(call));
        const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
        for (std::size_t i = 0; i < cols && total > 0; ++i)
            out[0].data[begin + i] = static_cast<double>(weights[i]) / static_cast<double>(total);
    }
}

Cost cost(const OpCall& call) {
    Cost cost = streaming_cost(call, 30.0 * static_cast<double>(call.in(logits_).shape.elements()));
    const SamplingRule rule = rule_of(call);
    cost.bytes_read *= 3 + (rule.top_k > 0 ? 4 : 0) + (rule.top_p < 1 ? 4 : 0);
    return cost;
}

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& x = call.in(logits_).shape;
    const SamplingRule rule = rule_of(call);
    Launch l{.shader = shader,
             .spec = params::SamplingProbsConstants{.lanes = workgroup_size(caps),
                                                    .X_TYPE = storage_of(call.in(logits_).dtype)},
             .operands = {in(logits_), out(0)},
             .groups = flat_grid(x.rows(), caps)};
    return l.with(params::SamplingProbsParams{.rows = u32(x.rows()),
                                              .cols = u32(x[-1]),
                                              .temperature = rule.temperature,
                                              .top_k = rule.top_k,
                                              .top_p = rule.top_p,
                                              .min_p = rule.min_p});
}

std::vector<Case> cases() {
    const auto of = [](std::int64_t rows, std::int64_t cols, SamplingOptions o) {
        Attrs attrs{{"temperature", o.temperature}, {"top_k", o.top_k}, {"top_p", o.top_p}, {"min_p", o.min_p}};
        Case c{.name = format("rows={} cols={}", rows, cols), .attrs = attrs, .inputs = {}};
        c.inputs = {{.type = TensorType{Shape{rows, cols}}, .high = 3}};
        return c;
    };
    const auto given = [&](const char* name, std::vector<double> values, SamplingOptions o) {
        Case c = of(1, static_cast<std::int64_t>(values.size()), o);
        c.name = name;
        c.inputs[0].fill = Case::Fill::given;
        c.inputs[0].given = std::move(values);
        return c;
    };
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN(),
                 ulp = std::numeric_limits<float>::epsilon();
    return {
        of(2, 997, {.temperature = 0.7}),
        of(3, 333, {.temperature = 1.3, .top_k = 20, .top_p = 0.9}),
        of(1, 5003, {.top_p = 0.75, .min_p = 0.05}),
        of(2, 64, {.temperature = 0}),
        given("equal values stay", {1, 2, 2, 2, 0, 1, 2, -1, -0.0, 0, -3}, {.top_k = 2, .top_p = 0.2}),
        given("neighbouring floats", {1 + 4 * ulp, 1, 1 + 7 * ulp, 1 + 2 * ulp, 1 + 5 * ulp, 1 + ulp, 1 + 6 * ulp},
              {.top_k = 4}),
        given("NaN and -inf", {nan, -1, -inf, 0.5, nan, 0.25, -inf, -7}, {.top_k = 3, .top_p = 0.99, .min_p = 0.01}),
        given("only -inf", {-inf, nan, -inf}, {.top_p = 0.5}),
        given("far apart", {3e38, -3e38, 1e30, 3e38, inf, inf}, {.temperature = 0.01, .min_p = 1}),
    };
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"sampling_probs_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"sampling_probs">}};

const OpDef sampling_probs_op =
    define_op("sampling_probs",
              "softmax(x / temperature) over what top-k, top-p and min-p leave (Fan 2018, Holtzman 2019, Nguyen 2024)",
              operand_names, infer, reference, cost, kernels, cases, "it prepares a draw, which is not differentiated");

}  // namespace internal::ops::sampling_probs

Tensor sampling_probs(Tensor logits, SamplingOptions options, SourceLocation where) {
    return add_call(logits.graph(), sampling_probs_op, {logits},
                    {{"temperature", options.temperature},
                     {"top_k", options.top_k},
                     {"top_p", options.top_p},
                     {"min_p", options.min_p}},
                    where)[0];
}

}  // namespace vantage
