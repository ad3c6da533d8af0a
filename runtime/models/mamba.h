// Parts of Mamba's graph that its variants share.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

void read_mamba(const JsonFields& fields, ModelConfig& config);
/// `select` makes the step sizes, B and C of what x_proj says of them; as they are without it.
void build_mamba_with(ModelBuilder& builder, Tensor (*select)(const ModelBuilder& builder, Tensor part));

}  // namespace vantage::internal
