// Published model shapes, for measurements with random weights (Model::random).
#pragma once

#include <span>
#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

struct NamedShape {
    const char* name;
    const char* config;  ///< the fields of the model's config.json that determine its sizes
};
/// gpt2-small, llama-1b, llama-8b, gpt-oss-20b, mamba-130m, bert-base.
std::span<const NamedShape> named_shapes();
/// Throws usage with the list of names.
const NamedShape& shape_named(const std::string& name);

}  // namespace vantage::internal
