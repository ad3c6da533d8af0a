// ViT's encoder, shared with models that have it as a part, and how an image becomes tokens.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

/// num_channels, image_size, patch_size (`patch` where it is missing).
ImageInput read_image_input(const JsonFields& fields, std::int64_t patch);
/// The sizes of ViT's blocks and of its image.
void read_vit_blocks(const JsonFields& fields, ModelConfig& config);
/// The token `first` of the class, then the patches by the projection of this name, with their `positions` (both of any
/// shape): [1 + patches, width].
Tensor embed_image(ModelBuilder& builder, const std::string& projection, bool bias, Tensor first, Tensor positions);
/// Embeddings and blocks, without the norm behind them: [1 + patches, width].
Tensor vit_blocks(ModelBuilder& builder);

}  // namespace vantage::internal
