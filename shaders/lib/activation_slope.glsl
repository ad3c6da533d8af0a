// Derivatives of the activation functions of lib/activation.glsl, by the same numbers and with the same care: absolute
// errors are below 1e-6, and infinite arguments have the limits 0, 1 or the slope of the straight part.
#include "lib/activation.glsl"

// Phi(x) + x phi(x)
float gelu_erf_slope(float x) {
    float z = clamp(x, -14.0, 14.0), half_tail = 0.5 * erfc_positive(abs(z) * 0.70710678);
    return (z < 0.0 ? half_tail : 1.0 - half_tail) + z * 0.39894228 * exp(-0.5 * z * z);
}
// sigmoid(2 u) (1 + 2 x u' (1 - sigmoid(2 u))), u as in gelu_tanh
float gelu_tanh_slope(float x) {
    float z = clamp(x, -14.0, 14.0), square = z * z, gate = sigmoid(1.59576912 * z * (1.0 + 0.044715 * square));
    return gate * (1.0 + z * 1.59576912 * (1.0 + 0.134145 * square) * sigmoid(-1.59576912 * z * (1.0 + 0.044715 * square)));
}
// sigmoid(beta x) (1 + beta x (1 - sigmoid(beta x)))
float swish_slope(float x, float beta) {
    float z = clamp(beta * x, vanished, -vanished);
    return beta == 0.0 ? 0.5 : sigmoid(z) * (1.0 + z * sigmoid(-z));
}

float activation_slope(uint kind, float x, float parameter) {
    if (isnan(x)) return x;
    float t;
    switch (kind) {
        case ACTIVATION_GELU_ERF: return gelu_erf_slope(x);
        case ACTIVATION_GELU_TANH: return gelu_tanh_slope(x);
        case ACTIVATION_QUICK_GELU: return swish_slope(x, 1.702);
        case ACTIVATION_SILU: return swish_slope(x, 1.0);
        case ACTIVATION_RELU: return x > 0.0 ? 1.0 : 0.0;
        case ACTIVATION_RELU2: return 2.0 * max(x, 0.0);
        case ACTIVATION_SIGMOID: return sigmoid(x) * sigmoid(-x);
        case ACTIVATION_TANH: t = stable_tanh(x); return 1.0 - t * t;
        case ACTIVATION_ELU: return x > 0.0 ? 1.0 : parameter * exp(max(x, vanished));
        case ACTIVATION_SOFTPLUS: return sigmoid(x);
        case ACTIVATION_SOFTCAP: t = stable_tanh(x / parameter); return 1.0 - t * t;
        case ACTIVATION_SWISH: return swish_slope(x, parameter);
        default: return 1.0;
    }
}
