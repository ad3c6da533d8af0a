#include "viewer/panels/focus_finder.h"

#include <algorithm>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"

namespace vantage::view {
namespace {

TokenSequence sequence_of(const Model& model, const std::vector<std::int32_t>& ids) {
    TokenSequence sequence{.ids = ids};
    if (!model.has_tokenizer()) return sequence;
    std::vector<std::string> texts;
    for (const std::int32_t id : ids) texts.push_back(model.tokenizer().token_bytes(id));
    sequence.words = words_among(texts);
    sequence.separators = separators_among(texts);
    return sequence;
}

}  // namespace

FocusFinder::FocusFinder(ReadLayer read_layer) : read_layer_(std::move(read_layer)) {}

std::vector<HeadStatistics> FocusFinder::statistics_of_layer(Session& session, std::int64_t layer, std::int64_t rows) {
    const Model& model = session.model();
    HeadTexts texts;
    texts.keys = sequence_of(model, {session.tokens().begin(), session.tokens().begin() + rows});
    texts.causal = config_of(model).kind != ModelKind::encoder;
    const HeadTable table = session.head_statistics(layer, texts.marks());
    return head_statistics(table.rows, table.keys, texts, static_cast<int>(model.info().heads));
}

// Whether there is a layer to ask for. A new run restarts the search. Images have no tokens to compare.
bool FocusFinder::begin_next(const LiveModel& live, const Version& version) {
    constexpr std::int64_t enough = 4;     // tokens: in shorter texts no head is salient
    constexpr std::int64_t maximum = 512;  // tokens: the cost of a layer grows with the square of its rows
    if (waiting_ || config_of(live.model()).is_vision()) return false;
    const std::int64_t prompt = std::max(version.prompt_tokens, enough);
    if (version.rows < prompt) return false;
    if (run_ != version.run) {
        run_ = version.run, rows_ = std::min(prompt, maximum);  // only of the prompt: the same text gives the same head
        heads_.clear();
        next_layer_ = 0, layers_ = live.model().info().layers_of(AttentionKind::self);
    }
    return waiting_ = next_layer_ < layers_.size();
}

void FocusFinder::look(LiveModel& live, const Version& version) {
    {
        const std::lock_guard lock(mutex_);
        answered_ = false;
        if (!begin_next(live, version)) return;
    }
    live.with_session(
        [self = shared_from_this(), all = live.shows_copies()](Session& session) { self->read(session, all); });
}

// Runs in the model's thread. If the text has changed since, there is a newer version, and the search restarts for it.
void FocusFinder::read(Session& session, bool all_layers) {
    const double begin = seconds_now();
    const std::size_t end = all_layers ? layers_.size() : next_layer_ + 1;
    std::vector<HeadStatistics> some;
    std::optional<std::string> error;
    try {
        for (std::size_t i = next_layer_; i < end && rows_ <= std::ssize(session.tokens()); ++i) {
            const std::vector<HeadStatistics> more = read_layer_(session, layers_[i], rows_);
            some.insert(some.end(), more.begin(), more.end());
        }
    } catch (const std::exception& e) {
        error = e.what();
    }
    const std::lock_guard lock(mutex_);
    heads_.insert(heads_.end(), some.begin(), some.end());
    next_layer_ = some.empty() ? layers_.size() : end;
    if (error) error_ = "no head could be chosen: " + *error;
    if (next_layer_ == layers_.size() && !some.empty()) {
        const auto heads = static_cast<int>(session.model().info().heads);
        found_ = most_salient_head(heads_, heads, layers_);
    }
    seconds_ += seconds_now() - begin;
    waiting_ = false, answered_ = true;
    changed_.notify_all();
}

void FocusFinder::wait(LiveModel& live, const Version& version) {
    std::unique_lock lock(mutex_);
    do {
        lock.unlock();
        look(live, version);
        lock.lock();
        changed_.wait(lock, [&] { return !waiting_; });
    } while (run_ == version.run && next_layer_ < layers_.size());
}

bool FocusFinder::answered() const {
    const std::lock_guard lock(mutex_);
    return answered_;
}

std::optional<SalientHead> FocusFinder::found() const {
    const std::lock_guard lock(mutex_);
    return found_;
}

std::optional<std::string> FocusFinder::take_error() {
    const std::lock_guard lock(mutex_);
    return std::exchange(error_, std::nullopt);
}

double FocusFinder::take_seconds() {
    const std::lock_guard lock(mutex_);
    return std::exchange(seconds_, 0);
}

}  // namespace vantage::view
