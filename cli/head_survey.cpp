#include "head_survey.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "model_images.h"
#include "progress.h"
#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/io/shown_text.h"
#include "runtime/models/config.h"

namespace vantage::cli {

namespace {
constexpr std::int64_t cells_at_once = 1 << 22;  // 16 MiB of weights on the host, whatever the length of the text
constexpr int longest_quotation = 20;
}  // namespace

HeadSurvey::HeadSurvey(Session& session, std::size_t tokens)
    : session_(session),
      tokens_(static_cast<int>(tokens)),
      layers_(static_cast<int>(session.model().info().layers)),
      heads_(static_cast<int>(session.model().info().heads)) {
    sequence_.ids.assign(session.tokens().begin(), session.tokens().begin() + tokens_);
    if (session.model().config().sees()) {
        std::iota(sequence_.ids.begin(), sequence_.ids.end(), 0);  // no patch is the same token as another
        texts_ = place_names(session.model());
    }
    for (std::size_t i = texts_.size(); i < sequence_.ids.size(); ++i)
        texts_.push_back(token_text(session.model(), sequence_.ids[i]));
    if (session.model().has_tokenizer()) sequence_.words = words_among(texts_);
    const std::int64_t rows_each =
        std::clamp<std::int64_t>(cells_at_once / std::max(tokens_, 1), 1, std::max(tokens_, 1));
    Progress progress("reading the heads");
    for (int layer = 0; layer < layers_; ++layer)
        for (int head = 0; head < heads_; ++head) {
            HeadReader reader(sequence_);
            for (std::int64_t row = 0; row < tokens_; row += rows_each) {
                progress.show(1000 * static_cast<std::int64_t>(numbers_.size()) + 1000 * row / tokens_,
                              1000L * layers_ * heads_);
                const std::int64_t rows = std::min<std::int64_t>(rows_each, tokens_ - row);
                const std::vector<float> block = session.attention(layer, head, row, rows, 0, tokens_);
                for (std::int64_t r = 0; r < rows; ++r)
                    reader.add(std::span(block).subspan(static_cast<std::size_t>(r * tokens_),
                                                        static_cast<std::size_t>(tokens_)));
            }
            numbers_.push_back(reader.finished());
        }
    telling_ = most_telling_head(numbers_, heads_);
}

std::vector<float> HeadSurvey::weights(int layer, int head) const {
    return session_.attention(layer, head, 0, tokens_, 0, tokens_);
}

std::string token_text(const Model& model, std::int32_t id) {
    if (!model.has_tokenizer() || !model.tokenizer().has(id)) return format("#%d", id);
    const Tokenizer& tokenizer = model.tokenizer();
    return tokenizer.is_special(id) ? tokenizer.token_text(id) : tokenizer.token_bytes(id);
}

std::string HeadSurvey::quoted(int token) const {
    std::string_view text = texts_[static_cast<std::size_t>(token)];
    if (text.size() > 1 && text.front() == ' ') text.remove_prefix(1);
    return "“" + shortened(token_label(text), longest_quotation) + "”";
}

std::string reason_text(const HeadSurvey& survey) {
    const std::optional<TellingHead>& telling = survey.telling();
    if (!telling) return "";
    const std::string link = survey.quoted(telling->read.query) + " reads " + survey.quoted(telling->read.key);
    const char* why = telling->reason == TellingHead::copies ? ", which came next last time" : "";
    return link + why + format(" (%.2f)", static_cast<double>(telling->read.weight));
}

}  // namespace vantage::cli
