#include "cli/demo/worked_example_page.h"

#include <array>
#include <cmath>

#include "cli/shared/head_pictures.h"
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
    for (const char* name : {"S", "A"}) {
        const Array both = plan.read(std::string(name) + "_heads");
        for (const int head : {1, 2}) matrices_[format("{}_{}", name, head)] = both.row(head - 1).vector();
    }
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
    print_line("{}", page.dim("The same Q and K, split into two heads of width 2"));
    print_row(page, std::array<Named, 2>{{{"A_1", " head 1, on beat"}, {"A_2", " head 2, on expect…"}}});
}

std::string WorkedExamplePage::write_heads(const std::string& folder) const {
    const char* said[] = {"every token attends most to “beat”", "tokens attend to “expectations”"};
    std::vector<Image> maps;
    for (const int head : {1, 2}) {
        HeatmapPicture picture;
        picture.rows = picture.cols = static_cast<int>(tokens_.size());
        picture.values = matrices_.at(format("A_{}", head));
        picture.row_labels = picture.col_labels = tokens_;
        picture.title = format("worked example · head {}", head);
        picture.caption = said[head - 1];
        maps.push_back(draw_heatmap(picture));
    }
    Image both(maps[0].width + maps[1].width, std::max(maps[0].height, maps[1].height), style::background);
    for (int y = 0; y < both.height; ++y)
        for (int x = 0; x < both.width; ++x) {
            const bool right = x >= maps[0].width;
            const Image& map = maps[right ? 1 : 0];
            const int column = right ? x - maps[0].width : x;
            if (map.has(column, y)) both.set(x, y, map.at(column, y));
        }
    std::string path = folder_path(folder, "worked-example.png");
    write_png(path, both, {{"Title", "worked example: two heads"}, {"Software", "Vantage"}});
    return path;
}

}  // namespace vantage::cli
