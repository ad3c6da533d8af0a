// Model folders of random weights, of sizes that no test data has: odd head widths, odd vocabularies, long contexts.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/graph/op_def.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/architecture.h"
#include "tests/host/temporary_directory.h"

/// Writes config.json and model.safetensors of `type` into `folder`: weights of deviation 0.1, norm gains near 1.
inline void write_random_model(const std::string& folder, const std::string& config_json, vantage::DType type,
                               unsigned seed) {
    using namespace vantage;
    const ModelConfig config = parse_model_config(config_json, "config.json");
    const Graph graph = build_model(config, {.rows = 1, .context = 16});
    std::mt19937 random(seed);
    std::vector<std::vector<std::byte>> data;
    std::vector<TensorToWrite> tensors;
    const std::string storage = type == DType::f32 ? "F32" : type == DType::f16 ? "F16" : "BF16";
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::weight) continue;
        const bool gain = value.name.find("norm") != std::string::npos || value.name.find("ln_") != std::string::npos;
        std::normal_distribution<double> draw(gain && value.name.find("bias") == std::string::npos ? 1 : 0, 0.1);
        // a stack is as many tensors of the file
        const std::vector<std::string> names = value.parts.empty() ? std::vector{value.name} : value.parts;
        const auto sizes = value.type.shape.sizes().subspan(value.parts.empty() ? 0 : 1);
        for (const std::string& bare : names) {
            HostTensor tensor(TensorType{Shape({sizes.begin(), sizes.end()}), type});
            for (double& x : tensor.data) x = draw(random);
            data.push_back(narrow(tensor));
            const std::string name = checkpoint_prefixes(config, bare).front() + bare;
            tensors.push_back({name, storage, {sizes.begin(), sizes.end()}, {}});
        }
    }
    for (std::size_t i = 0; i < data.size(); ++i) tensors[i].data = data[i];
    write_safetensors(folder + "/model.safetensors", tensors);
    write_file(folder + "/config.json", config_json);
}
