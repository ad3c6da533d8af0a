// What all heads that attend one way did with one input: for `inspect`, `demo` and `heads`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/inspect/head_pattern.h"
#include "runtime/inspect/salient_head.h"
#include "vantage/session.h"

namespace vantage::cli {

class HeadSurvey {
public:
    /// The session watches, and has run its first `tokens` tokens. Of an encoder–decoder `of` says which heads.
    HeadSurvey(Session& session, std::size_t tokens, AttentionKind kind = AttentionKind::self);

    AttentionKind kind() const { return kind_; }
    int queries() const { return input_.reading().size(); }
    int tokens() const { return input_.keys.size(); }  ///< that are read; the queries, too, but of cross attention
    int layers() const { return layers_; }
    int heads() const { return heads_; }
    const HeadStatistics& of(int layer, int head) const {
        return numbers_[static_cast<std::size_t>(layer * heads_ + head)];
    }
    /// The head that is worth a look, and why; nothing where no head reads beyond its neighbours.
    std::optional<SalientHead> salient() const {
        return salient_.empty() ? std::nullopt : std::optional(salient_.front());
    }
    /// The five best of them, the best first; fewer where fewer read beyond their neighbours.
    const std::vector<SalientHead>& all_salient() const { return salient_; }
    const std::vector<HeadStatistics>& numbers() const { return numbers_; }
    /// The whole matrix [queries, tokens] of a head.
    std::vector<float> weights(int layer, int head) const;
    /// The text of each token that is read, or the place of each patch, for labels; and of each that reads.
    const std::vector<std::string>& texts() const { return texts_; }
    const std::vector<std::string>& query_texts() const { return input_.queries ? query_texts_ : texts_; }
    const HeadTexts& input() const { return input_; }
    std::int32_t id(int token) const { return input_.keys.ids[static_cast<std::size_t>(token)]; }
    /// Whether no token sees a later one.
    bool causal() const { return input_.causal; }
    /// A token in quotation marks, short and without anything that a terminal would obey.
    std::string quoted(int token) const;
    std::string quoted_query(int token) const;
    /// "“it” → “animal”".
    std::string link_text(const Read& read) const;
    Session& session() const { return session_; }

private:
    Session& session_;
    AttentionKind kind_;
    int layers_, heads_;
    std::vector<std::string> texts_, query_texts_;
    HeadTexts input_;
    std::vector<HeadStatistics> numbers_;
    std::vector<SalientHead> salient_;
};

/// The text of a token by itself; "#17" where the model has no tokenizer.
std::string token_text(const Model& model, std::int32_t id);
std::string reason_text(const HeadSurvey& survey, const SalientHead& salient);
/// Why the most telling head is one: "“it” reads “animal” (0.61)"; empty where there is none.
std::string reason_text(const HeadSurvey& survey);

}  // namespace vantage::cli
