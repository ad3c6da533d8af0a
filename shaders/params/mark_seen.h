#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct MarkSeenParams {
    uvec2 seen, tokens, step;  // of each sequence: (words) bits, (token_count) i32, its step
    uint words, token_count;
};
VANTAGE_PARAMS_END
