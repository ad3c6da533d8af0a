// A causal convolution along the tokens, each channel by itself (depthwise), and an activation:
//   y_t = act(bias + Σ_k w_k x_{t - width + 1 + k})
// What stands in front of the first row is the state: the last width - 1 inputs, the oldest first. Mamba mixes
// neighbouring tokens with it (Gu & Dao 2023).
#include "runtime/ops/causal_conv1d.h"

#include <algorithm>

#include "runtime/ops/activation.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/column_sums.h"
#include "runtime/ops/kept_states.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/activation.h"
#include "shaders/params/causal_conv1d.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::causal_conv1d {
namespace {

using causal_conv1d_cached::step_;

constexpr std::int64_t chunk_tokens = 32, max_width = 32;

int kind_of(const OpCall& call) { return activation_kind(call.attrs.text("kind", "none")); }

struct Sizes {
    std::int64_t lanes, n, channels, width;
    std::int64_t chunks() const { return std::max<std::int64_t>(1, (n + chunk_tokens - 1) / chunk_tokens); }
};
Sizes sizes_of(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    return {.lanes = call.has(step_) ? sequences_of(call, step_)
                     : x.rank() == 3 ? x[0]
                                     : 1,
            .n = call.has(step_) ? rows_of_each(call, x_, step_) : x[-2],
            .channels = x[-1],
            .width = call.in(weight_).shape[-1]};
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call, step_);
    require_step(call, step_);
    const TensorType &x = call.in(x_), &weight = call.in(weight_);
    call.require(x.shape.rank() == 2 || (x.shape.rank() == 3 && !call.has(step_)),
                 operand_is(call, x_) + ", but must be [n, channels]" +
                     (call.has(step_) ? "" : ", or of a batch [B, n, channels]"));
    call.require(
        weight.shape.rank() >= 2 && weight.shape[0] == x.shape[-1] &&
            weight.shape.elements() == weight.shape[0] * weight.shape[-1],
        operand_is(call, weight_) + ", but must be [channels, width] or [channels, 1, width]; x is " + x.text());
    call.require(weight.shape[-1] >= 2 && weight.shape[-1] <= max_width,
                 operand_is(call, weight_) + format(", but a width from 2 to {} is supported", max_width));
    call.require(x.shape.elements() < std::int64_t{1} << 31 && x.shape[-1] >= 1,
                 operand_is(call, x_) + ", but must have a channel, and less than 2^31 elements");
    call.require(kind_of(call) >= 0 && kind_of(call) <= ACTIVATION_TANH,
                 "kind is " + call.attrs.text("kind") + ", which is no activation of a layer");
    const Sizes s = sizes_of(call);
    require_shape(call, bias_, {s.channels});
    if (call.has(step_)) {
        require_kept_states(call, state_, step_, {s.width - 1, s.channels});
        return {x, call.in(state_)};
    }
    Shape state{s.width - 1, s.channels};
    if (x.shape.rank() == 3) state = {s.lanes, s.width - 1, s.channels};
    require_type(call, state_, {state, DType::f32});
    return {x, {state, DType::f32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call);
    const KeptStates kept(call, state_, step_);
    const std::int64_t before = s.width - 1, row_size = before * s.channels;
    for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
        const std::int64_t valid = kept.valid(in, lane, s.n), first = kept.first(in, lane);
        const auto input = [&](std::int64_t r, std::int64_t channel) -> double {  // row r, or before row 0
            if (r >= 0) return in[x_][(lane * s.n + r) * s.channels + channel];
            if (first < 0 || !call.has(state_)) return 0;
            return in[state_][first * row_size + (before + r) * s.channels + channel];
        };
        for (std::int64_t channel = 0; channel < s.channels; ++channel) {
            for (std::int64_t r = 0; r < valid; ++r) {
                double sum = call.has(bias_) ? in[bias_][channel] : 0;
                for (std::int64_t k = 0; k < s.width; ++k)
                    sum += in[weight_][channel * s.width + k] * input(r - before + k, channel);
                out[y_][(lane * s.n + r) * s.channels + channel] = activation_value(kind_of(call), sum);
            }
            for (std::int64_t done = 0; done <= valid; ++done)
                if (const std::int64_t row = kept.after(in, lane, done, valid); row >= 0)
                    for (std::int64_t k = 0; k < before; ++k)
                        out[new_state_][row * row_size + k * s.channels + channel] = input(done - before + k, channel);
        }
    }
}

// With u = bias + Σ_k w_k x: du = dy act'(u), of u made again where there is an activation.
Tensor gradient_by_sum(const GradientCall& g) {
    const Tensor &x = g.inputs[x_], &dy = g.gradients[y_];
    Graph graph = x.graph();
    if (!dy) return zeros(graph, x.shape(), g.where);
    if (kind_of(g.call) == ACTIVATION_NONE) return dy;
    const Tensor u = add_call(graph, causal_conv1d_op, g.inputs, {}, g.where)[y_];
    return internal::activation_backward(dy, u, g.call.attrs.text("kind"), 1, g.where);
}

std::vector<Tensor> gradient(const GradientCall& g) {
    namespace to = ops::causal_conv1d_backward;
    const Tensor &x = g.inputs[x_], &weight = g.inputs[weight_], &bias = g.inputs[bias_], &state = g.inputs[state_],
                 du = gradient_by_sum(g);
    const std::vector<Tensor> made =
        add_call(x.graph(), causal_conv1d_backward_op, {du, x, weight, state, g.gradients[new_state_]}, {}, g.where);
    return {made[to::dx_], g.needed[weight_] ? sum_to(weight.shape(), made[to::dweight_], {}, g.where) : Tensor(),
            g.needed[bias_] ? sum_to(bias.shape(), du, {}, g.where) : Tensor(), state ? made[to::dstate_] : Tensor()};
}

Cost cost(const OpCall& call) {  // of tables only the rows that a lane begins and ends with
    const Sizes s = sizes_of(call);
    Cost all = streaming_cost(call, 2 * static_cast<double>(call.in(x_).shape.elements() * s.width));
    const double state = static_cast<double>(s.lanes * (s.width - 1) * s.channels * 4);
    if (call.has(state_)) all.bytes_read += state - static_cast<double>(call.in(state_).bytes());
    all.bytes_written += state - static_cast<double>(call.out(new_state_).bytes());
    return all;
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Sizes s = sizes_of(call);
    const bool cached = call.has(step_);
    const std::uint32_t lanes = workgroup_size(caps, 64);
    std::vector<Operand> operands{in(x_), in(weight_), in(bias_), out(y_)};
    if (cached)
        operands.insert(operands.end(), {update(new_state_), update(new_state_), in(step_)});
    else
        operands.insert(operands.end(), {in(state_), out(new_state_)});
    Launch l{.shader = "causal_conv1d",
             .spec = params::CausalConv1dConstants{.lanes = lanes,
                                                   .X_TYPE = storage_of(call, x_),
                                                   .WEIGHT_TYPE = storage_of(call, weight_),
                                                   .BIAS_TYPE = storage_of(call, bias_),
                                                   .WIDTH = u32(s.width),
                                                   .CHUNK = u32(chunk_tokens)},
             .operands = std::move(operands),
             .groups = flat_grid(s.lanes * s.chunks() * ceil_div(s.channels, lanes), caps)};
    return l.with(params::CausalConv1dParams{.n = u32(s.n),
                                             .lanes = u32(s.lanes),
                                             .channels = u32(s.channels),
                                             .chunks = u32(s.chunks()),
                                             .kept = u32(KeptStates(call, state_, step_).kept()),
                                             .kind = u32(kind_of(call))});
}

Case::Input state_of_case(const Shape& shape) { return {.type = TensorType{shape}, .fixed_type = true}; }

std::vector<Case> cases() {
    return {
        {.name = "n=70, width 4, silu",
         .attrs = {{"kind", "silu"}},
         .inputs = {floats({70, 67}), weights({67, 4}), weights({67})}},
        {.name = "n=5 from a state, as a checkpoint has the weight",
         .inputs = {floats({5, 6}), weights({6, 1, 4}), weights({6}), state_of_case({3, 6})}},
        {.name = "a batch, wider than its rows, without a bias",
         .inputs = {floats({2, 3, 5}), weights({5, 7}), {}, state_of_case({2, 6, 5})}},
        {.name = "width 2, over chunks", .inputs = {floats({33, 3}), weights({3, 2})}},
        {.name = "width 32, over chunks", .inputs = {floats({65, 3}), weights({3, 32}), weights({3})}},
        {.name = "no rows", .inputs = {floats({0, 3}), weights({3, 4}), {}, state_of_case({3, 3})}},
    };
}

std::vector<Case> cases_cached() {
    const auto of = [](const char* name, std::int64_t rows, std::int64_t table, Case::Input step) {
        return Case{.name = name,
                    .attrs = {{"kind", "silu"}},
                    .inputs = {floats({rows, 9}), weights({9, 4}), weights({9}), state_of_case({table, 3, 9}),
                               std::move(step)}};
    };
    return {
        of("one row from position 5", 1, 6, step_of_case(5, 1)),
        of("3 of 8 rows to position 128", 8, 6, step_of_case(125, 3)),
        of("8 rows, which write over the row that they begin with", 8, 5, step_of_case(10, 8)),
        of("150 of 160 rows from 0, over a kept position", 160, 6, step_of_case(0, 150)),
        of("34 and 3 of 40 rows of 2 sequences in reverse", 80, 10,
           reversed_lanes(steps_of_case({step_of_case(8, 34), step_of_case(3, 3)}))),
        of("beyond the table", 8, 4, step_of_case(124, 8)),
        of("nothing valid", 8, 5, step_of_case(9, 0)),
    };
}

}  // namespace

const OpDef causal_conv1d_op =
    define_op("causal_conv1d", "y_t = act(bias + sum_k w_k x_{t-width+1+k}) by channel (Gu, Dao 2023)", operand_names,
              infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

const OpDef causal_conv1d_cached_op = define_op(
    "causal_conv1d_cached", "causal_conv1d from and into a sequence's kept inputs (Gu, Dao 2023)",
    causal_conv1d_cached::operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}},
    cases_cached, of_a_state, {.step = step_, .context_rows = {state_}, .alias = {-1, state_}});

}  // namespace internal::ops::causal_conv1d

CausalConv1dResult causal_conv1d(Tensor x, Tensor weight, Tensor bias, const CausalConv1dOptions& options,
                                 SourceLocation where) {
    const bool cached = static_cast<bool>(options.step);
    std::vector<Tensor> operands{x, weight, bias, options.state};
    if (cached) operands.push_back(options.step);
    Attrs attrs;
    if (options.activation != Activation::none) attrs.set("kind", name_of(options.activation));
    const std::vector<Tensor> results =
        add_call(x.graph(), cached ? causal_conv1d_cached_op : causal_conv1d_op, operands, attrs, where);
    return {results[ops::causal_conv1d::y_], results[ops::causal_conv1d::new_state_]};
}

}  // namespace vantage
