// Statistics of all heads of one attention kind on one input: for `inspect`, `demo` and `heads`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/at.h"
#include "runtime/inspect/head_pattern.h"
#include "runtime/inspect/salient_head.h"
#include "vantage/session.h"

namespace vantage::cli {

class HeadSurvey {
public:
    /// `session` must record attention and have run its first `tokens` tokens.
    HeadSurvey(Session& session, std::size_t tokens, AttentionKind kind = AttentionKind::self);

    AttentionKind kind() const { return kind_; }
    int queries() const { return input_.reading().size(); }
    int tokens() const { return input_.keys.size(); }  ///< keys; also the queries, except in cross-attention
    /// The layers that have heads, ascending.
    const std::vector<std::int64_t>& layers() const { return session_.model().info().layers_of(kind_); }
    int heads() const { return heads_; }  ///< of such a layer
    /// Where a head of such a layer is in numbers().
    std::size_t place(std::int64_t layer, int head) const;
    const HeadStatistics& of(std::int64_t layer, int head) const { return numbers_[place(layer, head)]; }
    /// The most salient head; empty if no head has a score above 0.
    std::optional<SalientHead> salient() const {
        return salient_.empty() ? std::nullopt : std::optional(salient_.front());
    }
    bool is_salient(std::int64_t layer, int head) const {
        return !salient_.empty() && salient_[0].layer == layer && salient_[0].head == head;
    }
    /// The five most salient heads (or fewer), in descending order.
    const std::vector<SalientHead>& all_salient() const { return salient_; }
    const std::vector<HeadStatistics>& numbers() const { return numbers_; }
    /// The weights of a head, [queries, tokens].
    std::vector<float> weights(std::int64_t layer, int head) const;
    /// Labels of the keys (token texts, or positions of patches), and of the queries.
    const std::vector<std::string>& texts() const { return texts_; }
    const std::vector<std::string>& query_texts() const { return input_.queries ? query_texts_ : texts_; }
    const HeadTexts& input() const { return input_; }
    std::int32_t id(int token) const { return at(input_.keys.ids, token); }
    /// Whether the attention has a causal mask.
    bool causal() const { return input_.causal; }
    /// A key in quotation marks, shortened, without control characters.
    std::string quoted(int token) const;
    std::string quoted_query(int token) const;
    /// "“it” → “animal”".
    std::string link_text(const Read& read) const;
    Session& session() const { return session_; }

private:
    /// Of texts of at most 512 tokens.
    void measure_similarity();

    Session& session_;
    AttentionKind kind_;
    int heads_;
    std::vector<std::string> texts_, query_texts_;
    HeadTexts input_;
    std::vector<HeadStatistics> numbers_;
    std::vector<SalientHead> salient_;
};

/// The model's own attention; of recurrent ones that of the decoder to the encoder's text.
AttentionKind main_attention(const Model& model);
/// {"query", "key", "weight"}, or null if there is none.
nlohmann::json json_of(const Read& read);
/// The text of one token; "#17" if the model has no tokenizer.
std::string token_text(const Model& model, std::int32_t id);
/// The link that decided: "“it” → “animal” (0.61)".
std::string reason_text(const HeadSurvey& survey, const SalientHead& salient);
/// The same for the most salient head; empty if there is none.
std::string reason_text(const HeadSurvey& survey);

}  // namespace vantage::cli
