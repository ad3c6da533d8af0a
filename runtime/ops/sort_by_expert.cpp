// Sorts choices by expert, so that the choices of an expert are the rows of one matrix product. No choice is dropped
// unless a capacity is set (Fedus et al. 2021: those after the first `capacity` of an expert).
//   slots[c] = how many earlier choices have the expert of c, -1 where it has none or that is full
//   order = choices with a slot by (expert, slot), then the others;  offsets[e] = where expert e's begin
#include "runtime/ops/sort_by_expert.h"

#include "runtime/base/format.h"
#include "runtime/ops/checks.h"
#include "shaders/params/experts.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::sort_by_expert {
namespace {

constexpr std::int64_t max_choices = std::int64_t{1} << 30;

std::int64_t capacity_of(const OpCall& call) {
    const std::int64_t capacity = call.attrs.integer("capacity");
    return capacity > 0 ? std::min<std::int64_t>(capacity, max_choices) : max_choices;
}

std::vector<TensorType> infer(const OpCall& call) {
    const TensorType& index = call.in(index_);
    const std::int64_t experts = call.attrs.integer("experts");
    call.require(index.dtype == DType::i32 && index.shape.rank() == 2,
                 operand_is(call, index_) + ", but must be i32 [n, top_k]");
    call.require(experts >= 1 && experts <= 1 << 16, format("experts is {}, but must be between 1 and 65536", experts));
    call.require(call.attrs.integer("capacity") >= 0 && index.shape.elements() <= max_choices,
                 "too many choices, or a capacity below 0");
    const Shape choices{index.shape.elements()};
    return {{choices, DType::i32}, {choices, DType::i32}, {Shape{experts + 2}, DType::i32}};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::int64_t choices = call.in(index_).shape.elements(), experts = call.attrs.integer("experts");
    std::int64_t at = 0;
    for (std::int64_t c = 0; c < choices; ++c) out[slots_][c] = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
        out[offsets_][e] = static_cast<double>(at);
        std::int64_t rank = 0;
        for (std::int64_t c = 0; c < choices; ++c) {
            if (in[index_][c] != static_cast<double>(e) || rank == capacity_of(call)) continue;
            out[slots_][c] = static_cast<double>(rank++);
            out[order_][at++] = static_cast<double>(c);
        }
    }
    out[offsets_][experts] = static_cast<double>(at);
    out[offsets_][experts + 1] = static_cast<double>(choices);
    for (std::int64_t c = 0; c < choices; ++c)
        if (out[slots_][c] < 0) out[order_][at++] = static_cast<double>(c);
}

Cost cost(const OpCall& call) {
    return streaming_cost(call,
                          2.0 * static_cast<double>(call.in(index_).shape.elements() * call.attrs.integer("experts")));
}

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    Launch l{.shader = "sort_by_expert",
             .spec = params::WorkgroupConstants{.lanes = workgroup_size(caps)},
             .operands = {in(index_), update(slots_), out(order_), update(offsets_)}};
    return l.with(params::SortByExpertParams{.choices = u32(call.in(index_).shape.elements()),
                                             .experts = u32(call.attrs.integer("experts")),
                                             .capacity = u32(capacity_of(call))});
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, Shape index, std::int64_t experts, std::int64_t capacity, double lowest) {
        list.push_back({.name = name,
                        .attrs = {{"experts", experts}, {"capacity", capacity}},
                        .inputs = {integers_below(index, experts, lowest)}});
    };
    add("5 experts", {40, 2}, 5, 0, 0);
    add("some without an expert", {33, 3}, 4, 0, -1);
    add("capacity 2", {12, 1}, 5, 2, 0);
    add("300 experts", {50, 2}, 300, 0, 0);
    add("one choice", {1, 1}, 1, 0, 0);
    add("nothing", {0, 2}, 3, 0, 0);
    return list;
}

}  // namespace

const OpDef sort_by_expert_op =
    define_op("sort_by_expert",
              "choices in the order of their experts: slots, order, offsets; with a capacity the rest is dropped",
              operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, of_integers);

}  // namespace internal::ops::sort_by_expert

ExpertOrder sort_by_expert(Tensor index, std::int64_t experts, std::int64_t capacity, SourceLocation where) {
    const std::vector<Tensor> results =
        add_call(index.graph(), sort_by_expert_op, {index}, {{"experts", experts}, {"capacity", capacity}}, where);
    using namespace ops::sort_by_expert;
    return {index, results[slots_], results[order_], results[offsets_]};
}

}  // namespace vantage
