// A sequence and what a model makes of it: tokens in, drawn tokens, logits, hidden states and attention out.
//
// Threads: a Session or Generator belongs to one thread at a time. A call of a second thread meanwhile throws usage.
// Sessions of one model may run in many threads. run(), next() and generate() block until the device is done.
// Errors: as said below. Tokens that were drawn before a call threw stay, and unless the device is lost the next call
// goes on after them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vantage/array.h"
#include "vantage/grammar.h"
#include "vantage/model.h"

namespace vantage {

namespace internal {
class SessionOwner;
class SessionUse;
struct SessionAccess;
}  // namespace internal

/// How the next token is drawn, in this order: repetition penalty, temperature, top-k, softmax, top-p, min-p, draw.
struct Sampling {
    /// 0 = greedy: the most probable token.
    double temperature = 0;
    /// Keep the k most probable tokens; 0 = all.
    std::int64_t top_k = 0;
    /// Keep the smallest set of tokens whose probabilities sum to at least this.
    double top_p = 1;
    /// Keep tokens whose probability is at least this share of the highest one.
    double min_p = 0;
    /// Repetition penalty (Keskar et al. 2019); 1 = none.
    double repeat_penalty = 1;
    /// The same seed, prompt, options, device and driver give the same text, in the same program and alone;
    /// SessionOptions::stable is for everything else.
    std::uint64_t seed = 0;
    /// Continue after the model's end tokens.
    bool ignore_end = false;
    /// Added to logits of tokens before everything else; -infinity: never drawn. This and the penalties below need
    /// SessionOptions::token_bias.
    std::vector<std::pair<std::int32_t, float>> logit_bias = {};
    /// Subtracted from the logits of tokens that were drawn, once and each time that they were.
    double presence_penalty = 0, frequency_penalty = 0;
    /// What the tokens that are drawn must make, from the last `append` on, or from where it was set if that was later.
    /// The sequence ends when the text is whole and nothing can follow.
    std::optional<Grammar> grammar = {};
    /// Tokens that may end a text of the grammar, besides the model's end tokens, such as the end of a chat's turn.
    std::vector<std::int32_t> grammar_ends = {};

    bool uses_bias() const { return !logit_bias.empty() || bias_follows_text(); }
    /// The bias of a token depends on those that were drawn: no token is drawn before the last one is known.
    bool bias_follows_text() const { return presence_penalty != 0 || frequency_penalty != 0 || grammar.has_value(); }
};

/// The sampling of `vantage run` and of Generator where a model recommends none. A Session is greedy by default.
inline const Sampling default_sampling{.temperature = 0.8, .top_p = 0.95};
/// What the model's generation_config.json recommends; default_sampling where it is silent.
Sampling recommended_sampling(const Model& model);

/// f16: the cache is stored in f16, and matrix products may round their operands to it. f32: neither. int8: as f16, and
/// rows that meet weights in q8_0 or q4_0 may be rounded to 8 bits.
enum class Precision : std::uint8_t { f16, f32, int8 };
/// "f16", "f32" or "int8"; throws usage for another name.
Precision precision_named(const std::string& name);
const char* name_of(Precision precision);  ///< "f16", "f32", "int8"

/// Marks of a token for Session::head_statistics; bits that may be combined.
enum TokenMark : std::int32_t { delimiter_mark = 1, word_mark = 2 };

/// A weight and the key that it belongs to; key -1 and weight 0: there is none.
struct WeightOfKey {
    float weight = 0;
    std::int64_t key = -1;
};

/// What a head does with one query: sums over the keys that the query sees. In cross attention every number that
/// depends on positions is 0, and for an image previous, next and repetitions are.
struct HeadRow {
    float total = 0;       ///< sum of the weights: 1, less what a sink takes
    float visible = 0;     ///< keys that the query sees
    float entropy = 0;     ///< in nats
    float distance = 0;    ///< sum of weight times distance |i - j|, of patches that of their centres
    float near = 0;        ///< weight on keys at most 3 away, the query itself included
    float self = 0;        ///< weight on the query itself
    float previous = 0;    ///< weight on the key before it
    float next = 0;        ///< weight on the key after it
    float first = 0;       ///< weight on key 0
    float delimiters = 0;  ///< weight on keys marked delimiter_mark
    float duplicate = 0;   ///< weight on earlier keys with the query's token
    float induction = 0;   ///< weight on keys up to the query whose previous token is the query's
    float repeated = 0;    ///< as duplicate, of keys more than 2 back
    float copied = 0;      ///< as induction, of keys more than 1 back
    float offset = 0;      ///< sum of weight times key - query
    float squared = 0;     ///< sum of weight times squared distance
    WeightOfKey largest;   ///< the largest weight
    WeightOfKey copy;      ///< the largest of those that `copied` sums
    /// Of a token marked word_mark: the largest weights on other words that are neither key 0 nor adjacent.
    std::array<WeightOfKey, 4> links;
};

/// What a head does with one key: the weights that it receives and the number of queries that see it.
struct HeadKey {
    float received = 0, seen = 0;
    /// The same of queries more than 3 positions away.
    float far_received = 0, far_seen = 0;
};

/// Attention of all heads of a layer, summarized by query and by key. The vectors are the device's result, row-major:
/// rows [queries, heads, 28] and keys [4, heads, keys]; `row` and `key` name the numbers.
struct HeadTable {
    std::vector<float> rows, keys;
    std::int64_t heads = 0;
    /// Throw usage for a query, a key or a head that is not in the table.
    HeadRow row(std::int64_t query, std::int64_t head) const;
    HeadKey key(std::int64_t key, std::int64_t head) const;
};

/// A token that may come next.
struct TokenProbability {
    std::int32_t id = 0;
    double probability = 0;
};

/// What is added to the output of a head at one position, before the output projection.
struct HeadShift {
    HeadId head;
    std::int64_t position = 0;
    std::vector<float> values = {};  ///< one for each feature of the head's output; empty: nothing is added
};

struct SessionOptions {
    /// Tokens of a sequence (an image has as many as it has); 0 = what the model allows and the memory holds.
    std::int64_t context = 0;
    /// Upper bound for the context that the session chooses when `context` is 0; 0 = none.
    std::int64_t max_context = 0;
    Precision precision = Precision::f16;
    /// Storage of keys and values: f32, f16, q8_0 or q4_0. Default: f32 in precision f32, else f16. q8_0 and q4_0 take
    /// 8.5 and 4.5 bits a number, a block of 32 with one scale, and change what attention reads by up to 1/254 and 1/8
    /// of the largest number of a block. Sessions that record attention keep floats.
    std::optional<DType> cache = {};
    /// The results of a sequence depend only on its own tokens, its sampling and these options, to the last bit: not on
    /// the other sequences of a batch, not on `context`, and not on what ran before. Prompts run in chunks that begin
    /// at multiples of 128 tokens (of 32, 8 or 1 where `largest_chunk` is smaller), one sequence at a time. Generated
    /// tokens run in kernels that compute each row as if it were alone. When tokens are appended or removed, the
    /// generated tokens that remain run again, as part of the prompt. Sessions of f32 are always stable. For other
    /// precisions it is an option, because it costs speed (docs/models.md).
    bool stable = false;
    /// A batch draws in runs of as many lanes as sequences draw, rounded up to 4, 8, 16 …, in place of all of them:
    /// faster where few draw. On CPU devices a prompt that waits alone also runs in one lane. Without `stable`, how a
    /// token rounds then depends on how many sequences run.
    bool fewest_lanes = false;
    /// Sampling may have a logit_bias, a presence_penalty and a frequency_penalty. While a sequence with such a penalty
    /// draws, nothing is drawn ahead of the host.
    bool token_bias = false;
    /// Layers whose queries are kept, so that attention() needs no replay. Throws usage for a layer that the model does
    /// not have.
    RecordAttention record_attention = {};
    /// Keep logits and hidden states of every token on the host. Such a session draws no tokens.
    bool inspect = false;
    bool profile = false;
    bool fuse = true, guard = false;
    /// A prompt runs in chunks of at most this many tokens; at most 128 where `stable`.
    std::int64_t largest_chunk = 512;
    /// CompileOptions::submission_seconds.
    double submission_seconds = 0.1;
    /// Models with LongRoPE have other angles beyond their original context: this length decides, where it is more than
    /// `context`.
    std::int64_t rope_context = 0;
    /// The first tokens that see all and are seen by all, in models that have such (Longformer); nothing = as many as
    /// the model takes by itself. Throws usage for other models.
    std::optional<std::int64_t> global_tokens = {};
    /// The same by position, in place of `global_tokens`. Throws usage if both are given, for a position that is
    /// outside of the context or given twice, and in run() for one that a sequence does not reach. Positions that are
    /// not the first ones need a table of 4 context² bytes for each width of window: throws unsupported for a context
    /// above 4096 (64 MiB).
    std::optional<std::vector<std::int64_t>> global_positions = {};
    /// How self-attention weighs keys. Cross-attention keeps its softmax. Throws usage, with the reason, for a form
    /// that the model does not support or that it has no weights for.
    AttentionVariant variant = {};
    /// Heads whose output is multiplied by 0. Throws usage for a head that the model does not have. Where there is a
    /// list, even an empty one, mask_heads can change it.
    std::optional<std::vector<HeadId>> masked_heads = {};
    /// Where there is one, even one without values, shift_head can change it. Throws usage for a head or a position
    /// that is not there, another number of values and values that are not finite, unsupported for heads of the
    /// encoder of an encoder–decoder.
    std::optional<HeadShift> head_shift = {};
    /// A new or empty folder, which gets the node whose result is not finite if that ends a run (Divergence::dump).
    std::string dump = {};
    /// How tokens are drawn; `restart` without an argument keeps it.
    Sampling sampling = {};

    /// `stable`, or f32.
    bool is_stable() const { return stable || precision == Precision::f32; }
};

/// Times and counts of a session, on the host's clock.
struct SessionStats {
    /// Prompt tokens that have run; of an encoder–decoder the tokens that its encoder has read.
    std::int64_t prompt_tokens = 0;
    std::int64_t generated_tokens = 0;
    /// Rows that prompts ran in, padding of their last chunks included.
    std::int64_t prompt_rows = 0;
    /// Making plans: kernels compiled, memory placed. Not part of the times below.
    double compile_seconds = 0;
    double prompt_seconds = 0, generate_seconds = 0;
    /// The part of generate_seconds in which the host did not wait for the device.
    double host_seconds = 0;
};

/// Bytes of device memory by use: key/value cache, recorded queries, other states, intermediates of the plans.
struct SessionMemory {
    std::uint64_t cache = 0, recorded = 0, states = 0, intermediates = 0;
};

/// One sequence: its tokens and results. A Session is one; a Batch holds several that run together.
///
/// Threads: a Session or a Batch, with all its sequences, belongs to one thread at a time; a call from a second thread
/// during another throws usage. Only `context` and `model` may be called at any time, except during `recover`. Sessions
/// of one Model may run in many threads. A moved-from object throws usage. Calls that run a model throw accuracy,
/// naming the first node, when logits are NaN or +inf or all -inf, or other results are not finite.
class Sequence {
public:
    /// Forgets the sequence, and keeps how tokens are drawn.
    void restart();
    /// Forgets the sequence and sets how tokens are drawn. Throws usage for values out of range.
    void restart(const Sampling& sampling);
    /// Sets how tokens are drawn from here on. Throws usage for values out of range.
    void set_sampling(const Sampling& sampling);
    /// Encoder–decoders: forgets the sequence, takes the text for the encoder, and begins the sequence with the
    /// decoder's start token. A Session runs the encoder at once, a Batch with the next call of `run` or `next`. Throws
    /// usage for other models, for an id outside of the vocabulary, for no ids and for more than the context holds.
    void set_source(std::span<const std::int32_t> ids);
    /// Adds tokens; they run with the next call of `run` or `next`. `types` are an encoder's token types (0 for the
    /// first text, 1 for the second), all 0 when left out. Throws usage for an id or a type that the model does not
    /// have, and when the context is full.
    void append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types = {});
    /// Adds a text; special tokens are added to an empty sequence only. Throws also as Model::tokenizer.
    void append(std::string_view text);
    /// Forgets the tokens from position `count` on. Those before it need not run again, except an encoder's and, in a
    /// stable session, generated tokens and the last partial chunk. Throws usage for more than there are.
    void rewind(std::int64_t count);
    /// Ends the sequence: no more tokens are drawn until `append`, `rewind` or `restart`.
    void end();

    const std::vector<std::int32_t>& tokens() const;
    /// The tokens as text, without special tokens. Throws as Model::tokenizer.
    std::string text() const;
    /// Encoder–decoders: what the encoder reads.
    const std::vector<std::int32_t>& source_tokens() const;
    /// Tokens that have run: their keys and values are in the cache.
    std::int64_t processed() const;
    /// Increases whenever results are forgotten: by restart, rewind, mask_heads, shift_head, by an encoder's next run,
    /// and in a stable session by tokens that are appended to generated tokens or to a partial chunk.
    std::uint64_t forgotten() const;
    /// Tokens that fit.
    std::int64_t context() const;
    bool context_full() const;
    /// An end token was drawn, `end` was called, or the context is full.
    bool ended() const;
    /// The sequence has ended because no token is left: Sampling::grammar or logit_bias forbids all.
    bool dead_end() const;

    /// The logits that the next token is drawn from, [vocab]; runs what waits of this sequence, and nothing of others.
    /// Tokens that are drawn later stay the same to the last bit: without SessionOptions::inspect, `next` runs the last
    /// chunk again. If tokens are appended in between, they run in a chunk of their own and may round differently,
    /// except in a stable session. Throws usage for an encoder and an empty sequence, and as Plan::run.
    Array next_logits();
    /// The n most probable next tokens, the most probable first: softmax of next_logits(), before any sampling.
    std::vector<TokenProbability> top(std::int64_t n);

    /// Logits of the tokens that have run, [tokens, vocab]; an encoder's are [tokens, vocab], [labels],
    /// [tokens, labels], [tokens, 2] (where an answer begins and ends) or empty, by its output layer. Throws usage for
    /// a decoder without SessionOptions::inspect.
    Array logits() const;
    /// The residual stream [layers + 1, tokens, width]: embedding, each block, the last one after the final norm.
    /// Throws usage without SessionOptions::inspect.
    Array hidden() const;
    /// The last hidden state [tokens, width]; where a model has a norm after its last block that is not in hidden()
    /// (ViT), after that. Throws usage for a decoder without SessionOptions::inspect.
    Array last_hidden() const;
    /// Encoder–decoders: hidden states of the encoder [encoder layers + 1, tokens, width] (throws usage without
    /// SessionOptions::inspect), and the last of them [tokens, width]. Empty for other models.
    Array encoder_hidden() const;
    Array encoder_last_hidden() const;
    /// Logits of the routers of a mixture of experts [layers with experts, tokens, experts], before the softmax; empty
    /// for other models. Throws usage without SessionOptions::inspect.
    Array router_logits() const;
    /// The output of an encoder's pooler [width]; of CLIP's towers the projected vector of the text or image, by which
    /// they are compared. Empty without one.
    Array pooled() const;
    /// BERT with both its heads: whether the second text follows, logits [2]; else empty.
    Array relation() const;

    const Model& model() const;

protected:
    friend class Batch;
    friend class Session;
    friend class Generator;
    Sequence(Sequence&&) noexcept = default;
    Sequence& operator=(Sequence&&) noexcept = default;
    Sequence(std::shared_ptr<internal::SessionOwner> core, std::size_t index) : core_(std::move(core)), index_(index) {}
    /// Access to the state for the length of a call. Throws usage when this object was moved from, and while another
    /// thread has it.
    internal::SessionUse use() const;

private:
    std::shared_ptr<internal::SessionOwner> core_;
    std::size_t index_ = 0;
};

/// A sequence that runs alone, with everything that can be asked about its attention.
///
/// Threads: as Sequence.
class Session : public Sequence {
public:
    /// Allocates the cache and other states for the whole context. Throws usage for options that the model does not
    /// allow, out_of_memory with the numbers.
    explicit Session(const Model& model, const SessionOptions& options = {});
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    /// Takes an image [channels, height, width] as the model's preprocessor leaves it, instead of the one before. Of an
    /// encoder it runs with the next call of `run`; its positions count as tokens, all 0: the class token first, then
    /// the patches row by row. Of an encoder–decoder it is what set_source() is for texts: it runs at once, and its
    /// positions are the source's tokens. Throws usage for another number of pixels, for one that is not finite, and
    /// for a model that takes no images.
    void set_image(std::span<const float> pixels);
    /// Runs all tokens that wait and draws none; an encoder runs the whole sequence in one piece. Throws as Plan::run.
    void run();
    /// After device_lost: frees the session's memory, calls `reload`, and goes on with the model that it returns: the
    /// same model, loaded on a device that works. (The lost weights are freed when no Model and no session has them.)
    /// Tokens, options and statistics stay. Tokens that had run run again at once, in runs of as many rows as before:
    /// with the same device and driver, all that follows is the same to the last bit. What an encoder had computed is
    /// forgotten until it runs again. Throws as `reload`, the constructor and Plan::run. Until a recovery succeeds, all
    /// calls throw device_lost. References that the session returned, and an AttentionFeed of it, become invalid.
    void recover(const std::function<Model()>& reload);
    /// Draws the next token. Nothing when the sequence has ended: after an end token (which is returned first), or when
    /// the context is full. Throws usage when there is nothing to continue, and as Plan::run.
    std::optional<std::int32_t> next();
    /// Draws at most `count` tokens until the sequence ends; `on_token` stops by returning false; it
    /// must not destroy the session.
    std::vector<std::int32_t> generate(std::int64_t count, const std::function<bool(std::int32_t)>& on_token = {});
    /// Masks these heads instead of those before. Results are forgotten: `run` runs the tokens again, and the encoder
    /// its text where its own heads change. Throws usage for heads that are not there, and without
    /// SessionOptions::masked_heads.
    void mask_heads(std::span<const HeadId> heads);
    /// Adds these values instead of those before. Results from the earlier of the two positions on are forgotten (an
    /// encoder's all): `run` runs these tokens again. Throws as SessionOptions::head_shift, and usage without it.
    void shift_head(const HeadShift& shift);

    /// Exact attention weights of all heads of a layer after a run, [heads, queries, keys]; masked ones are 0. Where
    /// the layer was not recorded the sequence is replayed once, with a warning; the replay and its memory are kept for
    /// further questions about that layer, until `restart`, `rewind`, `mask_heads` or `set_image`. Throws usage for a
    /// layer that is not there.
    Array attention(std::int64_t layer, AttentionKind kind = AttentionKind::self);
    /// Those of one head, [queries, keys], of a range of positions. Throws usage for positions that have not run.
    Array attention(HeadId head, Range queries = {}, Range keys = {});
    /// ln Σ exp of a head's scores by query, [queries]. Replays like attention().
    Array log_sum_exp(HeadId head, Range queries = {});
    /// What all heads of a layer do with the first marks.size() tokens, computed on the device without storing a matrix
    /// of weights. `marks` are sums of TokenMark for each of them; in cross attention of all the encoder's tokens and
    /// then of the decoder's. `factors` [keys, heads], unless empty, multiply the weights of a key. Replays like
    /// attention().
    HeadTable head_statistics(std::int64_t layer, std::span<const std::int32_t> marks,
                              std::span<const float> factors = {}, AttentionKind kind = AttentionKind::self);
    /// ‖v_j‖ by key and head, [keys, heads]; with `projected` ‖W_O v_j‖, the length of what the head adds to the
    /// residual stream where its weight is 1 (Kobayashi et al. 2020).
    Array value_norms(std::int64_t layer, bool projected, AttentionKind kind = AttentionKind::self);

    const SessionStats& stats() const;
    SessionMemory memory() const;
    /// Rows of the first run when `waiting` tokens wait.
    std::int64_t chunk(std::int64_t waiting) const;
    /// Plans by rows, for tools (explain, check); made when first asked for, and valid until 15 others were used. The
    /// second is an encoder–decoder's encoder's, for a text of so many tokens.
    Plan& plan(std::int64_t rows);
    Plan& encoder_plan(std::int64_t tokens);
    /// Dispatch times of all runs since the last call, with SessionOptions::profile.
    std::vector<DispatchTiming> take_timings();

private:
    friend struct internal::SessionAccess;
    struct State;
    std::unique_ptr<State> state_;
};

/// A drawn token.
struct Token {
    std::int32_t id = 0;
    /// What this token completes; whole characters only.
    std::string text;
};

/// Why a text ended; stopped: by the caller's function; dead_end: no token could be drawn that
/// Sampling::grammar and logit_bias allow.
enum class Ending : std::uint8_t { length, end_token, stop_text, context_full, stopped, dead_end };
const char* name_of(Ending ending);

struct GeneratorOptions {
    std::int64_t max_tokens = 256;
    /// Texts that end the generation; they are not part of its text.
    std::vector<std::string> stop = {};
    /// Tokens that end it, in addition to the model's own.
    std::vector<std::int32_t> end_tokens = {};
    /// Special tokens that are part of the text; the others are left out.
    std::vector<std::int32_t> shown_tokens = {};
    /// Its `sampling` is not used: a Generator is given one.
    SessionOptions session = {};
    /// Returns the same model on a device that works, after the device was lost: the text goes on as Session::recover
    /// says. It is called again only after another token. Empty: device_lost is thrown.
    std::function<Model()> reload = {};
};

/// Text in, text out: a tokenizer, a session and a sampler.
///
/// Threads: one at a time for each Generator. A moved-from one throws usage.
class Generator {
public:
    /// Draws as recommended_sampling(model) says.
    explicit Generator(const Model& model) : Generator(model, recommended_sampling(model)) {}
    Generator(const Model& model, const Sampling& sampling, GeneratorOptions options = {});
    ~Generator();
    Generator(Generator&&) noexcept;
    Generator& operator=(Generator&&) noexcept;
    /// Continues `prompt`; an encoder–decoder answers it. Calls `on_token` for each piece of text; it stops the text by
    /// returning false.
    Ending generate(const std::string& prompt, const std::function<bool(const Token&)>& on_token);
    /// Continues `ids`. The beginning that the session already has is kept and only the rest runs, so that a
    /// conversation costs its new tokens only. An encoder–decoder reads all of them again.
    Ending generate(std::span<const std::int32_t> ids, const std::function<bool(const Token&)>& on_token);
    /// Writes about an image, as Session::set_image takes it: encoder–decoders whose encoder looks at images. Throws
    /// usage for other models.
    Ending describe(std::span<const float> pixels, const std::function<bool(const Token&)>& on_token);
    /// The whole continuation.
    std::string complete(const std::string& prompt);

    /// for (const Token& token : generator.stream(prompt)) … The generator has to outlive the loop, hence no temporary.
    class Stream;
    Stream stream(const std::string& prompt) &;
    Stream stream(const std::string& prompt) && = delete;
    Session& session();

private:
    friend class Stream;
    struct State;
    State& state() const;
    std::unique_ptr<State> state_;
};

/// An input range of tokens; the next one is made when the loop asks for it.
///
/// Threads: as its Generator.
class Generator::Stream {
public:
    struct End {};
    class Iterator {
    public:
        explicit Iterator(Stream& stream) : stream_(&stream) {}
        const Token& operator*() const { return *stream_->current_; }
        Iterator& operator++() {
            stream_->advance();
            return *this;
        }
        bool operator!=(End) const { return stream_->current_.has_value(); }

    private:
        Stream* stream_;
    };
    Iterator begin() {
        advance();
        return Iterator(*this);
    }
    static End end() { return {}; }

private:
    friend class Generator;
    explicit Stream(Generator& generator) : generator_(&generator) {}
    void advance();
    Generator* generator_;
    std::optional<Token> current_;
};

}  // namespace vantage
