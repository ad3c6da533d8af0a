// Sums over rows, or of products with normalised rows.
//   s_c = sum_r x_rc;  sum_r x_rc y_rc;  sum_r x_rc (y_rc - mean_r) rstd_r, the gradient of a norm's gain
// In blocks of rows, and then over the blocks: pairwise summation (Higham 1993).
#include "runtime/ops/column_sums.h"

#include "runtime/ops/checks.h"
#include "shaders/params/column_sums.h"

namespace vantage::internal {

namespace ops::column_sums {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType& x = call.in(x_);
    call.require(x.shape.rank() >= 1, operand_is(call, x_) + ", which has no columns");
    require_shape(call, y_, x.shape);
    for (const int i : {mean_, rstd_}) require_type(call, i, {Shape{x.shape.rows()}, DType::f32});
    call.require(call.has(y_) || (!call.has(mean_) && !call.has(rstd_)),
                 "mean and rstd are those of y, which is absent");
    return {{Shape{x.shape[-1]}, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t cols = call.in(x_).shape[-1];
    for (std::int64_t i = 0; i < call.in(x_).shape.elements(); ++i) {
        const std::int64_t row = i / cols;
        const double mean = call.has(mean_) ? in[mean_][row] : 0, rstd = call.has(rstd_) ? in[rstd_][row] : 1;
        out[0][i % cols] += in[x_][i] * (call.has(y_) ? (in[y_][i] - mean) * rstd : 1);
    }
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, (call.has(y_) ? 4.0 : 1.0) * static_cast<double>(call.in(x_).shape.elements()));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    constexpr std::int64_t block = 64;
    const std::int64_t cols = call.in(x_).shape[-1];
    const std::uint32_t lanes = workgroup_size(caps);
    LaunchPlan plan;
    for (std::int64_t rows = call.in(x_).shape.rows(); plan.launches.empty() || rows > 1;) {
        const std::int64_t blocks = std::max<std::int64_t>((rows + block - 1) / block, 1);
        const int made = static_cast<int>(plan.scratch.size());
        Launch l{.shader = "column_sums",
                 .spec =
                     params::ColumnSumsConstants{
                         .lanes = lanes, .X_TYPE = storage_of(call, x_), .Y_TYPE = storage_of(call, {y_, x_})},
                 .operands = {in(x_), in(y_), in(mean_), in(rstd_), blocks == 1 ? out(0) : scratch_out(made)},
                 .groups = flat_grid(blocks * ceil_div(cols, lanes), caps)};
        if (!plan.launches.empty()) {
            l.spec = params::ColumnSumsConstants{.lanes = lanes};
            l.operands[0] = scratch_in(made - 1);
            for (const int i : {y_, mean_, rstd_}) l.operands[static_cast<std::size_t>(i)] = no_operand;
        }
        if (blocks > 1) plan.scratch.push_back(static_cast<std::uint64_t>(blocks * cols) * 4);
        plan.launches.push_back(
            l.with(params::ColumnSumsParams{.rows = u32(rows), .cols = u32(cols), .block = u32(block)}));
        rows = blocks;
    }
    return plan;
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& x, bool product, bool normalised) {
        const TensorType per_row{Shape{x.rows()}};
        return Case{.name = name,
                    .inputs = {floats(x),
                               {.type = only_if(product, TensorType{x})},
                               {.type = only_if(normalised, per_row), .fixed_type = true},
                               {.type = only_if(normalised, per_row), .fixed_type = true}}};
    };
    return {of("3x5", {3, 5}, false, false),
            of("2x40x300", {2, 40, 300}, false, false),
            of("5000x3 products", {5000, 3}, true, false),
            of("70x33 normalised", {70, 33}, true, true),
            of("1x1", {1, 1}, true, false),
            of("no rows", {0, 7}, false, false)};
}

}  // namespace

const OpDef column_sums_op =
    define_op("column_sums", "s_c = sum_r x_rc, or sum_r x_rc (y_rc - mean_r) rstd_r", operand_names, infer, reference,
              cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace ops::column_sums

Tensor column_sums(Tensor x, Tensor y, Tensor mean, Tensor rstd, SourceLocation where) {
    return add_call(x.graph(), column_sums_op, {x, y, mean, rstd}, {}, where)[0];
}

Tensor sum_to(const Shape& shape, Tensor x, Tensor y, SourceLocation where) {
    Graph graph = x.graph();
    const std::int64_t cols = shape.elements(), rows = cols > 0 ? x.shape().elements() / cols : 0;
    const auto flat = [&](const Tensor& t) { return t ? graph.reshape(t, {rows, cols}, where) : t; };
    return graph.reshape(column_sums(flat(x), flat(y), {}, {}, where), shape, where);
}

}  // namespace vantage::internal
