#include "cli/explain/explain_text.h"

#include <algorithm>

#include "cli/shared/output.h"
#include "cli/shared/step_options.h"
#include "cli/shared/terminal_page.h"
#include "cli/shared/text_table.h"
#include "runtime/base/format.h"
#include "runtime/cost/symbols.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/schedule.h"
#include "runtime/ops/bigbird_blocks.h"
#include "runtime/session/model_access.h"
#include "shaders/params/kept_states.h"

namespace vantage::cli {

namespace {

// "124 439 808"
std::string exact_text(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, " ");
    return digits;
}
std::string memory_text(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }
std::string percent_text(double part, double whole) { return whole > 0 ? format("{:.1f} %", 100 * part / whole) : "-"; }
std::string rows_text(std::int64_t rows) { return format("{} row{}", rows, rows == 1 ? "" : "s"); }

// All terms of a sum; if there are more than 6, those of at least one percent.
std::string sum_text(const Formula& formula, const SymbolValues& values) {
    return formula.terms() <= 6 ? formula.text() : formula.larger_terms(0.01, values).text() + " + …";
}

void print(const std::string& heading, const TextTable& table) {
    print_line("\n{}", heading);
    std::fputs(table.text().c_str(), stdout);
}

// ---- the model ------------------------------------------------------------------------------------------------------

void print_sizes(const Explanation& e) {
    const ModelConfig& c = config_of(e.model);
    std::string text;
    for (const auto& [symbol, meaning, of_config] : model_symbols()) {
        const std::int64_t value = e.cost.values().at(symbol);
        if (value == 0 || symbol == 'b' || (symbol == 'K' && c.kv_heads == c.heads)) continue;
        text += format("{}{} = {} {}", text.empty() ? "" : ", ", symbol, value, meaning);
    }
    print_line("{}: {}\n  {}", e.model.info().name, c.architecture, text);
    const auto windowed = std::ranges::count_if(c.windows, [](std::int64_t w) { return w > 0; });
    if (windowed > 0)
        print_line("  sliding window of w = {} keys{} in {} of {} layers", std::ranges::max(c.windows),
                   c.kind == ModelKind::encoder ? " on each side, including the current one" : "", windowed, c.layers);
    if (const std::int64_t size = c.own.integer("block_size"); size > 0)
        print_line(
            "  blocks of {} tokens, which see 5 of them in texts of more than {} tokens; FLOP are those of all keys",
            size, ops::bigbird_blocks::longest_full(size, c.own.integer("random_blocks")));
}

bool is_encoder_decoder(const Explanation& e) { return config_of(e.model).kind == ModelKind::encoder_decoder; }

void print_parameters(const Explanation& e) {
    const ModelInfo& info = e.model.info();
    const auto all = static_cast<double>(info.parameters);
    TextTable table("lrrrl");
    table.row({"", "parameters", "share", "bytes", "formula"});
    for (const RoleWeights& one : e.weights)
        table.row({name_of(one), exact_text(one.parameters), percent_text(static_cast<double>(one.parameters), all),
                   bytes_text(one.bytes), one.formula.text()});
    table.row({"total", exact_text(info.parameters), "", bytes_text(info.weight_bytes),
               sum_text(parameters_formula(e), e.cost.values())});
    print("Parameters", table);
    if (is_encoder_decoder(e))
        print_line("  the encoder runs once per text{}", e.model.info().attends(AttentionKind::cross)
                                                             ? " and computes the keys and values of cross-attention"
                                                             : "");
    const bool has_output = std::ranges::count(e.prompt.roles, ModelRole::output, &RunCost::RoleCost::role) > 0;
    if (config_of(e.model).tied && has_output) print_line("  the output layer shares the weights of the embedding");
    if (const ModelConfig& c = config_of(e.model); c.experts > 0)
        print_line("  active per token: {} ({}), k = {} of E = {} experts", exact_text(active_parameters(e)),
                   percent_text(static_cast<double>(active_parameters(e)), all), c.experts_per_token, c.experts);
}

// ---- work -----------------------------------------------------------------------------------------------------------

// FLOP, their share, bytes read and written, FLOP per byte.
std::vector<std::string> cost_cells(const Cost& c, const std::string& share) {
    return {count_text(c.flops), share, memory_text(c.bytes_read), memory_text(c.bytes_written),
            c.bytes() > 0 ? format("{:.2f}", c.flops / c.bytes()) : "-"};
}

// `cache`: bytes of the keys and values that it reads.
void print_work(const Explanation& e, const std::string& heading, const RunCost& run, std::int64_t tokens,
                const Formula& cache) {
    TextTable table("lrrrrrl");
    const Cost all = run.total();
    table.row({"", "FLOP", "share", "read", "written", "FLOP/byte", "formula of the FLOP"});
    const auto row = [&](const std::string& name, const Cost& c, const std::string& share, const std::string& formula) {
        std::vector<std::string> cells = cost_cells(c, share);
        cells.insert(cells.begin(), name), cells.push_back(formula);
        table.row(cells);
    };
    for (const RunCost::RoleCost& one : run.roles)
        row(name_of(one.role), one.cost, percent_text(one.cost.flops, all.flops),
            one.flops.zero() ? "" : one.flops.text());
    row("total", all, "", sum_text(e.cost.simplified(run.flops()), run.values));
    const auto n = static_cast<double>(tokens);
    if (tokens > 1) row("per token", {all.flops / n, all.bytes_read / n, all.bytes_written / n}, "", "");
    print(heading, table);
    print_line(
        "  formulas count matrix products and attention, {} of the FLOP; not rotary embeddings, gates, caches, "
        "sampling",
        percent_text(run.flops().value(run.values), all.flops));
    if (run.steps > 0)
        print_line("  {} sequential step{}: a row of a recurrent layer waits for the row before it", run.steps,
                   run.steps == 1 ? "" : "s");
    print_line("  read: {} of weights, each once{}: {} in matrices", memory_text(run.weight_bytes),
               run.steps > 0 ? " a run, those of recurrent layers once for each row" : "",
               sum_text(e.cost.simplified(run.matrices), run.values));
    const char* rest = config_of(e.model).state_space ? "between operations and of states" : "between operations";
    if (cache.zero()) return print_line("        {} {}", memory_text(all.bytes_read - run.weight_bytes), rest);
    const std::string kept = run.steps > 0 ? " and states, of these one row for each run"
                                           : ": " + cache.text() + " bytes" +
                                                 (config_of(e.model).windows.empty() ? "" : " (a window reads less)");
    print_line("        {} of keys and values{}; {} {}", memory_text(run.cache_bytes), kept,
               memory_text(all.bytes_read - run.weight_bytes - run.cache_bytes), rest);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// States do not grow with the text: copies of them are kept, to go back to.
void print_kept_states(const Explanation& e) {
    TextTable table("rr");
    table.row({"tokens", "f32"});
    for (const std::int64_t tokens : shown_contexts(config_of(e.model).context))
        table.row({std::to_string(tokens), memory_text(static_cast<double>(e.cost.kept_state_bytes(tokens)))});
    const std::uint64_t one = e.cost.kept_state_bytes(1) / STATE_RECENT;
    print(format("States: {} bytes, whatever the length; kept for the last {} tokens and every {}th", one, STATE_RECENT,
                 STATE_EVERY),
          table);
}

std::string keys_text(const CostModel& cost, std::int64_t tokens) {
    return memory_text(static_cast<double>(cost.cache_bytes(tokens) - cost.kept_state_bytes(tokens)));
}

TextTable cache_table(const Explanation& e) {
    const ModelConfig& c = config_of(e.model);
    std::vector<DType> types{DType::f16, DType::f32};
    if (can_quantize_cache(c) && e.model.info().attends(AttentionKind::self))
        types.insert(types.end(), {DType::q8_0, DType::q4_0});
    std::vector<std::string> heading{"tokens"};
    std::vector<CostModel> costs;
    for (const DType type : types) {
        costs.push_back(e.cost.with_cache(type));
        heading.push_back(format("{}, b = {:.5g}", name_of(type), value_of('b', costs.back().values())));
    }
    TextTable table(std::string(heading.size(), 'r'));
    table.row(heading);
    for (const std::int64_t tokens : shown_contexts(c.context)) {
        std::vector<std::string> row{std::to_string(tokens)};
        for (const CostModel& cost : costs) row.push_back(keys_text(cost, tokens));
        table.row(row);
    }
    return table;
}

void print_cache(const Explanation& e) {
    const ModelConfig& c = config_of(e.model);
    if (c.state_space) print_kept_states(e);
    if (c.state_space && c.attending.empty()) return;
    const TextTable table = cache_table(e);
    const std::string own = std::string(c.recurrent ? "States of recurrent layers: " : "Keys and values: ") +
                            e.cost.cache_per_token().text() + " bytes per token";
    print(is_encoder_decoder(e) ? own + " of the decoder, " + e.cost.cache_per_token(AttentionKind::cross).text() +
                                      " + " + e.cost.cache_per_token(AttentionKind::encoder).text() +
                                      " per source token (for cross-attention + for the encoder); with equal lengths:"
          : c.recurrent ? own + ", always f32"
                        : own + ", " + keys_text(e.cost, 1) + " in " + name_of(e.cache),
          table);
    if (!c.windows.empty()) print_line("  a window reduces FLOP, not memory: all keys are kept");
    if (c.kv_heads < c.heads)
        print_line("  {} key-value head{} for {} heads: 1/{} of the memory of multi-head attention", c.kv_heads,
                   c.kv_heads == 1 ? "" : "s", c.heads, c.heads / c.kv_heads);
}

void print_weights_not_stored(const Explanation& e) {
    TextTable table("rrrr");
    table.row({"tokens", "attention weights", "of one layer", "keys and values"});
    const auto layers = static_cast<double>(e.model.info().layers_of(AttentionKind::self).size() +
                                            e.model.info().layers_of(AttentionKind::encoder).size());
    for (const std::int64_t tokens : shown_contexts(config_of(e.model).context)) {
        const double bytes = attention_weight_bytes(e, tokens);
        table.row({std::to_string(tokens), memory_text(bytes), memory_text(bytes / layers),
                   bytes_text(e.cost.cache_bytes(tokens) - e.cost.kept_state_bytes(tokens))});
    }
    print("Attention weights, never stored: " + attention_weight_bytes(e).text() +
              " bytes; stored instead: keys and values",
          table);
    print_line("  commands that show weights recompute them from queries, keys and one number per query and head");
}

void print_comparison(const Explanation& e) {
    const std::int64_t context = e.session.context();
    std::vector<std::int64_t> lengths{e.tokens};
    if (context != e.tokens) lengths.push_back(context);
    TextTable table(lengths.size() > 1 ? "llrrrrrr" : "llrrr");
    std::vector<std::string> over{"", ""}, heading{"", "FLOP of a layer"};
    for (const std::int64_t tokens : lengths) {
        over.insert(over.end(), {format("n = {}", tokens), "", ""});
        heading.insert(heading.end(), {"FLOP", "steps", "path"});
    }
    table.row(over), table.row(heading);
    const auto first = compared_layers(e, lengths.front()), last = compared_layers(e, lengths.back());
    for (std::size_t i = 0; i < first.size(); ++i) {
        std::vector<std::string> row{first[i].first.layer, first[i].first.flops.text()};
        for (const auto* all : lengths.size() > 1 ? std::vector{&first, &last} : std::vector{&first}) {
            const auto& [layer, flops] = (*all)[i];
            row.insert(row.end(), {count_text(flops), std::to_string(layer.sequential), std::to_string(layer.path)});
        }
        table.row(row);
    }
    print("Layers that mix n tokens of width d, without projections of single tokens", table);
    print_line("  steps: one after the other within a layer; path: steps between the first token and the last");
    print_line("  convolution: kernel {}, dilated; recurrent: one matrix [d, d]", convolution_kernel);
}

std::string arena_text(const Schedule& s) {
    return "lower bound " + bytes_text(s.live_bytes) + " (most bytes live at once); " + bytes_text(s.naive_bytes) +
           " without sharing";
}

void print_memory(const Explanation& e) {
    TextTable table("lrl");
    const auto row = [&](const std::string& part, std::uint64_t bytes, const std::string& note) {
        table.row({part, bytes_text(bytes), note});
    };
    for (const auto& [type, bytes] : weight_bytes(e.model)) row("weights " + type, bytes, "shared by all sessions");
    const SessionMemory m = e.session.memory();
    const ModelConfig& c = config_of(e.model);
    const std::string keys = std::string("keys and values ") + name_of(e.cache);
    const bool states = c.state_space || c.recurrent;
    const bool only_states = states && c.attending.empty() && c.cross_layers == 0;
    row(only_states ? "states f32"
        : states    ? "states f32, " + keys
                    : keys,
        m.cache, format("{} tokens of context", e.session.context()));
    row("other states", m.states, "tokens, step, tables");
    const auto intermediates = [&](const std::string& of, const Plan& plan) {
        row("intermediates, " + of, plan.arena_bytes(), arena_text(PlanAccess::schedule(plan)));
    };
    if (e.source) intermediates("encoder", e.session.encoder_plan(e.source_tokens));
    for (const std::int64_t rows : e.plans) intermediates(rows_text(rows), e.session.plan(rows));
    row("total", e.model.info().weight_bytes + m.cache + m.recorded + m.states + m.intermediates, "");
    print("Memory on the device", table);
    if (!only_states)
        print_line("  and {} of queries and log-sum-exp while attention is recorded (inspect, heads, demo, view)",
                   bytes_text(recording_bytes(e)));
}

// ---- the plan -------------------------------------------------------------------------------------------------------

// "matmul + residual (8), matmul + gelu_tanh (4)": counts over all layers.
std::string fused_text(const Plan& plan) {
    std::map<std::string, int> counts;
    for (const std::string& name : plan.fused()) ++counts[name.substr(name.rfind('.', name.find(" + ")) + 1)];
    return join(counts, ", ", [](const auto& one) { return format("{} ({})", one.first, one.second); });
}

void print_groups(const std::string& heading, const std::vector<DispatchGroup>& groups) {
    TextTable table("lllll");
    table.row({"", "operation", "kernel", "result", "workgroups"});
    for (const DispatchGroup& group : groups) {
        if (!group.name.empty())
            table.line(group.times > 1 ? format("{}  ({} times)", group.name, group.times) : group.name);
        const std::string margin = group.name.empty() ? "" : "  ";
        for (const DispatchLine& line : group.dispatches)
            table.row({line.barrier ? "•" : "", margin + line.what, line.kernel, line.result, line.grid});
    }
    print(heading, table);
}

std::string dispatches_text(const std::vector<Dispatch>& dispatches) {
    return format("{} dispatches, {} barriers", dispatches.size(),
                  std::ranges::count(dispatches, true, &Dispatch::barrier_before));
}

void print_plan(const std::string& of, const Plan& plan) {
    const Schedule& schedule = PlanAccess::schedule(plan);
    print_groups(format("Plan of {}: {} (•: barrier before this dispatch)", of, dispatches_text(schedule.dispatches)),
                 dispatch_groups(plan.graph(), schedule, schedule.dispatches));
    print_line("  fused: {}", plan.fused().empty() ? "nothing" : fused_text(plan));
}

// ---- training -------------------------------------------------------------------------------------------------------

void print_phases(const TrainingExplanation& e) {
    TextTable table("lrrrrrr");
    table.row({"", "calls", "FLOP", "share", "read", "written", "FLOP/byte"});
    const Cost all = e.total();
    const auto row = [&](const std::string& name, const std::string& calls, const Cost& c) {
        std::vector<std::string> cells = cost_cells(c, percent_text(c.flops, all.flops));
        cells.insert(cells.begin(), {name, calls});
        table.row(cells);
    };
    for (const PhaseFigures& phase : e.phases) {
        row(name_of(phase.phase), "", phase.total());
        for (const RunCost::OpCost& op : phase.ops) row("  " + op.op, std::to_string(op.calls), op.cost);
    }
    row("total", "", all);
    print("A step with one micro-batch", table);
    const double forward = e.phases[0].total().flops, both = forward + e.phases[1].total().flops;
    print_line("  forward and backward pass: {:.2f} times the FLOP of the forward pass, {} FLOP for each token",
               both / forward, count_text(both / static_cast<double>(e.settings.sequences * e.settings.rows)));
    print_line("  both are once for each micro-batch of a step, the update is once for the step");
}

void print_memory(const TrainingExplanation& e) {
    TextTable table("lrl");
    const auto row = [&](const std::string& part, std::uint64_t bytes, const std::string& note) {
        table.row({part, bytes_text(bytes), note});
    };
    row("parameters", e.memory.parameters, "f32");
    row("gradients", e.memory.gradients, "");
    row("optimiser", e.memory.optimizer, "");
    row("others", e.memory.others, "inputs of two steps, tables, numbers of the run");
    row("activations", e.memory.activations, arena_text(e.schedule()));
    row("total", e.memory.total(), "");
    print("Memory on the device", table);
}

void print_levels(const TrainingExplanation& e) {
    TextTable table("lrrl");
    table.row({"--recompute", "memory", "FLOP of both passes", ""});
    for (const RecomputeLevel& one : e.levels) {
        const std::int64_t blocks = one.recompute - 1;
        table.row({blocks < 0    ? "none"
                   : blocks == 0 ? "cheap"
                                 : format("{} block{}", blocks, blocks == 1 ? "" : "s"),
                   bytes_text(one.bytes), format("{:.2f} ×", one.flops / e.levels.front().flops),
                   one.recompute == e.settings.recompute ? "this step" : ""});
    }
    print("What the backward pass may recompute instead of keeping it", table);
}

void print_plan(const TrainingExplanation& e) {
    for (const PhaseFigures& one : e.phases) {
        const std::string of =
            one.phase == StepPhase::update ? "the update" : format("the {} pass", name_of(one.phase));
        print_groups(format("Plan of {}: {} dispatches, here by layer", of, one.dispatches), one.groups);
    }
    print_line("\n  together {}; fused: {}", dispatches_text(e.schedule().dispatches),
               e.plan.fused().empty() ? "nothing" : fused_text(e.plan));
}

// ---- all of it ------------------------------------------------------------------------------------------------------

void print_runs(const Explanation& e) {
    const Formula n = Formula::of("n"), m = Formula::of("m");
    const auto cache = [&](AttentionKind kind) { return e.cost.cache_per_token(kind); };
    if (!e.source) {
        const Formula keys = cache(AttentionKind::self) * n;
        print_work(e, format("A {} of n = {} tokens, in one run", e.token ? "prompt" : "text", e.tokens), e.prompt,
                   e.tokens, keys);
        if (e.token) print_work(e, format("The next token, with n = {} keys", e.tokens + 1), *e.token, 1, keys);
        return;
    }
    const Formula keys = cache(AttentionKind::self) * n + cache(AttentionKind::cross) * m;
    print_work(e,
               format("The encoder: {} of m = {} tokens, once", config_of(e.model).sees() ? "an image" : "a text",
                      e.source_tokens),
               *e.source, e.source_tokens, cache(AttentionKind::encoder) * m);
    const std::string runs = config_of(e.model).row_by_row ? format("in {} runs", e.tokens) : "in one run";
    print_work(e, format("The decoder: n = {} tokens, {}", e.tokens, runs), e.prompt, e.tokens, keys);
    print_work(e,
               format("The decoder: one token, with n = {} keys of the decoder and m = {} of the encoder", e.tokens + 1,
                      e.source_tokens),
               *e.token, 1, keys);
}

}  // namespace

void print_text(const TrainingExplanation& e) {
    print_line("{}: {}, {} parameters", e.name, e.config.architecture, exact_text(e.parameters));
    print_line("  micro-batches of {} sequences of {} tokens, {}, {}; {}", e.settings.sequences, e.settings.rows,
               e.settings.f16 ? "f16" : "f32", name_of(e.settings.optimizer), recomputed_text(e.settings.recompute));
    print_phases(e);
    print_memory(e);
    print_levels(e);
    print_plan(e);
}

void print_text(const Explanation& e) {
    print_sizes(e);
    print_parameters(e);
    print_runs(e);
    print_cache(e);
    if (!e.cost.attention_weights().zero()) print_weights_not_stored(e);
    print_comparison(e);
    print_memory(e);
    const ModelConfig& c = config_of(e.model);
    if (e.positions) print_positions(*e.positions, c.state_space || c.recurrent);
    if (e.source) print_plan("the encoder", e.session.encoder_plan(e.source_tokens));
    for (const std::int64_t rows : e.plans) print_plan(rows_text(rows), e.session.plan(rows));
}

}  // namespace vantage::cli
