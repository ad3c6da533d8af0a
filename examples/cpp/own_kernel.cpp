// A kernel of one's own as a node of a graph: own_kernel [leaky_relu.comp], compiled again whenever the file changes.
#include <vantage/custom_kernel.h>
#include <vantage/vantage.h>

#include <cstdio>

constexpr const char* source = R"(#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430) buffer Floats { float at[]; };
layout(push_constant) uniform Push { uvec2 x, y; uint count; float slope; } p;
void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    float x = Floats(p.x).at[i];
    Floats(p.y).at[i] = x > 0 ? x : p.slope * x;
})";

int main(int count, char** words) try {
    using namespace vantage;
    const KernelLayout layout{.operands = {in(0), out(0)},
                              .reference = [](const OpCall&, std::span<const HostTensor> x, std::span<HostTensor> y) {
                                  for (std::size_t i = 0; i < x[0].data.size(); ++i)
                                      y[0].data[i] = x[0].data[i] > 0 ? x[0].data[i] : 0.1 * x[0].data[i];
                              }};
    const CustomKernel leaky =
        count > 1 ? CustomKernel::glsl_file(words[1], layout) : CustomKernel::glsl("leaky_relu", source, layout);
    Graph g;
    const Tensor x = g.input("x", {4});
    g.output("y",
             call(leaky, {x - g.constant("c", {4}, {1.f, 2.f, 3.f, 4.f})}, {x.type()}, kernel_params(4u, 0.1f))[0]);
    Plan plan = compile(g, Device::open());
    plan.write("x", {2.f, 2.f, 2.f, 2.f});
    plan.run();
    for (const float y : plan.read("y")) std::printf("%g ", y);
    std::printf("\n");
    return plan.check(1).empty() ? 0 : 1;
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
