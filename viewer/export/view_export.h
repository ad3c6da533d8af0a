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
    MapCells cells;        ///< none where this run has no such head
    Alignment rows, keys;  ///< plain: all tokens are pairs
    double distance = 0;   ///< of the head in both (HeadDistances)
};

/// What is exported: a finished map of one head, and what it is of. Of two runs state.shown says which: a, b, the difference B − A, or
/// both (`parts`).
struct ViewSubject {
    ModelInfo model;
    std::string device, precision;
    ViewState state;
    std::string
        command;  ///< that makes the view again; empty where a program runs the model, of whose prompt nothing is known
    HeadId head;
    LiveTokens tokens;
    Version version;
    std::int64_t rows = 0, columns = 0;  ///< of the whole map, in tokens
    bool causal = false;
    MapCells cells;                       ///< of the part that is shown
    std::optional<double> row_sum_error;  ///< nothing where rows have a sink, or none was summed yet
    std::optional<SecondSubject> second;
    /// What is shown of a cell.
    float at(std::int64_t row, std::int64_t column) const { return value(row, column, state.pooling); }
    float value(std::int64_t row, std::int64_t column, Pooling pooling) const;
    /// Of a value on the colour bar.
    float position(float value) const {
        return position_of(value, static_cast<float>(state.range.max), state.scale,
                           static_cast<float>(state.range.min));
    }
    /// No query of the cell sees its keys; or of two runs the one that is shown has no token there, or of a difference one of both.
    bool hidden(std::int64_t row, std::int64_t column) const;
    bool difference() const { return second && state.shown == ShownRuns::difference; }
    /// What is drawn or written one beside the other: of `both` A and B.
    std::vector<ViewSubject> parts() const;
    /// "A · f16 weights", "B − A …"; empty for one run.
    std::string part_name() const;
    /// "the", or "the … box" of a cell that covers several; a distance on a relative axis.
    std::string row_label(std::int64_t row) const;
    std::string column_label(std::int64_t column) const;
};

/// Of the last finished map of `data`.
ViewSubject subject_of(const LiveModel& live, ViewData& data, const FrameData& frame, const ViewState& state,
                       const HeadId& head);

/// What every file says of itself, for people and for programs: "Vantage-Model", "Vantage-Head", …, with the command line that makes
/// the view again. The texts of a PNG file.
std::vector<std::pair<std::string, std::string>> facts_of(const ViewSubject& subject);
/// The same in a line or two: "mini-world · layer 3 · head 1 · √ scale to 1 · mass …".
std::string caption_of(const ViewSubject& subject);

/// A picture with the cells as pixels and everything else as lines and letters.
std::string as_svg(const ViewSubject& subject);
/// One file that needs no other and no network, with pan, zoom and the weight under the mouse.
std::string as_html(const ViewSubject& subject);
/// Facts in lines that begin with #, then a table: one row for each row of cells.
std::string as_csv(const ViewSubject& subject);
/// Facts, tokens, and both poolings; cells that are hidden are null.
std::string as_json(const ViewSubject& subject);
/// float32 [rows, columns], of two runs [2, rows, columns] with NaN for gaps, in NumPy's format, version 1.0, which has no place for facts: write_view puts them beside it.
std::string as_npy(const ViewSubject& subject);

/// Writes the file whole or not at all, in the form that its name's ending says: .svg, .html, .csv, .json or .npy (and a file of
/// facts, NAME.npy.json). Throws usage for another ending, bad_file.
void write_view(const std::string& path, const ViewSubject& subject);

}  // namespace vantage::view
