#include "runtime/models/adapters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/models/architecture.h"
#include "runtime/ops/matmul.h"

namespace vantage {

double LoraOptions::factor() const {
    const auto r = static_cast<double>(rank);
    return alpha / (rslora ? std::sqrt(r) : r);
}

namespace internal {

namespace {

// What chooses experts: in most models transformers has no nn.Linear there, and PEFT adapts nothing else.
bool is_router(const std::string& layer) { return layer.ends_with(".router") || layer.ends_with(".gate"); }

bool is_target(const ModelConfig& config, const std::string& layer, const std::string& target) {
    const std::string weight = layer + ".weight";
    if (target == adapter_names::all_linear) return !is_of_output_layer(config, weight) && !is_router(layer);
    return std::ranges::any_of(checkpoint_prefixes(config, weight), [&](const std::string& prefix) {
        return ("." + prefix + layer).ends_with("." + target);
    });
}

}  // namespace

bool is_adapter(std::string_view weight) {
    return weight.ends_with(adapter_names::down) || weight.ends_with(adapter_names::up);
}

bool is_adapted(const ModelConfig& config, const std::string& layer) {
    return config.lora && std::ranges::any_of(config.lora->targets, [&](const std::string& target) {
               return is_target(config, layer, target);
           });
}

// In the graphs of a model as they are built, only adapters add to a residual within a product.
std::vector<AdaptedLayer> adapted_layers(const ModelConfig& config) {
    std::map<std::string, AdaptedLayer> found;
    for (const bool encoder : {false, true}) {
        if (encoder && config.kind != ModelKind::encoder_decoder) continue;
        const Graph graph =
            build_model(config, {.rows = 1, .context = std::min<std::int64_t>(config.context, 16), .encoder = encoder});
        for (const Node& node : graph.nodes()) {
            std::string name = node.op == &matmul_op ? graph.value(node.inputs[ops::matmul::b_]).name : "";
            if (!name.ends_with(adapter_names::up)) continue;
            const Node& base = at(graph.nodes(), graph.value(node.inputs[ops::matmul::residual_]).node);
            name.resize(name.size() - adapter_names::up.size());
            found[name] = {name, !base.attrs.flag("transpose_b")};
        }
    }
    std::vector<AdaptedLayer> layers;
    for (const auto& [name, layer] : found) layers.push_back(layer);
    return layers;
}

void require_possible_adapters(const ModelConfig& config) {
    const LoraOptions& lora = *config.lora;
    if (lora.rank < 1 || lora.rank > max_adapter_rank || !std::isfinite(lora.alpha))
        throw usage_error("LoRA: rank {} must be from 1 to {}, and alpha {:g} finite", lora.rank, max_adapter_rank,
                          lora.alpha);
    if (lora.targets.empty()) throw usage_error("LoRA: no layer is to be adapted");
    const std::vector<AdaptedLayer> layers = adapted_layers(config);
    ModelConfig every = config;
    every.lora->targets = {adapter_names::all_linear};
    const std::vector<AdaptedLayer> all = adapted_layers(every);
    if (all.empty()) throw usage_error("LoRA: {} has no linear layers that adapters fit", config.architecture);
    for (const std::string& target : lora.targets) {
        if (std::ranges::any_of(layers,
                                [&](const AdaptedLayer& layer) { return is_target(config, layer.name, target); }))
            continue;
        throw usage_error("LoRA: no linear layer of {} is called {}; there are {}, and {} for all of them",
                          config.architecture, target, join(layer_kinds(all)), adapter_names::all_linear);
    }
}

std::vector<std::string> layer_kinds(const std::vector<AdaptedLayer>& layers, int parts) {
    std::set<std::string> kinds;
    for (const AdaptedLayer& layer : layers) {
        std::size_t begin = layer.name.size() + 1;  // behind a dot
        for (int part = 0; part < parts && begin > 0; ++part)
            begin = begin < 2 ? 0 : layer.name.rfind('.', begin - 2) + 1;
        kinds.insert(layer.name.substr(begin));
    }
    return {kinds.begin(), kinds.end()};
}

Initializer adapter_initializer(const NamedTensor& tensor) {
    if (tensor.name.ends_with(adapter_names::down)) return torch_initializer(tensor.shape[-1]);
    return tensor.name.ends_with(adapter_names::up) ? constant_initializer(0) : Initializer();
}

}  // namespace internal

}  // namespace vantage
