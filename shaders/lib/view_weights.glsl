// The weights of a head as a viewer shows them. The including kernel's push constants are t, with `source` and `head`.
#include "lib/storage.glsl"
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer ViewSources { ViewSource at; };
ViewSource p = ViewSources(t.source).at;
#include "lib/tapped_weight.glsl"

TappedWeight weight_of(uint row, uint key) { return tapped_weight(t.head, row, int(row), key); }
float factor(uvec2 factors, uint i) { return present(factors) ? ReadFloats(factors).at[i] : 1.0; }
