#include "cli/explain/explain_training.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "cli/shared/commands.h"
#include "cli/shared/step_options.h"
#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/exec/plan_access.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/op_def.h"
#include "runtime/graph/schedule.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/model_weights.h"
#include "runtime/train/parameter_updates.h"
#include "runtime/train/trainer_settings.h"
#include "runtime/train/training_data.h"

namespace vantage::cli {

namespace {

ModelConfig chosen_config(const TrainingChoice& c) {
    if (!c.config.empty()) return parse_trained_config(read_file(c.config, 16 << 20), c.config);
    const ModelOrigin origin = ModelOrigin::from_folder(model_folder());
    if (!origin.adapters().empty())
        throw usage_error("explain: --train is for whole models, and {} has adapters: give -m {}", model_folder(),
                          origin.folder());
    ModelConfig config = origin.config();
    static_cast<void>(origin.weights(config, 0));  // notes which optional weights the folder has
    return config;
}

TrainingSettings chosen_settings(const ModelConfig& config, const TrainingChoice& c) {
    const Task task = task_of(config);
    const std::int64_t all = config.context,
                       rows = c.context > 0        ? c.context
                              : config.is_vision() ? all
                                                   : std::min(all, max_default_context),
                       sequences = c.sequences > 0 ? c.sequences : std::max<std::int64_t>(max_micro_tokens / rows, 1);
    if (rows > all) throw usage_error("explain: sequences of {} tokens, but the model has {} positions", rows, all);
    if (config.is_vision() && rows != all)
        throw usage_error("explain: sequences of {} tokens, but an image has {}", rows, all);
    if (task == Task::pairs && sequences < 2)
        throw usage_error("explain: --batch is 1, but pairs are compared with others: at least 2");
    if (c.precision == Precision::int8) throw usage_error("explain: --train is in f32 or f16, not in int8");
    const TrainOptions defaults;
    TrainingSettings settings{.sequences = sequences,
                              .rows = rows,
                              .source_rows = source_rows_of(config, rows),
                              .recompute = recompute_named(c.recompute),
                              .slots = steps_ahead,
                              .load_balance = config.load_balance,
                              .f16 = c.precision == Precision::f16,
                              .rates = learning_rates(defaults.rate, defaults.steps)};
    set_optimizer(settings, optimizer_of(defaults));
    return settings;
}

// What dispatches call parameters, and the sums of their gradients.
std::map<std::string, std::string> shown_names(const TrainingStep& step) {
    std::map<std::string, std::string> names;
    for (const Value& parameter : step.parameters)
        names[parameter.name] = names[train_names::gradient(parameter.name)] = parameter.name;
    return names;
}

// The dispatches of a phase by layer, in the order in which layers begin, as layers run beside others. What is outside
// of layers comes before or after all of them.
std::vector<Dispatch> dispatches_of(StepPhase phase, const Plan& plan, const std::vector<StepPhase>& phases) {
    constexpr std::size_t behind = std::numeric_limits<std::size_t>::max();
    std::map<std::string, std::size_t> ranks;  // of layers, from 1
    std::vector<std::pair<std::size_t, Dispatch>> ranked;
    for (const Dispatch& dispatch : PlanAccess::schedule(plan).dispatches) {
        if (dispatch.node < 0 || at(phases, dispatch.node) != phase) continue;
        const std::string layer = layer_of(at(plan.graph().nodes(), dispatch.node).scope);
        std::size_t rank = ranks.empty() ? 0 : behind;
        if (!layer.empty()) rank = ranks.try_emplace(layer, ranks.size() + 1).first->second;
        ranked.emplace_back(rank, dispatch).second.barrier_before = false;
    }
    std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
    std::vector<Dispatch> dispatches;
    for (auto& [rank, dispatch] : ranked) dispatches.push_back(std::move(dispatch));
    return dispatches;
}

std::vector<PhaseFigures> phases_of_plan(const TrainingStep& step, const Plan& plan) {
    const Graph& graph = plan.graph();
    const std::vector<StepPhase> phases = phases_of(graph);
    std::vector<PhaseFigures> all;
    for (const StepPhase phase : {StepPhase::forward, StepPhase::backward, StepPhase::update}) {
        PhaseFigures& figures = all.emplace_back(PhaseFigures{.phase = phase});
        for (const int node : live_nodes(graph))
            if (at(phases, node) == phase) count_call(figures.ops, call_of(graph, at(graph.nodes(), node)));
        const std::vector<Dispatch> dispatches = dispatches_of(phase, plan, phases);
        figures.dispatches = dispatches.size();
        figures.groups = dispatch_groups(graph, PlanAccess::schedule(plan), dispatches, shown_names(step));
    }
    return all;
}

// A plan for each of them, without compiling it.
std::vector<RecomputeLevel> levels_of(const ModelConfig& config, TrainingSettings settings, const Caps& caps,
                                      std::int64_t blocks) {
    constexpr std::int64_t many_blocks = 128;  // each level is a step that is planned
    const std::int64_t parts = blocks > many_blocks ? 2 : 8;
    std::set<std::int64_t> shown{0, 1, settings.recompute};
    for (std::int64_t part = 1; part <= parts; ++part) shown.insert(1 + blocks * part / parts);
    std::vector<RecomputeLevel> levels;
    for (const std::int64_t level : shown) {
        throw_if_interrupted();
        settings.recompute = level;
        const TrainingStep step = build_training_step(config, settings);
        Graph fused = step.graph.copy();
        fuse(fused);
        RecomputeLevel& one = levels.emplace_back(
            RecomputeLevel{.recompute = level,
                           .flops = 0,
                           .bytes = memory_of(step, fused, make_schedule(fused, caps).arena_bytes).total()});
        const std::vector<StepPhase> phases = phases_of(fused);
        for (const int id : live_nodes(fused)) {
            const Node& node = at(fused.nodes(), id);
            if (at(phases, id) != StepPhase::update && node.op->cost != nullptr)
                one.flops += node.op->cost(call_of(fused, node)).flops;
        }
    }
    return levels;
}

}  // namespace

const char* name_of(StepPhase phase) {
    constexpr std::array names{"forward", "backward", "update"};
    return at(names, phase);
}

Cost PhaseFigures::total() const {
    Cost sum;
    for (const RunCost::OpCost& op : ops) sum += op.cost;
    return sum;
}

const Schedule& TrainingExplanation::schedule() const { return PlanAccess::schedule(plan); }

Cost TrainingExplanation::total() const {
    Cost sum;
    for (const PhaseFigures& phase : phases) sum += phase.total();
    return sum;
}

TrainingExplanation training_explanation(const Device& device, const TrainingChoice& choice) {
    const ModelConfig config = chosen_config(choice);
    TrainingSettings settings = chosen_settings(config, choice);
    const TrainingStep step = step_within(config, settings, device.caps(), device.memory_available() / 10 * 9);
    Plan plan = compile(step.graph, device);
    std::uint64_t parameters = 0;
    for (const Value& value : step.parameters) parameters += static_cast<std::uint64_t>(value.type.shape.elements());
    std::vector<PhaseFigures> phases = phases_of_plan(step, plan);
    const StepMemory memory = memory_of(step, plan.graph(), plan.arena_bytes());
    return {.name = choice.config.empty() ? model_folder() : choice.config,
            .config = config,
            .settings = settings,
            .parameters = parameters,
            .plan = std::move(plan),
            .phases = std::move(phases),
            .memory = memory,
            .levels = levels_of(config, settings, device.caps(), step.max_recompute - 1)};
}

}  // namespace vantage::cli
