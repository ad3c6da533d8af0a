// patches: y[b, r columns + c, (channel, i, j)] = x[b, channel, r h + i, c w + j]: an image's patches, h × w, as rows.
//
// One invocation per element of y, so that writes are in order and reads are runs of w elements.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/patches.h"
PATCHES_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/storage.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { PatchesParams p; };

void main() {
    uint to = invocation_index();
    if (to >= p.count) return;
    uint area = p.patch_height * p.patch_width;
    uint j = to % p.patch_width, i = to / p.patch_width % p.patch_height, channel = to / area % p.channels;
    uint cell = to / (area * p.channels), per_image = p.height / p.patch_height * p.columns;
    uint row = cell % per_image / p.columns, column = cell % p.columns, image = cell / per_image;
    uint from = ((image * p.channels + channel) * p.height + row * p.patch_height + i) * p.width +
                column * p.patch_width + j;
    store(p.y, X_TYPE, to, load(p.x, X_TYPE, from));
}
