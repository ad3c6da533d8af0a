// A logit of a token that was seen before, less likely by `penalty` (Keskar et al. 2019, CTRL).
float penalized(float x, float penalty) { return x > 0.0 ? x / penalty : x * penalty; }
