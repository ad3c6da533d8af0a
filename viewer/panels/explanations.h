// What the numbers of the window are, in a sentence or two, for who points at them.
#pragma once

#include <string>
#include <string_view>

#include "viewer/data/view_state.h"

namespace vantage::view {

/// Of a number as a panel names it, "entropy", "shown: p·‖v‖ in A"; empty for names that explain themselves.
std::string_view explanation_of(std::string_view name);
/// All of them, a line each, for the help.
std::string glossary();
/// What a head with a large value does, for the legend of the heads: "spread over more tokens".
const char* meaning_of_large(HeadStatistic statistic);

}  // namespace vantage::view
