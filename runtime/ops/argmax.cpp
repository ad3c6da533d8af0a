// Index of the largest element of every row: greedy decoding.
//   y_r = min { i : x_ri = max x_r }; NaN is never larger than anything
#include "runtime/ops/argmax.h"

#include <limits>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/argmax.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::argmax {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const Shape& x = call.in(x_).shape;
    call.require(x.rank() >= 1 && x[-1] > 0, operand_is(call, x_) + ", but rows without elements have no largest one");
    return {{Shape{x.rows()}, DType::i32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(x_).shape[-1], rows = call.in(x_).shape.rows();
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t best = 0;
        double best_value = -std::numeric_limits<double>::infinity();
        for (std::int64_t col = 0; col < cols; ++col)
            if (in[x_][row * cols + col] > best_value) best_value = in[x_][row * cols + col], best = col;
        out[0][row] = static_cast<double>(best);
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const TensorType& x = call.in(x_);
    Launch l{.shader = shader,
             .spec = params::ArgmaxConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(x.dtype)},
             .operands = {in(x_), out(0)},
             .groups = flat_grid(x.shape.rows(), caps)};
    return l.with(params::ArgmaxParams{.rows = u32(x.shape.rows()), .cols = u32(x.shape[-1])});
}

std::vector<Case> cases() {
    const auto given = [](Shape shape, const std::vector<double>& values) {
        return Case{.name = "", .inputs = {filled_with(TensorType{shape}, values)}};
    };
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<Case> list;
    for (const auto& [rows, cols] : {std::pair{1, 1}, {5, 33}, {2, 5003}, {0, 8}})
        list.push_back({.name = format("rows={} cols={}", rows, cols), .inputs = {floats({rows, cols})}});
    list.push_back(given(Shape{4, 5}, {1, 3, -2, 3, 3, -1, -2, -0.5, -0.5, -4, -0.0, 0, -1, 0, 0, -7, -7, -7, -7, -7}));
    list.back().name = "equal values";
    list.push_back(given(Shape{5, 3}, {nan, -5, -4, -inf, -inf, -inf, nan, nan, nan, -inf, -1e4, nan, 2, inf, nan}));
    list.back().name = "NaN and infinities";
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {{"subgroup", need_subgroup, every_call, launch<"argmax_subgroup">},
                                     {"plain", need_nothing, every_call, launch<"argmax">}};

const OpDef argmax_op =
    define_op("argmax", "index of the largest element of every row, the first of equal ones; NaN is never the largest",
              operand_names, infer, reference, cost, kernels, cases, of_integers);

}  // namespace internal::ops::argmax

Tensor argmax(Tensor x, SourceLocation where) { return add_call(x.graph(), argmax_op, {x}, {}, where)[0]; }

}  // namespace vantage
