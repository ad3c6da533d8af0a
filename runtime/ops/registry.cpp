// Every op there is. An explicit list: objects that register themselves vanish from static libraries.
#include <array>

#include "vantage/op.h"

namespace vantage {

// linear algebra, attention
extern const OpDef matmul_op, joint_linear_op, attention_op, attention_weights_op, head_statistics_op,
    linear_attention_op;
extern const OpDef additive_scores_op;
// experts
extern const OpDef route_op, sort_by_expert_op, expert_linear_op, load_balance_op;
// norms, softmax
extern const OpDef layer_norm_op, rms_norm_op, batch_norm_op, softmax_op, log_softmax_op, entropy_op;
// element by element, heads
extern const OpDef add_op, mul_op, scale_op, activation_op, swiglu_op, split_heads_op, merge_heads_op, split_qkv_op;
extern const OpDef split_qkv_write_op;
extern const OpDef patches_op, concat_op;
// positions, tokens, states, sampling
extern const OpDef embedding_op, rope_op, rope_write_op, begin_step_op, write_op, last_row_op, mark_seen_op;
extern const OpDef argmax_op, sampling_probs_op, repetition_penalty_op, sample_op;

std::span<const OpDef* const> all_ops() {
    static constexpr std::array ops = {
        &matmul_op,
        &joint_linear_op,
        &attention_op,
        &attention_weights_op,
        &head_statistics_op,
        &linear_attention_op,
        &additive_scores_op,
        &route_op,
        &sort_by_expert_op,
        &expert_linear_op,
        &load_balance_op,
        &layer_norm_op,
        &rms_norm_op,
        &batch_norm_op,
        &softmax_op,
        &log_softmax_op,
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
        &embedding_op,
        &rope_op,
        &rope_write_op,
        &begin_step_op,
        &write_op,
        &last_row_op,
        &mark_seen_op,
        &argmax_op,
        &sampling_probs_op,
        &repetition_penalty_op,
        &sample_op,
    };
    return ops;
}

}  // namespace vantage
