// How the ops of the case files are called here: names, order and layout of operands, results and options.
#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/base/log.h"
#include "runtime/exec/oracle_reader.h"
#include "runtime/ops/activation.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

using Calls = std::vector<OracleCall>;

/// A call of `op` with these operands (empty = absent); its results' types are inferred, which checks the operands.
OracleCall call_of(const char* op, std::vector<HostTensor> inputs, Attrs attrs) {
    OracleCall made{.op = op, .part = {}, .call = {}, .inputs = std::move(inputs), .made_on_host = {}, .checks = {}};
    made.call.op = find_op(op);
    made.call.attrs = std::move(attrs);
    made.inputs.resize(made.call.op->operands.size());
    for (const HostTensor& input : made.inputs)
        made.call.inputs.push_back(!input.data.empty() || input.type.shape.rank() > 0 ? std::optional(input.type)
                                                                                      : std::nullopt);
    made.call.outputs = made.call.op->infer(made.call);
    return made;
}

void expect_result(OracleCall& call, int output, const std::string& name, HostTensor want) {
    const TensorType& type = call.call.op != nullptr ? call.call.outputs[static_cast<std::size_t>(output)]
                                                     : call.made_on_host[static_cast<std::size_t>(output)].type;
    if (type.shape.elements() != want.type.shape.elements())
        throw Error(ErrorKind::unsupported,
                    call.op + " gives " + name + " as " + type.text() + ", but the case has " + want.type.text());
    call.checks.push_back({.result = name, .output = output, .want = std::move(want), .ignored = {}});
}
/// The same for a result that a case need not have.
void expect_if_there(OracleReader& r, OracleCall& call, int output, const std::string& name) {
    if (r.wants(name)) expect_result(call, output, name, r.wanted(name));
}

Calls one(OracleCall call) {
    Calls calls;
    calls.push_back(std::move(call));
    return calls;
}

OracleCall host_call(const char* op, HostTensor made) {
    OracleCall call{.op = op, .part = {}, .call = {}, .inputs = {}, .made_on_host = {}, .checks = {}};
    call.made_on_host.push_back(std::move(made));
    return call;
}

HostTensor host_tensor(Shape shape, const auto& values) {
    HostTensor tensor({shape, DType::f32});
    std::transform(values.begin(), values.end(), tensor.data.begin(), [](auto v) { return static_cast<double>(v); });
    return tensor;
}

// ---- linear algebra --------------------------------------------------------------------------------------------------

Calls map_matmul(OracleReader& r) {
    const Attrs attrs{{"transpose_a", r.flag("transpose_a", false)}, {"transpose_b", r.flag("transpose_b", false)}};
    OracleCall call = call_of("matmul", {r.floats("a"), r.floats("b")}, attrs);
    expect_result(call, 0, "c", r.wanted("c"));
    return one(std::move(call));
}

Calls map_gemm(OracleReader& r) {
    const Attrs attrs{{"transpose_a", r.flag("transpose_a", false)},
                      {"transpose_b", r.flag("transpose_b", false)},
                      {"alpha", r.number("alpha", 1)},
                      {"beta", r.number("beta", 1)}};
    OracleCall call = call_of("matmul", {r.floats("a"), r.floats("b"), {}, r.optional_floats("c")}, attrs);
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_linear(OracleReader& r) {
    OracleCall call =
        call_of("matmul", {r.floats("x"), r.floats("w"), r.optional_floats("b")}, {{"transpose_b", true}});
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

// ---- attention -------------------------------------------------------------------------------------------------------

/// Batch `b` of [B, H, n, D] as [n, H, D].
HostTensor tokens_first(const HostTensor& x, std::int64_t b) {
    const Shape& s = x.type.shape;
    const std::int64_t heads = s[1], n = s[2], width = s.rank() > 3 ? s[3] : 1;
    HostTensor y({s.rank() > 3 ? Shape{n, heads, width} : Shape{n, heads}, x.type.dtype});
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t d = 0; d < width; ++d)
                y[(i * heads + h) * width + d] = x[((b * heads + h) * n + i) * width + d];
    return y;
}

/// The weights themselves, head by head, from q, k and the log-sum-exps of the file.
void add_weights(OracleReader& r, Calls& calls, const HostTensor& q, const HostTensor& k, const Attrs& options) {
    const HostTensor lse = r.wanted("lse"), p = r.wanted("p");
    const std::int64_t n = q.type.shape[2], m = k.type.shape[2];
    for (std::int64_t b = 0; b < q.type.shape[0]; ++b)
        for (std::int64_t h = 0; h < q.type.shape[1]; ++h) {
            Attrs attrs = options;
            attrs.erase("heads_first");
            attrs.erase("statistics");
            for (const auto& [key, value] : {std::pair{"head", h}, {"rows", n}, {"keys", m}, {"position", m - n}})
                attrs.set(key, value);
            OracleCall call =
                call_of("attention_weights", {tokens_first(q, b), tokens_first(k, b), tokens_first(lse, b)}, attrs);
            HostTensor want({Shape{n, m}, DType::f32});
            const auto first = p.data.begin() + static_cast<std::ptrdiff_t>((b * q.type.shape[1] + h) * n * m);
            std::copy_n(first, n * m, want.data.begin());
            call.part = format("p of batch %lld, head %lld", static_cast<long long>(b), static_cast<long long>(h));
            expect_result(call, 0, "p", std::move(want));
            calls.push_back(std::move(call));
        }
}

Calls map_attention(OracleReader& r) {
    const HostTensor q = r.floats("q"), k = r.floats("k");
    Attrs attrs{{"heads_first", true}, {"causal", r.flag("causal", false)}};
    if (const double scale = r.number("scale", 0); scale != 0) attrs.set("scale", scale);
    if (const double cap = r.number("softcap", 0); cap != 0) attrs.set("softcap", cap);
    for (const char* name : {"window_left", "window_right", "dilation", "prefix_len", "global_tokens", "block_size"})
        if (const std::int64_t value = r.integer(name, -1); value >= 0) attrs.set(name, value);
    std::vector<HostTensor> inputs{q, k, r.floats("v"), {}};
    for (const char* name : {"kv_len", "mask", "alibi_slopes", "block_mask", "segment_ids", "sinks"})
        inputs.push_back(r.has(name) ? r.exact(name) : HostTensor());
    if (r.wants("entropy")) attrs.set("statistics", true);
    OracleCall call = call_of("attention", std::move(inputs), attrs);
    expect_result(call, 0, "o", r.wanted("o"));
    expect_if_there(r, call, 2, "entropy");
    expect_if_there(r, call, 1, "lse");
    Calls calls = one(std::move(call));
    // a row's weights need no length of the keys: it is in the log-sum-exp only
    if (r.wants("p") && r.wants("lse") && !r.has("kv_len") && q.type.shape.rank() == 4)
        add_weights(r, calls, q, k, attrs);
    if (r.wants("p") && r.wants("entropy")) {
        OracleCall rows = call_of("entropy", {r.wanted("p")}, {});
        expect_result(rows, 0, "entropy", r.wanted("entropy"));
        calls.push_back(std::move(rows));
    }
    return calls;
}

Calls map_linear_attention(OracleReader& r) {
    OracleCall call = call_of("linear_attention", {r.floats("q"), r.floats("k"), r.floats("v")},
                              {{"heads_first", true},
                               {"causal", r.flag("causal", false)},
                               {"feature", r.text("feature", "elu+1")},
                               {"eps", r.number("eps", 0)}});
    expect_result(call, 0, "o", r.wanted("o"));
    expect_if_there(r, call, 1, "state_kv");
    expect_if_there(r, call, 2, "state_k");
    return one(std::move(call));
}

/// What an op makes of these operands, by its reference: an operand of the call that is looked at.
std::vector<HostTensor> all_made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs) {
    OracleCall call = call_of(op, std::move(inputs), std::move(attrs));
    std::vector<HostTensor> results(call.call.outputs.begin(), call.call.outputs.end());
    call.call.op->reference(call.call, call.inputs, results);
    return results;
}
HostTensor made_by(const char* op, std::vector<HostTensor> inputs, Attrs attrs) {
    return all_made_by(op, std::move(inputs), std::move(attrs)).front();
}

/// Columns [first, first + count) of a matrix.
HostTensor columns_of(const HostTensor& matrix, std::int64_t first, std::int64_t count) {
    const std::int64_t rows = matrix.type.shape[0], cols = matrix.type.shape[1];
    HostTensor part({Shape{rows, count}, matrix.type.dtype});
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < count; ++j) part[i * count + j] = matrix[i * cols + first + j];
    return part;
}

/// Step by step: scores, weights from the file's scores, context from the file's weights.
Calls from_scores(OracleReader& r, OracleCall scores, const HostTensor& values) {
    expect_result(scores, 0, "scores", r.wanted("scores"));
    OracleCall weights = call_of("softmax", {r.wanted("scores")}, {}),
               context = call_of("matmul", {r.wanted("p"), values}, {});
    weights.part = "p", context.part = "context";
    expect_result(weights, 0, "p", r.wanted("p"));
    expect_result(context, 0, "context", r.wanted("context"));
    Calls calls = one(std::move(scores));
    calls.push_back(std::move(weights));
    calls.push_back(std::move(context));
    return calls;
}

Calls map_additive_attention(OracleReader& r) {
    const Attrs nt{{"transpose_b", true}};
    const HostTensor q = made_by("matmul", {r.floats("q"), r.floats("wq")}, nt),
                     k = made_by("matmul", {r.floats("k"), r.floats("wk"), r.floats("b")}, nt);
    return from_scores(r, call_of("additive_scores", {q, k, r.floats("w")}, {}), r.floats("v"));
}

Calls map_luong_attention(OracleReader& r) {
    const std::string score = r.text("score", "dot");
    const HostTensor q = r.floats("q"), k = r.floats("k");
    const Attrs nt{{"transpose_b", true}};
    if (score == "dot") return from_scores(r, call_of("matmul", {q, k}, nt), k);
    const HostTensor w = r.floats("w");
    if (score == "general") return from_scores(r, call_of("matmul", {made_by("matmul", {q, w}, {}), k}, nt), k);
    if (score != "concat") throw Error(ErrorKind::unsupported, "score " + score + " of luong_attention");
    const std::int64_t dq = q.type.shape[-1], dk = k.type.shape[-1];
    return from_scores(r,
                       call_of("additive_scores",
                               {made_by("matmul", {q, columns_of(w, 0, dq)}, nt),
                                made_by("matmul", {k, columns_of(w, dq, dk)}, nt), r.floats("v")},
                               {}),
                       k);
}

Calls map_alibi_slopes(OracleReader& r) {
    r.f32_only();
    const std::int64_t heads = r.integer("heads", 1);
    OracleCall call = host_call("alibi_slopes", host_tensor({heads}, alibi_slopes(heads)));
    expect_result(call, 0, "slopes", r.wanted("slopes"));
    return one(std::move(call));
}

Calls map_t5_buckets(OracleReader& r) {
    r.f32_only();
    const std::int64_t n = r.integer("q_len", 1), m = r.integer("k_len", 1);
    const std::vector<std::int32_t> buckets = t5_relative_buckets(
        n, m, r.flag("bidirectional", true), r.integer("num_buckets", 32), r.integer("max_distance", 128));
    HostTensor tensor({Shape{n, m}, DType::i32});
    std::copy(buckets.begin(), buckets.end(), tensor.data.begin());
    OracleCall call = host_call("t5_relative_buckets", std::move(tensor));
    expect_result(call, 0, "bucket", r.wanted("bucket"));
    return one(std::move(call));
}

// ---- norms, softmax --------------------------------------------------------------------------------------------------

Calls map_softmax(OracleReader& r) {
    const Attrs attrs{{"axis", r.integer("axis", -1)}, {"scale", r.number("scale", 1)}};
    if (const std::string rule = r.text("all_masked", "zero"); rule != "zero")
        throw Error(ErrorKind::unsupported, "all_masked = " + rule + " of " + r.op());
    OracleCall call = call_of(r.op().c_str(), {r.floats("x")}, attrs);
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_layer_norm(OracleReader& r) {
    const HostTensor residual = r.op() == "add_layer_norm" ? r.floats("residual") : HostTensor();
    OracleCall call =
        call_of("layer_norm", {r.floats("x"), r.optional_floats("gamma"), r.optional_floats("beta"), residual},
                {{"eps", r.number("eps", 1e-5)}});
    expect_result(call, 0, "y", r.wanted("y"));
    expect_if_there(r, call, 1, "mean");
    expect_if_there(r, call, 2, "rstd");
    if (r.op() == "add_layer_norm") expect_if_there(r, call, 3, "sum");
    return one(std::move(call));
}

Calls map_rms_norm(OracleReader& r) {
    OracleCall call = call_of("rms_norm", {r.floats("x"), r.optional_floats("w")},
                              {{"eps", r.number("eps", 1e-6)}, {"weight_offset", r.number("weight_offset", 0)}});
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_batch_norm(OracleReader& r) {
    if (const std::string layout = r.text("layout", "N,C,L"); layout != "N,C,L")
        throw Error(ErrorKind::unsupported, "layout " + layout + " of batch_norm");
    OracleCall call = call_of("batch_norm",
                              {r.floats("x"), r.optional_floats("gamma"), r.optional_floats("beta"),
                               r.exact("running_mean"), r.exact("running_var")},
                              {{"training", r.flag("training", false)},
                               {"eps", r.number("eps", 1e-5)},
                               {"momentum", r.number("momentum", 0.1)}});
    expect_result(call, 0, "y", r.wanted("y"));
    expect_if_there(r, call, 1, "running_mean");
    expect_if_there(r, call, 2, "running_var");
    return one(std::move(call));
}

Calls map_entropy(OracleReader& r) {
    if (const std::string unit = r.text("unit", "nats"); unit != "nats")
        throw Error(ErrorKind::unsupported, "unit " + unit + " of attention_entropy");
    OracleCall call = call_of("entropy", {r.floats("p")}, {});
    expect_result(call, 0, "entropy", r.wanted("entropy"));
    return one(std::move(call));
}

/// Patches by their own op, then the linear layer on the patches that they should be.
Calls map_patch_embed(OracleReader& r) {
    const HostTensor x = r.floats("x"), w = r.floats("w");
    const std::int64_t edge = r.integer("patch", 1);
    OracleCall cut = call_of("patches", {x}, {{"patch_height", edge}, {"patch_width", edge}});
    const HostTensor rows = made_by("patches", {x}, cut.call.attrs);
    HostTensor weight = w;
    weight.type.shape = {w.type.shape[0], w.type.shape.elements() / w.type.shape[0]};
    OracleCall call = call_of("matmul", {rows, weight, r.optional_floats("b")}, {{"transpose_b", true}});
    expect_result(call, 0, "y", r.wanted("y"));
    expect_result(cut, 0, "patches", rows);
    Calls calls = one(std::move(cut));
    calls.push_back(std::move(call));
    return calls;
}

// ---- experts ---------------------------------------------------------------------------------------------------------

HostTensor reshaped(HostTensor tensor, Shape shape) {
    tensor.type.shape = shape;
    return tensor;
}

/// The parts of a mixture one by one: router, choice, experts, weighted sum, each from the file's results of the one before.
Calls map_moe(OracleReader& r) {
    const HostTensor x = r.floats("x"), index = r.wanted("index"), weight = r.wanted("weight");
    const std::int64_t top_k = r.integer("top_k", 1), experts = r.floats("gate").type.shape[0], n = x.type.shape[0];
    const Attrs nt{{"transpose_b", true}}, turned{{"transpose_w", true}};
    Calls calls = one(call_of("matmul", {x, r.floats("gate")}, nt));
    expect_result(calls[0], 0, "router_logits", r.wanted("router_logits"));
    calls.push_back(call_of("route", {r.wanted("router_logits")},
                            {{"top_k", top_k}, {"renormalise", r.flag("renormalise", false)}}));
    expect_result(calls[1], 0, "router_probs", r.wanted("router_probs"));
    expect_result(calls[1], 1, "index", index);
    expect_result(calls[1], 2, "weight", weight);
    calls.push_back(call_of("load_balance", {r.wanted("router_probs"), index}, {}));
    expect_result(calls[2], 0, "aux_loss", r.wanted("aux_loss"));

    const std::vector<HostTensor> sorted = all_made_by("sort_by_expert", {index}, {{"experts", experts}});
    const auto through = [&](const HostTensor& rows, const char* w) {
        return std::vector<HostTensor>{rows, r.floats(w), {}, index, sorted[0], sorted[1], sorted[2]};
    };
    const HostTensor gate = made_by("expert_linear", through(x, "w1"), turned),
                     up = made_by("expert_linear", through(x, "w3"), turned), inner = made_by("swiglu", {gate, up}, {}),
                     each = made_by("expert_linear", through(inner, "w2"), turned);
    calls.push_back(
        call_of("matmul", {reshaped(weight, {n, 1, top_k}), reshaped(each, {n, top_k, each.type.shape[1]})}, {}));
    calls[3].part = "weighted sum";
    expect_result(calls[3], 0, "y", r.wanted("y"));
    return calls;
}

Calls map_switch_route(OracleReader& r) {
    const HostTensor x = r.floats("x"), gate = r.floats("gate"), expert = r.wanted("expert");
    const std::int64_t n = x.type.shape[0];
    const HostTensor logits = made_by("matmul", {r.exact("x"), r.exact("gate")}, {{"transpose_b", true}});
    Calls calls = one(call_of("route", {logits}, {{"top_k", std::int64_t{1}}}));
    expect_result(calls[0], 1, "expert", expert);
    expect_result(calls[0], 2, "prob", r.wanted("prob"));
    calls.push_back(call_of("sort_by_expert", {reshaped(expert, {n, 1})},
                            {{"experts", gate.type.shape[0]}, {"capacity", r.integer("capacity", 0)}}));
    expect_result(calls[1], 0, "slot", r.wanted("slot"));
    return calls;
}

// ---- element by element ----------------------------------------------------------------------------------------------

Calls map_activation(OracleReader& r) {
    Attrs attrs{{"kind", r.op()}};
    if (r.op() == "elu") attrs.set("alpha", r.number("alpha", 1));
    if (r.op() == "softcap") attrs.set("cap", r.number("cap", 1));
    const HostTensor x = r.floats("x");
    OracleCall call = call_of("activation", {x}, attrs);
    expect_result(call, 0, "y", r.wanted("y"));
    // f16 has steps of 1/8 and more there, which the rounding of x passes on
    if (r.storage() == DType::f16)
        for (std::size_t i = 0; i < x.data.size(); ++i)
            if (std::abs(x.data[i]) > 100) call.checks[0].ignored.push_back(i);
    return one(std::move(call));
}

Calls map_gated(OracleReader& r) {
    const std::string kind = r.op() == "swiglu" ? "silu" : "gelu_tanh";
    OracleCall call = call_of("swiglu", {r.floats("gate"), r.floats("up")}, {{"kind", kind}});
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

// ---- positions and tokens --------------------------------------------------------------------------------------------

Calls map_sinusoidal(OracleReader& r) {
    const std::int64_t n = r.integer("n", 0), dim = r.integer("dim", 0);
    const std::string layout = r.text("layout", "interleaved");
    if (layout != "interleaved" && layout != "concat")
        throw Error(ErrorKind::unsupported, "layout = " + layout + " of " + r.op());
    const std::vector<float> table = sinusoidal_table(n, dim, r.number("base", 10000), layout == "interleaved");
    OracleCall call = host_call("sinusoidal_positions", host_tensor({n, dim}, table));
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

RopeScaling scaling_of(OracleReader& r) {
    RopeScaling s;
    s.attention_factor = r.number("attention_factor", 0);
    const Json* object = r.object("scaling");
    if (object == nullptr) return s;
    const JsonFields fields(*object, "ops.json", "scaling");
    s.type = fields.text("type");
    for (const auto& [key, value] : object->items()) {
        if (value.is_null()) continue;
        if (key == "factor")
            s.factor = fields.number(key);
        else if (key == "low_freq_factor")
            s.low_freq_factor = fields.number(key);
        else if (key == "high_freq_factor")
            s.high_freq_factor = fields.number(key);
        else if (key == "beta_fast")
            s.beta_fast = fields.number(key);
        else if (key == "beta_slow")
            s.beta_slow = fields.number(key);
        else if (key == "attention_factor")
            s.attention_factor = fields.number(key);
        else if (key == "truncate")
            s.truncate = fields.flag(key);
        else if (key == "original_max_position_embeddings")
            s.original_context = fields.integer(key);
        else if (key != "type")
            throw Error(ErrorKind::unsupported, "option scaling." + key + " of rope");
    }
    return s;
}

HostTensor table_of(std::int64_t positions, std::int64_t rotary_dim, double theta, const RopeScaling& scaling) {
    Graph graph;
    const Value& value = graph.value(rope_table(graph, positions, rotary_dim, theta, scaling).id());
    return widen(value.type, value.data());
}

Calls map_rope(OracleReader& r) {
    const HostTensor x = r.floats("x"), positions = r.exact("positions");
    const std::string layout = r.text("layout", "neox");
    if (layout != "neox" && layout != "gptj") throw Error(ErrorKind::unsupported, "layout = " + layout + " of rope");
    const std::int64_t rotary = r.integer("rotary_dim", x.type.shape[-1]);
    const double theta = r.number("theta", 10000);
    const RopeScaling scaling = scaling_of(r);
    double last = 0;
    for (double position : positions.data) last = std::max(last, position);
    const HostTensor table = table_of(static_cast<std::int64_t>(last) + 1, rotary, theta, scaling);
    OracleCall call =
        call_of("rope", {x, table, positions}, {{"heads_first", true}, {"interleaved", layout == "gptj"}});
    expect_result(call, 0, "y", r.wanted("y"));
    Calls calls = one(std::move(call));
    if (r.wants("inv_freq")) {
        calls.push_back(
            host_call("rope_frequencies", host_tensor({rotary / 2}, rope_frequencies(rotary, theta, scaling))));
        expect_result(calls.back(), 0, "inv_freq", r.wanted("inv_freq"));
    }
    return calls;
}

Calls map_embedding(OracleReader& r) {
    OracleCall call = call_of("embedding", {r.exact("ids"), r.floats("w"), r.optional_floats("positions")},
                              {{"scale", r.number("scale", 1)},
                               {"position_offset", r.integer("position_offset", 0)},
                               {"dtype", std::string(name_of(r.storage()))}});
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_heads(OracleReader& r) {
    const Attrs attrs = r.op() == "split_heads" ? Attrs{{"heads", r.integer("heads", 1)}} : Attrs{};
    OracleCall call = call_of(r.op().c_str(), {r.floats("x")}, attrs);
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

Calls map_split_qkv(OracleReader& r) {
    const std::int64_t heads = r.integer("heads", 1);
    OracleCall call = call_of("split_qkv", {r.floats("x")},
                              {{"heads", heads},
                               {"kv_heads", r.integer("kv_heads", heads)},
                               {"layout", r.text("layout", "concat")},
                               {"heads_first", true}});
    int output = 0;
    for (const char* name : {"q", "k", "v"}) expect_result(call, output++, name, r.wanted(name));
    return one(std::move(call));
}

// ---- sampling --------------------------------------------------------------------------------------------------------

Calls map_sampling_probs(OracleReader& r) {
    r.f32_only();  // logits are f32 throughout
    OracleCall call = call_of("sampling_probs", {r.exact("logits")},
                              {{"temperature", r.number("temperature", 1)},
                               {"top_k", r.integer("top_k", 0)},
                               {"top_p", r.number("top_p", 1)},
                               {"min_p", r.number("min_p", 0)}});
    expect_result(call, 0, "p", r.wanted("p"));
    return one(std::move(call));
}

Calls map_repetition_penalty(OracleReader& r) {
    const HostTensor logits = r.floats("logits"), history = r.exact("history");
    const std::int64_t vocab = logits.type.shape[-1];
    std::vector<std::uint32_t> bits(static_cast<std::size_t>((vocab + 31) / 32));
    for (double id : history.data)
        if (id >= 0 && id < static_cast<double>(vocab))
            bits[static_cast<std::size_t>(id) / 32] |= 1u << (static_cast<std::uint32_t>(id) % 32);
    HostTensor seen({Shape{static_cast<std::int64_t>(bits.size())}, DType::u32});
    std::copy(bits.begin(), bits.end(), seen.data.begin());
    OracleCall call = call_of("repetition_penalty", {logits, seen}, {{"penalty", r.number("penalty", 1)}});
    expect_result(call, 0, "y", r.wanted("y"));
    return one(std::move(call));
}

}  // namespace

OracleMap oracle_map(const std::string& op) {
    static const std::map<std::string, OracleMap> maps = {
        {"matmul", map_matmul},
        {"gemm", map_gemm},
        {"linear", map_linear},
        {"attention", map_attention},
        {"linear_attention", map_linear_attention},
        {"additive_attention", map_additive_attention},
        {"luong_attention", map_luong_attention},
        {"alibi_slopes", map_alibi_slopes},
        {"t5_relative_bucket", map_t5_buckets},
        {"softmax", map_softmax},
        {"log_softmax", map_softmax},
        {"layer_norm", map_layer_norm},
        {"add_layer_norm", map_layer_norm},
        {"rms_norm", map_rms_norm},
        {"batch_norm", map_batch_norm},
        {"attention_entropy", map_entropy},
        {"patch_embed", map_patch_embed},
        {"moe", map_moe},
        {"switch_route", map_switch_route},
        {"swiglu", map_gated},
        {"geglu_tanh", map_gated},
        {"sinusoidal_positions", map_sinusoidal},
        {"rope", map_rope},
        {"embedding", map_embedding},
        {"split_heads", map_heads},
        {"merge_heads", map_heads},
        {"split_qkv", map_split_qkv},
        {"sampling_probs", map_sampling_probs},
        {"repetition_penalty", map_repetition_penalty},
    };
    if (const auto found = maps.find(op); found != maps.end()) return found->second;
    return op != "none" && activation_kind(op) >= 0 ? map_activation : nullptr;
}

}  // namespace vantage
