// A linear layer whose matrix is that of a row's expert: a grouped matrix product.
//   y[c] = x[c / share] W_eᵀ + b_e, e = index[c];  0 where choice c has no slot
// Only the chosen experts are computed: k of E cost k / E of all (Shazeer et al. 2017; Gale et al. 2022, MegaBlocks).
#include "runtime/ops/expert_linear.h"

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/coopmat.h"
#include "runtime/ops/matmul_kernels.h"
#include "runtime/ops/sort_by_expert.h"
#include "shaders/params/experts.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::expert_linear {
namespace {

struct Sizes {
    std::int64_t choices, experts, n, k, share;
    bool transposed;
};
Sizes sizes_of(const OpCall& call) {
    const Shape &x = call.in(x_).shape, &w = call.in(w_).shape;
    const bool transposed = call.attrs.flag("transpose_w");
    const std::int64_t choices = call.in(index_).shape.elements();
    return {.choices = choices,
            .experts = w[0],
            .n = transposed ? w[1] : w[2],
            .k = transposed ? w[2] : w[1],
            .share = x[0] > 0 ? choices / x[0] : 1,
            .transposed = transposed};
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &x = call.in(x_), &w = call.in(w_), &index = call.in(index_);
    call.require(is_float(x.dtype) && x.shape.rank() == 2, operand_is(call, x_) + ", but must be [rows, k]");
    require_weights(call, w_);
    call.require(w.shape.rank() == 3, operand_is(call, w_) + ", but must be [experts, n, k], or with k first");
    call.require(index.dtype == DType::i32, operand_is(call, index_) + ", but must be i32 [n, top_k]");
    const Sizes s = sizes_of(call);
    call.require(s.experts > 0 && s.k == x.shape[1], operand_is(call, w_) + ", but x is " + x.text());
    call.require(s.share > 0 && x.shape[0] * s.share == s.choices,
                 operand_is(call, index_) + ", whose choices do not share the rows of x " + x.text() + " evenly");
    if (call.has(bias_))
        call.require(call.in(bias_).shape == Shape{s.experts, s.n} && is_float(call.in(bias_).dtype),
                     operand_is(call, bias_) + ", but w is " + w.text());
    call.require(call.in(slots_) == TensorType{Shape{s.choices}, DType::i32} &&
                     call.in(order_) == TensorType{Shape{s.choices}, DType::i32} &&
                     call.in(offsets_) == TensorType{Shape{s.experts + 2}, DType::i32},
                 "slots, order and offsets must be those of sort_by_expert for " + index.text() + " and w " + w.text());
    return {{Shape{s.choices, s.n}, x.dtype}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    for (std::int64_t c = 0; c < s.choices; ++c)
        for (std::int64_t col = 0; col < s.n; ++col) {
            double sum = 0;
            const auto expert = static_cast<std::int64_t>(in[index_][c]);
            for (std::int64_t k = 0; k < s.k && in[slots_][c] >= 0; ++k)
                sum += in[x_][c / s.share * s.k + k] *
                       in[w_][expert * s.n * s.k + (s.transposed ? col * s.k + k : k * s.n + col)];
            if (call.has(bias_) && in[slots_][c] >= 0) sum += in[bias_][expert * s.n + col];
            out[0][c * s.n + col] = sum;
        }
}

// Only chosen matrices are read: at most one for each choice.
Cost cost(const OpCall& call) {
    const Sizes s = sizes_of(call);
    const auto bytes = [&](int i) { return static_cast<double>(call.in(i).bytes()); };
    Cost cost = streaming_cost(call, 2.0 * static_cast<double>(s.choices) * static_cast<double>(s.n * s.k));
    cost.bytes_read -=
        bytes(w_) * static_cast<double>(s.experts - std::min(s.experts, s.choices)) / static_cast<double>(s.experts);
    return cost;
}

template <class Constants>
Constants constants_of(const OpCall& call, std::uint32_t lanes, Constants own = {}) {
    own.lanes = lanes;
    own.X_TYPE = storage_of(call, x_), own.W_TYPE = storage_of(call, w_), own.BIAS_TYPE = storage_of(call, {bias_, w_});
    own.TRANSPOSED = sizes_of(call).transposed;
    return own;
}

Launch base_launch(const OpCall& call, const char* shader, std::vector<std::uint32_t> constants) {
    const Sizes s = sizes_of(call);
    Launch l{.shader = shader,
             .spec = std::move(constants),
             .operands = {in(x_), in(w_), in(bias_), in(index_), in(slots_), in(order_), in(offsets_), out(0)}};
    return l.with(params::ExpertLinearParams{
        .choices = u32(s.choices), .experts = u32(s.experts), .n = u32(s.n), .k = u32(s.k), .share = u32(s.share)});
}

LaunchPlan launch_plain(const OpCall& call, const Caps& caps) {
    const std::uint32_t lanes = workgroup_size(caps);
    Launch l = base_launch(call, "expert_linear", constants_of<params::ExpertLinearConstants>(call, lanes));
    l.groups = flat_grid(ceil_div(call.out(0).shape.elements(), lanes), caps);
    return l;
}

bool fits_rows(const OpCall& call, const Caps&) {
    const Sizes s = sizes_of(call);
    const bool few = s.choices <= 2 * s.experts && s.choices <= 64;
    return s.transposed && s.choices >= 1 && (few || call.attrs.flag("any_rows"));
}

LaunchPlan launch_rows_by(const OpCall& call, const Caps& caps, const char* shader, std::uint32_t lanes) {
    const Sizes s = sizes_of(call);
    Launch l =
        base_launch(call, shader, constants_of<params::ExpertLinearRowsConstants>(call, lanes, {.STEP = step_of(s.k)}));
    l.groups = flat_grid(s.choices * ceil_div(s.n, 4), caps);
    return l;
}

LaunchPlan launch_rows_subgroup(const OpCall& call, const Caps& caps) {
    return launch_rows_by(call, caps, "expert_linear_rows_subgroup", std::clamp(caps.subgroup_size, 8u, 64u));
}
LaunchPlan launch_rows(const OpCall& call, const Caps& caps) {
    return launch_rows_by(call, caps, "expert_linear_rows", 32);
}

// As many tiles as there can be, however choices are distributed: those of each expert, and of the choices without one.
std::array<std::uint32_t, 3> tile_grid(const Sizes& s, std::uint32_t rows, std::uint32_t cols) {
    return {ceil_div(s.n, cols), ceil_div(s.choices, rows) + u32(s.experts) + 1, 1};
}
bool fits_grid(const std::array<std::uint32_t, 3>& grid, const Caps& caps) {
    return grid[0] <= caps.max_workgroup_count[0] && grid[1] <= caps.max_workgroup_count[1];
}

bool fits_tiled(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    return workgroup_size(caps) == 256 && s.choices > 0 && !call.attrs.flag("any_rows") &&
           fits_grid(tile_grid(s, 64, 64), caps);
}

LaunchPlan launch_tiled(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    Launch l = base_launch(call, "expert_linear_tiled",
                           constants_of<params::ExpertLinearTiledConstants>(
                               call, 256,
                               {.STEP_K = step_of(s.k),
                                .STEP_N = step_of(s.n),
                                // narrow subgroups have 64 registers a lane: none left to fetch ahead
                                .PREFETCH = caps.max_subgroup_size > 16}));
    l.groups = tile_grid(s, 64, 64);
    return l;
}

FactorLayout layout_of(const Sizes& s) { return {.a_along_k = true, .b_along_k = s.transposed}; }
// For the rows that an expert gets where choices are evenly distributed.
MatrixTile tile_for(const Sizes& s, const CooperativeMatrix& shape, const Caps& caps) {
    const auto groups = [&](const MatrixTile& t) {
        const auto grid = tile_grid(s, t.rows(), t.cols());
        return std::uint64_t{grid[0]} * (grid[1] - 1);
    };
    return matrix_tile(shape, layout_of(s), ceil_div(s.choices, s.experts), groups, caps);
}

// As matmul's (fits_coopmat): operands are rounded only if the call allows it, and f32 weights not at all.
bool fits_coopmat(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const CooperativeMatrix* shape = f16_matrix(caps);
    const DType x = call.in(x_).dtype, w = call.in(w_).dtype;
    const bool exact = x == DType::f16 && w == DType::f16, rounds = call.attrs.flag("f16_operands") && w != DType::f32,
               fits_octets = s.k % 8 == 0 && (s.transposed || s.n % 8 == 0);
    if (shape == nullptr || s.choices == 0 || s.k == 0 || call.attrs.flag("any_rows") || !fits_octets ||
        !(exact || rounds))
        return false;
    const MatrixTile t = tile_for(s, *shape, caps);
    const std::uint32_t rows_of_x = t.rows() * 4;  // their numbers
    return t.fits(layout_of(s), caps, rows_of_x) && fits_grid(tile_grid(s, t.rows(), t.cols()), caps);
}

Launch launch_matrices(const OpCall& call, const Caps& caps, const char* shader, const MatrixTile& t) {
    const Sizes s = sizes_of(call);
    const params::ExpertLinearCoopmatConstants own{.TAIL = s.k % t.depth > 0, .STEP_N = step_of(s.n)};
    Launch l = base_launch(call, shader, constants_of(call, t.lanes(), with_tile(own, t, layout_of(s), caps)));
    l.groups = tile_grid(s, t.rows(), t.cols());
    l.subgroup_size = t.subgroup;
    return l;
}

LaunchPlan launch_coopmat(const OpCall& call, const Caps& caps) {
    return launch_matrices(call, caps, "expert_linear_coopmat", tile_for(sizes_of(call), *f16_matrix(caps), caps));
}

// Rows of x, each read by `share` choices, are rounded once. Elements of all matrices are counted in 32 bits.
bool fits_coopmat_int8(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    if (!call.attrs.flag("int8_operands") || !has_byte_kernels(call.in(w_).dtype) || !s.transposed || s.choices == 0 ||
        call.attrs.flag("any_rows") || !caps.int8 || int8_matrix(caps) == nullptr ||
        !matmul::can_round(call.in(x_).shape[0], s.k) || !matmul::can_round(s.experts * s.n, s.k))
        return false;
    const MatrixTile t = tile_for(s, *int8_matrix(caps), caps).of_bytes();
    return t.fits(layout_of(s), caps, t.scale_bytes()) && fits_grid(tile_grid(s, t.rows(), t.cols()), caps);
}
bool coopmat_int8_profitable(const OpCall&, const Caps& caps) { return bytes_are_faster(caps); }

LaunchPlan launch_coopmat_int8(const OpCall& call, const Caps& caps) {
    const MatrixTile t = tile_for(sizes_of(call), *int8_matrix(caps), caps).of_bytes();
    const TensorType& x = call.in(x_);
    return matmul::after_rounding(caps, launch_matrices(call, caps, "expert_linear_coopmat_int8", t), in(x_), x.dtype,
                                  x.shape[0], x.shape[1]);
}

// Choices as sort_by_expert leaves them, made by its reference.
Case case_of(const char* name, std::int64_t rows, std::int64_t share, std::int64_t experts, std::int64_t n,
             std::int64_t k, bool transposed, bool bias, std::int64_t capacity = 0) {
    HostTensor index({Shape{rows * share, 1}, DType::i32});
    for (std::int64_t c = 0; c < rows * share; ++c)
        index[c] = c % 5 == 4 ? -1 : static_cast<double>(c * 7 % experts);  // some have none
    const std::vector<HostTensor> sorted =
        run_reference(sort_by_expert_op, {{"experts", experts}, {"capacity", capacity}}, {&index, 1});
    const auto given = [](const HostTensor& t) { return filled_with(t.type, t.data); };
    return {.name = name,
            .attrs = {{"transpose_w", transposed}},
            .inputs = {floats({rows, k}),
                       weights(transposed ? Shape{experts, n, k} : Shape{experts, k, n}),
                       {.type = only_if(bias, TensorType{Shape{experts, n}}), .weight = true},
                       given(index),
                       given(sorted[sort_by_expert::slots_]),
                       given(sorted[sort_by_expert::order_]),
                       given(sorted[sort_by_expert::offsets_])}};
}

// dx goes back by the other side of each choice's matrix; choices that share a row are added.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Sizes s = sizes_of(g.call);
    const Tensor& dy = g.gradients[0];
    Graph graph = dy.graph();
    std::vector<Tensor> result(3);
    if (g.needed[x_]) {
        Attrs attrs = g.call.attrs;
        attrs.set("transpose_w", !s.transposed);
        const Tensor each =
            add_call(graph, expert_linear_op,
                     {dy, g.inputs[w_], {}, g.inputs[index_], g.inputs[slots_], g.inputs[order_], g.inputs[offsets_]},
                     attrs, g.where)[0];
        const Tensor ones = graph.constant(
            format("{} ones", s.share), {1, 1, s.share},
            [share = s.share] { return std::vector<float>(static_cast<std::size_t>(share), 1); }, g.where);
        const Tensor rows = graph.reshape(each, {s.choices / s.share, s.share, s.k}, g.where);
        result[x_] = s.share == 1 ? each
                                  : graph.reshape(vantage::matmul(ones, rows, {}, {}, {}, g.where),
                                                  g.inputs[x_].shape(), g.where);
    }
    if (!g.needed[w_] && !g.needed[bias_]) return result;
    const std::vector<Tensor> made =
        add_call(graph, expert_gradient_op, {dy, g.inputs[x_], g.inputs[order_], g.inputs[offsets_]},
                 {{"transpose_w", s.transposed}}, g.where);
    result[w_] = made[0], result[bias_] = made[1];
    return result;
}

std::vector<Case> cases() {
    Case k_first = case_of("k first, odd", 30, 1, 4, 35, 17, false, true);
    for (Case::Input& input : k_first.inputs) input.fixed_type = true;  // the storage of weights varies in the others
    Case many = case_of("5 experts, 2 each", 12, 2, 5, 20, 32, true, false),
         few = case_of("one token", 1, 4, 8, 12, 64, true, true);
    many.inputs[w_].quantized = DType::q4_0, few.inputs[w_].quantized = DType::q8_0;
    Case any_rows = many;
    any_rows.name = "5 experts, 2 each, any rows";
    any_rows.attrs.set("any_rows", true);
    Case minima = case_of("one token, minima", 1, 2, 4, 16, 256, true, false);
    minima.inputs[w_].quantized = DType::q4_k;
    Case bytes = case_of("over tiles, in 8 bits", 300, 2, 3, 70, 96, true, true),
         nibbles = case_of("tiles of 128, in 4 bits", 300, 1, 2, 904, 64, true, false);
    bytes.inputs[w_].quantized = DType::q8_0, nibbles.inputs[w_].quantized = DType::q4_0;
    return {many,
            any_rows,
            minima,
            bytes,
            nibbles,
            case_of("over tiles", 90, 2, 3, 70, 33 * 2, true, true),
            case_of("over tiles, k = 72", 300, 2, 3, 70, 72, true, true),
            case_of("over tiles, k first", 300, 1, 2, 136, 40, false, true),
            case_of("tiles of 64", 100, 1, 2, 904, 40, true, false),
            case_of("tiles of 128", 300, 1, 2, 904, 40, true, true),
            k_first,
            few,
            case_of("capacity 2", 12, 1, 4, 10, 8, true, true, 2),
            case_of("no tokens", 0, 1, 2, 4, 4, true, false)};
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"rows_subgroup", need_subgroup, fits_rows, launch_rows_subgroup},
    {"rows", need_nothing, fits_rows, launch_rows},
    {"coopmat_int8", need_coopmat | need_int8_dot, fits_coopmat_int8, launch_coopmat_int8, coopmat_int8_profitable},
    {"coopmat", need_coopmat | need_fp16, fits_coopmat, launch_coopmat, not_on_cpu},
    {"tiled", need_nothing, fits_tiled, launch_tiled},
    {"plain", need_nothing, every_call, launch_plain}};

const OpDef expert_linear_op =
    define_op("expert_linear",
              "y[c] = x[c / share] W_e^T + b_e, e the expert of choice c: a grouped matrix product (Gale et al. 2022)",
              operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::expert_linear

Tensor expert_linear(Tensor x, Tensor weight, ExpertOrder to, Tensor bias, bool transposed, SourceLocation where) {
    Attrs attrs;
    if (transposed) attrs.set("transpose_w", true);
    return add_call(x.graph(), expert_linear_op, {x, weight, bias, to.index, to.slots, to.order, to.offsets}, attrs,
                    where)[0];
}

}  // namespace vantage
