// One attention head, step by step: every matrix from what a layer's projections read to the head's output.
//   Q = x W_Q, K = x W_K, V = x W_V;  S = Q Kᵀ;  A = softmax(rules(scale S));  Y = A V
// x, Q, K and V are the device's, S, A and Y are computed from them in double; Y is compared with the device's.
#pragma once

#include <cstdint>

#include "runtime/session/replay.h"
#include "vantage/array.h"
#include "vantage/session.h"

namespace vantage::internal {

struct HeadSteps {
    Array x;               ///< [n, width], of the queries; pre-norm models: after the norm
    Array q, k, v;         ///< [n, D], [m, D], [m, Dv]
    bool rotated = false;  ///< q and k are those after the rotation by position (RoPE)
    double scale = 1;      ///< of the scores, usually 1 / √D
    Array scores;          ///< S [n, m], all of them
    Array ruled;           ///< [n, m]: scale S with what the model adds (soft-cap, biases); -inf where a key is hidden
    bool plain_rules = true;  ///< nothing is added: `ruled` is scale S and the mask
    Array weights;            ///< A [n, m]; a row that sees no key is 0, and a learned sink takes a part of its row
    Array output;             ///< Y [n, Dv]
    double difference = 0;    ///< the largest |Y - Y of the device|
};

/// Throws usage for a model without attention, unsupported for one whose only attention is an alignment.
void require_steps(const Model& model);
/// Runs the input again, node by node. n are the queries, m the keys of `head.kind`. Throws usage for a head that is
/// not there, unsupported for a layer without softmax attention and for global tokens with projections of their own,
/// accuracy where Y is not the device's.
HeadSteps head_steps(const Model& model, SessionOptions options, const ReplayInput& input, const HeadId& head);

/// The stages in which attention can be built up, each one freer than the one before: weights [n, m], among the keys
/// that the model's own attention sees.
///   raw x·x;  one learned metric, (W_Q x)·(W_Q x);  q·k;  softmax(q·k scale), with values of their own
struct AttentionStages {
    Array raw, metric, matched, full;
};
/// Only of attention within one text (n = m).
AttentionStages attention_stages(const HeadSteps& steps);

}  // namespace vantage::internal
