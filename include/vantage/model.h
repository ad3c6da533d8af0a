// A trained model: its configuration, tokenizer and weights on a device, from a Hugging Face folder.
//
// Threads: any, for all functions. `load` blocks while files are read and memory is allocated; weights are uploaded
// by a thread of its own.
// Errors: as said below. A load that throws leaves nothing behind.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vantage/device.h"
#include "vantage/heads.h"
#include "vantage/lora.h"
#include "vantage/plan.h"
#include "vantage/tokenizer.h"

namespace vantage {

namespace internal {
struct ModelAccess;
}

/// The folder of files that come with the library: models, tables of tuned kernels. VANTAGE_ASSETS names another one.
/// Throws bad_file where there is none.
std::string asset_directory();

/// Sizes of a model that programs ask for; of an encoder–decoder layers and heads are the decoder's.
struct ModelInfo {
    /// The folder's name.
    std::string name;
    std::string directory;
    /// "gpt2", "llama".
    std::string architecture;
    std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_width = 0, inner = 0, vocab = 0, context = 0;
    std::int64_t encoder_layers = 0, encoder_heads = 0;  ///< of an encoder–decoder
    /// By AttentionKind the layers that attend this way, ascending: see layers_of().
    std::array<std::vector<std::int64_t>, 3> attending = {};
    /// Of one of two models whose vectors are compared (CLIP): the factor of the cosine of a text and an image, before
    /// a softmax over texts or images; else 0.
    double pair_scale = 0;
    /// The layers that attend this way, ascending: all of them, none where the model does not attend so, and some of a
    /// hybrid model (Jamba), whose other layers have no heads.
    const std::vector<std::int64_t>& layers_of(AttentionKind kind) const;
    /// Heads of such a layer; 0 where there is none.
    std::int64_t heads_of(AttentionKind kind) const;
    bool attends(AttentionKind kind) const { return !layers_of(kind).empty(); }
    bool attends(std::int64_t layer, AttentionKind kind) const;
    std::uint64_t parameters = 0, weight_bytes = 0;
    std::string weight_types;  ///< "f16", "f32 q8_0"
};

/// How a model is loaded.
struct LoadOptions {
    /// Storage of matrices (linear layers, experts, the table of tokens) where it is not to be the file's: f32, f16,
    /// bf16 or quantized. Norms, biases, positions and routers stay as they are, and so do matrices whose rows do not
    /// divide into blocks of 32, with a line that says so (an error with --strict). Where they do, but not into the
    /// blocks of 256 of q4_k, q5_k and q6_k, matrices become q5_0, q5_1 and q8_0, as llama.cpp's do.
    std::optional<DType> weights = {};
    /// Of a folder with two models (CLIP), the one to load: its text tower or its image tower. Other folders have one.
    Tower tower = Tower::text;
    /// A folder of adapters (adapter_config.json and adapter_model.safetensors, as PEFT and `vantage finetune --lora`
    /// write them) that are computed beside the model's layers, in f32; empty: none. Throws bad_file where they do not
    /// fit, unsupported for other kinds than LORA and for what changes more than linear layers.
    std::string lora = {};
};

/// Weights are shared by all copies and all sessions; the last one frees them. The files must not change while they are
/// loaded: one that shrinks throws bad_file, but other bytes are not noticed.
///
/// Threads: any. A moved-from handle is a copy: it stays valid.
class Model {
public:
    Model(const Model&) = default;
    Model& operator=(const Model&) = default;
    /// Reads config.json, generation_config.json and tokenizer.json where they are there, and model.safetensors or
    /// shards with an index. Throws bad_file or unsupported naming file, tensor and field, out_of_memory with the
    /// numbers. The weights are uploaded in a thread of their own, beside which plans are compiled: what runs first
    /// waits for them, and throws unsupported for one that its storage cannot hold. A folder without a tokenizer still
    /// runs on ids.
    static Model load(const Device& device, const std::string& directory, const LoadOptions& options = {});
    /// A model as `config` (the text of a config.json) describes it, with random weights: for measurements. Matrices
    /// are stored as `weights` and drawn from N(0, 0.02²), so that activations stay finite; gains of norms are 1. They
    /// are made on the device: the host never holds them. The same seed gives the same weights. Throws as `load`.
    static Model random(const Device& device, const std::string& name, const std::string& config,
                        DType weights = DType::f32, std::uint64_t seed = 0);

    /// The small model that comes with the library, in asset_directory()/models/mini-world. Throws bad_file where it is
    /// not found.
    static Model built_in(const Device& device);

    const ModelInfo& info() const;
    bool has_tokenizer() const;
    const Tokenizer& tokenizer() const;  ///< throws bad_file when the folder has none
    const Device& device() const;

private:
    friend struct internal::ModelAccess;
    struct State;
    explicit Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace vantage
