// Parts of Mamba's graph that its variants share.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

/// What a mixer is made of, each under the key that the config.json has for it.
struct MambaKeys {
    const char *states, *conv_width, *conv_bias, *step_rank, *bias;
};
/// The sizes of the mixers, of `channels` channels each.
void read_mixers(const JsonFields& fields, ModelConfig& config, std::int64_t channels, const MambaKeys& keys);
void read_mamba(const JsonFields& fields, ModelConfig& config);

/// Makes the step sizes ("dt"), "b" or "c" of what x_proj says of them.
using Select = Tensor (*)(ModelBuilder& builder, const std::string& name, Tensor part);
/// A layer's mixer in the scope `name` over rows x [n, width], which are already normalised → [n, width]. Without
/// `select` what x_proj says is left as it is.
Tensor mamba_mixer(ModelBuilder& builder, std::int64_t layer, const char* name, Tensor x, Select select);
void build_mamba_with(ModelBuilder& builder, Select select);

/// A_log [channels, states]: A = -1, -2, … for the states of each channel (S4D-Real; Gu et al. 2022).
Initializer initial_decays(const NamedTensor& a_log);
/// Of Mamba and Falcon Mamba.
inline constexpr double mamba_range = 0.1;
Initializer initial_mamba(const ModelConfig& config, const NamedTensor& tensor);

}  // namespace vantage::internal
