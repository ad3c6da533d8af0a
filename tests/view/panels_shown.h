// A viewer of a run that has ended, in its window, and its pictures compared with the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <future>
#include <vector>

#include "runtime/base/at.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/widgets.h"
#include "window_user.h"

namespace view_test {

inline const std::string oracle = VANTAGE_TEST_DATA "/data/oracle/models/";

inline std::vector<float> attention_of(LiveModel& live, const HeadId& head, std::int64_t rows, std::int64_t keys) {
    std::promise<std::vector<float>> answer;
    live.with_session([&](Session& session) {
        answer.set_value(session.attention({head.layer, head.head, head.kind}, {0, rows}, {0, keys}).vector());
    });
    return answer.get_future().get();
}

/// How far the colours of the map's cells are from those of the weights, in steps of the colour map, at worst.
inline int worst_of_map(const Image& image, const Viewer& viewer, const std::vector<float>& weights, bool causal) {
    const MapView& map = viewer.panes().front().map;
    const ColourTable& table = colours_of(viewer.state().colours);
    const ValueRange& range = viewer.state().range;
    int worst = 0;
    for (std::int64_t row = 0; row < map.rows; ++row)
        for (std::int64_t key = 0; key < map.columns && (!causal || key <= row); ++key) {
            // A little off the middle, where a number may be.
            const Rgb pixel = image.at(static_cast<int>(map.x_of(static_cast<double>(key) + 0.08)) + 1,
                                       static_cast<int>(map.y_of(static_cast<double>(row) + 0.08)) + 1);
            const float wanted = 255 * position_of(at(weights, row * map.columns + key), static_cast<float>(range.max),
                                                   viewer.state().scale, static_cast<float>(range.min));
            int best = 256;
            for (int step = 0; step < 256; ++step)
                if (at(table, step) == pixel)
                    best = std::min(best, std::abs(step - static_cast<int>(std::lround(wanted))));
            worst = std::max(worst, best);
        }
    return worst;
}

inline bool has_colour(const Image& image, const Box& box, ImU32 colour) {
    for (int y = static_cast<int>(box.y); y < static_cast<int>(box.bottom()); ++y)
        for (int x = static_cast<int>(box.x); x < static_cast<int>(box.right()); ++x)
            if (packed(image.at(x, y)) == colour) return true;
    return false;
}

/// All texts that panels draw in a picture.
inline std::vector<std::string> texts_of(Window& window) {
    TextLog log;
    static_cast<void>(window.screenshot());
    return log.texts;
}
inline bool has_text(const std::vector<std::string>& texts, const std::string& beginning) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.starts_with(beginning); });
}

/// Texts with a digit in these boxes which no tooltip explains, without the name of the head.
inline std::vector<std::string> unexplained(Window& window, const std::vector<Box>& boxes) {
    TextLog log;
    static_cast<void>(window.screenshot());
    const HeadId head = window.viewer().runs().head();
    std::vector<std::string> found;
    for (std::size_t i = 0; i < log.texts.size(); ++i) {
        const std::string& text = log.texts[i];
        const float x = log.places[i].x + log.places[i].wide / 2, y = log.places[i].y + log.places[i].high / 2;
        const auto over = [&](const Box& box) { return box.has(x, y); };
        if (std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; }) && text != short_name(head) &&
            text != head_name(head) && std::ranges::any_of(boxes, over) && std::ranges::none_of(log.explained, over))
            found.push_back(text);
    }
    return found;
}

/// Where the window has numbers: not in the cells of the map and of the heads.
inline std::vector<Box> boxes_of_numbers(const Viewer& viewer) {
    const Layout& l = viewer.layout();
    const FocusPlaces& places = viewer.panes().back().places;
    const Box &bar = places.bar, &heads = l.heads;
    const HeadCells cells = lay_head_cells(heads, head_grid(viewer.runs().a().live), viewer.scale());
    return {l.numbers,
            l.inspector,
            l.timeline,
            {l.focus.x, l.focus.y, l.focus.wide, 36},
            places.row_labels,
            places.key_labels,
            {heads.x, heads.y, heads.wide, cells.box.y - heads.y},
            {heads.x, cells.box.y, cells.left - heads.x, cells.box.high},
            {heads.x, heads.bottom() - 64, heads.wide, 64},
            {bar.x, bar.y - 30, bar.wide, bar.high + 40}};
}

/// Texts within a panel, in the order in which they are drawn.
inline std::vector<std::string> texts_in(Window& window, const Box& box) {
    TextLog log;
    static_cast<void>(window.screenshot());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < log.texts.size(); ++i)
        if (box.has(log.places[i].x, log.places[i].y)) texts.push_back(log.texts[i]);
    return texts;
}

/// The text that follows another one: a line's value comes after its name.
inline std::string after(const std::vector<std::string>& texts, const std::string& name) {
    const auto found = std::ranges::find(texts, name);
    return found == texts.end() || found + 1 == texts.end() ? "not shown" : *(found + 1);
}

struct PanelsShown {
    LiveModel live;
    Window window;
    Viewer& viewer;
    User user;
    PanelsShown(const Opened& opened, const ViewState& state, LivePrompt prompt, WindowOptions options = {},
                int width = 1200, int height = 760)
        : live(opened.model, {.precision = Precision::f32, .on_version = WindowSystem::wake}),
          window(opened.device, started(live, state, std::move(prompt)), state,
                 (options.width = width, options.height = height, options.frozen = true, options)),
          viewer(window.viewer()),
          user(window) {
        user.until_ended();
    }
    static LiveModel& started(LiveModel& live, const ViewState& state, LivePrompt prompt) {
        live.start(std::move(prompt), state.sampling, state.max_tokens);
        return live;
    }
};

}  // namespace view_test
