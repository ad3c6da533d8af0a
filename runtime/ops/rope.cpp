// Rotary positions, alone or with the rotated rows going straight into the cache: those of the keys, or with them the
// values into theirs and the rotated queries, all of a layer's before its attention in one pass.
//   a' = a cos - b sin,  b' = b cos + a sin  for the pairs (a, b) of a row's first rotary_dim features
// Su et al. 2021 (RoFormer); pairs (i, i + rotary_dim/2) as in GPT-NeoX and Llama, or (2i, 2i + 1) as in GPT-J.
#include "runtime/ops/rope.h"

#include "runtime/base/format.h"
#include "runtime/ops/step.h"
#include "shaders/params/rope.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::rope {
namespace {

static_assert(+rope_write::x_ == x_ && +rope_write::table_ == table_);

struct Sizes {
    std::int64_t sequences, tokens, heads, dim, rotary;  // tokens of a sequence
    bool heads_first;
    std::int64_t token(std::int64_t row) const { return heads_first ? row % tokens : row / heads % tokens; }
    std::int64_t sequence(std::int64_t row) const { return sequences > 1 ? row / (tokens * heads) : 0; }
};

// Rows of several sequences are a batch [sequences, tokens, …], or [sequences * tokens, …].
Sizes sizes_of(const OpCall& call, int step) {
    const Shape& x = call.in(x_).shape;
    const bool first = call.attrs.flag("heads_first");
    const std::int64_t sequences = sequences_of(call, step), rows = first ? x[-2] : x[-3];
    return {.sequences = sequences,
            .tokens = x.rank() == 4 ? rows : rows / sequences,
            .heads = first ? x[-3] : x[-2],
            .dim = x[-1],
            .rotary = call.in(table_).shape[1],
            .heads_first = first};
}

void check_table(const OpCall& call) {
    const TensorType &x = call.in(x_), &table = call.in(table_);
    call.require(table.shape.rank() == 2 && table.dtype == DType::f32,
                 operand_is(call, table_) + ", but must be f32 [positions, rotary_dim]");
    call.require(
        table.shape[1] % 2 == 0 && table.shape[1] <= x.shape[-1],
        operand_is(call, table_) + ", but rotary_dim must be even and at most the head width of x " + x.text());
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& x = call.in(x_);
    call.require((x.shape.rank() == 3 || x.shape.rank() == 4) && is_float(x.dtype),
                 operand_is(call, x_) + ", but must be floats with 3 dimensions, or 4 with a batch");
    check_table(call);
    if (call.has(positions_)) {
        call.require(
            call.in(positions_) == TensorType{Shape{sizes_of(call, step_).tokens}, DType::i32},
            operand_is(call, positions_) + ", but must be i32 with one position for each token of x " + x.text());
        call.require(!call.has(step_), "positions and a step contradict each other: one of them");
    }
    require_step(call, step_);
    if (const std::int64_t sequences = sequences_of(call, step_); sequences > 1) {
        const bool batch = x.shape.rank() == 4;
        call.require(batch ? x.shape[0] == sequences : !call.attrs.flag("heads_first") && x.shape[0] % sequences == 0,
                     format("{}, but with a step of {} sequences its rows must be those of as many",
                            operand_is(call, x_), sequences));
    }
    return {x};
}

/// Rotates row `row` of operand `x` into y from element `at` on.
void rotate(const OpCall& call, std::span<const HostTensor> in, int operand, std::int64_t row, std::int64_t position,
            HostTensor& y, std::int64_t at) {
    const HostTensor &x = in[static_cast<std::size_t>(operand)], &table = in[table_];
    const std::int64_t dim = x.type.shape[-1], rotary = table.type.shape[1], half = rotary / 2;
    const bool interleaved = call.attrs.flag("interleaved"), known = position >= 0 && position < table.type.shape[0];
    for (std::int64_t d = rotary; d < dim; ++d) y[at + d] = x[row * dim + d];
    for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + half;
        const double a = x[row * dim + first], b = x[row * dim + second];
        const double cosine = known ? table[position * rotary + i] : 0,
                     turned = known ? table[position * rotary + half + i] : 0,
                     sine = call.attrs.flag("inverse") ? -turned : turned;
        y[at + first] = a * cosine - b * sine;
        y[at + second] = b * cosine + a * sine;
    }
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Sizes s = sizes_of(call, step_);
    for (std::int64_t row = 0; row < call.in(x_).shape.rows(); ++row) {
        const std::int64_t token = s.token(row), b = s.sequence(row),
                           first = call.has(step_) ? word(in[step_], STEP_POSITION, b) : 0;
        rotate(call, in, x_, row,
               call.has(positions_) ? static_cast<std::int64_t>(in[positions_][token]) : first + token, out[0],
               row * s.dim);
    }
}

/// Of a rope_write that has queries; 0 without.
std::int64_t query_heads(const OpCall& call) { return call.has(rope_write::q_) ? call.in(rope_write::q_).shape[1] : 0; }

std::vector<TensorType> infer_write(const OpCall& call) {
    const TensorType &x = call.in(x_), &state = call.in(rope_write::state_);
    call.require(x.shape.rank() == 3 && is_float(x.dtype),
                 operand_is(call, x_) + ", but must be floats [tokens, heads, width]");
    check_table(call);
    require_step(call, rope_write::step_);
    rows_of_each(call, x_, rope_write::step_);
    const std::int64_t row = x.shape[1] * x.shape[2], rows = state.shape.rank() > 0 ? state.shape[0] : 0;
    call.require(
        state.shape.rank() > 1 && state.shape.elements() == rows * row && is_float(state.dtype),
        operand_is(call, rope_write::state_) + ", but its rows must hold as many floats as those of x " + x.text());
    rows_of_each(call, rope_write::state_, rope_write::step_);
    if (!call.has(rope_write::q_)) return {state};
    const TensorType& q = call.in(rope_write::q_);
    call.require(q.shape.rank() == 3 && q == TensorType{Shape{x.shape[0], q.shape[1], x.shape[2]}, x.dtype},
                 operand_is(call, rope_write::q_) + ", but the keys are " + x.text());
    require_type(call, rope_write::v_, x);
    require_type(call, rope_write::v_state_, state);
    return {state, state, q};
}

void reference_write(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    using namespace rope_write;
    const Sizes s = sizes_of(call, rope_write::step_);
    const std::int64_t context = rows_of_each(call, state_, rope_write::step_);
    for (std::int64_t row = 0; row < call.in(x_).shape.rows(); ++row) {
        const std::int64_t token = s.token(row), b = s.sequence(row),
                           position = word(in[rope_write::step_], STEP_POSITION, b) + token;
        if (token >= word(in[rope_write::step_], STEP_VALID, b) || position >= context) continue;
        const std::int64_t at =
            ((sequence_of(in[rope_write::step_], b) * context + position) * s.heads + row % s.heads) * s.dim;
        rotate(call, in, x_, row, position, out[k_cache_], at);
        for (std::int64_t d = 0; call.has(v_) && d < s.dim; ++d) out[v_cache_][at + d] = in[v_][row * s.dim + d];
    }
    const std::int64_t heads = query_heads(call);
    for (std::int64_t row = 0; row < call.in(x_).shape[0] * heads; ++row) {
        const std::int64_t b = row / (s.tokens * heads), token = row / heads % s.tokens;
        rotate(call, in, q_, row, word(in[rope_write::step_], STEP_POSITION, b) + token, out[q_out_], row * s.dim);
    }
}

Cost cost(const OpCall& call) {  // of the table only the rows that are wanted are read, of a cache only those written
    const TensorType& x = call.in(x_);
    const double cells = static_cast<double>(x.shape.elements()),
                 share = static_cast<double>(call.in(table_).shape[1]) /
                         static_cast<double>(std::max<std::int64_t>(x.shape[-1], 1));
    return {3 * cells * share, static_cast<double>(x.bytes()) + 4 * cells * share,
            cells * info(call.out(0).dtype).bytes};
}

Cost cost_write(const OpCall& call) {
    using namespace rope_write;
    Cost sum = cost(call);
    if (!call.has(q_)) return sum;
    OpCall queries = call;
    queries.inputs[x_] = call.in(q_), queries.outputs = {call.out(q_out_)};
    const double values = static_cast<double>(call.in(v_).shape.elements());
    sum += cost(queries);
    sum += {0, static_cast<double>(call.in(v_).bytes()), values * info(call.out(v_cache_).dtype).bytes};
    return sum;
}

LaunchPlan launch_to(const OpCall& call, const Caps& caps, std::vector<Operand> operands, int steps,
                     std::int64_t cache_rows, std::int64_t q_heads) {
    const Sizes s = sizes_of(call, steps);
    const std::uint32_t step = s.dim % 4 == 0 && s.rotary % 8 == 0 ? 4 : 1;
    const std::int64_t rows =
        call.in(x_).shape.rows() / std::max<std::int64_t>(s.heads, 1) * (q_heads > 0 ? q_heads + 2 * s.heads : s.heads);
    Launch l{.shader = "rope",
             .spec = params::RopeConstants{.lanes = workgroup_size(caps),
                                           .X_TYPE = storage_of(call, x_),
                                           .Y_TYPE = storage_of(call.out(0).dtype),
                                           .STEP = step,
                                           .JOINT = q_heads > 0},
             .operands = std::move(operands),
             .groups = element_grid(rows * (s.dim - s.rotary / 2), step, caps)};
    return l.with(params::RopeParams{.rows = u32(rows),
                                     .tokens = u32(s.tokens),
                                     .heads = u32(s.heads),
                                     .dim = u32(s.dim),
                                     .rotary = u32(s.rotary),
                                     .table_rows = u32(call.in(table_).shape[0]),
                                     .heads_first = s.heads_first,
                                     .interleaved = call.attrs.flag("interleaved"),
                                     .q_heads = u32(q_heads),
                                     .cache_rows = u32(cache_rows),
                                     .sequences = u32(s.sequences),
                                     .inverse = call.attrs.flag("inverse")});
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    return launch_to(
        call, caps,
        {in(x_), in(table_), in(step_), out(0), in(positions_), no_operand, no_operand, no_operand, no_operand}, step_,
        0, 0);
}
LaunchPlan launch_write(const OpCall& call, const Caps& caps) {
    using namespace rope_write;
    const bool joint = call.has(q_);
    return launch_to(call, caps,
                     {in(rope_write::x_), in(rope_write::table_), in(rope_write::step_), update(k_cache_), no_operand,
                      in(q_), joint ? out(q_out_) : no_operand, in(v_), joint ? update(v_cache_) : no_operand},
                     rope_write::step_, rows_of_each(call, state_, rope_write::step_), query_heads(call));
}

// The transpose of a rotation: by the same angles backwards. (A table may have a factor, which stays.)
std::vector<Tensor> gradient(const GradientCall& g) {
    g.call.require(!g.call.has(step_), of_a_state);
    g.call.require(!g.needed[table_], "the table of angles has no gradient");
    Attrs attrs = g.call.attrs;
    attrs.set("inverse", !attrs.flag("inverse"));
    std::vector<Tensor> operands = g.inputs;
    operands[x_] = g.gradients[0];
    return add_call(g.inputs[x_].graph(), rope_op, operands, attrs, g.where);
}

std::vector<Case> cases() {
    const Case::Input five = list_of(DType::i32, {3, 0, 41, 7, 99});  // the last is outside the table
    return {
        {.name = "neox dim=64", .inputs = {floats({5, 3, 64}), angles_of_case(50, 64), five}},
        {.name = "neox dim=80 rotary=32, batch, heads first",
         .attrs = {{"heads_first", true}},
         .inputs = {floats({2, 3, 5, 80}), angles_of_case(50, 32), five}},
        {.name = "neox dim=9 rotary=6", .inputs = {floats({7, 2, 9}), angles_of_case(7, 6)}},
        {.name = "gptj dim=24, step",
         .attrs = {{"interleaved", true}},
         .inputs = {floats({6, 2, 24}), angles_of_case(30, 24), {}, step_of_case(11, 4)}},
        {.name = "gptj dim=24, 2 sequences",
         .attrs = {{"interleaved", true}},
         .inputs = {floats({6, 2, 24}),
                    angles_of_case(30, 24),
                    {},
                    steps_of_case({step_of_case(11, 3), step_of_case(0, 1)})}},
        {.name = "gptj dim=24, a batch of sequences, heads first",
         .attrs = {{"interleaved", true}, {"heads_first", true}},
         .inputs = {floats({2, 2, 3, 24}),
                    angles_of_case(30, 24),
                    {},
                    steps_of_case({step_of_case(11, 3), step_of_case(28, 3)})}},
        {.name = "gptj dim=10 rotary=4, heads first",
         .attrs = {{"interleaved", true}, {"heads_first", true}},
         .inputs = {floats({3, 5, 10}), angles_of_case(50, 4), five}},
        {.name = "rotary=0", .inputs = {floats({4, 1, 8}), angles_of_case(4, 0)}},
        {.name = "no tokens", .inputs = {floats({0, 2, 8}), angles_of_case(4, 8)}},
    };
}

std::vector<Case> cases_write() {
    return {
        {.name = "neox dim=64, 3 of 4 rows",
         .inputs = {floats({4, 2, 64}), angles_of_case(16, 64), step_of_case(5, 3), weights({12, 2, 64})}},
        {.name = "neox dim=64, 3 and 1 of 4 rows of 2 sequences, the second to the end of its cache",
         .inputs = {floats({8, 2, 64}), angles_of_case(16, 64),
                    steps_of_case({step_of_case(5, 3), step_of_case(11, 1)}), weights({24, 2, 64})}},
        {.name = "neox dim=64, 2 sequences in reverse",
         .inputs = {floats({8, 2, 64}), angles_of_case(16, 64),
                    reversed_lanes(steps_of_case({step_of_case(5, 3), step_of_case(11, 1)})), weights({24, 2, 64})}},
        {.name = "gptj dim=24 rotary=16",
         .attrs = {{"interleaved", true}},
         .inputs = {floats({3, 3, 24}), angles_of_case(9, 16), step_of_case(6, 3), weights({9, 72})}},
        {.name = "dim=5 rotary=4, odd rows",
         .inputs = {floats({4, 1, 5}), angles_of_case(16, 4), step_of_case(3, 4), floats({11, 1, 5})}},
        {.name = "beyond the cache",
         .inputs = {floats({4, 1, 8}), angles_of_case(16, 8), step_of_case(4, 4), weights({6, 1, 8})}},
        {.name = "neox dim=64, 8 query heads and values, 3 of 4 rows",
         .inputs = {floats({4, 2, 64}), angles_of_case(16, 64), step_of_case(5, 3), weights({12, 2, 64}),
                    floats({4, 8, 64}), floats({4, 2, 64}), weights({12, 2, 64})}},
        {.name = "gptj dim=24 rotary=16, queries and values of 2 sequences in reverse, one to the end of its cache",
         .attrs = {{"interleaved", true}},
         .inputs = {floats({8, 3, 24}), angles_of_case(16, 16),
                    reversed_lanes(steps_of_case({step_of_case(5, 3), step_of_case(11, 1)})), weights({24, 3, 24}),
                    floats({8, 3, 24}), floats({8, 3, 24}), weights({24, 3, 24})}},
        {.name = "dim=5 rotary=4, odd rows, a query head and values, beyond the table and the cache",
         .inputs = {floats({4, 1, 5}), angles_of_case(12, 4), step_of_case(9, 4), floats({11, 1, 5}), floats({4, 1, 5}),
                    floats({4, 1, 5}), floats({11, 1, 5})}},
    };
}

}  // namespace

const OpDef rope_op =
    define_op("rope", "a' = a cos - b sin, b' = b cos + a sin for pairs of features, by position (Su et al. 2021)",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient,
              {.step = step_, .context_rows = {table_, positions_}});

const OpDef rope_write_op =
    define_op("rope_write",
              "state[position + r] = rope(x_r) for the valid rows of a run; with q and v also rope(q) and "
              "the write of v (Su et al. 2021)",
              rope_write::operand_names, infer_write, reference_write, cost_write,
              {{"plain", need_nothing, every_call, launch_write}}, cases_write, of_fusion,
              {.step = rope_write::step_,
               .context_rows = {rope_write::table_, rope_write::state_, rope_write::v_state_},
               .alias = {rope_write::state_, rope_write::v_state_}});

}  // namespace internal::ops::rope

/// Any numbers serve: that cos² + sin² = 1 is not the kernel's business.
Case::Input internal::angles_of_case(std::int64_t positions, std::int64_t rotary) {
    return {.type = TensorType{Shape{positions, rotary}},
            .fill = Case::Fill::uniform,
            .low = -1,
            .high = 1,
            .fixed_type = true};
}

Tensor rope(Tensor x, Tensor table, RopeOptions options, SourceLocation where) {
    return add_call(x.graph(), rope_op, {x, table, options.positions, options.step},
                    {{"interleaved", options.interleaved}, {"heads_first", options.heads_first}}, where)[0];
}

}  // namespace vantage
