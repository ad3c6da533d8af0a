// Tokens on the slots of an alignment (params/view.h).
#ifndef VANTAGE_SLOTS_GLSL
#define VANTAGE_SLOTS_GLSL
#include "lib/storage.glsl"
uint tokens_before(uvec2 slots, uint slot) { return present(slots) ? ReadWords(slots).at[slot] : slot; }
#endif
