// The step state as ops see it: shaders/params/step.h has its words.
#pragma once

#include <bit>
#include <initializer_list>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/step.h"

namespace vantage::internal {

/// The number of sequences in a run: the rows of its step, or one.
inline std::int64_t sequences_of(const OpCall& call, int step) {
    return call.has(step) && call.in(step).shape.rank() == 2 ? call.in(step).shape[0] : 1;
}

/// Operand `i`, unless absent, must be the step of one or of several sequences.
inline void require_step(const OpCall& call, int i) {
    constexpr std::int64_t max_sequences = 65535;  // workgroups that every device runs
    if (!call.has(i)) return;
    const TensorType& type = call.in(i);
    const int rank = type.shape.rank();
    call.require(
        (rank == 1 || rank == 2) && type.shape[-1] == STEP_WORDS && type.dtype == DType::u32,
        operand_is(call, i) + format(", but a step state is u32 [{}], or [sequences, {}]", STEP_WORDS, STEP_WORDS));
    call.require(rank == 1 || (type.shape[0] >= 1 && type.shape[0] <= max_sequences),
                 operand_is(call, i) + format(", but a run has 1 to {} sequences", max_sequences));
}

/// The rows of each sequence: the first dimension of operand `i` divided by the number of sequences.
inline std::int64_t rows_of_each(const OpCall& call, int i, int step) {
    const std::int64_t sequences = sequences_of(call, step), rows = call.in(i).shape[0];
    call.require(rows % sequences == 0,
                 format("{}, but {} sequences have the same number of rows each", operand_is(call, i), sequences));
    return rows / sequences;
}

/// Whether operand `i` is [n] with a step of one sequence, [sequences, n] with a step of several.
inline bool is_row_of_each(const OpCall& call, int i, int step) {
    const Shape &shape = call.in(i).shape, &steps = call.in(step).shape;
    return shape.rank() == steps.rank() && (shape.rank() == 1 || shape[0] == steps[0]);
}

/// The sequence that a lane of a run works for, in a reference.
inline std::int64_t sequence_of(const HostTensor& step, std::int64_t lane) {
    return static_cast<std::uint32_t>(lane + static_cast<std::int64_t>(step[lane * STEP_WORDS + STEP_SHIFT]));
}
/// Word `i` of the step of a lane's sequence in a reference.
inline std::int64_t word(const HostTensor& step, int i, std::int64_t lane = 0) {
    return static_cast<std::int64_t>(step[sequence_of(step, lane) * STEP_WORDS + i]);
}
/// A word that holds the bits of a float.
inline float number(const HostTensor& step, int i, std::int64_t lane = 0) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word(step, i, lane)));
}
inline double bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// A step for a case: the words given, 0 elsewhere.
inline Case::Input step_of_case(std::initializer_list<std::pair<int, double>> words) {
    std::vector<double> values(STEP_WORDS);
    for (const auto& [index, value] : words) at(values, index) = value;
    return filled_with(TensorType{Shape{STEP_WORDS}, DType::u32}, values);
}
/// A step with `valid` rows at `position`.
inline Case::Input step_of_case(std::int64_t position, std::int64_t valid) {
    const auto first = static_cast<double>(position), count = static_cast<double>(valid);
    return step_of_case(
        {{STEP_POSITION, first}, {STEP_VALID, count}, {STEP_END, first + count}, {STEP_KEYS, first + count}});
}
/// The steps of several sequences.
inline Case::Input steps_of_case(std::initializer_list<Case::Input> sequences) {
    Case::Input all{.type = TensorType{Shape{static_cast<std::int64_t>(sequences.size()), STEP_WORDS}, DType::u32},
                    .fill = Case::Fill::given};
    for (const Case::Input& one : sequences) all.given.insert(all.given.end(), one.given.begin(), one.given.end());
    return all;
}

/// The same steps for lanes that work for the sequences in reverse.
inline Case::Input reversed_lanes(Case::Input steps) {
    const std::int64_t lanes = steps.type->shape[0];
    for (std::int64_t lane = 0; lane < lanes; ++lane)
        at(steps.given, lane * STEP_WORDS + STEP_SHIFT) =
            static_cast<double>(static_cast<std::uint32_t>(lanes - 1 - 2 * lane));
    return steps;
}

}  // namespace vantage::internal
