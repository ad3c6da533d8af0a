// Output of `inspect`: text or JSON.
#pragma once

#include "cli/inspect/check_nodes.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/translation.h"

namespace vantage::cli {

struct InspectReport {
    const HeadSurvey& survey;
    std::string precision;
    bool stable = false;  ///< SessionOptions::is_stable
    AttentionVariant variant = {};
    std::vector<std::int32_t> greedy = {};
    std::vector<std::string> files = {};  ///< written
    std::optional<NodeCheck> check = {};
    std::vector<SourceRead> reads = {};  ///< encoder–decoder only: one per decoder token
};

void print_summary(const InspectReport& report);
void print_json(const InspectReport& report);

}  // namespace vantage::cli
