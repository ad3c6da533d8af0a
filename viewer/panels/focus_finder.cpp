#include "viewer/panels/focus_finder.h"

#include <algorithm>

#include "runtime/inspect/telling_head.h"
#include "runtime/models/config.h"

namespace vantage::view {
namespace {

TokenSequence sequence_of(const Model& model, const std::vector<std::int32_t>& ids) {
    TokenSequence sequence{.ids = ids};
    if (!model.has_tokenizer()) return sequence;
    std::vector<std::string> texts;
    for (const std::int32_t id : ids) texts.push_back(model.tokenizer().token_bytes(id));
    sequence.words = words_among(texts);
    sequence.delimiters = delimiters_among(texts);
    return sequence;
}

/// Of a model's own attention to the text that it has read; nothing for images.
std::optional<HeadPlace> most_telling(Session& session, std::size_t tokens) {
    const Model& model = session.model();
    if (model.config().sees() || tokens > session.tokens().size()) return std::nullopt;
    HeadTexts texts;
    texts.keys =
        sequence_of(model, {session.tokens().begin(), session.tokens().begin() + static_cast<std::ptrdiff_t>(tokens)});
    texts.causal = model.config().kind != ModelKind::encoder;
    const std::vector<std::int32_t> marks = texts.marks();
    const auto heads = static_cast<int>(model.info().heads);
    std::vector<HeadStatistics> all;
    for (std::int64_t layer = 0; layer < model.info().layers; ++layer) {
        const HeadTable table = session.head_statistics(layer, marks);
        const std::vector<HeadStatistics> some = head_statistics(table.rows, table.keys, texts, heads);
        all.insert(all.end(), some.begin(), some.end());
    }
    const auto telling = most_telling_head(all, heads);
    if (!telling) return std::nullopt;
    return HeadPlace{telling->layer, telling->head, AttentionOf::self};
}

}  // namespace

void FocusFinder::look(LiveModel& live, const Version& version) {
    constexpr std::int64_t enough = 4;   // of shorter texts no head tells anything
    constexpr std::int64_t most = 2048;  // of longer ones their beginning tells enough: all of it costs its square
    {
        const std::lock_guard lock(mutex_);
        const bool read = version.rows >= std::max(version.prompt_tokens, enough);
        if (!read || (asked_ && asked_run_ == version.run)) return;
        asked_ = waiting_ = true;
        asked_run_ = version.run;
    }
    live.with_session([self = shared_from_this(), rows = std::min(version.rows, most)](Session& session) {
        std::optional<HeadPlace> head;
        try {
            head = most_telling(session, static_cast<std::size_t>(rows));
        } catch (const Error&) {  // a picture without it is better than none; what is really wrong comes up again
        }
        self->answer(head);
    });
}

void FocusFinder::answer(std::optional<HeadPlace> head) {
    const std::lock_guard lock(mutex_);
    if (head) found_ = head;
    waiting_ = false;
    answered_.notify_all();
}

void FocusFinder::wait(LiveModel& live, const Version& version) {
    look(live, version);
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return !waiting_; });
}

std::optional<HeadPlace> FocusFinder::found() const {
    const std::lock_guard lock(mutex_);
    return found_;
}

}  // namespace vantage::view
