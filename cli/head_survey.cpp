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
constexpr int longest_quotation = 20;
constexpr std::size_t most_telling = 5;
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
    if (session.model().has_tokenizer()) {
        sequence_.words = words_among(texts_);
        sequence_.delimiters = delimiters_among(texts_);
        for (std::size_t i = 0; i < texts_.size(); ++i)
            if (session.model().tokenizer().is_special(sequence_.ids[i])) {
                sequence_.delimiters[i] = true;
                sequence_.words[i] = false;
            }
    }
    const std::vector<std::int32_t> marks = sequence_.marks();
    Progress progress("reading the heads");
    for (int layer = 0; layer < layers_; ++layer) {
        progress.show(layer, layers_);
        const HeadTable table = session.head_statistics(layer, marks);
        const std::vector<HeadStatistics> some = head_statistics(table.rows, table.keys, sequence_, heads_, causal());
        numbers_.insert(numbers_.end(), some.begin(), some.end());
    }
    telling_ = telling_heads(numbers_, heads_, most_telling);
}

bool HeadSurvey::causal() const { return session_.model().config().kind != ModelKind::encoder; }

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

std::string reason_text(const HeadSurvey& survey, const TellingHead& telling) {
    const std::string link = survey.quoted(telling.read.query) + " reads " + survey.quoted(telling.read.key);
    const char* why = telling.reason == TellingHead::copies ? ", which came next last time" : "";
    return link + why + format(" (%.2f)", static_cast<double>(telling.read.weight));
}

std::string reason_text(const HeadSurvey& survey) {
    return survey.telling() ? reason_text(survey, *survey.telling()) : "";
}

}  // namespace vantage::cli
