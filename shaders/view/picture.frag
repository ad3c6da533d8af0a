// A picture, smoothly between its pixels, in grey: colours are for the weights that are laid over it.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/view.glsl"
layout(push_constant) uniform Push { ViewAreaParams p; };
layout(location = 0) out vec4 pixel;

float grey_at(vec2 place) {
    uvec2 at = uvec2(clamp(place, vec2(0.0), vec2(p.columns, p.rows) - 1.0));
    vec4 colour = unpackUnorm4x8(ReadWords(p.map).at[at.y * uint(p.columns) + at.x]);
    return dot(colour.rgb, vec3(0.2126, 0.7152, 0.0722));
}

void main() {
    vec2 at = (gl_FragCoord.xy - vec2(p.left, p.top)) / vec2(p.pixels_wide, p.pixels_high) * vec2(p.columns, p.rows) - 0.5;
    vec2 corner = floor(at), share = at - corner;
    float above = mix(grey_at(corner), grey_at(corner + vec2(1, 0)), share.x),
          below = mix(grey_at(corner + vec2(0, 1)), grey_at(corner + vec2(1, 1)), share.x);
    pixel = vec4(vec3(mix(above, below, share.y)), 1.0);
}
