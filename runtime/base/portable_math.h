// Elementary functions with the same bits on every machine.
//
// Those of the C library differ in their last bits between libraries, between their versions, and between processors
// with and without fused multiply-add. These consist of operations that IEEE 754 rounds exactly: + - * / sqrt and fma.
// Each product that is added is written as an fma, so that no compiler may choose how often it is rounded.
#pragma once

namespace vantage::internal {

/// The natural logarithm of a positive normal number; within 2 units of the last place.
double portable_log(double x);
/// e^x for x up to 700; within 2 units of the last place.
double portable_exp(double x);
struct CirclePoint {
    double cosine, sine;
};
/// The cosine and the sine of 2π · turns, for turns in [0, 1); within 2^-52.
CirclePoint portable_circle(double turns);

}  // namespace vantage::internal
