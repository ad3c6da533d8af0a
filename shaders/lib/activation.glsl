// Activation functions of one element, by number (params/activation.h). With a specialization constant as `kind` one
// branch is left.
//
// Everything is made of exp: Vulkan's tanh may overflow or be coarse, and there is no erf. The arguments of exp are
// clamped so that it neither overflows nor reaches a denominator beyond 2^126, past which division need not be right; a
// factor x is clamped or left out on its vanishing side, so that -inf gives the limit 0 and not -inf * 0. Absolute
// errors are below 1e-6.
#include "params/activation.h"

const float vanished = -80.0;  // exp(80) = 5.5e34 < 2^126, and everything below is 0 to float32's eye

// Not every device's min, max and exp keep a NaN.
float sigmoid(float x) { return isnan(x) ? x : 1.0 / (1.0 + exp(min(-x, -vanished))); }

// elu(x) + 1, the feature map of linear attention.
float elu_plus_1(float x) {
    if (isnan(x)) return x;
    return x > 0.0 ? x + 1.0 : exp(max(x, vanished));
}

// sign(x) (1 - 2 / (exp(2|x|) + 1)), and x's own series near 0, where that cancels.
float stable_tanh(float x) {
    if (isnan(x)) return x;
    float z = min(abs(x), 20.0), square = z * z;
    float higher = 0.13333333 + square * (-0.05396825 + square * 0.02186949);
    float series = z * (1.0 + square * (-0.33333333 + square * higher));
    float value = z < 0.25 ? series : 1.0 - 2.0 / (exp(2.0 * z) + 1.0);
    return x < 0.0 ? -value : value;
}

// erfc(z) for z >= 0 as t Q(t) exp(-z^2), t = 1 / (1 + z / 2): Q is a near-minimax polynomial (Chebyshev fit of degree
// 8, z <= 10), relative error 4.2e-8 before rounding. A formula for erfc and not erf, so that gelu's left tail does not
// cancel.
float erfc_positive(float z) {
    float t = 1.0 / (1.0 + 0.5 * z);
    float q = -0.05971491896;
    q = q * t + 0.2877683095;
    q = q * t - 0.4938636487;
    q = q * t + 0.2856977103;
    q = q * t - 0.03184175738;
    q = q * t + 0.2048536551;
    q = q * t + 0.242572893;
    q = q * t + 0.282445042;
    q = q * t + 0.2820826737;
    return t * q * exp(-z * z);
}

// exp(x) - 1 for x <= 0; its own series near 0, where the difference cancels.
float expm1_negative(float x) {
    if (x < -0.25) return exp(max(x, vanished)) - 1.0;
    return x * (1.0 + x * 0.5 * (1.0 + x * 0.33333333 * (1.0 + x * 0.25 * (1.0 + x * 0.2 * (1.0 + x * 0.16666667)))));
}

float gelu_erf(float x) {
    float clamped = clamp(x, -14.0, 14.0), half_tail = 0.5 * erfc_positive(abs(clamped) * 0.70710678);
    return x < 0.0 ? clamped * half_tail : x * (1.0 - half_tail);
}
// 0.5 x (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
float gelu_tanh(float x) {
    float clamped = clamp(x, -14.0, 14.0);
    float gate = sigmoid(1.59576912 * (clamped + 0.044715 * clamped * clamped * clamped));
    return x < 0.0 ? clamped * gate : x * gate;
}
// x sigmoid(beta x); of an infinite x with beta 0 that is x / 2, too, where beta x is not a number.
float swish(float x, float beta) {
    if (beta == 0.0) return 0.5 * x;
    float z = beta * x;
    return z < vanished ? 0.0 : x * sigmoid(z);
}

// max(x, 0) + ln(1 + u), u = exp(-|x|); ln(1 + u) as the series of 2 artanh(u / (2 + u)): log is coarse near 1, and a
// small softplus would keep few digits.
float softplus(float x) {
    if (isnan(x)) return x;
    float u = exp(max(-abs(x), vanished)), s = u / (2.0 + u), square = s * s;
    float series = 0.11111111 + square * (0.090909091 + square * (0.076923077 + square * 0.066666667));
    series = 1.0 + square * (0.33333333 + square * (0.2 + square * (0.14285714 + square * series)));
    return max(x, 0.0) + 2.0 * s * series;
}

// `parameter`: elu's alpha, softcap's cap, swish's beta; the others have none.
float activate(uint kind, float x, float parameter) {
    switch (kind) {
        case ACTIVATION_GELU_ERF: return gelu_erf(x);
        case ACTIVATION_GELU_TANH: return gelu_tanh(x);
        case ACTIVATION_QUICK_GELU: return swish(x, 1.702);
        case ACTIVATION_SILU: return swish(x, 1.0);
        case ACTIVATION_RELU: return max(x, 0.0);
        case ACTIVATION_RELU2: return max(x, 0.0) * max(x, 0.0);
        case ACTIVATION_SIGMOID: return sigmoid(x);
        case ACTIVATION_TANH: return stable_tanh(x);
        case ACTIVATION_ELU: return x > 0.0 ? x : parameter * expm1_negative(x);
        case ACTIVATION_SOFTPLUS: return softplus(x);
        case ACTIVATION_SOFTCAP: return parameter * stable_tanh(x / parameter);
        case ACTIVATION_SWISH: return swish(x, parameter);
        default: return x;
    }
}
float activate(uint kind, float x) { return activate(kind, x, 1.0); }
