// Every op there is. An explicit list: objects that register themselves vanish from static libraries.
#include <array>

#include "runtime/ops/activation.h"
#include "runtime/ops/additive_attention.h"
#include "runtime/ops/argmax.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/attention_weights.h"
#include "runtime/ops/batch_norm.h"
#include "runtime/ops/begin_step.h"
#include "runtime/ops/concat.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/embedding.h"
#include "runtime/ops/entropy.h"
#include "runtime/ops/expert_linear.h"
#include "runtime/ops/head_statistics.h"
#include "runtime/ops/heads.h"
#include "runtime/ops/joint_linear.h"
#include "runtime/ops/last_row.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/linear_attention.h"
#include "runtime/ops/load_balance.h"
#include "runtime/ops/mark_seen.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/patches.h"
#include "runtime/ops/repetition_penalty.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/ops/rope.h"
#include "runtime/ops/route.h"
#include "runtime/ops/sample.h"
#include "runtime/ops/sampling_probs.h"
#include "runtime/ops/softmax.h"
#include "runtime/ops/sort_by_expert.h"
#include "runtime/ops/split_qkv.h"
#include "runtime/ops/swiglu.h"
#include "runtime/ops/write.h"

namespace vantage::internal {

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

}  // namespace vantage::internal
