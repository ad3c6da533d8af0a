#include "cli/explain/explain_json.h"

#include <cmath>

#include "cli/shared/output.h"
#include "runtime/cost/symbols.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/schedule.h"
#include "runtime/session/model_access.h"

namespace vantage::cli {

namespace {

Json cost_json(const Cost& c) {
    return {{"flops", c.flops}, {"bytes_read", c.bytes_read}, {"bytes_written", c.bytes_written}};
}

Json role_json(const RoleWeights& one) {
    return {{"component", name_of(one)},
            {"parameters", one.parameters},
            {"active", one.active},
            {"bytes", one.bytes},
            {"formula", one.formula.text()}};
}

Json ops_json(const std::vector<RunCost::OpCost>& ops) {
    return json_list(ops, [](const RunCost::OpCost& one) {
        Json entry = cost_json(one.cost);
        entry["op"] = one.op, entry["calls"] = one.calls;
        return entry;
    });
}

Json run_json(const Explanation& e, const RunCost& run) {
    const auto role = [](const RunCost::RoleCost& one) {
        Json entry = cost_json(one.cost);
        entry["part"] = name_of(one.role), entry["formula"] = one.flops.text();
        return entry;
    };
    Json all = {{"parts", json_list(run.roles, role)},
                {"ops", ops_json(run.ops)},
                {"total", cost_json(run.total())},
                {"formula", e.cost.simplified(run.flops()).text()},
                {"formula_flops", run.flops().value(run.values)},
                {"n", run.values.at('n')},
                {"weight_bytes_read", run.weight_bytes},
                {"matrix_elements_read", e.cost.simplified(run.matrices).text()},
                {"cache_bytes_read", run.cache_bytes},
                {"sequential_steps", run.steps}};
    if (e.source) all["m"] = run.values.at('m');
    return all;
}

Json cache_json(const Explanation& e) {
    const auto context = [&](std::int64_t tokens) {
        return Json{{"tokens", tokens}, {"bytes", e.cost.cache_bytes(tokens)}};
    };
    // without states, which have no row for each token, and without what is there of an image before the text
    const auto rows = [&](std::int64_t tokens) { return e.cost.cache_bytes(tokens) - e.cost.kept_state_bytes(tokens); };
    return {{"bytes_per_token", rows(2) - rows(1)},
            {"formula", e.cost.cache_per_token().text()},
            {"cross_formula", e.cost.cache_per_token(AttentionKind::cross).text()},
            {"encoder_formula", e.cost.cache_per_token(AttentionKind::encoder).text()},
            {"contexts", json_list(shown_contexts(config_of(e.model).context), context)}};
}

Json weights_json(const Explanation& e) {
    const auto context = [&](std::int64_t tokens) {
        return Json{{"tokens", tokens}, {"bytes", attention_weight_bytes(e, tokens)}};
    };
    return {{"formula", attention_weight_bytes(e).text()},
            {"contexts", json_list(shown_contexts(config_of(e.model).context), context)}};
}

Json comparison_json(const Explanation& e) {
    const auto length = [&](std::int64_t tokens) {
        const auto layer = [](const auto& one) {
            return Json{{"layer", one.first.id},
                        {"formula", one.first.flops.text()},
                        {"flops", one.second},
                        {"sequential_steps", one.first.sequential},
                        {"path_length", one.first.path}};
        };
        return Json{{"tokens", tokens}, {"layers", json_list(compared_layers(e, tokens), layer)}};
    };
    return json_list(std::vector{e.tokens, e.session.context()}, length);
}

Json memory_json(const Explanation& e) {
    const SessionMemory m = e.session.memory();
    return {{"weights", weight_bytes(e.model)},
            {"cache", m.cache},
            {"states", m.states},
            {"intermediates", m.intermediates},
            {"watched_if_asked", recording_bytes(e)},
            {"context", e.session.context()}};
}

Json groups_json(const std::vector<DispatchGroup>& groups) {
    const auto dispatch = [](const DispatchLine& d) {
        return Json{{"operation", d.what},
                    {"kernel", d.kernel},
                    {"result", d.result},
                    {"workgroups", d.grid},
                    {"barrier_before", d.barrier}};
    };
    return json_list(groups, [&](const DispatchGroup& g) {
        return Json{{"name", g.name}, {"times", g.times}, {"dispatches", json_list(g.dispatches, dispatch)}};
    });
}

// Without its groups.
Json plan_json(const Plan& plan) {
    const Schedule& schedule = PlanAccess::schedule(plan);
    return {{"dispatches", schedule.dispatches.size()},
            {"fused", plan.fused()},
            {"arena_bytes", schedule.arena_bytes},
            {"arena_bytes_alive_at_once", schedule.live_bytes},
            {"arena_bytes_without_sharing", schedule.naive_bytes}};
}
Json plan_json(const Plan& plan, std::int64_t rows, bool encoder) {
    const Schedule& schedule = PlanAccess::schedule(plan);
    Json all = plan_json(plan);
    all["rows"] = rows, all["encoder"] = encoder;
    all["groups"] = groups_json(dispatch_groups(plan.graph(), schedule, schedule.dispatches));
    return all;
}

}  // namespace

void print_json(const TrainingExplanation& e) {
    const auto phase = [](const PhaseFigures& one) {
        return Json{{"phase", name_of(one.phase)},
                    {"ops", ops_json(one.ops)},
                    {"total", cost_json(one.total())},
                    {"dispatches", one.dispatches},
                    {"groups", groups_json(one.groups)}};
    };
    const Json memory = {{"parameters", e.memory.parameters},   {"gradients", e.memory.gradients},
                         {"optimizer", e.memory.optimizer},     {"others", e.memory.others},
                         {"activations", e.memory.activations}, {"total", e.memory.total()}};
    const auto level = [](const RecomputeLevel& one) {
        return Json{{"level", one.recompute}, {"flops", one.flops}, {"bytes", one.bytes}};
    };
    write_json({{"schema_version", 2},
                {"model", e.name},
                {"architecture", e.config.architecture},
                {"device", e.plan.device().caps().name},
                {"total_parameters", e.parameters},
                {"sequences", e.settings.sequences},
                {"tokens", e.settings.rows},
                {"precision", e.settings.f16 ? "f16" : "f32"},
                {"optimizer", name_of(e.settings.optimizer)},
                {"recompute", e.settings.recompute},
                {"recompute_levels", json_list(e.levels, level)},
                {"phases", json_list(e.phases, phase)},
                {"total", cost_json(e.total())},
                {"memory", memory},
                {"plan", plan_json(e.plan)}});
}

void print_json(const Explanation& e) {
    const ModelInfo& info = e.model.info();
    Json symbols = Json::object(), plans = Json::array();
    for (const auto& [symbol, meaning, of_config] : model_symbols()) {
        const double value = value_of(symbol, e.cost.values());
        const bool whole = value == std::floor(value);
        symbols[std::string(1, symbol)] = {{"value", whole ? Json(static_cast<std::int64_t>(value)) : Json(value)},
                                           {"meaning", meaning}};
    }
    if (e.source) plans.push_back(plan_json(e.session.encoder_plan(e.source_tokens), e.source_tokens, true));
    for (const std::int64_t rows : e.plans) plans.push_back(plan_json(e.session.plan(rows), rows, false));
    Json prompt = run_json(e, e.prompt), token, source;
    prompt["tokens"] = e.tokens;
    if (e.source) source = run_json(e, *e.source), source["tokens"] = e.source_tokens;
    if (e.token) token = run_json(e, *e.token), token["position"] = e.tokens;
    Json all = {{"schema_version", 2},
                {"model", info.name},
                {"architecture", info.architecture},
                {"device", e.model.device().caps().name},
                {"symbols", symbols},
                {"parameters", json_list(e.weights, role_json)},
                {"total_parameters", info.parameters},
                {"active_parameters", active_parameters(e)},
                {"parameters_formula", parameters_formula(e).text()},
                {"source", source},  // null except for an encoder–decoder
                {"prompt", prompt},
                {"generated_token", token},  // null for an encoder
                {"cache", cache_json(e)},
                {"attention_weights_never_stored", weights_json(e)},
                {"layers_compared", comparison_json(e)},
                {"memory", memory_json(e)},
                {"plans", plans}};
    if (e.positions) all["positions"] = positions_json(*e.positions);
    write_json(all);
}

}  // namespace vantage::cli
