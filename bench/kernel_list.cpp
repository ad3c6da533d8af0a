// vantage_kernel_list CAPS.json DIR: what the plans of GPT-2 small, Llama 1B, Llama 8B and gpt-oss 20B would dispatch
// on a device with these capabilities (chunks of 1, 8, 128 and 512 rows; weights in f16, bf16, f32, q8_0 and q4_0; a
// cache in f16 and f32) and training steps of the first three, and for every other module the largest test case that
// needs it. Writes each SPIR-V module to DIR/MODULE.spv and prints one line per distinct pipeline: op, kernel, module,
// push constant bytes, subgroup size, specialization constants. No driver is needed.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "runtime/base/at.h"
#include "runtime/base/files.h"
#include "runtime/base/spirv.h"
#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/fuse.h"
#include "runtime/graph/merge_projections.h"
#include "runtime/graph/schedule.h"
#include "runtime/models/model_builder.h"
#include "runtime/models/shapes.h"
#include "runtime/models/weight_storage.h"
#include "runtime/train/training_graph.h"
#include "vantage/error.h"

using namespace vantage;

namespace {

// A layer of a named shape, with the context that most devices can hold.
ModelConfig layer_of(const char* name) {
    ModelConfig config = parse_model_config(shape_named(name).config, name);
    config.layers = 1;
    config.context = std::min<std::int64_t>(config.context, 8192);
    return config;
}

struct Storage {
    DType weights, cache;
};
constexpr Storage storages[] = {{DType::f16, DType::f16}, {DType::bf16, DType::f16}, {DType::f32, DType::f16},
                                {DType::f32, DType::f32}, {DType::q8_0, DType::f16}, {DType::q4_0, DType::f16}};

// Sizes of a step of training.
struct MicroBatch {
    std::int64_t sequences, rows;
};
constexpr MicroBatch batches[] = {{1, 128}, {4, 1024}};

class KernelList {
public:
    KernelList(Caps caps, std::string directory) : caps_(std::move(caps)), directory_(std::move(directory)) {}

    void add_model(const ModelConfig& config) {
        for (const Storage& storage : storages)
            for (std::int64_t rows : {1, 8, 128, 512})
                for (bool logits : {false, true})
                    for (DType operands : {DType::f32, DType::f16, DType::q8_0})
                        if (operands == DType::f32 || storage.cache == DType::f16)
                            add_plan(config, storage, rows, logits, operands);
    }

    // All parameters in f32. With adapters these alone, and the layers' matrices in another type.
    void add_training(const ModelConfig& config, const Graph::WeightTypes& types = {}) {
        for (const auto& [sequences, rows] : batches)
            for (const bool f16 : {false, true})
                for (const bool all_options : {false, true}) {
                    const double dropout = all_options ? 0.1 : 0;
                    TrainingStep step = build_training_step(config,
                                                            {.sequences = sequences,
                                                             .rows = rows,
                                                             .slots = 2,
                                                             .documents = all_options,
                                                             .dropout = dropout,
                                                             .attention_dropout = dropout,
                                                             .f16 = f16,
                                                             .rates = {1e-3F}},
                                                            types);
                    fuse(step.graph);
                    add_dispatches(step.graph);
                }
    }

    void add_adapters(ModelConfig config) {
        config.lora = LoraOptions{};
        for (const DType matrices : {DType::f16, DType::q8_0, DType::q4_0})
            add_training(config, [matrices](const std::string& weight) {
                return weight.ends_with("_proj.weight") ? matrices : DType::f32;
            });
    }

    // Modules that none of these models needs: by the largest test case that a device would run with one.
    void add_rest() {
        for (const OpDef* op : all_ops()) {
            if (op->cases == nullptr) continue;
            std::vector<Case> cases = op->cases();
            std::stable_sort(cases.begin(), cases.end(),
                             [](const Case& a, const Case& b) { return size_of(a) > size_of(b); });
            for (const Case& test : cases) {
                OpCall call = call_of_case(*op, test);
                const Kernel* kernel = choose_kernel(call, caps_);
                for (const Launch& launch : kernel->launch(call, caps_).launches)
                    if (written_.count(launch.shader) == 0) add(op->name, kernel->name, launch);
            }
        }
    }

private:
    static double size_of(const Case& test) {
        double size = 0;
        for (const Case::Input& input : test.inputs)
            if (input.type) size += static_cast<double>(input.type->shape.elements());
        return size;
    }

    static OpCall call_of_case(const OpDef& op, const Case& test) {
        OpCall call{.op = &op, .attrs = test.attrs, .inputs = {}, .outputs = {}};
        for (const Case::Input& input : test.inputs) call.inputs.push_back(input.type);
        call.inputs.resize(op.operands.size());
        call.outputs = op.infer(call);
        return call;
    }

    // The graph as in a Plan that may round operands of matrix products to this type.
    void add_plan(const ModelConfig& config, const Storage& storage, std::int64_t rows, bool logits, DType operands) {
        const BuildOptions options{.rows = rows,
                                   .context = config.context,
                                   .cache = storage.cache,
                                   .record_attention = {true},
                                   .all_logits = logits};
        const bool quantized = is_quantized(storage.weights);  // its matrices; all else is f16
        Graph graph =
            build_model(config, options, [&](const std::string&) { return quantized ? DType::f16 : storage.weights; });
        transpose_weights(graph);
        if (quantized) store_matrices(graph, config, storage.weights);
        fuse(graph);
        if (operands != DType::f32) allow_f16_operands(graph);
        if (operands == DType::q8_0) allow_int8_operands(graph);
        add_dispatches(graph);
    }

    // Those of a fused graph.
    void add_dispatches(Graph& graph) {
        merge_projections(graph, caps_, [](const OpCall& call, const Caps& caps) { return choose_kernel(call, caps); });
        const Schedule schedule = make_schedule(graph, caps_);
        for (const Dispatch& dispatch : schedule.dispatches)
            if (dispatch.node >= 0)
                add(at(graph.nodes(), dispatch.node).op->name, at(schedule.kernels, dispatch.node)->name,
                    dispatch.launch);
            else
                add("grid", "plain", dispatch.launch);
    }

    void add(const std::string& op, const std::string& kernel, const Launch& launch) {
        std::string line = op + "\t" + kernel + "\t" + launch.shader + "\t" + std::to_string(launch.params.size()) +
                           "\t" + std::to_string(launch.subgroup_size) + "\t";
        for (std::size_t i = 0; i < launch.spec.size(); ++i)
            line += (i > 0 ? " " : "") + std::to_string(i) + "=" + std::to_string(launch.spec[i]);
        if (!lines_.insert(line).second) return;
        std::puts(line.c_str());
        const SpirvModule* module = find_spirv(launch.shader);
        if (module == nullptr) throw Error(ErrorKind::failure, std::string("no module ") + launch.shader);
        if (written_.insert(launch.shader).second)
            write_file(directory_ + "/" + launch.shader + ".spv", std::as_bytes(module->code));
    }

    Caps caps_;
    std::string directory_;
    std::set<std::string> lines_, written_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: vantage_kernel_list CAPS.json DIR\n", stderr);
        return exit_code(ErrorKind::usage);
    }
    try {
        KernelList list(caps_from_json(read_file(argv[1])), argv[2]);
        for (const char* name : {"gpt2-small", "llama-1b", "llama-8b"}) {
            list.add_model(layer_of(name));
            list.add_training(layer_of(name));
        }
        list.add_model(layer_of("gpt-oss-20b"));  // experts
        ModelConfig narrow_heads = layer_of("gpt2-small");
        narrow_heads.head_width = 32;
        narrow_heads.heads = narrow_heads.kv_heads = narrow_heads.width / narrow_heads.head_width;
        list.add_training(narrow_heads);
        list.add_adapters(layer_of("llama-1b"));
        list.add_rest();
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "vantage_kernel_list: %s\n", error.what());
        return exit_code(error.kind());
    }
}
