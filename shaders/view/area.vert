// Two triangles over an area of the target.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/view.glsl"
layout(push_constant) uniform Push { ViewAreaParams p; };

void main() {
    const vec2 corners[6] = vec2[](vec2(0, 0), vec2(1, 0), vec2(1, 1), vec2(0, 0), vec2(1, 1), vec2(0, 1));
    vec2 place = vec2(p.left, p.top) + corners[gl_VertexIndex] * vec2(p.pixels_wide, p.pixels_high);
    gl_Position = vec4(place * 2.0 / vec2(p.width, p.height) - 1.0, 0.0, 1.0);
}
