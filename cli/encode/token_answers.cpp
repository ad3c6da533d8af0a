#include "cli/encode/token_answers.h"

#include "cli/shared/output.h"
#include "cli/shared/probabilities.h"
#include "runtime/base/errors.h"
#include "runtime/base/terminal.h"
#include "runtime/base/utf8.h"
#include "runtime/session/model_access.h"
#include "runtime/session/text_answers.h"

namespace vantage::cli {

namespace {

/// A text and the tokens [first, last) of an encoding that are its own, without special tokens.
class PlacedText {
public:
    PlacedText(const std::string& text, const Tokenizer::Encoding& encoding, std::size_t own_tokens)
        : offsets_(encoding.offsets), characters_(decode_utf8(text)) {
        last = offsets_.size();
        while (last > own_tokens && offsets_[last - 1] == std::pair<std::size_t, std::size_t>()) --last;
        first = last - std::min(last, own_tokens);
    }
    std::size_t first = 0, last = 0;

    /// In Unicode code points.
    std::pair<std::size_t, std::size_t> place(std::size_t from, std::size_t to) const {
        return {offsets_[from].first, offsets_[to - 1].second};
    }
    std::string part(std::size_t from, std::size_t to) const {
        const auto [begin, end] = place(from, to);
        return encode_utf8(std::u32string_view(characters_).substr(begin, end - begin));
    }
    Json json(const TextAnswer& answer) const {
        const auto [begin, end] = place(answer.first, answer.last);
        return {{"text", part(answer.first, answer.last)},
                {"begin", begin},
                {"end", end},
                {"probability", answer.probability}};
    }

private:
    const std::vector<std::pair<std::size_t, std::size_t>>& offsets_;
    std::u32string characters_;
};

std::size_t tokens_of(const Model& model, const std::string& text) {
    return model.tokenizer().encode(text, false).ids.size();
}

std::string shown(const PlacedText& text, const TextAnswer& answer) {
    return without_controls(text.part(answer.first, answer.last));
}

}  // namespace

void print_entities(const Session& session, const Tokenizer::Encoding& encoding, const std::string& text, bool json) {
    const Model& model = session.model();
    const ModelConfig& config = config_of(model);
    const PlacedText placed(text, encoding, tokens_of(model, text));
    const Array logits = session.logits();
    const std::vector<TextAnswer> found = entities(config.labels, logits.values(), placed.first, placed.last);
    if (!json) {
        if (found.empty()) print_line("no entities");
        for (const TextAnswer& one : found)
            print_line("  {:.3f}  {}  {}", one.probability, shown(placed, one), without_controls(one.label));
        return;
    }
    const auto entity_json = [&](const TextAnswer& one) {
        Json object = placed.json(one);
        object["label"] = one.label;
        return object;
    };
    Json tokens = Json::array();
    for (std::size_t i = placed.first; i < placed.last; ++i) {
        const std::vector<double> p =
            label_values(config, logits.values().subspan(i * config.labels.size(), config.labels.size()));
        const std::size_t best = largest(p, 1)[0];
        Json token = placed.json({.label = {}, .first = i, .last = i + 1, .probability = p[best]});
        token["label"] = config.labels[best];
        tokens.push_back(std::move(token));
    }
    write_json({{"schema_version", 1},
                {"model", model.info().name},
                {"entities", json_list(found, entity_json)},
                {"tokens", std::move(tokens)}});
}

void print_answers(const Session& session, const Tokenizer::Encoding& encoding, const std::string& text,
                   const AnswerOptions& options) {
    const Model& model = session.model();
    const PlacedText placed(text, encoding, tokens_of(model, text));
    if (placed.first == placed.last) throw usage_error("classify: the text of --pair has no tokens");
    const std::vector<TextAnswer> answers =
        best_answers(session.logits().values(), placed.first, placed.last, options.max_tokens, options.top);
    if (!options.json) {
        for (const TextAnswer& one : answers)
            print_line("  {:.3f}  {}", one.probability, one.last == 0 ? "(no answer)" : shown(placed, one));
        return;
    }
    const auto answer_json = [&](const TextAnswer& one) {
        if (one.last > 0) return placed.json(one);
        return Json{{"text", nullptr}, {"begin", nullptr}, {"end", nullptr}, {"probability", one.probability}};
    };
    write_json({{"schema_version", 1}, {"model", model.info().name}, {"answers", json_list(answers, answer_json)}});
}

}  // namespace vantage::cli
