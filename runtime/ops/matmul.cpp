// Matrix products with everything that may follow them in one kernel.
//   c = activation(alpha a b + bias) + beta residual
// a [.., m, k], b [.., k, n], either transposed; leading dimensions broadcast as in numpy. Goto & van de Geijn (2008)
// for the tiling; the epilogue saves a round trip of c through memory.
#include "runtime/ops/matmul.h"

#include <algorithm>
#include <vector>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "runtime/ops/matmul_kernels.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::matmul {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType &a = call.in(a_), &b = call.in(b_);
    for (int i : {a_, b_})
        call.require(call.in(i).shape.rank() >= 2 && call.in(i).shape.rank() <= 4,
                     operand_is(call, i) + ", but must have 2 to 4 dimensions");
    const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
    require_floats(call, b_);
    require_weights(call, b_);
    const std::int64_t k = ta ? a.shape[-2] : a.shape[-1], k_b = tb ? b.shape[-1] : b.shape[-2];
    if (k != k_b)
        call.fail(format("b is {}{}, but a {}{} has k = {}", b.text(), tb ? " transposed" : "", a.text(),
                         ta ? " transposed" : "", k));
    const int rank = std::max(a.shape.rank(), b.shape.rank());
    std::vector<std::int64_t> result(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank - 2; ++i) {
        const std::int64_t from_a = leading_size(a.shape, rank - 3 - i), from_b = leading_size(b.shape, rank - 3 - i);
        call.require(from_a == from_b || from_a == 1 || from_b == 1,
                     "batches of b " + b.text() + " do not fit those of a " + a.text());
        at(result, i) = std::max(from_a, from_b);
    }
    at(result, rank - 2) = ta ? a.shape[-1] : a.shape[-2];
    at(result, rank - 1) = tb ? b.shape[-2] : b.shape[-1];
    const TensorType c{Shape(result), a.dtype};
    require_shape(call, bias_, {c.shape[-1]});
    require_type(call, residual_, c);
    return {c};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const MatmulSizes s = matmul_sizes(call);
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
    const MatmulSizes s = matmul_sizes(call);
    return streaming_cost(call, 2.0 * static_cast<double>(s.batches() * s.m) * static_cast<double>(s.n * s.k));
}

// x without the leading dimensions that `operand` has not, or has once: the sum over them.
Tensor without_repeats(Tensor x, const Tensor& operand, SourceLocation where) {
    if (x.shape() == operand.shape()) return x;
    const Shape &from = x.shape(), &to = operand.shape();
    std::int64_t outer = 1, repeated = 1;  // [outer, repeated, the rest]: one run of dimensions that are summed
    int i = 0;
    const auto size_in = [&](int axis) { return axis - from.rank() + to.rank() >= 0 ? to[axis - from.rank()] : 1; };
    for (; i < from.rank() && size_in(i) == from[i]; ++i) outer *= from[i];
    for (; i < from.rank() - 2 && size_in(i) != from[i]; ++i) repeated *= from[i];
    std::int64_t rest = 1;
    for (int k = i; k < from.rank(); ++k) rest *= from[k];
    Graph graph = x.graph();
    Tensor sum = graph.reshape(x, {outer, repeated, rest}, where);
    if (outer > 1) sum = split_heads(graph.reshape(sum, {outer, repeated * rest}, where), repeated, where);
    sum = sum_to({outer * rest}, graph.reshape(sum, {repeated, outer * rest}, where), {}, where);
    std::vector<std::int64_t> sizes;
    for (int k = 0; k < from.rank(); ++k) sizes.push_back(size_in(k));
    sum = graph.reshape(sum, Shape(sizes), where);
    return sum.shape() == to ? sum : without_repeats(graph.reshape(sum, to, where), operand, where);
}

// With g = dc f'(alpha a b + bias), da = alpha g b^T, db = alpha a^T g; each as a product that needs no copy.
std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor &dc = call.gradients[0], &a = call.inputs[a_], &b = call.inputs[b_], &bias = call.inputs[bias_];
    const Attrs& attrs = call.call.attrs;
    const bool ta = attrs.flag("transpose_a"), tb = attrs.flag("transpose_b");
    const double alpha = attrs.number("alpha", 1);
    const std::string activation = attrs.text("activation", "none");
    std::vector<Tensor> result(4);
    Tensor g = dc;
    if (activation != "none") {
        const Tensor before =
            vantage::matmul(a, b, {.transpose_a = ta, .transpose_b = tb, .alpha = alpha}, bias, {}, call.where);
        g = internal::activation_backward(dc, before, activation, 1, call.where);
    }
    const auto product = [&](const Tensor& x, const Tensor& y, bool tx, bool ty, const Tensor& of) {
        return without_repeats(
            vantage::matmul(x, y, {.transpose_a = tx, .transpose_b = ty, .alpha = alpha}, {}, {}, call.where), of,
            call.where);
    };
    // rows of a that meet one matrix b are rows of one product: their sum over leading dimensions is part of it
    const bool rows = !ta && b.shape().rank() == 2 && a.shape().rank() > 2;
    Graph graph = a.graph();
    const auto flat = [&](const Tensor& x) {
        return rows ? graph.reshape(x, {x.shape().elements() / x.shape()[-1], x.shape()[-1]}, call.where) : x;
    };
    if (call.needed[a_]) result[a_] = ta ? product(b, g, tb, true, a) : product(g, b, false, !tb, a);
    if (call.needed[b_])
        result[b_] = tb ? product(flat(g), flat(a), true, ta, b) : product(flat(a), flat(g), !ta, false, b);
    if (call.needed[bias_]) result[bias_] = sum_to(bias.shape(), g, {}, call.where);
    const double beta = attrs.number("beta", 1);
    if (call.needed[residual_]) result[residual_] = beta == 1 ? dc : vantage::scale(dc, beta, call.where);
    return result;
}

bool quantized_profitable(const OpCall&, const Caps& caps) { return !caps.is_cpu() || caps.loads_uniform_once(); }
bool int8_profitable(const OpCall&, const Caps& caps) { return caps.integer_dot_accelerated; }

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto one = [&](const std::string& name, Shape a, Shape b, Attrs attrs, bool bias = false,
                         Shape residual = {}) {
        const std::int64_t n = attrs.flag("transpose_b") ? b[-2] : b[-1];
        list.push_back({.name = name,
                        .attrs = attrs,
                        .inputs = {floats(a),
                                   floats(b),
                                   {.type = only_if(bias, TensorType{Shape{n}})},
                                   {.type = only_if(residual.rank() > 0, TensorType{residual})}}});
    };
    // with_weights varies the storage of the weights, in_f32 the activation; the other cases share their pipelines.
    const auto with_weights = [&] { list.back().inputs[b_].weight = list.back().inputs[bias_].weight = true; };
    const auto in_f32 = [&] {
        for (Case::Input& input : list.back().inputs) input.fixed_type = true;
    };
    one("1x1x1", {1, 1}, {1, 1}, {});
    one("17x33x29 NN", {17, 29}, {29, 33}, {});
    one("17x33x29 TT", {29, 17}, {33, 29}, {{"transpose_a", true}, {"transpose_b", true}});
    one("12x31x27 NN", {12, 27}, {27, 31}, {});
    with_weights();
    one("12x31x3 NT", {12, 3}, {31, 3}, {{"transpose_b", true}});
    with_weights();
    one("70x132x64 NT bias", {70, 64}, {132, 64}, {{"transpose_b", true}}, true);
    with_weights();
    list.back().inputs[b_].quantized = DType::q4_0;
    one("40x52x1040 NT, k in parts", {40, 1040}, {52, 1040}, {{"transpose_b", true}});
    list.back().inputs[a_].high = 0.1;  // rounding grows with k and with the operands, what is allowed does not
    with_weights();
    one("17x33x48 NT bias gelu", {17, 48}, {33, 48}, {{"transpose_b", true}, {"activation", "gelu_tanh"}}, true);
    in_f32();
    one("1x37x64 NT bias residual", {1, 64}, {37, 64}, {{"transpose_b", true}}, true, {1, 37});
    with_weights();
    list.back().inputs[b_].quantized = DType::q8_0;
    one("11x37x256 NT bias, any rows", {11, 256}, {37, 256}, {{"transpose_b", true}, {"any_rows", true}}, true);
    with_weights();
    list.back().inputs[b_].quantized = DType::q4_0;
    const auto quantized = [&](DType type, std::int64_t m, std::int64_t n, std::int64_t k, bool transposed) {
        one(format("{}x{}x{} {} {}", m, n, k, transposed ? "NT" : "NN", name_of(type)), {m, k},
            transposed ? Shape{n, k} : Shape{k, n}, {{"transpose_b", transposed}});
        in_f32();
        list.back().inputs[b_].type->dtype = type;
    };
    quantized(DType::q8_0, 1, 23, 256, true);
    quantized(DType::q4_0, 5, 23, 256, true);
    for (const DType type : {DType::q8_0, DType::q4_0}) quantized(type, 13, 96, 11, false);  // a gradient
    for (const DType type : {DType::q4_1, DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k}) {
        quantized(type, 1, 23, type == DType::q6_k ? 2048 : 1024, true);
        quantized(type, 5, 9, 96, true);  // rows begin within groups
        quantized(type, 70, 40, 256, true);
    }
    quantized(DType::q6_k, 13, 96, 11, false);
    one("8x33x40 TN", {40, 8}, {40, 33}, {{"transpose_a", true}});  // the gradient of an adapter
    one("1x21x35 NT", {1, 35}, {21, 35}, {{"transpose_b", true}}, true, {1, 21});
    with_weights();
    one("5x40x132 NT gelu", {5, 132}, {40, 132}, {{"transpose_b", true}, {"activation", "gelu_tanh"}});
    in_f32();
    one("batch 2x3 broadcast", {2, 1, 9, 20}, {3, 20, 11}, {});
    one("batch shared b", {3, 7, 16}, {16, 10}, {{"alpha", 0.5}, {"beta", -1.25}}, false, {3, 7, 10});
    one("k=0", {2, 0}, {0, 3}, {}, true);
    one("m=0", {0, 4}, {4, 3}, {});
    return list;
}

}  // namespace

const std::vector<Kernel> kernels = {
    {"int8_rows", need_int8_dot | need_subgroup | need_quad, fits_int8_rows, launch_int8_rows, int8_rows_profitable,
     /*mergeable=*/true},
    {"gemv_cpu", need_subgroup | need_int64, fits_gemv_cpu, launch_gemv_cpu, loads_once},
    {"quantized", need_nothing, fits_quantized, launch_quantized, quantized_profitable},
    {"quantized_subgroup", need_subgroup, fits_quantized_rows, launch_quantized_subgroup, always, /*mergeable=*/true},
    {"rows_subgroup", need_subgroup, fits_rows, launch_rows_subgroup, always, /*mergeable=*/true},
    {"rows", need_nothing, fits_rows, launch_rows, always, /*mergeable=*/true},
    {"gemm_cpu", need_subgroup | need_int64, fits_gemm_cpu, launch_gemm_cpu, loads_once},
    {"coopmat_int8", need_coopmat | need_int8_dot, fits_coopmat_int8, launch_coopmat_int8, coopmat_int8_profitable},
    {"coopmat", need_coopmat | need_fp16, fits_coopmat, launch_coopmat, not_on_cpu},
    // after coopmat until a device has been measured: `vantage tune` selects it where it is faster
    {"coopmat2", need_coopmat | need_coopmat2 | need_fp16, fits_coopmat2, launch_coopmat2, not_on_cpu},
    {"int8", need_int8_dot, fits_int8, launch_int8, int8_profitable},
    {"float_dot", need_fp16 | need_float_dot, fits_fp16, launch_float_dot, not_on_cpu},
    {"fp16", need_fp16, fits_fp16, launch_fp16, fp16_profitable},
    {"wide", need_nothing, fits_wide, launch_wide, wide_profitable},
    {"tiled", need_nothing, fits_tiled, launch_tiled},
    {"plain", need_nothing, every_call, launch_plain}};

const OpDef matmul_op = define_op("matmul",
                                  "c = activation(alpha a b + bias) + beta residual; a [.., m, k], b [.., k, n], "
                                  "either transposed, batches broadcast",
                                  operand_names, infer, reference, cost, kernels, cases, gradient);

}  // namespace internal::ops::matmul

Tensor matmul(Tensor a, Tensor b, MatmulOptions options, Tensor bias, Tensor residual, SourceLocation where) {
    Attrs attrs;
    if (options.transpose_a) attrs.set("transpose_a", true);
    if (options.transpose_b) attrs.set("transpose_b", true);
    if (options.alpha != 1) attrs.set("alpha", options.alpha);
    if (options.beta != 1) attrs.set("beta", options.beta);
    if (options.f16_operands) attrs.set("f16_operands", true);
    if (options.int8_operands) attrs.set("int8_operands", true);
    if (options.activation != Activation::none) attrs.set("activation", name_of(options.activation));
    return add_call(a.graph(), matmul_op, {a, b, bias, residual}, attrs, where)[0];
}

namespace {

// Checked here, so that the message names the function and the operand that the caller wrote.
void check_linear(const char* function, const char* other, Tensor x, Tensor weight, int input_axis,
                  SourceLocation where) {
    const Shape &in = x.shape(), &w = weight.shape();
    if (in.rank() < 1 || w.rank() < 2 || w[input_axis] == in[-1]) return;
    const std::string size = std::to_string(in[-1]);
    const char* hint = w[-3 - input_axis] != in[-1] ? ""
                       : input_axis == -1           ? "; [in, out]: "
                                                    : "; [out, in] as in torch: ";
    throw Error(ErrorKind::usage,
                (where.line > 0 ? format("{}:{}: ", where.file, where.line) : std::string()) + function +
                    ": weight is " + weight.type().text() + ", wanted " +
                    (input_axis == -1 ? "[out, " + size + "]" : "[" + size + ", out]") + hint +
                    (*hint != 0 ? other : ""),
                where);
}

}  // namespace

Tensor linear(Tensor x, Tensor weight, Tensor bias, SourceLocation where) {
    check_linear("linear", "linear_transposed", x, weight, -2, where);
    return matmul(x, weight, {}, bias, {}, where);
}
Tensor linear_transposed(Tensor x, Tensor weight, Tensor bias, SourceLocation where) {
    check_linear("linear_transposed", "linear", x, weight, -1, where);
    return matmul(x, weight, {.transpose_b = true}, bias, {}, where);
}

}  // namespace vantage
