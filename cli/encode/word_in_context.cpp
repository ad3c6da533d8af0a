#include "cli/encode/word_in_context.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/text_table.h"
#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/inspect/word_vectors.h"
#include "runtime/io/safetensors.h"
#include "runtime/ops/embedding.h"
#include "runtime/picture/layer_chart.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

using Vector = std::vector<double>;

struct Occurrence {
    std::string text;
    Tokenizer::Encoding encoding;
    std::size_t first = 0, last = 0;          // the word's tokens
    bool is_other(std::size_t token) const {  // neither the word nor a token that was added
        return (token < first || token >= last) && encoding.offsets[token].first < encoding.offsets[token].second;
    }
};

struct ContextLayer {
    std::string name;             // "static": the table's rows, before positions are added
    std::vector<Vector> vectors;  // of the word, by text
    Vector cosines;               // of text 1 and each other text
    double others = 0;            // mean cosine of the word in text 1 and the other words of the other texts
};

std::vector<Occurrence> occurrences_of(const Model& model, const WordOptions& o) {
    std::vector<Occurrence> all;
    for (const std::string& text : o.texts) {
        Occurrence found{.text = text, .encoding = encode_for(model.info().context, model, text)};
        std::tie(found.first, found.last) = tokens_of_word(text, o.word, found.encoding.offsets);
        if (found.first == found.last)
            throw usage_error("embed: text {} has no word “{}”; give texts that have it, spelled alike", all.size() + 1,
                              o.word);
        if (std::ssize(found.encoding.ids) > model.info().context)
            throw usage_error("embed: text {} has {} tokens; expected at most {}", all.size() + 1,
                              found.encoding.ids.size(), model.info().context);
        all.push_back(std::move(found));
    }
    return all;
}

/// Hidden states of a text, [layers + 1, tokens, width].
Array hidden_states(Session& session, const Occurrence& text) {
    if (config_of(session.model()).kind == ModelKind::encoder_decoder) {
        session.set_source(text.encoding.ids);
        return session.encoder_hidden();
    }
    session.restart();
    session.append(text.encoding.ids, config_of(session.model()).token_types > 0
                                          ? std::span<const std::int32_t>(text.encoding.type_ids)
                                          : std::span<const std::int32_t>());
    session.run();
    return session.hidden();
}

/// Rows of the table of tokens.
class TokenTable {
public:
    explicit TokenTable(Session& session)
        : plan_(config_of(session.model()).kind == ModelKind::encoder_decoder ? session.encoder_plan(1)
                                                                              : session.plan(session.chunk(1))) {
        const Graph& graph = plan_.graph();
        for (const Node& node : graph.nodes()) {
            if (node.op != &embedding_op) continue;
            const std::string& ids = graph.value(graph.storage(node.inputs[ops::embedding::ids_])).name;
            if (ids == model_names::tokens || ids == model_names::source_tokens)
                name_ = graph.value(graph.storage(node.inputs[ops::embedding::w_])).name;
        }
        if (name_.empty()) throw unsupported_error("embed: {} has no table of tokens", session.model().info().name);
    }
    const Vector& row(std::int32_t id) {
        Vector& known = rows_[id];
        if (known.empty()) {
            const Array row = plan_.read(name_, {id, 1});
            known.assign(row.begin(), row.end());
        }
        return known;
    }
    Vector mean(std::span<const std::int32_t> ids) {
        Vector sum;
        for (const std::int32_t id : ids) {
            const Vector& one = row(id);
            sum.resize(one.size());
            for (std::size_t d = 0; d < one.size(); ++d) sum[d] += one[d] / static_cast<double>(ids.size());
        }
        return sum;
    }

private:
    Plan& plan_;
    std::string name_;
    std::map<std::int32_t, Vector> rows_;
};

/// Compares what `vector_of(text, first token, last token)` gives.
template <class VectorOf>
ContextLayer compared_layer(const std::string& name, const std::vector<Occurrence>& texts, const VectorOf& vector_of) {
    ContextLayer layer{.name = name, .vectors = {}, .cosines = {}};
    for (std::size_t i = 0; i < texts.size(); ++i) layer.vectors.push_back(vector_of(i, texts[i].first, texts[i].last));
    double sum = 0, count = 0;
    for (std::size_t i = 1; i < texts.size(); ++i) {
        layer.cosines.push_back(cosine(layer.vectors.front(), layer.vectors[i]));
        for (std::size_t token = 0; token < texts[i].encoding.ids.size(); ++token)
            if (texts[i].is_other(token)) sum += cosine(layer.vectors.front(), vector_of(i, token, token + 1)), ++count;
    }
    layer.others = count > 0 ? sum / count : std::nan("");
    return layer;
}

std::vector<ContextLayer> layers_of(Session& session, const std::vector<Occurrence>& texts) {
    std::vector<Array> states;
    for (const Occurrence& text : texts) states.push_back(hidden_states(session, text));
    TokenTable table(session);
    std::vector<ContextLayer> layers{
        compared_layer("static", texts, [&](std::size_t text, std::size_t first, std::size_t last) {
            return table.mean(std::span(texts[text].encoding.ids).subspan(first, last - first));
        })};
    for (std::int64_t layer = 0; layer < states.front().shape()[0]; ++layer)
        layers.push_back(
            compared_layer(std::to_string(layer), texts, [&](std::size_t text, std::size_t first, std::size_t last) {
                return mean_vector(states[text], layer, first, last);
            }));
    return layers;
}

std::string pieces_text(const Occurrence& text) {
    return text.last - text.first == 1 ? format("token {}", text.first)
                                       : format("tokens {} to {}, their mean", text.first, text.last - 1);
}

void print_contexts(const Model& model, const WordOptions& o, const std::vector<Occurrence>& texts,
                    const std::vector<ContextLayer>& layers) {
    const Page page;
    print_line("{} {}", page.bold("“" + o.word + "”"),
               page.dim(format("in {} texts · {} on {}", texts.size(), model.info().name, model.device().caps().name)));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string place = "  " + pieces_text(texts[i]);
        print_line("  {}  {}{}", i + 1,
                   shortened(without_controls(texts[i].text), std::max(Page::columns() - column_width(place) - 6, 20)),
                   page.dim(place));
    }
    TextTable table("l" + std::string(texts.size(), 'r'));
    std::vector<std::string> heading{"layer"};
    for (std::size_t i = 1; i < texts.size(); ++i) heading.push_back(format("1 and {}", i + 1));
    heading.emplace_back("other words");
    table.row(heading);
    for (const ContextLayer& layer : layers) {
        std::vector<std::string> row{layer.name};
        for (const double one : layer.cosines) row.push_back(if_defined(one, format("{:.3f}", one)));
        row.push_back(if_defined(layer.others, format("{:.3f}", layer.others)));
        table.row(row);
    }
    print_line("\n{}", page.bold("cosine similarity of the word's vectors"));
    std::fputs(table.text().c_str(), stdout);
    print_line("{}", page.dim("  static: rows of the table of tokens, without context; 0: with positions, before the"));
    print_line("{}", page.dim("  first layer; other words: the word in text 1 and all other words of the other texts"));
}

Json contexts_json(const Model& model, const WordOptions& o, const std::vector<Occurrence>& texts,
                   const std::vector<ContextLayer>& layers) {
    const auto text = [](const Occurrence& one) {
        Json tokens = Json::array();
        for (std::size_t i = one.first; i < one.last; ++i)
            tokens.push_back({{"position", i}, {"id", one.encoding.ids[i]}});
        return Json{{"text", one.text}, {"tokens", tokens}};
    };
    const auto layer = [](const ContextLayer& one) {
        return Json{
            {"layer", one.name}, {"cosines", one.cosines}, {"other_words", one.others}, {"vectors", one.vectors}};
    };
    return {{"schema_version", 1}, {"model", model.info().name},      {"device", model.device().caps().name},
            {"word", o.word},      {"texts", json_list(texts, text)}, {"layers", json_list(layers, layer)}};
}

void save_vectors(const std::string& path, const WordOptions& o, const std::vector<ContextLayer>& layers) {
    std::vector<float> values;
    for (std::size_t text = 0; text < o.texts.size(); ++text)
        for (const ContextLayer& layer : layers)
            for (const double value : layer.vectors[text]) values.push_back(static_cast<float>(value));
    write_safetensors(path,
                      {{"word",
                        "F32",
                        {std::ssize(o.texts), std::ssize(layers), std::ssize(layers.front().vectors.front())},
                        std::as_bytes(std::span(values))}},
                      {{"word", o.word}});
}

void write_chart(const Model& model, const WordOptions& o, const std::vector<ContextLayer>& layers) {
    constexpr Rgb colours[] = {{72, 219, 205}, {255, 176, 59}, {190, 160, 255}, {160, 210, 90}, {226, 130, 190}};
    LayerChart chart{.title = "“" + without_controls(o.word) + "” in context",
                     .caption = model.info().name,
                     .layers = {},
                     .panels = {}};
    LayerPanel panel{.title = "cosine similarity", .dots = {}, .lines = {}, .stacks = {}};
    LayerSeries others{.name = "text 1 and other words", .colour = style::faint, .values = {}};
    for (std::size_t i = 1; i < o.texts.size(); ++i) {
        LayerSeries& line = panel.lines.emplace_back();
        line = {
            .name = format("text 1 and text {}", i + 1), .colour = colours[(i - 1) % std::size(colours)], .values = {}};
        for (const ContextLayer& layer : layers) line.values.push_back(layer.cosines[i - 1]);
    }
    for (std::size_t i = 0; i < o.texts.size(); ++i)
        chart.caption += format("\n{}  {}", i + 1, shortened(without_controls(o.texts[i]), 60));
    for (const ContextLayer& layer : layers) {
        chart.layers.push_back(layer.name);
        others.values.push_back(layer.others);
        for (const double one : layer.cosines) panel.minimum = std::fmin(panel.minimum, one < 0 ? -1 : 0);
        panel.minimum = std::fmin(panel.minimum, layer.others < 0 ? -1 : 0);
    }
    panel.lines.push_back(std::move(others));
    chart.panels.push_back(std::move(panel));
    write_drawing(o.chart, draw_layer_chart(chart), chart.title);
}

}  // namespace

void compare_word(const Model& model, const WordOptions& o) {
    if (config_of(model).is_vision())
        throw usage_error("embed: --word needs a model that reads text, but {} reads images", model.info().name);
    if (o.texts.size() < 2)
        throw usage_error("embed: --word compares one word in several texts; give -p TEXT at least twice");
    if (!o.chart.empty()) require_picture_name(o.chart);
    const std::vector<Occurrence> texts = occurrences_of(model, o);
    SessionOptions options = o.session;
    options.inspect = true;
    for (const Occurrence& text : texts) options.context = std::max(options.context, std::ssize(text.encoding.ids));
    Session session(model, options);
    const std::vector<ContextLayer> layers = layers_of(session, texts);
    note_dispatches(model.device(), session.take_timings());
    if (!o.save.empty()) save_vectors(o.save, o, layers);
    if (!o.chart.empty()) write_chart(model, o, layers);
    o.json ? write_json(contexts_json(model, o, texts, layers)) : print_contexts(model, o, texts, layers);
}

}  // namespace vantage::cli
