#include "runtime/conform/oracle_training.h"

#include <array>
#include <cmath>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/activation.h"
#include "shaders/params/train.h"
#include "vantage/ops.h"

namespace vantage::internal::oracle {

namespace {

// ---- gradients ------------------------------------------------------------------------------------------------------

/// Operands of the op, and the names that their gradients have in the file.
using GradientNames = std::vector<std::pair<int, const char*>>;

/// Runs the nodes of a graph by their references, and keeps each of them as a call with its operands.
class Traced {
public:
    explicit Traced(const Graph& graph) : graph_(graph), values_(graph.values().size()), known_(values_.size()) {}
    void set(const Tensor& tensor, HostTensor value) {
        at(values_, tensor.id()) = std::move(value);
        at(known_, tensor.id()) = true;
    }
    Calls run(std::size_t first_node) {
        Calls calls;
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            const Node& node = graph_.nodes()[i];
            OracleCall call{.op = node.op->name, .part = format("node {}", i), .call = call_of_node(node)};
            for (const int id : node.inputs) call.inputs.push_back(id >= 0 ? value_of(id) : HostTensor());
            const std::vector<HostTensor> results = run_reference(call.call, call.inputs);
            for (std::size_t k = 0; k < results.size(); ++k) {
                at(values_, node.outputs[k]) = results[k];
                at(known_, node.outputs[k]) = true;
            }
            if (i >= first_node) calls.push_back(std::move(call));
        }
        return calls;
    }

private:
    OpCall call_of_node(const Node& node) const { return internal::call_of(graph_, node); }
    const HostTensor& value_of(int id) {
        const Value& value = graph_.value(id);
        if (!at(known_, id)) {
            if (value.kind == ValueKind::view)
                at(values_, id) = reshaped(value_of(value.alias), value.type.shape);
            else
                at(values_, id) = widen(value.type, value.data());
            at(known_, id) = true;
        }
        return at(values_, id);
    }

    const Graph& graph_;
    std::vector<HostTensor> values_;
    std::vector<bool> known_;
};

/// The call, and the nodes of its gradient, each as a call whose operands the references of the nodes before have
/// made. Of the first result the gradient is `dy`.
Calls with_gradient(OracleReader& r, OracleCall forward, const HostTensor& dy, const GradientNames& wanted) {
    const OpDef& op = *forward.call.op;
    if (op.gradient.rule == nullptr)
        throw unsupported_error(std::string(op.name) + " has no gradient: " + op.gradient.refusal);
    Graph graph;
    std::vector<std::pair<Tensor, HostTensor>> operands;
    GradientCall call{.call = forward.call, .where = SourceLocation::here()};
    for (std::size_t i = 0; i < forward.inputs.size(); ++i) {
        if (!forward.call.has(static_cast<int>(i))) {
            call.inputs.emplace_back();
        } else {
            const TensorType& type = forward.inputs[i].type;
            call.inputs.push_back(graph.input(op.operands[i], type.shape, type.dtype));
            operands.emplace_back(call.inputs.back(), forward.inputs[i]);
        }
        call.needed.push_back(
            std::ranges::any_of(wanted, [&](const auto& one) { return std::cmp_equal(one.first, i); }));
    }
    call.outputs = add_call(graph, op, call.inputs, forward.call.attrs, call.where);
    call.gradients.resize(call.outputs.size());
    call.gradients[0] = graph.input("gradient", forward.call.outputs[0].shape, forward.call.outputs[0].dtype);
    operands.emplace_back(call.gradients[0], reshaped(dy, forward.call.outputs[0].shape));
    const std::vector<Tensor> gradients = op.gradient.rule(call);
    Traced traced(graph);
    for (auto& [tensor, value] : operands) traced.set(tensor, std::move(value));
    Calls calls = traced.run(1);
    for (const auto& [operand, name] : wanted) {
        int id = at(gradients, operand).id();
        while (graph.value(id).kind == ValueKind::view) id = graph.value(id).alias;
        const Node& node = at(graph.nodes(), graph.value(id).node);
        OracleCall& last = at(calls, graph.value(id).node - 1);  // the call itself is not among them
        const auto result = std::ranges::find(node.outputs, id) - node.outputs.begin();
        expect_result(r, last, static_cast<int>(result), name);
    }
    calls.insert(calls.begin(), std::move(forward));
    return calls;
}

Calls map_linear_backward(OracleReader& r) {
    OracleCall call =
        call_of("matmul", {r.floats("x"), r.floats("w"), r.optional_floats("b")}, {{"transpose_b", true}});
    expect_result(r, call, 0, "y");
    return with_gradient(r, call, r.floats("dy"), {{0, "dx"}, {1, "dw"}, {2, "db"}});
}

Calls map_embedding_backward(OracleReader& r) {
    OracleCall call = call_of("embedding", {r.exact("ids"), r.floats("w")}, {});
    expect_result(r, call, 0, "y");
    return with_gradient(r, call, r.exact("dy"), {{1, "dw"}});
}

Calls map_norm_backward(OracleReader& r) {
    const bool layer = r.op() == "layer_norm_backward";
    OracleCall call = layer ? call_of("layer_norm", {r.floats("x"), r.floats("gamma"), r.floats("beta")},
                                      {{"eps", r.number("eps", 1e-5)}})
                            : call_of("rms_norm", {r.floats("x"), r.floats("w")}, {{"eps", r.number("eps", 1e-6)}});
    expect_result(r, call, 0, "y");
    const GradientNames names =
        layer ? GradientNames{{0, "dx"}, {1, "dgamma"}, {2, "dbeta"}} : GradientNames{{0, "dx"}, {1, "dw"}};
    return with_gradient(r, call, r.floats("dy"), names);
}

Calls map_batch_norm_backward(OracleReader& r) {
    if (const std::string layout = r.text("layout", "N,C,L"); layout != "N,C,L")
        throw unsupported_error("layout " + layout + " of batch_norm");
    const HostTensor x = r.floats("x"), running({Shape{x.type.shape[1]}, DType::f32});
    OracleCall call = call_of("batch_norm", {x, r.floats("gamma"), r.floats("beta"), running, running},
                              {{"training", r.flag("training", false)}, {"eps", r.number("eps", 1e-5)}});
    expect_result(r, call, 0, "y");
    return with_gradient(r, call, r.floats("dy"), {{0, "dx"}, {1, "dgamma"}, {2, "dbeta"}});
}

Calls map_softmax_backward(OracleReader& r) {
    OracleCall call = call_of("softmax", {r.floats("x")}, {{"axis", r.integer("axis", -1)}});
    expect_result(r, call, 0, "y");
    return with_gradient(r, call, r.floats("dy"), {{0, "dx"}});
}

Calls map_activation_backward(OracleReader& r) {
    const std::string kind = r.op().substr(0, r.op().size() - std::string("_backward").size());
    Attrs attrs{{"kind", kind}};
    if (kind == "elu") attrs.set("alpha", r.number("alpha", 1));
    OracleCall call = call_of("activation", {r.floats("x")}, attrs);
    expect_result(r, call, 0, "y");
    return with_gradient(r, call, r.floats("dy"), {{0, "dx"}});
}

Calls map_swiglu_backward(OracleReader& r) {
    OracleCall call = call_of("swiglu", {r.floats("gate"), r.floats("up")}, {});
    expect_result(r, call, 0, "y");
    return with_gradient(r, call, r.floats("dy"), {{0, "dgate"}, {1, "dup"}});
}

/// The rotation of anything has this gradient: it does not depend on what is turned.
Calls map_rope_backward(OracleReader& r) {
    const HostTensor dy = r.floats("dy"), positions = r.exact("positions");
    const std::int64_t rotary = r.integer("rotary_dim", dy.type.shape[-1]);
    const std::string layout = r.text("layout", "neox");
    if (layout != "neox" && layout != "gptj") throw unsupported_error("layout = " + layout + " of rope");
    Graph graph;
    const double last = positions.data.empty() ? 0 : *std::ranges::max_element(positions.data);
    r.require_table(last + 1, static_cast<double>(rotary));
    const auto rows = static_cast<std::int64_t>(last) + 1;
    const Value& table = graph.value(rope_table(graph, rows, rotary, r.number("theta", 10000)).id());
    const Attrs attrs{{"heads_first", true}, {"interleaved", layout == "gptj"}};
    OracleCall call = call_of("rope", {dy, widen(table.type, table.data()), positions}, attrs);
    return with_gradient(r, call, dy, {{0, "dx"}});
}

Calls map_attention_backward(OracleReader& r) {
    Attrs attrs{{"heads_first", true}, {"causal", r.flag("causal", false)}};
    if (const double scale = r.number("scale", 0); scale != 0) attrs.set("scale", scale);
    if (const double cap = r.number("softcap", 0); cap != 0) attrs.set("softcap", cap);
    for (const char* name : {"window_left", "window_right", "dilation", "prefix_len", "global_tokens"})
        if (const std::int64_t value = r.integer(name, -1); value >= 0) attrs.set(name, value);
    std::vector<HostTensor> inputs{r.floats("q"), r.floats("k"), r.floats("v"), {}};
    for (const char* name : {"kv_len", "mask", "alibi_slopes", "block_mask", "segment_ids", "sinks"})
        inputs.push_back(r.has(name) ? r.exact(name) : HostTensor());
    OracleCall call = call_of("attention", std::move(inputs), attrs);
    expect_result(r, call, 0, "o");
    return with_gradient(r, call, r.floats("do"), {{0, "dq"}, {1, "dk"}, {2, "dv"}});
}

// ---- losses ---------------------------------------------------------------------------------------------------------

/// The loss of each row, their weighted sum, and the gradient of that.
Calls map_cross_entropy(OracleReader& r) {
    const HostTensor logits = r.floats("logits"), targets = r.exact("target");
    if (r.integer("ignore_index", -100) >= 0) throw unsupported_error("ignore_index of 0 or more");
    const Attrs attrs{{"label_smoothing", r.number("label_smoothing", 0)}};
    OracleCall each = call_of("cross_entropy", {logits, targets}, attrs);
    const std::string reduction = r.text("reduction", "mean");
    if (reduction == "none") {
        expect_result(r, each, 0, "loss");
        return {each};
    }
    if (reduction != "mean" && reduction != "sum")
        throw unsupported_error("reduction " + reduction + " of cross_entropy");
    const std::vector<HostTensor> made = all_made_by("cross_entropy", {logits, targets}, attrs);
    const std::int64_t rows = logits.type.shape[0];
    const auto counted = static_cast<double>(std::ranges::count_if(targets.data, [](double id) { return id >= 0; }));
    HostTensor weights({Shape{rows}, DType::f32});
    for (double& weight : weights.data) weight = reduction == "mean" ? 1 / counted : 1;
    OracleCall sum = call_of("matmul", {reshaped(made[0], {1, rows}), reshaped(weights, {rows, 1})}, {});
    sum.part = "sum";
    expect_result(r, sum, 0, "loss");
    Calls calls{each, sum};
    if (r.wants("dlogits")) {
        calls.push_back(call_of("cross_entropy_backward", {logits, targets, made[1], weights}, attrs));
        expect_result(r, calls.back(), 0, "dlogits");
    }
    return calls;
}

// ---- optimisers -----------------------------------------------------------------------------------------------------

std::vector<double> numbers(OracleReader& r, const char* key) {
    const Json* list = r.list(key);
    if (list == nullptr) throw unsupported_error(std::string("no list ") + key);
    return list->get<std::vector<double>>();
}

/// What an update reads of a training run's state: the rate of a step, and bias corrections after t updates.
HostTensor update_state(double rate, double beta1, double beta2, std::int64_t t) {
    HostTensor state({Shape{TRAIN_WORDS}, DType::f32});
    state[TRAIN_RATE] = rate, state[TRAIN_UPDATES] = static_cast<double>(t), state[TRAIN_GRADIENT_FACTOR] = 1;
    state[TRAIN_MEAN_FACTOR] = 1 / (1 - std::pow(beta1, t)),
    state[TRAIN_VARIANCE_FACTOR] = 1 / (1 - std::pow(beta2, t));
    return state;
}

/// Each step from what the references of the steps before have made.
Calls map_adam(OracleReader& r) {
    r.f32_only();
    const std::vector<double> betas = numbers(r, "betas"), rates = numbers(r, "lr");
    const Attrs attrs{{"beta1", betas.at(0)},
                      {"beta2", betas.at(1)},
                      {"eps", r.number("eps", 1e-8)},
                      {"weight_decay", r.number("weight_decay", 0)},
                      {"decoupled", r.op() == "adamw"}};
    std::vector<HostTensor> state{r.exact("w0"), HostTensor(r.exact("w0").type), HostTensor(r.exact("w0").type)};
    Calls calls;
    const std::int64_t steps = r.integer("steps", std::ssize(rates));
    for (std::int64_t t = 1; t <= steps; ++t) {
        const std::vector<HostTensor> operands{state[0], state[1], state[2], r.exact(format("g{}", t)),
                                               update_state(at(rates, t - 1), betas[0], betas[1], t)};
        calls.push_back(call_of("adam", operands, attrs));
        calls.back().part = format("step {}", t);
        expect_result(r, calls.back(), 0, format("w{}", t));
        expect_if_there(r, calls.back(), 1, format("m{}", t));
        expect_if_there(r, calls.back(), 2, format("v{}", t));
        state = run_reference(calls.back().call, operands);
    }
    return calls;
}

Calls map_sgd(OracleReader& r) {
    r.f32_only();
    const std::vector<double> rates = numbers(r, "lr");
    const Attrs attrs{{"momentum", r.number("momentum", 0)},
                      {"dampening", r.number("dampening", 0)},
                      {"weight_decay", r.number("weight_decay", 0)},
                      {"nesterov", r.flag("nesterov", false)}};
    const bool momentum = attrs.number("momentum") > 0;
    std::vector<HostTensor> state{r.exact("w0"), HostTensor(r.exact("w0").type)};
    Calls calls;
    const std::int64_t steps = r.integer("steps", std::ssize(rates));
    for (std::int64_t t = 1; t <= steps; ++t) {
        const std::vector<HostTensor> operands{state[0], momentum ? state[1] : HostTensor(), r.exact(format("g{}", t)),
                                               update_state(at(rates, t - 1), 0, 0, t)};
        calls.push_back(call_of("sgd", operands, attrs));
        calls.back().part = format("step {}", t);
        expect_result(r, calls.back(), 0, format("w{}", t));
        if (momentum) expect_if_there(r, calls.back(), 1, format("momentum{}", t));
        const std::vector<HostTensor> next = run_reference(calls.back().call, operands);
        std::ranges::copy(next, state.begin());
    }
    return calls;
}

/// The norm of all gradients and the factor that clips them, and the gradients times that factor.
Calls map_clip_grad_norm(OracleReader& r) {
    r.f32_only();
    std::vector<HostTensor> gradients;
    while (r.has(format("g{}", gradients.size()))) gradients.push_back(r.exact(format("g{}", gradients.size())));
    Calls calls;
    HostTensor squares({Shape{1}, DType::f32});
    for (const HostTensor& gradient : gradients) {
        calls.push_back(call_of("sum_squares", {gradient}, {}));
        squares[0] += run_reference(calls.back().call, std::vector{gradient})[0][0];
    }
    HostTensor train({Shape{TRAIN_WORDS}, DType::f32}), history({Shape{TRAIN_HISTORY, TRAIN_RECORD}, DType::f32});
    train[TRAIN_SCALE] = 1;
    const HostTensor rates({Shape{1}, DType::f32}), corrections({Shape{2, 1}, DType::f32});
    const std::vector<HostTensor> operands{train, history, squares, rates, corrections};
    OracleCall update =
        call_of("begin_update", operands, {{"max_norm", r.number("max_norm", 0)}, {"norm_eps", r.number("eps", 1e-6)}});
    HostTensor want = run_reference(update.call, operands)[0];
    const double factor = want[TRAIN_GRADIENT_FACTOR];
    want[TRAIN_NORM] = r.wanted("norm")[0];
    expect_result(update, 0, "norm", want);
    calls.push_back(std::move(update));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        calls.push_back(call_of("scale", {gradients[i]}, {{"factor", factor}}));
        expect_result(r, calls.back(), 0, format("g{}", i));
    }
    return calls;
}

Calls map_lr_schedule(OracleReader& r) {
    r.f32_only();
    const HostTensor want = r.wanted("lr");
    const std::int64_t shown = std::ssize(want.data);
    if (r.integer("first_step", 1) != 1) throw unsupported_error("first_step of lr_schedule");
    const RateOptions options{.schedule = schedule_named(r.text("kind", "constant")),
                              .rate = r.number("lr", 1),
                              .floor = r.number("min_lr", 0),
                              .warmup = r.integer("warmup", 0),
                              .width = r.integer("d_model", 0)};
    std::vector<float> rates = learning_rates(options, r.integer("total", shown));
    rates.resize(static_cast<std::size_t>(shown), rates.back());  // after the last step it stays
    OracleCall call = host_call("learning_rates", host_tensor(want.type.shape, rates));
    expect_result(call, 0, "lr", want);
    return {call};
}

}  // namespace

const OracleMaps& training_maps() {
    static const OracleMaps maps = {
        {"linear_backward", map_linear_backward},
        {"embedding_backward", map_embedding_backward},
        {"layer_norm_backward", map_norm_backward},
        {"rms_norm_backward", map_norm_backward},
        {"batch_norm_backward", map_batch_norm_backward},
        {"softmax_backward", map_softmax_backward},
        {"gelu_erf_backward", map_activation_backward},
        {"gelu_tanh_backward", map_activation_backward},
        {"quick_gelu_backward", map_activation_backward},
        {"silu_backward", map_activation_backward},
        {"relu_backward", map_activation_backward},
        {"tanh_backward", map_activation_backward},
        {"elu_backward", map_activation_backward},
        {"swiglu_backward", map_swiglu_backward},
        {"rope_backward", map_rope_backward},
        {"attention_backward", map_attention_backward},
        {"cross_entropy", map_cross_entropy},
        {"adam", map_adam},
        {"adamw", map_adam},
        {"sgd", map_sgd},
        {"clip_grad_norm", map_clip_grad_norm},
        {"lr_schedule", map_lr_schedule},
    };
    return maps;
}

}  // namespace vantage::internal::oracle
