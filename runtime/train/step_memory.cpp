#include "runtime/train/step_memory.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/schedule.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::internal {

namespace {
// Activations are in one buffer.
std::uint64_t largest_arena(const Caps& caps) { return std::min(caps.max_allocation, caps.max_buffer); }

StepMemory planned_memory(const TrainingStep& step, const Caps& caps) {
    Graph fused = step.graph.copy();
    fuse(fused);
    return memory_of(step, fused, make_schedule(fused, caps).arena_bytes);
}
bool fits_into(const StepMemory& m, const Caps& caps, std::uint64_t memory) {
    return m.activations <= largest_arena(caps) && m.total() <= memory;
}

std::string too_large(const StepMemory& m, const Caps& caps, std::uint64_t memory) {
    if (m.activations > largest_arena(caps))
        return format("the activations of a step take {}, more than {}, which is the driver's largest buffer",
                      bytes_text(m.activations), bytes_text(largest_arena(caps)));
    return format(
        "a step takes {} (parameters {}, gradients {}, optimiser {}, activations {}, others {}), but {} may be used",
        bytes_text(m.total()), bytes_text(m.parameters), bytes_text(m.gradients), bytes_text(m.optimizer),
        bytes_text(m.activations), bytes_text(m.others), bytes_text(memory));
}

/// The smallest change with which a step fits, for a message: more recomputing, else fewer sequences at a time, else
/// shorter ones.
std::string what_would_fit(const ModelConfig& config, TrainingSettings settings, const Caps& caps, std::uint64_t memory,
                           const Graph::WeightTypes& types) {
    using Member = std::int64_t TrainingSettings::*;
    const std::int64_t all = settings.sequences * settings.micro_batches,
                       slots = settings.slots / settings.micro_batches;
    const bool reads_text = settings.source_rows == settings.rows;
    const auto memory_with = [&](Member changed, std::int64_t value) {
        TrainingSettings tried = settings;
        tried.*changed = value;
        tried.micro_batches = (all + tried.sequences - 1) / tried.sequences;  // the step has as many sequences
        tried.slots = slots * tried.micro_batches;
        if (reads_text) tried.source_rows = tried.rows;
        return planned_memory(build_training_step(config, tried, types), caps);
    };
    const auto fits_with = [&](Member changed, std::int64_t value) {
        return fits_into(memory_with(changed, value), caps, memory);
    };
    // The value next to `too_much` that fits, between it and `least`, which fits.
    const auto nearest = [&](Member changed, std::int64_t too_much, std::int64_t least) {
        while (std::abs(too_much - least) > 1) {
            const std::int64_t middle = (too_much + least) / 2;
            (fits_with(changed, middle) ? least : too_much) = middle;
        }
        return std::pair(least, bytes_text(memory_with(changed, least).total()));
    };
    const std::int64_t most = build_training_step(config, settings, types).max_recompute;
    if (settings.recompute < most && fits_with(&TrainingSettings::recompute, most)) {
        const auto [value, bytes] = nearest(&TrainingSettings::recompute, settings.recompute, most);
        return format("it takes {} if {} are recomputed", bytes,
                      value == 1 ? "cheap activations" : format("the activations of {} blocks", value - 1));
    }
    const char* recomputed = settings.recompute < most ? ", all activations recomputed," : "";
    settings.recompute = most;
    if (settings.sequences > 1 && fits_with(&TrainingSettings::sequences, 1)) {
        const auto [value, bytes] = nearest(&TrainingSettings::sequences, settings.sequences, 1);
        return format("it takes {}{} with {} of the {} sequences at a time: accumulate {} micro-batches", bytes,
                      recomputed, value, settings.sequences, (all + value - 1) / value);
    }
    settings.sequences = 1;
    constexpr std::int64_t shortest = 16;
    if (!config.is_vision() && settings.rows > shortest && fits_with(&TrainingSettings::rows, shortest)) {
        const auto [value, bytes] = nearest(&TrainingSettings::rows, settings.rows, shortest);
        return format("it takes {}{} with one sequence of {} tokens at a time", bytes, recomputed, value);
    }
    return config.lora ? "a smaller model takes less, or weights in fewer bits"
                       : "a smaller model takes less; so do adapters (LoRA) of a model that is fine-tuned";
}

// The least recomputing with which a step fits, where more takes less memory; the most if none does.
std::int64_t least_recompute(const ModelConfig& config, TrainingSettings settings, std::int64_t most, const Caps& caps,
                             std::uint64_t memory, const Graph::WeightTypes& types) {
    const auto fits = [&](std::int64_t level) {
        settings.recompute = level;
        return fits_into(planned_memory(build_training_step(config, settings, types), caps), caps, memory);
    };
    std::int64_t too_little = settings.recompute, enough = most;
    if (enough - too_little > 1 && !fits(most) && !fits(--enough)) return most;  // the last may save nothing
    while (enough - too_little > 1) {
        const std::int64_t middle = (too_little + enough) / 2;
        (fits(middle) ? enough : too_little) = middle;
    }
    return enough;
}

// The step in more micro-batches, of the next smaller number of sequences that divides those of the step. False: a
// micro-batch would have fewer than `min_tokens`.
bool take_fewer_sequences(TrainingSettings& settings, std::int64_t min_tokens) {
    const std::int64_t all = settings.sequences * settings.micro_batches,
                       slots = settings.slots / settings.micro_batches;
    std::int64_t fewer = settings.sequences - 1;
    while (fewer > 0 && all % fewer != 0) --fewer;
    if (fewer * std::max(settings.rows, settings.source_rows) < min_tokens || all / fewer > max_sequences) return false;
    settings.sequences = fewer, settings.micro_batches = all / fewer, settings.slots = slots * settings.micro_batches;
    return true;
}

}  // namespace

StepMemory memory_of(const TrainingStep& step, const Graph& fused, std::uint64_t activations) {
    StepMemory m{.activations = activations};
    for (const Value& value : step.parameters) m.parameters += value.type.bytes();
    for (const Value& value : fused.values()) {
        if (value.kind != ValueKind::state && value.kind != ValueKind::constant && value.kind != ValueKind::input)
            continue;
        const auto is = [&](const auto& name) { return value.name.starts_with(name("")); };
        std::uint64_t& part = is(train_names::gradient)                            ? m.gradients
                              : is(train_names::mean) || is(train_names::variance) ? m.optimizer
                                                                                   : m.others;
        part += value.type.bytes();
    }
    m.others -= m.parameters;  // they are states, too
    return m;
}

TrainingStep step_within(const ModelConfig& config, TrainingSettings& settings, const Caps& caps, std::uint64_t memory,
                         const Graph::WeightTypes& types, bool divide) {
    constexpr std::int64_t min_tokens = 1024;  // of a micro-batch, before more is recomputed instead
    const bool chooses = settings.recompute < 0;
    // Not where the loss depends on what a micro-batch has.
    divide = divide && config.towers.empty() && settings.load_balance == 0 && !settings.custom_loss;
    settings.recompute = std::max<std::int64_t>(settings.recompute, 0);
    for (;;) {
        TrainingStep step = build_training_step(config, settings, types);
        settings.recompute = std::min(settings.recompute, step.max_recompute);
        const StepMemory needed = planned_memory(step, caps);
        if (fits_into(needed, caps, memory)) return step;
        const bool recomputes = chooses && settings.recompute < step.max_recompute;
        if (divide && take_fewer_sequences(settings, recomputes ? min_tokens : 1)) continue;
        if (!recomputes)
            throw Error(ErrorKind::out_of_memory, format("training: {}; {}", too_large(needed, caps, memory),
                                                         what_would_fit(config, settings, caps, memory, types)));
        settings.recompute = least_recompute(config, settings, step.max_recompute, caps, memory, types);
    }
}

}  // namespace vantage::internal
