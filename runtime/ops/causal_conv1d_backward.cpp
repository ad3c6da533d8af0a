// The gradients of a causal convolution, from those of its sums u_t = bias + Σ_k w_k x_{t - width + 1 + k}:
//   dx_s = Σ_k w_k du_{s + width - 1 - k},  dw_k = Σ_t du_t x_{t - width + 1 + k}
// Rows s < 0 are those of the state. The last width - 1 inputs are a result of the op, too: their gradient is added.
// dw has a sum for each chunk of 32 rows, and column_sums adds these up: pairwise summation (Higham 1993).
#include "runtime/ops/causal_conv1d.h"
#include "runtime/ops/checks.h"
#include "shaders/params/causal_conv1d.h"

namespace vantage::internal::ops::causal_conv1d_backward {
namespace {

constexpr std::int64_t chunk_tokens = 32, max_width = 32;

struct Sizes {
    std::int64_t lanes, n, channels, width;
    std::int64_t chunks() const { return std::max<std::int64_t>(1, (n + chunk_tokens - 1) / chunk_tokens); }
};
Sizes sizes_of(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    return {.lanes = x.rank() == 3 ? x[0] : 1, .n = x[-2], .channels = x[-1], .width = call.in(weight_).shape[-1]};
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType &x = call.in(x_), &weight = call.in(weight_);
    call.require(x.shape.rank() == 2 || x.shape.rank() == 3,
                 operand_is(call, x_) + ", but must be [n, channels] or [B, n, channels]");
    call.require(x.shape.elements() < std::int64_t{1} << 31 && x.shape[-1] >= 1,
                 operand_is(call, x_) + ", but must have a channel, and less than 2^31 elements");
    static_cast<void>(call.in(du_));
    require_shape(call, du_, x.shape);
    const Sizes s = sizes_of(call);
    call.require(weight.shape.rank() >= 2 && weight.shape[0] == s.channels && s.width >= 2 && s.width <= max_width &&
                     weight.shape.elements() == s.channels * s.width,
                 operand_is(call, weight_) + ", but x is " + x.text());
    Shape state{s.width - 1, s.channels};
    if (x.shape.rank() == 3) state = {s.lanes, s.width - 1, s.channels};
    for (const int i : {state_, dlast_}) require_type(call, i, {state, DType::f32});
    std::vector<TensorType> results{x, {Shape{s.lanes * s.chunks(), s.channels, s.width}, DType::f32}};
    if (call.has(state_)) results.push_back({state, DType::f32});
    return results;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const std::int64_t before = s.width - 1;
    for (std::int64_t lane = 0; lane < s.lanes; ++lane)
        for (std::int64_t c = 0; c < s.channels; ++c) {
            const auto row_at = [&](std::int64_t r) { return (lane * s.n + r) * s.channels + c; };
            const auto state_at = [&](std::int64_t r) { return (lane * before + before + r) * s.channels + c; };
            const auto pass = [&](std::int64_t r, double gradient) {  // to row r, or to the state before row 0
                if (r >= 0) out[dx_][row_at(r)] += gradient;
                if (r < 0 && call.has(state_)) out[dstate_][state_at(r)] += gradient;
            };
            for (std::int64_t t = 0; t < s.n; ++t)
                for (std::int64_t k = 0; k < s.width; ++k) {
                    const std::int64_t r = t - before + k, chunk = lane * s.chunks() + t / chunk_tokens;
                    const double du = in[du_][row_at(t)], x = r >= 0             ? in[x_][row_at(r)]
                                                              : call.has(state_) ? in[state_][state_at(r)]
                                                                                 : 0;
                    pass(r, in[weight_][c * s.width + k] * du);
                    out[dweight_][(chunk * s.channels + c) * s.width + k] += du * x;
                }
            for (std::int64_t k = 0; k < before && call.has(dlast_); ++k)
                pass(s.n - before + k, in[dlast_][state_at(k - before)]);
        }
}

Cost cost(const OpCall& call) {
    return streaming_cost(call, 4 * static_cast<double>(call.in(x_).shape.elements() * sizes_of(call).width));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    Launch l{.shader = "causal_conv1d_backward",
             .spec = params::CausalConv1dBackwardConstants{.lanes = lanes,
                                                           .DU_TYPE = storage_of(call, du_),
                                                           .X_TYPE = storage_of(call, x_),
                                                           .WEIGHT_TYPE = storage_of(call, weight_),
                                                           .WIDTH = u32(s.width),
                                                           .CHUNK = u32(chunk_tokens)},
             .operands = {in(du_), in(x_), in(weight_), in(state_), in(dlast_), out(dx_), out(dweight_),
                          call.has(state_) ? out(dstate_) : no_operand},
             .groups = flat_grid(s.lanes * s.chunks() * ceil_div(s.channels, lanes), caps)};
    return l.with(params::CausalConv1dBackwardParams{
        .n = u32(s.n), .lanes = u32(s.lanes), .channels = u32(s.channels), .chunks = u32(s.chunks())});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& x, std::int64_t width, bool state, bool dlast) {
        Shape kept = x;
        kept[-2] = width - 1;
        const auto f32_if = [&](bool there) {
            return Case::Input{.type = only_if(there, TensorType{kept}), .fixed_type = true};
        };
        return Case{.name = name,
                    .inputs = {floats(x), floats(x), weights({x[-1], width}), f32_if(state), f32_if(dlast)}};
    };
    return {of("n=70, width 4", {70, 67}, 4, false, false),
            of("n=5 from a state and to one", {5, 6}, 4, true, true),
            of("a batch, wider than its rows", {2, 3, 5}, 7, true, true),
            of("width 2, over chunks, to a state", {2, 33, 3}, 2, false, true),
            of("width 32, over chunks", {65, 3}, 32, true, false),
            of("no rows", {0, 3}, 4, true, true)};
}

}  // namespace

const OpDef causal_conv1d_backward_op = define_op(
    "causal_conv1d_backward", "dx, dw of each chunk and dstate of causal_conv1d, from the gradients of its sums",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);

}  // namespace vantage::internal::ops::causal_conv1d_backward
