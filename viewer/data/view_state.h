// What a viewer shows, as plain data without a device or a window. A command line describes all of it, so that a
// picture can be made again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"
#include "vantage/session.h"
#include "viewer/data/value_range.h"

namespace vantage::view {

/// Value of a cell that covers several weights: mass is their sum over the keys, averaged over the queries; peak the
/// largest.
enum class CellPooling : std::uint8_t { mass, peak };
/// Columns of the map: keys by position, or by distance (tokens from the key to its query).
enum class KeyAxis : std::uint8_t { absolute, relative };
enum class Theme : std::uint8_t { dark, light };
/// What the head map is coloured by (HeadMeans), and sorted by.
enum class HeadStatistic : std::uint8_t {
    entropy,
    effective,
    largest,
    first,
    previous,
    self,
    induction,
    duplicate,
    distance,
    sigma,      ///< fitted width (HeadStatistics::sigma)
    difference  ///< of two runs: half the sum of |p_B − p_A| over the keys (HeadDistances)
};
inline constexpr int head_statistic_count = 11;
enum class HeadOrder : std::uint8_t { index, value };
/// What is shown of two runs: both side by side, one of them, or the difference B − A.
enum class ShownRuns : std::uint8_t { both, a, b, difference };

const char* name_of(CellPooling pooling);      ///< "sum", "max": of the command line, too
const char* name_of(KeyAxis axis);             ///< "absolute", "relative"
const char* name_of(Theme theme);              ///< "dark", "light"
const char* name_of(HeadStatistic statistic);  ///< "entropy", "effective tokens" …
const char* word_of(HeadStatistic statistic);  ///< as one word, on the command line
const char* name_of(HeadOrder order);          ///< "index", "value"
const char* name_of(ShownRuns shown);          ///< "both", "a", "b", "difference"

/// A part of the map in tokens, half-open: rows are queries, columns are keys or distances. Values are fractions while
/// the map is moved.
struct Rectangle {
    double first_row = 0, last_row = 0, first_column = 0, last_column = 0;
    double rows() const { return last_row - first_row; }
    double columns() const { return last_column - first_column; }
    bool operator==(const Rectangle&) const = default;
};

/// What is done to the weights of a row before they are shown or pooled. The first three apply in this order.
struct Modifiers {
    bool sink_off = false;        ///< excludes key 0 and renormalises
    bool value_weighted = false;  ///< p·‖v‖ (Kobayashi et al. 2020)
    bool row_normalised = false;  ///< divided by the row's maximum
    bool over_expected = false;   ///< divided by the head's mean at that distance
    bool operator==(const Modifiers&) const = default;
    bool any() const { return *this != Modifiers{}; }
};

/// What the colour bar shows: "weight", "p·‖v‖" or "× expected".
const char* unit_of(const Modifiers& modifiers);

/// Titles of the map's axes, in the window and in files.
inline constexpr const char *query_title = "query (attends)", *key_title = "key (attended to)",
                            *distance_title = "distance from query to key";

/// Default range of the colour bar: 0 to 1; with over_expected 1/16 to 16; with value_weighted 0 to the largest ‖v‖ of
/// the head's keys, which is unknown here: max is 0.
ValueRange default_range(const Modifiers& modifiers);
AttentionScale default_scale(const Modifiers& modifiers);
/// Ticks of the colour bar; ratios are written "÷4", "×1", "×4".
std::vector<ScaleTick> bar_ticks(const ValueRange& range, AttentionScale scale, const Modifiers& modifiers);

/// A pinned row or column.
struct Pin {
    enum class Kind : std::uint8_t { query, key } kind = Kind::query;
    std::int64_t token = 0;
    bool operator==(const Pin&) const = default;
};

/// How the second run, B, differs from the first, A. With its own prompt, vocabulary or attention B generates its own
/// text; else it reads the tokens that A generates, so that rows mean the same in both.
struct Compared {
    std::optional<std::string> prompt;
    std::optional<std::string> model;  ///< folder
    std::optional<DType> weights;      ///< storage of matrices
    std::optional<Precision> precision;
    std::optional<AttentionVariant> variant;
    bool operator==(const Compared&) const = default;
};
/// "prompt “…”", "model gpt2-medium, weights q4".
std::string text_of(const Compared& compared);

/// Sizes of panels that the user has set, in pixels at a scale of 1; 0: automatic.
struct PanelSizes {
    std::int64_t heads_width = 0;
    std::int64_t cell_width = 0;
    std::int64_t text_height = 0;
    bool operator==(const PanelSizes&) const = default;
};

struct ViewState {
    // ---- the run
    std::string prompt = default_prompt;
    std::string image;  ///< file, for image models, which have no prompt
    std::int64_t image_index = 0;
    Sampling sampling = {.seed = 7};
    std::int64_t max_tokens = 48;
    static constexpr const char* default_prompt =
        "Mia put the red cup on the table. Then Tom took the blue box. Mia put the red";
    std::optional<Compared> compared;  ///< a second run

    // ---- what is shown
    ShownRuns shown = ShownRuns::both;  ///< of two runs
    std::optional<HeadId> head;         ///< nothing: a suggested head
    std::optional<Rectangle> part;      ///< nothing: all of it
    std::optional<std::int64_t> rows;   ///< only the first rows; nothing: all, live
    KeyAxis axis = KeyAxis::absolute;
    CellPooling pooling = CellPooling::mass;
    Modifiers modifiers;
    std::vector<Pin> pins;
    bool lines = false;  ///< from the current query to the tokens it attends to

    // ---- how it looks
    AttentionScale scale = AttentionScale::square_root;
    ValueRange range;           ///< of the colour bar
    double difference_max = 0;  ///< the colour bar of differences goes from −X to X; 0: as far as they do
    ColourMap colours = ColourMap::magma;
    Theme theme = Theme::dark;
    HeadStatistic statistic = HeadStatistic::entropy;
    HeadOrder order = HeadOrder::index;
    bool mini_maps = false;    ///< the head map shows thumbnails
    bool large_heads = false;  ///< it gets the room that the map can spare
    PanelSizes panels;

    bool operator==(const ViewState&) const;
};

/// The options of `vantage view` that make this state, without defaults, quoted for a shell.
std::string as_command_line(const ViewState& state);
/// "0:20,4:24": rows, then columns, half-open.
std::string text_of(const Rectangle& part);
/// The inverse of as_command_line. `words` contain no other options. Throws usage naming the option, its value and what
/// is expected.
ViewState state_from(std::span<const std::string> words);
/// The options of state_from, for the help of a program.
struct OptionText {
    std::string name;   ///< "--layer"
    std::string value;  ///< what it takes, "N"; empty for a flag
    std::string help;
    bool repeatable = false;
};
std::vector<OptionText> option_texts();

}  // namespace vantage::view
