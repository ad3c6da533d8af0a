// Matrix products with everything that may follow them in one kernel.
//   c = activation(alpha a b + bias) + beta residual
// a [.., m, k], b [.., k, n], either transposed; leading dimensions broadcast as in numpy. Goto & van de Geijn (2008) for the
// tiling; the epilogue saves a round trip of c through memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/graph/op.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "shaders/params/matmul.h"
#include "vantage/ops.h"

namespace vantage {

namespace ops::matmul {
namespace {

enum : int { a_, b_, bias_, residual_ };

// Sizes of a call. Batches are the leading dimensions, at most two after broadcasting: (outer, inner).
struct Sizes {
    std::int64_t m, n, k, outer = 1, inner = 1;
    std::array<std::int64_t, 2> a_stride{}, b_stride{};  // elements from batch to batch, (outer, inner); 0 = broadcast
    std::int64_t batches() const { return outer * inner; }
};

std::int64_t leading(const Shape& shape, int from_inner) {  // batch dimension counted from the inside, 1 where absent
    const int i = shape.rank() - 3 - from_inner;
    return i >= 0 ? shape[i] : 1;
}

Sizes sizes_of(const OpCall& call) {
    const Shape &a = call.in(a_).shape, &b = call.in(b_).shape;
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    Sizes s{.m = ta ? a[-1] : a[-2], .n = tb ? b[-2] : b[-1], .k = ta ? a[-2] : a[-1]};
    s.inner = std::max(leading(a, 0), leading(b, 0));
    s.outer = std::max(leading(a, 1), leading(b, 1));
    const std::int64_t a_matrix = s.m * s.k, b_matrix = s.n * s.k;
    s.a_stride = {leading(a, 1) > 1 ? a_matrix * leading(a, 0) : 0, leading(a, 0) > 1 ? a_matrix : 0};
    s.b_stride = {leading(b, 1) > 1 ? b_matrix * leading(b, 0) : 0, leading(b, 0) > 1 ? b_matrix : 0};
    // one matrix b for all batches: the batches of a are simply more rows
    if (s.b_stride[0] == 0 && s.b_stride[1] == 0 && !ta && s.batches() > 1 && leading(a, 0) == s.inner &&
        leading(a, 1) == s.outer) {
        s.m *= s.batches();
        s.outer = s.inner = 1;
        s.a_stride = {0, 0};
    }
    return s;
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &a = call.in(a_), &b = call.in(b_);
    for (int i : {a_, b_})
        call.require(call.in(i).shape.rank() >= 2 && call.in(i).shape.rank() <= 4,
                     std::string(call.op->operands[static_cast<std::size_t>(i)]) + " is " + call.in(i).text() +
                         ", but has to have 2 to 4 dimensions");
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    require_floats(call, b_);
    require_weights(call, b_);
    const std::int64_t k = ta ? a.shape[-2] : a.shape[-1], k_b = tb ? b.shape[-1] : b.shape[-2];
    if (k != k_b)
        call.fail(format("b is %s%s, but a %s%s has k = %lld", b.text().c_str(), tb ? " transposed" : "",
                         a.text().c_str(), ta ? " transposed" : "", static_cast<long long>(k)));
    const int rank = std::max(a.shape.rank(), b.shape.rank());
    std::vector<std::int64_t> result(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank - 2; ++i) {
        const std::int64_t from_a = leading(a.shape, rank - 3 - i), from_b = leading(b.shape, rank - 3 - i);
        call.require(from_a == from_b || from_a == 1 || from_b == 1,
                     "batches of b " + b.text() + " do not fit those of a " + a.text());
        result[static_cast<std::size_t>(i)] = std::max(from_a, from_b);
    }
    result[static_cast<std::size_t>(rank - 2)] = ta ? a.shape[-1] : a.shape[-2];
    result[static_cast<std::size_t>(rank - 1)] = tb ? b.shape[-2] : b.shape[-1];
    const TensorType c{Shape(result), a.dtype};
    if (call.has(bias_))
        call.require(
            call.in(bias_).shape == Shape{c.shape[-1]},
            "bias is " + call.in(bias_).text() + ", but rows of the result " + c.text() + " are longer or shorter");
    if (call.has(residual_))
        call.require(call.in(residual_) == c,
                     "residual is " + call.in(residual_).text() + ", but the result is " + c.text());
    return {c};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    const double alpha = call.attrs.number("alpha", 1), beta = call.attrs.number("beta", 1);
    const int activation = activation_kind(call.attrs.text("activation", "none"));
    for (std::int64_t batch = 0; batch < s.batches(); ++batch) {
        const std::int64_t a0 = batch / s.inner * s.a_stride[0] + batch % s.inner * s.a_stride[1];
        const std::int64_t b0 = batch / s.inner * s.b_stride[0] + batch % s.inner * s.b_stride[1];
        for (std::int64_t row = 0; row < s.m; ++row)
            for (std::int64_t col = 0; col < s.n; ++col) {
                double sum = 0;
                for (std::int64_t k = 0; k < s.k; ++k)
                    sum += in[a_][a0 + (ta ? k * s.m + row : row * s.k + k)] *
                           in[b_][b0 + (tb ? col * s.k + k : k * s.n + col)];
                const std::int64_t c = (batch * s.m + row) * s.n + col;
                out[0][c] = activation_value(activation, alpha * sum + (call.has(bias_) ? in[bias_][col] : 0)) +
                            (call.has(residual_) ? beta * in[residual_][c] : 0);
            }
    }
}

Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    return streaming_cost(call, 2.0 * static_cast<double>(s.batches() * s.m) * static_cast<double>(s.n * s.k));
}

Launch base_launch(const OpCall& call, const char* shader, std::uint32_t lanes, const Sizes& s) {
    Launch l{.shader = shader,
             .spec = {lanes, storage_of(call.in(a_).dtype), storage_of(call.in(b_).dtype),
                      storage_of(call, {bias_, b_}), call.attrs.flag("transpose_a"), call.attrs.flag("transpose_b"),
                      static_cast<std::uint32_t>(activation_named(call.attrs.text("activation", "none")))},
             .operands = {in(a_), in(b_), in(bias_), in(residual_), out(0)}};
    const auto u = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    return l.with(params::MatmulParams{.m = u(s.m),
                                       .n = u(s.n),
                                       .k = u(s.k),
                                       .batches = u(s.batches()),
                                       .inner_batches = u(s.inner),
                                       .a_outer = u(s.a_stride[0]),
                                       .a_inner = u(s.a_stride[1]),
                                       .b_outer = u(s.b_stride[0]),
                                       .b_inner = u(s.b_stride[1]),
                                       .alpha = static_cast<float>(call.attrs.number("alpha", 1)),
                                       .beta = static_cast<float>(call.attrs.number("beta", 1))});
}

LaunchPlan launch_plain(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps);
    Launch l = base_launch(call, "matmul_plain", lanes, s);
    l.groups = flat_grid(ceil_div(s.batches() * s.m * s.n, lanes), caps);
    return l;
}

LaunchPlan launch_tiled(const OpCall& call, const Caps&) {
    const Sizes s = sizes_of(call);
    Launch l = base_launch(call, "matmul_tiled", 256, s);
    l.groups = {ceil_div(s.n, 64), ceil_div(s.m, 64), static_cast<std::uint32_t>(s.batches())};
    return l;
}

bool fits_tiled(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::array<std::uint32_t, 3> most = caps.max_workgroup_count;
    return caps.max_workgroup_invocations >= 256 && caps.max_workgroup_size[0] >= 256 && s.m > 8 &&
           ceil_div(s.n, 64) <= most[0] && ceil_div(s.m, 64) <= most[1] && s.batches() <= most[2];
}

bool fits_rows(const OpCall& call, const Caps&) {
    const Sizes s = sizes_of(call);
    return s.m >= 1 && s.m <= 8 && s.batches() == 1 && s.k > 0 && call.attrs.flag("transpose_b") &&
           !call.attrs.flag("transpose_a");
}

LaunchPlan launch_rows(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t lanes) {
    const Sizes s = sizes_of(call);
    Launch l = base_launch(call, shader, lanes, s);
    // Small devices (256 invocations) have too few registers for 8 rows: they read b twice instead of spilling.
    const std::int64_t rows = s.m == 1 ? 1 : s.m <= 4 || caps.max_workgroup_invocations <= 256 ? 4 : 8;
    l.spec.push_back(static_cast<std::uint32_t>(rows));
    l.spec.push_back(step_of(s.k));
    l.groups = flat_grid(ceil_div(s.n, 4), caps);
    l.groups[2] = ceil_div(s.m, rows);
    return l;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto type = [](Shape shape) { return std::optional(TensorType{shape, DType::f32}); };
    const auto one = [&](const char* name, Shape a, Shape b, Attrs attrs, bool bias = false, Shape residual = {}) {
        Case c{.name = name, .attrs = attrs, .inputs = {{.type = type(a)}, {.type = type(b)}}};
        const std::int64_t n = attrs.flag("transpose_b") ? b[-2] : b[-1];
        c.inputs.push_back(bias ? Case::Input{.type = type({n})} : Case::Input{});
        c.inputs.push_back(residual.rank() > 0 ? Case::Input{.type = type(residual)} : Case::Input{});
        list.push_back(c);
    };
    // These vary the storage of the weights, or the activation; others share their pipelines.
    const auto with_weights = [&] { list.back().inputs[b_].weight = list.back().inputs[bias_].weight = true; };
    const auto in_f32 = [&] {
        for (Case::Input& input : list.back().inputs) input.fixed_type = true;
    };
    one("1x1x1", {1, 1}, {1, 1}, {});
    one("17x33x29 NN", {17, 29}, {29, 33}, {});
    one("17x33x29 TT", {29, 17}, {33, 29}, {{"transpose_a", true}, {"transpose_b", true}});
    one("70x130x48 NT bias", {70, 48}, {130, 48}, {{"transpose_b", true}}, true);
    with_weights();
    one("17x33x48 NT bias gelu", {17, 48}, {33, 48}, {{"transpose_b", true}, {"activation", std::string("gelu_tanh")}},
        true);
    in_f32();
    one("1x37x64 NT bias residual", {1, 64}, {37, 64}, {{"transpose_b", true}}, true, {1, 37});
    with_weights();
    one("1x21x35 NT", {1, 35}, {21, 35}, {{"transpose_b", true}}, true, {1, 21});
    with_weights();
    one("5x40x132 NT gelu", {5, 132}, {40, 132}, {{"transpose_b", true}, {"activation", std::string("gelu_tanh")}});
    in_f32();
    one("batch 2x3 broadcast", {2, 1, 9, 20}, {3, 20, 11}, {});
    one("batch shared b", {3, 7, 16}, {16, 10}, {{"alpha", 0.5}, {"beta", -1.25}}, false, {3, 7, 10});
    one("k=0", {2, 0}, {0, 3}, {}, true);
    one("m=0", {0, 4}, {4, 3}, {});
    return list;
}

}  // namespace
}  // namespace ops::matmul

extern const OpDef matmul_op;
const OpDef matmul_op = {
    .name = "matmul",
    .summary =
        "c = activation(alpha a b + bias) + beta residual; a [.., m, k], b [.., k, n], either transposed, batches "
        "broadcast",
    .operands = {"a", "b", "bias", "residual"},
    .infer = ops::matmul::infer,
    .reference = ops::matmul::reference,
    .cost = ops::matmul::cost,
    .kernels = {{.name = "rows_subgroup",
                 .needs = need_subgroup,
                 .fits = ops::matmul::fits_rows,
                 .launch =
                     [](const OpCall& c, const Caps& d) {
                         return ops::matmul::launch_rows(c, d, "matmul_rows_subgroup",
                                                         std::clamp(d.subgroup_size, 8u, 64u));
                     }},
                {.name = "rows",
                 .fits = ops::matmul::fits_rows,
                 .launch = [](const OpCall& c,
                              const Caps& d) { return ops::matmul::launch_rows(c, d, "matmul_rows", 32); }},
                {.name = "tiled", .fits = ops::matmul::fits_tiled, .launch = ops::matmul::launch_tiled},
                {.name = "plain", .launch = ops::matmul::launch_plain}},
    .cases = ops::matmul::cases,
};

Tensor matmul(Tensor a, Tensor b, MatmulOptions options, Tensor bias, Tensor residual, Where where) {
    Attrs attrs;
    if (options.transpose_a) attrs.set("transpose_a", true);
    if (options.transpose_b) attrs.set("transpose_b", true);
    if (options.alpha != 1) attrs.set("alpha", options.alpha);
    if (options.beta != 1) attrs.set("beta", options.beta);
    if (options.activation != Activation::none) attrs.set("activation", std::string(name_of(options.activation)));
    return a.graph().call(matmul_op, {a, b, bias, residual}, attrs, where)[0];
}

Tensor linear(Tensor x, Tensor weight, Tensor bias, Where where) { return matmul(x, weight, {}, bias, {}, where); }
Tensor linear_transposed(Tensor x, Tensor weight, Tensor bias, Where where) {
    return matmul(x, weight, {.transpose_b = true}, bias, {}, where);
}

}  // namespace vantage
