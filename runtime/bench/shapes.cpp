#include "runtime/bench/shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "runtime/base/format.h"
#include "runtime/bench/model_shapes.h"
#include "runtime/ops/head_statistics.h"
#include "shaders/params/step.h"
#include "shaders/params/train.h"

namespace vantage::internal {

namespace {

using Operands = std::vector<std::optional<TensorType>>;

constexpr std::int64_t vocabulary = 50257;
constexpr DType f32 = DType::f32, f16 = DType::f16, i32 = DType::i32, u32 = DType::u32;

class FixedCases {
public:
    explicit FixedCases(std::vector<BenchCase>& cases) : cases_(cases) {}

    /// `types` may omit absent operands at the end.
    void add(const char* op, const std::string& name, Operands types, const Attrs& attrs = {}, bool quick = false) {
        OpCall call{.op = find_op(op), .attrs = attrs, .inputs = std::move(types)};
        call.inputs.resize(call.op->operands.size());
        call.outputs = call.op->infer(call);
        add_case(cases_, {.name = name, .call = std::move(call), .quick = quick});
    }
    void quick(const char* op, const std::string& name, const Operands& types, const Attrs& attrs = {}) {
        add(op, name, types, attrs, true);
    }

    // A step of a GPT-2 of the smallest size with 1024 tokens.
    void add_training() {
        const TensorType rows{Shape{1024, 768}, f32}, width{Shape{768}, f32}, per_row{Shape{1024}, f32},
            wide{Shape{1024, 3072}, f32}, logits{Shape{256, vocabulary}, f32}, of_logits{Shape{256}, f32},
            targets{Shape{256}, i32}, head{Shape{1024, 12, 64}, f32}, lse{Shape{1024, 12}, f32},
            matrix{Shape{768, 3072}, f32}, one{Shape{1}, f32}, train{Shape{TRAIN_WORDS}, f32},
            history{Shape{TRAIN_HISTORY, TRAIN_RECORD}, f32};
        quick("cross_entropy", "256 rows of a vocabulary", {logits, targets});
        quick("cross_entropy_backward", "256 rows of a vocabulary", {logits, targets, of_logits, of_logits});
        quick("attention_backward", "12 heads d64 n1024 causal", {head, head, head, head, head, lse},
              {{"causal", true}});
        quick("distance_weights_backward", "12 heads d64 n1024 causal, 33 distances",
              {{{Shape{1024, 12, 33}, f32}}, head, head, lse},
              {{"causal", true}, {"largest_distance", std::int64_t{16}}});
        quick("linear_attention_backward", "12 heads d64 n1024 causal", {head, head, head, head, head, lse},
              {{"causal", true}});
        quick("rope", "1024 tokens, 12 heads d64", {head, {{Shape{1024, 64}, f32}}});
        quick("norm_backward", "1024x768", {rows, rows, width, per_row, per_row});
        quick("softmax_backward", "1024x768", {rows, rows}, {{"axis", -1}});
        quick("entropy_backward", "1024x768", {per_row, rows});
        quick("activation_backward", "gelu_tanh 1024x3072", {wide, wide}, {{"kind", std::string("gelu_tanh")}});
        quick("swiglu_backward", "1024x3072", {wide, wide, wide});
        const TensorType inner{Shape{1024, 1536}, f32}, by_token{Shape{1024, 16}, f32};
        quick("state_space_backward", "1024x1536, 16 states",
              {inner, inner, inner, {{Shape{1536, 16}, f32}}, by_token, by_token, {{Shape{1536}, f32}}},
              {{"log_a", true}, {"softplus", true}});
        quick("causal_conv1d_backward", "1024x1536, width 4",
              {{{Shape{1024, 1536}, f32}}, {{Shape{1024, 1536}, f32}}, {{Shape{1536, 4}, f32}}});
        quick("scatter_rows", "1024 tokens of a vocabulary", {rows, {{Shape{1024}, i32}}},
              {{"rows", std::int64_t{vocabulary}}});
        const TensorType units{Shape{128, 512}, f32}, gates{Shape{128, 2048}, f32};
        quick("recurrent_backward", "an LSTM of 512 units, 128 rows",
              {units, {}, gates, gates, {{Shape{2048, 512}, f32}}, {}, units}, {{"cell", std::string("lstm")}});
        quick("expert_gradient", "8 experts, 2 of each of 256 tokens",
              {{{Shape{512, 512}, f32}}, {{Shape{256, 768}, f32}}, {{Shape{512}, i32}}, {{Shape{10}, i32}}},
              {{"transpose_w", true}});
        quick("route_backward", "8 experts, 2 of each of 256 tokens",
              {{{Shape{256, 8}, f32}}, {{Shape{256, 2}, i32}}, {{Shape{256, 2}, f32}}, {}, {{Shape{256, 2}, f32}}},
              {{"renormalise", true}});
        quick("load_balance_backward", "8 experts, 2 of each of 256 tokens", {{{Shape{256, 2}, i32}}, one},
              {{"experts", std::int64_t{8}}});
        const TensorType of_scores{Shape{128, 256}, f32};
        quick("additive_scores_backward", "128 by 128 of 256",
              {{{Shape{128, 128}, f32}}, of_scores, of_scores, {{Shape{256}, f32}}});
        quick("column_sums", "1024x768 normalised", {rows, rows, per_row, per_row});
        quick("dropout", "768x3072", {matrix, {{Shape{8}, DType::u32}}});
        quick("dropout_draw", "a micro-batch", {train}, {{"probability", 0.1}});
        quick("accumulate", "768x3072", {matrix, matrix, train});
        quick("count_loss", "a step", {train, one});
        quick("fetch", "4096 tokens", {{{Shape{2, 4096}, i32}}, train}, {{"micro_batches", std::int64_t{1}}});
        quick("sum_squares", "768x3072", {matrix});
        quick("sum_of", "eight numbers", Operands(8, one));
        quick("record_norms", "eight blocks",
              {{{Shape{TRAIN_HISTORY, 8}, f32}}, train, one, one, one, one, one, one, one, one},
              {{"first", std::int64_t{0}}});
        quick("begin_update", "a step", {train, history, one, {{Shape{1000}, f32}}, {{Shape{2, 8000}, f32}}});
        quick("adam", "768x3072", {matrix, matrix, matrix, matrix, train},
              {{"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}});
        quick("sgd", "768x3072", {matrix, {}, matrix, train});
    }

    // Sizes of other libraries' benchmarks, for comparison.
    void add_compared() {
        const Attrs weights{{"transpose_b", true}};  // [out, in], as in models
        for (const std::int64_t n : {256, 512, 1024, 4096, 8192}) {
            const std::string name = std::to_string(n) + "^3";
            const bool is_quick = n == 512 || n == 1024;
            add("matmul", name, {{{Shape{n, n}, f32}}, {{Shape{n, n}, f32}}}, weights, is_quick);
            if (n <= 1024) add("matmul", name + " b [k, n]", {{{Shape{n, n}, f32}}, {{Shape{n, n}, f32}}});
            add("matmul", name + " f16", {{{Shape{n, n}, f16}}, {{Shape{n, n}, f16}}}, weights);
        }
        const TensorType row{Shape{1, 4096}, f32};
        quick("matmul", "matvec 4096^2", {row, {{Shape{4096, 4096}, f32}}}, weights);
        quick("matmul", "matvec 4096^2 f16", {row, {{Shape{4096, 4096}, f16}}}, weights);
        for (const std::int64_t n : {512, 1024, 4096, 16384})
            for (const std::int64_t d : {64, 128})
                for (const bool causal : {false, true}) {
                    const TensorType one{Shape{n, 8, d}, n > 1024 ? f16 : f32};
                    const std::string name = format("8 heads d{} n{}", d, n);
                    add("attention", name + (causal ? " causal" : ""), {one, one, one}, {{"causal", causal}},
                        n == 1024 && d == 128);
                    if (causal && d == 64) add_sparse(n, false);
                }
        for (const std::int64_t n : {64, 128, 256}) add_sparse(n, true);
        const TensorType rows{Shape{1024, 4096}, f32}, tall{Shape{4096, 1024}, f32}, width{Shape{4096}, f32};
        quick("layer_norm", "1024x4096", {rows, width, width});
        quick("rms_norm", "1024x4096", {rows, width});
        for (const char* op : {"add", "mul"}) {
            quick(op, "4096x1024", {tall, tall});
            add(op, "1024x4096", {rows, rows});
        }
        quick("softmax", "8x1024x1024", {{{Shape{8, 1024, 1024}, f32}}}, {{"axis", -1}});
        add("log_softmax", "8x1024x1024", {{{Shape{8, 1024, 1024}, f32}}}, {{"axis", -1}});
    }

    // From which length on leaving keys out saves time.
    void add_sparse(std::int64_t n, bool with_dense) {
        const TensorType one{Shape{n, 8, 64}, n > 1024 ? f16 : f32};
        const std::string name = format("8 heads d64 n{} causal", n);
        if (with_dense) add("attention", name, {one, one, one}, {{"causal", true}});
        add("attention", name + ", dilation 8", {one, one, one}, {{"causal", true}, {"dilation", std::int64_t{8}}});
        for (const std::int64_t stride : {16, 64})
            add("attention", name + format(", stride {}", stride), {one, one, one},
                {{"causal", true}, {"window_left", stride - 1}, {"stride", stride}});
    }

    // Ops that the models of add_model_cases do not use, at similar sizes.
    void add_others() {
        const TensorType rows{Shape{512, 4096}, f32}, wide{Shape{16, vocabulary}, f32},
            logits{Shape{1, vocabulary}, f32};
        quick("scale", "512x4096", {rows}, {{"factor", 0.5}});
        for (const char* kind : {"gelu_erf", "gelu_tanh", "silu"})
            add("activation", std::string(kind) + " 1024x3072", {{{Shape{1024, 3072}, f32}}},
                {{"kind", std::string(kind)}}, *kind == 's');
        quick("softmax", "16 rows of a vocabulary", {wide}, {{"axis", -1}});
        quick("sparsemax", "8x1024x1024", {{{Shape{8, 1024, 1024}, f32}}});
        quick("entropy", "8x1024x1024", {{{Shape{8, 1024, 1024}, f32}}});
        quick("argmax", "a vocabulary", {logits});
        quick("sampling_probs", "a vocabulary", {logits}, {{"temperature", 0.8}, {"top_p", 0.95}});
        quick("repetition_penalty", "a vocabulary", {logits, {{Shape{(vocabulary + 31) / 32}, u32}}},
              {{"penalty", 1.2}});
        quick("concat", "512+512 rows", {rows, rows});
        quick("columns", "half of 512x4096", {rows}, {{"first", 2048}, {"count", 2048}});
        add("split_heads", "512 rows, 32 heads", {rows}, {{"heads", 32}}, true);
        quick("merge_heads", "512 rows, 32 heads", {{{Shape{32, 512, 128}, f32}}});
        quick("split_qkv", "512 rows, 32 heads", {{{Shape{512, 3 * 4096}, f32}}},
              {{"heads", 32}, {"kv_heads", 32}, {"layout", std::string("concat")}});
        quick("patches", "224x224 of 16x16", {{{Shape{1, 3, 224, 224}, f32}}},
              {{"patch", 16}, {"patch_height", 16}, {"patch_width", 16}});
        const TensorType one{Shape{1, 2048}, f32}, projection{Shape{2048, 2048}, f32}, gate{Shape{8192, 2048}, f32};
        quick("joint_linear", "q, k, v of 2048", {one, projection, projection, projection});
        quick("joint_linear", "silu gate of 8192", {one, gate, gate}, {{"gate", std::string("silu")}});
        const TensorType cache{Shape{2048, 32, 64}, f16};
        quick("dequantize", "keys of 2048 tokens, 8 heads d128, q8_0", {{{Shape{2048, 8, 128}, DType::q8_0}}},
              {{"f16", true}});
        const std::optional<TensorType> none;
        quick("linear_rope_write", "q, k, v of 2048, 32 heads d64",
              {one,
               projection,
               projection,
               projection,
               none,
               none,
               none,
               {{Shape{2048, 64}, f32}},
               {{Shape{STEP_WORDS}, u32}},
               cache,
               cache},
              {{"head_width", std::int64_t{64}}});
        const TensorType channels{Shape{256}, f32};
        quick("batch_norm", "8x256x28x28", {{{Shape{8, 256, 28, 28}, f32}}, channels, channels, channels, channels});
        const TensorType head{Shape{2048, 8, 64}, f32};
        const TensorType tokens{Shape{2048, 1536}, f32}, channels_of{Shape{1536, 16}, f32}, parts{Shape{2048, 16}, f32},
            one_each{Shape{1536}, f32};
        quick("state_space", "1536 channels n2048", {tokens, tokens, channels_of, parts, parts, one_each},
              {{"log_a", true}, {"softplus", true}});
        add("state_space", "1536 complex channels n2048, constant",
            {tokens, one_each, {{Shape{1536, 32, 2}, f32}}, {{Shape{1536, 32, 2}, f32}}, {{Shape{1536, 32, 2}, f32}}});
        quick("causal_conv1d", "1536 channels n2048", {tokens, {{Shape{1536, 4}, f32}}, one_each},
              {{"kind", std::string("silu")}});
        quick("linear_attention", "8 heads d64 n2048", {head, head, head});
        add("linear_attention", "8 heads d64 n2048 causal", {head, head, head}, {{"causal", true}});
        add("linear_attention", "8 heads d64 n2048 causal, not normalised", {head, head, head},
            {{"causal", true}, {"normalise", false}});
        quick("cached_linear_attention", "8 heads d64 n2048 causal", {head, head, head, {{Shape{STEP_WORDS}, u32}}},
              {{"causal", true}});
        const TensorType scored{Shape{128, 256}, f32};
        quick("additive_scores", "128 by 128 of 256", {scored, scored, {{Shape{256}, f32}}});
        add_experts();
        add_recurrent();
        add_taps();
    }

private:
    // Layers of 512 units, and a decoder that aligns itself with 64 source tokens.
    void add_recurrent() {
        const TensorType state{Shape{1, 512}, f32}, step{Shape{STEP_WORDS}, u32};
        for (const std::int64_t n : {1, 128})
            for (const bool small : {true, false}) {
                const std::int64_t units = small ? 128 : 512;
                add("recurrent", format("LSTM of {}, n={}", units, n),
                    {{{Shape{n, 4 * units}, f32}}, {{Shape{4 * units, units}, f32}}, {{Shape{4 * units}, f32}}},
                    {{"cell", std::string("lstm")}}, n == 1);
            }
        quick("alignment", "1 by 64 of 512, additive",
              {state, {{Shape{64, 512}, f32}}, {{Shape{64, 512}, f32}}, {{Shape{512}, f32}}});
        quick("row_before", "a row of 512", {{{Shape{1024, 512}, f32}}, {}, step});
        quick("bigbird_blocks", "64 blocks of 64 tokens", {{{Shape{1, 64, 64}, i32}}, step},
              {{"block_size", std::int64_t{64}}, {"random", std::int64_t{3}}});
        quick("concat", "features of 512 rows", {{{Shape{512, 512}, f32}}, {{Shape{512, 1024}, f32}}}, {{"axis", 1}});
    }

    // A mixture-of-experts layer like Mixtral's at an eighth of its width, and its routing.
    void add_experts() {
        const std::int64_t experts = 8, chosen = 2, width = 512, inner = 1792;
        for (const std::int64_t n : {1, 128, 512}) {
            const std::string name = std::to_string(n) + " rows, 2 of 8 experts";
            const bool is_quick = n == 128;
            const TensorType logits{Shape{n, experts}, f32}, index{Shape{n, chosen}, i32},
                choices{Shape{n * chosen}, i32};
            add("route", name, {logits}, {{"top_k", chosen}, {"renormalise", true}}, is_quick);
            add("sort_by_expert", name, {index}, {{"experts", experts}, {"capacity", std::int64_t{0}}}, is_quick);
            add("load_balance", name, {logits, index}, {}, is_quick);
            add("expert_linear", name,
                {{{Shape{n, width}, f32}},
                 {{Shape{experts, inner, width}, f32}},
                 std::nullopt,
                 index,
                 choices,
                 choices,
                 {{Shape{experts + 2}, i32}}},
                {{"transpose_w", true}}, is_quick);
        }
    }

    // Recorded attention: a window of weights, and the statistics of all heads.
    void add_taps() {
        for (const std::int64_t n : {512, 2048}) {
            const TensorType head{Shape{n, 12, 64}, f32}, lse{Shape{n, 12}, f32};
            const std::string name = format("12 heads d64 n{}", n);
            add("attention_weights", name, {head, head, lse}, {{"causal", true}, {"rows", n}, {"keys", n}}, n == 512);
            add("distance_weights", name, {head, head, lse}, {{"causal", true}, {"largest_distance", 16}}, n == 512);
            Operands types{head, head, lse};
            types.resize(head_statistics_op.operands.size());
            types[ops::head_statistics::tokens_] = {Shape{n, 2}, i32};
            add("head_statistics", name, types, {{"causal", true}, {"rows", n}, {"keys", n}}, n == 512);
        }
    }

    std::vector<BenchCase>& cases_;
};

std::string compact(const Shape& shape) {
    return join(shape.sizes(), "x", [](std::int64_t size) { return std::to_string(size); });
}

// "with bias residual": the optional operands of the call.
std::string with_operands(const OpCall& call) {
    std::string text;
    for (std::size_t i = 1; i < call.inputs.size(); ++i)
        if (call.inputs[i]) text += std::string(text.empty() ? " with " : " ") + call.op->operands[i];
    return text;
}

// A layer calls some ops several times. The first operand and the result distinguish these calls, else optional
// operands, else options.
void make_names_unique(std::vector<BenchCase>& cases) {
    using Suffix = std::string (*)(const OpCall&);
    const Suffix sizes = [](const OpCall& call) {
        return " " + compact(call.in(0).shape) + " to " + compact(call.out(0).shape);
    };
    const Suffix options = [](const OpCall& call) { return " " + call.attrs.print(); };
    for (const Suffix suffix : {sizes, Suffix(with_operands), options}) {
        std::map<std::pair<const OpDef*, std::string>, int> uses;
        for (const BenchCase& one : cases) ++uses[{one.call.op, one.name}];
        for (BenchCase& one : cases)
            if (uses[{one.call.op, one.name}] > 1) one.name += suffix(one.call);
    }
}

}  // namespace

Cost BenchCase::cost() const { return call.op->cost == nullptr ? Cost{} : call.op->cost(call); }

bool BenchCase::operator==(const BenchCase& other) const {
    return call.op == other.call.op && call.attrs == other.call.attrs && call.inputs == other.call.inputs;
}

void add_case(std::vector<BenchCase>& cases, BenchCase one) {
    const auto there = std::ranges::find(cases, one);
    if (there == cases.end())
        cases.push_back(std::move(one));
    else
        there->quick = there->quick || one.quick;
}

std::vector<BenchCase> bench_cases(bool quick) {
    std::vector<BenchCase> all;
    FixedCases fixed(all);
    fixed.add_compared();
    fixed.add_others();
    fixed.add_training();
    add_model_cases(all);
    make_names_unique(all);
    if (quick) std::erase_if(all, [](const BenchCase& one) { return !one.quick; });
    const auto ops = all_ops();
    const auto place = [&](const BenchCase& one) {
        return std::tuple(quick && one.of_model, std::ranges::find(ops, one.call.op) - ops.begin(),
                          one.cost().flops + one.cost().bytes());
    };
    std::ranges::stable_sort(all, {}, place);
    return all;
}

std::string operands_text(const OpCall& call) {
    std::string text;
    for (int i = 0; i < std::ssize(call.inputs); ++i)
        if (call.has(i) && i != call.op->step) text += (text.empty() ? "" : ", ") + call.in(i).text();
    const std::string options = call.attrs.print();
    return text + (options.empty() ? "" : " ") + options;
}

}  // namespace vantage::internal
