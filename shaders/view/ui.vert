// Panels: Dear ImGui's triangles, read by address.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/view.glsl"
layout(push_constant) uniform Push { ViewUiParams p; };
layout(location = 0) out vec4 colour;
layout(location = 1) out vec2 texel;

void main() {
    uint at = ReadWords(p.indices).at[gl_VertexIndex] * 5u;
    ReadWords vertex = ReadWords(p.vertices);
    vec2 place = vec2(uintBitsToFloat(vertex.at[at]), uintBitsToFloat(vertex.at[at + 1u]));
    vec2 uv = vec2(uintBitsToFloat(vertex.at[at + 2u]), uintBitsToFloat(vertex.at[at + 3u]));
    colour = unpackUnorm4x8(vertex.at[at + 4u]);
    texel = uv * vec2(p.atlas_width, p.atlas_height);
    gl_Position = vec4(place * 2.0 / vec2(p.width, p.height) - 1.0, 0.0, 1.0);
}
