#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SampleParams {
    uvec2 logits, tokens, step, seen;  // (vocab) f32, (token_count) i32, step state, (seen_words) bits or 0
    uint vocab, token_count;
};
VANTAGE_PARAMS_END
