#include "runtime/train/step_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/schedule.h"

namespace vantage::internal {

std::uint64_t plan_bytes(const Graph& graph, const Caps& caps) {
    Graph fused = graph.copy();
    fuse(fused);
    std::uint64_t bytes = make_schedule(fused, caps).arena_bytes;
    for (const Value& value : fused.values())
        if (value.kind == ValueKind::state || value.kind == ValueKind::constant || value.kind == ValueKind::input)
            bytes += value.type.bytes();
    return bytes;
}

namespace {

/// The smallest change with which a step fits, for a message: more recomputing, else fewer sequences at a time, else
/// shorter ones.
std::string what_would_fit(const ModelConfig& config, TrainingSettings settings, const Caps& caps, std::uint64_t memory,
                           const Graph::WeightTypes& types) {
    std::uint64_t bytes = 0;
    const auto fits = [&](std::int64_t TrainingSettings::*changed, std::int64_t value) {
        TrainingSettings tried = settings;
        tried.*changed = value;
        if (changed == &TrainingSettings::sequences) {  // the step has as many in all
            const std::int64_t all = settings.sequences * settings.micro_batches;
            tried.micro_batches = (all + value - 1) / value;
            tried.slots = settings.slots / settings.micro_batches * tried.micro_batches;
        }
        bytes = plan_bytes(build_training_step(config, tried, types).graph, caps);
        return bytes <= memory;
    };
    const std::int64_t most = build_training_step(config, settings, types).max_recompute;
    if (settings.recompute < most && fits(&TrainingSettings::recompute, most)) {
        std::int64_t too_little = settings.recompute, enough = most;
        while (too_little + 1 < enough) {
            const std::int64_t middle = (too_little + enough) / 2;
            (fits(&TrainingSettings::recompute, middle) ? enough : too_little) = middle;
        }
        static_cast<void>(fits(&TrainingSettings::recompute, enough));
        return format("it takes {} if {} are recomputed", bytes_text(bytes),
                      enough == 1 ? "cheap activations" : format("the activations of {} blocks", enough - 1));
    }
    const char* recomputed = settings.recompute < most ? ", all activations recomputed," : "";
    settings.recompute = most;
    if (fits(&TrainingSettings::sequences, 1)) {
        std::int64_t few = 1, too_many = settings.sequences;
        while (few + 1 < too_many) {
            const std::int64_t middle = (few + too_many) / 2;
            (fits(&TrainingSettings::sequences, middle) ? few : too_many) = middle;
        }
        static_cast<void>(fits(&TrainingSettings::sequences, few));
        return format("it takes {}{} with {} of the {} sequences at a time: accumulate more micro-batches",
                      bytes_text(bytes), recomputed, few, settings.sequences);
    }
    const std::int64_t all = std::exchange(settings.sequences, 1);
    settings.micro_batches *= all, settings.slots *= all;
    const bool reads_text = settings.source_rows == settings.rows;
    for (settings.rows /= 2; settings.rows >= 16; settings.rows /= 2) {
        if (reads_text) settings.source_rows = settings.rows;
        if (fits(&TrainingSettings::rows, settings.rows))
            return format("it takes {}{} with one sequence of {} tokens at a time", bytes_text(bytes), recomputed,
                          settings.rows);
    }
    return config.lora ? "a smaller model takes less, or weights in fewer bits"
                       : "the model's weights, gradients and optimiser alone are too large: train adapters (LoRA)";
}

}  // namespace

TrainingStep step_within(const ModelConfig& config, TrainingSettings& settings, const Caps& caps, std::uint64_t memory,
                         const Graph::WeightTypes& types) {
    const bool chooses = settings.recompute < 0;
    settings.recompute = std::max<std::int64_t>(settings.recompute, 0);
    for (;;) {
        TrainingStep step = build_training_step(config, settings, types);
        settings.recompute = std::min(settings.recompute, step.max_recompute);
        const std::uint64_t bytes = plan_bytes(step.graph, caps);
        if (bytes <= memory) return step;
        if (!chooses || settings.recompute == step.max_recompute)
            throw Error(ErrorKind::out_of_memory,
                        format("training: a step takes {}, but {} may be used; {}", bytes_text(bytes),
                               bytes_text(memory), what_would_fit(config, settings, caps, memory, types)));
        ++settings.recompute;
    }
}

}  // namespace vantage::internal
