#!/usr/bin/env python3
"""Makes more_ops/: cases of ops in the format of README.md section 3, by the formulas and in double.

Python's floats are doubles, and nothing but its standard library is needed:

    python3 make_ops.py

Inputs are rounded to f32 before anything is computed from them. Random numbers are of Python's generator with a fixed
seed, so that the files come out the same everywhere.
"""

import cmath
import json
import math
import os
import random
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "more_ops")
random.seed(1414)
tensors, cases = {}, []


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def normal(count, deviation=1.0, mean=0.0):
    return [f32(random.gauss(mean, deviation)) for _ in range(count)]


def case(name, op, attrs, inputs, outputs, note):
    """inputs and outputs: {argument: (shape, values)}."""
    keys = {}
    for kind, group in (("in", inputs), ("out", outputs)):
        keys[kind] = {}
        for argument, (shape, values) in group.items():
            assert len(values) == math.prod(shape), (name, argument)
            keys[kind][argument] = f"{name}/{kind}/{argument}"
            tensors[keys[kind][argument]] = (shape, values)
    cases.append({"name": name, "op": op, "attrs": attrs, "inputs": keys["in"], "outputs": keys["out"], "note": note})


# ---- swish and sparsemax --------------------------------------------------------------------------------------------


def swish(x, beta):
    z = beta * x
    return x / (1 + math.exp(-z)) if z > -700 else 0.0


def sparsemax(row):
    """By its optimality: of all supports {x > t} the one whose own threshold keeps exactly its elements."""
    for t in sorted(set(row), reverse=True):
        support = [x for x in row if x >= t]
        tau = (math.fsum(support) - 1) / len(support)
        if min(support) > tau and all(x <= tau for x in row if x < t):
            return [max(x - tau, 0.0) for x in row]
    raise AssertionError(row)


for beta in (0.0, 0.25, 1.0, 1.702, 8.0, 1e4, -1.5):
    x = normal(60, 4) + [0.0, -0.0, 30.0, -30.0]
    case(f"swish_beta_{beta:g}", "swish", {"beta": beta}, {"x": ([4, 16], x)},
         {"y": ([4, 16], [swish(v, beta) for v in x])}, "x sigmoid(beta x) (Ramachandran, Zoph, Le 2017)")

for name, rows, cols, deviation in (("sharp", 5, 33, 3), ("broad", 3, 300, 0.01), ("wide", 2, 1031, 1)):
    x = [f16(v) for v in normal(rows * cols, deviation)]  # rounding them would change which weights are 0
    y = [p for r in range(rows) for p in sparsemax(x[r * cols : (r + 1) * cols])]
    case(f"sparsemax_{name}", "sparsemax", {}, {"x": ([rows, cols], x)}, {"y": ([rows, cols], y)},
         "Martins and Astudillo 2016")
inf = math.inf
ties = [[1, 1, 1, 1], [2, 2, 0.5, -1], [1, -inf, 0.75, -inf], [-inf, -inf, -inf, 7]]
y = [p for row in ties for p in sparsemax(row)] + [0.0] * 4
case("sparsemax_ties_masked", "sparsemax", {}, {"x": ([5, 4], sum(ties, []) + [-inf] * 4)}, {"y": ([5, 4], y)},
     "equal elements have equal weights; -inf has none; a row of only -inf gives zeros")

# ---- attention ------------------------------------------------------------------------------------------------------


class Heads:
    """q, k [B, H, n, D] and v [B, H, n, Dv]."""

    def __init__(self, batch, heads, n, width, value_width):
        self.batch, self.heads, self.n, self.width, self.value_width = batch, heads, n, width, value_width
        self.q, self.k = normal(batch * heads * n * width), normal(batch * heads * n * width)
        self.v = normal(batch * heads * n * value_width)

    def row(self, x, b, h, i, width):
        first = ((b * self.heads + h) * self.n + i) * width
        return x[first : first + width]

    def inputs(self):
        shape = [self.batch, self.heads, self.n]
        return {"q": (shape + [self.width], self.q), "k": (shape + [self.width], self.k),
                "v": (shape + [self.value_width], self.v)}


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def weighted(weights, rows, width):
    return [math.fsum(w * row[e] for w, row in zip(weights, rows)) for e in range(width)]


def elu_plus_1(x):
    return x + 1 if x > 0 else math.exp(x)


def linear_attention(name, heads, causal, feature):
    phi = (lambda row: row) if feature == "none" else (lambda row: [elu_plus_1(x) for x in row])
    o, kv, z = [], [], []
    for b in range(heads.batch):
        for h in range(heads.heads):
            q, k = ([phi(heads.row(x, b, h, i, heads.width)) for i in range(heads.n)] for x in (heads.q, heads.k))
            v = [heads.row(heads.v, b, h, i, heads.value_width) for i in range(heads.n)]
            for i in range(heads.n):
                seen = i + 1 if causal else heads.n
                o += weighted([dot(q[i], k[j]) for j in range(seen)], v, heads.value_width)
            for d in range(heads.width):
                kv += weighted([row[d] for row in k], v, heads.value_width)
                z.append(math.fsum(row[d] for row in k))
    shape = [heads.batch, heads.heads]
    case(name, "linear_attention", {"causal": causal, "feature": feature, "normalise": False}, heads.inputs(),
         {"o": (shape + [heads.n, heads.value_width], o),
          "state_kv": (shape + [heads.width, heads.value_width], kv), "state_k": (shape + [heads.width], z)},
         "phi(Q) (phi(K)^T V) without a denominator; feature none: of any sign")


linear_attention("linear_attention_plain", Heads(2, 2, 21, 8, 5), False, "none")
linear_attention("linear_attention_plain_causal", Heads(1, 2, 140, 6, 4), True, "none")
linear_attention("linear_attention_plain_elu_causal", Heads(1, 1, 70, 8, 8), True, "elu+1")




def relative_attention(name, n, m, heads, kv_heads, width, value_width, reach, causal, of_keys):
    """Shaw, Uszkoreit, Vaswani 2018, equations 3 and 4: e_ij = q_i (k_j + a_ij)^T / sqrt(D), z_i = sum_j p_ij (v_j +
    b_ij), with a and b by clip(j - i); of_keys adds k_j c_ij^T, as BERT's relative_key_query does with c = a."""
    q, k, v = normal(n * heads * width), normal(m * kv_heads * width), normal(m * kv_heads * value_width)
    a, c, b = (normal((2 * reach + 1) * w, 0.5) for w in (width, width, value_width))
    o, plain, lse, weights = [], [], [], []
    for row in range(n):
        i = row + m - n
        for h in range(heads):
            mine = q[(row * heads + h) * width :][:width]
            scores, values, distances = [], [], []
            for j in range(i + 1 if causal else m):
                r, at = max(-reach, min(reach, j - i)) + reach, j * kv_heads + h // (heads // kv_heads)
                key = k[at * width :][:width]
                score = dot(mine, [x + y for x, y in zip(key, a[r * width :][:width])])
                if of_keys:
                    score += dot(key, c[r * width :][:width])
                scores.append(score / math.sqrt(width))
                values.append(v[at * value_width :][:value_width])
                distances.append(r)
            lse.append(math.log(math.fsum(math.exp(s) for s in scores)))
            p = [math.exp(s - lse[-1]) for s in scores]
            plain += weighted(p, values, value_width)
            moved = [[x + y for x, y in zip(value, b[r * value_width :][:value_width])]
                     for value, r in zip(values, distances)]
            o += weighted(p, moved, value_width)
            weights += [math.fsum(w for w, r in zip(p, distances) if r == at) for at in range(2 * reach + 1)]
    inputs = {"q": ([n, heads, width], q), "k": ([m, kv_heads, width], k), "v": ([m, kv_heads, value_width], v),
              "relative_keys": ([2 * reach + 1, width], a), "relative_values": ([2 * reach + 1, value_width], b)}
    if of_keys:
        inputs["relative_queries"] = ([2 * reach + 1, width], c)
    case(name, "relative_attention", {"causal": causal}, inputs,
         {"o": ([n, heads, value_width], o), "o_without_values": ([n, heads, value_width], plain),
          "lse": ([n, heads], lse), "weights": ([n, heads, 2 * reach + 1], weights)},
         "Shaw, Uszkoreit, Vaswani 2018; o_without_values: p v alone; weights: sums of p by distance")


relative_attention("relative_attention", 33, 33, 2, 2, 16, 16, 4, False, False)
relative_attention("relative_attention_causal", 20, 37, 4, 2, 8, 12, 7, True, False)
relative_attention("relative_attention_both", 12, 40, 2, 1, 12, 12, 39, False, True)


# ---- state spaces ---------------------------------------------------------------------------------------------------


def selective_state_space(name, n, channels, states):
    """Mamba's selective scan (Gu, Dao 2023, algorithm 2), token by token: A = -exp(a), delta = softplus."""
    x, delta = normal(n * channels), normal(n * channels, 0.7, -2.0)
    a, b, c = normal(channels * states, 0.8), normal(n * states), normal(n * states)
    d, first = normal(channels), normal(channels * states)
    h, y = list(first), []
    for t in range(n):
        for e in range(channels):
            step, u = math.log1p(math.exp(delta[t * channels + e])), x[t * channels + e]
            for s in range(states):
                i = e * states + s
                h[i] = math.exp(-math.exp(a[i]) * step) * h[i] + step * b[t * states + s] * u
            y.append(dot(h[e * states :][:states], c[t * states :][:states]) + d[e] * u)
    case(name, "state_space", {"log_a": True, "softplus": True},
         {"x": ([n, channels], x), "delta": ([n, channels], delta), "a": ([channels, states], a),
          "b": ([n, states], b), "c": ([n, states], c), "d": ([channels], d), "state": ([channels, states], first)},
         {"y": ([n, channels], y), "new_state": ([channels, states], h)}, "the selective scan from a state")


def pairs(values):
    return [f32(part) for value in values for part in (value.real, value.imag)]


def complexes(values):
    return [complex(*values[i : i + 2]) for i in range(0, len(values), 2)]


def s4d_lin(name, n, channels, states):
    """S4D-Lin (Gu, Gupta, Goel, Re 2022) as a convolution: A = -1/2 + i pi s, B = 1 held by zero order, K_l =
    2 Re sum C B' exp(l delta A), y = K * x + D x."""
    x, d = normal(n * channels), normal(channels)
    delta = [f32(0.01 * 20 ** random.random()) for _ in range(channels)]
    a = complexes(pairs([complex(-0.5, math.pi * s) for s in range(states)] * channels))
    held = [(cmath.exp(delta[i // states] * a[i]) - 1) / (delta[i // states] * a[i]) for i in range(len(a))]
    b = complexes(pairs(held))
    c = complexes([2 * part for part in normal(2 * channels * states)])
    y = [0.0] * (n * channels)
    for e in range(channels):
        mine = range(e * states, (e + 1) * states)
        kernel = [sum(c[i] * delta[e] * b[i] * cmath.exp(lag * delta[e] * a[i]) for i in mine).real for lag in range(n)]
        for t in range(n):
            past = math.fsum(kernel[lag] * x[(t - lag) * channels + e] for lag in range(t + 1))
            y[t * channels + e] = past + d[e] * x[t * channels + e]
    shape = [channels, states, 2]
    case(name, "state_space", {}, {"x": ([n, channels], x), "delta": ([channels], delta), "a": (shape, pairs(a)),
                                   "b": (shape, pairs(b)), "c": (shape, pairs(c)), "d": ([channels], d)},
         {"y": ([n, channels], y)}, "S4D-Lin by its convolution; c has the 2 of conjugate pairs")


def causal_conv1d(name, n, channels, width):
    x, first = normal(n * channels), normal((width - 1) * channels)
    weight, bias = normal(channels * width, 0.5), normal(channels)
    all_rows, y = first + x, []
    for t in range(n):
        for e in range(channels):
            taken = [all_rows[(t + k) * channels + e] for k in range(width)]
            y.append(swish(dot(taken, weight[e * width :][:width]) + bias[e], 1))
    case(name, "causal_conv1d", {"activation": "silu"},
         {"x": ([n, channels], x), "weight": ([channels, width], weight), "bias": ([channels], bias),
          "state": ([width - 1, channels], first)},
         {"y": ([n, channels], y), "new_state": ([width - 1, channels], all_rows[-(width - 1) * channels :])},
         "a depthwise convolution of what was before and is here")


selective_state_space("state_space_selective", 75, 5, 6)
selective_state_space("state_space_selective_short", 3, 9, 17)
s4d_lin("state_space_s4d_lin", 70, 3, 9)
causal_conv1d("causal_conv1d", 40, 7, 4)


def sparse_attention(name, heads, causal, near, far, attrs):
    """Child, Gray, Radford, Sutskever 2019, section 4.2: a softmax over the union of two sets of keys, each given by a
    rule for i and j."""
    o, lse, p = [], [], []
    for b in range(heads.batch):
        for h in range(heads.heads):
            v = [heads.row(heads.v, b, h, j, heads.value_width) for j in range(heads.n)]
            for i in range(heads.n):
                mine = heads.row(heads.q, b, h, i, heads.width)
                keys = sorted({j for j in range(heads.n) if near(i, j)} | {j for j in range(heads.n) if far(i, j)})
                keys = [j for j in keys if j <= i or not causal]
                scores = [dot(mine, heads.row(heads.k, b, h, j, heads.width)) / math.sqrt(heads.width) for j in keys]
                lse.append(math.log(math.fsum(math.exp(s) for s in scores)))
                weights = dict(zip(keys, (math.exp(s - lse[-1]) for s in scores)))
                p += [weights.get(j, 0.0) for j in range(heads.n)]
                o += weighted(weights.values(), [v[j] for j in keys], heads.value_width)
    shape = [heads.batch, heads.heads, heads.n]
    case(name, "attention", {"causal": causal, **attrs}, heads.inputs(),
         {"o": (shape + [heads.value_width], o), "lse": (shape, lse), "p": (shape + [heads.n], p)},
         "Child et al. 2019: strided and fixed patterns, the union of their two sets")


sparse_attention("attn_strided_causal", Heads(1, 2, 53, 16, 12), True, lambda i, j: i - 7 <= j <= i,
                 lambda i, j: (i - j) % 7 == 0, {"window_left": 7, "stride": 7})
sparse_attention("attn_strided", Heads(2, 1, 30, 8, 8), False, lambda i, j: abs(i - j) <= 3,
                 lambda i, j: (i - j) % 5 == 0, {"window_left": 3, "window_right": 3, "stride": 5})
sparse_attention("attn_fixed_causal", Heads(1, 2, 41, 16, 16), True, lambda i, j: i // 9 == j // 9,
                 lambda i, j: j % 9 >= 7, {"stride": 9, "summary_keys": 2})
sparse_attention("attn_dilated_both_ways", Heads(1, 2, 37, 16, 16), False, lambda i, j: (i - j) % 4 == 0,
                 lambda i, j: False, {"dilation": 4})


def save():
    header, data = {}, b""
    for key, (shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(HERE, exist_ok=True)
    with open(os.path.join(HERE, "ops.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(HERE, "ops.json"), "w") as file:
        json.dump({"seed": 1414, "cases": cases}, file, indent=1)
        file.write("\n")


save()
