// The gradient of an activation function by its input, element by element: dx = dy f'(x). The functions are those of
// activation.cpp.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/ops/activation.h"

#include "runtime/ops/checks.h"
#include "shaders/params/activation.h"
#include "shaders/params/activation_backward.h"

namespace vantage::internal {

namespace ops::activation_backward {
namespace {

int kind_of(const OpCall& call) { return activation_kind(call.attrs.text("kind", "none")); }

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(kind_of(call) >= 0, "kind is " + call.attrs.text("kind") + ", which is no activation");
    require_shape(call, dy_, call.in(x_).shape);
    return {call.in(dy_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::size_t i = 0; i < in[x_].data.size(); ++i)
        out[0].data[i] =
            in[dy_].data[i] * activation_slope(kind_of(call), in[x_].data[i], call.attrs.number("parameter", 1));
}

Cost cost(const OpCall& call) { return streaming_cost(call, 14.0 * static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& x = call.in(x_);
    Launch l{.shader = "activation_backward",
             .spec =
                 params::ActivationBackwardConstants{
                     .lanes = workgroup_size(caps), .DY_TYPE = storage_of(call, dy_), .X_TYPE = storage_of(x.dtype)},
             .operands = {in(dy_), in(x_), out(0)},
             .groups = element_grid(x.shape.elements(), 4, caps)};
    return l.with(params::ActivationBackwardParams{.count = u32(x.shape.elements()),
                                                   .kind = u32(kind_of(call)),
                                                   .parameter = static_cast<float>(call.attrs.number("parameter", 1))});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const std::vector<double> far = {-60000, -1000, -104, -89, -87, -30, -12, -6,  -1e-3, -1e-5, 0,
                                     1e-5,   1e-3,  6,    12,  30,  87,  89,  104, 1000,  60000};
    for (int kind = 0; kind <= ACTIVATION_SWISH; ++kind) {
        const std::string name = activation_name(kind);
        Attrs attrs{{"kind", name}};
        if (kind == ACTIVATION_ELU) attrs.set("parameter", 0.75);
        if (kind == ACTIVATION_SOFTCAP) attrs.set("parameter", 5.0);
        if (kind == ACTIVATION_SWISH) attrs.set("parameter", 2.5);
        list.push_back(
            {.name = name,
             .attrs = attrs,
             .inputs = {floats({3, 87}),
                        {.type = TensorType{Shape{3, 87}}, .fill = Case::Fill::uniform, .low = -9, .high = 9}}});
        if (kind == ACTIVATION_RELU2) continue;  // its slope there would not fit into f16
        list.push_back(
            {.name = name + " far", .attrs = attrs, .inputs = {floats({std::ssize(far)}), list_of(DType::f32, far)}});
    }
    list.push_back({.name = "empty", .attrs = {{"kind", "silu"}}, .inputs = {floats({0, 4}), floats({0, 4})}});
    return list;
}

}  // namespace

const OpDef activation_backward_op =
    define_op("activation_backward", "dx = dy f'(x), f as in activation", operand_names, infer, reference, cost,
              {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace ops::activation_backward

double activation_slope(int kind, double x, double parameter) {
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    const auto swish_slope = [&](double beta) {
        const double z = std::clamp(beta * x, -700.0, 700.0);
        return sigmoid(z) * (1 + z * sigmoid(-z));
    };
    const auto tanh_slope = [](double z) { return 1 - std::tanh(z) * std::tanh(z); };
    switch (kind) {
        case ACTIVATION_GELU_ERF:
            return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
                   (std::abs(x) > 40 ? 0 : x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi));
        case ACTIVATION_GELU_TANH: {
            const double z = std::clamp(x, -40.0, 40.0), c = 2 * std::sqrt(2 / std::numbers::pi),
                         u = c * (z + 0.044715 * z * z * z), gate = sigmoid(u);
            return gate * (1 + z * c * (1 + 0.134145 * z * z) * sigmoid(-u));
        }
        case ACTIVATION_QUICK_GELU: return swish_slope(1.702);
        case ACTIVATION_SILU: return swish_slope(1);
        case ACTIVATION_RELU: return x > 0 ? 1 : 0;
        case ACTIVATION_RELU2: return x > 0 ? 2 * x : 0;
        case ACTIVATION_SIGMOID: return sigmoid(x) * sigmoid(-x);
        case ACTIVATION_TANH: return tanh_slope(x);
        case ACTIVATION_ELU: return x > 0 ? 1 : parameter * std::exp(x);
        case ACTIVATION_SOFTPLUS: return sigmoid(x);
        case ACTIVATION_SOFTCAP: return tanh_slope(x / parameter);
        case ACTIVATION_SWISH: return swish_slope(parameter);
        default: return 1;
    }
}

Tensor activation_backward(Tensor dy, Tensor x, const std::string& kind, double parameter, SourceLocation where) {
    return add_call(x.graph(), activation_backward_op, {dy, x}, {{"kind", kind}, {"parameter", parameter}}, where)[0];
}

}  // namespace vantage::internal
