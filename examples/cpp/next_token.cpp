// Loads a model, continues a prompt greedily and lists what may come next: next_token [MODEL [PROMPT]].
#include <vantage/vantage.h>

#include <cstdio>

int main(int count, char** words) try {
    const vantage::Device device = vantage::Device::open();
    const vantage::Model model = count > 1 ? vantage::Model::load(device, words[1]) : vantage::Model::built_in(device);
    vantage::Session session(model);
    session.append(count > 2 ? words[2] : "Mia put the red cup");
    session.generate(20);
    std::printf("%s\n", session.text().c_str());
    for (const auto [id, probability] : session.top(5))
        std::printf("%6.4f  %s\n", probability, model.tokenizer().display(id).c_str());
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
