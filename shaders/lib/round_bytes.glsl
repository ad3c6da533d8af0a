// Rounds blocks of 32 elements to bytes: x = d q + e with q in -127 … 127, d = max |x| / 127 and |e| <= d / 2 (but for
// the last bit of the quotient). A block with an infinity or a NaN has the scale NaN. One below 2^-120 becomes zeros.

// Magnitudes are compared as integers: their bits are in the order of the numbers, and NaN is the largest.
uint magnitude4(vec4 x) {
    uvec4 bits = floatBitsToUint(x) & 0x7fffffffu;
    return max(max(bits.x, bits.y), max(bits.z, bits.w));
}
float byte_scale(uint largest) {
    precise float scale = uintBitsToFloat(largest < 0x7f800000u ? largest : 0x7fc00000u) * (1.0 / 127.0);
    return scale;
}
float byte_inverse(uint largest) {
    return largest < 0x7f800000u && largest >= 0x03800000u ? 127.0 / uintBitsToFloat(largest) : 0.0;
}
// Behind 1.5 * 2^23 a float has no fraction: the sum rounds to the nearest integer, which its last byte holds.
uint rounded4(vec4 x, float inverse) {
    uvec4 q = floatBitsToUint(fma(x, vec4(inverse), vec4(12582912.0)));
    return (q.x & 0xffu) | (q.y & 0xffu) << 8 | (q.z & 0xffu) << 16 | q.w << 24;
}
