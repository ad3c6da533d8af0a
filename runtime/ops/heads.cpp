// Rearrangements between features and heads (Vaswani et al. 2017, section 3.2.2).
//   split_heads: [.., n, H D] -> [.., H, n, D]       merge_heads: [.., H, n, D] -> [.., n, H D]
// Both swap two axes of a tensor seen as (outer, m, n, width), so they share a kernel.
#include "runtime/ops/heads.h"

#include <vector>

#include "runtime/ops/checks.h"
#include "shaders/params/swap_axes.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::heads {
namespace {

// y[o, j, i, :] = x[o, i, j, :]
struct Axes {
    std::int64_t outer = 1, m = 1, n = 1, width = 1;
    std::int64_t count() const { return outer * m * n * width; }
};

std::int64_t product(const Shape& shape, int dimensions) {
    std::int64_t result = 1;
    for (int i = 0; i < dimensions; ++i) result *= shape[i];
    return result;
}

Axes axes_of_split(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    const std::int64_t heads = call.attrs.integer("heads", 1);
    return {product(x, x.rank() - 2), x[-2], heads, x[-1] / heads};
}
Axes axes_of_merge(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    return {product(x, x.rank() - 3), x[-3], x[-2], x[-1]};
}

std::vector<TensorType> infer_split(const OpCall& call) {
    require_floats(call);
    const TensorType& x = call.in(x_);
    const std::int64_t heads = call.attrs.integer("heads", 0);
    call.require(x.shape.rank() >= 2 && x.shape.rank() < Shape::max_rank,
                 operand_is(call, x_) + ", but must be [.., n, heads * width]");
    call.require(heads > 0 && x.shape[-1] % heads == 0,
                 operand_is(call, x_) + ", whose rows do not divide into " + std::to_string(heads) + " heads");
    std::vector<std::int64_t> sizes(x.shape.sizes().begin(), x.shape.sizes().end() - 2);
    sizes.insert(sizes.end(), {heads, x.shape[-2], x.shape[-1] / heads});
    return {{Shape(sizes), x.dtype}};
}

std::vector<TensorType> infer_merge(const OpCall& call) {
    require_floats(call);
    const TensorType& x = call.in(x_);
    call.require(x.shape.rank() >= 3, operand_is(call, x_) + ", but must be [.., heads, n, width]");
    std::vector<std::int64_t> sizes(x.shape.sizes().begin(), x.shape.sizes().end() - 3);
    sizes.insert(sizes.end(), {x.shape[-2], x.shape[-3] * x.shape[-1]});
    return {{Shape(sizes), x.dtype}};
}

template <Axes (*axes_of)(const OpCall&)>
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Axes a = axes_of(call);
    for (std::int64_t o = 0; o < a.outer; ++o)
        for (std::int64_t i = 0; i < a.m; ++i)
            for (std::int64_t j = 0; j < a.n; ++j)
                for (std::int64_t d = 0; d < a.width; ++d)
                    out[0][((o * a.n + j) * a.m + i) * a.width + d] = in[x_][((o * a.m + i) * a.n + j) * a.width + d];
}

Cost cost(const OpCall& call) { return streaming_cost(call, 0); }

template <Axes (*axes_of)(const OpCall&)>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Axes a = axes_of(call);
    Launch l{.shader = "swap_axes",
             .spec =
                 params::SwapAxesConstants{
                     .lanes = workgroup_size(caps), .X_TYPE = storage_of(call.in(x_).dtype), .STEP = step_of(a.width)},
             .operands = {in(x_), out(0)},
             .groups = element_grid(a.count(), step_of(a.width), caps)};
    return l.with(params::SwapAxesParams{.count = u32(a.count()), .m = u32(a.m), .n = u32(a.n), .width = u32(a.width)});
}

// Each undoes the other.
std::vector<Tensor> gradient_of_split(const GradientCall& g) { return {vantage::merge_heads(g.gradients[0], g.where)}; }
std::vector<Tensor> gradient_of_merge(const GradientCall& g) {
    return {vantage::split_heads(g.gradients[0], g.call.in(x_).shape[-3], g.where)};
}

std::vector<Case> cases_split() {
    std::vector<Case> list;
    const auto add = [&](Shape shape, std::int64_t heads) {
        list.push_back({.name = shape.text() + " heads=" + std::to_string(heads),
                        .attrs = {{"heads", heads}},
                        .inputs = {floats(shape)}});
    };
    add({1, 1}, 1);
    add({2, 6, 24}, 4);
    add({3, 5, 21}, 3);
    add({37, 96}, 12);
    add({0, 24}, 4);
    return list;
}

std::vector<Case> cases_merge() {
    std::vector<Case> list;
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{2, 4, 6, 5}, Shape{12, 37, 8}, Shape{3, 0, 8}})
        list.push_back({.name = shape.text(), .inputs = {floats(shape)}});
    return list;
}

}  // namespace

const OpDef split_heads_op =
    define_op("split_heads", "[.., n, heads * width] -> [.., heads, n, width] (Vaswani et al. 2017)", operand_names,
              infer_split, reference<axes_of_split>, cost, {{"plain", need_nothing, every_call, launch<axes_of_split>}},
              cases_split, gradient_of_split);

const OpDef merge_heads_op =
    define_op("merge_heads", "[.., heads, n, width] -> [.., n, heads * width] (Vaswani et al. 2017)", operand_names,
              infer_merge, reference<axes_of_merge>, cost, {{"plain", need_nothing, every_call, launch<axes_of_merge>}},
              cases_merge, gradient_of_merge);

}  // namespace internal::ops::heads

Tensor split_heads(Tensor x, std::int64_t heads, SourceLocation where) {
    return add_call(x.graph(), split_heads_op, {x}, {{"heads", heads}}, where)[0];
}
Tensor merge_heads(Tensor x, SourceLocation where) { return add_call(x.graph(), merge_heads_op, {x}, {}, where)[0]; }

}  // namespace vantage
