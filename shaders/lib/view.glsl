// What the viewer's vertex and fragment shaders share.
#ifndef VANTAGE_VIEW_GLSL
#define VANTAGE_VIEW_GLSL
#include "lib/storage.glsl"
#include "params/view_draw.h"
#endif
