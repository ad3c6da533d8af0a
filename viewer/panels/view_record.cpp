#include "viewer/panels/view_record.h"

#include <algorithm>

#include "runtime/base/format.h"

namespace vantage::view {

ViewState state_shown(const ViewedRuns& runs, const ViewState& state, const Version& version) {
    const bool two = runs.compares();
    ViewState shown = state;
    shown.head = runs.head();
    if (two) shown.shown = runs.shown();
    if (version.activity == Activity::ended && version.as_asked) {
        if (!shown.rows && two && !runs.comparison()->settled(runs.a().version, runs.b()->version))
            shown.rows = std::max<std::int64_t>(runs.all_rows(), 1);  // those that the second has come to
        return shown;
    }
    shown.max_tokens = std::max<std::int64_t>(version.tokens - version.prompt_tokens, 0);
    shown.sampling.ignore_end = shown.sampling.ignore_end || version.past_end;
    const std::int64_t rows = version.prompt_tokens + std::max<std::int64_t>(shown.max_tokens - 1, 0);
    if (!shown.rows && version.rows < rows)
        shown.rows = std::max<std::int64_t>(two ? runs.all_rows() : version.rows_of(runs.head().kind), 1);
    return shown;
}

std::string command_line(const LiveModel& live, const ViewState& shown, const CommandContext& context) {
    if (!live.commanded()) return "";
    std::string line = context.command;
    if (const std::string words = as_command_line(shown); !words.empty()) line += " " + words;
    line += format(" --size {}x{}", context.size[0], context.size[1]);
    if (context.scale != 1) line += format(" --ui-scale {:g}", context.scale);
    return line;
}

ViewSubject subject_of(ViewedRuns& runs, const ViewState& state, const CommandContext& context) {
    RunView &a = runs.a(), *b = runs.b();
    const HeadId head = runs.head();
    ViewSubject subject = subject_of(a.live, a.data, *a.frame, state_shown(runs, state, a.frame->version), head);
    subject.command = command_line(a.live, subject.state, context);
    if (b == nullptr) return subject;
    runs.finish_distances();
    subject.second = SecondSubject{.name_a = run_name(a.live, state, false),
                                   .name_b = run_name(b->live, state, true),
                                   .tokens = b->tokens,
                                   .cells = b->frame != nullptr ? b->data.read_cells() : MapCells(),
                                   .rows = runs.comparison()->row_slots(head.kind),
                                   .keys = runs.comparison()->key_slots(head.kind),
                                   .distance = runs.distance_of(head)};
    return subject;
}

}  // namespace vantage::view
