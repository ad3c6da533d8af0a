// The states that state-space layers keep of a sequence, as their references see them: lib/kept_states.glsl.
#pragma once

#include "runtime/ops/step.h"
#include "shaders/params/kept_states.h"

namespace vantage::internal {

/// The runs of a recurrent op's lanes. Without a step each lane begins with its own state and leaves one; with a step
/// states are rows of a table.
class KeptStates {
public:
    /// `state` is the operand that is the table, `step` that of the run.
    KeptStates(const OpCall& call, int state, int step)
        : step_(step), cached_(call.has(step)), kept_(cached_ ? rows_of_each(call, state, step) : 1) {}

    std::int64_t kept() const { return kept_; }
    /// Rows of a lane that are no padding.
    std::int64_t valid(std::span<const HostTensor> in, std::int64_t lane, std::int64_t rows) const {
        return cached_ ? std::min(word(at(in, step_), STEP_VALID, lane), rows) : rows;
    }
    /// The row of the state that a lane begins with; -1 for zeros.
    std::int64_t first(std::span<const HostTensor> in, std::int64_t lane) const {
        if (!cached_) return lane;
        const std::int64_t position = word(at(in, step_), STEP_POSITION, lane);
        return position == 0 ? -1 : row(in, lane, position);
    }
    /// The row for the state after `done` of `valid` rows; -1 where it is not kept.
    std::int64_t after(std::span<const HostTensor> in, std::int64_t lane, std::int64_t done, std::int64_t valid) const {
        if (!cached_) return done == valid ? lane : -1;
        const std::int64_t position = word(at(in, step_), STEP_POSITION, lane) + done;
        const bool wanted = done > 0 && (done + STATE_RECENT > valid || position % STATE_EVERY == 0);
        return wanted ? row(in, lane, position) : -1;
    }

private:
    std::int64_t row(std::span<const HostTensor> in, std::int64_t lane, std::int64_t position) const {
        const bool regular = position % STATE_EVERY == 0;
        const std::int64_t own = regular ? position / STATE_EVERY - 1 : kept_ - STATE_RECENT + position % STATE_RECENT;
        return regular && own >= kept_ - STATE_RECENT ? -1 : sequence_of(at(in, step_), lane) * kept_ + own;
    }

    int step_;
    bool cached_;
    std::int64_t kept_;
};

/// Operand `state` must be a table f32 [sequences * rows, …] of more than STATE_RECENT - 1 rows each of this shape.
inline void require_kept_states(const OpCall& call, int state, int step, const Shape& one) {
    const TensorType& type = call.in(state);
    call.require(type.dtype == DType::f32 && type.shape.rank() == one.rank() + 1 &&
                     std::ranges::equal(type.shape.sizes().subspan(1), one.sizes()),
                 operand_is(call, state) + ", but its rows must be f32 " + one.text());
    call.require(rows_of_each(call, state, step) >= STATE_RECENT,
                 operand_is(call, state) + format(", but a sequence has at least {} rows", STATE_RECENT));
}

}  // namespace vantage::internal
