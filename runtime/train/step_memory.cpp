#include "runtime/train/step_memory.h"

#include <algorithm>

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

TrainingStep step_within(const ModelConfig& config, TrainingSettings& settings, const Caps& caps, std::uint64_t memory,
                         const Graph::WeightTypes& types) {
    const bool chooses = settings.recompute < 0;
    settings.recompute = std::max<std::int64_t>(settings.recompute, 0);
    for (;;) {
        TrainingStep step = build_training_step(config, settings, types);
        settings.recompute = std::min(settings.recompute, step.max_recompute);
        const std::uint64_t bytes = plan_bytes(step.graph, caps);
        if (bytes <= memory) return step;
        const bool most = settings.recompute == step.max_recompute;
        if (!chooses || most)
            throw Error(
                ErrorKind::out_of_memory,
                format("training: a step takes {}, but {} may be used: {}", bytes_text(bytes), bytes_text(memory),
                       most ? "shorter or fewer sequences take less" : "recompute more activations"));
        ++settings.recompute;
    }
}

}  // namespace vantage::internal
