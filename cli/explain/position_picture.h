// How a model tells positions apart, as a picture and in words: `explain --positions`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/shared/output.h"
#include "runtime/picture/matrix_chart.h"
#include "vantage/session.h"

namespace vantage::cli {

/// One way in which positions enter: a picture, and what is said of it.
struct PositionScheme {
    std::string id;               ///< "learned", "sinusoidal", "rope", "alibi", "distance", "key"
    std::string text;             ///< one sentence
    std::vector<double> numbers;  ///< wavelengths in tokens (sinusoidal, rope), slopes by head (alibi), else none
    MatrixPanel panel;
};

/// The schemes of a model, at most `tokens` positions of each; empty for a model without positions.
std::vector<PositionScheme> position_schemes(const Model& model, Session& session, std::int64_t tokens);
/// A formula without a model: "sinusoidal" or "rope" of `width` features, "alibi" or "t5" of `heads` heads. A T5 table
/// is learned: of it only the buckets are drawn.
PositionScheme position_formula(const std::string& kind, std::int64_t tokens, std::int64_t width, std::int64_t heads);

/// Writes a PNG.
void write_positions(const std::string& path, const std::string& title, const std::vector<PositionScheme>& schemes);
/// `in_order`: layers of the model keep states, and take the tokens in their order.
void print_positions(const std::vector<PositionScheme>& schemes, bool in_order = false);
Json positions_json(const std::vector<PositionScheme>& schemes);

}  // namespace vantage::cli
