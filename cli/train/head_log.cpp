#include "cli/train/head_log.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/shared/head_survey.h"
#include "cli/shared/output.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/picture/step_chart.h"

namespace vantage::cli {

namespace {

constexpr std::size_t max_named = 8;  // curves with a name, in a panel

Rgb colour_of(std::int64_t layer) { return step_colours[static_cast<std::size_t>(layer) % step_colours.size()]; }

// The heads with the largest last values have names, if these are those of a pattern; the others are dim.
StepPanel panel_of(const internal::LoggedHeads& heads, HeadPattern::Kind kind,
                   std::vector<double> internal::LoggedHead::*values) {
    const PatternInfo& info = info_of(kind);
    StepPanel panel{.title = info.statistic, .height = 200, .is_share = true};
    std::vector<std::pair<double, std::size_t>> named;
    for (const auto& [place, head] : heads) {
        const double last = (head.*values).back();
        if (last >= info.minimum) named.emplace_back(-last, panel.curves.size());
        const Rgb colour = colour_of(place.first);
        panel.curves.push_back({"", mixed(colour, style::background, 0.6f), head.steps, head.*values});
    }
    const double end = heads.begin()->second.steps.back();
    const StepCurve limit{
        format("≥ {:.2f}: {}", info.minimum, info.id), style::line, {0, end}, {info.minimum, info.minimum}};
    std::ranges::sort(named);
    named.resize(std::min(named.size(), max_named));
    auto place = heads.begin();
    for (std::size_t i = 0; i < panel.curves.size(); ++i, ++place) {
        if (std::ranges::find(named, i, [](const auto& one) { return one.second; }) == named.end()) continue;
        const auto [layer, head] = place->first;
        panel.curves[i].name = name_of(HeadId{layer, head});
        panel.curves[i].colour = colour_of(layer);
    }
    panel.curves.push_back(limit);
    return panel;
}

// Calls `take` with each head and its statistics on the text that the session has read.
template <class Take>
void for_heads(Session& session, const Take& take) {
    const HeadSurvey survey(session, session.tokens().size());
    for (const std::int64_t layer : survey.layers())
        for (int head = 0; head < survey.heads(); ++head) take(layer, head, survey.of(layer, head));
}

}  // namespace

HeadLog::HeadLog(const std::string& folder, std::int64_t step) : folder_(folder) {
    const std::string path = folder + "/heads.jsonl";
    if (std::filesystem::exists(path))
        write_file(path, read_log_lines(path, step, [&](const JsonFields& line) { take_heads(heads_, line); }),
                   Replaces::own);
    for (const auto& [place, head] : heads_) patterns_[place] = head.pattern;
    lines_.emplace(path);
}

std::int64_t HeadLog::measured() const {
    return heads_.empty() ? -1 : static_cast<std::int64_t>(heads_.begin()->second.steps.back());
}

void HeadLog::begin(Session& session) {
    if (!patterns_.empty()) return;
    for_heads(session, [&](std::int64_t layer, int head, const HeadStatistics& numbers) {
        patterns_[{layer, head}] = pattern_of(numbers).id();
    });
}

std::vector<HeadChange> HeadLog::add(std::int64_t step, Session& session) {
    Json list = Json::array();
    std::vector<HeadChange> changes;
    for_heads(session, [&](std::int64_t layer, int head, const HeadStatistics& numbers) {
        const HeadPattern pattern = pattern_of(numbers);
        const bool is_new = std::exchange(patterns_[{layer, head}], pattern.id()) != pattern.id();
        if (is_new && (pattern.kind == HeadPattern::previous_token || pattern.kind == HeadPattern::induction))
            changes.push_back({layer, head, pattern});
        list.push_back({{"layer", layer},
                        {"head", head},
                        {"previous", number_or_null(numbers.previous)},
                        {"induction", number_or_null(numbers.induction_mass())},
                        {"pattern", pattern.id()}});
    });
    const Json line = {{"step", step}, {"heads", list}};
    take_heads(heads_, JsonFields(line, folder_ + "/heads.jsonl"));
    lines_->add(json_text(line, -1));
    return changes;
}

void HeadLog::draw() const {
    if (heads_.empty()) return;
    const std::string title = "Heads of " + std::filesystem::path(folder_).filename().string();
    const StepChart chart{
        .title = title,
        .caption = "Share of each head's attention, by training step; heads of a layer have one colour",
        .panels = {panel_of(heads_, HeadPattern::previous_token, &internal::LoggedHead::previous),
                   panel_of(heads_, HeadPattern::induction, &internal::LoggedHead::induction)}};
    for (const char* file : {"heads.png", "heads.svg"})
        write_drawing(folder_ + "/" + file, draw_step_chart(chart), title);
}

}  // namespace vantage::cli
