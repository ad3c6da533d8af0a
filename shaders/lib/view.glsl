// What the viewer's vertex and fragment shaders share.
#include "lib/storage.glsl"
#include "params/view_draw.h"
