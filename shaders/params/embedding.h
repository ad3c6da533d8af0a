#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct EmbeddingParams {
    uvec2 ids, w, positions, step;  // (id_count), (vocab, width), (position_rows, width) or 0, step state or 0
    uvec2 y;                        // (rows, width)
    uint rows, width, vocab, id_count;
    uint position_offset, position_rows;
    float scale;
};
VANTAGE_PARAMS_END
