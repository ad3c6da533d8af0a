// The beginning of a run: the step moves on to the sequence's next rows.
//   position += valid;  valid = min(rows, end - position);  keys = position + valid
#include "shaders/params/begin_step.h"
#include "runtime/base/log.h"
#include "runtime/graph/op.h"
#include "runtime/ops/step.h"
#include "vantage/ops.h"

namespace vantage {

namespace ops::begin_step {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_step(call, 0);
    call.require(call.attrs.integer("rows") > 0, "a run of no rows never comes to an end");
    return {step_type()};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t position = word(in[0], STEP_POSITION) + word(in[0], STEP_VALID),
                       rest = word(in[0], STEP_END) - position;
    const std::int64_t valid = std::clamp<std::int64_t>(rest, 0, call.attrs.integer("rows"));
    out[0][STEP_POSITION] = static_cast<double>(position);
    out[0][STEP_VALID] = static_cast<double>(valid);
    out[0][STEP_KEYS] = static_cast<double>(position + valid);
}

Cost cost(const OpCall&) { return {4, 12, 12}; }

LaunchPlan launch(const OpCall& call, const Caps&) {
    Launch l{.shader = "begin_step", .operands = {update(0)}};
    return l.with(params::BeginStepParams{.rows = static_cast<std::uint32_t>(call.attrs.integer("rows"))});
}

std::vector<Case> cases() {
    const std::int64_t rows = 16;
    const auto of = [&](const char* name, double position, double valid, double end) {
        return Case{.name = name,
                    .attrs = {{"rows", rows}},
                    .inputs = {step_of_case({{STEP_POSITION, position},
                                             {STEP_VALID, valid},
                                             {STEP_END, end},
                                             {STEP_KEYS, 7},
                                             {STEP_LIMIT, 99},
                                             {31, 4e9}})}};
    };
    return {of("first chunk", 0, 0, 37), of("last chunk", 16, 16, 37), of("one token", 32, 5, 38),
            of("nothing left", 36, 1, 37), of("end behind", 40, 3, 37)};
}

}  // namespace
}  // namespace ops::begin_step

extern const OpDef begin_step_op;
const OpDef begin_step_op = {
    .name = "begin_step",
    .summary = "position += valid; valid = min(rows, end - position); keys = position + valid",
    .operands = {"step"},
    .infer = ops::begin_step::infer,
    .reference = ops::begin_step::reference,
    .cost = ops::begin_step::cost,
    .kernels = {{.name = "plain", .launch = ops::begin_step::launch}},
    .cases = ops::begin_step::cases,
    .alias = {0, -1, -1, -1},
};

Tensor begin_step(Tensor step, std::int64_t rows, Where where) {
    return step.graph().call(begin_step_op, {step}, {{"rows", rows}}, where)[0];
}

}  // namespace vantage
