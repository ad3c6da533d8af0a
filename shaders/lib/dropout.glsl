// The factors of elements that a kernel drops by itself, 0 or 1 / (1 - probability): by the words of dropout_draw, the
// element's row and its column, the same in the forward and the backward pass and in every kernel.
#include "lib/random.glsl"
#include "lib/storage.glsl"
#include "params/dropout.h"

// Of the columns 4 group … 4 group + 3.
vec4 four_kept(uvec2 words, uint row, uint group) {
    ReadWords w = ReadWords(words);
    uvec4 drawn = philox(uvec4(row, group, w.at[DROPOUT_SITE], w.at[DROPOUT_MICRO_BATCH]),
                         uvec2(w.at[DROPOUT_SEED_LOW], w.at[DROPOUT_SEED_HIGH]));
    return mix(vec4(uintBitsToFloat(w.at[DROPOUT_FACTOR])), vec4(0.0), lessThan(drawn, uvec4(w.at[DROPOUT_THRESHOLD])));
}
float kept(uvec2 words, uint row, uint column) { return four_kept(words, row, column / 4u)[column % 4u]; }
