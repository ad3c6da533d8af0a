// Two plans share a tensor on the device. Nothing is copied through the host, and the host does not wait between them.
#include <vantage/vantage.h>
#include <vantage/vulkan.h>

#include <cstdio>

vantage::Plan doubling(const vantage::Device& device, const char* input, const char* output) {
    vantage::Graph g;
    g.output(output, 2.f * g.input(input, {4}));
    return vantage::compile(g, device);
}

int main() try {
    const vantage::Device device = vantage::Device::open();
    vantage::Plan first = doubling(device, "x", "h"), second = doubling(device, "h", "y");
    second.bind("h", first.buffer("h"));  // VkBuffer, offset, bytes and address
    first.write("x", {1.f, 2.f, 3.f, 4.f});
    const vantage::TimelinePoint made = first.submit(vantage::After{});
    const vantage::TimelinePoint done = second.submit(vantage::after(made));
    second.wait(done.value);
    const vantage::Array y = second.read("y");
    std::printf("%g %g %g %g\n", y(0), y(1), y(2), y(3));
    return y(3) == 16 ? 0 : 1;
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
