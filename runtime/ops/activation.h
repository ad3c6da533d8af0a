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

/// Number of an activation (shaders/params/activation.h) by its name: none, gelu_erf, gelu_tanh, quick_gelu, silu,
/// relu, relu2, sigmoid, tanh, elu, softplus, softcap, swish; -1 when there is no such name.
int activation_kind(const std::string& name);
/// f(x); `parameter` is elu's alpha, softcap's cap and swish's beta.
double activation_value(int kind, double x, double parameter = 1);

}  // namespace vantage::internal
