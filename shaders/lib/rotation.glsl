// Rotary positions: pairs (a, b) of features turn by angles with cosines c and sines s,
//   a' = a c - b s,  b' = b c + a s.
// Every kernel that turns rounds in the same way, so that the same rows give the same bits in all of them.
#ifndef VANTAGE_ROTATION_GLSL
#define VANTAGE_ROTATION_GLSL
void turn(inout vec4 a, inout vec4 b, vec4 c, vec4 s) {
    precise vec4 left = a * c - b * s, right = b * c + a * s;
    a = left, b = right;
}
#endif
