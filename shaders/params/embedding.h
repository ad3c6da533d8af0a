#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct EmbeddingParams {
    uvec2 ids, w, positions,
        step;  // (id_count) or one of them for each sequence, (vocab, width), (position_rows, width) or 0,
               // steps or 0
    uvec2 y;   // (rows, width)
    uint rows, width, vocab, id_count;
    uint rows_each, id_stride;  // of a sequence: rows of the run; where the next one's ids begin, 0 = all have the same
    uint position_offset, position_rows;
    float scale;
};
VANTAGE_PARAMS_END

#define EMBEDDING_CONSTANTS(C)   \
    C(1, uint, W_TYPE, 0)        \
    C(2, uint, POSITION_TYPE, 0) \
    C(3, uint, Y_TYPE, 0)        \
    C(4, uint, STEP, 1) /* 4 where width % 4 == 0 */
VANTAGE_CONSTANTS(EmbeddingConstants, VANTAGE_NO_CONSTANTS, EMBEDDING_CONSTANTS)
