#include "params/types.h"
VANTAGE_PARAMS_BEGIN
struct ConcatParams {
    uvec2 a, b, y;        // (a_count), (count - a_count), (count)
    uint count, a_count;  // elements
};
VANTAGE_PARAMS_END
