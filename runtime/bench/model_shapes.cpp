// The calls of models: built as the models build them, so that nothing here has to be kept in step with them.
#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/bench/shapes.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/shapes.h"

namespace vantage {

namespace {

constexpr std::int64_t longest_context = 32768;

// A run of `rows` tokens at the end of `context`.
struct ModelRun {
    std::int64_t rows, context;
    bool quick = false;
};

struct MeasuredShape {
    const char* name;  ///< of a NamedShape
    DType weights;     ///< as its checkpoints have them, or as most devices run them
    std::vector<ModelRun> runs;
};

const std::vector<MeasuredShape>& measured_shapes() {
    static const std::vector<ModelRun> long_runs{{512, 512}, {512, 2048}, {512, 8192}, {512, longest_context},
                                                 {1, 128},   {1, 2048},   {1, 8192},   {1, longest_context}};
    static const std::vector<MeasuredShape> shapes{
        {"gpt2-small", DType::f32, {{128, 128, true}, {512, 512}, {512, 1024}, {1, 128}, {1, 1024, true}}},
        {"llama-1b", DType::f16, long_runs},
        {"llama-8b", DType::f16, long_runs},
        {"bert-base", DType::f32, {{128, 128}, {512, 512}}}};
    return shapes;
}

void add_run(std::vector<BenchCase>& cases, const MeasuredShape& model, const ModelRun& run) {
    const ModelConfig config = shape_of_model(model.name, 1);
    const BuildOptions options{.rows = run.rows, .context = run.context, .watch = {}};
    Graph graph = build_model(config, options, [&](const std::string&) { return model.weights; });
    fuse(graph);
    const std::string name = run.rows == run.context ? format("%s %d", model.name, static_cast<int>(run.rows))
                                                     : format("%s %d of %d", model.name, static_cast<int>(run.rows),
                                                              static_cast<int>(run.context));
    for (const int node : live_nodes(graph))
        add_case(cases, {.name = name,
                         .call = call_of(graph, graph.nodes()[static_cast<std::size_t>(node)]),
                         .quick = run.quick,
                         .of_model = true});
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

}  // namespace vantage
