// A weight as a map shows it, under the modifiers. The including kernel's push constants are t, with what
// lib/view_weights.glsl wants, row_factors, key_factors, distance_means, keys, relative and origin (params/view.h).
#include "lib/view_weights.glsl"

// Of a key that the row has none of, UNSEEN.
TappedWeight shown_weight(uint row, uint column) {
    uint key = t.relative != 0u ? row + t.origin - column : column;  // wraps around for a key before the first
    if (key >= t.keys) return UNSEEN;
    TappedWeight weight = weight_of(row, key);
    if (!weight.seen) return UNSEEN;
    weight.value *= factor(t.row_factors, row) * factor(t.key_factors, key);
    if (!present(t.distance_means)) return weight;
    float mean = ReadFloats(t.distance_means).at[row + p.m - key];
    weight.value = mean > 0.0 ? weight.value / mean : 0.0;
    return weight;
}
