// The step state as ops see it: shaders/params/step.h has its words.
#pragma once

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

#include "runtime/ops/checks.h"
#include "shaders/params/step.h"

namespace vantage {

inline TensorType step_type() { return {Shape{STEP_WORDS}, DType::u32}; }

/// Operand `i`, where it is there, has to be a step state.
inline void require_step(const OpCall& call, int i) {
    if (call.has(i) && call.in(i) != step_type())
        call.fail(operand_is(call, i) + ", but a step state is " + step_type().text());
}

/// Word `i` of a step in a reference.
inline std::int64_t word(const HostTensor& step, int i) { return static_cast<std::int64_t>(step[i]); }
/// A word that holds the bits of a float.
inline float number(const HostTensor& step, int i) { return std::bit_cast<float>(static_cast<std::uint32_t>(step[i])); }
inline double bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// A step for a case: the words given, 0 elsewhere.
inline Case::Input step_of_case(std::initializer_list<std::pair<int, double>> words) {
    std::vector<double> values(STEP_WORDS);
    for (const auto& [index, value] : words) values[static_cast<std::size_t>(index)] = value;
    return {.type = step_type(), .fill = Case::Fill::given, .given = values};
}
/// The usual one: `valid` rows at `position`.
inline Case::Input step_of_case(std::int64_t position, std::int64_t valid) {
    const auto first = static_cast<double>(position), count = static_cast<double>(valid);
    return step_of_case(
        {{STEP_POSITION, first}, {STEP_VALID, count}, {STEP_END, first + count}, {STEP_KEYS, first + count}});
}

}  // namespace vantage
