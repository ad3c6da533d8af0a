#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct BigbirdBlocksParams {
    uvec2 table, step;  // i32 (sequences, blocks, blocks); the steps
    uint lanes, blocks;
    uint block_size, random;  // tokens of a block; blocks that are drawn
};
VANTAGE_PARAMS_END
