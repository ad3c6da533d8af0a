// One function per operation: it adds a node to the graph of its operands. Shapes are written [outer, …, inner]; every
// op accumulates in float32 whatever the storage type; results have the storage type of `x` unless said. A shape that
// does not fit throws Error(usage) with the op, the operand, its shape and the caller's line.
//
// Threads: as for the graph that a function adds to: one at a time.
// Errors: usage, with the op, the operand, its shape and the caller's line. The graph is then as it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vantage/graph.h"

namespace vantage {

/// What may follow a linear layer in the same kernel (Φ the normal distribution, σ the logistic function).
/// gelu_erf: x Φ(x) = x (1 + erf(x / √2)) / 2; gelu_tanh: x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2; quick_gelu:
/// x σ(1.702 x) (all three Hendrycks & Gimpel 2016); silu: x σ(x) (Elfwing et al. 2017; swish() has any β); relu:
/// max(x, 0); relu2: its square (So et al. 2021); sigmoid: σ(x); tanh.
enum class Activation : std::uint8_t { none, gelu_erf, gelu_tanh, quick_gelu, silu, relu, relu2, sigmoid, tanh };
const char* name_of(Activation activation);
Activation activation_named(const std::string& name);

// ---- linear algebra -------------------------------------------------------------------------------------------------

/// c = a b; a [.., m, k] (or [.., k, m] with transpose_a), b [.., k, n] (or [.., n, k]); leading dimensions broadcast.
/// The result is activation(alpha a b + bias) + beta residual; bias [n], residual like the result. It has a's storage
/// type.
struct MatmulOptions {
    bool transpose_a = false, transpose_b = false;
    double alpha = 1, beta = 1;
    Activation activation = Activation::none;
    bool f16_operands =
        false;  ///< a and b may be rounded to f16 and so multiplied (CompileOptions::f16_operands: everywhere)
    /// rows of a may be rounded to 8 bits where b is q8_0 or q4_0 (CompileOptions::int8_operands: everywhere)
    bool int8_operands = false;
};
Tensor matmul(Tensor a, Tensor b, MatmulOptions options = {}, Tensor bias = {}, Tensor residual = {},
              SourceLocation where = SourceLocation::here());

/// y = x W + b with x [.., in], W [in, out] (GPT-2's Conv1D), b [out] → y [.., out].
Tensor linear(Tensor x, Tensor weight, Tensor bias = {}, SourceLocation where = SourceLocation::here());
/// y = x Wᵀ + b with x [.., in], W [out, in] (torch.nn.Linear), b [out] → y [.., out].
Tensor linear_transposed(Tensor x, Tensor weight, Tensor bias = {}, SourceLocation where = SourceLocation::here());

// ---- attention ------------------------------------------------------------------------------------------------------

/// softmax(scale q kᵀ + mask) v, in tiles: the matrix of weights is never stored (Vaswani et al. 2017; Dao et al.
/// 2022). q [n, Hq, D], k [m, Hk, D], v [m, Hk, Dv] → o [n, Hq, Dv], each with an optional batch dimension in front;
/// with `heads_first` the layout is [Hq, n, D] … instead. Query head h reads key head h / (Hq / Hk) (GQA, MQA). Causal
/// masks are aligned bottom-right: query i sits at position i + m - n and sees keys j ≤ that. With a `step` (see
/// begin_step) k and v are a cache whose first `keys` rows are valid, query i sits at position `position + i`, and
/// queries from `valid` on see no key. Heads are joined by a linear layer: of [n, Hq Dv] under one W_O, which is the
/// sum of each head's own o_h W_O,h over heads, with the W_O,h stacked (Vaswani et al. 2017; Elhage et al. 2021). lse
/// [n, Hq] is the natural logarithm of the softmax denominator: p_ij = exp(s_ij - lse_i). A row that sees no key gives
/// o = 0 and lse = -inf (with sinks, the sink).
struct AttentionOptions {
    bool causal = false;
    std::optional<double> scale = {};  ///< default 1/sqrt(D)
    bool heads_first = false;
    /// Takes one key: o = v of the largest score, the first of equal ones, and lse is that score. Not with sinks.
    bool hard = false;
    /// Entropies and largest weights of the rows are results, too. Not with `hard`.
    bool statistics = false;
    Tensor step = {};           ///< u32 [Step::size], or of a batch [B, Step::size]: one for each
    bool keys_by_lane = false;  ///< with a step: k and v are made by the run, in the order of its lanes, not a cache
    Tensor kv_len = {};         ///< i32 [batch]: keys from here on are not seen; in place of the step's keys

    // Scores, in this order: scale q·k; softcap tanh(· / softcap) (Gemma 2); + slope_h (j - i), or -slope_h |i - j|
    // where not causal (ALiBi, Press et al. 2021); + mask. A score of -3e38 or less hides its key.
    double softcap = 0;         ///< 0 = none
    Tensor alibi_slopes = {};   ///< f32 [Hq], see alibi_slopes()
    Tensor distance_bias = {};  ///< f32 [2 w + 1, Hq]: + bias[clamp(j - i, -w, w) + w, h] (T5, Raffel et al. 2020)
    Tensor key_bias = {};       ///< f32 [m, Hq]: + bias[j, h]
    /// Relative positions (Shaw, Uszkoreit & Vaswani 2018), tables f32 [2 w + 1, D] of all heads with row r =
    /// clamp(j - i, -w, w) + w: keys become k_j + relative_keys[r], that is + scale q_i·relative_keys[r], which softcap
    /// does not see; with relative_queries + scale k_j·relative_queries[r] (both the same table: BERT's
    /// relative_key_query; apart: Huang et al. 2020), which multiply all rows of k. Not with heads_first;
    /// relative_queries with a step only where each lane is the sequence of its number. Of slopes, biases and relative
    /// keys one at most.
    Tensor relative_keys = {}, relative_queries = {};
    /// f32 [2 w + 1, Dv]: values become v_j + relative_values[r], a second pass over the keys (distance_weights). Of
    /// one sequence without a batch, step, kv_len or heads_first; not with `hard`.
    Tensor relative_values = {};
    /// f32 [D]: scores are Σ_d additive_d tanh(q_id + k_jd) in place of scale q·k, of queries and keys that are
    /// projected before (Bahdanau et al. 2014). Not with `hard`, slopes, biases and relative keys.
    Tensor additive = {};
    Tensor mask = {};   ///< f32 [n, m], [Hq or 1, n, m] or [batch or 1, Hq or 1, n, m]; not with a step
    Tensor sinks = {};  ///< f32 [Hq]: one more logit in the softmax's denominator, without a value; in lse, too

    // Query i sees key j where all of these allow it; i counts on the keys' axis. Tiles of keys that they hide from all
    // of a workgroup's queries are not visited.
    std::optional<std::int64_t> window_left = {}, window_right = {};  ///< i - j ≤ left; j - i ≤ right
    std::int64_t dilation = 1;       ///< (i - j) divisible by it (Yu & Koltun 2016; Beltagy et al. 2020)
    std::int64_t global_tokens = 0;  ///< the first tokens see all and are seen by all, whatever window and dilation say
                                     ///< (Longformer, Beltagy et al. 2020)
    /// Sparse Transformer (Child et al. 2019): besides the window's keys those with (i - j) divisible by it, however
    /// far ("strided"). With summary_keys c > 0 in place of a window ("fixed"): the keys of i's own block of `stride`,
    /// and the last c keys of each block. A key of both counts once.
    std::int64_t stride = 0, summary_keys = 0;
    std::int64_t prefix_len = 0;  ///< the first keys are seen by all, although causal (Raffel et al. 2020)
    /// i32 [⌈m / block_size⌉, ⌈m / block_size⌉], or [B, …] of each sequence of a batch: how often a block of queries
    /// sees a block of keys (BigBird, Zaheer et al. 2020). 0 or less hides the block; where a key is seen c > 1 times
    /// exp(score) counts c times, + ln c.
    Tensor block_mask = {};
    std::int64_t block_size = 0;
    /// i32 [batch, m], or [m] without a batch: only within a segment (packed sequences); not with a step. A query in
    /// front of the first key (more queries than keys) has no block and no segment, and sees nothing.
    Tensor segment_ids = {};
    /// segment_ids ascend, as those of documents one after another do: tiles of queries and keys that share no document
    /// are not visited. Ids that do not ascend give wrong results.
    bool packed = false;

    /// Dropout of the weights in training: o_i = Σ_j r_ij p_ij v_j, with r_ij drawn as 0 or 1 / (1 - probability);
    /// the log-sum-exp is that of all keys. u32 [8], what a Trainer draws by (shaders/params/dropout.h). Not with step,
    /// hard, statistics or relative_values.
    Tensor dropout = {};
};
/// With `statistics` entropy [n, Hq] is -Σ_j p_ij ln p_ij in nats (Shannon 1948) and largest [n, Hq] the largest p_ij;
/// both are 0 for a row that sees no key. They are made in the same pass as o, by all kernels. A sink takes its share
/// of the weights and adds nothing itself. With `hard` key [n, Hq] is the number of the key, -1 for none.
struct AttentionResult {
    Tensor o = {}, lse = {}, entropy = {}, largest = {}, key = {};
};
AttentionResult attention(Tensor q, Tensor k, Tensor v, AttentionOptions options = {},
                          SourceLocation where = SourceLocation::here());

/// Heads of full width, summed: Σ_h softmax(Q_h K_hᵀ) V_h, where V_h is as wide as the model and there is no W_O; the
/// other way to join heads is the linear layer of AttentionOptions. o [(batch,) n, H, D] of attention, or [(batch,) H,
/// n, D] with heads_first → f32 [(batch,) n, D]. Attention's heads are 1024 wide at most.
Tensor sum_heads(Tensor o, bool heads_first = false, SourceLocation where = SourceLocation::here());

/// Linformer (Wang et al. 2020): softmax(scale q (E k)ᵀ) (F v), n K scores in place of n m. The projections of the
/// tokens' axis E = key and F = value are [K, m]; without `value` E serves both. Each projected key mixes all tokens,
/// so that it is for encoders: options that hide or place keys (causal, windows, masks, biases, step) throw usage. The
/// rest as attention.
struct LinformerWeights {
    Tensor key = {}, value = {};
};
AttentionResult linformer_attention(Tensor q, Tensor k, Tensor v, LinformerWeights weights,
                                    const AttentionOptions& options = {},
                                    SourceLocation where = SourceLocation::here());

/// ALiBi's slopes (Press, Smith & Lewis 2021), [heads]: 2^(-8 (h + 1) / heads) for a power of two; for another number
/// those of the power below it, then every other one of the power above.
std::vector<float> alibi_slopes(std::int64_t heads);
/// BigBird's mask of blocks for AttentionOptions::block_mask (Zaheer et al. 2020), [blocks, blocks]: the first `global`
/// blocks see all and are seen by all, each block sees the `window` ones around it, itself among them, and `random`
/// others, or all where there are not so many. The same seed gives the same mask.
struct BigBirdOptions {
    std::int64_t global = 2, window = 3, random = 3;  ///< in blocks; the window is odd, or 0
    /// No block sees a later one, and random ones are of those before: a block's row does not depend on `blocks`.
    bool causal = false;
    std::uint64_t seed = 0;
};
std::vector<std::int32_t> bigbird_block_mask(std::int64_t blocks, const BigBirdOptions& options = {});
/// T5's buckets of relative positions (Raffel et al. 2020), i32 [n, m]: bucket of j - i, half of the buckets exact, the
/// others logarithmic up to max_distance; both directions apart where bidirectional; i and j count from 0. Their rows
/// of a table [buckets, heads] are [n, m, heads]; with the heads in front they are an additive mask for n = m.
std::vector<std::int32_t> t5_relative_buckets(std::int64_t n, std::int64_t m, bool bidirectional,
                                              std::int64_t buckets = 32, std::int64_t max_distance = 128);

/// The weights themselves, for few rows: p_ij = exp(score_ij - lse_i), 0 where masked (the tap of the viewer), by the
/// options that the run had: its rules. Step and sinks are in the log-sum-exp; rows and keys that the run had not are
/// not to be asked for. Throws usage with heads_first or kv_len, which it does not know. q [n, Hq, D], k [m, Hk, D],
/// lse [n, Hq] → p [rows, keys] f32 for one head and a window of rows and keys.
struct AttentionWindow {
    std::int64_t head = 0, first_row = 0, rows = -1, first_key = 0, keys = -1;  ///< -1: all from the first one on
    std::int64_t position = 0;                                                  ///< position of row 0 of q
};
Tensor attention_weights(Tensor q, Tensor k, Tensor lse, AttentionWindow window, const AttentionOptions& options = {},
                         SourceLocation where = SourceLocation::here());
/// Those weights by distance: w_ir = Σ_j p_ij over the keys with clamp(j - i, -reach, reach) + reach = r, where the
/// queries end at the last key → [n, Hq, 2 reach + 1] in q's storage type. Times a table [2 reach + 1, Dv] it is what
/// relative values add. Options as attention_weights takes them.
Tensor distance_weights(Tensor q, Tensor k, Tensor lse, std::int64_t reach, const AttentionOptions& options = {},
                        SourceLocation where = SourceLocation::here());
/// What every head does with every row and every key, in numbers made of those weights one by one; no matrix of them is
/// ever held. Query i sits at position i. tokens i32 [m, 2] are ids and marks (delimiter, word); `factors` f32 [m, Hq],
/// when it is there, multiplies the weights of key j of head h (norm-weighted attention: Kobayashi et al. 2020). → rows
/// f32 [rows, Hq, 26] of the queries from `first_row` on, and keys f32 [4, Hq, keys] summed over them. HeadTable
/// (vantage/session.h) names the numbers that were read: HeadTable{rows, keys, Hq}.row(query, head).induction.
struct HeadNumbers {
    Tensor rows = {}, keys = {};
};
HeadNumbers head_statistics(Tensor q, Tensor k, Tensor lse, Tensor tokens, Tensor factors, std::int64_t first_row,
                            std::int64_t rows, std::int64_t keys, const AttentionOptions& options = {},
                            SourceLocation where = SourceLocation::here());

/// Attention without a softmax, linear in the length (Katharopoulos et al. 2020), as a scan by chunks of 64 tokens:
/// o_i = φ(q_i)ᵀ S / (φ(q_i)ᵀ z + eps), S = Σ_j φ(k_j) v_jᵀ, z = Σ_j φ(k_j), over all tokens, or over j ≤ i when
/// causal; 0 where the denominator is. φ(x) = elu(x) + 1; with elu = false x itself, for features made before, which
/// may not be negative. With normalise = false there is no denominator: o_i = φ(q_i)ᵀ S, and features may have any
/// sign; eps is then 0, and features of only zeros give o = 0. q, k [n, H, D], v [n, H, Dv] → o [n, H, Dv], with a
/// batch in front or heads_first as in attention. The state after the last token: kv = S [H, D, Dv] and k = z [H, D],
/// f32, zeros where there is no token. lse [n, H] = ln(φ(q_i)ᵀ z + eps), or 0 without a denominator: where softmax
/// attention has its log-sum-exp.
struct LinearAttentionOptions {
    bool causal = false, heads_first = false, elu = true, normalise = true;
    double eps = 0;
};
struct LinearAttentionResult {
    Tensor o = {}, state_kv = {}, state_k = {}, lse = {};
};
LinearAttentionResult linear_attention(Tensor q, Tensor k, Tensor v, LinearAttentionOptions options = {},
                                       SourceLocation where = SourceLocation::here());
/// What its weights are, for few rows: p_ij = φ(q_i)·φ(k_j) / exp(lse_i), 0 where masked; rows sum to 1 where eps is 0
/// and the call normalises. As attention_weights in all else.
Tensor linear_attention_weights(Tensor q, Tensor k, Tensor lse, AttentionWindow window,
                                LinearAttentionOptions options = {}, SourceLocation where = SourceLocation::here());

/// linear_attention to the keys of a cache: with a `step` (see begin_step) k and v are a cache as in attention, in its
/// storage and with its grouped heads, and query i sits at position `position + i`; rows that the step has not give 0
/// and -inf. lse_i = ln Σ_j φ(q_i)·φ(k_j). Each run recomputes the sums over all earlier keys from the cache: keys D Dv
/// products, and nothing that a rewind would have to undo. q [(batch,) n, Hq, D], k [(batch,) m, Hk, D], v
/// [(batch,) m, Hk, Dv] → o [(batch,) n, Hq, Dv].
struct CachedLinearAttentionOptions {
    bool causal = false, elu = true;
    Tensor key_log = {};  ///< f32 [(batch,) m, Hk]: the features of a key are e^(key_log_j) φ(k_j)
};
struct CachedLinearAttentionResult {
    Tensor o = {}, lse = {};
};
CachedLinearAttentionResult cached_linear_attention(Tensor q, Tensor k, Tensor v, Tensor step,
                                                    CachedLinearAttentionOptions options = {},
                                                    SourceLocation where = SourceLocation::here());

/// Features with which linear_attention (elu = false) comes to softmax attention in O(n), the nearer the more there
/// are: FAVOR+ (Choromanski et al. 2020). φ(x) = exp(w·x' - |x'|² / 2) / √m for m vectors w, x' = √scale x, so that the
/// mean of φ(q)·φ(k) is exp(scale q·k); those of a query, and those of all keys of a head, are each divided by one
/// number, which the output does not see: with it no exp leaves the range of f32. Hence eps = 0. Keys of a head whose
/// |k|² lie far apart (by more than 170 / scale) can vanish beside the largest. q and k [n, H, D] (or with a batch, or
/// heads_first) f32 → [n, H, m].
struct PerformerOptions {
    std::int64_t features = 256;  ///< m
    std::uint64_t seed = 0;
    std::optional<double> scale = {};  ///< default 1/sqrt(D)
    bool heads_first = false;
};
struct PerformerFeatures {
    Tensor q = {}, k = {};
};
PerformerFeatures performer_features(Tensor q, Tensor k, PerformerOptions options = {},
                                     SourceLocation where = SourceLocation::here());
/// The same of queries and keys apart, for a cache of keys: a query's features, and those of a key as shares, which sum
/// to 1 and fit f16, and the logarithm of what they are times (CachedLinearAttentionOptions::key_log), once for each
/// share. q [.., D] → [.., m]; k [.., D] → shares and log [.., m].
Tensor performer_query_features(Tensor q, PerformerOptions options = {}, SourceLocation where = SourceLocation::here());
struct PerformerKeys {
    Tensor shares = {}, log = {};
};
PerformerKeys performer_key_features(Tensor k, PerformerOptions options = {},
                                     SourceLocation where = SourceLocation::here());
/// The vectors w, [features, width]: each has a normal vector's distribution, and within every `width` of them they are
/// orthogonal. Counted random numbers: the same seed gives the same vectors.
std::vector<float> performer_projection(std::int64_t features, std::int64_t width, std::uint64_t seed);

// ---- state spaces ---------------------------------------------------------------------------------------------------

/// A diagonal state space of each channel, a linear recurrence over the tokens:
///   h_t = exp(Δ_t A) ∘ h_{t-1} + Δ_t B_t x_t,  y_t = Re(C_t · h_t) + D x_t
/// Δ, B and C by token are Mamba's selective form (Gu & Dao 2023), constant ones S4D's (Gu, Gupta, Goel & Ré 2022).
/// Complex numbers are pairs of floats (re, im), as torch.view_as_real has them: of conjugate pairs give one of each
/// and 2 C. B is multiplied by Δ alone (Euler); of constants a zero-order hold is B (exp(Δ A) - 1) / (Δ A) in its
/// place.
/// y has x's storage type; a call without rows gives the state that it began with.
struct StateSpaceWeights {
    Tensor delta = {};      ///< like x, or [channels] where constant
    Tensor a = {};          ///< [channels, N], or complex [channels, N, 2]; N at most 1024
    Tensor b = {}, c = {};  ///< [.., n, N], or [channels, N] where delta is constant; with a 2 behind if a has one
    Tensor d = {};          ///< [channels], may be absent (0)
};
struct StateSpaceOptions {
    bool log_a = false;     ///< A = -exp(a); of a complex one -exp(re) + i im
    bool softplus = false;  ///< Δ = ln(1 + exp(delta))
    /// f32 [channels, N], or [B, channels, N] of a batch, complex ones with a 2 behind: what the first token begins
    /// with; absent: zeros. With a step the table [sequences * rows, channels, N] of kept states, see kept_states().
    Tensor state = {};
    Tensor step = {};
};
/// `state` is the one after the last token, or the table's next version.
struct StateSpaceResult {
    Tensor y = {}, state = {};
};
/// x [n, channels], or [B, n, channels] without a step.
StateSpaceResult state_space(Tensor x, const StateSpaceWeights& weights, const StateSpaceOptions& options = {},
                             SourceLocation where = SourceLocation::here());
/// A causal convolution of each channel by itself (depthwise): y_t = activation(bias + Σ_k w_k x_{t - width + 1 + k}),
/// weight [channels, width] or [channels, 1, width], a width from 2 to 32, bias [channels] or absent. The state is what
/// stands in front of the first row: the last width - 1 inputs f32 [width - 1, channels], the oldest first. It, the
/// step and x are as in state_space.
struct CausalConv1dOptions {
    Activation activation = Activation::none;
    Tensor state = {}, step = {};
};
struct CausalConv1dResult {
    Tensor y = {}, state = {};
};
CausalConv1dResult causal_conv1d(Tensor x, Tensor weight, Tensor bias = {}, const CausalConv1dOptions& options = {},
                                 SourceLocation where = SourceLocation::here());
/// Rows that a table of kept states has for each sequence of so many tokens: the states before positions 128, 256 … and
/// those before the last 4 positions that ran. A run begins with the state before its position, whichever ran before
/// it; the state before position 0 is zero.
std::int64_t kept_states(std::int64_t context);
/// y = x[.., first : first + count], the columns of every row.
Tensor columns(Tensor x, std::int64_t first, std::int64_t count, SourceLocation where = SourceLocation::here());

// ---- attention before the Transformer -------------------------------------------------------------------------------

/// The attentions before the Transformer. q [(batch,) n, Dq], k [(batch,) m, Dk], v [(batch,) m, Dv]; the scores are
/// [(batch,) n, m] (f32 where additive, else q's storage type), p = softmax(scores) over keys, context = p v.
struct ContextResult {
    Tensor context = {}, p = {}, scores = {};
};
/// Bahdanau, Cho & Bengio 2014: s_ij = score·tanh(query q_i + key k_j + bias), query [A, Dq], key [A, Dk], bias and
/// score [A]. Luong's "concat" is the same with the columns of one matrix [A, Dq + Dk] shared out between query and
/// key.
struct AdditiveWeights {
    Tensor query = {}, key = {}, bias = {}, score = {};
};
ContextResult additive_attention(Tensor q, Tensor k, Tensor v, AdditiveWeights weights,
                                 SourceLocation where = SourceLocation::here());
/// Its scores of projected queries and keys: s_ij = Σ_a w_a tanh(q_ia + k_ja), q [(batch,) n, A], k [(batch,) m, A], w
/// [A].
Tensor additive_scores(Tensor q, Tensor k, Tensor w, SourceLocation where = SourceLocation::here());
/// Luong, Pham & Manning 2015: "dot" s_ij = q_i·k_j, or "general" s_ij = q_iᵀ W k_j with a weight [Dq, Dk]; nothing is
/// scaled.
ContextResult luong_attention(Tensor q, Tensor k, Tensor v, Tensor weight = {},
                              SourceLocation where = SourceLocation::here());

/// One step of such an attention for the decoder of a recurrent model, with states of a run: s_ij = q_i·k_j, or with w
/// [A] w·tanh(q_i + k_j); lse_i = ln Σ_j exp s_ij over the sequence's keys; context_i = Σ_j exp(s_ij - lse_i) v_j.
/// Projections are made before; nothing is scaled; widths have no limit. q [n, A], k [m, A], v [m, E] → context [n, E],
/// scores [n, m] (-inf beyond kv_len), lse [n], all f32; 0 and -inf for a query without keys.
struct AlignmentOptions {
    Tensor step = {};    ///< u32 [Step::size], or [S, Step::size]: q, k and v are then S parts of one size
    Tensor kv_len = {};  ///< i32 [S]: keys from here on are not seen
};
struct AlignmentResult {
    Tensor context = {}, scores = {}, lse = {};
};
AlignmentResult alignment(Tensor q, Tensor k, Tensor v, Tensor w = {}, AlignmentOptions options = {},
                          SourceLocation where = SourceLocation::here());

// ---- recurrent layers -----------------------------------------------------------------------------------------------

/// Row by row as torch.nn.RNN (tanh), LSTM and GRU: h_t = cell(x_t, h_{t-1}). x [(batch,) n, gates H] are the rows'
/// products with the input weights and their bias, linear_transposed(rows, w_ih, b_ih); w [gates H, H] and b [gates H]
/// are w_hh and b_hh; gates: 1, 4 (i, f, g, o), 3 (r, z, n). h0 and c0 [batch, H] f32 are the states before the first
/// row, zeros where absent. → h [(batch,) n, H] f32, and of an LSTM c like it. `reverse`: from the last row to the
/// first. With a step of S sequences x is [S n, gates H]; rows that are not valid give 0 and do not count.
enum class RecurrentCell : std::uint8_t { rnn, lstm, gru };
const char* name_of(RecurrentCell cell);
struct RecurrentOptions {
    RecurrentCell cell = RecurrentCell::lstm;
    bool reverse = false;
    Tensor h0 = {}, c0 = {}, step = {};
};
struct RecurrentResult {
    Tensor h = {}, c = {};
};
RecurrentResult recurrent(Tensor x, Tensor w, Tensor b, RecurrentOptions options = {},
                          SourceLocation where = SourceLocation::here());

// ---- normalisation --------------------------------------------------------------------------------------------------

/// y = (x - mean) / sqrt(var + eps) gamma + beta over the last axis (Ba, Kiros & Hinton 2016); var is that of the row,
/// divided by cols, taken about the mean in a second pass. gamma, beta [cols] may be absent (1 and 0).
Tensor layer_norm(Tensor x, Tensor gamma = {}, Tensor beta = {}, double eps = 1e-5,
                  SourceLocation where = SourceLocation::here());
/// y = x / sqrt(mean(x²) + eps) (weight_offset + weight) over the last axis (Zhang & Sennrich 2019; offset 1 is
/// Gemma's).
Tensor rms_norm(Tensor x, Tensor weight = {}, double eps = 1e-6, double weight_offset = 0,
                SourceLocation where = SourceLocation::here());

/// Batch norm by channel of x [N, C, ..] (Ioffe & Szegedy 2015): y = (x - mean) / sqrt(var + eps) gamma + beta, with
/// the running statistics mean and variance [C] f32. In training those of the batch are used (var biased), and the
/// results' mean and variance are the running ones moved towards them: (1 - momentum) running + momentum batch (var
/// unbiased). Running statistics that are states keep them for the next run by write(mean, result.mean), and so for the
/// variance.
struct BatchNormOptions {
    bool training = false;
    double eps = 1e-5, momentum = 0.1;
};
struct BatchNormResult {
    Tensor y = {}, mean = {}, variance = {};
};
BatchNormResult batch_norm(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor variance,
                           BatchNormOptions options = {}, SourceLocation where = SourceLocation::here());

/// Entropy of every row of probabilities in nats: h = -Σ p ln p, 0 ln 0 = 0 (Shannon 1948). p [.., cols] → f32 [..].
Tensor entropy(Tensor p, SourceLocation where = SourceLocation::here());

/// y = exp(scale x - max) / Σ exp(scale x - max) over `axis` (Bridle 1990; the maximum taken off so that no exp
/// overflows); a row of only -inf gives zeros.
Tensor softmax(Tensor x, int axis = -1, double scale = 1, SourceLocation where = SourceLocation::here());
/// y = scale x - max - ln Σ exp(scale x - max) over `axis`; a row of only -inf gives -inf.
Tensor log_softmax(Tensor x, int axis = -1, double scale = 1, SourceLocation where = SourceLocation::here());
/// The distribution nearest to a row: y = max(x - τ, 0) with the τ that makes the row's sum 1 (Martins & Astudillo
/// 2016). Unlike those of softmax its small weights are exactly 0. x [.., cols]; a row of only -inf gives zeros, one
/// with NaN or +inf gives NaN.
Tensor sparsemax(Tensor x, SourceLocation where = SourceLocation::here());

// ---- element by element ---------------------------------------------------------------------------------------------

Tensor add(Tensor a, Tensor b,
           SourceLocation where = SourceLocation::here());  ///< a + b; b may be [cols] or [rows, cols] of a
Tensor mul(Tensor a, Tensor b, SourceLocation where = SourceLocation::here());         ///< a ∘ b, b as in add
Tensor scale(Tensor x, double factor, SourceLocation where = SourceLocation::here());  ///< factor x
Tensor activate(Tensor x, Activation activation, SourceLocation where = SourceLocation::here());
inline Tensor gelu(Tensor x, SourceLocation where = SourceLocation::here()) {
    return activate(x, Activation::gelu_erf, where);
}
inline Tensor gelu_tanh(Tensor x, SourceLocation where = SourceLocation::here()) {
    return activate(x, Activation::gelu_tanh, where);
}
inline Tensor silu(Tensor x, SourceLocation where = SourceLocation::here()) {
    return activate(x, Activation::silu, where);
}
inline Tensor relu(Tensor x, SourceLocation where = SourceLocation::here()) {
    return activate(x, Activation::relu, where);
}
/// x, below 0 α (exp(x) - 1) (Clevert et al. 2016).
Tensor elu(Tensor x, double alpha = 1, SourceLocation where = SourceLocation::here());
/// x σ(β x) (Ramachandran, Zoph & Le 2017): x / 2 for β = 0, silu for 1, and as near to relu as β is large. β is 0, or
/// 1e-30 ≤ |β| ≤ 1e30.
Tensor swish(Tensor x, double beta, SourceLocation where = SourceLocation::here());
/// cap tanh(x / cap) (Gemma Team 2024).
Tensor softcap(Tensor x, double cap, SourceLocation where = SourceLocation::here());
/// activation(gate) ∘ (up + up_offset), of one shape (Shazeer 2020: SwiGLU with silu, GEGLU with gelu). Without `up`
/// the rows of `gate` are [gate | up] of twice the width (Phi-3), or gate and up by turns where `interleaved`.
struct Gating {
    Activation activation = Activation::silu;
    bool interleaved = false;
    double limit = 0;      ///< gate ≤ limit and |up| ≤ limit before anything else (gpt-oss); 0 = none
    double up_offset = 0;  ///< added to up
};
Tensor swiglu(Tensor gate, Tensor up, Gating gating = {}, SourceLocation where = SourceLocation::here());
/// A tensor and the line that names it: a shape error of `x + y` carries the caller's line.
struct LocatedTensor {
    Tensor tensor = {};
    SourceLocation where;
    LocatedTensor(Tensor t, SourceLocation w = SourceLocation::here()) : tensor(t), where(w) {}
};
inline Tensor operator+(Tensor a, LocatedTensor b) { return add(a, b.tensor, b.where); }
inline Tensor operator-(Tensor a, LocatedTensor b) { return add(a, scale(b.tensor, -1, b.where), b.where); }
inline Tensor operator-(LocatedTensor x) { return scale(x.tensor, -1, x.where); }
inline Tensor operator*(Tensor a, LocatedTensor b) { return mul(a, b.tensor, b.where); }
inline Tensor operator*(double factor, LocatedTensor x) { return scale(x.tensor, factor, x.where); }
inline Tensor operator*(Tensor x, double factor) { return scale(x, factor); }

// ---- losses ---------------------------------------------------------------------------------------------------------

/// loss_r = (1 - s) (lse_r - z_r,y) + s (lse_r - mean z_r) + zeta lse_r², the cross-entropy of each row of logits z
/// [rows, classes] with its target y, i32 [first_target + rows, or more]; s smooths labels (Szegedy et al. 2015), zeta
/// is z-loss (Chowdhery et al. 2022). loss and lse = ln Σ exp(z) are f32 [rows]. A row whose target is negative, or no
/// class, does not count: its loss and its gradient are 0.
struct CrossEntropyOptions {
    double label_smoothing = 0, z_loss = 0;
    std::int64_t first_target = 0;  ///< the first row's: logits may be made some rows at a time
};
struct CrossEntropy {
    Tensor loss = {}, lse = {};
};
CrossEntropy cross_entropy(Tensor logits, Tensor targets, CrossEntropyOptions options = {},
                           SourceLocation where = SourceLocation::here());

/// The contrastive loss of pairs (a_i, b_i), rows of a and b [n, d], f32 [1]: the mean of the cross-entropies of scores
/// s_ij = cos(a_i, b_j) / temperature with target i, over rows and over columns (van den Oord et al. 2018; Radford et
/// al. 2021). `scale`, f32 [1], takes the place of 1 / temperature and may be learned. A row of zeros has a cosine
/// of 0.
struct ContrastiveOptions {
    double temperature = 0.07;
    Tensor scale = {};
    Tensor targets = {};  ///< i32 [n]: i, or negative where pair i has no loss of its own, but is a negative of others
    Tensor weights = {};  ///< f32 [n], in place of 1 / n: what each pair's loss is multiplied by
};
Tensor contrastive_loss(Tensor a, Tensor b, ContrastiveOptions options = {},
                        SourceLocation where = SourceLocation::here());

/// The learning rates of steps 1 … n. s is the step, w the warm-up's steps; before its end the rate is rate · s / w.
/// constant: rate; linear: rate max(0, (n - s) / (n - w)); cosine: floor + (rate - floor) (1 + cos(π (s - w) / (n -
/// w))) / 2 (Loshchilov & Hutter 2017); inverse_sqrt: rate √(w / s); noam: width^-0.5 min(s^-0.5, s w^-1.5) times rate,
/// with its own warm-up (Vaswani et al. 2017). Made in double. Throws usage for numbers outside of their range.
enum class RateSchedule : std::uint8_t { constant, linear, cosine, inverse_sqrt, noam };
const char* name_of(RateSchedule schedule);
RateSchedule schedule_named(const std::string& name);
struct RateOptions {
    RateSchedule schedule = RateSchedule::constant;
    double rate = 1e-3, floor = 0;  ///< floor: of cosine
    std::int64_t warmup = 0;
    std::int64_t width = 0;  ///< of noam: features of the model
};
std::vector<float> learning_rates(const RateOptions& options, std::int64_t steps);

// ---- experts --------------------------------------------------------------------------------------------------------

/// p = softmax(logits), logits [n, experts]; index i32 [n, top_k] the largest p, the first of equal ones first; weight
/// f32 [n, top_k] their p, divided by their sum where `renormalise`: the softmax of the chosen logits alone (Shazeer et
/// al. 2017; Fedus et al. 2021 with top_k 1; Jiang et al. 2024). With a step, padding has index -1 and weight 0.
struct Routing {
    Tensor probs = {}, index = {}, weight = {};
};
Routing route(Tensor logits, std::int64_t top_k, bool renormalise, Tensor step = {},
              SourceLocation where = SourceLocation::here());
/// experts Σ_e f_e P_e, f_e the choices of expert e per token, P_e its mean probability → f32 [1]; top_k at best.
/// Padding is left out.
Tensor load_balance(Routing routing, SourceLocation where = SourceLocation::here());

/// The choices of `index` sorted by expert, none dropped but where `capacity` (0 = none) says how many an expert takes:
/// slots i32 [choices], the place among the expert's choices, -1 where dropped; order i32 [choices]; offsets i32
/// [experts + 2].
struct ExpertOrder {
    Tensor index = {}, slots = {}, order = {}, offsets = {};
};
ExpertOrder sort_by_expert(Tensor index, std::int64_t experts, std::int64_t capacity = 0,
                           SourceLocation where = SourceLocation::here());
/// y[c] = x[c / share] W_eᵀ + b_e for choice c and its expert e, 0 where it was dropped. x [rows, in], choices a
/// multiple of the rows; W [experts, out, in] (`transposed`) or [experts, in, out], b [experts, out] → y [choices,
/// out]. Only what is chosen is computed.
Tensor expert_linear(Tensor x, Tensor weight, ExpertOrder to, Tensor bias = {}, bool transposed = true,
                     SourceLocation where = SourceLocation::here());

/// y_t = Σ_c weight_tc expert_e(x_t), expert(x) = down (gating(gate x, up x)), with biases where they are there. x [n,
/// width] → [n, width]. Without `up`, `gate` contains the rows of both, as in swiglu. An expert that all tokens share
/// is a separate dense MLP: add its result.
struct ExpertWeights {
    Tensor gate = {}, up = {},
           down = {};  ///< [experts, inner, width] twice, [experts, width, inner]; or turned, see `transposed`
    Tensor gate_bias = {}, down_bias = {};
};
struct ExpertOptions {
    Gating gating = {};
    bool transposed = true;     ///< weights are [experts, out, in]
    std::int64_t capacity = 0;  ///< choices that an expert takes; 0 = all
};
Tensor mixture_of_experts(Tensor x, Routing routing, const ExpertWeights& weights, const ExpertOptions& options = {},
                          SourceLocation where = SourceLocation::here());

// ---- positions and tokens -------------------------------------------------------------------------------------------

/// y = scale w[ids] (+ positions[position_offset + row]); ids [n] i32, w [vocab, width], positions [ctx, width] → [n,
/// width]. With a `step` row r takes ids[position + r] and positions[position + r] (ids are then all tokens of the
/// sequence; of several sequences ids are [S, n], or [n] for all of them); rows from `valid` on become zero. Ids
/// outside the vocabulary, and positions outside their table, give a row of zeros; callers check them first.
struct EmbeddingOptions {
    double scale = 1;
    std::int64_t position_offset = 0;
    std::int64_t rows = 0;  ///< with a step: rows of the result
    Tensor step = {};
    DType dtype = DType::f32;  ///< of the result, f32 or f16: f32 for a residual stream, whatever the weights are
};
Tensor embedding(Tensor ids, Tensor w, Tensor positions = {}, EmbeddingOptions options = {},
                 SourceLocation where = SourceLocation::here());

/// Angles of rotary positions, made on the host in double: Vulkan's sin and cos are too coarse.
struct RopeScaling {
    std::string type = {};  ///< "" none, "linear", "llama3", "yarn", "longrope"
    double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
    std::int64_t original_context = 8192;
    double beta_fast = 32, beta_slow = 1;
    /// 0: by the factor f above 1, yarn 0.1 ln f + 1, longrope √(1 + ln f / ln original_context).
    double attention_factor = 0;
    bool truncate = true;              ///< yarn: whole bounds of the ramp
    std::vector<double> factors = {};  ///< longrope: one for each pair
    bool operator==(const RopeScaling&) const = default;
};
/// inv_freq_i = theta^(-2i/rotary_dim) (Su et al. 2021), [rotary_dim / 2], scaled by
///   linear: inv_freq / factor (Chen et al. 2023);
///   llama3: / factor where a wave turns less than low_freq_factor times within original_context, as it is above
///           high_freq_factor turns, mixed linearly between (Llama 3.1, Dubey et al. 2024);
///   yarn:   / factor below beta_slow turns, as it is above beta_fast, mixed between (Peng et al. 2023);
///   longrope: / factors[i] (Ding et al. 2024).
/// Throws usage for numbers outside of their range, unsupported for another type.
std::vector<double> rope_frequencies(std::int64_t rotary_dim, double theta, const RopeScaling& scaling = {});
/// The table [positions, rotary_dim]: cos of all angles, then sin, of position p in row p; yarn and longrope multiply
/// both by their attention factor. The same arguments give the same constant.
Tensor rope_table(Graph& graph, std::int64_t positions, std::int64_t rotary_dim, double theta,
                  const RopeScaling& scaling = {});
/// Rotary positions. Rotates the first rotary_dim features of every head: neox layout pairs (i, i + rot/2), interleaved
/// (gptj) pairs (2i, 2i + 1): a' = a cos - b sin, b' = b cos + a sin (Su et al. 2021). x [n, H, D] (or [B, H, n, D]
/// with heads_first); positions [n] i32, or a `step`: row r sits at position + r; with neither row r sits at r. A
/// position that the table does not have gives zeros.
struct RopeOptions {
    bool interleaved = false, heads_first = false;
    Tensor positions = {};
    Tensor step = {};
};
Tensor rope(Tensor x, Tensor table, RopeOptions options, SourceLocation where = SourceLocation::here());

/// Sinusoidal positions [n, dim] (Vaswani et al. 2017), a constant made on the host: sin and cos of p / base^(2i/dim),
/// interleaved, or all sines and then all cosines.
Tensor sinusoidal_positions(Graph& graph, std::int64_t n, std::int64_t dim, double base = 10000,
                            bool interleaved = true);
std::vector<float> sinusoidal_table(std::int64_t n, std::int64_t dim, double base = 10000, bool interleaved = true);

/// An image's patches of h × w as rows: x [B, C, H, W] → [B, H/h W/w, C h w], row by row (Dosovitskiy et al. 2020).
Tensor patches(Tensor x, std::int64_t height, std::int64_t width, SourceLocation where = SourceLocation::here());
/// Their embedding, a convolution whose stride is its size: patches(x, h, w) Wᵀ + b with weight [D, C, h, w], bias [D]
/// → [B, H/h W/w, D].
Tensor patch_embed(Tensor x, Tensor weight, Tensor bias = {}, SourceLocation where = SourceLocation::here());
/// The rows of a and then those of b: a [n, ..], b [m, ..] → [n + m, ..], in b's storage type; or the same along
/// another axis (-1: the last).
Tensor concat(Tensor a, Tensor b, SourceLocation where = SourceLocation::here());
Tensor concat(Tensor a, Tensor b, int axis, SourceLocation where = SourceLocation::here());

/// [.., n, H D] → [.., H, n, D] and back.
Tensor split_heads(Tensor x, std::int64_t heads, SourceLocation where = SourceLocation::here());
Tensor merge_heads(Tensor x, SourceLocation where = SourceLocation::here());
/// GPT-2's packed projection: x [.., n, (Hq + 2 Hk) D] → q [.., n, Hq, D], k [.., n, Hk, D], v [.., n, Hk, D]. Hq may
/// be 0: the keys and values of cross-attention.
/// per_head: the last axis is [head][q | k | v][D] (BLOOM, GPT-NeoX) instead of [q | k | v] of all heads.
struct QKV {
    Tensor q = {}, k = {}, v = {};
};
QKV split_qkv(Tensor x, std::int64_t heads, std::int64_t kv_heads, bool per_head = false,
              SourceLocation where = SourceLocation::here());

// ---- states ---------------------------------------------------------------------------------------------------------

/// How `sample` and `sampling_probs` choose a token.
struct SamplingOptions {
    double temperature = 1;
    std::int64_t top_k = 0;  ///< 0 = all
    double top_p = 1, min_p = 0;
};
/// The step of a sequence: which of its tokens a run works on, and how `sample` draws. In a graph it is a state u32
/// [Step::size], written by the host before the first run: plan.write("step", Step{.end = 12, .limit = 64}.words()).
struct Step {
    static constexpr std::int64_t size = 32;
    std::int64_t position = 0, valid = 0;  ///< of the run: the position of its first row, and its rows
    std::int64_t end = 0;                  ///< tokens that are known, the drawn ones included; a run stops there
    std::int64_t limit = 0;                ///< tokens that fit the caches
    bool done = false;                     ///< draw nothing
    std::uint64_t seed = 0;
    SamplingOptions sampling = {.temperature = 0};
    double repeat_penalty = 1;
    std::vector<std::int32_t> end_tokens = {};  ///< that end the sequence; the first 8 count
    bool biased = false;                        ///< `sample` adds its bias
    /// As a state holds it: u32, floats by their bits. Throws usage for a number that is negative or not finite.
    std::vector<std::int32_t> words() const;
};
/// Moves a step on to the next rows of its sequence: position += valid; valid = min(rows, end - position); keys =
/// position + valid, the rows of a cache that are valid then. A step [S, Step::size] is of S sequences: the rows of a
/// run, and those of a state, are then S parts of one size, and what is [n] of a sequence below is [S, n].
Tensor begin_step(Tensor step, std::int64_t rows, SourceLocation where = SourceLocation::here());
/// The state's next version: row r of `rows` [n, …] goes to row position + r of the state [ctx, …], for r < valid;
/// converts to the state's storage type. Without a step all rows go to the first ones. Returns the state as it is
/// afterwards.
Tensor write(Tensor state, Tensor rows, Tensor step = {}, SourceLocation where = SourceLocation::here());
/// Row position - 1 of the state [ctx, cols], or of each sequence of [S ctx, cols] → f32 [1, cols] or [S, cols]: where
/// a recurrent layer goes on. At position 0 the rows of `initial`, f32 like the result, or zeros.
Tensor row_before(Tensor state, Tensor initial, Tensor step, SourceLocation where = SourceLocation::here());
/// Row valid - 1 of x [n, cols] → [1, cols], or of each sequence [S, cols]: what the next token is computed from.
Tensor last_row(Tensor x, Tensor step, SourceLocation where = SourceLocation::here());
/// Sets the bits of the run's tokens in `seen` [ceil(vocab / 32)] u32; the repetition penalty reads them.
Tensor mark_seen(Tensor seen, Tensor tokens, Tensor step, SourceLocation where = SourceLocation::here());
/// The next version of a table for AttentionOptions::block_mask, i32 [S, blocks, blocks] of a step's S sequences: how
/// often BigBird's blocks see each other in a text of `keys` tokens (Zaheer et al. 2020, without anything random: each
/// of the `random` blocks is block 0, as transformers has it outside of training). The first and the last block see all
/// keys once, others block 0 1 + random times, the last block, their own one and its two neighbours. All see all where
/// keys ≤ (5 + 2 random) block_size. At most 4096 blocks.
Tensor bigbird_blocks(Tensor table, Tensor step, std::int64_t block_size, std::int64_t random,
                      SourceLocation where = SourceLocation::here());

/// argmax over rows: x [rows, cols] → i32 [rows]; the first of equal values.
Tensor argmax(Tensor x, SourceLocation where = SourceLocation::here());
/// Probabilities after temperature → top-k → softmax → top-p → min-p, renormalised: what `sample` draws from.
/// x [rows, cols] f32 → f32 [rows, cols]. top_p keeps the fewest most probable tokens that hold it, min_p those at
/// least min_p times as probable as the first; equal values stay together. Temperature 0 gives 1 for the largest. A
/// probability below 2^-31 of the largest is 0.
Tensor sampling_probs(Tensor logits, SamplingOptions options, SourceLocation where = SourceLocation::here());
/// y_i = x_i / penalty where x_i > 0, x_i penalty where not, for every i whose bit is set in seen (Keskar et al. 2019).
Tensor repetition_penalty(Tensor logits, Tensor seen, double penalty, SourceLocation where = SourceLocation::here());
/// Draws the next token of each sequence from logits [1, vocab] ([S, vocab]) by the step's sampling parameters (bias →
/// penalty → temperature → top-k → softmax → top-p → min-p → draw; temperature 0 = argmax), appends it to tokens [ctx]
/// at `end`, advances `end`, and sets `done` at an end token (1) or a full context (2). `bias` [vocab] ([S, vocab]) f32
/// is added where Step::biased says so. Random numbers are counted: seed and `end` decide. Nothing is drawn when `done`
/// is set already, nor when the run has not come to the last known token (position + valid < end: a prompt in chunks).
/// NaN counts as -inf; where nothing is larger than -inf the token is 0.
struct SampleResult {
    Tensor tokens = {}, step = {};
};
SampleResult sample(Tensor logits, Tensor tokens, Tensor step, Tensor seen, Tensor bias = {},
                    SourceLocation where = SourceLocation::here());

}  // namespace vantage
