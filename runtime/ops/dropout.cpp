// Dropout: y = x / (1 - probability), or 0, as a counted random number says. Srivastava et al., "Dropout: A Simple Way
// to Prevent Neural Networks from Overfitting" (2014); the division by 1 - probability keeps the mean of y that of x.
#include "runtime/ops/dropout.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/sampling.h"
#include "shaders/params/dropout.h"
#include "shaders/params/train.h"

namespace vantage::internal {

namespace ops::dropout {
namespace {

std::int64_t width_of(const OpCall& call) {
    const Shape& shape = call.in(x_).shape;
    return shape.rank() == 0 ? 1 : shape[-1];
}
std::int64_t rows_of(const OpCall& call) {
    return width_of(call) == 0 ? 0 : call.in(x_).shape.elements() / width_of(call);
}
double probability_of(const OpCall& call) { return call.attrs.number("probability"); }
// Numbers below this are dropped. The largest probability below 1 in double is above 1 - 2^-32.
std::uint32_t threshold_of(const OpCall& call) {
    return static_cast<std::uint32_t>(std::min(probability_of(call) * 0x1p32, 0x1p32 - 1));
}
std::array<std::uint32_t, 2> seed_of(const OpCall& call) {
    const auto seed = static_cast<std::uint64_t>(call.attrs.integer("seed"));
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    call.require(probability_of(call) >= 0 && probability_of(call) < 1,
                 format("probability is {:g}, but must be from 0 to below 1", probability_of(call)));
    call.require(call.attrs.integer("micro_batches", 1) >= 1, "micro_batches must be 1 or more");
    require_type(call, train_, {Shape{TRAIN_WORDS}, DType::f32});
    return {call.in(x_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const auto count_of = [&](int word) {
        return call.has(train_) ? static_cast<std::uint32_t>(in[train_][word]) : 0U;
    };
    const std::uint32_t micro_batch =
        count_of(TRAIN_STEP) * u32(call.attrs.integer("micro_batches", 1)) + count_of(TRAIN_MICRO);
    const double factor = 1 / (1 - probability_of(call));
    for (std::int64_t row = 0; row < rows_of(call); ++row)
        for (std::int64_t col = 0; col < width_of(call); ++col) {
            const auto drawn =
                philox({u32(row), u32(col / 4), u32(call.attrs.integer("site")), micro_batch}, seed_of(call));
            const std::int64_t i = row * width_of(call) + col;
            out[0][i] = (at(drawn, col % 4) < threshold_of(call) ? 0 : factor) * in[x_][i];
        }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 20.0 * static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const auto [seed_low, seed_high] = seed_of(call);
    Launch l{.shader = "dropout",
             .spec = params::DropoutConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call, x_)},
             .operands = {in(x_), in(train_), out(0)},
             .groups = element_grid(rows_of(call) * ceil_div(width_of(call), std::int64_t{4}), 1, caps)};
    return l.with(params::DropoutParams{.rows = u32(rows_of(call)),
                                        .width = u32(width_of(call)),
                                        .site = u32(call.attrs.integer("site")),
                                        .micro_batches = u32(call.attrs.integer("micro_batches", 1)),
                                        .threshold = threshold_of(call),
                                        .factor = static_cast<float>(1 / (1 - probability_of(call))),
                                        .seed_low = seed_low,
                                        .seed_high = seed_high});
}

// y is linear in x, with the same factors: dx is the dropout of dy.
std::vector<Tensor> gradient(const GradientCall& g) {
    return {add_call(g.gradients[0].graph(), dropout_op, {g.gradients[0], g.inputs[train_]}, g.call.attrs, g.where)[0],
            {}};
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& shape, double probability, std::int64_t site, double step,
                       double micro) {
        std::vector<double> words(TRAIN_WORDS);
        words[TRAIN_STEP] = step, words[TRAIN_MICRO] = micro;
        Case::Input train = list_of(DType::f32, words);
        train.fixed_type = true;
        return Case{.name = name,
                    .attrs = {{"probability", probability},
                              {"seed", std::int64_t{0x123456789abcdef}},
                              {"site", site},
                              {"micro_batches", 4}},
                    .inputs = {floats(shape), step < 0 ? Case::Input{} : train}};
    };
    return {of("a tenth of 12x40", {12, 40}, 0.1, 3, 7, 2),
            of("half, width 33", {3, 5, 33}, 0.5, 0, 1e6, 0),
            of("none", {4, 9}, 0, 1, 0, 0),
            of("nearly all, without a state", {64}, 0.999, 2, -1, 0),
            of("empty", {0, 8}, 0.1, 0, 0, 0),
            of("no columns", {3, 0}, 0.1, 0, 0, 0)};
}

}  // namespace

const OpDef dropout_op =
    define_op("dropout", "y = x / (1 - probability), or 0 with this probability", operand_names, infer, reference, cost,
              {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace ops::dropout

}  // namespace vantage::internal
