// A sink: one more logit in the denominator of a head's softmax, with no value (Xiao et al. 2023; gpt-oss).
#include "lib/storage.glsl"

// Takes the head's sink into a row's maximum and denominator; returns the factor for the row's sum.
float with_sink(inout float maximum, inout float denominator, uvec2 sinks, uint head) {
    if (!present(sinks)) return 1.0;
    float sink = ReadFloats(sinks).at[head], peak = max(maximum, sink), shrink = exp(maximum - peak);
    denominator = denominator * shrink + exp(sink - peak);
    maximum = peak;
    return shrink;
}
