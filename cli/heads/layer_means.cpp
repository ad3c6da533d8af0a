#include "cli/heads/layer_means.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cli/shared/head_pictures.h"
#include "runtime/base/format.h"
#include "runtime/picture/head_chart.h"
#include "runtime/picture/layer_chart.h"

namespace vantage::cli {

namespace {

/// The rows of a layer in the order of the heads.
std::vector<const HeadRow*> rows_of_layer(const HeadsPart& part, std::int64_t layer) {
    std::vector<const HeadRow*> rows;
    for (const HeadRow& row : part.rows)
        if (row.place.layer == layer) rows.push_back(&row);
    std::ranges::sort(rows, {}, [](const HeadRow* row) { return row->place.head; });
    return rows;
}

LayerMeans means_of(std::int64_t layer, const std::vector<const HeadRow*>& rows) {
    LayerMeans means{
        .layer = layer, .heads = static_cast<int>(rows.size()), .numbers = numbers_of(*rows.front()), .patterns = {}};
    for (std::size_t i = 0; i < means.numbers.size(); ++i) {
        double sum = 0;
        int defined = 0;
        for (const HeadRow* row : rows)
            if (const double value = numbers_of(*row)[i].second; !std::isnan(value)) sum += value, ++defined;
        means.numbers[i].second = defined > 0 ? sum / defined : std::nan("");
    }
    for (const PatternInfo& info : head_patterns())
        if (const auto count =
                std::ranges::count(rows, info.kind, [](const HeadRow* row) { return row->pattern.kind; }))
            means.patterns.emplace_back(info.kind, static_cast<int>(count));
    return means;
}

}  // namespace

double LayerMeans::mean(std::string_view key) const {
    return std::ranges::find(numbers, key, [](const auto& one) { return std::string_view(one.first); })->second;
}

std::vector<LayerMeans> layer_means(const HeadsPart& part) {
    std::vector<LayerMeans> all;
    for (const std::int64_t layer : part.survey.layers()) all.push_back(means_of(layer, rows_of_layer(part, layer)));
    return all;
}

namespace {

/// A column of the table; with a `share` its colour.
struct LayerColumn {
    const char* heading;
    int width;
    std::function<std::string(const LayerMeans&)> text;
    const char* share = nullptr;  // the key of a statistic from 0 to 1
};

LayerColumn number_column(const char* heading, const char* key, int width, int digits) {
    return {heading, width, [=](const LayerMeans& means) {
                return if_defined(means.mean(key), format("{:.{}f}", means.mean(key), digits));
            }};
}
LayerColumn layer_share(const char* heading, const char* key) {
    return {heading, 6, [=](const LayerMeans& means) { return share_text(means.mean(key)); }, key};
}

/// Those that have room, the most important first.
std::vector<LayerColumn> layer_columns(bool next, int room) {
    std::vector<LayerColumn> all{
        {"entropy", 15,
         [](const LayerMeans& means) {
             const double entropy = means.mean("entropy");
             return if_defined(entropy, format("{:.2f} ({:3.0f} %)", entropy, 100 * means.mean("relative_entropy")));
         }},
        number_column("distance", "distance", 10, 1),
        layer_share("sink", "first"),
        layer_share("prev", "previous"),
        layer_share("self", "self"),
        number_column("salience", "telling", 10, 2),
        layer_share("sep", "delimiters")};
    if (next) all.push_back(layer_share("next", "next"));
    int used = 0;
    std::size_t fitting = 0;
    while (fitting < all.size() && used + all[fitting].width <= room) used += all[fitting++].width;
    all.resize(fitting);
    return all;
}

}  // namespace

void print_layer_means(const HeadsPart& part, const Page& page) {
    constexpr int first = 7, least = 14;  // columns of the layer's number, and for patterns
    print_line("\n{}{}", page.bold("layers"), page.dim("  means over the heads of a layer"));
    const std::vector<LayerColumn> columns = layer_columns(!part.survey.causal(), Page::columns() - first - least);
    std::string heading = align_left("  layer", first);
    int used = first + 2;
    for (const LayerColumn& column : columns)
        heading += align_right(column.heading, column.width), used += column.width;
    print_line("{}", page.dim(heading + "  patterns"));
    for (const LayerMeans& means : layer_means(part)) {
        std::string line = align_left(format("  {}", means.layer), first);
        for (const LayerColumn& column : columns) {
            const double share = column.share == nullptr ? std::nan("") : means.mean(column.share);
            line += " " + on_share(page, share, align_right(column.text(means), column.width - 1));
        }
        const std::string patterns = join(
            means.patterns, ", ", [](const auto& one) { return format("{} {}", one.second, info_of(one.first).id); });
        print_line("{}  {}", line, shortened(patterns, std::max(Page::columns() - used, 1)));
    }
}

Json layer_means_json(const HeadsPart& part) {
    return json_list(layer_means(part), [&](const LayerMeans& means) {
        Json layer = {{"attention", part.name()}, {"layer", means.layer}, {"heads", means.heads}};
        // An object from the start: nlohmann's null that becomes one, and finds no memory, ends the process.
        Json patterns = Json::object();
        for (const auto& [kind, count] : means.patterns) patterns[info_of(kind).id] = count;
        if (!patterns.empty()) layer["patterns"] = std::move(patterns);
        for (const auto& [name, value] : means.numbers) layer[name] = value;  // NaN becomes null
        return layer;
    });
}

void write_layer_means(const HeadsPart& part, const std::string& title, const std::string& path) {
    const std::vector<LayerMeans> all = layer_means(part);
    LayerChart chart{
        .title = title + ": means by layer", .caption = prompt_quoted(part.survey), .layers = {}, .panels = {}};
    const auto panel = [&](const char* name, const char* key, double maximum) {
        LayerPanel made{.title = name,
                        .maximum = maximum,
                        .dots = {},
                        .lines = {{.name = "mean of the layer", .values = {}}},
                        .stacks = {}};
        for (const LayerMeans& means : all) {
            made.lines.front().values.push_back(means.mean(key));
            std::vector<double>& dots = made.dots.emplace_back();
            for (const HeadRow* row : rows_of_layer(part, means.layer))
                for (const auto& [name_of_number, value] : numbers_of(*row))
                    if (std::string_view(name_of_number) == key) dots.push_back(value);
        }
        return made;
    };
    std::map<HeadPattern::Kind, LayerSeries> shares;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const LayerMeans& means = all[i];
        chart.layers.push_back(std::to_string(means.layer));
        for (const auto& [kind, count] : means.patterns) {
            LayerSeries& series = shares[kind];
            series = {.name = info_of(kind).id,
                      .colour = pattern_colour(info_of(kind).id),
                      .values = std::move(series.values)};
            series.values.resize(all.size());
            series.values[i] = static_cast<double>(count) / means.heads;
        }
    }
    double furthest = 0;
    for (const HeadRow& row : part.rows) furthest = std::fmax(furthest, row.numbers->distance);
    chart.panels.push_back(panel("entropy, relative to a uniform row", "relative_entropy", 1));
    if (furthest > 0) chart.panels.push_back(panel("mean distance", "distance", round_up(furthest)));
    LayerPanel patterns{.title = "patterns, share of the heads", .dots = {}, .lines = {}, .stacks = {}};
    for (auto& [kind, series] : shares) patterns.stacks.push_back(std::move(series));
    chart.panels.push_back(std::move(patterns));
    PngTexts texts = origin_texts(part.survey);
    texts.emplace_back("Title", chart.title);
    write_png(path, paint(draw_layer_chart(chart)), texts);
}

}  // namespace vantage::cli
