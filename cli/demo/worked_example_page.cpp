#include "cli/demo/worked_example_page.h"

#include <cmath>

#include "runtime/inspect/worked_example.h"

namespace vantage::cli {

namespace {

constexpr std::size_t width = 4;
constexpr int label_columns = 14, matrix_columns = 22;

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
    for (const auto& [name, heading] : three) line += align_left(heading, matrix_columns);
    line.erase(line.find_last_not_of(' ') + 1);
    print_line("{}", page.dim(line));
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
        line = align_left(tokens_[row], label_columns - 1);
        for (const auto& [name, heading] : three) {
            const std::vector<float>& matrix = matrices_.at(name);
            for (std::size_t col = 0; col < width; ++col) {
                const float value = matrix[row * width + col];
                const std::string number = format("{:5.2f}", value);
                line += name[0] == 'A' ? on_share(page, static_cast<double>(value), number) : number;
            }
            if (name != three.back().first) line += "  ";
        }
        print_line("{}", line);
    }
}

void WorkedExamplePage::print(const Page& page) const {
    print_line("{} {}", page.bold("Attention, worked by hand"),
               page.dim("(Y. Huang, The Mathematics of Attention and Transformers)"));
    print_row(page, {{"Q", " Q = X W_Q"}, {"K", " K = X W_K"}, {"V", " V = X W_V"}});
    print_row(page, {{"S", " S = Q Kᵀ"}, {"A", " A = softmax(S / √4)"}, {"Z", " Z = A V"}});
}

}  // namespace vantage::cli
