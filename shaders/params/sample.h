#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct SampleParams {
    // of each sequence: (vocab), (token_count) i32, its step, (seen_words) bits or 0, (vocab) f32 or 0
    uvec2 logits, tokens, step, seen, bias;
    uint vocab, token_count, seen_words;
};
VANTAGE_PARAMS_END

#define SAMPLE_CONSTANTS(C) C(1, uint, X_TYPE, 0)
VANTAGE_CONSTANTS(SampleConstants, VANTAGE_NO_CONSTANTS, SAMPLE_CONSTANTS)
