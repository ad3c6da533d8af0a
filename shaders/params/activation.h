// Numbers of the activations, the same in GLSL, in `enum class Activation` (the first nine) and in the specialization
// constants of every kernel that ends in one; and the parameters of the op `activation`.
#include "params/types.h"
#ifndef VANTAGE_ACTIVATION_H
#define VANTAGE_ACTIVATION_H
#define ACTIVATION_NONE 0
#define ACTIVATION_GELU_ERF 1
#define ACTIVATION_GELU_TANH 2
#define ACTIVATION_QUICK_GELU 3
#define ACTIVATION_SILU 4
#define ACTIVATION_RELU 5
#define ACTIVATION_RELU2 6
#define ACTIVATION_SIGMOID 7
#define ACTIVATION_TANH 8
#define ACTIVATION_ELU 9
#define ACTIVATION_SOFTPLUS 10
#define ACTIVATION_SOFTCAP 11
#define ACTIVATION_SWISH 12
VANTAGE_PARAMS_BEGIN
struct ActivationParams {
    uvec2 x, y;  // (count)
    uint count, kind;
    float parameter;  // elu: alpha; softcap: cap; swish: beta
};
VANTAGE_PARAMS_END

#define ACTIVATION_CONSTANTS(C) C(1, uint, X_TYPE, 0) /* x, y */
VANTAGE_CONSTANTS(ActivationConstants, VANTAGE_NO_CONSTANTS, ACTIVATION_CONSTANTS)
#endif
