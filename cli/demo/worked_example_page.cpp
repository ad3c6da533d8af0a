#include "cli/demo/worked_example_page.h"

#include <cmath>
#include <cstdio>

#include "runtime/inspect/worked_example.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/shown_text.h"

namespace vantage::cli {

namespace {

constexpr std::size_t width = 4;
constexpr int label_columns = 14, matrix_columns = 22;

std::string padded(const std::string& text, int columns) {
    return text + std::string(static_cast<std::size_t>(std::max(0, columns - column_width(text))), ' ');
}

/// A weight on the background colour of the heat maps.
std::string weight_cell(const Page& page, float weight) {
    return page.on(colour_at(ColourMap::magma, position_of(weight, 1, AttentionScale::square_root)),
                   format("{:5.2f}", weight));
}

}  // namespace

WorkedExamplePage::WorkedExamplePage(const Device& device) {
    WorkedExample example = worked_example();
    tokens_ = example.tokens;
    Plan plan = compile(example.graph, device);
    plan.run();
    for (const char* name : {"Q", "K", "V", "S", "A", "Z", "Z_fused"}) matrices_[name] = plan.read(name).vector();
    const std::vector<float>&z = matrices_.at("Z"), &fused = matrices_.at("Z_fused");
    for (std::size_t i = 0; i < z.size(); ++i)
        if (!(std::abs(z[i] - fused[i]) <= 1e-5f))
            throw Error(
                ErrorKind::accuracy,
                "worked example: fused attention differs from attention step by step by more than 1e-5; run `vantage "
                "conform --op attention`");
}

void WorkedExamplePage::print_row(const Page& page,
                                  const std::vector<std::pair<const char*, const char*>>& three) const {
    std::string line(label_columns, ' ');
    for (const auto& [name, heading] : three) line += padded(heading, matrix_columns);
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", page.dim(line).c_str());
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
        line = padded(tokens_[row], label_columns - 1);
        for (const auto& [name, heading] : three) {
            const std::vector<float>& matrix = matrices_.at(name);
            for (std::size_t col = 0; col < width; ++col) {
                const float value = matrix[row * width + col];
                line += name[0] == 'A' ? weight_cell(page, value) : format("{:5.2f}", value);
            }
            if (name != three.back().first) line += "  ";
        }
        std::printf("%s\n", line.c_str());
    }
}

void WorkedExamplePage::print(const Page& page) const {
    std::printf("%s %s\n", page.bold("Attention, worked by hand").c_str(),
                page.dim("(Y. Huang, The Mathematics of Attention and Transformers)").c_str());
    print_row(page, {{"Q", " Q = X W_Q"}, {"K", " K = X W_K"}, {"V", " V = X W_V"}});
    print_row(page, {{"S", " S = Q Kᵀ"}, {"A", " A = softmax(S / √4)"}, {"Z", " Z = A V"}});
}

}  // namespace vantage::cli
