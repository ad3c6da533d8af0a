// Several prompts continued together.
#include <vantage/vantage.h>

#include <cstdio>

int main() try {
    const vantage::Model model = vantage::Model::built_in(vantage::Device::open());
    const char* prompts[] = {"Mia put the red cup", "The dog", "A key"};
    vantage::Batch batch(model, 3);
    for (int i = 0; i < 3; ++i) batch[i].append(prompts[i]);
    batch.generate(12);
    for (int i = 0; i < 3; ++i) std::printf("%s\n", batch[i].text().c_str());
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
