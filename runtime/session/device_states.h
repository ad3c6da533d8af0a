// The memory of sequences on the device: tokens, steps (shaders/params/step.h), caches, recorded rows, masks. Each
// sequence has a slot of its own in every state; a run addresses slots by its lanes' map, which is part of the steps.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/session/sequence_state.h"
#include "shaders/params/step.h"
#include "vantage/graph.h"
#include "vantage/session.h"

namespace vantage::internal {

/// The tokens and steps of a model's graph: its own, or an encoder–decoder's encoder's.
enum class StepOf : std::uint8_t { own, source };

class DeviceStates : NotCopied {
public:
    /// Allocates every state and constant of the graphs, which are those for all slots; the weights are the model's.
    DeviceStates(const Model& model, std::span<const Graph> graphs, std::int64_t context, bool guard);
    ~DeviceStates();

    const std::shared_ptr<Bindings>& bindings() const { return bindings_; }
    gpu::DeviceState& device() const { return device_; }
    const Model& model() const { return model_; }
    const gpu::Buffer& buffer(const std::string& name) const { return bindings_->buffers.at(name); }
    bool has(const std::string& name) const { return bindings_->buffers.count(name) != 0; }
    /// Without the intermediates.
    SessionMemory memory() const;

    // Only while nothing runs:
    /// Sets which slot each lane of the runs to come works for.
    void map_lanes(StepOf of, std::span<const std::size_t> slots);
    /// The sequence continues at its `processed` tokens and has `left` more to run; 0 with `done` draws nothing.
    void write_step(std::size_t slot, const SequenceState& s, std::int64_t left, bool done);
    void write_tokens(std::size_t slot, const SequenceState& s);
    void write_source(std::size_t slot, const SequenceState& s);
    /// The encoder runs none of the sequence's source.
    void skip_source(std::size_t slot);
    /// A step but for its lane, to write it back as it was.
    using SavedStep = std::array<std::uint32_t, STEP_WORDS>;
    SavedStep read_step(std::size_t slot) const;
    void restore_step(std::size_t slot, const SavedStep& saved);
    /// While a sequence is held, runs have no rows of it, whatever waits. `hold` and `release` take turns; write_step
    /// releases, too.
    void hold(std::size_t slot);
    void release(std::size_t slot);
    void write_pixels(std::span<const float> pixels);
    /// Makes the set of tokens that the repetition penalty is for those that have run.
    void write_seen(std::size_t slot, const SequenceState& s);
    /// What is added to the logits of a sequence whose sampling has a bias: what it says, less the penalties of drawn
    /// tokens.
    /// False if no token is left that could be drawn.
    bool write_bias(std::size_t slot, const SequenceState& s);
    /// Writes 1 and 0 for every feature of every head.
    void write_head_mask(std::span<const Graph> graphs, std::span<const HeadId> masked);
    /// Features of a head's output, of a graph with head_shift.
    std::int64_t head_features(const Graph& graph, const HeadId& head) const;
    void write_head_shift(const Graph& graph, const HeadShift& shift);

    // At any time:
    /// Tokens that the device knows of a sequence, drawn ones included; and one of them.
    std::uint32_t known_tokens(std::size_t slot) const;
    /// Whether the sequence ended because its logits were not finite.
    bool no_answer(std::size_t slot) const;
    std::int32_t token(std::size_t slot, std::size_t position) const;
    /// The position behind the rows that have run of it.
    std::int64_t reached(std::size_t slot) const;
    /// The sequence draws no more.
    void end(std::size_t slot);

private:
    std::uint32_t* step(StepOf of, std::size_t slot) const;
    std::byte* integers(const char* name, std::size_t slot) const;
    std::uint64_t seen_bytes() const;

    Model model_;
    gpu::DeviceState& device_;
    std::int64_t context_;
    std::shared_ptr<Bindings> bindings_ = std::make_shared<Bindings>();
    gpu::Buffer step_, tokens_, source_step_;
    std::vector<std::uint32_t> held_ends_;  // of held sequences: their step's end
};

}  // namespace vantage::internal
