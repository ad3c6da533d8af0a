// What all models share around their blocks: the sequence's tokens and step, the cache, watched rows, the output head.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/models/config.h"
#include "runtime/ops/dropout.h"
#include "vantage/graph.h"
#include "vantage/heads.h"
#include "vantage/ops.h"

namespace vantage::internal {

/// Rows of the plans that a prompt is cut for; of an encoder's, which runs in one piece, the second one and its
/// doubles.
inline constexpr std::int64_t chunk_sizes[] = {1, 8, 32, 128, 512};

/// A graph for training: the whole of each sequence in one run, from position 0, without steps and caches. Tokens,
/// token types and lengths are inputs, logits of all rows are an output, and an encoder–decoder's two parts are in one
/// graph.
struct TrainingGraph {
    /// Makes an input of the graph; empty: Graph::input. Inputs come from elsewhere where the host writes ahead.
    std::function<Tensor(const std::string& name, const Shape& shape, DType type)> input = {};
    std::map<std::string, Tensor> offered = {};  ///< what the encoder offers the decoder, by the names of states
    std::vector<std::string> blocks = {};        ///< scopes of the blocks built so far, "h.0." …
    /// Takes the rows x before a language model's output layer, and what makes the logits of any of them. Empty: the
    /// logits of all rows are an output.
    std::function<void(Tensor x, const std::function<Tensor(Tensor)>& logits)> head = {};
    std::vector<Tensor> routers = {};  ///< logits [all rows, experts] of the layers built so far that have experts
    /// Takes the vectors [sequences, features] of the two towers of a pair, and the logit scale's logarithm.
    std::function<void(Tensor texts, Tensor images, Tensor log_scale)> pair = {};
    /// Probabilities of dropout, see ModelBuilder::drop; that of adapters is in ModelConfig::lora. `train` is the state
    /// of the run (shaders/params/train.h); empty where nothing is dropped.
    double dropout = 0, attention_dropout = 0;  ///< the second one is of the weights of attention
    Tensor train = {};
    std::uint64_t seed = 0;
    std::int64_t micro_batches = 1;
    bool documents = false;  ///< attention and positions know the documents of a sequence, model_names::documents
    std::int64_t dropout_sites = 0;  ///< that were built: each draws numbers of its own
};

/// How a model's graph is built.
struct BuildOptions {
    std::int64_t rows = 1;       ///< tokens that a run has of a sequence
    std::int64_t sequences = 1;  ///< lanes: the run's rows are [sequences * rows], one lane after the other
    std::int64_t context = 0;    ///< rows of a sequence's cache
    bool encoder = false;  ///< of an encoder–decoder: the graph of its encoder, whose rows are the text that is read
    DType cache = DType::f16;       ///< storage of keys and values
    DType cache_read = DType::f16;  ///< of a quantised cache: what kernels that do not read it get
    std::vector<bool>
        record_attention;     ///< by layer: keep the rows of Q and the log-sum-exps, so that weights can be asked for
    bool all_logits = false;  ///< the logits of all rows are an output, instead of a drawn token
    bool hidden = false;      ///< the residual stream after each block is an output: "hidden.0" …
    bool token_bias = false;  ///< a number for each token may be added to its logit before a draw
    bool head_mask = false;   ///< the output of every head is multiplied by a state's number: 0 silences it
    /// A row of a state's table is added to the outputs of the heads; not in the graph of `encoder`.
    bool head_shift = false;
    std::int64_t source_context = 0;  ///< of a decoder: rows of what its encoder offers; 0 = as many as `context`
    std::int64_t rope_context = 0;    ///< as SessionOptions has it: LongRoPE's factors are for so long a context
    std::optional<std::int64_t> global_tokens = {};  ///< as SessionOptions has it
    /// Positions of the global tokens in place of `global_tokens`, ascending, where they are not the first ones.
    std::vector<std::int64_t> global_positions = {};
    AttentionVariant variant = {};      ///< as SessionOptions has it
    TrainingGraph* training = nullptr;  ///< null: a graph that sessions run
};

/// Names of the states and outputs, and the segments of the graph.
namespace model_names {
inline constexpr const char* tokens = "tokens";  ///< i32 [sequences, context]: the whole of each, host-visible
inline constexpr const char* step = "step";      ///< u32 [sequences, STEP_WORDS], host-visible
inline constexpr const char* source_tokens = "source.tokens";  ///< the two of an encoder–decoder's encoder
inline constexpr const char* source_step = "source.step";
inline constexpr const char* source_length =
    "source.length";  ///< i32 [sequences]: tokens that the encoder has read; host-visible
/// Of a recurrent encoder that is trained, i32 [all rows]: the row that is as far from the end of its text as this one
/// is from the begin; behind the text the row itself.
inline constexpr const char* source_backwards = "source.backwards";
inline constexpr const char* length = "length";  ///< of an encoder that is trained, i32 [sequences]: tokens of each
/// Of a pair that is trained, i32 [sequences]: the row of each text's end.
inline constexpr const char* ends = "ends";
inline constexpr const char* seen = "seen";  ///< u32 [sequences, vocab / 32]
/// i32 [sequences, context], host-visible: of encoders that tell types apart, and of models with
/// ArchitectureDetails::positions.
inline constexpr const char* types = "token_types";
inline constexpr const char* positions = "position_ids";
/// Of packed documents that are trained, i32 [all rows]: the document of each row, ascending in each sequence, and the
/// row's place in its document plus an offset.
inline constexpr const char *documents = "documents", *document_rows = "document_rows.";
inline constexpr const char* pixels = "pixels";  ///< f32 [1, channels, height, width], of models that see; host-visible
/// f32 [all rows, vocab], [sequences, vocab] of the tokens that are drawn, or [sequences, labels].
inline constexpr const char* logits = "logits";
/// f32 [sequences, width], of encoders that have a pooler; [all rows, width] with ArchitectureDetails::pooled_row.
inline constexpr const char* pooled = "pooled";
/// f32 [all rows, width], of encoders with a norm behind the last block.
inline constexpr const char* last_hidden = "last_hidden";
inline constexpr const char* relation =
    "relation";  ///< f32 [sequences, 2], BERT's: does the second text follow the first?
std::string keys(std::int64_t layer, AttentionKind kind = AttentionKind::self);
std::string values(std::int64_t layer, AttentionKind kind = AttentionKind::self);
std::string global_keys(std::int64_t layer);  ///< of the first rows' own attention, see ModelBuilder::attend
std::string global_values(std::int64_t layer);
/// f32 [sequences * context, key heads]: logarithms of what the cached shares of Performer's features are times.
std::string key_logs(std::int64_t layer, AttentionKind kind = AttentionKind::self);
/// i32 [blocks, blocks], which blocks of tokens see each other (bigbird_table).
inline constexpr const char* blocks = "visible_blocks";
inline constexpr const char* encoder_blocks = "encoder.visible_blocks";
/// i32 [sequences, blocks, blocks], recomputed by each run: how often blocks of tokens see each other (BigBird).
inline constexpr const char* block_counts = "block_counts";
/// i32 [context, context]: whether a query sees a key, of layers that see so many keys before and after a query.
std::string visible_keys(std::int64_t window);
/// f32 [sequences * kept_states(context), …], of state-space layers: the inputs of the convolution, and the state.
std::string conv_inputs(std::int64_t layer);
std::string state_space(std::int64_t layer);
std::string recorded_queries(std::int64_t layer, AttentionKind kind = AttentionKind::self);
std::string recorded_lse(std::int64_t layer, AttentionKind kind = AttentionKind::self);
/// f32: what relative keys add to the scores, by query (and key) and distance, see AttentionRules.
std::string recorded_bias(std::int64_t layer, AttentionKind kind = AttentionKind::self);
std::string recorded_key(std::int64_t layer, AttentionKind kind = AttentionKind::self);  ///< of hard attention
std::string hidden(std::int64_t index);
/// f32 [sequences, vocab], host-visible: what is added to logits.
inline constexpr const char* token_bias = "token_bias";
/// f32 [heads Dv], 1 or 0 for each feature of a head; host-visible. The names begin with `head_masks`.
inline constexpr const char* head_masks = "head_mask.";
std::string head_mask(std::int64_t layer, AttentionKind kind = AttentionKind::self);
/// f32 [2, heads Dv]: what is added at positions where `shifted_rows`, i32 [sequences, context], is 0 and 1;
/// host-visible.
std::string head_shift(std::int64_t layer, AttentionKind kind = AttentionKind::self);
inline constexpr const char* shifted_rows = "shifted_rows";
std::string router(std::int64_t layer);
enum : int { body = 0, head = 1 };  ///< segments: everything up to the last block; the output head and the draw
}  // namespace model_names

/// The words in which builders say what a paper says. Weights are named as in the checkpoint, below the scopes that are
/// open: `name` stands for name.weight and name.bias. Shapes are those of one sequence, n its rows; of several the n
/// rows of each follow one another in the first dimension, and builders need not know.
class ModelBuilder {
public:
    ModelBuilder(Graph& graph, const ModelConfig& config, const BuildOptions& options);
    /// For a part of `whole` that has a config of its own.
    ModelBuilder(const ModelBuilder& whole, const ModelConfig& part)
        : graph(whole.graph), config(part), options(whole.options), tokens(whole.tokens), step(whole.step) {}

    Graph& graph;
    const ModelConfig& config;
    const BuildOptions& options;
    Tensor tokens, step;

    /// Rows of the table `embedding` [vocab, ..] for the run's tokens, times `scale`, plus those of learned
    /// `positions`.
    Tensor embed(Tensor table, Tensor positions = {}, std::int64_t position_offset = 0, double scale = 1);
    /// A constant of whole numbers. The same name gives the same tensor.
    Tensor integers(const std::string& name, std::span<const std::int32_t> values);
    /// Rows of learned positions for the run's tokens: row position + offset.
    Tensor positions(Tensor table, std::int64_t offset);
    /// A linear layer with its bias: x W + b, W [in, out] (GPT-2), or x Wᵀ + b, W [out, in].
    /// With an adapter where config.lora wants one.
    Tensor conv1d(const std::string& name, Tensor x, std::int64_t out);
    Tensor dense(const std::string& name, Tensor x, std::int64_t out, bool bias);
    Tensor layer_norm(const std::string& name, Tensor x);
    Tensor rms_norm(const std::string& name, Tensor x, double weight_offset = 0);
    /// [n, count D] → [n, count, D].
    Tensor heads(Tensor x, std::int64_t count);
    /// The features of heads [n, H, D] turned by their position.
    Tensor rotate(Tensor heads);
    /// Appends k and v to the cache of `layer` and attends to all of it, as config.attention(layer) and
    /// `how` (sinks, biases) say. q [n, H, D], k and v [n, Hk, D] → [n, H D]. With `first`, an encoder's first rows
    /// attend to all keys by projections of their own instead: q [g, H, D], k and v [n, Hk, D]; with
    /// BuildOptions::global_positions the rows at these positions. BuildOptions::variant says how keys are weighed.
    Tensor attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, AttentionOptions how = {}, const QKV& first = {});
    /// The queries of an encoder–decoder's decoder, q [n, H, D], attend to what its encoder offered for `layer` → [n, H
    /// D].
    Tensor cross_attend(std::int64_t layer, Tensor q);
    /// The queries of a recurrent decoder, q [n, A], align with what its encoder offered: keys of A features and values
    /// of `features` → contexts [n, features]. Scores are products, or with w [A] additive.
    Tensor align(Tensor q, std::int64_t features, Tensor w = {});
    /// i32 [sequences]: tokens that the encoder has read.
    Tensor source_length();
    bool trains() const { return options.training != nullptr; }
    /// Dropout where it trains, else x itself: of a sublayer's output in front of its residual sum, and of what goes
    /// into the first block (Vaswani et al. 2017, 5.4).
    Tensor drop(Tensor x);
    /// Of a training run: numbers that the host writes for each micro-batch.
    Tensor training_input(const std::string& name, const Shape& shape, DType type = DType::i32);
    /// Numbers of rows that the host writes: a state of all positions, or the input of a training run.
    Tensor numbers_of_rows(const std::string& name, const Shape& shape, DType type = DType::i32);
    /// In the encoder's graph: keys and values [n, Hk, D] of its last hidden state, for the decoder's `layer`.
    void write_cross_kv(std::int64_t layer, Tensor k, Tensor v);
    /// Throws unsupported where documents are trained that are apart: for layers that carry a state through them.
    void refuse_documents() const;
    /// The table of a recurrent layer's kept states, `row` the shape of one; empty in a training run.
    Tensor kept(const std::string& name, const Shape& row);
    /// Whether the checkpoint has an optional weight (ArchitectureDetails::optional).
    bool has(const std::string& weight) const;
    /// Rows of a training run [sequences * n, …] as [sequences, n, …], for ops that go from row to row, and back. Other
    /// runs have a step, which tells sequences apart.
    Tensor apart(Tensor x) { return trains() ? by_sequence(x) : x; }
    Tensor together(Tensor x) { return trains() ? all_rows(x) : x; }
    /// Notes what the router of a layer says, [n, experts].
    void note_router(std::int64_t layer, Tensor logits);
    /// The blocks of the encoder or of the decoder, each in the scope `name`.LAYER, where its weights are. `block`
    /// returns the residual stream [n, width] behind it. What goes into a block is noted as hidden(layer).
    using Block = std::function<Tensor(std::int64_t layer, Tensor x)>;
    Tensor blocks(const char* name, Tensor x, const Block& block);
    /// The final norm, the output layer and the draw of the next token. `norm` makes the final norm of what it is
    /// given.
    void finish(Tensor x, const std::function<Tensor(Tensor)>& norm, const std::function<Tensor(Tensor)>& output);
    /// The same with a layer norm and the usual output layer, by their names.
    void finish(Tensor x, const char* norm, Tensor embedding, const char* name = "lm_head", bool bias = false);
    /// The tokens' types' rows of a table [types, width].
    Tensor type_embedding(Tensor table) { return by_token(model_names::types, table); }
    /// Rows of learned positions where ArchitectureDetails::positions says which.
    Tensor position_embedding(Tensor table) { return by_token(model_names::positions, table); }
    /// Row 0 of each sequence of x [n, cols] → [1, cols]: what encoders answer from. Or the first `count` rows.
    Tensor first_row(Tensor x) { return first_rows(x, 1); }
    Tensor first_rows(Tensor x, std::int64_t count);
    /// The rows of each sequence at these positions, ascending.
    Tensor rows_at(Tensor x, std::span<const std::int64_t> positions);
    /// An encoder's last hidden state, an output. What its heads make of it comes behind.
    void finish_encoder(Tensor x);
    /// The layer of …ForTokenClassification and …ForQuestionAnswering, an output: a row of logits for each token. Other
    /// heads have none.
    void judge_tokens(Tensor x);
    /// The logits of all rows of x, an output: or TrainingGraph::head makes of them what it likes.
    void give_logits(Tensor x, const std::function<Tensor(Tensor)>& logits);
    /// The usual output layer: the embedding when they are tied, else `name`.
    Tensor output(Tensor x, Tensor embedding, const std::string& name = "lm_head", bool bias = false);

private:
    /// What the next place that drops draws by.
    Tensor drawn(double probability);
    /// y, the result of the linear layer `name` for x, with what its adapter adds.
    Tensor adapted(const std::string& name, Tensor x, Tensor y);
    AttentionKind own() const { return options.encoder ? AttentionKind::encoder : AttentionKind::self; }
    /// Rows of a table for the run's tokens, by numbers that the host writes into the state `name`.
    Tensor by_token(const char* name, Tensor table);
    /// i32 [all rows], of a training run: the position of each row in its sequence or document, plus an offset.
    Tensor row_positions(std::int64_t offset);
    /// Lengths of the texts that attention sees no further than, of an encoder that is trained; else empty.
    Tensor trained_lengths(bool causal);
    /// The state `name` [sequences * context, heads, D] with this run's keys or values in it.
    Tensor cached(const std::string& name, Tensor rows, std::optional<DType> stored = {});
    /// Storage of what an encoder offers: of a source's length, and read through another step, so never quantised.
    DType source_cache() const { return is_quantized(options.cache) ? options.cache_read : options.cache; }
    /// A cache as attention reads it: itself, or as floats where it is quantised and kernels do not read that. `keys`:
    /// the step by which rows hold data; without, all do.
    Tensor readable(Tensor cache, Tensor keys, bool has_kernels = false);
    /// [sequences * n, …] → [sequences, n, …], as attention sees queries and caches, and back.
    Tensor by_sequence(Tensor rows);
    Tensor all_rows(Tensor by_sequence);
    /// x [n, …] with `rows` [g, …] in place of those at these positions of each sequence, ascending.
    Tensor with_rows_at(Tensor x, Tensor rows, std::span<const std::int64_t> positions);
    /// A name for constants that depend on rows and sequences of the run.
    std::string sized(const std::string& name, std::int64_t rows) const;
    /// Attention of each sequence's queries to its own keys.
    AttentionResult attend_rows(Tensor q, Tensor keys, Tensor values, AttentionOptions how);
    bool records(std::int64_t layer) const;
    /// Keeps what the tap makes a layer's weights from. Returns the recorded queries of the whole context.
    Tensor record_attention(std::int64_t layer, AttentionKind kind, Tensor q, const AttentionResult& result);
    /// The heads' outputs [n, H Dv]: those of heads that a state says times 0, and with the row of another one added.
    Tensor changed(std::int64_t layer, AttentionKind kind, Tensor heads);
    /// A state [sequences * rows, heads, width] that the encoder offers the decoder.
    Tensor offered(const std::string& name, std::int64_t heads, std::int64_t width);
    /// What attention computes of a run's queries, and what the tap makes weights from: queries and cached keys.
    struct Seen {
        Tensor q, keys;
        AttentionResult result;
    };
    /// Attention to the cache with k and v of this run in it.
    Seen attend_cached(std::int64_t layer, Tensor q, Tensor k, Tensor v, AttentionOptions how);
    /// Weights of the forms that config.variants lists, below the scope that is open. They are in every graph, so that
    /// the model loads them.
    struct VariantWeights {
        Tensor query, key, key_bias, score;          ///< additive
        Tensor multiplicative;                       ///< [D, D]
        Tensor linformer_key = {}, linformer_value;  ///< of BuildOptions::variant's number of places: [positions, K]
    };
    VariantWeights variant_weights(std::int64_t head_width);
    /// The same as BuildOptions::variant says, one function for each form that is more than an option.
    Seen attend_variant(std::int64_t layer, Tensor q, Tensor k, Tensor v, AttentionOptions how);
    Seen attend_linear(std::int64_t layer, Tensor q, Tensor k, Tensor v, const AttentionOptions& how);
    Seen attend_linformer(Tensor q, Tensor k, Tensor v, const AttentionOptions& how, const VariantWeights& weights);
    Tensor source_length_;
    Tensor blocks_;  ///< of all layers, see model_names::blocks
    std::map<std::string, Tensor> integers_;
};

/// The graph of any architecture. Weights keep their names in the checkpoint without the prefix that some checkpoints
/// have ("transformer.", "model.").
Graph build_model(const ModelConfig& config, const BuildOptions& options, Graph::WeightTypes types = {});
/// Whether rows of keys and values divide into blocks of quantised numbers.
bool can_quantize_cache(const ModelConfig& config);
/// Adds the model, or an encoder–decoder's encoder, to a graph.
void build_into(Graph& graph, const ModelConfig& config, const BuildOptions& options);

}  // namespace vantage::internal
