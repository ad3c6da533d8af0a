#include "runtime/bench/model_shapes.h"

#include "runtime/base/json.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/shapes.h"
#include "runtime/models/weight_storage.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t longest_context = 32768;

// A run of `rows` tokens at the end of a context of `context` tokens.
struct ModelRun {
    std::int64_t rows, context;
    bool quick = false;
    std::optional<DType> matrices = {};  ///< quantized storage (q8_0, q4_0)
};

struct MeasuredShape {
    const char* name;  ///< name of a NamedShape
    DType weights;     ///< as in its checkpoints, or as most devices run it
    std::vector<ModelRun> runs;
};

const std::vector<MeasuredShape>& measured_shapes() {
    static const std::vector<ModelRun> long_runs{{512, 512},
                                                 {512, 2048},
                                                 {512, 8192},
                                                 {512, longest_context},
                                                 {1, 128},
                                                 {1, 2048},
                                                 {1, 8192},
                                                 {1, longest_context},
                                                 {512, 512, false, DType::q8_0},
                                                 {1, 128, false, DType::q8_0},
                                                 {512, 512, false, DType::q4_0},
                                                 {1, 128, false, DType::q4_0}};
    static const std::vector<MeasuredShape> shapes{
        {"gpt2-small", DType::f32, {{128, 128, true}, {512, 512}, {512, 1024}, {1, 128}, {1, 1024, true}}},
        {"llama-1b", DType::f16, long_runs},
        {"llama-8b", DType::f16, long_runs},
        {"mamba-130m", DType::f32, {{512, 512}, {1, 128}}},
        {"bert-base", DType::f32, {{128, 128}, {512, 512}}}};
    return shapes;
}

std::string name_of(const MeasuredShape& model, const ModelRun& run) {
    std::string name = model.name;
    if (run.matrices) name += std::string(" ") + vantage::name_of(*run.matrices);
    name += " " + std::to_string(run.rows);
    return run.rows == run.context ? name : name + " of " + std::to_string(run.context);
}

/// The graph as in a Plan with precision f16, but without merged projections, which depend on the device.
Graph graph_of(const MeasuredShape& model, const ModelRun& run) {
    const ModelConfig config = shape_of_model(model.name, 1);
    const BuildOptions options{.rows = run.rows, .context = run.context, .record_attention = {}};
    Graph graph =
        build_model(config, options, [&](const std::string&) { return run.matrices ? DType::f16 : model.weights; });
    if (run.matrices) {
        transpose_weights(graph);
        store_matrices(graph, config, *run.matrices);
    }
    fuse(graph);
    allow_f16_operands(graph);
    return graph;
}

void add_calls(std::vector<BenchCase>& cases, const Graph& graph, const std::string& name, bool quick) {
    for (const int node : live_nodes(graph))
        add_case(cases,
                 {.name = name, .call = call_of(graph, at(graph.nodes(), node)), .quick = quick, .of_model = true});
}

void add_run(std::vector<BenchCase>& cases, const MeasuredShape& model, const ModelRun& run) {
    Graph graph = graph_of(model, run);
    add_calls(cases, graph, name_of(model, run), run.quick);
    if (!run.matrices) return;
    allow_int8_operands(graph);  // --precision int8
    add_calls(cases, graph, name_of(model, run) + " int8", run.quick);
}

}  // namespace

ModelConfig shape_of_model(const std::string& name, std::int64_t layers) {
    Json config = Json::parse(shape_named(name).config);
    if (layers > 0) config[config.contains("n_layer") ? "n_layer" : "num_hidden_layers"] = layers;
    return parse_model_config(config.dump(), name);
}

void add_model_cases(std::vector<BenchCase>& cases) {
    for (const MeasuredShape& model : measured_shapes())
        for (const ModelRun& run : model.runs) add_run(cases, model, run);
}

}  // namespace vantage::internal
