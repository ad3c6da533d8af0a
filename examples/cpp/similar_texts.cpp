// Cosine similarities of texts by an encoder: similar_texts MODEL.
#include <vantage/vantage.h>

#include <cstdio>

int main(int count, char** words) try {
    if (count < 2) return std::printf("similar_texts MODEL: the folder of a BERT-like model\n"), 2;
    const vantage::Model model = vantage::Model::load(vantage::Device::open(), words[1]);
    const vantage::Array vectors = vantage::embed(model, {"a red key", "the blue door"}, {.normalise = true});
    double cosine = 0;
    for (std::int64_t i = 0; i < vectors.shape()[1]; ++i) cosine += vectors(0, i) * vectors(1, i);
    std::printf("%.4f\n", cosine);
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
