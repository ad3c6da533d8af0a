#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::bigbird_blocks {
extern const OpDef bigbird_blocks_op;
VANTAGE_OPERANDS(table_, step_);

constexpr std::int64_t max_blocks = 4096;  ///< of a context: the table takes 64 MiB
/// The longest text whose tokens all see each other: its window, its global and its drawn blocks would meet.
constexpr std::int64_t longest_full(std::int64_t block_size, std::int64_t random) {
    return (5 + 2 * random) * block_size;
}
}  // namespace ops::bigbird_blocks

using ops::bigbird_blocks::bigbird_blocks_op;

}  // namespace vantage::internal
