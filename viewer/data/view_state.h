// What a viewer shows, as plain data: no device, no window. A command line says all of it, so a picture can be made again.
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

/// A cell that covers several weights: their sum over the keys, mean over the queries; or the largest of them.
enum class Pooling : std::uint8_t { mass, peak };
/// Columns of the map: keys by position, or by distance, how far a key lies before its query.
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
    difference  ///< of two runs: half the sum of |p_B − p_A| over the keys (HeadDistances)
};
inline constexpr int head_statistic_count = 10;
enum class HeadOrder : std::uint8_t { index, value };
/// Of two runs: both, one beside the other; one of them; what the second has more or less than the first, B − A.
enum class ShownRuns : std::uint8_t { both, a, b, difference };

const char* name_of(Pooling pooling);          ///< "sum", "max": of the command line, too
const char* name_of(KeyAxis axis);             ///< "absolute", "relative"
const char* name_of(Theme theme);              ///< "dark", "light"
const char* name_of(HeadStatistic statistic);  ///< "entropy", "effective tokens" …: the field's words
const char* word_of(HeadStatistic statistic);  ///< the same as one word of a command line
const char* name_of(HeadOrder order);          ///< "index", "value"
const char* name_of(ShownRuns shown);          ///< "both", "a", "b", "difference"

/// A part of the map in tokens, its ends not included: rows are queries, columns keys or distances. Fractions are those of a
/// map that is being moved.
struct Rectangle {
    double first_row = 0, last_row = 0, first_column = 0, last_column = 0;
    double rows() const { return last_row - first_row; }
    double columns() const { return last_column - first_column; }
    bool operator==(const Rectangle&) const = default;
};

/// What is done to the weights of a row before they are shown or pooled; the first three in this order.
struct Modifiers {
    bool sink_off = false;        ///< key 0 is left out, and the others sum to 1 again
    bool value_weighted = false;  ///< p ‖v‖ (Kobayashi et al. 2020)
    bool row_normalised = false;  ///< by the row's largest
    bool over_expected = false;   ///< by the head's mean at that distance
    bool operator==(const Modifiers&) const = default;
    bool any() const { return *this != Modifiers{}; }
};

/// The ends of the colour bar that nobody has moved. Of weights 0 and 1; of their ratio to what is expected a sixteenth and sixteen, with
/// 1 in the middle of a logarithmic scale; weights times values end with the largest length of a value, which the head has to tell:
/// max is 0 until then.
ValueRange default_range(const Modifiers& modifiers);
AttentionScale default_scale(const Modifiers& modifiers);
/// The marks of the bar: ratios as "÷4", "×1", "×4".
std::vector<ScaleTick> bar_ticks(const ValueRange& range, AttentionScale scale, const Modifiers& modifiers);

/// A row or a column that stays marked.
struct Pin {
    enum class Kind : std::uint8_t { query, key } kind = Kind::query;
    std::int64_t token = 0;
    bool operator==(const Pin&) const = default;
};

/// What a second run, B, has of its own; all else is as in the first, A. With a prompt of its own, or a model with another vocabulary,
/// B writes its own text; else it reads what A writes, so that rows mean the same.
struct Compared {
    std::optional<std::string> prompt;
    std::optional<std::string> model;  ///< folder
    std::optional<DType> weights;      ///< storage of matrices
    std::optional<Precision> precision;
    bool operator==(const Compared&) const = default;
};
/// "prompt “…”", "model gpt2-medium, weights q4".
std::string text_of(const Compared& compared);

struct ViewState {
    // ---- what the model is asked
    std::string prompt = default_prompt;
    std::string image;  ///< file, for models that look at images; then there is no prompt
    std::int64_t image_index = 0;
    Sampling sampling = {.seed = 7};
    std::int64_t max_tokens = 48;
    static constexpr const char* default_prompt =
        "Mia put the red cup on the table. Then Tom took the blue box. Mia put the red";
    std::optional<Compared> compared;  ///< a second run beside it

    // ---- what is looked at
    ShownRuns shown = ShownRuns::both;  ///< of two runs
    std::optional<HeadId> head;         ///< nothing: the most telling one
    std::optional<Rectangle> part;      ///< nothing: all of it
    std::optional<std::int64_t> rows;   ///< time travel: the first so many rows; nothing: live
    KeyAxis axis = KeyAxis::absolute;
    Pooling pooling = Pooling::mass;
    Modifiers modifiers;
    std::vector<Pin> pins;
    bool lines = false;  ///< from the pinned token to what it reads

    // ---- how it looks
    AttentionScale scale = AttentionScale::square_root;
    ValueRange range;             ///< from the darkest colour to the brightest
    double difference_max = 0.5;  ///< both ends of the colour bar of differences
    ColourMap colours = ColourMap::magma;
    Theme theme = Theme::dark;
    HeadStatistic statistic = HeadStatistic::entropy;
    HeadOrder order = HeadOrder::index;
    bool mini_maps = false;  ///< the head map shows maps and not numbers

    bool operator==(const ViewState&) const;
};

/// The options of `vantage view` that make this state, without those that say what they are without them; quoted for a shell.
std::string as_command_line(const ViewState& state);
/// "0:20,4:24": rows, then columns, their ends not included.
std::string text_of(const Rectangle& part);
/// A word of a command line, quoted where a shell wants it.
std::string shell_word(const std::string& text);
/// The inverse, from words of which the program's other options are gone. Throws usage naming the option, what it got and
/// what it takes.
ViewState state_from(std::span<const std::string> words);
/// The options that state_from knows, for a program's own help.
struct OptionText {
    std::string name;   ///< "--layer"
    std::string value;  ///< what it takes, "N"; empty for a flag
    std::string help;
};
std::vector<OptionText> option_texts();

}  // namespace vantage::view
