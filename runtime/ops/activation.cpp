// Activation functions, element by element. The attribute `kind` names one:
//   gelu_erf    x Phi(x)                                                Hendrycks, Gimpel 2016
//   gelu_tanh   0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))         its approximation, of the same paper
//   quick_gelu  x sigmoid(1.702 x)                                      its other approximation
//   silu        x sigmoid(x)                                            Elfwing et al. 2017
//   swish       x sigmoid(beta x)                                       Ramachandran, Zoph, Le 2017
//   relu        max(x, 0)          relu2  max(x, 0)^2                   So et al. 2021 (Primer)
//   sigmoid     1 / (1 + e^-x)     tanh   tanh(x)
//   elu         x > 0 ? x : alpha (e^x - 1)                             Clevert et al. 2015
//   softplus    ln(1 + e^x)        softcap  cap tanh(x / cap)           Gemma Team 2024
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "runtime/ops/activation.h"

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/activation.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::activation {
namespace {

// In the order of shaders/params/activation.h.
constexpr std::array names = {"none",    "gelu_erf", "gelu_tanh", "quick_gelu", "silu",    "relu", "relu2",
                              "sigmoid", "tanh",     "elu",       "softplus",   "softcap", "swish"};
static_assert(names.size() == ACTIVATION_SWISH + 1);
static_assert(static_cast<int>(Activation::none) == ACTIVATION_NONE &&
              static_cast<int>(Activation::gelu_erf) == ACTIVATION_GELU_ERF &&
              static_cast<int>(Activation::gelu_tanh) == ACTIVATION_GELU_TANH &&
              static_cast<int>(Activation::quick_gelu) == ACTIVATION_QUICK_GELU &&
              static_cast<int>(Activation::silu) == ACTIVATION_SILU &&
              static_cast<int>(Activation::relu) == ACTIVATION_RELU &&
              static_cast<int>(Activation::relu2) == ACTIVATION_RELU2 &&
              static_cast<int>(Activation::sigmoid) == ACTIVATION_SIGMOID &&
              static_cast<int>(Activation::tanh) == ACTIVATION_TANH);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Below this x a factor that vanishes has vanished; keeps -inf from meeting 0.
double product(double x, double gate) { return x < -1000 ? 0 : x * gate; }
double swish(double x, double beta) {
    if (beta == 0) return x / 2;
    return beta * x < -1000 ? 0 : x * sigmoid(beta * x);
}

int kind_of(const OpCall& call) { return activation_kind(call.attrs.text("kind", "none")); }
double parameter_of(const OpCall& call) {
    switch (kind_of(call)) {
        case ACTIVATION_SOFTCAP: return call.attrs.number("cap", 1);
        case ACTIVATION_SWISH: return call.attrs.number("beta", 1);
        default: return call.attrs.number("alpha", 1);
    }
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(kind_of(call) >= 0, "kind is " + call.attrs.text("kind") + ", which is no activation");
    const double parameter = parameter_of(call), size = std::abs(parameter);
    call.require(kind_of(call) != ACTIVATION_SOFTCAP || parameter > 0, "cap must be above 0");
    call.require(kind_of(call) != ACTIVATION_SWISH || size == 0 || (size >= 1e-30 && size <= 1e30),
                 format("beta is {:g}, but must be 0, or between 1e-30 and 1e30 without its sign", parameter));
    return {call.in(x_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::size_t i = 0; i < in[x_].data.size(); ++i)
        out[0].data[i] = activation_value(kind_of(call), in[x_].data[i], parameter_of(call));
}

Cost cost(const OpCall& call) { return streaming_cost(call, 10.0 * static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& x = call.in(x_);
    Launch l{.shader = "activation",
             .spec = params::ActivationConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(x.dtype)},
             .operands = {in(x_), out(0)},
             .groups = element_grid(x.shape.elements(), 4, caps)};
    return l.with(params::ActivationParams{.count = u32(x.shape.elements()),
                                           .kind = u32(kind_of(call)),
                                           .parameter = static_cast<float>(parameter_of(call))});
}

std::vector<Tensor> gradient(const GradientCall& g) {
    return {internal::activation_backward(g.gradients[0], g.inputs[x_], g.call.attrs.text("kind", "none"),
                                          parameter_of(g.call), g.where)};
}

// All kinds share two pipelines (the kind is a parameter), so each gets its case.
std::vector<Case> cases() {
    std::vector<Case> list;
    const std::vector<double> far = {-60000, -1000, -104, -89, -87, -30, -12, -6,  -1e-3, -1e-5, 0,
                                     1e-5,   1e-3,  6,    12,  30,  87,  89,  104, 1000,  60000};
    const auto add = [&](const std::string& name, const Attrs& attrs) {
        list.push_back(
            {.name = name,
             .attrs = attrs,
             .inputs = {{.type = TensorType{Shape{3, 87}}, .fill = Case::Fill::uniform, .low = -9, .high = 9}}});
        if (name == "relu2") return;  // its result would not fit into f16
        list.push_back({.name = name + " far", .attrs = attrs, .inputs = {list_of(DType::f32, far)}});
    };
    for (const char* name : names) {
        const std::string kind = name;
        Attrs attrs{{"kind", kind}};
        if (kind == "elu") attrs.set("alpha", 0.75);
        if (kind == "softcap") attrs.set("cap", 5.0);
        if (kind == "swish") attrs.set("beta", 2.5);
        add(kind, attrs);
    }
    for (const double beta : {0.0, 1e-3, 1e6, -0.7})
        add(format("swish beta={:g}", beta), {{"kind", "swish"}, {"beta", beta}});
    list.push_back({.name = "large", .attrs = {{"kind", "silu"}}, .inputs = {floats({5, 2051})}});
    list.push_back({.name = "empty", .attrs = {{"kind", "silu"}}, .inputs = {floats({0, 4})}});
    return list;
}

}  // namespace

const OpDef activation_op =
    define_op("activation",
              "y = f(x): gelu_erf, gelu_tanh, quick_gelu, silu, swish, relu, relu2, sigmoid, tanh, elu, softplus, "
              "softcap (Hendrycks, Gimpel 2016 and others)",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace internal::ops::activation

int internal::activation_kind(const std::string& name) {
    const auto found = std::find(ops::activation::names.begin(), ops::activation::names.end(), name);
    return found == ops::activation::names.end() ? -1 : static_cast<int>(found - ops::activation::names.begin());
}

const char* internal::activation_name(int kind) { return at(ops::activation::names, kind); }

double internal::activation_value(int kind, double x, double parameter) {
    using ops::activation::product, ops::activation::sigmoid, ops::activation::swish;
    switch (kind) {
        case ACTIVATION_GELU_ERF: return product(x, 0.5 * std::erfc(-x / std::numbers::sqrt2));
        case ACTIVATION_GELU_TANH:
            return product(x, sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case ACTIVATION_QUICK_GELU: return swish(x, 1.702);
        case ACTIVATION_SILU: return swish(x, 1);
        case ACTIVATION_RELU: return x > 0 ? x : 0;
        case ACTIVATION_RELU2: return x > 0 ? x * x : 0;
        case ACTIVATION_SIGMOID: return sigmoid(x);
        case ACTIVATION_TANH: return std::tanh(x);
        case ACTIVATION_ELU: return x > 0 ? x : parameter * std::expm1(x);
        case ACTIVATION_SOFTPLUS: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
        case ACTIVATION_SOFTCAP: return parameter * std::tanh(x / parameter);
        case ACTIVATION_SWISH: return swish(x, parameter);
        default: return x;
    }
}

const char* name_of(Activation activation) { return at(ops::activation::names, activation); }

Activation activation_named(const std::string& name) {
    const int kind = activation_kind(name);
    if (kind < 0 || kind > ACTIVATION_TANH)
        throw usage_error(
            "activation {} is none of none, gelu_erf, gelu_tanh, quick_gelu, silu, relu, relu2, sigmoid, tanh", name);
    return static_cast<Activation>(kind);
}

Tensor activate(Tensor x, Activation activation, SourceLocation where) {
    if (activation == Activation::none) return x;
    return add_call(x.graph(), activation_op, {x}, {{"kind", name_of(activation)}}, where)[0];
}
Tensor elu(Tensor x, double alpha, SourceLocation where) {
    return add_call(x.graph(), activation_op, {x}, {{"kind", "elu"}, {"alpha", alpha}}, where)[0];
}
Tensor swish(Tensor x, double beta, SourceLocation where) {
    return add_call(x.graph(), activation_op, {x}, {{"kind", "swish"}, {"beta", beta}}, where)[0];
}
Tensor softcap(Tensor x, double cap, SourceLocation where) {
    return add_call(x.graph(), activation_op, {x}, {{"kind", "softcap"}, {"cap", cap}}, where)[0];
}

}  // namespace vantage
