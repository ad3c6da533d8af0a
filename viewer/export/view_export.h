// A view as a file, from the same cells that the window draws.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "viewer/data/view_data.h"

namespace vantage::view {

/// A second run in an export, and how the two texts are aligned; its map is of the same rows and columns.
struct SecondSubject {
    std::string name_a, name_b;  ///< "A · f16 weights"
    LiveTokens tokens;
    MapCells cells;        ///< empty if this run has no such head
    Alignment rows, keys;  ///< plain: all tokens are pairs
    double distance = 0;   ///< of the head in both (HeadDistances)
};

/// What is exported: a finished map of one head and its description. For two runs state.shown selects a, b, the
/// difference B − A, or both (`parts`).
struct ViewSubject {
    ModelInfo model;
    std::string device, precision;
    ViewState state;
    /// Makes the view again; empty if a program runs the model, whose prompt is unknown.
    std::string command;
    HeadId head;
    LiveTokens tokens;
    Version version;
    std::int64_t rows = 0, columns = 0;  ///< of the whole map, in tokens
    bool causal = false;
    MapCells cells;                       ///< of the visible part
    std::optional<double> row_sum_error;  ///< nothing with a learned sink, or before a sum is known
    std::optional<SecondSubject> second;
    std::optional<std::int64_t> training_step;  ///< of a model that learns
    bool spaces_shown = true;                   ///< leading spaces of tokens, in labels
    /// Value of a cell as shown.
    float at(std::int64_t row, std::int64_t column) const { return value(row, column, state.pooling); }
    float value(std::int64_t row, std::int64_t column, CellPooling pooling) const;
    /// Place of a value on the colour bar.
    float position(float value) const { return position_of(static_cast<double>(value), state.range, state.scale); }
    /// Whether a cell is empty: no query of it sees its keys, or a run that is shown has no token there.
    bool hidden(std::int64_t row, std::int64_t column) const;
    bool difference() const { return second && state.shown == ShownRuns::difference; }
    /// The maps that are drawn side by side: A and B for `both`.
    std::vector<ViewSubject> parts() const;
    /// The same with one run, or the difference, of two. The bar of a difference without an end gets the largest one.
    ViewSubject as_shown(ShownRuns shown) const;
    /// The same with labels as in the window: leading spaces are shown only where words are split.
    ViewSubject with_plain_labels() const;
    /// Whether rows and keys are tokens by their positions in the text: not patches, and not slots of two texts.
    bool has_positions() const;
    /// "A · f16 weights", "B − A …"; empty for one run.
    std::string part_name() const;
    /// "the", or "the … box" for several tokens; a distance on a relative axis.
    std::string row_label(std::int64_t row) const;
    std::string column_label(std::int64_t column) const;
    const char* column_title() const { return state.axis == KeyAxis::relative ? distance_title : key_title; }
    /// Ticks of the colour bar, of a difference in both directions.
    std::vector<ScaleTick> ticks() const;
    /// What the bar shows: "weight, √ scale".
    std::string bar_title() const;
};

/// Describes the last finished map of `data`.
ViewSubject subject_of(const LiveModel& live, ViewData& data, const FrameData& frame, const ViewState& state,
                       const HeadId& head);

/// Metadata of a file: "Vantage-Model", "Vantage-Head", …, and the command line that makes the view again. Text chunks
/// in a PNG.
std::vector<std::pair<std::string, std::string>> facts_of(const ViewSubject& subject);
/// The same in one line: "mini-world · layer 3 · head 1 · √ scale to 1 · sum …".
std::string caption_of(const ViewSubject& subject);

/// Bytes as letters (RFC 4648), for files that hold others.
std::string base64(std::string_view bytes);

/// A vector picture on white, for documents. Cells are rectangles, of large maps an embedded image.
std::string as_svg(const ViewSubject& subject);
/// A self-contained page with pan, zoom and the weight under the mouse.
std::string as_html(const ViewSubject& subject);
/// Metadata in lines that begin with #, then a table with one line per row of cells.
std::string as_csv(const ViewSubject& subject);
/// Metadata, tokens and both poolings; hidden cells are null.
std::string as_json(const ViewSubject& subject);
/// NumPy's format 1.0: float32 [rows, columns], or [2, rows, columns] for two runs with NaN for gaps. The format has no
/// metadata: write_view writes it to a second file.
std::string as_npy(const ViewSubject& subject);

/// Writes the file atomically in the format of its extension: .svg, .html, .csv, .json or .npy (with metadata in
/// NAME.npy.json). Throws usage for another extension, bad_file.
void write_view(const std::string& path, const ViewSubject& subject);
/// Throws usage for an extension that write_view does not know.
void require_view_format(const std::string& path);

}  // namespace vantage::view
