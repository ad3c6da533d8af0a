#include "cli/heads/composition.h"

#include <algorithm>
#include <cmath>

#include "cli/heads/head_ablation.h"
#include "cli/heads/heads_table.h"
#include "cli/heads/importance.h"
#include "cli/shared/head_pictures.h"
#include "cli/shared/progress.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/text_table.h"
#include "runtime/base/errors.h"
#include "runtime/session/head_weights.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

namespace vantage::cli {

namespace {

constexpr std::size_t max_rows = 20;
constexpr const char* reader_names[] = {"Q", "K", "V"};

/// Scores of the readers q, k and v of head `to` for what head `from` writes.
struct HeadPair {
    HeadId from, to;
    std::array<double, 3> scores{};
};

/// The factors of a layer's heads, one after the other.
struct LayerFactors {
    std::array<std::vector<float>, 3> readers;
    std::vector<float> writers;
    std::int64_t width = 0;  ///< of the stream between the layers
};

LayerFactors factors_of(const Model& model, std::int64_t layer, AttentionKind kind) {
    LayerFactors all;
    for (const HeadWeights& head : head_weights(model, layer, kind)) {
        const CompositionFactors factors = composition_factors(head);
        const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        append(all.readers[0], factors.q), append(all.readers[1], factors.k), append(all.readers[2], factors.v);
        append(all.writers, factors.out);
        all.width = head.width;
    }
    return all;
}

/// Products [rows, width] × [columns, width]ᵀ on the device.
class Products {
public:
    Products(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t width)
        : columns_(static_cast<std::size_t>(columns)), plan_(product(rows, columns, width), device) {}
    /// Frobenius norms of the blocks [heads, heads] of the product.
    std::vector<double> block_norms(std::span<const float> readers, std::span<const float> writers, std::size_t heads) {
        plan_.write("readers", readers);
        plan_.write("writers", writers);
        plan_.run();
        const Array product = plan_.read("product");
        const std::span<const float> values = product.values();
        const std::size_t rows = values.size() / columns_, row_block = rows / heads, column_block = columns_ / heads;
        std::vector<double> norms(heads * heads);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns_; ++j) {
                const auto value = static_cast<double>(values[i * columns_ + j]);
                norms[i / row_block * heads + j / column_block] += value * value;
            }
        for (double& norm : norms) norm = std::sqrt(norm);
        return norms;
    }

private:
    static Graph product(std::int64_t rows, std::int64_t columns, std::int64_t width) {
        Graph graph;
        graph.output("product", matmul(graph.input("readers", {rows, width}), graph.input("writers", {columns, width}),
                                       {.transpose_b = true}));
        return graph;
    }
    std::size_t columns_;
    Plan plan_;
};

/// The heads of one attention kind. Cross-attention reads what another stack writes, and is left out.
struct CompositionPart {
    AttentionKind kind;
    const char* name;  ///< "encoder", "decoder"
    std::vector<HeadPair> pairs;
    double independent = 0;  ///< score of heads that do not know of one another
};

/// All pairs of heads of one kind, by the layer of `to`, that of `from`, and heads.
CompositionPart part_of(const Model& model, AttentionKind kind) {
    const std::vector<std::int64_t>& layers = model.info().layers_of(kind);
    const std::int64_t heads = model.info().heads_of(kind);
    CompositionPart part{.kind = kind, .name = part_name(model, kind), .pairs = {}};
    const auto count = static_cast<std::size_t>(heads);
    std::vector<std::vector<float>> writers;  // of the layers before
    std::array<std::optional<Products>, 3> products;
    std::vector<HeadPair>& pairs = part.pairs;
    Progress progress("composing heads");
    for (std::size_t to = 0; to < layers.size(); ++to) {
        LayerFactors factors = factors_of(model, layers[to], kind);
        part.independent = expected_composition(factors.width);
        for (std::size_t from = 0; from < to; ++from) {
            progress.show(static_cast<std::int64_t>(to * (to - 1) / 2 + from),
                          static_cast<std::int64_t>(layers.size() * (layers.size() - 1) / 2));
            const std::size_t first = pairs.size();
            for (std::int64_t i = 0; i < heads * heads; ++i)
                pairs.push_back({.from = {layers[from], i % heads, kind}, .to = {layers[to], i / heads, kind}});
            const std::vector<float>& written = writers[from];
            for (std::size_t r = 0; r < products.size(); ++r) {
                const std::vector<float>& readers = factors.readers[r];
                if (!products[r])
                    products[r].emplace(model.device(), std::ssize(readers) / factors.width,
                                        std::ssize(written) / factors.width, factors.width);
                const std::vector<double> norms = products[r]->block_norms(readers, written, count);
                for (std::size_t i = 0; i < norms.size(); ++i) pairs[first + i].scores[r] = norms[i];
            }
        }
        writers.push_back(std::move(factors.writers));
    }
    return part;
}

struct Strongest {
    double score;
    std::size_t reader;
    const HeadPair* pair;
};

void print_part(const CompositionPart& part, const Model& model, const Page& page) {
    std::vector<Strongest> all;
    for (const HeadPair& pair : part.pairs)
        for (std::size_t r = 0; r < pair.scores.size(); ++r) all.push_back({pair.scores[r], r, &pair});
    std::ranges::stable_sort(all, [](const Strongest& a, const Strongest& b) { return a.score > b.score; });
    print_line(
        "\n{}{}", page.bold(part.name),
        page.dim(format("  {} pairs of heads · independent heads: {:.3f}", part.pairs.size(), part.independent)));
    TextTable table("lllrr");
    table.row({"", "writes", "reads", "score", "× independent"});
    for (std::size_t i = 0; i < std::min(all.size(), max_rows); ++i)
        table.row({reader_names[all[i].reader], head_name(model, all[i].pair->from), head_name(model, all[i].pair->to),
                   format("{:.3f}", all[i].score), format("{:.2f}", all[i].score / part.independent)});
    write_out(table.text());
}

Json part_json(const CompositionPart& part, const Model& model) {
    return {{"attention", part.name},
            {"independent", part.independent},
            {"pairs", json_list(part.pairs, [&](const HeadPair& pair) {
                 return Json{{"from", head_name(model, pair.from)},
                             {"to", head_name(model, pair.to)},
                             {"q", pair.scores[0]},
                             {"k", pair.scores[1]},
                             {"v", pair.scores[2]}};
             })}};
}

/// A map [heads that read, heads that write] of one kind of score.
std::string write_map(const CompositionPart& part, const Model& model, std::size_t reader, const std::string& path) {
    const std::vector<std::int64_t>& layers = model.info().layers_of(part.kind);
    const std::int64_t heads = model.info().heads_of(part.kind);
    const auto row_of = [&](const HeadId& head) {
        return (std::ranges::lower_bound(layers, head.layer) - layers.begin()) * heads + head.head;
    };
    HeatmapPicture picture;
    picture.rows = picture.cols =
        static_cast<int>(heads * (std::ssize(layers) - 1));  // the first layer reads, the last writes none
    std::vector<float> values(static_cast<std::size_t>(picture.rows) * static_cast<std::size_t>(picture.cols));
    for (const HeadPair& pair : part.pairs)
        at(values, (row_of(pair.to) - heads) * picture.cols + row_of(pair.from)) =
            static_cast<float>(pair.scores[reader]);
    for (std::int64_t i = 0; i < picture.rows; ++i) {
        picture.row_labels.push_back(head_name(model, {at(layers, i / heads + 1), i % heads, part.kind}));
        picture.col_labels.push_back(head_name(model, {at(layers, i / heads), i % heads, part.kind}));
    }
    picture.values = values;
    picture.value_max = scale_end(values);
    picture.value_name = "score", picture.scale = AttentionScale::linear;
    picture.across = "head that writes", picture.down = "head that reads";
    picture.title = format("{}-composition", reader_names[reader]);
    picture.caption = format(
        "{} · {}: how much a head reads what heads of earlier layers write · independent heads: "
        "{:.3f}",
        model.info().name, part.name, part.independent);
    write_png(path, draw_heatmap(picture), texts_of(picture));
    return path;
}

std::vector<std::string> write_maps(const std::vector<CompositionPart>& parts, const Model& model,
                                    const std::string& folder) {
    make_folder(folder);
    std::vector<std::string> files;
    for (const CompositionPart& part : parts)
        for (std::size_t r = 0; r < std::size(reader_names) && !part.pairs.empty(); ++r) {
            const std::string whose = parts.size() > 1 ? std::string("-") + part.name : "";
            const char letter = static_cast<char>(std::tolower(reader_names[r][0]));
            files.push_back(
                write_map(part, model, r, folder_path(folder, format("composition-{}{}.png", letter, whose))));
        }
    return files;
}

}  // namespace

void print_composition(const Model& model, const std::string& pictures, bool json) {
    const auto attending = [&](AttentionKind kind) { return model.info().layers_of(kind).size(); };
    if (std::max(attending(AttentionKind::self), attending(AttentionKind::encoder)) < 2)
        throw usage_error("heads: --composition compares heads of different layers, but {} has one layer{}",
                          model.info().name, model.info().layers > 1 ? " with attention" : "");
    std::vector<CompositionPart> parts;
    for (const AttentionKind kind : attention_kinds(model))
        if (kind != AttentionKind::cross) parts.push_back(part_of(model, kind));
    const std::vector<std::string> files =
        pictures.empty() ? std::vector<std::string>() : write_maps(parts, model, pictures);
    if (json)
        return write_json(
            {{"schema_version", 1},
             {"model", model.info().name},
             {"device", model.device().caps().name},
             {"parts", json_list(parts, [&](const CompositionPart& part) { return part_json(part, model); })},
             {"files", files}});
    const Page page;
    print_line("{} {}", page.bold(model.info().name), page.dim("on " + model.device().caps().name));
    for (const CompositionPart& part : parts) print_part(part, model, page);
    for (const std::string& file : files) print_line("\n{} {}", page.bold("wrote"), file);
}

}  // namespace vantage::cli
