#include "heads_report.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "page.h"
#include "runtime/base/log.h"
#include "runtime/io/shown_text.h"
#include "runtime/io/weight_scale.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {

// ---- for people ------------------------------------------------------------------------------------------------------

std::string to_width(const std::string& text, int width, bool right = false) {
    const std::string space(static_cast<std::size_t>(std::max(0, width - column_width(text))), ' ');
    return right ? space + text : text + space;
}

/// A column: its heading, and the cell of a head without and with its colours.
struct Column {
    std::string heading;
    int width;
    bool right;
    std::function<std::string(const HeadRow&)> text;
    std::function<double(const HeadRow&)> share = {};  ///< 0 to 1: the colour behind the text
};

/// ".07" and "1".
std::string share_of_one(double value) { return value >= 0.995 ? "1" : format(".%02.0f", 100 * value); }

Column share_column(const char* heading, double HeadStatistics::*number) {
    const auto value = [number](const HeadRow& row) { return row.numbers->*number; };
    return {heading, static_cast<int>(std::string(heading).size()) + 1, true,
            [value](const HeadRow& row) { return share_of_one(value(row)); }, value};
}

std::string read_text(const HeadsReport& report, const Read& read, bool with_weight) {
    if (read.query < 0) return "";
    return report.survey.quoted(read.query) + " → " + report.survey.quoted(read.key) +
           (with_weight ? " " + share_of_one(static_cast<double>(read.weight)) : "");
}

std::vector<Column> columns_of(const HeadsReport& report) {
    const auto number = [](const char* heading, auto text) { return Column{heading, 6, true, text}; };
    const bool encoder = report.survey.session().model().config().kind == ModelKind::encoder;
    const HeadRow& any = report.rows.front();
    std::vector<Column> all = {
        {"head", 6, false, [](const HeadRow& row) { return format("%d.%d", row.layer, row.head); }},
        {"pattern", 14, false, [](const HeadRow& row) { return row.pattern.label(); }}};
    if (any.loss_change)
        all.push_back(number("Δ loss", [](const HeadRow& row) { return format("%+.3f", *row.loss_change); }));
    all.push_back(number("tells", [](const HeadRow& row) { return format("%.2f", row.telling); }));
    all.push_back({"entropy", 13, true, [](const HeadRow& row) {
                       return format("%.2f (%3.0f %%)", row.numbers->entropy, 100 * row.numbers->relative_entropy);
                   }});
    all.push_back(number("tokens", [](const HeadRow& row) { return format("%.1f", row.numbers->effective); }));
    all.push_back(number("away", [](const HeadRow& row) { return format("%.1f", row.numbers->distance); }));
    all.push_back(share_column("self", &HeadStatistics::self));
    all.push_back(share_column("prev", &HeadStatistics::previous));
    if (encoder) all.push_back(share_column("next", &HeadStatistics::next));
    all.push_back(share_column("first", &HeadStatistics::first));
    all.push_back(share_column("delim", &HeadStatistics::delimiters));
    for (Column column : {share_column("induct", &HeadStatistics::induction_score),
                          share_column("same", &HeadStatistics::duplicate_score)}) {
        column.text = [text = column.text](const HeadRow& row) {
            return row.numbers->repeats == 0 ? "–" : text(row);  // nothing comes back in the text
        };
        all.push_back(column);
    }
    if (any.values)
        all.push_back({"first‖Wv‖", 10, true, [](const HeadRow& row) { return share_of_one(row.values->first); },
                       [](const HeadRow& row) { return row.values->first; }});
    all.push_back({any.values ? " most by ‖Wv‖" : " largest weight", 0, false, [&report](const HeadRow& row) {
                       return " " + (row.values ? read_text(report, row.values->strongest, false)
                                                : read_text(report, row.numbers->strongest, true));
                   }});
    return all;
}

std::string table_line(const std::vector<Column>& columns, const HeadRow& row, const Page& page) {
    std::string line = " ";
    for (const Column& column : columns) {
        const std::string cell = to_width(column.text(row), column.width, column.right);
        const Rgb colour = column.share ? colour_at(ColourMap::magma, position_of(static_cast<float>(column.share(row)),
                                                                                  1, WeightScale::square_root))
                                        : Rgb{};
        line += " " + (column.share ? page.on(colour, cell) : cell);
    }
    return line;
}

void print_patterns(const HeadsReport& report, const Page& page) {
    std::map<HeadHabit::Kind, std::pair<int, std::string>> kinds;
    for (const HeadRow& row : report.rows) {
        auto& [count, rule] = kinds[row.pattern.kind];
        ++count;
        rule = row.pattern.condition();
    }
    std::printf("\n%s\n", page.bold("patterns").c_str());
    for (const auto& [kind, found] : kinds)
        std::printf("  %s %s  %s\n", to_width(HeadHabit{.kind = kind}.name(), 10).c_str(),
                    to_width(std::to_string(found.first), 3, true).c_str(), page.dim(found.second).c_str());
}

/// What the last token (of an encoder: the first) is made of, by rollout or flow.
void print_sources(const HeadsReport& report, const char* name, const SquareMatrix& matrix, const Page& page) {
    constexpr std::size_t shown = 6;
    const bool encoder = report.survey.session().model().config().kind == ModelKind::encoder;
    const int from = encoder ? 0 : matrix.size - 1;
    std::vector<int> keys;
    for (int key = 0; key < matrix.size; ++key) keys.push_back(key);
    std::stable_sort(keys.begin(), keys.end(), [&](int a, int b) { return matrix.at(from, a) > matrix.at(from, b); });
    keys.resize(std::min(shown, keys.size()));
    std::printf("\n%s %s\n ", page.bold(name).c_str(),
                page.dim("where " + report.survey.quoted(from) + " comes from, through all layers").c_str());
    for (const int key : keys)
        std::printf(" %s %s ", report.survey.quoted(key).c_str(), share_of_one(matrix.at(from, key)).c_str());
    std::printf("\n");
}

}  // namespace

void print_heads_table(const HeadsReport& report) {
    const HeadSurvey& survey = report.survey;
    const Page page;
    std::printf("%s %s\n\n", page.bold(survey.session().model().info().name).c_str(),
                page.dim(format("on %s · %s · %d tokens", survey.session().model().device().caps().name.c_str(),
                                report.precision.c_str(), survey.tokens()))
                    .c_str());
    std::string about = format("  means over tokens %d to %d · sorted by %s", survey.of(0, 0).first_query,
                               survey.tokens() - 1, report.sorted_by.c_str());
    if (report.loss) about += format(" · loss %.3f nats a token", *report.loss);
    std::printf("%s%s\n", page.bold("heads").c_str(), page.dim(about).c_str());
    const std::vector<Column> columns = columns_of(report);
    std::string heading = " ";
    for (const Column& column : columns) heading += " " + to_width(column.heading, column.width, column.right);
    std::printf("%s\n", page.dim(heading).c_str());
    for (const HeadRow& row : report.rows) std::printf("%s\n", table_line(columns, row, page).c_str());
    print_patterns(report, page);
    if (!survey.all_telling().empty()) std::printf("\n%s\n", page.bold("most telling").c_str());
    for (const TellingHead& telling : survey.all_telling())
        std::printf("  %s %s\n", page.accent(to_width(format("%d.%d", telling.layer, telling.head), 6)).c_str(),
                    reason_text(survey, telling).c_str());
    if (report.rollout) print_sources(report, "rollout", *report.rollout, page);
    if (report.flow) print_sources(report, "flow", *report.flow, page);
    for (const std::string& file : report.files) std::printf("\n%s %s\n", page.bold("wrote").c_str(), file.c_str());
}

// ---- for programs ----------------------------------------------------------------------------------------------------

void print_heads_csv(const HeadsReport& report) {
    std::string text = "layer,head,pattern,share";
    for (const auto& [name, value] : numbers_of(report.rows.front())) text += std::string(",") + name;
    text += ",strongest_query,strongest_key,strongest_weight\n";
    for (const HeadRow& row : report.rows) {
        text += format("%d,%d,%s,%.6g", row.layer, row.head, row.pattern.name().c_str(), row.pattern.share);
        for (const auto& [name, value] : numbers_of(row)) text += format(",%.6g", value);
        const Read& read = row.numbers->strongest;
        text += format(",%d,%d,%.6g\n", read.query, read.key, static_cast<double>(read.weight));
    }
    std::printf("%s", text.c_str());
}

namespace {

using nlohmann::json;

json head_json(const Read& read) {
    if (read.query < 0) return nullptr;
    return {{"query", read.query}, {"key", read.key}, {"weight", read.weight}};
}

json head_json(const HeadRow& row) {
    json head = {{"layer", row.layer},
                 {"head", row.head},
                 {"pattern", row.pattern.name()},
                 {"rule", row.pattern.rule()},
                 {"strongest", head_json(row.numbers->strongest)},
                 {"received", row.numbers->received}};
    for (const auto& [name, value] : numbers_of(row)) head[name] = value;
    if (row.values)
        head["strongest_by_values"] = {{"projected", head_json(row.values->strongest)},
                                       {"bare", head_json(row.values->strongest_unprojected)}};
    return head;
}

json head_json(const std::optional<SquareMatrix>& matrix) {
    if (!matrix) return nullptr;
    json rows = json::array();
    const auto n = static_cast<std::size_t>(matrix->size);
    for (std::size_t i = 0; i < n; ++i) rows.push_back(std::span(matrix->values).subspan(i * n, n));
    return rows;
}

}  // namespace

void print_heads_json(const HeadsReport& report) {
    const HeadSurvey& survey = report.survey;
    const Model& model = survey.session().model();
    json tokens = json::array(), heads = json::array(), telling = json::array();
    for (int i = 0; i < survey.tokens(); ++i)
        tokens.push_back({{"id", survey.id(i)}, {"text", survey.texts()[static_cast<std::size_t>(i)]}});
    for (const HeadRow& row : report.rows) heads.push_back(head_json(row));
    for (const TellingHead& t : survey.all_telling())
        telling.push_back({{"layer", t.layer},
                           {"head", t.head},
                           {"score", t.score},
                           {"read", head_json(t.read)},
                           {"example", reason_text(survey, t)}});
    json all = {{"schema_version", 1},
                {"model", model.info().name},
                {"device", model.device().caps().name},
                {"precision", report.precision},
                {"tokens", tokens},
                {"sorted_by", report.sorted_by},
                {"heads", heads},
                {"most_telling", telling},
                {"files", report.files}};
    if (report.loss) all["loss"] = *report.loss;
    if (report.rollout) all["rollout"] = head_json(report.rollout);
    if (report.flow) all["flow"] = head_json(report.flow);
    std::printf("%s\n", all.dump(2, ' ', false, json::error_handler_t::replace).c_str());
}

}  // namespace vantage::cli
