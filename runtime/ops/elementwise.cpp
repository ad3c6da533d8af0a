// Sums, products and multiples, element by element. b repeats over the leading dimensions of a: it is as large as a,
// one of its rows [cols], a matrix [rows, cols] of several, or a single number.
//   add: y = a + b    mul: y = a b    scale: y = factor a
#include "runtime/ops/elementwise.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "shaders/params/elementwise.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::elementwise {
namespace {

static_assert(+scale::x_ == a_);  // which has no b

// Whether b, without leading dimensions of 1, is the end of a's shape.
bool repeats(const Shape& a, const Shape& b) {
    int rank = b.rank();
    while (rank > 0 && b[b.rank() - rank] == 1) --rank;
    if (rank > a.rank()) return false;
    for (int i = 1; i <= rank; ++i)
        if (a[-i] != b[-i]) return false;
    return true;
}

std::vector<TensorType> infer_pair(const OpCall& call) {
    require_floats(call);
    if (!repeats(call.in(a_).shape, call.in(b_).shape))
        call.fail(operand_is(call, b_) + ", but must have the last dimensions of a " + call.in(a_).text() +
                  " or one element");
    return {call.in(a_)};
}
std::vector<TensorType> infer_one(const OpCall& call) {
    require_floats(call);
    return {call.in(a_)};
}

template <class Function>
void reference_pair(const OpCall&, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t count = in[a_].type.shape.elements(), repeat = in[b_].type.shape.elements();
    for (std::int64_t i = 0; i < count; ++i) out[0][i] = Function()(in[a_][i], in[b_][i % repeat]);
}
void reference_one(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::size_t i = 0; i < in[a_].data.size(); ++i)
        out[0].data[i] = call.attrs.number("factor", 1) * in[a_].data[i];
}

Cost cost(const OpCall& call) { return streaming_cost(call, static_cast<double>(call.in(a_).shape.elements())); }

params::ElementwiseParams params_of(const OpCall& call, std::uint32_t kind, std::int64_t chunk) {
    return {.count = u32(call.in(a_).shape.elements()),
            .b_count = call.has(b_) ? u32(call.in(b_).shape.elements()) : 1,
            .kind = kind,
            .factor = static_cast<float>(call.attrs.number("factor", 1)),
            .chunk = u32(chunk)};
}

template <std::uint32_t kind, bool wide>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& a = call.in(a_);
    const std::int64_t count = a.shape.elements();
    const std::uint32_t unroll =
        wide ? 8 : 1;  // a CPU device makes each invocation's number by divisions: fewer of them
    Launch l{.shader = wide ? "elementwise_wide" : "elementwise",
             .spec = params::ElementwiseConstants{.lanes = workgroup_size(caps),
                                                  .A_TYPE = storage_of(a.dtype),
                                                  .B_TYPE = storage_of(call, {b_, a_}),
                                                  .UNROLL = unroll},
             .operands = {in(a_), in(b_), out(0)},
             .groups = element_grid(count, 4 * unroll, caps)};
    return l.with(params_of(call, kind, 0));
}

// Elements that a workgroup of the kernel cpu_simd computes. Chunks divide b where b repeats: its elements are then
// contiguous.
std::int64_t chunk_of(const OpCall& call) {
    constexpr std::int64_t default_size = 4096, max_size = 2 * default_size;
    const std::int64_t count = call.in(a_).shape.elements(),
                       others = call.has(b_) ? call.in(b_).shape.elements() : count;
    if (others == count) return std::min(count, default_size);
    return others <= max_size ? others : std::gcd(others, default_size);
}
bool fits_vectors(const OpCall& call, const Caps& caps) {
    const std::uint32_t vectors = vectors_of_round(chunk_of(call), caps);
    return caps.is_cpu() && caps.subgroup_shuffle && call.in(a_).dtype == DType::f32 && vectors != 0 &&
           call.in(a_).shape.elements() % (vectors * caps.subgroup_size) == 0;
}
template <std::uint32_t kind>
LaunchPlan launch_cpu_simd(const OpCall& call, const Caps& caps) {
    const std::int64_t count = call.in(a_).shape.elements(), chunk = chunk_of(call);
    Launch l{.shader = "elementwise_cpu_simd",
             .spec = params::ElementwiseCpuSimdConstants{.lanes = caps.subgroup_size,
                                                         .B_TYPE = storage_of(call, {b_, a_}),
                                                         .UNROLL = vectors_of_round(chunk, caps)},
             .operands = {in(a_), in(b_), out(0)},
             .groups = flat_grid(ceil_div(count, chunk), caps)};
    return l.with(params_of(call, kind, chunk));
}

template <std::uint32_t kind>
std::vector<Kernel> kernels() {
    return {{"cpu_simd", need_subgroup | need_int64, fits_vectors, launch_cpu_simd<kind>, loads_once},
            {"wide", need_int64, on_cpu, launch<kind, true>},
            {"plain", need_nothing, every_call, launch<kind, false>}};
}

// The gradient of b: dy, or dy times `factor`, summed over what b was repeated for.
Tensor sum_like(const Tensor& b, Tensor dy, Tensor factor, SourceLocation where) {
    if (b.shape() == dy.shape()) return factor ? mul(dy, factor, where) : dy;
    return sum_to(b.shape(), dy, factor, where);
}
std::vector<Tensor> gradient_of_add(const GradientCall& g) {
    const Tensor dy = g.gradients[0], &b = g.inputs[b_];
    return {dy, g.needed[b_] ? sum_like(b, dy, {}, g.where) : Tensor()};
}
std::vector<Tensor> gradient_of_mul(const GradientCall& g) {
    const Tensor dy = g.gradients[0], &a = g.inputs[a_], &b = g.inputs[b_];
    return {g.needed[a_] ? mul(dy, b, g.where) : Tensor(), g.needed[b_] ? sum_like(b, dy, a, g.where) : Tensor()};
}
std::vector<Tensor> gradient_of_scale(const GradientCall& g) {
    return {vantage::scale(g.gradients[0], g.call.attrs.number("factor", 1), g.where)};
}

std::vector<Case> cases_pair() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape a, Shape b, bool weight) {
        list.push_back(
            {.name = name, .inputs = {{.type = TensorType{a}, .low = 1}, {.type = TensorType{b}, .weight = weight}}});
    };
    add("1", {1}, {1}, false);
    add("same 3x5x7", {3, 5, 7}, {3, 5, 7}, false);
    add("rows of 7", {3, 5, 7}, {7}, true);
    add("rows of 768", {3, 768}, {1, 768}, true);
    add("matrices of 2x12", {4, 2, 12}, {2, 12}, true);
    add("one number", {2, 9}, {1}, false);
    add("same 5003", {5003}, {5003}, false);
    add("empty", {0, 4}, {4}, false);
    return list;
}

std::vector<Case> cases_one() {
    std::vector<Case> list;
    for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{2, 2112}, Shape{0, 4}})
        list.push_back({.name = shape.text(), .attrs = {{"factor", -0.375}}, .inputs = {floats(shape)}});
    return list;
}

}  // namespace

const OpDef add_op =
    define_op("add", "y = a + b; b repeats over the leading dimensions of a", operand_names, infer_pair,
              reference_pair<std::plus<>>, cost, kernels<ELEMENTWISE_ADD>(), cases_pair, gradient_of_add);

const OpDef mul_op = define_op("mul", "y = a b, element by element; b repeats over the leading dimensions of a",
                               operand_names, infer_pair, reference_pair<std::multiplies<>>, cost,
                               kernels<ELEMENTWISE_MUL>(), cases_pair, gradient_of_mul);

const OpDef scale_op = define_op("scale", "y = factor x", scale::operand_names, infer_one, reference_one, cost,
                                 kernels<ELEMENTWISE_SCALE>(), cases_one, gradient_of_scale);

}  // namespace internal::ops::elementwise

Tensor add(Tensor a, Tensor b, SourceLocation where) { return add_call(a.graph(), add_op, {a, b}, {}, where)[0]; }
Tensor mul(Tensor a, Tensor b, SourceLocation where) { return add_call(a.graph(), mul_op, {a, b}, {}, where)[0]; }
Tensor scale(Tensor x, double factor, SourceLocation where) {
    return add_call(x.graph(), scale_op, {x}, {{"factor", factor}}, where)[0];
}

}  // namespace vantage
