// The rows of `vantage heads`: a head's numbers by name, and what was asked for beyond them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "head_ablation.h"
#include "head_survey.h"
#include "runtime/inspect/attention_flow.h"

namespace vantage::cli {

/// What a head reads when weights count by how long the values are that they bring (Kobayashi et al. 2020).
struct ValueReads {
    double first = 0;  ///< share of p ‖W_O v‖ that the first token has
    Read strongest;    ///< the largest p ‖W_O v‖, and the same by p ‖v‖
    Read strongest_unprojected;
};

struct HeadRow {
    int layer = 0, head = 0;
    const HeadStatistics* numbers = nullptr;
    HeadHabit pattern;
    double telling = 0;                 ///< score of telling_head.h
    std::optional<double> loss_change;  ///< with --ablate
    std::optional<ValueReads> values;   ///< with --values
};

/// A text, and all that `heads` found out about it.
struct HeadsReport {
    const HeadSurvey& survey;
    std::string precision;
    std::vector<HeadRow> rows;  ///< sorted
    std::string sorted_by;
    std::optional<double> loss;  ///< with --ablate: of the text, before a head is silenced
    std::optional<SquareMatrix> rollout, flow;
    std::vector<std::string> files = {};
};

/// All heads, layer by layer.
std::vector<HeadRow> head_rows(const HeadSurvey& survey);
/// Asks the session for the norms of its values and weighs the reads by them.
void add_value_reads(const HeadSurvey& survey, std::vector<HeadRow>& rows);

/// The numbers of a head by the names that CSV, JSON and --sort know.
std::vector<std::pair<const char*, double>> numbers_of(const HeadRow& row);
/// Keys of --sort: "head" (as they stand in the model), and numbers_of's.
std::vector<std::string> sort_keys();
/// The largest first. Throws usage for a number that was not asked for ("loss" without --ablate).
void sort_rows(std::vector<HeadRow>& rows, const std::string& key);

}  // namespace vantage::cli
