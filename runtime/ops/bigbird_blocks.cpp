// How often each block of a text's queries sees each block of its keys, in BigBird as it is run (not trained).
//   of blocks i, j < b = ⌈tokens / block_size⌉, r drawn blocks for each:
//     1 for all where tokens ≤ (5 + 2 r) block_size, for i = 0 and for i = b - 1;
//     else 1 + r for j = 0,  1 for j = b - 1 and for |i - j| ≤ 1,  0 for others
// Zaheer et al., "Big Bird: Transformers for Longer Sequences" (2020). The paper draws r blocks for each query block;
// transformers draws in training only and otherwise takes block 0 for each of them, so that its keys are seen 1 + r
// times: there is nothing random in the table.
#include "runtime/ops/bigbird_blocks.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/ops/step.h"
#include "shaders/params/bigbird_blocks.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::bigbird_blocks {
namespace {

std::int64_t size_of(const OpCall& call) { return call.attrs.integer("block_size"); }
std::int64_t random_of(const OpCall& call) { return call.attrs.integer("random"); }

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& table = call.in(table_);
    const std::int64_t size = size_of(call), random = random_of(call);
    require_step(call, step_);
    const std::int64_t sequences = sequences_of(call, step_), blocks = table.shape[-1];
    call.require(size >= 1 && size <= 1 << 20, format("block_size is {}, but must be between 1 and 2^20", size));
    call.require(random >= 0 && random <= 1 << 10, format("random is {}, but must be between 0 and 1024", random));
    call.require(table.dtype == DType::i32 && table.shape == Shape{sequences, blocks, blocks} && blocks <= max_blocks &&
                     table.shape.elements() <= std::int64_t{1} << 30,
                 operand_is(call, table_) + format(", but must be i32 [{}, blocks, blocks] with at most {} blocks and "
                                                   "2^30 elements",
                                                   sequences, max_blocks));
    return {table};
}

std::int64_t count_of(std::int64_t tokens, std::int64_t size, std::int64_t random, std::int64_t i, std::int64_t j) {
    const std::int64_t filled = (tokens + size - 1) / size;
    if (std::max(i, j) >= filled) return 0;
    if (tokens <= longest_full(size, random) || i == 0 || i == filled - 1) return 1;
    if (j == 0) return 1 + random;
    return j == filled - 1 || std::abs(i - j) <= 1 ? 1 : 0;
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t blocks = call.in(table_).shape[-1];
    for (std::int64_t lane = 0; lane < sequences_of(call, step_); ++lane) {
        const std::int64_t tokens = word(in[step_], STEP_KEYS, lane),
                           first = sequence_of(in[step_], lane) * blocks * blocks;
        for (std::int64_t cell = 0; cell < blocks * blocks; ++cell)
            out[0][first + cell] =
                static_cast<double>(count_of(tokens, size_of(call), random_of(call), cell / blocks, cell % blocks));
    }
}

Cost cost(const OpCall& call) {
    const double cells = static_cast<double>(call.in(table_).shape.elements());
    return {cells, 0, 4 * cells};
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Shape& table = call.in(table_).shape;
    Launch l{.shader = "bigbird_blocks",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {update(0), in(step_)},
             .groups = element_grid(table.elements(), 1, caps)};
    return l.with(params::BigbirdBlocksParams{.lanes = u32(table[0]),
                                              .blocks = u32(table[-1]),
                                              .block_size = u32(size_of(call)),
                                              .random = u32(random_of(call))});
}

std::vector<Case> cases() {
    const auto of = [](const char* name, Shape table, std::int64_t random, const Case::Input& steps) {
        return Case{.name = name,
                    .attrs = {{"block_size", std::int64_t{4}}, {"random", random}},
                    .inputs = {integers_below(table, 9), steps}};
    };
    const Case::Input three = steps_of_case({step_of_case(0, 61), step_of_case(0, 28), step_of_case(0, 29)});
    return {of("61 of 64 tokens", {1, 16, 16}, 1, steps_of_case({step_of_case(0, 61)})),
            of("full up to 28 tokens, blocks from 29 on", {3, 16, 16}, 1, three),
            of("sequences in reverse, 2 drawn blocks", {3, 16, 16}, 2, reversed_lanes(three)),
            of("nothing drawn", {1, 9, 9}, 0, step_of_case(0, 36)),
            of("no token", {1, 3, 3}, 3, step_of_case(0, 0)),
            of("no blocks", {1, 0, 0}, 3, step_of_case(0, 0))};
}

}  // namespace

const OpDef bigbird_blocks_op = define_op(
    "bigbird_blocks", "how often a block of queries sees a block of keys, from the text's length (Zaheer 2020)",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_integers,
    {.step = step_, .alias = {table_}});

}  // namespace internal::ops::bigbird_blocks

Tensor bigbird_blocks(Tensor table, Tensor step, std::int64_t block_size, std::int64_t random, SourceLocation where) {
    return add_call(table.graph(), bigbird_blocks_op, {table, step}, {{"block_size", block_size}, {"random", random}},
                    where)[0];
}

}  // namespace vantage
