// The block diagram of a model, made from its graphs: `explain --svg`.
#pragma once

#include "runtime/picture/flow_chart.h"
#include "vantage/model.h"

namespace vantage::cli {

/// Equal layers that follow each other are drawn once. Shapes are those for n tokens. An encoder–decoder has a column
/// for each of its graphs.
FlowChart block_diagram(const Model& model);

}  // namespace vantage::cli
