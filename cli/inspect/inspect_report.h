// What `inspect` prints: for people, and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inspect/check_nodes.h"
#include "cli/shared/head_survey.h"
#include "cli/shared/translation.h"

namespace vantage::cli {

struct InspectReport {
    const HeadSurvey& survey;
    std::string precision;
    std::vector<std::int32_t> greedy = {};
    std::vector<std::string> files = {};  ///< that were written
    std::optional<NodeCheck> check = {};
    std::vector<SourceRead> reads = {};  ///< of an encoder–decoder, by token of the decoder
};

void print_summary(const InspectReport& report);
void print_json(const InspectReport& report);

}  // namespace vantage::cli
