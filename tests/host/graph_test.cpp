// Graphs: errors that name what is wrong and where, packed weights, and fusion that changes nothing but the speed.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "expect_error.h"
#include "known_configs.h"
#include "made_up_devices.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/merge_projections.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "runtime/ops/matmul.h"
#include "shaders/params/attention.h"
#include "shaders/params/step.h"
#include "vantage/session.h"

using namespace vantage;
using vantage::test::config_of;
using vantage::test::expect_error;
using vantage::test::graphics_card;

namespace {

const Value& value_named(const Graph& graph, const std::string& name) {
    for (const Value& value : graph.values())
        if (value.name == name) return value;
    FAIL("no value is called " << name);
    return graph.values().front();
}

}  // namespace

// ---- errors ---------------------------------------------------------------------------------------------------------

// The names of a model's values are constants, not variables that code could change.
static_assert(std::string_view(model_names::tokens) == "tokens");

TEST_CASE("a window of weights is all rows and keys unless it says otherwise", "[graph]") {
    Graph g;
    const Tensor q = g.input("q", {4, 2, 8}), k = g.input("k", {6, 2, 8}), lse = g.input("lse", {4, 2});
    CHECK(attention_weights(q, k, lse, {.head = 1}).shape() == Shape{4, 6});
    CHECK(attention_weights(q, k, lse, {.head = 1, .first_row = 1, .first_key = 2}).shape() == Shape{3, 4});
    CHECK(attention_weights(q, k, lse, {.rows = 0, .keys = 0}).shape() == Shape{0, 0});
    expect_error(ErrorKind::usage, {"head 5 is outside of 0 … 1"}, [&] { attention_weights(q, k, lse, {.head = 5}); });
    expect_error(ErrorKind::usage, {"3 rows from 3 on, but there are 4"},
                 [&] { attention_weights(q, k, lse, {.first_row = 3, .rows = 3}); });
}

TEST_CASE("shape errors name op, operand, shape and the caller's line", "[graph]") {
    Graph g;
    const Tensor x = g.input("x", {3, 768}), odd = g.input("odd", {512}), q = g.input("q", {5, 6, 32}),
                 k = g.input("k", {7, 4, 32});
    const Tensor ids = g.input("ids", {4}, DType::i32), cube = g.input("cube", {2, 3, 4}),
                 step = g.input("step", {32}, DType::u32), tables = g.input("tables", {2, 1, 1}, DType::i32);
    struct Wrong {
        int line;
        const char* op;
        const char* operand;
        const char* shape;
        std::function<void()> call;
    };
    const AttentionOptions all_summaries{.stride = 4, .summary_keys = 5},
        with_window{.window_left = 2, .stride = 4, .summary_keys = 1},
        two_tables{.block_mask = tables, .block_size = 8};
    const std::vector<Wrong> wrong = {
        {__LINE__, "layer_norm", "gamma", "f32 [512]", [&] { layer_norm(x, odd); }},
        {__LINE__, "rms_norm", "weight", "f32 [512]", [&] { rms_norm(x, odd); }},
        {__LINE__, "matmul", "b is", "f32 [3, 768]", [&] { matmul(x, x); }},
        {__LINE__, "matmul", "bias", "f32 [512]", [&] { linear_transposed(x, x, odd); }},
        {__LINE__, "matmul", "a is", "f32 [512]", [&] { matmul(odd, x); }},
        {__LINE__, "attention", "mask is", "f32 [512]", [&] { attention(q, q, q, {.mask = odd}); }},
        {__LINE__, "attention", "softcap is -1", "0 (none)", [&] { attention(q, q, q, {.softcap = -1}); }},
        {__LINE__, "attention", "dilation is 0", "between 1", [&] { attention(q, q, q, {.dilation = 0}); }},
        {__LINE__, "attention", "stride is -1", "between 0", [&] { attention(q, q, q, {.stride = -1}); }},
        {__LINE__, "attention", "stride is 4", "give window_left", [&] { attention(q, q, q, {.stride = 4}); }},
        {__LINE__, "attention", "summary_keys is 5", "is 4", [&] { attention(q, q, q, all_summaries); }},
        {__LINE__, "attention", "summary_keys", "leave out windows", [&] { attention(q, q, q, with_window); }},
        {__LINE__, "attention", "window_left is -2", "between 0", [&] { attention(q, q, q, {.window_left = -2}); }},
        {__LINE__, "attention", "a block mask", "go together", [&] { attention(q, q, q, {.block_size = 8}); }},
        {__LINE__, "attention", "block_mask is", "i32 [2, 1, 1]", [&] { attention(q, q, q, two_tables); }},
        {__LINE__, "bigbird_blocks", "table is", "i32 [2, 1, 1]", [&] { bigbird_blocks(tables, step, 8, 3); }},
        {__LINE__, "bigbird_blocks", "block_size is 0", "between 1", [&] { bigbird_blocks(tables, step, 0, 3); }},
        {__LINE__, "bigbird_blocks", "random is -1", "between 0", [&] { bigbird_blocks(tables, step, 8, -1); }},
        {__LINE__, "attention", "sinks is", "f32 [512]", [&] { attention(q, q, q, {.sinks = odd}); }},
        {__LINE__, "linear_attention", "k is", "f32 [7, 4, 32]", [&] { linear_attention(q, k, q); }},
        {__LINE__, "patches", "x is f32 [3, 768]", "batch, channels", [&] { patches(x, 2, 2); }},
        {__LINE__, "concat", "a is f32 [3, 768]", "b is f32 [512]", [&] { concat(x, odd); }},
        {__LINE__, "concat", "axis is 2", "f32 [3, 768]", [&] { concat(x, x, 2); }},
        {__LINE__, "recurrent", "w is", "f32 [512]", [&] { recurrent(x, odd, {}); }},
        {__LINE__, "recurrent", "4 gates", "f32 [3, 768]", [&] { recurrent(x, x, {}); }},
        {__LINE__, "alignment", "k is", "f32 [512]", [&] { alignment(x, odd, x); }},
        {__LINE__, "row_before", "state is", "f32 [512]", [&] { row_before(odd, {}, step); }},
        {__LINE__, "attention", "6 query heads", "4 key heads", [&] { attention(q, k, k); }},
        {__LINE__, "attention", "v is", "f32 [5, 6, 32]", [&] { attention(q, k, q); }},
        {__LINE__, "attention", "q is", "f32 [3, 768]", [&] { attention(x, x, x); }},
        {__LINE__, "softmax", "axis is 2", "f32 [3, 768]", [&] { softmax(x, 2); }},
        {__LINE__, "split_heads", "x is", "f32 [3, 768]", [&] { split_heads(x, 5); }},
        {__LINE__, "split_qkv", "x is", "f32 [3, 768]", [&] { split_qkv(x, 5, 5); }},
        {__LINE__, "swiglu", "up is", "f32 [512]", [&] { swiglu(x, odd); }},
        {__LINE__, "add", "b is", "f32 [512]", [&] { add(x, odd); }},
        {__LINE__, "embedding", "ids is", "f32 [512]", [&] { embedding(odd, x); }},
        {__LINE__, "embedding", "positions is", "f32 [2, 3, 4]", [&] { embedding(ids, x, cube); }},
        {__LINE__, "rope", "table is", "f32 [512]", [&] { rope(q, odd, {}); }},
        {__LINE__, "write", "rows is f32 [5, 6, 32]", "f32 [3, 768]", [&] { write(x, q, step); }},
        {__LINE__, "argmax", "x is", "i32 [4]", [&] { argmax(ids); }},
    };
    for (const Wrong& w : wrong) {
        INFO(w.op << " " << w.operand);
        try {
            w.call();
            FAIL_CHECK("nothing was thrown");
        } catch (const Error& error) {
            const std::string message = error.what();
            INFO(message);
            CHECK(error.kind() == ErrorKind::usage);
            CHECK(message.find(std::string("graph_test.cpp:") + std::to_string(w.line) + ": " + w.op + ": ") !=
                  std::string::npos);
            CHECK(message.find(w.operand) != std::string::npos);
            CHECK(message.find(w.shape) != std::string::npos);
            CHECK(message.find('\n') == std::string::npos);
            CHECK(error.where().line == w.line);
        }
    }
    CHECK(g.nodes().empty());  // what was refused left nothing behind
}

TEST_CASE("shape errors say what is wanted, by the function's own names", "[graph]") {
    Graph g;
    const Tensor x = g.input("x", {4, 16}), torch = g.input("torch", {32, 16}), conv = g.input("conv", {16, 32}),
                 other = g.input("other", {5, 7}), q = g.input("q", {4, 2, 8});
    expect_error(ErrorKind::usage,
                 {"graph_test.cpp:",
                  ": linear: weight is f32 [32, 16], wanted [16, out]; [out, in] as in torch: "
                  "linear_transposed"},
                 [&] { linear(x, torch); });
    expect_error(ErrorKind::usage, {": linear_transposed: weight is f32 [16, 32], wanted [out, 16]; [in, out]: linear"},
                 [&] { linear_transposed(x, conv); });
    expect_error(ErrorKind::usage, {": linear: weight is f32 [5, 7], wanted [16, out]"}, [&] { linear(x, other); });
    expect_error(ErrorKind::usage, {"attention_weights: lse is f32 [4, 2, 8], wanted f32 [4, 2]"},
                 [&] { attention_weights(q, q, q, {.rows = 1, .keys = 1}); });
    expect_error(
        ErrorKind::usage,
        {"attention: mask is f32 [4, 16], wanted f32 [4, 4], [2, 4, 4] or [1, 2, 4, 4]; leading sizes may be 1"},
        [&] { attention(q, q, q, {.mask = x}); });
    const Graph::Scope encoder = g.scope("enc", 2);
    expect_error(ErrorKind::usage, {": enc.2.layer_norm: gamma is f32 [5, 7], wanted [16]"},
                 [&] { layer_norm(x, other); });
}

namespace {
namespace two_operands {
VANTAGE_OPERANDS(x_, kv_len_);
}
}  // namespace

TEST_CASE("one list makes the indices and the names of operands", "[graph]") {
    const std::vector<const char*> names = two_operands::operand_names;
    REQUIRE(names.size() == 2);
    CHECK(std::string(names[two_operands::x_]) == "x");
    CHECK(std::string(names[two_operands::kv_len_]) == "kv_len");
    CHECK(matmul_op.operands.size() == 4);
    CHECK(std::string(matmul_op.operands[ops::matmul::residual_]) == "residual");
}

TEST_CASE("specialization constants become words by their ids, and are read back", "[graph]") {
    const params::AttentionWeightsConstants constants{.lanes = 64, .SOFTCAP = 30, .Q_TYPE = 1, .FEATURE = 2};
    const std::vector<std::uint32_t> words = constants;
    REQUIRE(words.size() == 31);  // ids 0 to 30 as GLSL declares them; those between the lists are 0
    CHECK(words[0] == 64);
    CHECK(words[1] == 1);
    CHECK(words[10] == std::bit_cast<std::uint32_t>(30.0f));
    CHECK(words[11] == NO_LIMIT);
    CHECK(words[21] == 2);
    const auto read = params::AttentionWeightsConstants::of(words);
    CHECK(read.SOFTCAP == 30);
    CHECK(read.WINDOW_LEFT == NO_LIMIT);
    CHECK(read.FEATURE == 2);
}

TEST_CASE("an op may have more results than it has states", "[graph]") {
    OpDef op{.name = "five",
             .summary = "",
             .operands = {"state"},
             .infer = [](const OpCall& call) { return std::vector<TensorType>(5, call.in(0)); },
             .reference = nullptr};
    op.alias = {0};
    Graph g;
    const Tensor state = g.state("state", {3}, DType::f32);
    const std::vector<Tensor> results = add_call(g, op, {state}, {}, SourceLocation::here());
    REQUIRE(results.size() == 5);
    CHECK(g.value(results[0].id()).alias == state.id());
    for (std::size_t i = 1; i < 5; ++i) CHECK(g.value(results[i].id()).alias == -1);
    op.alias = {-1, 1};
    expect_error(ErrorKind::usage, {"five: result 1 takes over operand 1"},
                 [&] { add_call(g, op, {state}, {}, SourceLocation::here()); });
    expect_error(ErrorKind::usage, {"five: 2 operands are given, but it takes at most 1"}, [&] {
        add_call(g, op, {state, state}, {}, SourceLocation::here());
    });
}

TEST_CASE("graphs refuse what makes no sense", "[graph]") {
    Graph g, other;
    const Tensor x = g.input("x", {2, 3});
    const auto usage = [](std::initializer_list<const char*> parts, const auto& action) {
        expect_error(ErrorKind::usage, parts, action);
    };
    usage({"x"}, [&] { g.input("x", {2}); });
    usage({"x"}, [&] { g.state("x", {2}, DType::f32); });
    usage({"c", "3 bytes", "f32 [2]"}, [&] { g.constant("c", {2}, DType::f32, std::vector<std::byte>(3)); });
    usage({"another graph"}, [&] { add(x, other.input("x", {2, 3})); });
    usage({"reshape", "[2, 3]", "[7]", "graph_test.cpp"}, [&] { g.reshape(x, {7}); });
    usage({"add", "graph_test.cpp"}, [&] { static_cast<void>(x + g.input("narrow", {2, 2})); });
    g.weight("w", {2, 3});
    usage({"w", "[3, 2]", "[2, 3]", "graph_test.cpp"}, [&] { g.weight("w", {3, 2}); });
    g.output("y", x);
    usage({"y"}, [&] { g.output("y", x); });
    const Attrs attrs{{"scale", std::string("large")}};
    usage({"scale"}, [&] { attrs.number("scale"); });
}

TEST_CASE("names that are not known end in the right kind of error", "[graph]") {
    expect_error(ErrorKind::usage, {"tanhish", "gelu_erf"}, [] { activation_named("tanhish"); });
    expect_error(ErrorKind::usage, {"f64", "f16", "f32"}, [] { precision_named("f64"); });
    expect_error(ErrorKind::unsupported, {"spiral", "linear", "llama3"},
                 [] { rope_frequencies(8, 10000, {.type = "spiral"}); });
    expect_error(ErrorKind::bad_file, {"config", "hyena", "gpt2", "llama"},
                 [] { parse_model_config(R"({"model_type": "hyena"})", "config"); });
    CHECK(find_op("hyena") == nullptr);
}

TEST_CASE("scopes name weights and nodes; the same name is the same weight", "[graph]") {
    Graph g;
    const Tensor x = g.input("x", {2, 4});
    {
        const Graph::Scope block = g.scope("h", 3);
        const Graph::Scope part = g.scope("attn");
        softmax(linear(x, g.weight("w", {4, 4})));
    }
    CHECK(name_of(g, g.nodes()[0]) == "h.3.attn.matmul");
    CHECK(value_named(g, "h.3.attn.w").kind == ValueKind::weight);
    CHECK(g.weight("h.3.attn.w", {4, 4}).id() == g.weight("h.3.attn.w", {4, 4}).id());
    CHECK(name_of(g, g.nodes()[1]) == "h.3.attn.softmax");
}

TEST_CASE("views and states share memory with what they are made from", "[graph]") {
    Graph g;
    const Tensor x = g.input("x", {2, 6}), view = g.reshape(x, {3, 4}), again = g.reshape(view, {12});
    CHECK(g.storage(again.id()) == x.id());
    CHECK(g.reshape(x, {2, 6}).id() == x.id());  // no change, no view
    const Tensor state = g.state("cache", {8, 6}, DType::f16), step = g.state("step", {STEP_WORDS}, DType::u32);
    const Tensor next = write(state, x, step);
    CHECK(next.id() != state.id());
    CHECK(g.storage(next.id()) == state.id());
    CHECK(next.dtype() == DType::f16);
}

// ---- packed weights -------------------------------------------------------------------------------------------------

TEST_CASE("weights [in, out] of linear layers are loaded turned, others are not", "[graph][fuse]") {
    Graph g;
    const Tensor x = g.input("x", {3, 8}), ids = g.input("ids", {3}, DType::i32);
    linear(x, g.weight("packed", {8, 5}));
    linear(relu(x), g.weight("twice", {8, 8}));
    linear(silu(x), g.weight("twice", {8, 8}));
    linear_transposed(x, g.weight("turned already", {5, 8}));
    linear(x, g.weight("both ways", {8, 8}));
    linear_transposed(x, g.weight("both ways", {8, 8}));
    linear(embedding(ids, g.weight("embedded, too", {8, 8})), g.weight("embedded, too", {8, 8}));
    matmul(g.weight("left", {4, 8}), g.input("right", {8, 2}));
    linear(x, g.weight("shown", {8, 2}));
    g.output("w", g.weight("shown", {8, 2}));
    linear(x, g.reshape(g.weight("viewed", {4, 4}), {8, 2}));
    matmul(g.input("batch", {2, 3, 8}), g.weight("three dimensions", {2, 8, 4}));
    linear(x, g.input("no weight", {8, 2}));
    transpose_weights(g);
    const auto transposed = [&](const char* name) { return value_named(g, name).transposed; };
    CHECK(transposed("packed"));
    CHECK(value_named(g, "packed").type.shape == Shape{5, 8});
    CHECK(transposed("twice"));
    for (const char* name :
         {"turned already", "both ways", "embedded, too", "left", "shown", "viewed", "three dimensions", "no weight"}) {
        INFO(name);
        CHECK(!transposed(name));
    }
    CHECK(value_named(g, "shown").type.shape == Shape{8, 2});
    for (const Node& node : g.nodes())
        if (node.op == &matmul_op && g.value(node.inputs[ops::matmul::b_]).transposed)
            CHECK(node.attrs.flag("transpose_b"));
    std::vector<Shape> before, after;
    for (const Value& value : g.values()) before.push_back(value.type.shape);
    transpose_weights(g);  // a second time changes nothing
    for (const Value& value : g.values()) after.push_back(value.type.shape);
    CHECK(before == after);
    for (const Node& node : g.nodes())
        CHECK(node.op->infer(call_of(g, node)).front() == g.value(node.outputs.front()).type);
}

// ---- fusion ---------------------------------------------------------------------------------------------------------

namespace {

std::vector<std::string> fused_of(const std::string& model, std::int64_t rows, bool inspect = false) {
    const ModelConfig config = config_of(model);
    Graph graph = build_model(
        config, {.rows = rows, .context = 64, .record_attention = {}, .all_logits = inspect, .hidden = inspect});
    return fuse(graph);
}

/// Runs a graph by its ops' references, in double.
class Interpreter {
public:
    explicit Interpreter(const Graph& graph) : graph_(graph), data_(graph.values().size()) {}

    HostTensor at(int id) const {
        HostTensor tensor;
        tensor.type = graph_.value(id).type;
        tensor.data = data_[static_cast<std::size_t>(graph_.storage(id))];
        return tensor;
    }
    void set(int id, std::vector<double> data) { data_[static_cast<std::size_t>(id)] = std::move(data); }

    void run() {
        for (const Node& node : graph_.nodes()) {
            std::vector<HostTensor> inputs, outputs;
            for (int id : node.inputs) inputs.push_back(id >= 0 ? at(id) : HostTensor());
            for (int id : node.outputs)
                outputs.push_back(graph_.value(id).alias >= 0 ? at(id) : HostTensor(graph_.value(id).type));
            node.op->reference(internal::call_of(graph_, node), inputs, outputs);
            for (std::size_t i = 0; i < outputs.size(); ++i)
                data_[static_cast<std::size_t>(graph_.storage(node.outputs[i]))] = outputs[i].data;
        }
    }

private:
    const Graph& graph_;
    std::vector<std::vector<double>> data_;
};

/// The same numbers for the same name in every graph; packed weights turned.
std::vector<double> contents(const Value& value) {
    const auto count = static_cast<std::size_t>(value.type.shape.elements());
    std::vector<double> data(count);
    if (value.data) return widen(value.type, value.data()).data;
    std::seed_seq seed(value.name.begin(), value.name.end());
    std::mt19937 random(seed);
    if (value.kind == ValueKind::weight) {
        std::normal_distribution<double> normal(
            value.name.find("norm") != std::string::npos || value.name.find("ln_") != std::string::npos ? 1 : 0, 0.2);
        for (double& x : data) x = normal(random);
    }
    if (value.name == model_names::tokens)
        for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<double>(i * 7 % 50);
    if (value.name == model_names::step) {
        data[STEP_END] = 11;
        data[STEP_LIMIT] = 64;
    }
    if (!value.transposed) return data;
    std::vector<double> turned(count);
    const auto rows = static_cast<std::size_t>(value.type.shape[0]),
               cols = static_cast<std::size_t>(value.type.shape[1]);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) turned[r * cols + c] = data[c * rows + r];
    return turned;
}

/// All outputs and states of a graph after a run, by name.
std::map<std::string, std::vector<double>> results_of(const Graph& graph) {
    Interpreter run(graph);
    for (std::size_t id = 0; id < graph.values().size(); ++id)
        if (const Value& value = graph.values()[id]; value.kind != ValueKind::node && value.alias < 0)
            run.set(static_cast<int>(id), contents(value));
    run.run();
    std::map<std::string, std::vector<double>> results;
    for (const auto& [name, id] : graph.outputs()) results[name] = run.at(id).data;
    for (std::size_t id = 0; id < graph.values().size(); ++id)
        if (graph.values()[id].kind == ValueKind::state)
            results[graph.values()[id].name] = run.at(static_cast<int>(id)).data;
    return results;
}

}  // namespace

TEST_CASE("fused nodes by model", "[graph][fuse]") {
    const std::vector<std::string> gpt2_layer = {"split_qkv + write", "matmul + residual", "matmul + gelu_tanh",
                                                 "matmul + residual"};
    const auto layers = [](const std::string& prefix, int count, const std::vector<std::string>& each) {
        std::vector<std::string> all;
        for (int layer = 0; layer < count; ++layer)
            for (const std::string& name : each) all.push_back(prefix + "." + std::to_string(layer) + "." + name);
        return all;
    };
    const std::vector<std::string> llama_layer = {"rope + write", "matmul + residual", "matmul + residual"};
    const auto llama = [&](const char* model) {  // attention is looked at last
        const int count = static_cast<int>(config_of(model).layers);
        std::vector<std::string> all = layers("layers", count, llama_layer);
        std::ranges::copy(layers("layers", count, {"rope_write + queries and values"}), std::back_inserter(all));
        return all;
    };
    for (std::int64_t rows : {1, 8}) {
        CHECK(fused_of("gpt2", rows) == layers("h", 2, gpt2_layer));
        CHECK(fused_of("mini-world", rows) ==
              layers("h", static_cast<int>(config_of("mini-world").layers), gpt2_layer));
        CHECK(fused_of("llama", rows) == llama("llama"));
        CHECK(fused_of("llama_bf16", rows) == llama("llama_bf16"));
    }
}

TEST_CASE("queries, keys and values are turned and kept together only where they belong together", "[graph][fuse]") {
    struct Layer {
        std::int64_t queries = 4, width = 16;
        bool same_table = true, same_step = true, interleaved = false, shared_values = false, used_before = false;
    };
    const auto joined = [](const Layer& layer) {
        Graph g;
        const auto step = [&](const char* name) { return g.state(name, {STEP_WORDS}, DType::u32, true); };
        const Tensor first = step("step"), second = layer.same_step ? first : step("other"),
                     table = rope_table(g, 32, 16, 10000),
                     other = layer.same_table ? table : rope_table(g, 32, 16, 100), k = g.input("k", {4, 2, 16}),
                     v = g.input("v", {4, 2, 16}),
                     q = rope(g.input("q", {layer.queries, 4, 16}), other,
                              {.interleaved = layer.interleaved, .step = second});
        if (layer.used_before) g.output("early", softmax(q));
        const Tensor keys = write(g.state("k cache", {32, 2, 16}, DType::f32), rope(k, table, {.step = first}), first);
        const Tensor values = layer.shared_values ? keys : write(g.state("v cache", {32, 2, 16}, DType::f32), v, first);
        g.output("o", attention(q, keys, values, {.causal = true, .step = first}).o);
        const std::vector<std::string> fused = fuse(g);
        return std::ranges::any_of(fused, [](const std::string& one) { return one.ends_with("queries and values"); });
    };
    CHECK(joined({}));
    CHECK_FALSE(joined({.queries = 2}));
    CHECK_FALSE(joined({.same_table = false}));
    CHECK_FALSE(joined({.same_step = false}));
    CHECK_FALSE(joined({.interleaved = true}));
    CHECK_FALSE(joined({.shared_values = true}));
    CHECK_FALSE(joined({.used_before = true}));
}

namespace {

/// Heads, and what turns of them, of multiples of 8 features: of gptj pairs of neighbours, of phi and gptj not all.
ModelConfig with_wide_heads(ModelConfig config) {
    if (config.head_width % 8 != 0) config.head_width = config.rotary_width = 16;
    if (config.rotary_width > 0) config.rotary_width = std::max<std::int64_t>(8, config.rotary_width / 8 * 8);
    return config;
}

}  // namespace

TEST_CASE("a fused model computes what the unfused one does", "[graph][fuse]") {
    const auto choose = [](const OpCall& call, const Caps& caps) { return choose_kernel(call, caps); };
    for (const char* model : {"gpt2", "llama", "llama_bf16", "gemma2", "mistral", "gptj", "qwen2", "phi"})
        for (const auto& [rows, inspect] : {std::pair{8, false}, {8, true}, {1, false}}) {
            INFO(model << ", " << rows << (inspect ? " rows, inspected" : " rows"));
            const ModelConfig config = with_wide_heads(config_of(model));
            const BuildOptions options{
                .rows = rows,
                .context = 64,
                .cache = DType::f32,
                .record_attention = std::vector<bool>(static_cast<std::size_t>(config.layers), true),
                .all_logits = inspect,
                .hidden = inspect};
            const Graph plain = build_model(config, options);
            Graph fused = build_model(config, options);
            CHECK(!fuse(fused).empty());
            const std::vector<std::string> merged = merge_projections(fused, graphics_card(), choose);
            const bool rotates =
                std::ranges::any_of(merged, [](const std::string& one) { return one.ends_with("+ rope_write"); });
            CHECK(merged.empty() == (std::string(model) == "gpt2"));
            CHECK(rotates == (rows == 1 && !merged.empty()));
            CHECK(fused.nodes().size() < plain.nodes().size());
            const auto want = results_of(plain), got = results_of(fused);
            REQUIRE(want.size() == got.size());
            for (const auto& [name, values] : want) {
                INFO(name);
                REQUIRE(got.count(name) == 1);
                double worst = 0, largest = 0;
                for (std::size_t i = 0; i < values.size(); ++i) {
                    worst = std::max(worst, std::abs(values[i] - got.at(name)[i]));
                    largest = std::max(largest, std::abs(values[i]));
                }
                CHECK(worst <= 1e-9 * std::max(largest, 1.0));
            }
        }
}

TEST_CASE("what is used elsewhere is not fused away", "[graph][fuse]") {
    Graph g;
    const Tensor x = g.input("x", {4, 8}), w = g.weight("w", {8, 8});
    const Tensor y = linear(x, w);
    g.output("before", y);  // the activation would hide it
    g.output("after", gelu(y));
    const Tensor sum = x + relu(x);
    g.output("sum", sum);
    g.output("normed", layer_norm(sum));
    CHECK(fuse(g) == std::vector<std::string>{"layer_norm + residual"});
    CHECK(g.nodes().size() == 4);
    for (const Node& node : g.nodes()) CHECK(node.op != nullptr);
    for (std::size_t i = 0; i < g.nodes().size(); ++i)
        for (int id : g.nodes()[i].outputs) CHECK(g.value(id).node == static_cast<int>(i));
}
