#include "cli/demo/worked_example_page.h"

#include <array>
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

void WorkedExamplePage::print_row(const Page& page, std::span<const Named> matrices) const {
    const auto fit = static_cast<std::size_t>(std::max((Page::columns() + 2 - label_columns) / matrix_columns, 1));
    const std::span<const Named> here = matrices.first(std::min(fit, matrices.size()));
    std::string line(label_columns, ' ');
    for (const auto& [name, heading] : here) line += align_left(heading, matrix_columns);
    line.erase(line.find_last_not_of(' ') + 1);
    print_line("{}", page.dim(line));
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
        line = align_left(tokens_[row], label_columns - 1);
        for (const auto& [name, heading] : here) {
            const std::vector<float>& matrix = matrices_.at(name);
            for (std::size_t col = 0; col < width; ++col) {
                const float value = matrix[row * width + col];
                const std::string number = format("{:5.2f}", value);
                line += name[0] == 'A' ? on_share(page, static_cast<double>(value), number) : number;
            }
            if (name != here.back().first) line += "  ";
        }
        print_line("{}", line);
    }
    if (here.size() < matrices.size()) print_row(page, matrices.subspan(here.size()));
}

void WorkedExamplePage::print(const Page& page) const {
    const std::string title = "Attention, worked by hand",
                      source = "(Y. Huang, The Mathematics of Attention and Transformers)";
    const bool fits = column_width(title + " " + source) <= Page::columns();
    print_line("{}{}{}", page.bold(title), fits ? " " : "\n", page.dim(source));
    print_row(page, std::array<Named, 3>{{{"Q", " Q = X W_Q"}, {"K", " K = X W_K"}, {"V", " V = X W_V"}}});
    print_row(page, std::array<Named, 3>{{{"S", " S = Q Kᵀ"}, {"A", " A = softmax(S / √4)"}, {"Z", " Z = A V"}}});
}

}  // namespace vantage::cli
