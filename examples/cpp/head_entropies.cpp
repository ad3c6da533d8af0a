// The mean entropy of every head's attention, as CSV: head_entropies [PROMPT].
#include <vantage/vantage.h>

#include <cmath>
#include <cstdio>

int main(int count, char** words) try {
    const vantage::Model model = vantage::Model::built_in(vantage::Device::open());
    vantage::Session session(
        model, {.precision = vantage::Precision::f32, .record_attention = vantage::RecordAttention::all()});
    session.append(count > 1 ? words[1] : "Mia put the red cup on the table.");
    session.run();
    std::printf("layer,head,entropy\n");
    for (std::int64_t layer = 0; layer < model.info().layers; ++layer) {
        const vantage::Array weights = session.attention(layer);  // [heads, queries, keys]
        for (std::int64_t head = 0; head < weights.shape()[0]; ++head) {
            double entropy = 0;
            for (const float p : weights.row(head)) entropy -= p > 0 ? p * std::log(p) : 0;
            std::printf("%d,%d,%.4f\n", int(layer), int(head), entropy / double(weights.shape()[1]));
        }
    }
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
