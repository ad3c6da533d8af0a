#include "cli/heads/heads_json.h"

#include <cmath>

#include "cli/heads/layer_means.h"
#include "cli/shared/output.h"

namespace vantage::cli {

void print_heads_csv(const HeadsReport& report) {
    std::string text = "attention,layer,head,pattern,share";
    for (const auto& [name, value] : numbers_of(report.parts.front().rows.front())) text += format(",{}", name);
    text += ",strongest_query,strongest_key,strongest_weight\n";
    for (const HeadsPart& part : report.parts)
        for (const HeadRow& row : part.rows) {
            text += format("{},{},{},{},{:.6g}", part.name(), row.place.layer, row.place.head, row.pattern.id(),
                           row.pattern.share);
            for (const auto& [name, value] : numbers_of(row))
                text += std::isnan(value) ? "," : format(",{:.6g}", value);
            const Read& read = row.numbers->strongest;
            text += read.query < 0 ? ",,,\n" : format(",{},{},{:.6g}\n", read.query, read.key, read.weight);
        }
    std::printf("%s", text.c_str());
}

namespace {
Json row_json(const HeadsPart& part, const HeadRow& row) {
    Json head = {{"attention", part.name()},
                 {"layer", row.place.layer},
                 {"head", row.place.head},
                 {"pattern", row.pattern.id()},
                 {"share", row.pattern.share},
                 {"rule", row.pattern.rule()},
                 {"strongest", json_of(row.numbers->strongest)},
                 {"received", row.numbers->received}};
    for (const auto& [name, value] : numbers_of(row)) head[name] = value;  // NaN becomes null
    if (row.values)
        head["strongest_by_values"] = {{"projected", json_of(row.values->strongest)},
                                       {"bare", json_of(row.values->strongest_unprojected)}};
    return head;
}

Json matrix_json(const SquareMatrix& matrix) {
    Json rows = Json::array();
    const auto n = static_cast<std::size_t>(matrix.size);
    for (std::size_t i = 0; i < n; ++i) rows.push_back(std::span(matrix.values).subspan(i * n, n));
    return rows;
}

/// With one part its matrix; with several an object: matrices by part name. Cross-attention has none.
Json paths_json(const HeadsReport& report, std::optional<SquareMatrix> HeadsPart::*paths) {
    if (report.parts.size() == 1) return matrix_json(*(report.parts.front().*paths));
    Json all = Json::object();
    for (const HeadsPart& part : report.parts)
        if (part.*paths) all[part.name()] = matrix_json(*(part.*paths));
    return all;
}

Json tokens_of_part(const std::vector<std::int32_t>& ids, const std::vector<std::string>& texts, bool image) {
    Json tokens = json_list(texts, [](const std::string& text) { return Json{{"text", text}}; });
    for (std::size_t i = 0; i < ids.size() && !image; ++i) tokens[i]["id"] = ids[i];
    return tokens;
}

}  // namespace

void print_heads_json(const HeadsReport& report) {
    Json heads = Json::array(), layers = Json::array();
    for (const HeadsPart& part : report.parts) {
        for (const HeadRow& row : part.rows) heads.push_back(row_json(part, row));
        for (const Json& layer : layer_means_json(part)) layers.push_back(layer);
    }
    const Json salient = json_list(report.salient_heads(), [](const auto& one) {
        const auto& [part, t] = one;
        return Json{{"attention", part->name()}, {"layer", t.layer},        {"head", t.head},
                    {"score", t.score},          {"read", json_of(t.read)}, {"example", reason_text(part->survey, t)}};
    });
    const HeadSurvey &first = report.parts.front().survey, &last = report.parts.back().survey;
    Json all = {{"schema_version", 2},
                {"model", report.model.info().name},
                {"device", report.model.device().caps().name},
                {"precision", report.precision},
                {"attention_kind", name_of(report.variant)},
                {"stable", report.stable},
                {"tokens", tokens_of_part(last.input().reading().ids, last.query_texts(),
                                          report.image.has_value() && report.parts.size() == 1)},
                {"sorted_by", report.sorted_by.data},
                {"heads", heads},
                {"layers", layers},
                {"most_telling", salient},
                {"files", report.files}};
    if (report.parts.size() > 1)
        all["source"] = tokens_of_part(first.input().keys.ids, first.texts(), report.image.has_value());
    if (report.loss) all["loss"] = *report.loss;
    if (report.parts.front().rollout) all["rollout"] = paths_json(report, &HeadsPart::rollout);
    if (report.parts.front().flow) all["flow"] = paths_json(report, &HeadsPart::flow);
    write_json(all);
}

}  // namespace vantage::cli
