// selftest: y = 2 * x + add, element by element. The device layer's own tests dispatch it; no op uses it.
//
// One invocation per element; elements beyond n are left alone.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer Input { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Output { float at[]; };

layout(push_constant) uniform Push {
    uvec2 x, y;
    uint n;
    float add;
} p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= p.n) return;
    Output(p.y).at[i] = 2.0 * Input(p.x).at[i] + p.add;
}
