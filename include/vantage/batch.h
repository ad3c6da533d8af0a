// Several sequences in the making, all in the same runs: each gets what it would get alone, at little more than one costs.
#pragma once

#include "vantage/session.h"

namespace vantage {

/// A run has as many rows for each sequence, and those that a sequence does not need are padding, which nothing sees: prompts of
/// different lengths go together, and one that has ended idles while the others go on. Results are those of a Session up to the
/// rounding of kernels that are chosen by the number of rows. Attention is looked at in sessions: a batch does not watch it.
class Batch {
public:
    /// Allocates the caches and other states of `sequences` sequences, each for the whole context. Throws usage for fewer than
    /// one, for a model that looks at images, for options that watch, and for a context that the model does not allow;
    /// out_of_memory with the numbers.
    Batch(const Model& model, std::int64_t sequences, const SessionOptions& options = {});
    ~Batch();
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    std::int64_t size()
        const;  ///< sequences, by number from 0 in all that follows; each function throws usage for another

    /// Forgets all sequences, or one, and sets how their tokens are drawn. A new sequence may take the place of one that has
    /// ended while the others go on.
    void restart(const Sampling& sampling = {});
    void restart(std::int64_t sequence, const Sampling& sampling = {});
    /// Of an encoder–decoder: forgets the sequence and takes the text that it is to be about; the encoder reads all texts that
    /// wait in one run, with the next call of `run` or `next`. Throws as Session::set_source.
    void set_source(std::int64_t sequence, std::span<const std::int32_t> ids);
    /// Takes tokens into a sequence, as Session::append.
    void append(std::int64_t sequence, std::span<const std::int32_t> ids, std::span<const std::int32_t> types = {});
    /// Forgets a sequence's tokens from position `count` on, as Session::rewind.
    void rewind(std::int64_t sequence, std::int64_t count);
    /// Runs all tokens that wait but draws none. Throws as Plan::run.
    void run();
    /// Draws the next token of every sequence that has not ended: nothing for the others, and for those without tokens. Throws
    /// usage when no sequence has any, and as Plan::run.
    std::vector<std::optional<std::int32_t>> next();
    /// The sequence has ended: from now on it idles, until `append` or `restart`.
    void end(std::int64_t sequence);
    /// Draws at most `count` tokens for each; `on_token(sequence, token)` ends a sequence by returning false.
    void generate(std::int64_t count, const std::function<bool(std::int64_t, std::int32_t)>& on_token = {});

    const std::vector<std::int32_t>& tokens(std::int64_t sequence) const;
    std::int64_t context() const;  ///< of each sequence
    bool context_full(std::int64_t sequence) const;
    bool ended(std::int64_t sequence) const;

    /// What Session has under these names, of one sequence.
    const std::vector<float>& logits(std::int64_t sequence) const;
    std::vector<float> hidden(std::int64_t sequence) const;
    const std::vector<float>& last_hidden(std::int64_t sequence) const;
    const std::vector<float>& pooled(std::int64_t sequence) const;
    const std::vector<float>& relation(std::int64_t sequence) const;
    std::vector<float> router_logits(std::int64_t sequence) const;

    const Model& model() const;
    const SessionStats& stats() const;  ///< of all sequences together
    Session::Memory memory() const;
    std::vector<DispatchTiming> take_timings();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// What a prompt was continued with.
struct Completion {
    std::string text;
    std::vector<std::int32_t> ids;
    Ending ending = Ending::length;
};

/// Continues prompts in the same runs, prompt i (its ids) as sequence i, each as a Generator with this sampling and these options
/// would alone; of an encoder–decoder answers them. `on_token(i, token)` is called for each piece of text, and ends prompt i by
/// returning false. Throws usage for more prompts than the batch has sequences, and for one without tokens.
std::vector<Completion> complete(Batch& batch, std::span<const std::vector<std::int32_t>> prompts,
                                 const Sampling& sampling, const GeneratorOptions& options = {},
                                 const std::function<bool(std::int64_t, const Token&)>& on_token = {});

}  // namespace vantage
