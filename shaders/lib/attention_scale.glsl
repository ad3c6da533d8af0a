// Where a value lies on the colour bar: as position_of in runtime/io/weight_scale.cpp.
#include "params/view_scale.h"

float position_on(ViewScale bar, float value) {
    float share = value / bar.value_max, low = bar.value_min / bar.value_max;
    if (!(share > low)) return 0.0;
    if (share >= 1.0) return 1.0;
    if (bar.scale == VIEW_SQUARE_ROOT) return (sqrt(share) - sqrt(low)) / (1.0 - sqrt(low));
    if (bar.scale == VIEW_LINEAR) return (share - low) / (1.0 - low);
    return max(0.0, 1.0 - log(share) / log(max(low, bar.log_floor)));
}
