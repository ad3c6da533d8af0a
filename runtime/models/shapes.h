// Models that people know by their sizes: for measurements, with random weights (Model::random).
#pragma once

#include <span>
#include <string>

namespace vantage {

struct NamedShape {
    const char* name;
    const char* config;  ///< as the model's own config.json has it, as far as it matters for the sizes
};
/// gpt2-small, llama-1b, llama-8b, bert-base.
std::span<const NamedShape> named_shapes();
/// Throws usage with the names that there are.
const NamedShape& shape_named(const std::string& name);

}  // namespace vantage
