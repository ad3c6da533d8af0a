// One sequence in the making: a model's plans, and states of its own (cache, step, watched rows).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vantage/model.h"

namespace vantage {

/// How the next token is drawn: penalty → temperature → top-k → softmax → top-p → min-p → draw.
struct Sampling {
    double temperature = 0;     ///< 0 = the most probable token
    std::int64_t top_k = 0;     ///< keep the k most probable; 0 = all
    double top_p = 1;           ///< keep the smallest set of at least this mass
    double min_p = 0;           ///< keep tokens of at least this share of the most probable one
    double repeat_penalty = 1;  ///< Keskar et al. 2019; 1 = none
    std::uint64_t seed = 0;     ///< the same seed, prompt and device give the same text
    bool ignore_end = false;    ///< go on after the model's end tokens
};

/// How text is drawn where nobody says it.
inline constexpr Sampling default_sampling{.temperature = 0.8, .top_p = 0.95};
/// What the model's generation_config.json recommends; the usual where it says nothing.
Sampling recommended_sampling(const Model& model);

/// f16: storage of the cache, and what matrix units may round to; f32 throughout; int8: as f16, and rows that meet weights in 8 or
/// 4 bits may be rounded to 8 bits.
enum class Precision : std::uint8_t { f16, f32, int8 };
Precision precision_named(const std::string& name);

/// What the heads of a layer do, in numbers: rows [tokens, heads, ROW_NUMBERS] and keys [KEY_NUMBERS, heads, tokens] as
/// shaders/params/head_statistics.h lists them.
struct HeadTable {
    std::vector<float> rows, keys;
};

struct TapSource;

struct SessionOptions {
    /// Tokens (an image has as many as it has); 0 = what the model allows and the memory budget holds.
    std::int64_t context = 0;
    Precision precision = Precision::f16;
    RecordAttention record_attention = {};  ///< throws usage for a layer that the model does not have
    bool inspect = false;                   ///< keep logits and hidden states of every token on the host
    bool profile = false;
    bool fuse = true, guard = false;
    std::int64_t largest_chunk = 512;  ///< a prompt runs in chunks of at most this many tokens
    double submission_seconds = 0.1;   ///< CompileOptions::submission_seconds
    /// Models with LongRoPE have other angles for contexts beyond their original one: this, where it is more than `context`.
    std::int64_t rope_context = 0;
    /// How many of the first tokens see all and are seen by all, in models that have such (Longformer); nothing = as many as
    /// the model takes by itself. Throws usage for other models.
    std::optional<std::int64_t> global_tokens = {};
    /// The same by position, in place of `global_tokens`. Throws usage if both are given.
    std::optional<std::vector<std::int64_t>> global_positions = {};
    /// Heads whose output is 0, as if they were cut out of the model; throws usage for one that it does not have. Where
    /// there is a list, be it empty, `mask_heads` can change it.
    std::optional<std::vector<HeadId>> masked_heads = {};
};

/// Times and counts of a session, on the host's clock.
struct SessionStats {
    std::int64_t prompt_tokens = 0;  ///< that have run; of an encoder–decoder those that its encoder has read
    std::int64_t generated_tokens = 0;
    double compile_seconds = 0;  ///< making plans: kernels compiled, memory placed; not in the times below
    double prompt_seconds = 0, generate_seconds = 0;
    double host_seconds = 0;  ///< of generate_seconds: what the host did beside waiting for the device
};

class Session {
public:
    /// Allocates the cache and other states for the whole context. Throws usage for a context that the model does not allow,
    /// out_of_memory with the numbers.
    explicit Session(const Model& model, const SessionOptions& options = {});
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    /// Forgets everything and sets how tokens are drawn.
    void restart(const Sampling& sampling = {});
    /// Of an encoder–decoder: forgets everything, runs the encoder over the text, and begins the sequence with the decoder's
    /// start token, so that `next` draws what the model writes about it. Throws usage for other models, for an id that the
    /// model does not have, for no text and for one that does not fit the context; and as Plan::run.
    void set_source(std::span<const std::int32_t> ids);
    /// Takes tokens into the sequence; they run with the next call of `run` or `next`. `types` are those of an encoder's
    /// tokens (0 for the first text, 1 for the second), all 0 when left out. Throws usage for an id or a type that the model
    /// does not have, and when the context is full.
    void append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types = {});
    /// Takes an image, [channels, height, width] as the model's preprocessor leaves it, in place of the one before; it is
    /// seen with the next call of `run`. Its places count as tokens, all 0: the class's first, then its patches row by
    /// row. Throws usage for another number of pixels, for one that is not finite, and with a model that reads text.
    void set_image(std::span<const float> pixels);
    /// Forgets the tokens from position `count` on; those before it need not run again (an encoder's do). Throws usage for
    /// more than there are.
    void rewind(std::int64_t count);
    /// Runs all tokens that wait but draws none; an encoder runs the whole sequence, in one piece. Throws as Plan::run.
    void run();
    /// Draws the next token. Nothing when the sequence has ended: at an end token (which is returned first), or when the
    /// context is full. Throws usage when there is nothing to continue, and as Plan::run.
    std::optional<std::int32_t> next();
    /// Draws at most `count` tokens until the sequence ends; `on_token` may end it by returning false.
    std::vector<std::int32_t> generate(std::int64_t count, const std::function<bool(std::int32_t)>& on_token = {});

    const std::vector<std::int32_t>& tokens() const;
    /// How many of them have run: those whose keys and values are in the cache.
    std::int64_t processed() const;
    /// Counts up whenever what has run is forgotten: by `restart`, `rewind`, `mask_heads`, and by an encoder's next run.
    std::uint64_t forgotten() const;
    std::int64_t context() const;
    bool context_full() const;
    /// An end token was drawn, or the context is full.
    bool ended() const;

    /// Exact attention weights of one head after the run, of the decoder's rows or the encoder's as `of` says: p_ij for
    /// rows and keys by position, row-major, f32. Masked weights are 0. Throws usage for what is not there. Where the layer
    /// was not watched the sequence is replayed, and a line says so; the replay and its memory are kept until `restart`,
    /// for further questions about that layer.
    std::vector<float> attention(std::int64_t layer, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                 std::int64_t first_key, std::int64_t keys, AttentionKind kind = AttentionKind::self);
    /// ln Σ exp of a head's scores, by row. Replays like attention().
    std::vector<float> log_sum_exp(std::int64_t layer, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                   AttentionKind kind = AttentionKind::self);
    /// What all heads of a layer do with the first marks.size() tokens, computed on the device: no matrix of weights is made.
    /// `marks` are bits for each of them (MARK_DELIMITER, MARK_WORD), of cross attention for all that the encoder has read
    /// and then for the decoder's; `factors` [keys, heads], unless empty, multiply the weights of a key. Replays like
    /// attention().
    HeadTable head_statistics(std::int64_t layer, std::span<const std::int32_t> marks,
                              std::span<const float> factors = {}, AttentionKind kind = AttentionKind::self);
    /// ‖v_j‖ by key and head, [keys, heads]; with `projected` ‖W_O v_j‖, how long a step the head's value takes in the
    /// residual stream where its weight is 1 (Kobayashi et al. 2020).
    std::vector<float> value_norms(std::int64_t layer, bool projected, AttentionKind kind = AttentionKind::self);
    /// For viewers: where on the device the rows of a watched layer lie that its weights are made from
    /// (runtime/exec/tap.h), the same for ever. Rows that have run are not written again before the sequence is rewound.
    /// Throws usage for a layer that is not watched or not there.
    TapSource tap_source(std::int64_t layer, AttentionKind kind = AttentionKind::self) const;
    /// Silences these heads instead of those that were before. What has run is forgotten: `run` runs it again, and where
    /// the encoder's heads change, it has read its text again. Throws usage for heads that are not there, and without
    /// SessionOptions::masked_heads.
    void mask_heads(std::span<const HeadId> heads);

    /// With SessionOptions::inspect: logits [tokens, vocab] and the residual stream [layers + 1, tokens, width] (embedding,
    /// each block, the last one after the final norm) of the tokens processed so far. Of an encoder logits are [tokens,
    /// vocab] or [labels] or empty, by its head; the last hidden state is there without `inspect`, too.
    const std::vector<float>& logits() const;
    std::vector<float> hidden() const;
    /// An encoder's last hidden state [tokens, width]; after its final norm, where it has one (ViT), which is not in hidden().
    std::vector<float> last_hidden() const;
    /// Of an encoder–decoder: what the encoder has read, and its hidden states [encoder layers + 1, tokens, width] (with
    /// `inspect`) and the last of them [tokens, width].
    const std::vector<std::int32_t>& source_tokens() const;
    std::vector<float> encoder_hidden() const;
    std::vector<float> encoder_last_hidden() const;
    /// What the routers of a mixture of experts said, [layers, tokens, experts], before the softmax; empty for other models.
    std::vector<float> router_logits() const;
    /// Of an encoder with a pooler: its output [width]. Of BERT with both its heads: whether the second text follows, [2].
    const std::vector<float>& pooled() const;
    const std::vector<float>& relation() const;

    const Model& model() const;
    const SessionStats& stats() const;
    /// Bytes on the device that are this session's: cache, watched rows, other states, intermediates.
    struct Memory {
        std::uint64_t cache = 0, recorded = 0, states = 0, intermediates = 0;
    };
    Memory memory() const;
    /// Rows of the run that comes first when `waiting` tokens wait.
    std::int64_t chunk(std::int64_t waiting) const;
    /// Plans by chunk size, for tools (explain, check); made when first asked for.
    Plan& plan(std::int64_t rows);
    /// Of an encoder–decoder: the encoder's plan for a text of so many tokens.
    Plan& encoder_plan(std::int64_t tokens);
    /// Dispatch times of all that ran since the last call, with SessionOptions::profile.
    std::vector<DispatchTiming> take_timings();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Text in, text out.
struct Token {
    std::int32_t id = 0;
    std::string text;  ///< whole characters only; what this token completes
};

/// Why a text ended.
enum class Ending : std::uint8_t { length, end_token, stop_text, context_full };
const char* name_of(Ending ending);

struct GeneratorOptions {
    std::int64_t max_tokens = 256;
    std::vector<std::string> stop;         ///< texts that end the generation; they are not printed
    std::vector<std::int32_t> end_tokens;  ///< tokens that end it beside the model's own
    SessionOptions session = {};
};

class Generator {
public:
    explicit Generator(const Model& model) : Generator(model, recommended_sampling(model)) {}
    Generator(const Model& model, const Sampling& sampling, GeneratorOptions options = {});
    ~Generator();
    Generator(Generator&&) noexcept;
    /// Continues `prompt`, or of an encoder–decoder answers it; calls `on_token` for each piece of text, which may end it by
    /// returning false.
    Ending generate(const std::string& prompt, const std::function<bool(const Token&)>& on_token);
    /// Continues `ids`. What the session already has of their beginning is kept, and only the rest runs: a conversation costs
    /// its new tokens alone. An encoder–decoder reads all of them anew.
    Ending generate(std::span<const std::int32_t> ids, const std::function<bool(const Token&)>& on_token);
    /// The whole continuation.
    std::string complete(const std::string& prompt);

    /// for (const Token& token : generator.stream(prompt)) …
    class Stream;
    Stream stream(const std::string& prompt);
    Session& session();

private:
    friend class Stream;
    struct State;
    std::unique_ptr<State> state_;
};

/// An input range of tokens; the next one is made when the loop asks for it.
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
