// What all decoders share around their blocks: the sequence's tokens and step, the cache, watched rows, the output head.
#pragma once

#include <string>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/graph.h"
#include "vantage/ops.h"

namespace vantage {

/// How a decoder's graph is built.
struct DecoderOptions {
    std::int64_t rows = 1;     ///< tokens of a run
    std::int64_t context = 0;  ///< rows of the cache
    DType cache = DType::f16;
    std::vector<bool> watch;  ///< by layer: keep the rows of Q and the log-sum-exps, so that weights can be asked for
    bool all_logits = false;  ///< the logits of all rows are an output, instead of a drawn token
    bool hidden = false;      ///< the residual stream after each block is an output: "hidden.0" …
};

/// Names of the states and outputs, and the segments of the graph.
namespace decoder_names {
inline const char* tokens = "tokens";  ///< i32 [context]: the whole sequence, host-visible
inline const char* step = "step";      ///< u32 [STEP_WORDS], host-visible
inline const char* seen = "seen";      ///< u32 [vocab / 32]
inline const char* logits = "logits";  ///< f32 [rows, vocab]
std::string keys(std::int64_t layer);
std::string values(std::int64_t layer);
std::string watched_queries(std::int64_t layer);
std::string watched_lse(std::int64_t layer);
std::string hidden(std::int64_t index);
enum : int { body = 0, head = 1 };  ///< segments: everything up to the last block; the output head and the draw
}  // namespace decoder_names

class Decoder {
public:
    Decoder(Graph& graph, const ModelConfig& config, const DecoderOptions& options);

    Graph& graph;
    const ModelConfig& config;
    const DecoderOptions& options;
    Tensor tokens, step;

    /// A linear layer with its bias: x W + b, W [in, out] (GPT-2), or x Wᵀ + b, W [out, in].
    Tensor conv1d(const std::string& name, Tensor x, std::int64_t out);
    Tensor dense(const std::string& name, Tensor x, std::int64_t out, bool bias);
    /// Appends k and v to the cache of `layer` and attends to all of it. q [n, H, D], k and v [n, Hk, D] → [n, H D].
    Tensor attend(std::int64_t layer, Tensor q, Tensor k, Tensor v);
    /// The same with k still to be rotated.
    Tensor attend_rotated(std::int64_t layer, Tensor q, Tensor k, Tensor v, Tensor table);
    /// Notes the residual stream: after the embedding, then after each block but the last.
    void note_hidden(Tensor x);
    /// The final norm, the output layer and the draw of the next token. `norm` makes the final norm of what it is given.
    void finish(Tensor x, const std::function<Tensor(Tensor)>& norm, const std::function<Tensor(Tensor)>& output);

private:
    Tensor attend_cached(std::int64_t layer, Tensor q, Tensor keys, Tensor v);
    std::int64_t noted_ = 0;
};

/// One builder per architecture (gpt2.cpp, llama.cpp). Weights keep their names in the checkpoint without the prefix that
/// some checkpoints have ("transformer.", "model.").
Graph build_gpt2(const ModelConfig& config, const DecoderOptions& options, Graph::WeightTypes types);
Graph build_llama(const ModelConfig& config, const DecoderOptions& options, Graph::WeightTypes types);
Graph build_model(const ModelConfig& config, const DecoderOptions& options, Graph::WeightTypes types = {});

/// Tensors that checkpoints carry beside the weights: masks and frequencies, made by other means here.
bool is_ignored_tensor(const ModelConfig& config, const std::string& name);
/// The prefix that a checkpoint of this architecture may put in front of every name but the output layer's.
std::string checkpoint_prefix(const ModelConfig& config);

}  // namespace vantage
