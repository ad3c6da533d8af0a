#include "cli/inspect/inspect_report.h"

#include "cli/shared/generation_options.h"
#include "cli/shared/probabilities.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/at.h"
#include "runtime/models/config.h"
#include "runtime/models/image_processor.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

constexpr int answers_shown = 8, max_word = 16;
constexpr int share_width = 6;  // columns of a share, without the gap
constexpr const char* share_gap = "  ";
constexpr int link_columns = 18;  // at least, for the largest weight

struct Answer {
    std::string name;  ///< a token's text, or a label
    std::int32_t id = 0;
    double number = 0;  ///< its probability; of a regression its value
};

/// The most probable next tokens, the labels of a classifier, or all outputs of a regression. Empty for encoders without
/// a classification head.
std::vector<Answer> answers(const Session& session) {
    const ModelConfig& config = config_of(session.model());
    std::vector<Answer> best;
    if (config.kind == ModelKind::encoder && config.head != Head::classification) return best;
    const bool labels = config.head == Head::classification;
    const auto count = labels ? config.labels.size() : static_cast<std::size_t>(config.vocab);
    const Array all = session.logits();
    const std::span<const float> logits = all.values().last(count);
    const std::vector<double> p = labels ? label_values(config, logits) : probabilities(logits);
    std::vector<std::size_t> shown = largest(p, is_regression(config) ? p.size() : answers_shown);
    if (is_regression(config)) std::ranges::sort(shown);
    for (const std::size_t i : shown) {
        const auto id = static_cast<std::int32_t>(i);
        best.push_back({labels ? config.labels[i] : token_text(session.model(), id), id, p[i]});
    }
    return best;
}

// ---- text -----------------------------------------------------------------------------------------------------------

/// A share on the background colour of the heat maps.
std::string share_cell(const Page& page, double share) {
    return on_share(page, share, align_right(share_text(share), share_width) + share_gap);
}

std::string bar(double part, int width) {
    std::string text;
    for (int i = 0; i < static_cast<int>(std::lround(part * width)); ++i) text += "█";
    return text;
}

void print_answers(const HeadSurvey& survey, const Page& page) {
    const std::vector<Answer> all = answers(survey.session());
    if (all.empty()) return;
    const ModelConfig& config = config_of(survey.session().model());
    const bool labels = config.head == Head::classification;
    print_line("{}", page.bold(labels ? "label" : "next token"));
    for (const Answer& answer : all) {
        const std::string word = labels ? without_controls(answer.name) : token_label(answer.name);
        print_line("  {:.3f}  {} {}", answer.number, align_left(shortened(word, max_word), max_word),
                   is_regression(config) ? "" : page.accent(bar(answer.number, 40)));
    }
}

std::string strongest_text(const HeadSurvey& survey, const HeadStatistics& head) {
    if (head.strongest.query < 0) return "";
    return survey.link_text(head.strongest) + " " + share_text(static_cast<double>(head.strongest.weight));
}

/// Masses of a head that the table shows.
struct ShareColumn {
    HeadPattern::Kind pattern;
    double (*share)(const HeadStatistics&);
};

/// As many as leave room for the largest weight.
std::vector<ShareColumn> share_columns(int room) {
    std::vector<ShareColumn> columns{
        {HeadPattern::attention_sink, [](const HeadStatistics& h) { return h.first; }},
        {HeadPattern::previous_token, [](const HeadStatistics& h) { return h.previous; }},
        {HeadPattern::self, [](const HeadStatistics& h) { return h.self; }},
        {HeadPattern::induction, [](const HeadStatistics& h) { return h.induction_mass(); }}};
    constexpr int others = 24 + 2 + link_columns;  // columns of names, entropies and the largest weight
    const int each = share_width + column_width(share_gap);
    for (const auto spare : {HeadPattern::self, HeadPattern::attention_sink, HeadPattern::previous_token})
        if (others + each * static_cast<int>(std::ssize(columns)) > room)
            std::erase_if(columns, [&](const ShareColumn& column) { return column.pattern == spare; });
    return columns;
}

void print_heads(const HeadSurvey& survey, const Page& page) {
    if (survey.numbers().empty()) return;  // no attention
    print_line("");
    print_line(
        "{}{}", page.bold("heads"),
        page.dim(format("  means over tokens {} to {}", survey.numbers().front().first_query, survey.queries() - 1)));
    const std::vector<ShareColumn> shares = share_columns(Page::columns());
    std::string heading = "  head       entropy    ";
    for (const ShareColumn& column : shares)
        heading += align_right(info_of(column.pattern).column, share_width) + share_gap;
    print_line("{}", page.dim(heading + "  largest weight"));
    const int link_width = std::max(Page::columns() - column_width(heading) - 2, link_columns);
    for (const std::int64_t layer : survey.layers())
        for (int head = 0; head < survey.heads(); ++head) {
            const HeadStatistics& h = survey.of(layer, head);
            const std::string name = align_left("  " + name_of(HeadId{layer, head, survey.kind()}), 9) +
                                     format("{:5.2f} ({:3.0f} %)  ", h.entropy, 100 * h.relative_entropy);
            const std::string cells =
                join(shares, "", [&](const ShareColumn& column) { return share_cell(page, column.share(h)); });
            const auto shown = [&](const std::string& text) {
                return survey.is_salient(layer, head) ? page.accent(text) : text;
            };
            print_line("{}{}  {}", shown(name), cells, shown(shortened(strongest_text(survey, h), link_width)));
        }
}

/// The encoder's tokens: words, or the places of an image.
std::vector<std::string> source_texts(const Session& session) {
    const ModelConfig& config = config_of(session.model());
    if (config.sees()) return place_names(config.image);
    std::vector<std::string> texts;
    for (const std::int32_t id : session.source_tokens()) texts.push_back(token_text(session.model(), id));
    return texts;
}

/// The source token with the largest mean cross-attention weight, per decoder token.
void print_reads(const InspectReport& report, const Page& page) {
    if (report.reads.empty()) return;
    const std::vector<std::string> sources = source_texts(report.survey.session());
    print_line("\n{}{}", page.bold("cross-attention"),
               page.dim(format("  largest mean weight over all heads, {} source tokens", sources.size())));
    for (std::size_t row = 0; row < report.reads.size(); ++row) {
        const SourceRead& read = report.reads[row];
        const std::string source = token_label(at(sources, read.key));
        print_line("  {} {} {}",
                   align_left(shortened(report.survey.quoted_query(static_cast<int>(row)), max_word), max_word),
                   share_cell(page, read.weight), shortened(source, max_word));
    }
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

Json survey_json(const HeadSurvey& survey) {
    Json heads = Json::array();
    for (const std::int64_t layer : survey.layers())
        for (int head = 0; head < survey.heads(); ++head) {
            const HeadStatistics& h = survey.of(layer, head);
            heads.push_back({{"layer", layer},
                             {"head", head},
                             {"pattern", pattern_of(h).id()},
                             {"entropy", h.entropy},
                             {"relative_entropy", h.relative_entropy},
                             {"largest", h.largest},
                             {"first", h.first},
                             {"previous", h.previous},
                             {"self", h.self},
                             {"induction", h.induction},
                             {"duplicate", h.duplicate},
                             {"repeats", h.repeats},
                             {"standing_out", h.standing_out},
                             {"strongest", json_of(h.strongest)}});
        }
    return heads;
}

Json salient_json(const std::optional<SalientHead>& salient) {
    if (!salient) return nullptr;
    return {{"layer", salient->layer},
            {"head", salient->head},
            {"score", salient->score},
            {"reason", salient->reason == SalientHead::induction ? "induction" : "single-link"},
            {"read", json_of(salient->read)}};
}

Json tokens_json(const Model& model, std::span<const std::int32_t> ids) {
    return json_list(ids, [&](std::int32_t id) { return Json{{"id", id}, {"text", token_text(model, id)}}; });
}

/// "7 tokens" or "16 patches".
std::string length_text(const HeadSurvey& survey) {
    const bool image = config_of(survey.session().model()).is_vision();
    const int count = survey.queries() - (image ? 1 : 0);
    return format("{} {}{}", count, image ? "patch" : "token", count == 1 ? "" : image ? "es" : "s");
}

Json places_json(const ModelConfig& config) {
    return json_list(place_names(config.image), [](const std::string& text) { return Json{{"text", text}}; });
}

/// What the tokens spell together: the tokenizer may put spaces between them, or make one character of several.
std::string text_of(const Model& model, std::span<const std::int32_t> ids) {
    if (model.has_tokenizer()) return model.tokenizer().decode(ids, false);
    return join(ids, "", [&](std::int32_t id) { return token_text(model, id); });
}

}  // namespace

void print_summary(const InspectReport& report) {
    const HeadSurvey& survey = report.survey;
    const Model& model = survey.session().model();
    const Page page;
    print_line("{} {}\n", page.bold(model.info().name),
               page.dim(format("on {} · {}{} · {}", model.device().caps().name, report.precision,
                               variant_text(report.variant), length_text(survey))));
    print_answers(survey, page);
    if (!report.greedy.empty()) {
        print_line("\n{}\n  {}", page.bold("greedy continuation"), without_controls(text_of(model, report.greedy)));
    }
    print_reads(report, page);
    print_heads(survey, page);
    if (const auto salient = survey.salient())
        print_line("\n{} layer {}, head {}: {}", page.bold("most salient"), salient->layer, salient->head,
                   reason_text(survey));
    if (report.check && !report.check->diverged) print_line("\n{} {}", page.bold("check"), report.check->text());
    if (report.files.size() > 2)
        print_line("\n{} {} and {} more", page.bold("wrote"), report.files.front(), report.files.size() - 1);
    else
        for (const std::string& file : report.files) print_line("\n{} {}", page.bold("wrote"), file);
}

void print_json(const InspectReport& report) {
    const HeadSurvey& survey = report.survey;
    const Model& model = survey.session().model();
    const bool labels = config_of(model).head == Head::classification;
    const char* number = is_regression(config_of(model)) ? "value" : "probability";
    const Json list = json_list(answers(survey.session()), [&](const Answer& answer) {
        return Json{{"id", answer.id}, {labels ? "label" : "text", answer.name}, {number, answer.number}};
    });
    Json all = {{"schema_version", 2},
                {"model", model.info().name},
                {"device", model.device().caps().name},
                {"precision", report.precision},
                {"attention_kind", name_of(report.variant)},
                {"stable", report.stable},
                {"tokens", config_of(model).is_vision() ? places_json(config_of(model))
                                                        : tokens_json(model, survey.session().tokens())},
                {labels ? "labels" : "next", list},
                {"layers", survey.layers().size()},
                {"heads_per_layer", survey.heads()},
                {"heads", survey_json(survey)},
                {"most_telling", salient_json(survey.salient())},
                {"files", report.files}};
    if (!report.reads.empty()) {
        all["source"] = config_of(model).sees() ? places_json(config_of(model))
                                                : tokens_json(model, survey.session().source_tokens());
        all["source_reads"] = json_list(report.reads, [](const SourceRead& read) {
            return Json{{"key", read.key}, {"weight", read.weight}};
        });
    }
    if (!report.greedy.empty()) all["greedy"] = tokens_json(model, report.greedy);
    if (const auto& check = report.check)
        all["check"] = {{"nodes", check->nodes},
                        {"diverged", check->diverged ? Json({{"node", check->diverged->node},
                                                             {"kernel", check->diverged->kernel},
                                                             {"message", check->diverged->message}})
                                                     : Json(nullptr)}};
    write_json(all);
}

}  // namespace vantage::cli
