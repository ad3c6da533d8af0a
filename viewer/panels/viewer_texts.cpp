// What the runs have by now: their versions, their texts, and how rows and columns are called.
#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

#include "runtime/base/interrupt.h"
#include "runtime/models/config.h"
#include "viewer/panels/viewer.h"
#include "viewer/panels/widgets.h"

namespace vantage::view {
namespace {

/// Labels of rows on which two texts stand: of one token, where both have the same, else of what A has and of what B has.
std::vector<std::string> slot_labels(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                     const Alignment& slots) {
    std::vector<std::string> labels;  // none where slots are tokens
    for (std::int64_t slot = 0; slot < slots.count(); ++slot) {
        const auto of = [&](const Slots& side, const std::vector<std::string>& all) {
            const auto token = side.token(slot);
            return token ? label_of(all, *token) : "–";
        };
        const std::string left = of(slots.a, a), right = of(slots.b, b);
        labels.push_back(left == right ? left : left + " | " + right);
    }
    return labels;
}

}  // namespace

void Viewer::RunView::read(Fonts& fonts) {
    version = live.version();
    const std::uint64_t run = tokens.run;
    std::size_t known = tokens.texts.size(), source_known = tokens.source_texts.size();
    live.read_tokens(tokens);
    if (tokens.run != run) known = source_known = 0;
    for (const std::string& text : std::span(tokens.texts).subspan(known)) fonts.need(text);
    for (const std::string& text : std::span(tokens.source_texts).subspan(source_known)) fonts.need(text);
}

void Viewer::read_models() {
    const std::shared_ptr<const Image> seen = a_.tokens.seen;
    each_side([&](RunView& side) { side.read(fonts_); });
    if (a_.tokens.seen != seen) set_picture();
    if (asked_ && a_.version.run >= asked_->run) {
        const ViewState& asked = asked_->state;
        state_.prompt = asked.prompt, state_.image = asked.image;
        state_.sampling = asked.sampling, state_.max_tokens = asked.max_tokens;
        asked_.reset();
    }
    if (b_) {
        comparison_->update(a_.now(), b_->now());
        a_.data.set_slots(comparison_->slots(false));
        b_->data.set_slots(comparison_->slots(true));
    }
}

/// Until B has read all that A has, or its own text has ended.
void Viewer::wait_for_second_run() {
    using namespace std::chrono_literals;
    while (true) {
        throw_if_interrupted();
        read_models();
        if (const auto error = b_->live.error()) throw Error(error->kind, "the second run: " + error->message);
        if (comparison_->settled(a_.version, b_->version)) return;
        std::this_thread::sleep_for(2ms);
    }
}

const Slots& Viewer::row_slots(const RunView& side) const {
    static const Slots plain;
    return b_ ? comparison_->slots(&side != &a_).rows_of(head().kind) : plain;
}

const Slots& Viewer::key_slots(const RunView& side) const {
    static const Slots plain;
    return b_ ? comparison_->slots(&side != &a_).keys_of(head().kind) : plain;
}

void Viewer::label_tokens() {
    each_side([&](RunView& side) {
        side.labels.update({side.tokens.run, side.tokens.texts}, fonts_);
        side.source_labels.update({side.tokens.run, side.tokens.source_texts}, fonts_);
    });
    if (!b_) return;
    const std::array<std::uint64_t, 7> now{
        comparison_->slots(false).number, a_.tokens.run,           b_->tokens.run,
        a_.tokens.texts.size(),           b_->tokens.texts.size(), a_.tokens.source_texts.size(),
        b_->tokens.source_texts.size()};
    if (std::exchange(slot_labels_of_, now) == now) return;
    slot_labels_ = slot_labels(a_.labels.all(), b_->labels.all(), comparison_->own());
    source_slot_labels_ = slot_labels(a_.source_labels.all(), b_->source_labels.all(), comparison_->source());
}

const std::vector<std::string>& Viewer::labels() const {
    return b_ && !comparison_->own().a.plain() ? slot_labels_ : a_.labels.all();
}

const std::vector<std::string>& Viewer::source_labels() const {
    return b_ && !comparison_->source().a.plain() ? source_slot_labels_ : a_.source_labels.all();
}

}  // namespace vantage::view
