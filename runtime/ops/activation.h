// Activations by name and number, and their values in double: the specification for every op that ends in one.
#pragma once

#include <string>

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::activation {
extern const OpDef activation_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::activation

using ops::activation::activation_op;

namespace ops::activation_backward {
extern const OpDef activation_backward_op;
VANTAGE_OPERANDS(dy_, x_);
}  // namespace ops::activation_backward

using ops::activation_backward::activation_backward_op;

/// Number of an activation (shaders/params/activation.h) by its name: none, gelu_erf, gelu_tanh, quick_gelu, silu,
/// relu, relu2, sigmoid, tanh, elu, softplus, softcap, swish; -1 when there is no such name.
int activation_kind(const std::string& name);
/// f(x); `parameter` is elu's alpha, softcap's cap and swish's beta.
double activation_value(int kind, double x, double parameter = 1);
/// f'(x), 0 where relu has a corner.
double activation_slope(int kind, double x, double parameter = 1);
const char* activation_name(int kind);
/// dx = dy f'(x)
Tensor activation_backward(Tensor dy, Tensor x, const std::string& kind, double parameter, SourceLocation where);

}  // namespace vantage::internal
