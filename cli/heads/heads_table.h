// The rows of `vantage heads`: a head's numbers by name, and what was asked for beyond them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/shared/head_survey.h"
#include "cli/shared/model_images.h"
#include "runtime/inspect/attention_flow.h"

namespace vantage::cli {

/// What a head reads when weights count by how long the values are that they bring (Kobayashi et al. 2020).
struct ValueReads {
    double first = 0;  ///< share of p ‖W_O v‖ that the first token has
    Read strongest;    ///< the largest p ‖W_O v‖, and the same by p ‖v‖
    Read strongest_unprojected;
};

struct HeadRow {
    HeadId place;
    const HeadStatistics* numbers = nullptr;
    HeadPattern pattern;
    double salient = 0;                 ///< score of salient_head.h
    std::optional<double> loss_change;  ///< with --ablate
    std::optional<ValueReads> values;   ///< with --values
};

/// The heads that attend one way.
struct HeadsPart {
    HeadSurvey survey;
    std::vector<HeadRow> rows;  ///< sorted
    std::optional<SquareMatrix> rollout = {}, flow = {};
    const char* name() const;  ///< "encoder", "decoder", "cross"
};

/// An input, and all that `heads` found out about it.
struct HeadsReport {
    const Model& model;
    std::string precision;
    std::vector<HeadsPart> parts;  ///< three of an encoder–decoder, else one
    std::string sorted_by;
    std::optional<double> loss = {};       ///< with --ablate: before a head is silenced
    std::optional<ModelImage> image = {};  ///< that was looked at
    std::vector<std::string> files = {};
    /// As --mask-heads names it: "1.0", where there are several parts "d1.0".
    std::string head_name(const HeadId& place) const;
    /// The five most telling heads of all parts, the best first, each with its part.
    std::vector<std::pair<const HeadsPart*, SalientHead>> most_salient() const;
};

/// All heads, layer by layer.
HeadsPart heads_part(Session& session, std::size_t tokens, AttentionKind kind);
/// Asks the session for the norms of its values and weighs the reads by them.
void add_value_reads(HeadsPart& part);

/// The numbers of a head by the names that CSV, JSON and --sort know; NaN is what is not defined.
std::vector<std::pair<const char*, double>> numbers_of(const HeadRow& row);
/// Keys of --sort: "head" (as they stand in the model), and numbers_of's.
std::vector<std::string> sort_keys();
/// Throws usage for a number that was not asked for ("loss_change" without --ablate).
void check_sort_key(const std::string& key, bool ablated, bool with_values);
/// The largest first, those that are not defined last.
void sort_rows(std::vector<HeadRow>& rows, const std::string& key);

}  // namespace vantage::cli
