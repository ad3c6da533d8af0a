// Attention weights as NumPy files: numpy.load("layer2.npy")[3] is head 3 of layer 2.
#include <vantage/vantage.h>

#include <cstdio>

int main() try {
    const vantage::Model model = vantage::Model::built_in(vantage::Device::open());
    vantage::Session session(model, {.record_attention = {.layers = {2}}});
    session.append("Mia put the red cup on the table.");
    session.run();
    session.attention(2).save("layer2.npy");
    session.attention({.layer = 2, .head = 3}, vantage::rows(0, 4)).save("first_queries.npy");
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
