// The beginning of a run: the step of each sequence moves on to its next rows.
//   position += valid;  valid = min(rows, end - position);  keys = position + valid
#include "runtime/ops/begin_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/ops/step.h"
#include "shaders/params/begin_step.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::begin_step {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_step(call, 0);
    call.require(call.attrs.integer("rows") > 0, "a run of no rows never comes to an end");
    return {call.in(step_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::int64_t b = 0; b < sequences_of(call, 0); ++b) {
        const std::int64_t position = word(in[step_], STEP_POSITION, b) + word(in[step_], STEP_VALID, b),
                           rest = word(in[step_], STEP_END, b) - position;
        const std::int64_t valid = std::clamp<std::int64_t>(rest, 0, call.attrs.integer("rows"));
        double* words = out[0].data.data() + sequence_of(in[0], b) * STEP_WORDS;
        words[STEP_POSITION] = static_cast<double>(position);
        words[STEP_VALID] = static_cast<double>(valid);
        words[STEP_KEYS] = static_cast<double>(position + valid);
    }
}

Cost cost(const OpCall&) { return {4, 12, 12}; }

LaunchPlan launch(const OpCall& call, const Caps&) {
    Launch l{.shader = "begin_step", .operands = {update(0)}, .groups = {u32(sequences_of(call, 0)), 1, 1}};
    return l.with(params::BeginStepParams{.rows = u32(call.attrs.integer("rows"))});
}

std::vector<Case> cases() {
    const auto step = [](double position, double valid, double end) {
        return step_of_case({{STEP_POSITION, position},
                             {STEP_VALID, valid},
                             {STEP_END, end},
                             {STEP_KEYS, 7},
                             {STEP_LIMIT, 99},
                             {31, 4e9}});
    };
    const auto of = [&](const char* name, const Case::Input& steps) {
        return Case{.name = name, .attrs = {{"rows", 16}}, .inputs = {steps}};
    };
    return {
        of("first chunk", step(0, 0, 37)),
        of("last chunk", step(16, 16, 37)),
        of("one token", step(32, 5, 38)),
        of("nothing left", step(36, 1, 37)),
        of("end behind", step(40, 3, 37)),
        of("3 sequences", steps_of_case({step(16, 16, 37), step(4, 1, 5), step(0, 0, 1)})),
        of("3 sequences in reverse", reversed_lanes(steps_of_case({step(16, 16, 37), step(4, 1, 5), step(0, 0, 1)})))};
}

}  // namespace

const OpDef begin_step_op =
    define_op("begin_step", "position += valid; valid = min(rows, end - position); keys = position + valid",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_state,
              {.step = step_, .alias = {step_}});

}  // namespace internal::ops::begin_step

std::vector<std::int32_t> Step::words() const {
    for (const std::int64_t number : {position, valid, end, limit, sampling.top_k})
        if (!std::in_range<std::uint32_t>(number)) throw usage_error("step: {} is not a number of 32 bits", number);
    for (const double number : {sampling.temperature, sampling.top_p, sampling.min_p, repeat_penalty})
        if (!std::isfinite(number) || number < 0) throw usage_error("step: {:g} is not a number from 0 on", number);
    std::vector<std::int32_t> words(size);
    const auto put = [&](int word, std::uint32_t value) { at(words, word) = std::bit_cast<std::int32_t>(value); };
    const auto put_real = [&](int word, double value) {
        put(word, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    };
    put(STEP_POSITION, u32(position));
    put(STEP_VALID, u32(valid));
    put(STEP_END, u32(end));
    put(STEP_KEYS, u32(position + valid));
    put(STEP_DONE, done ? 1 : 0);
    put(STEP_LIMIT, u32(limit));
    put(STEP_SEED_LOW, static_cast<std::uint32_t>(seed));
    put(STEP_SEED_HIGH, static_cast<std::uint32_t>(seed >> 32));
    put_real(STEP_TEMPERATURE, sampling.temperature);
    put(STEP_TOP_K, u32(sampling.top_k));
    put_real(STEP_TOP_P, sampling.top_p);
    put_real(STEP_MIN_P, sampling.min_p);
    put_real(STEP_PENALTY, repeat_penalty);
    put(STEP_BIASED, biased ? 1 : 0);
    const std::size_t ends = std::min<std::size_t>(end_tokens.size(), 8);
    put(STEP_END_TOKENS, u32(ends));
    std::copy_n(end_tokens.begin(), ends, words.begin() + STEP_END_TOKEN);
    return words;
}
static_assert(Step::size == STEP_WORDS);

Tensor begin_step(Tensor step, std::int64_t rows, SourceLocation where) {
    return add_call(step.graph(), begin_step_op, {step}, {{"rows", rows}}, where)[0];
}

}  // namespace vantage
