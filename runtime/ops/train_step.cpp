// Sums over micro-batches, the norm of all gradients, and the numbers of an update (shaders/params/train.h).
//   accumulate: sum = (first micro-batch ? 0 : sum) + x       count_loss: the same for the loss, and counts
//   fetch: the entry of the current micro-batch                sum_of: a + b + …
//   sum_squares: Σ x², by blocks and then over the blocks
//   record_norms: √Σ x² of groups of gradients, without the scale, for the log
//   begin_update: norm = √squares / scale; factor = min(1, max_norm / (norm + eps)) / scale; a step whose gradients are
//   not finite is skipped and halves the scale, and growth_interval good ones double it (Micikevicius et al. 2018)
#include "runtime/ops/train_step.h"

#include <cmath>

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"

namespace vantage::internal {

namespace {

const TensorType one_number{Shape{1}, DType::f32}, train_type{Shape{TRAIN_WORDS}, DType::f32},
    history_type{Shape{TRAIN_HISTORY, TRAIN_RECORD}, DType::f32};

void require_this(const OpCall& call, int i, const TensorType& type) {
    static_cast<void>(call.in(i));
    require_type(call, i, type);
}
Cost costs_nothing(const OpCall&) { return {}; }  // a few numbers

Case::Input state_of_training(const std::vector<std::pair<int, double>>& words) {
    std::vector<double> all(TRAIN_WORDS);
    all[TRAIN_SCALE] = 1;
    for (const auto& [i, value] : words) at(all, i) = value;
    Case::Input input = filled_with(train_type, all);
    input.fixed_type = true;
    return input;
}
Case::Input input_in_f32(const TensorType& type, double low = 0, double high = 1) {
    return {.type = type, .low = low, .high = high, .fixed_type = true};
}

}  // namespace

// ---- accumulate -----------------------------------------------------------------------------------------------------

namespace ops::accumulate {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& sum = call.in(sum_);
    call.require(sum.dtype == DType::f32, operand_is(call, sum_) + ", but must be f32");
    require_this(call, x_, sum);
    require_this(call, train_, train_type);
    return {sum};
}
void reference(const OpCall&, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const bool first = in[train_][TRAIN_MICRO] == 0;
    for (std::size_t i = 0; i < in[x_].data.size(); ++i)
        out[0].data[i] = (first ? 0 : in[sum_].data[i]) + in[x_].data[i];
}
Cost cost(const OpCall& call) { return streaming_cost(call, static_cast<double>(call.in(x_).shape.elements())); }
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const std::int64_t count = call.in(x_).shape.elements();
    Launch l{.shader = "accumulate",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(sum_), in(x_), in(train_), update(0)},
             .groups = element_grid(count, 4, caps)};
    return l.with(params::AccumulateParams{.count = u32(count)});
}
std::vector<Case> cases() {
    const auto of = [](const char* name, const Shape& shape, double done) {
        return Case{.name = name,
                    .inputs = {input_in_f32({shape}), input_in_f32({shape}), state_of_training({{TRAIN_MICRO, done}})}};
    };
    return {of("the first of 5x33", {5, 33}, 0), of("the third of 5x33", {5, 33}, 2), of("one", {1}, 1),
            of("empty", {0, 4}, 1)};
}

}  // namespace
const OpDef accumulate_op =
    define_op("accumulate", "sum + x, or x for the first micro-batch of a step", operand_names, infer, reference, cost,
              {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient, {.alias = {sum_}});
}  // namespace ops::accumulate

// ---- count_loss -----------------------------------------------------------------------------------------------------

namespace ops::count_loss {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_this(call, train_, train_type);
    call.require(call.in(loss_).shape.elements() == 1 && call.in(loss_).dtype == DType::f32,
                 operand_is(call, loss_) + ", but must be f32 with one element");
    return {train_type};
}
void reference(const OpCall&, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const double done = in[train_][TRAIN_MICRO];
    out[0][TRAIN_LOSS] = (done == 0 ? 0 : in[train_][TRAIN_LOSS]) + in[loss_][0] / in[train_][TRAIN_SCALE];
    out[0][TRAIN_MICRO] = done + 1;
}
LaunchPlan launch(const OpCall&, const Caps&) {
    Launch l{.shader = "count_loss",
             .spec = params::WorkgroupConstants{.lanes = 1},
             .operands = {in(train_), in(loss_), update(0)}};
    return l.with(params::CountLossParams{});
}
std::vector<Case> cases() {
    return {{.name = "first", .inputs = {state_of_training({{TRAIN_LOSS, 3}}), input_in_f32(one_number)}},
            {.name = "third, scaled",
             .inputs = {state_of_training({{TRAIN_LOSS, 3}, {TRAIN_MICRO, 2}, {TRAIN_SCALE, 8}}),
                        input_in_f32(one_number)}}};
}

}  // namespace
const OpDef count_loss_op =
    define_op("count_loss", "counts a micro-batch and adds its loss, without the loss scale, to that of the step",
              operand_names, infer, reference, costs_nothing, {{"plain", need_nothing, every_call, launch}}, cases,
              of_a_gradient, {.alias = {train_}});
}  // namespace ops::count_loss

// ---- begin_update ---------------------------------------------------------------------------------------------------

namespace ops::begin_update {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_this(call, train_, train_type);
    require_this(call, history_, history_type);
    require_this(call, squares_, one_number);
    const TensorType &rates = call.in(rates_), &corrections = call.in(corrections_);
    call.require(rates.dtype == DType::f32 && rates.shape.rank() == 1 && rates.shape[0] > 0,
                 operand_is(call, rates_) + ", but must be f32 [steps]");
    call.require(corrections.dtype == DType::f32 && corrections.shape.rank() == 2 && corrections.shape[0] == 2 &&
                     corrections.shape[1] > 0,
                 operand_is(call, corrections_) + ", but must be f32 [2, updates]");
    for (const char* name : {"max_norm", "norm_eps", "max_scale"})
        call.require(call.attrs.number(name) >= 0 && call.attrs.number(name) <= 1e30,
                     format("{} is {:g}, but must be 0 or more", name, call.attrs.number(name)));
    return {train_type, history_type};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const HostTensor& old = in[train_];
    HostTensor &state = out[0], &history = out[1];
    const double done = old[TRAIN_STEP], scale = old[TRAIN_SCALE], squares = in[squares_][0],
                 norm = std::isfinite(squares) ? std::sqrt(squares) / scale : INFINITY,
                 max_norm = call.attrs.number("max_norm"), max_scale = call.attrs.number("max_scale");
    const bool finite = std::isfinite(squares);
    const auto clamped = [](double i, std::int64_t count) { return std::min(static_cast<std::int64_t>(i), count - 1); };
    const std::int64_t count = in[corrections_].type.shape[1], correction = clamped(old[TRAIN_UPDATES], count);
    state[TRAIN_STEP] = done + 1, state[TRAIN_MICRO] = 0;
    state[TRAIN_RATE] = in[rates_][clamped(done, in[rates_].type.shape[0])];
    state[TRAIN_MEAN_FACTOR] = in[corrections_][correction];
    state[TRAIN_VARIANCE_FACTOR] = in[corrections_][count + correction];
    state[TRAIN_GRADIENT_FACTOR] =
        (max_norm > 0 ? std::min(1.0, max_norm / (norm + call.attrs.number("norm_eps"))) : 1) / scale;
    state[TRAIN_SKIP] = finite ? 0 : 1, state[TRAIN_NORM] = norm;
    if (finite) {
        state[TRAIN_UPDATES] += 1, state[TRAIN_GOOD] += 1, state[TRAIN_SKIPPED] = 0;
        if (max_scale > 0 && state[TRAIN_GOOD] >= static_cast<double>(call.attrs.integer("growth_interval")))
            state[TRAIN_SCALE] = std::min(2 * scale, max_scale), state[TRAIN_GOOD] = 0;
    } else {
        state[TRAIN_SKIPPED] += 1, state[TRAIN_GOOD] = 0;
        if (max_scale > 0) state[TRAIN_SCALE] = std::max(scale / 2, 1.0);
    }
    const std::array record{
        done, old[TRAIN_LOSS], norm, state[TRAIN_RATE], scale, state[TRAIN_SKIP], state[TRAIN_UPDATES], 0.0};
    const std::int64_t row = static_cast<std::int64_t>(done) % TRAIN_HISTORY * TRAIN_RECORD;
    for (std::int64_t i = 0; i < TRAIN_RECORD; ++i) history[row + i] = at(record, i);
}

LaunchPlan launch(const OpCall& call, const Caps&) {
    Launch l{.shader = "begin_update",
             .spec = params::WorkgroupConstants{.lanes = 1},
             .operands = {in(train_), in(history_), in(squares_), in(rates_), in(corrections_), update(0), update(1)}};
    const auto number = [&](const char* name) { return static_cast<float>(call.attrs.number(name)); };
    return l.with(params::BeginUpdateParams{.rate_count = u32(call.in(rates_).shape[0]),
                                            .correction_count = u32(call.in(corrections_).shape[1]),
                                            .max_norm = number("max_norm"),
                                            .norm_eps = number("norm_eps"),
                                            .max_scale = number("max_scale"),
                                            .growth_interval = u32(call.attrs.integer("growth_interval"))});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, const std::vector<std::pair<int, double>>& words, double squares,
                       const Attrs& attrs) {
        Case::Input sum = filled_with(one_number, {squares});
        sum.fixed_type = true;
        return Case{.name = name,
                    .attrs = attrs,
                    .inputs = {state_of_training(words), input_in_f32(history_type), sum, input_in_f32({Shape{7}}),
                               input_in_f32({Shape{2, 5}})}};
    };
    const Attrs scaled{{"max_scale", 65536.0}, {"growth_interval", 3}, {"max_norm", 1.0}, {"norm_eps", 1e-6}};
    const double infinity = INFINITY, nan = NAN;
    return {of("first", {}, 4, {}),
            of("clipped", {{TRAIN_STEP, 3}, {TRAIN_UPDATES, 2}, {TRAIN_LOSS, 2.5}}, 9,
               {{"max_norm", 1.0}, {"norm_eps", 1e-6}}),
            of("beyond the tables", {{TRAIN_STEP, 300}, {TRAIN_UPDATES, 290}}, 1, {}),
            of("scale grows", {{TRAIN_SCALE, 1024}, {TRAIN_GOOD, 2}}, 1e6, scaled),
            of("scale shrinks", {{TRAIN_SCALE, 1024}, {TRAIN_GOOD, 2}, {TRAIN_SKIPPED, 1}}, infinity, scaled),
            of("not a number", {{TRAIN_STEP, 9}, {TRAIN_UPDATES, 8}}, nan, {})};
}

}  // namespace
const OpDef begin_update_op =
    define_op("begin_update", "learning rate, bias corrections, clipping and loss scale of an update; ends the step",
              operand_names, infer, reference, costs_nothing, {{"plain", need_nothing, every_call, launch}}, cases,
              of_a_gradient, {.alias = {train_, history_}});
}  // namespace ops::begin_update

// ---- fetch ----------------------------------------------------------------------------------------------------------

namespace ops::fetch {
namespace {

std::int64_t entry_of(const OpCall& call, const HostTensor& train) {
    const auto count = [&](int word) { return static_cast<std::int64_t>(train[word]); };
    return (count(TRAIN_STEP) * call.attrs.integer("micro_batches") + count(TRAIN_MICRO)) % call.in(ring_).shape[0];
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& ring = call.in(ring_);
    call.require((ring.dtype == DType::f32 || ring.dtype == DType::i32) && ring.shape.rank() >= 2 && ring.shape[0] > 0,
                 operand_is(call, ring_) + ", but must be f32 or i32 [entries, …]");
    call.require(call.attrs.integer("micro_batches") >= 1, "micro_batches must be 1 or more");
    require_this(call, train_, train_type);
    const auto sizes = ring.shape.sizes().subspan(1);
    return {{Shape({sizes.begin(), sizes.end()}), ring.dtype}};
}
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const auto each = std::ssize(out[0].data);
    std::copy_n(in[ring_].data.begin() + entry_of(call, in[train_]) * each, each, out[0].data.begin());
}
Cost cost(const OpCall& call) {
    const double bytes = static_cast<double>(call.in(ring_).bytes()) / static_cast<double>(call.in(ring_).shape[0]);
    return {.flops = 0, .bytes_read = bytes, .bytes_written = bytes};
}
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& shape = call.in(ring_).shape;
    const std::int64_t each = shape.elements() / shape[0];
    Launch l{.shader = "fetch",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(ring_), in(train_), out(0)},
             .groups = element_grid(each, 1, caps)};
    return l.with(params::FetchParams{
        .entries = u32(shape[0]), .count = u32(each), .micro_batches = u32(call.attrs.integer("micro_batches"))});
}
std::vector<Case> cases() {
    const auto of = [](const char* name, const Case::Input& ring, double step, double micro) {
        return Case{.name = name,
                    .attrs = {{"micro_batches", std::int64_t{3}}},
                    .inputs = {ring, state_of_training({{TRAIN_STEP, step}, {TRAIN_MICRO, micro}})}};
    };
    return {of("5x7 of 6", integers_below({6, 5, 7}, 1000, -1), 1, 2), of("300 of 4", input_in_f32({{4, 300}}), 1e6, 1),
            of("one of one", input_in_f32({{1, 1}}), 3, 0), of("empty", input_in_f32({{2, 0}}), 3, 0)};
}

}  // namespace
const OpDef fetch_op =
    define_op("fetch", "the entry of a ring that the host wrote for the current micro-batch", operand_names, infer,
              reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);
}  // namespace ops::fetch

// ---- sums -----------------------------------------------------------------------------------------------------------

namespace ops::sum_squares {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    call.require(call.in(x_).dtype == DType::f32, operand_is(call, x_) + ", but must be f32");
    return {one_number};
}
void reference(const OpCall&, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (const double x : in[x_].data) out[0][0] += x * x;
}
Cost cost(const OpCall& call) { return streaming_cost(call, 2.0 * static_cast<double>(call.in(x_).shape.elements())); }

template <ShaderName shader>
LaunchPlan launch(const OpCall& call, const Caps& caps) {
    constexpr std::int64_t block = 16384;
    LaunchPlan plan;
    for (std::int64_t count = call.in(x_).shape.elements(); plan.launches.empty() || count > 1;) {
        const std::int64_t blocks = std::max<std::int64_t>((count + block - 1) / block, 1);
        const int made = static_cast<int>(plan.scratch.size());
        Launch l{.shader = shader,
                 .spec = params::SumSquaresConstants{.lanes = workgroup_size(caps)},
                 .operands = {plan.launches.empty() ? in(x_) : scratch_in(made - 1),
                              blocks == 1 ? out(0) : scratch_out(made)},
                 .groups = flat_grid(blocks, caps)};
        if (blocks > 1) plan.scratch.push_back(static_cast<std::uint64_t>(blocks) * 4);
        const bool squares = plan.launches.empty();
        plan.launches.push_back(
            l.with(params::SumSquaresParams{.count = u32(count), .block = u32(block), .squares = squares}));
        if (blocks == 1) break;
        count = blocks;
    }
    return plan;
}
std::vector<Case> cases() {
    std::vector<Case> list;
    for (const Shape& shape : {Shape{1}, Shape{5, 33}, Shape{40, 1000}, Shape{0, 4}})
        list.push_back({.name = shape.text(), .inputs = {input_in_f32({shape})}});
    return list;
}

}  // namespace
const OpDef sum_squares_op =
    define_op("sum_squares", "sum of the squares of all elements", operand_names, infer, reference, cost,
              {{"subgroup", need_subgroup, every_call, launch<"sum_squares_subgroup">, loads_by_lane},
               {"plain", need_nothing, every_call, launch<"sum_squares">}},
              cases, of_a_gradient);
}  // namespace ops::sum_squares

namespace ops::sum_of {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
    require_this(call, a_, one_number);
    for (int i = b_; i <= h_; ++i) require_type(call, i, one_number);
    return {one_number};
}
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    for (int i = a_; i <= h_; ++i)
        if (call.has(i)) out[0][0] += at(in, i)[0];
}
LaunchPlan launch(const OpCall&, const Caps&) {
    Launch l{.shader = "sum_of",
             .spec = params::WorkgroupConstants{.lanes = 1},
             .operands = {in(a_), in(b_), in(c_), in(d_), in(e_), in(f_), in(g_), in(h_), out(0)}};
    return l.with(params::SumOfParams{});
}
std::vector<Case> cases() {
    return {{.name = "two", .inputs = {input_in_f32(one_number), input_in_f32(one_number)}},
            {.name = "eight", .inputs = std::vector<Case::Input>(8, input_in_f32(one_number))}};
}

}  // namespace
const OpDef sum_of_op = define_op("sum_of", "a + b + ... of up to eight numbers", operand_names, infer, reference,
                                  costs_nothing, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient);
}  // namespace ops::sum_of

// ---- record_norms ---------------------------------------------------------------------------------------------------

namespace ops::record_norms {
namespace {

std::int64_t groups_of(const OpCall& call) { return call.in(norms_).shape[1]; }

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& norms = call.in(norms_);
    call.require(norms.dtype == DType::f32 && norms.shape.rank() == 2 && norms.shape[0] == TRAIN_HISTORY,
                 operand_is(call, norms_) + format(", but must be f32 [{}, groups]", TRAIN_HISTORY));
    require_this(call, train_, train_type);
    require_this(call, a_, one_number);
    const std::int64_t first = call.attrs.integer("first");
    for (int i = b_; i <= h_; ++i) require_type(call, i, one_number);
    for (int i = a_; i <= h_; ++i)
        call.require(!call.has(i) || (first >= 0 && first + i - a_ < groups_of(call)), "first is beyond the groups");
    return {norms};
}
void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t row = static_cast<std::int64_t>(in[train_][TRAIN_STEP]) % TRAIN_HISTORY;
    for (int i = a_; i <= h_; ++i)
        if (call.has(i)) {
            const double squares = at(in, i)[0];
            out[0][row * groups_of(call) + call.attrs.integer("first") + i - a_] =
                std::isfinite(squares) ? std::sqrt(squares) / in[train_][TRAIN_SCALE] : INFINITY;
        }
}
LaunchPlan launch(const OpCall& call, const Caps&) {
    Launch l{.shader = "record_norms",
             .spec = params::WorkgroupConstants{.lanes = 1},
             .operands = {in(norms_), in(a_), in(b_), in(c_), in(d_), in(e_), in(f_), in(g_), in(h_), in(train_),
                          update(0)}};
    return l.with(params::RecordNormsParams{.groups = u32(groups_of(call)), .first = u32(call.attrs.integer("first"))});
}
std::vector<Case> cases() {
    const auto of = [](const char* name, std::int64_t groups, std::int64_t first, std::vector<double> squares,
                       const std::vector<std::pair<int, double>>& words) {
        Case one{.name = name,
                 .attrs = {{"first", first}},
                 .inputs = {input_in_f32({{TRAIN_HISTORY, groups}}), state_of_training(words)}};
        for (const double square : squares) {
            one.inputs.push_back(filled_with(one_number, {square}));
            one.inputs.back().fixed_type = true;
        }
        return one;
    };
    return {of("one", 1, 0, {9}, {}), of("eight of eleven", 11, 0, {1, 2, 3, 4, 5, 6, 7, 8}, {{TRAIN_STEP, 300}}),
            of("the last three of eleven, scaled", 11, 8, {4, 1e6, INFINITY}, {{TRAIN_STEP, 7}, {TRAIN_SCALE, 1024}}),
            of("not a number", 3, 0, {NAN, 0, 16}, {{TRAIN_STEP, 255}})};
}

}  // namespace
const OpDef record_norms_op = define_op(
    "record_norms", "norms of groups of gradients, into the row of the current step", operand_names, infer, reference,
    costs_nothing, {{"plain", need_nothing, every_call, launch}}, cases, of_a_gradient, {.alias = {norms_}});
}  // namespace ops::record_norms

// ---- calls ----------------------------------------------------------------------------------------------------------

namespace {
// Groups of at most eight, which is what a dispatch takes.
std::vector<std::span<const Tensor>> eights(std::span<const Tensor> all) {
    std::vector<std::span<const Tensor>> groups;
    for (; !all.empty(); all = all.subspan(groups.back().size()))
        groups.push_back(all.first(std::min<std::size_t>(all.size(), 8)));
    return groups;
}
}  // namespace

TrainState train_state(Graph& graph, SourceLocation where) {
    return {graph.state("train", train_type.shape, DType::f32, true, where),
            graph.state("train.history", history_type.shape, DType::f32, true, where)};
}

Tensor accumulate(Tensor sum, Tensor x, Tensor train, SourceLocation where) {
    return add_call(sum.graph(), accumulate_op, {sum, x, train}, {}, where)[0];
}

Tensor count_loss(Tensor train, Tensor loss, SourceLocation where) {
    return add_call(train.graph(), count_loss_op, {train, loss}, {}, where)[0];
}

Tensor sum_of(std::vector<Tensor> numbers, SourceLocation where) {
    while (numbers.size() > 1) {  // a tree of eights
        std::vector<Tensor> next;
        for (const std::span<const Tensor> some : eights(numbers))
            next.push_back(add_call(some[0].graph(), sum_of_op, {some.begin(), some.end()}, {}, where)[0]);
        numbers = next;
    }
    return numbers.at(0);
}

Tensor sum_squares(std::span<const Tensor> all, SourceLocation where) {
    std::vector<Tensor> sums;
    for (const Tensor& x : all) sums.push_back(add_call(x.graph(), sum_squares_op, {x}, {}, where)[0]);
    return sum_of(std::move(sums), where);
}

Tensor record_norms(Tensor norms, Tensor train, std::span<const Tensor> squares, SourceLocation where) {
    std::int64_t first = 0;
    for (const std::span<const Tensor> some : eights(squares)) {
        std::vector<Tensor> operands{norms, train};
        operands.insert(operands.end(), some.begin(), some.end());
        norms = add_call(train.graph(), record_norms_op, operands, {{"first", first}}, where)[0];
        first += std::ssize(some);
    }
    return norms;
}

TrainState begin_update(const TrainState& state, Tensor squares, Tensor rates, Tensor corrections,
                        const UpdateOptions& options, SourceLocation where) {
    const std::vector<Tensor> next =
        add_call(state.train.graph(), begin_update_op, {state.train, state.history, squares, rates, corrections},
                 {{"max_norm", options.max_norm},
                  {"norm_eps", options.norm_eps},
                  {"max_scale", options.max_scale},
                  {"growth_interval", options.growth_interval}},
                 where);
    return {next[0], next[1]};
}

Tensor fetch(Tensor ring, Tensor train, std::int64_t micro_batches, SourceLocation where) {
    return add_call(ring.graph(), fetch_op, {ring, train}, {{"micro_batches", micro_batches}}, where)[0];
}

}  // namespace vantage::internal
