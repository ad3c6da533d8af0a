// Panels: a colour, times the coverage of a letter. The atlas is read without a filter: letters are on whole pixels,
// and a plain area reads the atlas's white corner.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/view.glsl"
layout(push_constant) uniform Push { ViewUiParams p; };
layout(location = 0) in vec4 colour;
layout(location = 1) in vec2 texel;
layout(location = 0) out vec4 pixel;

void main() {
    uvec2 at = min(uvec2(max(texel, vec2(0.0))), uvec2(p.atlas_width, p.atlas_height) - 1u);
    uint i = at.y * p.atlas_width + at.x;
    uint coverage = ReadWords(p.atlas).at[i >> 2] >> (i & 3u) * 8u & 255u;
    pixel = vec4(colour.rgb, colour.a * float(coverage) / 255.0);
}
