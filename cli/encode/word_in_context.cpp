#include "cli/encode/word_in_context.h"

#include <algorithm>
#include <cmath>

#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/text_table.h"
#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/inspect/word_vectors.h"
#include "runtime/io/safetensors.h"
#include "runtime/picture/layer_chart.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"
#include "runtime/session/token_embeddings.h"

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
        Occurrence found{.text = text,
                         .encoding = encode_at(format("embed: text {}", all.size() + 1), ErrorKind::usage,
                                               model.info().context, model.tokenizer(), text)};
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

/// The rows of the text's tokens in the table that the model's first stack reads, [1, tokens, width].
Array static_vectors(const Model& model, const Occurrence& text) {
    const bool encoder = config_of(model).kind == ModelKind::encoder_decoder;
    const std::vector<std::int32_t>& ids = text.encoding.ids;
    std::vector<float> rows = token_embeddings(model, ids, encoder ? AttentionKind::encoder : AttentionKind::self);
    if (rows.empty()) throw unsupported_error("embed: {} has no table of tokens", model.info().name);
    const std::int64_t width = std::ssize(rows) / std::ssize(ids);
    return {Shape{1, std::ssize(ids), width}, std::move(rows)};
}

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
    std::vector<Array> states, tables;
    for (const Occurrence& text : texts) {
        states.push_back(hidden_states(session, text));
        tables.push_back(static_vectors(session.model(), text));
    }
    const auto compared = [&](const std::string& name, const std::vector<Array>& vectors, std::int64_t layer) {
        return compared_layer(name, texts, [&](std::size_t text, std::size_t first, std::size_t last) {
            return mean_vector(vectors[text], layer, first, last);
        });
    };
    std::vector<ContextLayer> layers{compared("static", tables, 0)};
    // embeddings of another width are not among the hidden states: those begin with the first layer's output
    const std::int64_t first = tables.front().shape()[-1] == states.front().shape()[-1] ? 0 : 1;
    for (std::int64_t layer = 0; layer < states.front().shape()[0]; ++layer)
        layers.push_back(compared(std::to_string(layer + first), states, layer));
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
    const std::size_t width = layers.back().vectors.front().size();
    const std::size_t first = layers.front().vectors.front().size() == width ? 0 : 1;  // without static vectors
    std::vector<float> values;
    for (std::size_t text = 0; text < o.texts.size(); ++text)
        for (std::size_t layer = first; layer < layers.size(); ++layer)
            for (const double value : layers[layer].vectors[text]) values.push_back(static_cast<float>(value));
    write_safetensors(path,
                      {{"word",
                        "F32",
                        {std::ssize(o.texts), std::ssize(layers) - static_cast<std::int64_t>(first),
                         static_cast<std::int64_t>(width)},
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
    if (config_of(model).sees())
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
