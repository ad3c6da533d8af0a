#include "runtime/ops/dropout.h"

#include <bit>

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

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call, words_);
    static_cast<void>(call.in(words_));
    require_type(call, words_, {Shape{DROPOUT_WORDS}, DType::u32});
    return {call.in(x_)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (std::int64_t row = 0; row < rows_of(call); ++row)
        for (std::int64_t col = 0; col < width_of(call); ++col) {
            const std::int64_t i = row * width_of(call) + col;
            out[0][i] = dropout_factor(in[words_], row, col) * in[x_][i];
        }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 20.0 * static_cast<double>(call.in(x_).shape.elements())); }

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    Launch l{.shader = "dropout",
             .spec = params::DropoutConstants{.lanes = workgroup_size(caps), .X_TYPE = storage_of(call, x_)},
             .operands = {in(x_), in(words_), out(0)},
             .groups = element_grid(rows_of(call) * ceil_div(width_of(call), std::int64_t{4}), 1, caps)};
    return l.with(params::DropoutParams{.rows = u32(rows_of(call)), .width = u32(width_of(call))});
}

// y is linear in x, with the same factors: dx is the dropout of dy.
std::vector<Tensor> gradient(const GradientCall& g) {
    return {internal::dropout(g.gradients[0], g.inputs[words_], g.where), {}};
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& shape, double probability) {
        return Case{.name = name, .inputs = {floats(shape), dropout_of_case(probability)}};
    };
    return {of("a tenth of 12x40", {12, 40}, 0.1),
            of("half, width 33", {3, 5, 33}, 0.5),
            of("none", {4, 9}, 0),
            of("nearly all", {64}, 0.999),
            of("empty", {0, 8}, 0.1),
            of("no columns", {3, 0}, 0.1)};
}

}  // namespace

const OpDef dropout_op =
    define_op("dropout", "y = x / (1 - probability), or 0 with this probability", operand_names, infer, reference, cost,
              {{"plain", need_nothing, every_call, launch}}, cases, gradient);

}  // namespace ops::dropout

namespace ops::dropout_draw {
namespace {

double probability_of(const OpCall& call) { return call.attrs.number("probability"); }
// Numbers below this are dropped. The largest probability below 1 in double is above 1 - 2^-32.
std::uint32_t threshold_of(double probability) {
    return static_cast<std::uint32_t>(std::min(probability * 0x1p32, 0x1p32 - 1));
}
float factor_of(double probability) { return static_cast<float>(1 / (1 - probability)); }
std::array<std::uint32_t, 2> seed_of(const OpCall& call) {
    const auto seed = static_cast<std::uint64_t>(call.attrs.integer("seed"));
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

std::vector<TensorType> infer(const OpCall& call) {
    call.require(probability_of(call) >= 0 && probability_of(call) < 1,
                 format("probability is {:g}, but must be from 0 to below 1", probability_of(call)));
    call.require(call.attrs.integer("micro_batches", 1) >= 1, "micro_batches must be 1 or more");
    require_type(call, train_, {Shape{TRAIN_WORDS}, DType::f32});
    return {{Shape{DROPOUT_WORDS}, DType::u32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const auto count_of = [&](int word) {
        return call.has(train_) ? static_cast<std::uint32_t>(in[train_][word]) : 0U;
    };
    const auto [low, high] = seed_of(call);
    HostTensor& words = out[0];
    words[DROPOUT_SEED_LOW] = low, words[DROPOUT_SEED_HIGH] = high;
    words[DROPOUT_SITE] = u32(call.attrs.integer("site"));
    words[DROPOUT_MICRO_BATCH] =
        count_of(TRAIN_STEP) * u32(call.attrs.integer("micro_batches", 1)) + count_of(TRAIN_MICRO);
    words[DROPOUT_THRESHOLD] = threshold_of(probability_of(call));
    words[DROPOUT_FACTOR] = std::bit_cast<std::uint32_t>(factor_of(probability_of(call)));
}

LaunchPlan launch(const OpCall& call, const Caps&) {
    const auto [seed_low, seed_high] = seed_of(call);
    Launch l{.shader = "dropout_draw",
             .spec = params::WorkgroupConstants{.lanes = 1},
             .operands = {in(train_), out(0)},
             .groups = {1, 1, 1}};
    return l.with(params::DropoutDrawParams{.site = u32(call.attrs.integer("site")),
                                            .micro_batches = u32(call.attrs.integer("micro_batches", 1)),
                                            .threshold = threshold_of(probability_of(call)),
                                            .factor = factor_of(probability_of(call)),
                                            .seed_low = seed_low,
                                            .seed_high = seed_high});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, double probability, std::int64_t site, double step, double micro) {
        std::vector<double> words(TRAIN_WORDS);
        words[TRAIN_STEP] = step, words[TRAIN_MICRO] = micro;
        Case::Input train = list_of(DType::f32, words);
        train.fixed_type = true;
        return Case{.name = name,
                    .attrs = {{"probability", probability},
                              {"seed", std::int64_t{0x123456789abcdef}},
                              {"site", site},
                              {"micro_batches", 4}},
                    .inputs = {step < 0 ? Case::Input{} : train}};
    };
    return {of("step 7", 0.1, 3, 7, 2), of("a million steps", 0.5, 0, 1e6, 0), of("nearly all", 0.999, 2, 0, 0),
            of("without a state", 0.5, 1, -1, 0)};
}

}  // namespace

const OpDef dropout_draw_op = define_op(
    "dropout_draw", "what kernels draw by that drop elements: Philox's key and counter, threshold and factor",
    operand_names, infer, reference, [](const OpCall& call) { return streaming_cost(call, 0); },
    {{"plain", need_nothing, every_call, launch}}, cases, of_integers);

}  // namespace ops::dropout_draw

double dropout_factor(const HostTensor& words, std::int64_t row, std::int64_t col) {
    const auto word = [&](int i) { return static_cast<std::uint32_t>(words[i]); };
    const auto drawn = philox({u32(row), u32(col / 4), word(DROPOUT_SITE), word(DROPOUT_MICRO_BATCH)},
                              {word(DROPOUT_SEED_LOW), word(DROPOUT_SEED_HIGH)});
    return at(drawn, col % 4) < word(DROPOUT_THRESHOLD) ? 0 : std::bit_cast<float>(word(DROPOUT_FACTOR));
}

Case::Input dropout_of_case(double probability) {
    using namespace ops::dropout_draw;
    std::vector<double> words(DROPOUT_WORDS);
    words[DROPOUT_SEED_LOW] = 0x89abcdef, words[DROPOUT_SEED_HIGH] = 0x01234567;
    words[DROPOUT_SITE] = 5, words[DROPOUT_MICRO_BATCH] = 30;
    words[DROPOUT_THRESHOLD] = threshold_of(probability);
    words[DROPOUT_FACTOR] = std::bit_cast<std::uint32_t>(factor_of(probability));
    Case::Input input = list_of(DType::u32, words);
    input.fixed_type = true;
    return input;
}

Tensor dropout_draw(Tensor train, const DropoutOptions& options, SourceLocation where) {
    return add_call(train.graph(), dropout_draw_op, {train},
                    {{"probability", options.probability},
                     {"seed", static_cast<std::int64_t>(options.seed)},
                     {"site", options.site},
                     {"micro_batches", options.micro_batches}},
                    where)[0];
}

Tensor dropout(Tensor x, Tensor words, SourceLocation where) {
    return add_call(x.graph(), dropout_op, {x, words}, {}, where)[0];
}

}  // namespace vantage::internal
