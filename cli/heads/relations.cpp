#include "cli/heads/relations.h"

#include <algorithm>

#include "cli/heads/importance.h"
#include "cli/shared/generation_options.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/text_table.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/inspect/dependencies.h"
#include "runtime/models/config.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

/// The attention that reads the sentences: an encoder's, or a decoder's own.
AttentionKind kind_of(const Model& model) {
    return config_of(model).kind == ModelKind::encoder_decoder ? AttentionKind::encoder : AttentionKind::self;
}

std::vector<Tokenizer::Encoding> encoded(const Model& model, const std::vector<Sentence>& sentences,
                                         const std::string& file) {
    std::vector<Tokenizer::Encoding> all;
    for (const Sentence& sentence : sentences) {
        all.push_back(encode_at(format("{}:{}", file, sentence.line), ErrorKind::bad_file, model.info().context,
                                model.tokenizer(), sentence.text));
        if (std::ssize(all.back().ids) > model.info().context)
            throw bad_file_error("{}:{}: the sentence has {} tokens, but {} supports at most {}", file, sentence.line,
                                 all.back().ids.size(), model.info().name, model.info().context);
        if (std::ssize(sentence.words) > model.info().context)  // many of them may be one unknown token
            throw bad_file_error("{}:{}: the sentence has {} words, but {} supports at most {} tokens", file,
                                 sentence.line, sentence.words.size(), model.info().name, model.info().context);
    }
    return all;
}

RelationScores scores_of(const Model& model, const std::vector<Sentence>& sentences,
                         const std::vector<Tokenizer::Encoding>& encodings, const SessionOptions& options) {
    const AttentionKind kind = kind_of(model);
    const std::vector<std::int64_t>& layers = model.info().layers_of(kind);
    const std::int64_t heads = model.info().heads_of(kind);
    Session session(model, options);
    RelationScores scores;
    Progress progress("reading sentences");
    for (std::size_t i = 0; i < sentences.size(); ++i) {
        progress.show(static_cast<std::int64_t>(i), std::ssize(sentences));
        const Sentence& sentence = sentences[i];
        const std::size_t tokens = encodings[i].ids.size();
        session.restart();
        if (kind == AttentionKind::encoder)
            session.set_source(encodings[i].ids);
        else
            session.append(encodings[i].ids);
        session.run();
        const std::vector<std::vector<int>> words = tokens_of_words(sentence, encodings[i].offsets);
        scores.count(sentence, static_cast<int>(std::ssize(layers) * heads));
        for (std::size_t row = 0; row < layers.size(); ++row) {
            const Array weights = session.attention(layers[row], kind);
            for (std::int64_t head = 0; head < heads; ++head)
                scores.add(sentence, static_cast<int>(static_cast<std::int64_t>(row) * heads + head),
                           word_attention(weights.values().subspan(static_cast<std::size_t>(head) * tokens * tokens,
                                                                   tokens * tokens),
                                          tokens, words));
        }
    }
    note_dispatches(model.device(), session.take_timings());
    return scores;
}

double share(int correct, const RelationScore& score) {
    return score.count > 0 ? static_cast<double>(correct) / score.count : 0;
}

class Report {
public:
    Report(const Model& model, const RelationScores& scores) : model_(model), scores_(scores) {
        for (const auto& [name, score] : scores.by_name) names_.push_back(name);
        std::ranges::stable_sort(names_, [&](const std::string& a, const std::string& b) {
            return scores.by_name.at(a).count > scores.by_name.at(b).count;
        });
    }

    void print(std::size_t sentences, const SessionOptions& options) const {
        const Page page;
        print_line("{} {}", page.bold(model_.info().name),
                   page.dim(format("on {} · {}{} · {} sentences", model_.device().caps().name,
                                   name_of(options.precision), variant_text(options.variant), sentences)));
        print_line("\n{}{}", page.bold("relations"), page.dim("  head with the largest share of right words"));
        TextTable table("lrlrlrrr");
        table.row({"relation", "number", "dependent → head", "", "head → dependent", "", "offset", ""});
        if (scores_.all.count > 0) table.row(row("all but punct", scores_.all));
        for (const std::string& name : names_) table.row(row(name, scores_.by_name.at(name)));
        write_out(table.text());
        print_line("{}", page.dim("  offset: the word at the best fixed distance, for comparison"));
    }

    Json json() const {
        Json relations = Json::array();
        for (const std::string& name : names_) relations.push_back(relation_json(name, scores_.by_name.at(name)));
        return {{"all_but_punct", relation_json("all but punct", scores_.all)}, {"relations", relations}};
    }

private:
    HeadId head_at(std::size_t index) const {
        const AttentionKind kind = kind_of(model_);
        const auto heads = model_.info().heads_of(kind), i = static_cast<std::int64_t>(index);
        return {at(model_.info().layers_of(kind), i / heads), i % heads, kind};
    }
    /// The first head with the most right predictions.
    static std::size_t best(const std::vector<int>& correct) {
        return static_cast<std::size_t>(std::ranges::max_element(correct) - correct.begin());
    }
    std::vector<std::string> row(const std::string& name, const RelationScore& score) const {
        std::vector<std::string> cells{without_controls(name), std::to_string(score.count)};
        for (const std::vector<int>* correct : {&score.to_head, &score.from_head}) {
            const std::size_t head = best(*correct);
            cells.push_back((*correct)[head] > 0 ? name_of(head_at(head)) : "–");
            cells.push_back(share_text(share((*correct)[head], score)));
        }
        const auto [offset, right] = score.best_offset();
        cells.push_back(format("{:+}", offset));
        cells.push_back(share_text(share(right, score)));
        return cells;
    }
    Json best_json(const std::vector<int>& correct, const RelationScore& score) const {
        if (correct.empty()) return nullptr;
        if (correct[best(correct)] == 0) return nullptr;
        const HeadId head = head_at(best(correct));
        return {{"layer", head.layer}, {"head", head.head}, {"accuracy", share(correct[best(correct)], score)}};
    }
    Json relation_json(const std::string& name, const RelationScore& score) const {
        Json heads = Json::array();
        for (std::size_t i = 0; i < score.to_head.size(); ++i)
            heads.push_back({{"layer", head_at(i).layer},
                             {"head", head_at(i).head},
                             {"dependent_to_head", share(score.to_head[i], score)},
                             {"head_to_dependent", share(score.from_head[i], score)}});
        const auto [offset, right] = score.best_offset();
        return {{"relation", name},
                {"count", score.count},
                {"dependent_to_head", best_json(score.to_head, score)},
                {"head_to_dependent", best_json(score.from_head, score)},
                {"offset", {{"words", offset}, {"accuracy", share(right, score)}}},
                {"heads", heads}};
    }

    const Model& model_;
    const RelationScores& scores_;
    std::vector<std::string> names_;  ///< the most frequent first
};

}  // namespace

void print_relations(const Model& model, const std::string& file, SessionOptions options, bool json) {
    const std::vector<Sentence> sentences = parse_conllu(read_file(file), file);
    const std::vector<Tokenizer::Encoding> encodings = encoded(model, sentences, file);
    for (const Tokenizer::Encoding& encoding : encodings)
        options.context = std::max(options.context, std::ssize(encoding.ids));
    const RelationScores scores = scores_of(model, sentences, encodings, options);
    const Report report(model, scores);
    if (!json) return report.print(sentences.size(), options);
    Json all = report.json();
    all["schema_version"] = 1, all["model"] = model.info().name, all["device"] = model.device().caps().name;
    all["attention_kind"] = name_of(options.variant);
    all["precision"] = name_of(options.precision), all["sentences"] = sentences.size();
    write_json(all);
}

}  // namespace vantage::cli
