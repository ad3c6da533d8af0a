// Several sequences of one model that run together.
//
// Threads: a Batch and its sequences belong to one thread at a time. A call of a second thread meanwhile throws
// usage. Batches of one model may run in many threads.
// Errors: as session.h says. What a call had drawn before it threw stays in the sequences, and the next call goes on
// after it.
#pragma once

#include <functional>

#include "vantage/session.h"

namespace vantage {

/// Sequences by number from 0. Those that need equally many rows share a run; a long prompt runs apart from those that
/// draw tokens, and pads none of them. Attention is recorded and looked at in sessions only.
///
/// Where the options are stable (SessionOptions::is_stable), each sequence has the results that it has in a Session, to
/// the last bit. Else it has them up to rounding, and now and then another token follows (docs/models.md): kernels are
/// chosen by the number of rows. What a decoder or encoder–decoder gives a sequence does not depend on what the others
/// of this batch do then either; runs of encoders have as many rows as they need.
///
///     Batch batch(model, 2);
///     batch[0].append("The dog"), batch[1].append("A red key");
///     batch.generate(20);
///     print(batch[1].text());
///
/// Threads: one at a time for a batch with its sequences. A moved-from one throws usage.
class Batch {
public:
    /// Allocates the caches and other states of `sequences` sequences, each for the whole context. Throws usage for
    /// fewer than one, for a model of images, for options that record attention, and for a context that the model does
    /// not allow; out_of_memory with the numbers.
    Batch(const Model& model, std::int64_t sequences, const SessionOptions& options = {});
    ~Batch();
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;

    /// The number of sequences.
    std::int64_t size() const;
    /// A sequence, valid as long as the batch, wherever it is moved; a new text may take the place of one that has
    /// ended while the others go on. Throws usage for a number that is not there.
    Sequence& operator[](std::int64_t sequence);
    const Sequence& operator[](std::int64_t sequence) const;

    /// Forgets all sequences and the statistics; keeps how tokens are drawn, or sets it for all.
    void restart();
    void restart(const Sampling& sampling);
    /// Runs all tokens that wait and draws none. Throws as Plan::run.
    void run();
    /// Runs the tokens that wait of one sequence, draws none and runs nothing of others: a part of a long prompt
    /// between two draws of the others. Throws as `run`.
    void run(std::int64_t sequence);
    /// As Session::recover, of all sequences; what had run of them runs again with the next call.
    void recover(const std::function<Model()>& reload);
    /// Draws the next token of every sequence that has not ended: nothing for the others, and for those without tokens.
    /// Throws usage when no sequence has any, and as Plan::run.
    std::vector<std::optional<std::int32_t>> next();
    /// Draws at most `count` tokens for each; `on_token(sequence, token)` ends a sequence by returning false.
    void generate(std::int64_t count, const std::function<bool(std::int64_t, std::int32_t)>& on_token = {});

    /// Tokens that fit a sequence.
    std::int64_t context() const;
    const Model& model() const;
    /// Times and counts of all sequences together.
    const SessionStats& stats() const;
    SessionMemory memory() const;
    std::vector<DispatchTiming> take_timings();

private:
    friend struct internal::SessionAccess;
    internal::SessionUse use() const;
    std::shared_ptr<internal::SessionOwner> core_;
    std::vector<std::unique_ptr<Sequence>> sequences_;
};

/// What a prompt was continued with.
struct Completion {
    std::string text = {};
    std::vector<std::int32_t> ids = {};
    Ending ending = Ending::length;
};

/// Continues prompts together, prompt i (its ids) as sequence i, each as a Generator with this sampling and these
/// options would alone (Batch says how far); an encoder–decoder answers them. `on_token(i, token)` is called for each
/// piece of text, and stops prompt i by returning false. Throws usage for more prompts than the batch has sequences,
/// and for one without tokens.
std::vector<Completion> complete(Batch& batch, std::span<const std::vector<std::int32_t>> prompts,
                                 const Sampling& sampling, const GeneratorOptions& options = {},
                                 const std::function<bool(std::int64_t, const Token&)>& on_token = {});

/// What becomes of the last hidden states [tokens, width]: their mean over the tokens, that of the first token (the
/// class token), or the output of the model's pooler.
enum class Pooling : std::uint8_t { mean, first, pooler };

struct EmbedOptions {
    Pooling pooling = Pooling::mean;
    /// Divide each vector by its Euclidean length; zeros stay.
    bool normalise = false;
    /// `context` and `sampling` are not used.
    SessionOptions session = {};
    /// Called after each text with the number of texts that are done and of all.
    std::function<void(std::int64_t done, std::int64_t count)> on_progress = {};
    /// With session.profile: called with the dispatch times of the runs, once for each length of text.
    std::function<void(std::vector<DispatchTiming>)> on_timings = {};
};

/// The vector [width] of what an encoder has read, a text or an image. Throws usage for other models, for a sequence
/// that has not run, and for a pooler that the model does not have.
Array embedding(const Sequence& sequence, const EmbedOptions& options = {});

/// A vector for each text, [texts, width], by an encoder. Texts of similar length run together. Throws usage for other
/// models, for a pooler that the model does not have, and for a text that is longer than its context.
Array embed(const Model& model, std::span<const std::string> texts, const EmbedOptions& options = {});
inline Array embed(const Model& model, std::initializer_list<std::string> texts, const EmbedOptions& options = {}) {
    return embed(model, std::span(texts.begin(), texts.size()), options);
}

}  // namespace vantage
