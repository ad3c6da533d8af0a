#include "runtime/train/initial_weights.h"

#include <algorithm>
#include <span>

#include "runtime/base/errors.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"

namespace vantage::internal {

namespace {

void zero_row(std::span<float> table, std::int64_t row, std::int64_t width) {
    const auto at = static_cast<std::size_t>(row * width), count = static_cast<std::size_t>(width);
    std::ranges::fill(table.subspan(at, count), 0.f);
}

void initialize(const ModelConfig& config, const NamedTensor& tensor, std::uint64_t seed, std::span<float> values) {
    const InitialWeights& initial = architecture_named(config.architecture, "the model").details.initial;
    Initializer write = adapter_initializer(tensor);
    if (!write) write = variant_initializer(tensor);
    if (!write) write = (initial.rule != nullptr ? initial.rule : default_initializer)(config, tensor);
    write(TensorRandom(seed, tensor.name), values);
    const bool padded = std::ranges::any_of(initial.padded, [&](const char* end) { return tensor.ends_with({end}); });
    if (padded && config.padding_token >= 0 && config.padding_token < tensor.shape[0])
        zero_row(values, config.padding_token, tensor.shape[-1]);
}

}  // namespace

std::vector<float> initial_values(const ModelConfig& config, const Value& weight, std::uint64_t seed) {
    if (weight.kind != ValueKind::weight && weight.kind != ValueKind::state)
        throw usage_error("initial_values: {} is neither a weight nor a state", weight.name);
    const Shape& whole = weight.type.shape;
    const Shape part = weight.parts.empty() ? whole : Shape(whole.sizes().subspan(1));
    const auto count = static_cast<std::size_t>(part.elements());
    std::vector<float> values(static_cast<std::size_t>(whole.elements()));
    std::size_t begin = 0;
    for (const std::string& name : tensors_of(weight)) {
        initialize(config, {name, part}, seed, std::span(values).subspan(begin, count));
        begin += count;
    }
    return values;
}

}  // namespace vantage::internal
