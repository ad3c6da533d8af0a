// The colour bar: how a value becomes a place on it.
#include "params/types.h"
#ifndef VANTAGE_VIEW_SCALE_H
#define VANTAGE_VIEW_SCALE_H
#define VIEW_SQUARE_ROOT 0  // as AttentionScale
#define VIEW_LINEAR 1
#define VIEW_LOGARITHMIC 2
VANTAGE_PARAMS_BEGIN
struct ViewScale {
    float value_min, value_max, log_floor;  // its ends; the smallest share of value_max that log tells from zero
    uint scale;                             // VIEW_SQUARE_ROOT …
};
VANTAGE_PARAMS_END
#endif
