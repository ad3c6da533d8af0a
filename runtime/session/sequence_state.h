// A sequence on the host: its tokens, and the results that were kept of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/models/config.h"
#include "runtime/text/grammar/token_mask.h"
#include "vantage/session.h"

namespace vantage::internal {

/// Tokens [first, first + count) of a sequence that ran together, in a run of `rows` rows of it.
struct ChunkRun {
    std::int64_t first = 0, count = 0, rows = 1;
    bool operator==(const ChunkRun&) const = default;
};

class SequenceState {
public:
    /// Takes what results the model has from `config`.
    explicit SequenceState(const ModelConfig& config);

    Sampling sampling;
    std::vector<std::int32_t> tokens, types;
    std::int64_t prompt = 0;       ///< tokens that were given; those after them were drawn
    std::int64_t processed = 0;    ///< tokens whose keys are in the cache
    std::int64_t redraw_from = 0;  ///< where the run begins that has to run again to draw, when no token waits
    /// Tokens that had run on a device that was lost, or past a state that is no longer kept, until they have run
    /// again.
    std::int64_t lost = 0;
    std::int64_t counted = 0;     ///< tokens whose run as part of a prompt is in the statistics
    std::uint64_t forgotten = 0;  ///< Sequence::forgotten
    bool ended = false;
    std::shared_ptr<text::grammar::TokenMask> mask;  ///< of the sampling's grammar, if it has one
    std::int64_t grammar_from = 0;                   ///< the token that begins the text of the grammar
    bool dead_end = false;                           ///< it ended because no token could be drawn
    std::vector<std::int32_t> source;                ///< what the encoder of an encoder–decoder reads
    bool source_waits = false;                       ///< it has not run yet
    bool source_again = false;                       ///< it has run, on a device that was lost
    /// Results of the rows that have run, row-major; hidden states and router logits by layer.
    struct Results {
        std::vector<float> logits, pooled, relation, last_hidden;
        std::vector<std::vector<float>> hidden, router, source_hidden;
    } results;

    std::int64_t size() const { return std::ssize(tokens); }
    std::span<const std::int32_t> drawn() const { return std::span(tokens).subspan(static_cast<std::size_t>(prompt)); }
    std::span<const std::int32_t> in_grammar() const {
        return std::span(tokens).subspan(static_cast<std::size_t>(grammar_from));
    }
    std::int64_t waiting() const { return size() - processed; }
    /// Tokens have run, from `processed` on. With `draw` they run again to draw, when no token waits.
    void note_run(std::int64_t count, std::int64_t rows, bool draw);
    /// Of a state-space model: the device has run up to position `reached`, and keeps the states before it.
    void note_reached(std::int64_t reached);
    /// Of a state-space model, before a run: the device has run up to position `reached`. Where it does not keep the
    /// state that the run would begin with, what has run since the last state that it keeps becomes `lost`.
    void begin_at_state(std::int64_t reached);
    /// Its memory on the device is lost: what has run waits, to run as it did before.
    void lose();
    /// What runs next of the `lost` tokens: a chunk, or tokens that ran one by one. Its count is 0 if there are none.
    ChunkRun next_lost() const;
    /// Removes everything but the sampling.
    void restart();
    /// Forgets what has run of the tokens; they wait again.
    void forget_results();
    /// Forgets what has run of the source.
    void forget_source_results();
    /// Forgets what has run from token `count` on; it waits again.
    void forget_from(std::int64_t count);
    /// The same, but it will run as before: its results are not new.
    void go_back(std::int64_t count);
    /// Removes the tokens from position `count` on, with their results. If it removes any, the others count as given.
    void truncate(std::int64_t count);
    void append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types);

private:
    void forget_chunks(std::int64_t from);
    void trim_results();
    std::int64_t vocab_, width_, experts_;
    bool in_one_run_;                               ///< all tokens together, as an encoder does
    std::int64_t states_from_ = 0, states_to_ = 0;  ///< the last positions that ran, whose states are kept
    std::vector<ChunkRun> chunks_;                  ///< how tokens have run; those in none of them ran one by one
};

}  // namespace vantage::internal
