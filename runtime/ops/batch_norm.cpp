// BatchNorm by channel of x [N, C, L] (or [N, C]).
//   y = (x - mean_c) / sqrt(var_c + eps) gamma_c + beta_c
// inference: mean and var are the running ones. training: those of the batch (var biased), and the running ones become
// (1 - momentum) running + momentum batch (var unbiased).
// Ioffe, Szegedy, "Batch Normalization" (2015).
#include "runtime/ops/batch_norm.h"

#include <cmath>

#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/norm_backward.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/batch_norm.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::batch_norm {
namespace {

// x seen as (batch, channels, length).
struct Sizes {
    std::int64_t batch, channels, length;
    std::int64_t count() const { return batch * length; }
    std::int64_t at(std::int64_t i, std::int64_t channel) const {
        return (i / length * channels + channel) * length + i % length;
    }
};
Sizes sizes_of(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    Sizes s{x[0], x[1], 1};
    for (int i = 2; i < x.rank(); ++i) s.length *= x[i];
    return s;
}
bool trains(const OpCall& call) { return call.attrs.flag("training"); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType& x = call.in(x_);
    call.require(x.shape.rank() >= 2, operand_is(call, x_) + ", but must be [batch, channels, ..]");
    const TensorType statistics{Shape{x.shape[1]}, DType::f32};
    for (int i : {gamma_, beta_})
        if (call.has(i))
            call.require(call.in(i).shape == statistics.shape, operand_is(call, i) + ", but x is " + x.text());
    call.require(!call.has(gamma_) || !call.has(beta_) || call.in(gamma_).dtype == call.in(beta_).dtype,
                 "gamma and beta have two storage types");
    for (int i : {mean_, variance_})
        call.require(call.has(i) && call.in(i) == statistics,
                     "running statistics must be " + statistics.text() + " for x " + x.text());
    call.require(!trains(call) || sizes_of(call).count() > 1,
                 operand_is(call, x_) + ": one value a channel has no variance");
    if (trains(call)) return {x, statistics, statistics};
    return {x};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const double eps = call.attrs.number("eps", 1e-5), momentum = call.attrs.number("momentum", 0.1);
    const auto count = static_cast<double>(s.count());
    for (std::int64_t c = 0; c < s.channels; ++c) {
        double mean = in[mean_][c], variance = in[variance_][c];
        if (trains(call)) {
            double total = 0, square = 0;
            for (std::int64_t i = 0; i < s.count(); ++i) total += in[x_][s.at(i, c)];
            for (std::int64_t i = 0; i < s.count(); ++i) square += std::pow(in[x_][s.at(i, c)] - total / count, 2);
            out[new_mean_][c] = mean + momentum * (total / count - mean);
            out[new_variance_][c] = variance + momentum * (square / (count - 1) - variance);
            mean = total / count, variance = square / count;
        }
        for (std::int64_t i = 0; i < s.count(); ++i)
            out[y_][s.at(i, c)] =
                (in[x_][s.at(i, c)] - mean) / std::sqrt(variance + eps) * (call.has(gamma_) ? in[gamma_][c] : 1) +
                (call.has(beta_) ? in[beta_][c] : 0);
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 8.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = shader,
             .spec = params::BatchNormConstants{.lanes = workgroup_size(caps),
                                                .X_TYPE = storage_of(call, x_),
                                                .W_TYPE = storage_of(call, {gamma_, beta_, x_}),
                                                .TRAINING = trains(call)},
             .operands = {in(x_), in(gamma_), in(beta_), in(mean_), in(variance_), out(y_)},
             .groups = flat_grid(s.channels, caps)};
    if (trains(call)) l.operands.insert(l.operands.end(), {out(new_mean_), out(new_variance_)});
    return l.with(params::BatchNormParams{.batch = u32(s.batch),
                                          .channels = u32(s.channels),
                                          .extent = u32(s.length),
                                          .eps = static_cast<float>(call.attrs.number("eps", 1e-5)),
                                          .momentum = static_cast<float>(call.attrs.number("momentum", 0.1))});
}

// By the batch's statistics a channel is a row that is normalised; by running ones y is linear in x.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Sizes s = sizes_of(g.call);
    const Tensor &x = g.inputs[x_], &gamma = g.inputs[gamma_];
    for (std::size_t i = 1; i < g.gradients.size(); ++i)
        g.call.require(!g.gradients[i], "running statistics have no gradient");
    g.call.require(!g.needed[mean_] && !g.needed[variance_], "running statistics have no gradient");
    Graph graph = x.graph();
    // [a, b, c] -> [b, a, c]
    const auto swapped = [&](const Tensor& t, std::int64_t a, std::int64_t b, std::int64_t c) {
        return vantage::merge_heads(graph.reshape(t, {a, b, c}, g.where), g.where);
    };
    const auto tokens_first = [&](const Tensor& t) {  // [N, C, L] -> [N L, C]
        const Tensor moved =
            vantage::merge_heads(graph.reshape(t, {s.batch, s.channels, s.length, 1}, g.where), g.where);
        return graph.reshape(moved, {s.count(), s.channels}, g.where);
    };
    const Tensor &dy = g.gradients[y_], by_token = tokens_first(dy);
    std::vector<Tensor> result(3);
    if (g.needed[gamma_]) {
        const Tensor normalised = add_call(graph, batch_norm_op, {x, {}, {}, g.inputs[mean_], g.inputs[variance_]},
                                           g.call.attrs, g.where)[y_];
        result[gamma_] = sum_to({s.channels}, by_token, tokens_first(normalised), g.where);
    }
    if (g.needed[beta_]) result[beta_] = sum_to({s.channels}, by_token, {}, g.where);
    if (!g.needed[x_]) return result;
    if (!trains(g.call)) {
        result[x_] =
            add_call(graph, batch_norm_op, {dy, gamma, {}, zeros(graph, {s.channels}, g.where), g.inputs[variance_]},
                     g.call.attrs, g.where)[y_];
        return result;
    }
    Tensor scaled = dy;
    if (gamma) {  // [N L, C] times gamma, and back
        const Tensor product =
            graph.reshape(mul(by_token, gamma, g.where), {s.batch, s.length, s.channels, 1}, g.where);
        scaled = vantage::merge_heads(product, g.where);
    }
    const Tensor rows = swapped(x, s.batch, s.channels, s.length);
    const std::vector<Tensor> norm =
        add_call(graph, layer_norm_op, {rows}, {{"eps", g.call.attrs.number("eps", 1e-5)}}, g.where);
    const Tensor dx = add_call(graph, norm_backward_op,
                               {swapped(scaled, s.batch, s.channels, s.length),
                                rows,
                                {},
                                norm[ops::layer_norm::mean_],
                                norm[ops::layer_norm::rstd_]},
                               {}, g.where)[0];
    result[x_] = graph.reshape(swapped(dx, s.channels, s.batch, s.length), x.shape(), g.where);
    return result;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape x, bool training, bool affine) {
        const TensorType channels{Shape{x[1]}, DType::f32};
        list.push_back(
            {.name = name,
             .attrs = {{"training", training}, {"eps", 1e-3}, {"momentum", 0.3}},
             .inputs = {{.type = TensorType{x}, .low = 2, .high = 3},
                        {.type = only_if(affine, channels), .low = 1, .high = 0.2},
                        {.type = only_if(affine, channels)},
                        {.type = channels, .low = 2, .fixed_type = true},
                        {.type = channels, .fill = Case::Fill::uniform, .low = 0.5, .high = 9, .fixed_type = true}}});
    };
    add("inference 4x6x5", {4, 6, 5}, false, true);
    add("training 4x6x5", {4, 6, 5}, true, true);
    add("training 3x2x700 plain", {3, 2, 700}, true, false);
    add("inference 9x33", {9, 33}, false, true);
    add("training, mean 1000", {4, 6, 5}, true, true);
    list.back().inputs[0].low = 1000;
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"batch_norm_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"batch_norm">}};

const OpDef batch_norm_op = define_op(
    "batch_norm",
    "y = (x - mean) / sqrt(var + eps) gamma + beta by channel, statistics running or the batch's (Ioffe, Szegedy 2015)",
    operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::batch_norm

BatchNormResult batch_norm(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor variance, BatchNormOptions options,
                           SourceLocation where) {
    using namespace ops::batch_norm;
    const std::vector<Tensor> results =
        add_call(x.graph(), batch_norm_op, {x, gamma, beta, mean, variance},
                 {{"training", options.training}, {"eps", options.eps}, {"momentum", options.momentum}}, where);
    return options.training ? BatchNormResult{results[y_], results[new_mean_], results[new_variance_]}
                            : BatchNormResult{results[y_], mean, variance};
}

}  // namespace vantage
