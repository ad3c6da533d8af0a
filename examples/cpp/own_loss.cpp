// A Trainer with a custom loss: the focal loss (Lin et al. 2017), -(1 - p)^2 ln p, which counts tokens less that the
// model already predicts with a high probability p.
#include <vantage/train.h>
#include <vantage/vantage.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

int main() try {
    using namespace vantage;
    constexpr int vocabulary = 32;
    std::ofstream file("own_loss.bin", std::ios::binary);  // 16-bit token ids: the next one is most often id + 1
    for (int i = 0; i < 4096; ++i) {
        const int id = i % 7 == 0 ? i * 5 % vocabulary : i % vocabulary;
        file.put(static_cast<char>(id)).put('\0');
    }
    file.close();
    const std::string config = R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 32,
        "n_positions": 16, "n_embd": 32, "n_layer": 1, "n_head": 2})";

    const Dataset data({"own_loss.bin"}, {.context = 16, .vocabulary = vocabulary});
    TrainOptions options{.steps = 60, .sequences = 16, .rate = {.rate = 0.01, .warmup = 5}};
    options.loss = [](const LossInputs& of) {
        const std::int64_t rows = of.cross_entropy.shape()[0];
        Graph g = of.cross_entropy.graph();
        const Tensor one = g.constant("ones", {rows}, std::vector<float>(static_cast<std::size_t>(rows), 1));
        const Tensor rest = -elu(-of.cross_entropy);  // 1 - p: the cross-entropy is -ln p
        const Tensor each = rest * rest * of.cross_entropy * of.weights;
        return matmul(g.reshape(each, {1, rows}), g.reshape(one, {rows, 1}));
    };
    Trainer trainer(Device::open(), config, data, options);
    double first = 0, last = 0;
    while (const auto step = trainer.next()) {
        last = step->loss;
        if (step->step == 0) first = last;
        if (step->step % 10 == 0) std::printf("step %2d  focal loss %.4f\n", static_cast<int>(step->step), last);
    }
    std::printf("cross-entropy of the validation data: %.3f\n", *trainer.evaluate());
    return last < 0.5 * first ? 0 : 1;
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
