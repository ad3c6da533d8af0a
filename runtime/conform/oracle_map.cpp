#include "runtime/conform/oracle_map.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/conform/oracle_attention.h"
#include "runtime/conform/oracle_positions.h"
#include "runtime/conform/oracle_training.h"
#include "runtime/ops/activation.h"
#include "vantage/ops.h"

namespace vantage::internal::oracle {

namespace {

// ---- linear algebra -------------------------------------------------------------------------------------------------

Calls map_matmul(OracleReader& r) {
    const Attrs attrs{{"transpose_a", r.flag("transpose_a", false)}, {"transpose_b", r.flag("transpose_b", false)}};
    return one(r, call_of("matmul", {r.floats("a"), r.floats("b")}, attrs), "c");
}

Calls map_gemm(OracleReader& r) {
    const Attrs attrs{{"transpose_a", r.flag("transpose_a", false)},
                      {"transpose_b", r.flag("transpose_b", false)},
                      {"alpha", r.number("alpha", 1)},
                      {"beta", r.number("beta", 1)}};
    return one(r, call_of("matmul", {r.floats("a"), r.floats("b"), {}, r.optional_floats("c")}, attrs), "y");
}

Calls map_linear(OracleReader& r) {
    return one(r, call_of("matmul", {r.floats("x"), r.floats("w"), r.optional_floats("b")}, {{"transpose_b", true}}),
               "y");
}

// ---- norms, softmax -------------------------------------------------------------------------------------------------

Calls map_softmax(OracleReader& r) {
    const Attrs attrs{{"axis", r.integer("axis", -1)}, {"scale", r.number("scale", 1)}};
    if (const std::string rule = r.text("all_masked", "zero"); rule != "zero")
        throw unsupported_error("all_masked = " + rule + " of " + r.op());
    return one(r, call_of(r.op().c_str(), {r.floats("x")}, attrs), "y");
}

Calls map_sparsemax(OracleReader& r) { return one(r, call_of("sparsemax", {r.floats("x")}, {}), "y"); }

Calls map_layer_norm(OracleReader& r) {
    std::vector<HostTensor> inputs{r.floats("x"), r.optional_floats("gamma"), r.optional_floats("beta")};
    std::vector<const char*> optional{"mean", "rstd"};
    if (r.op() == "add_layer_norm") inputs.push_back(r.floats("residual")), optional.push_back("sum");
    return one(r, call_of("layer_norm", std::move(inputs), {{"eps", r.number("eps", 1e-5)}}), "y", optional);
}

Calls map_rms_norm(OracleReader& r) {
    return one(r,
               call_of("rms_norm", {r.floats("x"), r.optional_floats("w")},
                       {{"eps", r.number("eps", 1e-6)}, {"weight_offset", r.number("weight_offset", 0)}}),
               "y");
}

Calls map_batch_norm(OracleReader& r) {
    if (const std::string layout = r.text("layout", "N,C,L"); layout != "N,C,L")
        throw unsupported_error("layout " + layout + " of batch_norm");
    OracleCall call = call_of("batch_norm",
                              {r.floats("x"), r.optional_floats("gamma"), r.optional_floats("beta"),
                               r.exact("running_mean"), r.exact("running_var")},
                              {{"training", r.flag("training", false)},
                               {"eps", r.number("eps", 1e-5)},
                               {"momentum", r.number("momentum", 0.1)}});
    return one(r, std::move(call), "y", {"running_mean", "running_var"});
}

Calls map_entropy(OracleReader& r) {
    if (const std::string unit = r.text("unit", "nats"); unit != "nats")
        throw unsupported_error("unit " + unit + " of attention_entropy");
    return one(r, call_of("entropy", {r.floats("p")}, {}), "entropy");
}

/// The patches op, then the linear layer on the expected patches.
Calls map_patch_embed(OracleReader& r) {
    const HostTensor x = r.floats("x"), w = r.floats("w");
    const std::int64_t edge = r.integer("patch", 1);
    OracleCall cut = call_of("patches", {x}, {{"patch_height", edge}, {"patch_width", edge}});
    const HostTensor rows = made_by("patches", {x}, cut.call.attrs);
    const HostTensor weight =
        reshaped(w, {w.type.shape[0], w.type.shape.elements() / std::max<std::int64_t>(w.type.shape[0], 1)});
    OracleCall call = call_of("matmul", {rows, weight, r.optional_floats("b")}, {{"transpose_b", true}});
    expect_result(r, call, 0, "y");
    expect_result(cut, 0, "patches", rows);
    return {cut, call};
}

// ---- state spaces ---------------------------------------------------------------------------------------------------

Calls map_state_space(OracleReader& r) {
    Attrs attrs;
    for (const char* flag : {"log_a", "softplus"})
        if (r.flag(flag, false)) attrs.set(flag, true);
    const HostTensor state = r.has("state") ? r.exact("state") : HostTensor();
    return one(r,
               call_of("state_space",
                       {r.floats("x"), r.floats("delta"), r.floats("a"), r.floats("b"), r.floats("c"),
                        r.optional_floats("d"), state},
                       attrs),
               "y", {"new_state"});
}

Calls map_causal_conv1d(OracleReader& r) {
    return one(
        r,
        call_of("causal_conv1d", {r.floats("x"), r.floats("weight"), r.optional_floats("bias"), r.exact("state")},
                {{"kind", r.text("activation", "none")}}),
        "y", {"new_state"});
}

// ---- recurrent layers -----------------------------------------------------------------------------------------------

Calls map_recurrent(OracleReader& r) {
    Attrs attrs{{"cell", r.text("cell", "")}};
    if (r.flag("reverse", false)) attrs.set("reverse", true);
    const auto state = [&](const char* name) { return r.has(name) ? r.exact(name) : HostTensor(); };
    return one(
        r,
        call_of("recurrent", {r.floats("x"), r.floats("w"), r.optional_floats("b"), state("h0"), state("c0")}, attrs),
        "h", {"c"});
}

// ---- experts --------------------------------------------------------------------------------------------------------

/// The steps of a mixture of experts: router, choice, experts, weighted sum, each from the file's results of the
/// previous step.
Calls map_moe(OracleReader& r) {
    const HostTensor x = r.floats("x"), index = r.wanted("index"), weight = r.wanted("weight");
    const std::int64_t top_k = r.integer("top_k", 1), experts = r.floats("gate").type.shape[0], n = x.type.shape[0];
    const Attrs nt{{"transpose_b", true}}, turned{{"transpose_w", true}};
    Calls calls{call_of("matmul", {x, r.floats("gate")}, nt)};
    expect_result(r, calls[0], 0, "router_logits");
    calls.push_back(call_of("route", {r.wanted("router_logits")},
                            {{"top_k", top_k}, {"renormalise", r.flag("renormalise", false)}}));
    expect_result(r, calls[1], 0, "router_probs");
    expect_result(calls[1], 1, "index", index);
    expect_result(calls[1], 2, "weight", weight);
    calls.push_back(call_of("load_balance", {r.wanted("router_probs"), index}, {}));
    expect_result(r, calls[2], 0, "aux_loss");

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
    expect_result(r, calls[3], 0, "y");
    return calls;
}

Calls map_switch_route(OracleReader& r) {
    const HostTensor x = r.floats("x"), gate = r.floats("gate"), expert = r.wanted("expert");
    const std::int64_t n = x.type.shape[0];
    const HostTensor logits = made_by("matmul", {r.exact("x"), r.exact("gate")}, {{"transpose_b", true}});
    Calls calls{call_of("route", {logits}, {{"top_k", std::int64_t{1}}})};
    expect_result(calls[0], 1, "expert", expert);
    expect_result(r, calls[0], 2, "prob");
    calls.push_back(call_of("sort_by_expert", {reshaped(expert, {n, 1})},
                            {{"experts", gate.type.shape[0]}, {"capacity", r.integer("capacity", 0)}}));
    expect_result(r, calls[1], 0, "slot");
    return calls;
}

// ---- element by element ---------------------------------------------------------------------------------------------

Calls map_activation(OracleReader& r) {
    Attrs attrs{{"kind", r.op()}};
    if (r.op() == "elu") attrs.set("alpha", r.number("alpha", 1));
    if (r.op() == "softcap") attrs.set("cap", r.number("cap", 1));
    if (r.op() == "swish") attrs.set("beta", r.number("beta", 1));
    const HostTensor x = r.floats("x");
    OracleCall call = call_of("activation", {x}, attrs);
    expect_result(r, call, 0, "y");
    // there, f16 has steps of 1/8 and more, so rounding x changes the result
    if (r.storage() == DType::f16)
        for (std::size_t i = 0; i < x.data.size(); ++i)
            if (std::abs(x.data[i]) > 100) call.checks[0].ignored.push_back(i);
    return {call};
}

Calls map_gated(OracleReader& r) {
    const std::string kind = r.op() == "swiglu" ? "silu" : "gelu_tanh";
    return one(r, call_of("swiglu", {r.floats("gate"), r.floats("up")}, {{"kind", kind}}), "y");
}

// ---- sampling -------------------------------------------------------------------------------------------------------

Calls map_sampling_probs(OracleReader& r) {
    r.f32_only();  // logits are always f32
    return one(r,
               call_of("sampling_probs", {r.exact("logits")},
                       {{"temperature", r.number("temperature", 1)},
                        {"top_k", r.integer("top_k", 0)},
                        {"top_p", r.number("top_p", 1)},
                        {"min_p", r.number("min_p", 0)}}),
               "p");
}

Calls map_repetition_penalty(OracleReader& r) {
    const HostTensor logits = r.floats("logits"), history = r.exact("history");
    const std::int64_t vocab = logits.type.shape[-1];
    std::vector<std::uint32_t> bits(static_cast<std::size_t>((vocab + 31) / 32));
    for (double id : history.data)
        if (id >= 0 && id < static_cast<double>(vocab))
            bits[static_cast<std::size_t>(id) / 32] |= 1u << (static_cast<std::uint32_t>(id) % 32);
    const HostTensor seen = host_tensor({std::ssize(bits)}, bits, DType::u32);
    return one(r, call_of("repetition_penalty", {logits, seen}, {{"penalty", r.number("penalty", 1)}}), "y");
}

}  // namespace

}  // namespace vantage::internal::oracle

namespace vantage::internal {

OracleMap oracle_map(const std::string& op) {
    using namespace oracle;
    static const OracleMaps maps = {
        {"matmul", map_matmul},
        {"gemm", map_gemm},
        {"linear", map_linear},
        {"softmax", map_softmax},
        {"log_softmax", map_softmax},
        {"sparsemax", map_sparsemax},
        {"layer_norm", map_layer_norm},
        {"add_layer_norm", map_layer_norm},
        {"rms_norm", map_rms_norm},
        {"batch_norm", map_batch_norm},
        {"attention_entropy", map_entropy},
        {"patch_embed", map_patch_embed},
        {"state_space", map_state_space},
        {"causal_conv1d", map_causal_conv1d},
        {"recurrent", map_recurrent},
        {"moe", map_moe},
        {"switch_route", map_switch_route},
        {"swiglu", map_gated},
        {"geglu_tanh", map_gated},
        {"sampling_probs", map_sampling_probs},
        {"repetition_penalty", map_repetition_penalty},
    };
    for (const OracleMaps* known : {&maps, &attention_maps(), &position_maps(), &training_maps()})
        if (const auto found = known->find(op); found != known->end()) return found->second;
    return op != "none" && activation_kind(op) >= 0 ? map_activation : nullptr;
}

}  // namespace vantage::internal
