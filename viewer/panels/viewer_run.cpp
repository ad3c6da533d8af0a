// What the model is told to do, and what a file or a command line says of the run that is shown.
#include <algorithm>

#include "runtime/session/model_access.h"
#include "runtime/base/log.h"
#include "runtime/models/config.h"
#include "viewer/panels/viewer.h"

namespace vantage::view {

void Viewer::run_prompt() {
    if (!obeyed()) return;
    ViewState wanted = state_;
    (config_of(a_.live.model()).is_vision() ? wanted.image : wanted.prompt) = fonts_.of_field(at_.prompt);
    wanted.sampling = at_.sampling, wanted.max_tokens = at_.max_tokens;
    const std::uint64_t run = a_.live.version().run + 1;
    try {
        a_.live.start(options_.prompt ? options_.prompt(wanted) : LivePrompt{.text = wanted.prompt}, wanted.sampling,
                      wanted.max_tokens);
    } catch (const Error& error) {
        return say(error.what());  // of a file that is no picture; what was there stays
    }
    asked_ = AskedRun{run, wanted};
    state_.rows.reset();
    state_.part.reset();
    state_.pins.clear();
    if (b_) comparison_->start(wanted);
    at_.picked.reset();
    touch();
}

void Viewer::run_or_stop() {
    if (!obeyed()) return;
    const Activity activity = a_.version.activity;
    if (activity == Activity::reading || activity == Activity::writing)
        stop();
    else
        run_prompt();
}

bool Viewer::obeyed() {
    if (!a_.live.commanded()) say("a program runs this model: the viewer cannot control it");
    return a_.live.commanded();
}

// A run that was stopped, stepped on or is still at work has other tokens than its end will have, and maybe fewer rows.
ViewState Viewer::state_shown(const Version& version) const {
    ViewState shown = state_;
    shown.head = head();
    if (b_) shown.shown = this->shown();
    if (version.activity == Activity::ended && version.as_asked) {
        if (!shown.rows && b_ && !comparison_->settled(a_.version, b_->version))
            shown.rows = std::max<std::int64_t>(all_rows(), 1);  // those that the second has come to
        return shown;
    }
    shown.max_tokens = std::max<std::int64_t>(version.tokens - version.prompt_tokens, 0);
    shown.sampling.ignore_end = shown.sampling.ignore_end || version.past_end;
    const std::int64_t rows = version.prompt_tokens + std::max<std::int64_t>(shown.max_tokens - 1, 0);
    if (!shown.rows && version.rows < rows)
        shown.rows = std::max<std::int64_t>(b_ ? all_rows() : version.rows_of(head().kind), 1);
    return shown;
}

std::string Viewer::command_line(const ViewState& shown) const {
    if (!a_.live.commanded()) return "";
    std::string line = options_.command;
    if (const std::string words = as_command_line(shown); !words.empty()) line += " " + words;
    line += format(" --size %dx%d", size_[0], size_[1]);
    if (options_.scale != 1) line += format(" --ui-scale %g", static_cast<double>(options_.scale));
    return line;
}

void Viewer::copy_command_line() {
    const std::string line = command_line(state_shown(a_.version));
    if (line.empty()) return say("a program runs this model: no command line makes the same view");
    if (options_.copy) options_.copy(line);
    say("copied: " + line);
}

ViewSubject Viewer::subject() {
    finish_sides(false);
    ViewSubject subject = subject_of(a_.live, a_.data, *a_.frame, state_shown(a_.frame->version), head());
    subject.command = command_line(subject.state);
    if (!b_) return subject;
    distances_->finish(*comparison_, shown_slots());
    const auto slots = [&](bool keys) {
        const auto of = [&](bool b) {
            const SideSlots& side = comparison_->slots(b);
            return keys ? side.keys_of(head().kind) : side.rows_of(head().kind);
        };
        return Alignment{of(false), of(true)};
    };
    subject.second = SecondSubject{.name_a = side_name(a_.live, state_, false),
                                   .name_b = side_name(b_->live, state_, true),
                                   .tokens = b_->tokens,
                                   .cells = b_->frame != nullptr ? b_->data.read_cells() : MapCells(),
                                   .rows = slots(false),
                                   .keys = slots(true),
                                   .distance = distances_->of(head())};
    return subject;
}

}  // namespace vantage::view
