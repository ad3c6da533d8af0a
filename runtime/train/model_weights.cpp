#include "runtime/train/model_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "runtime/train/initial_weights.h"

namespace vantage::internal {

StartingWeights::StartingWeights(ModelConfig& config, const std::string& folder)
    : checkpoint_(std::make_shared<const Checkpoint>(folder, config)) {
    config.absent = checkpoint_->absent();
    config_ = config;
}

std::vector<float> StartingWeights::operator()(const Value& value) const {
    throw_if_interrupted();
    if (!checkpoint_) return initial_values(config_, value, seed_);
    checkpoint_->check_shape(value);
    std::vector<float> all;
    for (const std::string& part : tensors_of(value)) {
        const TensorEntry& entry = checkpoint_->entry(part);
        const HostTensor wide = widen({Shape{entry.elements()}, checkpoint_->dtype(part)}, entry.data.all());
        const auto odd = std::ranges::find_if_not(wide.data, [](double x) { return std::isfinite(x); });
        if (odd != wide.data.end())
            throw bad_file_error("{}: {}: element {} is not finite; is the file damaged?",
                                 checkpoint_->files().file_of(checkpoint_->name_of(part)), checkpoint_->name_of(part),
                                 odd - wide.data.begin());
        all.insert(all.end(), wide.data.begin(), wide.data.end());
    }
    return all;
}

std::string StartingWeights::name_in_files(const std::string& tensor) const {
    return checkpoint_ ? checkpoint_->name_of(tensor) : checkpoint_prefixes(config_, tensor).front() + tensor;
}

std::vector<Value> weights_in_files(const ModelConfig& config) {
    std::vector<Value> all;
    std::set<std::string> names;
    const auto add = [&](bool encoder) {
        const Graph graph =
            build_model(config, {.rows = 1, .context = std::min<std::int64_t>(config.context, 16), .encoder = encoder});
        for (const Value& value : graph.values())
            if (value.kind == ValueKind::weight && names.insert(value.name).second) all.push_back(value);
    };
    add(false);
    if (config.kind == ModelKind::encoder_decoder) add(true);
    return all;
}

void write_model_file(const std::string& path, const std::vector<Value>& weights, const StartingWeights& names,
                      const WeightValues& values) {
    std::vector<TensorToWrite> tensors;
    // Parts of one weight follow one another, so that it is read once.
    const Value* read = nullptr;
    std::vector<float> all;
    for (const Value& value : weights) {
        const std::vector<std::string> parts = tensors_of(value);
        const auto sizes = value.type.shape.sizes().subspan(value.parts.empty() ? 0 : 1);
        for (std::size_t i = 0; i < parts.size(); ++i)
            tensors.push_back({.name = names.name_in_files(parts[i]),
                               .dtype = "F32",
                               .shape = {sizes.begin(), sizes.end()},
                               .make = [&, &value = value, i, count = parts.size()] {
                                   if (std::exchange(read, &value) != &value) all = values(value);
                                   const std::size_t each = all.size() / count;
                                   const auto bytes = std::as_bytes(std::span(all).subspan(i * each, each));
                                   return std::vector<std::byte>(bytes.begin(), bytes.end());
                               }});
    }
    write_safetensors(path, tensors, {{"format", "pt"}});
}

}  // namespace vantage::internal
