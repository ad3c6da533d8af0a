// Parameters and results of the kernels of head_statistics.
#include "params/attention.h"
#ifndef VANTAGE_HEAD_STATISTICS_H
#define VANTAGE_HEAD_STATISTICS_H
VANTAGE_PARAMS_BEGIN
struct HeadStatisticsParams {
    uvec2 q, k, lse;                                  // (n, heads, D), (m, kv_heads, D), (n, heads)
    uvec2 mask, position_bias, block_mask, segments;  // as in AttentionParams
    uvec2 factors, tokens;  // (m, heads) f32 or 0; (m, or m + n where apart, 2) i32: id, marks
    uvec2 result;           // (rows, heads, ROW_NUMBERS), or (KEY_NUMBERS, heads, keys)
    uint n, m, heads, kv_heads, d, causal;
    uint first_row, rows, keys;
    float scale;
    uint apart, columns;  // queries of another text; patches in a row of an image, 0 for a text
};
VANTAGE_PARAMS_END

// Its kernels make weights as the tap does: their constants are AttentionWeightsConstants.
// There are three cases. One text: query i is token i. Another text (`apart`, cross attention): the tokens of the
// queries follow those of the keys. An image: token 0 is the class token, which has no position, then the patches row
// by row; distances are between the centres of patches. Numbers that a case does not define are 0: for an image
// PREVIOUS, NEXT and DUPLICATE to OFFSET, for another text every number by position. A row that sees no key is 0
// throughout, its largest weights (0, -1). NaN stays: a row with a score that is NaN has NaN sums, and none of its
// weights is the largest.
//
// The numbers of each row of a head: first sums over its keys …
#define ROW_TOTAL 0       // of the weights: 1, less what a sink takes
#define ROW_VISIBLE 1     // keys that the query may see
#define ROW_ENTROPY 2     // in nats
#define ROW_DISTANCE 3    // distance, |i - j| in a text
#define ROW_NEAR 4        // mass on keys at most NEAR_KEYS away, the query itself among them
#define ROW_SELF 5        // … on the query itself
#define ROW_PREVIOUS 6    // … on the key before
#define ROW_NEXT 7        // … on the next key
#define ROW_FIRST 8       // … on key 0
#define ROW_DELIMITERS 9  // … on keys that are marked so
#define ROW_DUPLICATE 10  // … on earlier keys with the query's token
#define ROW_INDUCTION 11  // … on keys up to the query whose token before is the query's
#define ROW_REPEATED 12   // as DUPLICATE, of keys further back than 2: neither self, nor previous, nor what they copy
#define ROW_COPIED 13     // as INDUCTION, of keys further back than 1
#define ROW_OFFSET 14     // of weight times key - query, signed
#define ROW_SQUARED 15    // of weight times squared distance
#define ROW_SUMS 16
// … then weights, each followed by its key, -1 for none: the largest, the largest that COPIED counts, and for a word
// the largest on other words that are far: not key 0, the query or its neighbours (for another text: not key 0).
#define ROW_LARGEST 16
#define ROW_COPY 18
#define ROW_LINKS 20
#define ROW_LINK_COUNT 4
#define ROW_NUMBERS 28
// The numbers of each key of a head: weights received and queries that see it; the same for queries for which it is
// far.
#define KEY_RECEIVED 0
#define KEY_SEEN 1
#define KEY_FAR_RECEIVED 2
#define KEY_FAR_SEEN 3
#define KEY_NUMBERS 4
// Marks of a token.
#define MARK_DELIMITER 1
#define MARK_WORD 2
#define NEAR_KEYS 3
#endif
