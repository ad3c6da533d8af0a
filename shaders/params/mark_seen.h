#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct MarkSeenParams {
    uvec2 seen, tokens, step;  // (words) bits, (token_count) i32, step state
    uint words, token_count;
};
VANTAGE_PARAMS_END
