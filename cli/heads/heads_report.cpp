#include "cli/heads/heads_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cli/heads/layer_means.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/terminal_page.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

constexpr const char *loss_heading = "Δ loss", *gradient_heading = "|∂ loss|";

/// A column of the table: its heading and the cell of each head.
struct Column {
    std::string heading;
    int width;
    bool right;
    std::function<std::string(const HeadRow&)> text;
    std::function<double(const HeadRow&)> share = {};  ///< 0 to 1: the background colour; optional

    std::string aligned(const std::string& cell) const {
        return right ? align_right(cell, width) : align_left(cell, width);
    }
};

Column share_column(const char* heading, const std::function<double(const HeadRow&)>& share) {
    return {heading, column_width(heading) + 1, true, [share](const HeadRow& row) { return share_text(share(row)); },
            share};
}

/// The statistic that decides whether a head has this pattern.
Column pattern_column(HeadPattern::Kind pattern, const std::function<double(const HeadStatistics&)>& mass) {
    return share_column(info_of(pattern).column, [mass](const HeadRow& row) { return mass(*row.numbers); });
}

std::string entropy_text(const HeadRow& row) {
    const HeadStatistics& numbers = *row.numbers;
    return if_defined(numbers.entropy, format("{:.2f} ({:3.0f} %)", numbers.entropy, 100 * numbers.relative_entropy));
}

/// The last column: the link with the largest weight, or with --values the largest weight × value norm.
std::string link_text(const HeadSurvey& survey, const HeadRow& row) {
    const Read& read = row.values ? row.values->strongest : row.numbers->strongest;
    if (read.query < 0 || read.key < 0) return "";
    return " " + survey.link_text(read) + (row.values ? "" : " " + share_text(static_cast<double>(read.weight)));
}

std::vector<Column> columns_of(const HeadsReport& report, const HeadsPart& part) {
    const auto number = [](const char* heading, int digits, auto value) {
        const auto text = [digits, value](const HeadRow& row) {
            return if_defined(value(row), format("{:.{}f}", value(row), digits));
        };
        return Column{heading, std::max(6, static_cast<int>(std::string(heading).size())), true, text};
    };
    const auto loss_text = [](const HeadRow& row) {
        return if_defined(*row.loss_change, format("{:+.3f}", *row.loss_change));
    };
    const HeadRow& any = part.rows.front();
    std::vector<Column> all = {
        {"head", 6, false, [&report](const HeadRow& row) { return report.head_name(row.place); }},
        {"pattern", 19, false, [](const HeadRow& row) { return row.pattern.label(); }}};
    if (any.loss_change) all.push_back({loss_heading, 6, true, loss_text});
    if (any.gradient) all.push_back(number(gradient_heading, 3, [](const HeadRow& row) { return *row.gradient; }));
    all.push_back(number("salience", 2, [](const HeadRow& row) { return row.salience; }));
    all.push_back({"entropy", 13, true, entropy_text});
    all.push_back(number("tokens", 1, [](const HeadRow& row) { return row.numbers->effective; }));
    all.push_back(number("distance", 1, [](const HeadRow& row) { return row.numbers->distance; }));
    all.push_back(number("σ", 1, [](const HeadRow& row) { return row.numbers->sigma; }));
    all.push_back(pattern_column(HeadPattern::self, &HeadStatistics::self));
    all.push_back(pattern_column(HeadPattern::previous_token, &HeadStatistics::previous));
    if (!part.survey.causal()) all.push_back(pattern_column(HeadPattern::next_token, &HeadStatistics::next));
    all.push_back(pattern_column(HeadPattern::attention_sink, &HeadStatistics::first));
    all.push_back(pattern_column(HeadPattern::separator, &HeadStatistics::separators));
    all.push_back(pattern_column(HeadPattern::induction, &HeadStatistics::induction_mass));
    all.push_back(pattern_column(HeadPattern::duplicate_token, &HeadStatistics::duplicate_mass));
    all.push_back(
        number(info_of(HeadPattern::semantic).column, 2, [](const HeadRow& row) { return row.numbers->similarity; }));
    if (any.ranks) {
        all.push_back(number("rank A", 1, [](const HeadRow& row) { return row.ranks->attention; }));
        all.push_back(number("rank AV", 1, [](const HeadRow& row) { return row.ranks->output; }));
    }
    if (any.permuted) {
        all.push_back(number("Δ perm", 3, [](const HeadRow& row) { return row.permuted->change; }));
        all.push_back(share_column("max", [](const HeadRow& row) { return row.permuted->largest; }));
    }
    if (any.values) all.push_back(share_column("first‖Wv‖", [](const HeadRow& row) { return row.values->first; }));
    all.push_back({any.values ? " largest weight × ‖Wv‖" : " largest weight", 0, false,
                   [&part](const HeadRow& row) { return link_text(part.survey, row); }});
    return all;
}

/// Columns that a narrow terminal has no room for, least important first.
const std::vector<std::string>& spare_columns() {
    static const std::vector<std::string> headings{info_of(HeadPattern::self).column,
                                                   "σ",
                                                   info_of(HeadPattern::semantic).column,
                                                   "tokens",
                                                   info_of(HeadPattern::separator).column,
                                                   info_of(HeadPattern::next_token).column,
                                                   info_of(HeadPattern::duplicate_token).column,
                                                   "distance",
                                                   info_of(HeadPattern::previous_token).column,
                                                   info_of(HeadPattern::attention_sink).column,
                                                   "entropy",
                                                   info_of(HeadPattern::induction).column,
                                                   "first‖Wv‖"};
    return headings;
}

constexpr int table_margin = 1, min_link = 18;  // columns: before the table, and of its last cell

int width_of(const std::vector<Column>& columns) {
    int width = table_margin;
    for (const Column& column : columns) width += 1 + column.width;  // with the gap before it
    return width;
}

/// Removes columns until the rest and the largest weight have room. Returns the headings that are left out.
std::vector<std::string> fit(std::vector<Column>& columns, int room) {
    std::vector<std::string> removed;
    for (const std::string& heading : spare_columns()) {
        if (width_of(columns) + min_link <= room) break;
        if (std::erase_if(columns, [&](const Column& column) { return column.heading == heading; }) > 0)
            removed.push_back(heading);
    }
    return removed;
}

/// The last cell has what the others leave.
std::string table_line(const std::vector<Column>& columns, const HeadRow& row, const Page& page, int room) {
    std::string line(table_margin, ' ');
    for (const Column& column : columns) {
        const std::string text = column.text(row);
        const int rest = room - width_of(columns) - 1;
        const std::string cell = column.width > 0 ? column.aligned(text) : shortened(text, std::max(rest, 1));
        line += " " + on_share(page, column.share ? column.share(row) : std::nan(""), cell);
    }
    return line;
}

void print_patterns(const HeadsPart& part, const Page& page) {
    print_line("\n{}", page.bold("patterns"));
    for (const PatternInfo& info : head_patterns()) {
        const auto count =
            std::ranges::count_if(part.rows, [&](const HeadRow& row) { return row.pattern.kind == info.kind; });
        if (count > 0) print_line("  {} {:3}  {}", align_left(info.id, 15), count, page.dim(info.condition()));
    }
}

/// The input tokens with the largest share in the last token (in an encoder: the first token), by rollout or flow.
void print_sources(const HeadSurvey& survey, const char* name, const std::optional<SquareMatrix>& matrix,
                   const Page& page) {
    if (!matrix) return;
    constexpr std::size_t shown = 6;
    const int from = survey.causal() ? matrix->size - 1 : 0;
    std::vector<int> keys(static_cast<std::size_t>(matrix->size));
    std::iota(keys.begin(), keys.end(), 0);
    std::stable_sort(keys.begin(), keys.end(),
                     [&](int a, int b) { return larger_first(matrix->at(from, a), matrix->at(from, b)); });
    keys.resize(std::min(shown, keys.size()));
    print_line("\n{} {}", page.bold(name),
               page.dim("input tokens that " + survey.quoted(from) + " depends on, through all layers"));
    print_line(" {}", join(keys, "", [&](int key) {
                   return format(" {} {} ", survey.quoted(key), share_text(matrix->at(from, key)));
               }));
}

/// The heading of a sort key's column.
std::string column_of(const std::string& key) {
    return key == "loss_change" ? loss_heading : key == "gradient" ? gradient_heading : key;
}

/// "heads" or the part's name, the queries that the means are over, and the sort key.
std::string part_heading(const HeadsReport& report, const HeadsPart& part, const Page& page) {
    const HeadSurvey& survey = part.survey;
    const bool several = report.parts.size() > 1;
    const char* source = report.image ? "image" : "text";
    std::string about =
        report.image && (!several || survey.kind() == AttentionKind::encoder)
            ? format("  means over [CLS] and {} patches", survey.queries() - 1)
            : format("  means over tokens {} to {}", survey.numbers().front().first_query, survey.queries() - 1);
    if (several && survey.kind() == AttentionKind::encoder)
        about += format(" of the encoder's {}", source);
    else if (several)
        about += " of the decoder's text";
    if (survey.kind() == AttentionKind::cross) about += format(", which attend to the encoder's {}", source);
    return page.bold(several ? part.name() : "heads") +
           page.dim(about + " · sorted by " + column_of(report.sorted_by.shown));
}

void print_part(const HeadsReport& report, const HeadsPart& part, const Page& page) {
    print_line("\n{}", part_heading(report, part, page));
    std::vector<Column> columns = columns_of(report, part);
    const int room = Page::columns();
    const std::vector<std::string> removed = fit(columns, room);
    std::string heading(table_margin, ' ');
    for (const Column& column : columns) heading += " " + column.aligned(column.heading);
    print_line("{}", page.dim(shortened(heading, room)));
    for (const HeadRow& row : part.rows) print_line("{}", table_line(columns, row, page, room));
    if (!removed.empty())
        print_line("{}", page.dim(shortened("  in a wider terminal also: " + join(removed, ", "), room)));
    print_layer_means(part, page);
    print_patterns(part, page);
    print_sources(part.survey, "rollout", part.rollout, page);
    print_sources(part.survey, "flow", part.flow, page);
}

/// "13 tokens", "7 source tokens, 5 decoder tokens", "16 patches".
std::string lengths_text(const HeadsReport& report) {
    const HeadSurvey& first = report.parts.front().survey;
    const std::string patches = format("{} patches", first.tokens() - 1);
    if (report.parts.size() == 1) return report.image ? patches : format("{} tokens", first.tokens());
    if (report.image) return patches + format(", {} decoder tokens", report.parts.back().survey.queries());
    return format("{} source tokens, {} decoder tokens", first.tokens(), report.parts.back().survey.queries());
}

}  // namespace

void print_heads_table(const HeadsReport& report) {
    const Page page;
    std::string about = format("on {} · {}{} · {}", report.model.device().caps().name, report.precision,
                               variant_text(report.variant), lengths_text(report));
    if (report.loss)
        about += format(" · loss {:.3f} nats{}", *report.loss,
                        config_of(report.model).head == Head::classification ? "" : " per token");
    print_line("{} {}", page.bold(report.model.info().name), page.dim(about));
    for (const HeadsPart& part : report.parts) print_part(report, part, page);
    const auto salient = report.salient_heads();
    if (!salient.empty()) print_line("\n{}", page.bold("most salient"));
    for (const auto& [part, head] : salient)
        print_line("  {} {}",
                   page.accent(align_left(report.head_name({head.layer, head.head, part->survey.kind()}), 6)),
                   reason_text(part->survey, head));
    for (const std::string& file : report.files) print_line("\n{} {}", page.bold("wrote"), file);
}

}  // namespace vantage::cli
