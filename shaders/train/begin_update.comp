// begin_update: makes from the sum of all squared gradients what the update needs, ends the step, and writes a record.
// A step whose gradients are not finite changes nothing: its number goes on, the count of updates does not.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { BeginUpdateParams p; };

float old_word(uint i) { return ReadFloats(p.train).at[i]; }

void main() {
    float done = old_word(TRAIN_STEP), updates = old_word(TRAIN_UPDATES), scale = old_word(TRAIN_SCALE), good = old_word(TRAIN_GOOD);
    float loss = old_word(TRAIN_LOSS), squares = ReadFloats(p.squares).at[0];
    // by its bits: a compiler may take isnan for false
    bool finite = (floatBitsToUint(squares) & 0x7f800000u) != 0x7f800000u;
    float norm = finite ? sqrt(squares) / scale : uintBitsToFloat(0x7f800000u);
    float rate = ReadFloats(p.rates).at[min(uint(done), p.rate_count - 1u)], new_scale = scale, skipped = old_word(TRAIN_SKIPPED);
    uint correction = min(uint(updates), p.correction_count - 1u);
    if (finite) {
        updates += 1.0, good += 1.0, skipped = 0.0;
        if (p.max_scale > 0.0 && good >= float(p.growth_interval)) new_scale = min(2.0 * scale, p.max_scale), good = 0.0;
    } else {
        skipped += 1.0, good = 0.0;
        if (p.max_scale > 0.0) new_scale = max(0.5 * scale, 1.0);
    }
    Floats state = Floats(p.new_train);
    state.at[TRAIN_STEP] = done + 1.0;
    state.at[TRAIN_UPDATES] = updates;
    state.at[TRAIN_MICRO] = 0.0;
    state.at[TRAIN_LOSS] = loss;
    state.at[TRAIN_SCALE] = new_scale;
    state.at[TRAIN_GOOD] = good;
    state.at[TRAIN_SKIPPED] = skipped;
    state.at[TRAIN_RATE] = rate;
    state.at[TRAIN_MEAN_FACTOR] = ReadFloats(p.corrections).at[correction];
    state.at[TRAIN_VARIANCE_FACTOR] = ReadFloats(p.corrections).at[p.correction_count + correction];
    state.at[TRAIN_GRADIENT_FACTOR] = (p.max_norm > 0.0 ? min(1.0, p.max_norm / (norm + p.norm_eps)) : 1.0) / scale;
    state.at[TRAIN_SKIP] = finite ? 0.0 : 1.0;
    state.at[TRAIN_NORM] = norm;
    uint record = uint(done) % TRAIN_HISTORY * TRAIN_RECORD;
    Floats history = Floats(p.new_history);
    history.at[record] = done;
    history.at[record + 1u] = loss;
    history.at[record + 2u] = norm;
    history.at[record + 3u] = rate;
    history.at[record + 4u] = scale;
    history.at[record + 5u] = finite ? 0.0 : 1.0;
    history.at[record + 6u] = updates;
    history.at[record + 7u] = 0.0;
}
