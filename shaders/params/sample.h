#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SampleParams {
    uvec2 logits, tokens, step, seen;  // of each sequence: (vocab), (token_count) i32, its step, (seen_words) bits or 0
    uint vocab, token_count, seen_words;
};
VANTAGE_PARAMS_END
