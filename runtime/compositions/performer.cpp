// Positive random features for attention without a softmax, by composition.
//   exp(q·k) = E_w[φ_w(q) φ_w(k)],  φ_w(x) = exp(w·x - |x|² / 2),  w ~ N(0, I)
// The mean is taken over m vectors w, orthogonal in blocks.
// Choromanski et al., "Rethinking Attention with Performers" (2020): FAVOR+. linear_attention divides by the sum of the
// weights, so what is common to a query's features, or to those of all keys of a head, falls out. A softmax over just
// these has the maximum taken off, which keeps every exp in range, and costs no kernel of its own.
#include <cmath>
#include <numbers>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/ops/sampling.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

// Normal numbers by Box and Muller (1958), from Philox counters: number `i` of a seed is the same whatever else is
// drawn.
double normal_number(std::uint64_t seed, std::uint64_t i) {
    const auto words = philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0},
                              {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const auto unit = [&](std::size_t at) { return (static_cast<double>(words[at]) + 0.5) * 0x1p-32; };
    return std::sqrt(-2 * std::log(unit(0))) * std::cos(2 * std::numbers::pi * unit(1));
}

// Tokens first or heads first → [batch H, n m], all features of a head in one row; and back.
Tensor softmax_by_head(Tensor x, std::int64_t heads, bool heads_first, SourceLocation where) {
    Graph g = x.graph();
    const Shape shape = x.shape();
    const std::int64_t batch = shape.rank() == 4 ? shape[0] : 1, n = heads_first ? shape[-2] : shape[-3],
                       features = shape[-1];
    if (!heads_first) x = split_heads(g.reshape(x, {batch, n, heads * features}), heads, where);
    Tensor y = softmax(g.reshape(x, {batch * heads, n * features}), -1, 1, where);
    if (!heads_first) y = merge_heads(g.reshape(y, {batch, heads, n, features}), where);
    return g.reshape(y, shape);
}

double scale_of(const PerformerOptions& options, std::int64_t width) {
    return options.scale.value_or(1 / std::sqrt(static_cast<double>(width)));
}

}  // namespace

std::vector<float> performer_projection(std::int64_t features, std::int64_t width, std::uint64_t seed) {
    if (features < 1 || width < 1 || features > (std::int64_t{1} << 31) / width)
        throw usage_error("performer_projection: {} features of vectors of width {} make no sense", features, width);
    const auto cells = static_cast<std::size_t>(features * width);
    std::vector<double> w(cells), lengths(static_cast<std::size_t>(features));
    for (std::size_t i = 0; i < cells; ++i) w[i] = normal_number(seed, i);
    for (std::int64_t row = 0; row < features; ++row) {
        // Gram and Schmidt within each block of `width` rows, which then gets back a normal vector's length
        double* one = w.data() + row * width;
        double length = 0;  // of other numbers than the direction's
        for (std::int64_t i = 0; i < width; ++i) {
            const double x = normal_number(seed, cells + static_cast<std::size_t>(row * width + i));
            length += x * x;
        }
        for (std::int64_t other = row / width * width; other < row; ++other) {
            const double* before = w.data() + other * width;
            const double along = std::inner_product(one, one + width, before, 0.0);
            for (std::int64_t i = 0; i < width; ++i) one[i] -= along * before[i];
        }
        const double scale = 1 / std::sqrt(std::inner_product(one, one + width, one, 0.0));
        for (std::int64_t i = 0; i < width; ++i) one[i] *= scale;
        at(lengths, row) = std::sqrt(length);
    }
    std::vector<float> result(cells);
    for (std::size_t i = 0; i < cells; ++i)
        result[i] = static_cast<float>(w[i] * lengths[i / static_cast<std::size_t>(width)]);
    return result;
}

namespace {

// x [.., D] as √scale w·x, [rows, m], with the vectors w of the options.
Tensor projected(Tensor x, const PerformerOptions& options, SourceLocation where) {
    Graph g = x.graph();
    const std::int64_t width = x.shape()[-1], features = options.features;
    if (x.dtype() != DType::f32 || x.shape().rank() < 3)
        throw Error(ErrorKind::usage,
                    "performer_features: " + x.type().text() +
                        ", but heads are wanted, in f32: features span more than f16 holds",
                    where);
    const Tensor w = g.constant(format("performer.{}.{}.{}", features, width, options.seed), {features, width},
                                [=, seed = options.seed] { return performer_projection(features, width, seed); });
    // both sides take the root of the scale: (√s q)·(√s k) = s q·k
    return matmul(g.reshape(x, {x.shape().elements() / width, width}), w,
                  {.transpose_b = true, .alpha = std::sqrt(scale_of(options, width))}, {}, {}, where);
}

// w·k - |k|² / 2 of keys that are times √scale, [rows, m].
Tensor key_exponents(Tensor k, const PerformerOptions& options, SourceLocation where) {
    Graph g = k.graph();
    const std::int64_t width = k.shape()[-1], features = options.features;
    const Tensor ones =
        g.constant(format("ones.{}.{}", features, width), {features, width},
                   [cells = static_cast<std::size_t>(features * width)] { return std::vector<float>(cells, 1); });
    const Tensor rows = g.reshape(k, {k.shape().elements() / width, width});
    return matmul(mul(rows, rows, where), ones, {.transpose_b = true, .alpha = -scale_of(options, width) / 2}, {},
                  projected(k, options, where), where);
}

// [rows, m] → [.., m] where `like` is [.., D].
Tensor shaped(Tensor rows, Tensor like) {
    Shape shape = like.shape();
    shape[-1] = rows.shape()[-1];
    return rows.graph().reshape(rows, shape);
}

}  // namespace

Tensor performer_query_features(Tensor q, PerformerOptions options, SourceLocation where) {
    return shaped(softmax(projected(q, options, where), -1, 1, where), q);  // |q|² is common to a query's features
}

PerformerKeys performer_key_features(Tensor k, PerformerOptions options, SourceLocation where) {
    const Tensor exponents = key_exponents(k, options, where),
                 logs = add(exponents, scale(log_softmax(exponents, -1, 1, where), -1, where), where);
    return {.shares = shaped(softmax(exponents, -1, 1, where), k), .log = shaped(logs, k)};
}

PerformerFeatures performer_features(Tensor q, Tensor k, PerformerOptions options, SourceLocation where) {
    if (q.shape().rank() < 3 || k.shape().rank() < 3 || k.shape()[-1] != q.shape()[-1])
        throw Error(ErrorKind::usage,
                    "performer_features: q is " + q.type().text() + " and k is " + k.type().text() +
                        ", but heads of one width are wanted",
                    where);
    const bool first = options.heads_first;
    return {
        .q = performer_query_features(q, options, where),
        .k = softmax_by_head(shaped(key_exponents(k, options, where), k), k.shape()[first ? -3 : -2], first, where)};
}

}  // namespace vantage
