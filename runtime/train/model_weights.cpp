#include "runtime/train/model_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"
#include "runtime/train/initial_weights.h"

namespace vantage::internal {

StartingWeights::StartingWeights(ModelConfig& config, std::uint64_t seed, const std::string& folder,
                                 const std::string& adapters)
    : seed_(seed), checkpoint_(std::make_shared<const Checkpoint>(folder, config, adapters)) {
    config.absent = checkpoint_->absent();
    config_ = config;
}

std::vector<float> StartingWeights::operator()(const Value& value) const {
    throw_if_interrupted();
    if (!checkpoint_ || (is_adapter(value.name) && !checkpoint_->has_adapters()))
        return initial_values(config_, value, seed_);
    checkpoint_->check_shape(value);
    std::vector<float> all;
    for (const std::string& part : tensors_of(value)) {
        const TensorEntry& entry = checkpoint_->entry(part);
        const HostTensor wide = widen({Shape{entry.elements()}, checkpoint_->dtype(part)}, entry.data.all());
        const auto odd = std::ranges::find_if_not(wide.data, [](double x) { return std::isfinite(x); });
        if (odd != wide.data.end())
            throw bad_file_error("{}: element {} is not finite; is the file damaged?", checkpoint_->place_of(part),
                                 odd - wide.data.begin());
        all.insert(all.end(), wide.data.begin(), wide.data.end());
    }
    return all;
}

std::string StartingWeights::name_in_files(const std::string& tensor) const {
    return checkpoint_ ? checkpoint_->name_of(tensor) : checkpoint_prefixes(config_, tensor).front() + tensor;
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
