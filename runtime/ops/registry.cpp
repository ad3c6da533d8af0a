// Every op there is. An explicit list: objects that register themselves vanish from static libraries.
#include "runtime/ops/registry.h"

#include <array>

namespace vantage::internal {

std::span<const OpDef* const> all_ops() {
    static constexpr std::array ops = {
        &matmul_op,
        &joint_linear_op,
        &attention_op,
        &attention_weights_op,
        &distance_weights_op,
        &head_statistics_op,
        &linear_attention_op,
        &cached_linear_attention_op,
        &additive_scores_op,
        &state_space_op,
        &state_space_cached_op,
        &causal_conv1d_op,
        &causal_conv1d_cached_op,
        &alignment_op,
        &recurrent_op,
        &route_op,
        &sort_by_expert_op,
        &expert_linear_op,
        &load_balance_op,
        &layer_norm_op,
        &rms_norm_op,
        &batch_norm_op,
        &softmax_op,
        &log_softmax_op,
        &sparsemax_op,
        &entropy_op,
        &add_op,
        &mul_op,
        &scale_op,
        &activation_op,
        &swiglu_op,
        &split_heads_op,
        &merge_heads_op,
        &split_qkv_op,
        &split_qkv_write_op,
        &patches_op,
        &concat_op,
        &columns_op,
        &embedding_op,
        &rope_op,
        &rope_write_op,
        &begin_step_op,
        &write_op,
        &last_row_op,
        &row_before_op,
        &mark_seen_op,
        &bigbird_blocks_op,
        &argmax_op,
        &sampling_probs_op,
        &repetition_penalty_op,
        &sample_op,
    };
    return ops;
}

}  // namespace vantage::internal
