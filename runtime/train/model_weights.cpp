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

namespace {
bool is_of_pooler(const std::string& tensor) { return tensor.starts_with("pooler."); }
}  // namespace

StartingWeights::StartingWeights(ModelConfig& config, std::uint64_t seed, const std::string& folder,
                                 const std::string& adapters, bool new_output_layer)
    : seed_(seed),
      checkpoint_(std::make_shared<const Checkpoint>(folder, config, adapters)),
      new_output_layer_(new_output_layer) {
    config.absent = checkpoint_->absent();
    if (new_output_layer_) std::erase_if(config.absent, is_of_pooler);
    config_ = config;
}

bool StartingWeights::is_drawn(const std::string& tensor) const {
    if (!checkpoint_) return true;
    if (is_adapter(tensor)) return !checkpoint_->has_adapters();
    return new_output_layer_ &&
           (is_of_output_layer(config_, tensor) || (is_of_pooler(tensor) && !checkpoint_->has(tensor)));
}

std::vector<float> StartingWeights::operator()(const Value& value) const {
    throw_if_interrupted();
    if (is_drawn(value.name)) return initial_values(config_, value, seed_);
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
    // A new output layer needs the prefix of all others, which a model without one may be saved without.
    const bool as_new = !checkpoint_ || (new_output_layer_ && !is_adapter(tensor));
    return as_new ? checkpoint_prefixes(config_, tensor).front() + tensor : checkpoint_->name_of(tensor);
}

void write_model_file(const std::string& path, const std::vector<Value>& weights, const StartingWeights& names,
                      const WeightValues& values) {
    std::vector<TensorToWrite> tensors;
    // Parts of one weight follow one another, so that it is read once.
    const Value* read = nullptr;
    std::vector<float> all;
    for (const Value& value : weights) {
        const std::vector<std::string> parts = tensors_of(value);
        for (std::size_t i = 0; i < parts.size(); ++i)
            tensors.push_back({.name = names.name_in_files(parts[i]),
                               .dtype = "F32",
                               .shape = sizes_in_files(value, value.type.shape),
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
