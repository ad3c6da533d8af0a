#include "cli/shared/head_survey.h"

#include <numeric>

#include "cli/shared/progress.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/inspect/embedding_similarity.h"
#include "runtime/models/config.h"
#include "runtime/models/image_processor.h"
#include "runtime/picture/shown_text.h"
#include "runtime/session/model_access.h"
#include "runtime/session/token_embeddings.h"

namespace vantage::cli {

namespace {

constexpr int max_quotation = 20;
constexpr int max_similarity_tokens = 512;  // n² weights per head on the host
constexpr std::size_t max_salient = 5;

TokenSequence sequence_of(const Model& model, std::vector<std::int32_t> ids, const std::vector<std::string>& texts) {
    TokenSequence sequence{.ids = std::move(ids)};
    if (!model.has_tokenizer()) return sequence;
    sequence.words = words_among(texts);
    sequence.separators = separators_among(texts);
    for (std::size_t i = 0; i < texts.size(); ++i)
        if (model.tokenizer().is_special(sequence.ids[i])) sequence.separators[i] = true, sequence.words[i] = false;
    return sequence;
}

std::vector<std::string> token_texts(const Model& model, const std::vector<std::int32_t>& ids) {
    std::vector<std::string> texts;
    for (const std::int32_t id : ids) texts.push_back(token_text(model, id));
    return texts;
}

}  // namespace

HeadSurvey::HeadSurvey(Session& session, std::size_t tokens, AttentionKind kind)
    : session_(session), kind_(kind), heads_(static_cast<int>(session.model().info().heads_of(kind))) {
    const Model& model = session.model();
    const std::vector<std::int32_t> written(session.tokens().begin(),
                                            session.tokens().begin() + static_cast<std::ptrdiff_t>(tokens));
    const ModelConfig& config = config_of(model);
    const bool writes = config.kind == ModelKind::encoder_decoder;
    if (config.sees() && !(writes && kind == AttentionKind::self)) {
        input_.keys.ids.resize(static_cast<std::size_t>(config.image.places()));
        std::iota(input_.keys.ids.begin(), input_.keys.ids.end(), 0);  // no two patches are the same token
        if (kind != AttentionKind::cross) input_.columns = static_cast<int>(config.image.columns());
        texts_ = place_names(config.image);
    } else {
        const std::vector<std::int32_t>& ids = kind == AttentionKind::self ? written : session.source_tokens();
        texts_ = token_texts(model, ids);
        input_.keys = sequence_of(model, ids, texts_);
        input_.causal = kind == AttentionKind::self && config.attention(0).causal;
    }
    if (kind == AttentionKind::cross) {
        query_texts_ = token_texts(model, written);
        input_.queries = sequence_of(model, written, query_texts_);
    }
    const std::vector<std::int32_t> marks = input_.marks();
    Progress progress("head statistics");
    for (const std::int64_t layer : layers()) {
        progress.show(std::ssize(numbers_), std::ssize(layers()) * heads_);
        const HeadTable table = session.head_statistics(layer, marks, {}, kind);
        const std::vector<HeadStatistics> some = head_statistics(table.rows, table.keys, input_, heads_);
        numbers_.insert(numbers_.end(), some.begin(), some.end());
    }
    measure_similarity();
    salient_ = salient_heads(numbers_, heads_, max_salient, layers());
}

void HeadSurvey::measure_similarity() {
    if (!input_.in_line() || tokens() > max_similarity_tokens) return;
    const std::vector<float> similar =
        cosines(token_embeddings(session_.model(), input_.keys.ids, kind_), input_.keys.ids.size());
    for_each_head("comparing embeddings", layers(), heads_, [&](std::int64_t layer, int head) {
        HeadStatistics& numbers = numbers_[place(layer, head)];
        numbers.similarity = embedding_similarity(weights(layer, head), similar, input_, numbers.first_query);
    });
}

std::size_t HeadSurvey::place(std::int64_t layer, int head) const {
    const auto row = std::ranges::lower_bound(layers(), layer) - layers().begin();
    return static_cast<std::size_t>(row * heads_ + head);
}

AttentionKind main_attention(const Model& model) {
    const bool only_cross = !model.info().attends(AttentionKind::self) && model.info().attends(AttentionKind::cross);
    return only_cross ? AttentionKind::cross : AttentionKind::self;
}

std::vector<float> HeadSurvey::weights(std::int64_t layer, int head) const {
    const Array p = session_.attention({layer, head, kind_}, {0, queries()}, {0, tokens()});
    return {p.begin(), p.end()};
}

std::string token_text(const Model& model, std::int32_t id) {
    if (!model.has_tokenizer() || !model.tokenizer().has(id)) return format("#{}", id);
    const Tokenizer& tokenizer = model.tokenizer();
    return tokenizer.is_special(id) ? tokenizer.token_text(id) : tokenizer.token_bytes(id);
}

namespace {
std::string in_quotes(std::string_view text) {
    if (text.size() > 1 && text.front() == ' ') text.remove_prefix(1);
    return "“" + shortened(token_label(text), max_quotation) + "”";
}
}  // namespace

std::string HeadSurvey::quoted(int token) const { return in_quotes(at(texts_, token)); }

std::string HeadSurvey::quoted_query(int token) const { return in_quotes(at(query_texts(), token)); }

std::string HeadSurvey::link_text(const Read& read) const {
    return quoted_query(read.query) + " → " + quoted(read.key);
}

Json json_of(const Read& read) {
    if (read.query < 0) return nullptr;
    return {{"query", read.query}, {"key", read.key}, {"weight", read.weight}};
}

std::string reason_text(const HeadSurvey& survey, const SalientHead& salient) {
    const char* why = salient.reason == SalientHead::induction ? ", which followed it before" : "";
    return survey.link_text(salient.read) + why + format(" ({:.2f})", salient.read.weight);
}

std::string reason_text(const HeadSurvey& survey) {
    return survey.salient() ? reason_text(survey, *survey.salient()) : "";
}

}  // namespace vantage::cli
