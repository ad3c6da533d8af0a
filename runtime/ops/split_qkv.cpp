// Takes a packed projection apart: x [.., n, (Hq + 2 Hk) D] -> q [.., n, Hq, D], k [.., n, Hk, D], v [.., n, Hk, D], or
// with `heads_first` [.., Hq, n, D] and so on. `layout` says how rows of x are packed:
//   concat    [all of q | all of k | all of v]            GPT-2
//             without query heads also [all of k | all of v]: a projection for cross-attention
//   per_head  [key head][its query heads | k | v][D]      BLOOM, GPT-NeoX (one query head each), Falcon (several)
// split_qkv_write is the same with k and v going into the cache, as `write` would put them there
// (runtime/graph/fuse.cpp).
#include "runtime/ops/split_qkv.h"

#include <algorithm>
#include <vector>

#include "runtime/ops/step.h"
#include "runtime/ops/zeros.h"
#include "shaders/params/split_qkv.h"
#include "vantage/ops.h"

namespace vantage {

namespace internal::ops::split_qkv {
namespace {

struct Packing {
    std::int64_t rows, rows_per_batch, heads, kv_heads, width;
    bool per_head, heads_first;
    std::int64_t slots() const { return heads + 2 * kv_heads; }
};

Packing packing_of(const OpCall& call) {
    const Shape& x = call.in(x_).shape;
    Packing p{};
    p.rows = x.rows();
    p.rows_per_batch = x[-2];
    p.heads = call.attrs.integer("heads", 1);
    p.kv_heads = call.attrs.integer("kv_heads", p.heads);
    p.width = x[-1] / p.slots();
    p.per_head = call.attrs.text("layout", "concat") == "per_head";
    p.heads_first = call.attrs.flag("heads_first");
    return p;
}

std::vector<TensorType> infer(const OpCall& call) {
    require_floats(call);
    const TensorType& x = call.in(x_);
    const std::int64_t heads = call.attrs.integer("heads", 0), kv_heads = call.attrs.integer("kv_heads", heads);
    const std::string layout = call.attrs.text("layout", "concat"),
                      counts = std::to_string(heads) + " query and " + std::to_string(kv_heads) + " key heads";
    call.require(layout == "concat" || layout == "per_head",
                 "layout is " + layout + ", but must be concat or per_head");
    call.require(x.shape.rank() >= 2 && x.shape.rank() < Shape::max_rank,
                 operand_is(call, x_) + ", but must be [.., n, features]");
    call.require(heads >= 0 && kv_heads > 0 && heads % kv_heads == 0, counts + " do not form groups");
    call.require(x.shape[-1] % (heads + 2 * kv_heads) == 0,
                 operand_is(call, x_) + ", whose rows do not divide into " + counts + " and as many value heads");
    const auto result = [&](std::int64_t count) {
        const std::int64_t n = x.shape[-2], width = x.shape[-1] / (heads + 2 * kv_heads);
        std::vector<std::int64_t> sizes(x.shape.sizes().begin(), x.shape.sizes().end() - 2);
        if (call.attrs.flag("heads_first"))
            sizes.insert(sizes.end(), {count, n, width});
        else
            sizes.insert(sizes.end(), {n, count, width});
        return TensorType{Shape(sizes), x.dtype};
    };
    return {result(heads), result(kv_heads), result(kv_heads)};
}

void reference(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const Packing p = packing_of(call);
    const std::int64_t group = p.heads / p.kv_heads;
    for (std::int64_t row = 0; row < p.rows; ++row) {
        const auto copy = [&](HostTensor& to, std::int64_t heads, std::int64_t head, std::int64_t slot) {
            const std::int64_t batch = row / p.rows_per_batch, r = row % p.rows_per_batch;
            const std::int64_t place =
                p.heads_first ? (batch * heads + head) * p.rows_per_batch + r : row * heads + head;
            for (std::int64_t d = 0; d < p.width; ++d)
                to[place * p.width + d] = in[x_][(row * p.slots() + slot) * p.width + d];
        };
        for (std::int64_t h = 0; h < p.heads; ++h)
            copy(out[q_], p.heads, h, p.per_head ? h / group * (group + 2) + h % group : h);
        for (std::int64_t h = 0; h < p.kv_heads; ++h) {
            copy(out[k_], p.kv_heads, h, p.per_head ? h * (group + 2) + group : p.heads + h);
            copy(out[v_], p.kv_heads, h, p.per_head ? h * (group + 2) + group + 1 : p.heads + p.kv_heads + h);
        }
    }
}

Cost cost(const OpCall& call) { return streaming_cost(call, 0); }

// ---- into the cache

using split_qkv_write::k_state_, split_qkv_write::v_state_, split_qkv_write::step_;
static_assert(+split_qkv_write::x_ == x_);

std::vector<TensorType> infer_write(const OpCall& call) {
    OpCall split = call;
    split.inputs.resize(1);
    const std::vector<TensorType> parts = infer(split);
    call.require(call.in(x_).shape.rank() == 2 && !call.attrs.flag("heads_first"),
                 operand_is(call, x_) + ", but must be rows of tokens");
    require_step(call, step_);
    rows_of_each(call, x_, step_);
    for (int i : {k_state_, v_state_}) {
        rows_of_each(call, i, step_);
        const TensorType& state = call.in(i);
        const std::int64_t cols = state.shape.elements() / std::max<std::int64_t>(state.shape[0], 1);
        call.require(cols == parts[k_].shape[1] * parts[k_].shape[2] && state.dtype == call.in(k_state_).dtype,
                     operand_is(call, i) + ", but the run's rows are " + parts[k_].text());
    }
    return {parts[q_], call.in(k_state_), call.in(v_state_)};
}

void reference_write(const OpCall& call, std::span<const HostTensor> in, std::span<HostTensor> out) {
    const std::vector<HostTensor> parts = run_reference(split_qkv_op, call.attrs, in.first(1));
    out[q_] = parts[q_];
    const std::int64_t each = rows_of_each(call, x_, step_), context = rows_of_each(call, k_state_, step_),
                       cols = parts[k_].type.shape[1] * parts[k_].type.shape[2];
    for (std::int64_t row = 0; row < call.in(x_).shape[0]; ++row) {
        const std::int64_t b = row / each, r = row % each,
                           position = (call.has(step_) ? word(in[step_], STEP_POSITION, b) : 0) + r;
        if (position >= context || (call.has(step_) && r >= word(in[step_], STEP_VALID, b))) continue;
        for (const std::size_t i : {std::size_t{k_}, std::size_t{v_}})
            for (std::int64_t col = 0; col < cols; ++col)
                out[i][((call.has(step_) ? sequence_of(in[step_], b) : b) * context + position) * cols + col] =
                    parts[i][row * cols + col];
    }
}

Cost cost_write(const OpCall& call) {  // of the states only the rows that are written
    const Packing p = packing_of(call);
    const auto elements = [&](std::int64_t heads) { return static_cast<double>(heads * p.width * p.rows); };
    const double each = info(call.in(x_).dtype).bytes;
    return {0, elements(p.slots()) * each,
            elements(p.heads) * each + elements(2 * p.kv_heads) * info(call.in(k_state_).dtype).bytes};
}

// ---- both

LaunchPlan launch(const OpCall& call, const Caps& caps) {
    const Packing p = packing_of(call);
    const std::int64_t count = call.in(x_).shape.elements();
    const bool to_cache = call.has(k_state_);
    Launch l{.shader = "split_qkv",
             .spec = params::SplitQkvConstants{.lanes = workgroup_size(caps),
                                               .X_TYPE = storage_of(call.in(x_).dtype),
                                               .STEP = step_of(p.width),
                                               .KV_TYPE = storage_of(call.out(k_).dtype)},
             .operands = {in(x_), out(q_), to_cache ? update(k_) : out(k_), to_cache ? update(v_) : out(v_), in(step_)},
             .groups = element_grid(count, step_of(p.width), caps)};
    return l.with(params::SplitQkvParams{.count = u32(count),
                                         .rows_per_batch = u32(p.rows_per_batch),
                                         .width = u32(p.width),
                                         .heads = u32(p.heads),
                                         .kv_heads = u32(p.kv_heads),
                                         .per_head = p.per_head,
                                         .heads_first = p.heads_first,
                                         .cache_rows = to_cache ? u32(rows_of_each(call, k_state_, step_)) : 0,
                                         .rows_each = to_cache ? u32(rows_of_each(call, x_, step_)) : 1});
}

// The gradients of q, k and v, packed as x is: their heads side by side, of all rows or of each key head.
std::vector<Tensor> gradient(const GradientCall& g) {
    const Packing p = packing_of(g.call);
    Graph graph = g.inputs[x_].graph();
    const std::int64_t blocks = p.per_head ? p.rows * p.kv_heads : p.rows;
    Tensor joined;
    for (const int i : {+q_, +k_, +v_}) {
        const std::int64_t heads = (i == q_ ? p.heads : p.kv_heads),
                           cols = heads * p.width / (p.per_head ? p.kv_heads : 1);
        if (cols == 0) continue;
        Tensor part = g.gradients[static_cast<std::size_t>(i)];
        if (!part) part = zeros(graph, g.outputs[static_cast<std::size_t>(i)].shape(), g.where);
        if (p.heads_first) part = vantage::merge_heads(part, g.where);
        part = graph.reshape(part, {blocks, cols}, g.where);
        joined = joined ? vantage::concat(joined, part, 1, g.where) : part;
    }
    return {graph.reshape(joined, g.inputs[x_].shape(), g.where)};
}

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](Shape shape, std::int64_t heads, std::int64_t kv_heads, const char* layout, bool heads_first) {
        list.push_back(
            {.name = shape.text() + " " + std::to_string(heads) + "/" + std::to_string(kv_heads) + " " + layout +
                     (heads_first ? " heads first" : ""),
             .attrs = {{"heads", heads}, {"kv_heads", kv_heads}, {"layout", layout}, {"heads_first", heads_first}},
             .inputs = {floats(shape)}});
    };
    add({1, 3}, 1, 1, "concat", false);
    add({3, 5, 18}, 2, 2, "concat", true);
    add({3, 5, 18}, 2, 2, "per_head", true);
    add({7, 64}, 4, 2, "concat", false);
    add({7, 64}, 4, 2, "per_head", false);
    add({2, 5, 40}, 6, 1, "concat", true);
    add({2, 3, 72}, 2, 2, "per_head", false);
    add({5, 24}, 0, 3, "concat", false);
    add({0, 12}, 1, 1, "concat", false);
    return list;
}

// The cache in f16, and f32 with rows of odd width; steps of one sequence, and of two.
std::vector<Case> cases_write() {
    const auto fixed = [](Shape shape, DType type = DType::f32) {
        return Case::Input{.type = TensorType{shape, type}, .fixed_type = true};
    };
    const Attrs heads{{"heads", 4}, {"kv_heads", 2}}, per_head{{"heads", 2}, {"layout", "per_head"}};
    return {
        {.name = "3 of 4 rows, f16",
         .attrs = heads,
         .inputs = {fixed({4, 64}), fixed({12, 2, 8}, DType::f16), fixed({12, 2, 8}, DType::f16), step_of_case(5, 3)}},
        {.name = "3 and 2 of 4 rows of 2 sequences, the second to the end of its cache, f16",
         .attrs = heads,
         .inputs = {fixed({8, 64}), fixed({24, 2, 8}, DType::f16), fixed({24, 2, 8}, DType::f16),
                    steps_of_case({step_of_case(5, 3), step_of_case(10, 2)})}},
        {.name = "2 sequences in reverse, f16",
         .attrs = heads,
         .inputs = {fixed({8, 64}), fixed({24, 2, 8}, DType::f16), fixed({24, 2, 8}, DType::f16),
                    reversed_lanes(steps_of_case({step_of_case(5, 3), step_of_case(10, 2)}))}},
        {.name = "per head, odd rows, beyond the cache",
         .attrs = per_head,
         .inputs = {fixed({4, 18}), fixed({7, 2, 3}), fixed({7, 2, 3}), step_of_case(5, 4)}}};
}

}  // namespace

const OpDef split_qkv_op = define_op(
    "split_qkv",
    "packed [.., n, (heads + 2 kv_heads) width] -> q, k, v with their heads (Radford et al. 2019; Ainslie et al. 2023)",
    operand_names, infer, reference, cost, {{"plain", need_nothing, every_call, launch}}, cases, gradient);

const OpDef split_qkv_write_op = define_op(
    "split_qkv_write", "split_qkv, with k and v written into the cache at position + r for the valid rows of a run",
    split_qkv_write::operand_names, infer_write, reference_write, cost_write,
    {{"plain", need_nothing, every_call, launch}}, cases_write, of_fusion,
    {.step = split_qkv_write::step_,
     .context_rows = {split_qkv_write::k_state_, split_qkv_write::v_state_},
     .alias = {-1, split_qkv_write::k_state_, split_qkv_write::v_state_}});

}  // namespace internal::ops::split_qkv

QKV split_qkv(Tensor x, std::int64_t heads, std::int64_t kv_heads, bool per_head, SourceLocation where) {
    const Attrs attrs{{"heads", heads}, {"kv_heads", kv_heads}, {"layout", per_head ? "per_head" : "concat"}};
    const std::vector<Tensor> parts = add_call(x.graph(), split_qkv_op, {x}, attrs, where);
    return {parts[ops::split_qkv::q_], parts[ops::split_qkv::k_], parts[ops::split_qkv::v_]};
}

}  // namespace vantage
