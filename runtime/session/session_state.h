// How a session answers questions about its attention: by the tap, from rows that it recorded.
#pragma once

#include "runtime/session/session_core.h"
#include "runtime/session/tap.h"

namespace vantage {

struct Session::State {
    SessionCore& core;
    SequenceState& sequence;
    Tap tap;

    explicit State(SessionCore& c) : core(c), sequence(c.sequences.front()), tap(c.states.device()) {}

    bool records(std::int64_t layer) const { return core.options.record_attention.includes(layer); }
    /// Tokens of the text that the encoder of an encoder–decoder has read.
    std::int64_t source_read() const { return sequence.source_waits ? 0 : std::ssize(sequence.source); }
    /// Tokens that attend this way, and that are attended to.
    std::int64_t queries_of(AttentionKind kind) const {
        return kind == AttentionKind::encoder ? source_read() : sequence.processed;
    }
    std::int64_t keys_of(AttentionKind kind) const {
        return kind == AttentionKind::self ? sequence.processed : source_read();
    }
    /// What the weights of the rows are made from that look at the keys of this name.
    TapSource source_of(std::int64_t layer, AttentionKind kind, const std::string& keys) const;
    bool has_global_rows(std::int64_t layer) const;
    /// Windows of rows, one behind the other, each of global tokens only or of others only.
    struct Rows {
        Range rows;
        bool global;
    };
    std::vector<Rows> split_rows(std::int64_t layer, Range rows) const;
    std::vector<float> weights(HeadId head, Range queries, Range keys);
    std::vector<std::int32_t> marked_tokens(TapSource& tapped, std::span<const std::int32_t> marks,
                                            AttentionKind kind) const;
    std::vector<float> output_projection(std::int64_t layer, AttentionKind kind) const;
    HostTensor values(std::int64_t layer, AttentionKind kind) const;
    /// All that has run, once more in a session that records `layer`.
    Session& replay_recording(std::int64_t layer);
    void check_head(const HeadId& head) const;
    /// Throws accuracy for a NaN among what was computed of a layer's attention.
    void require_numbers(std::span<const float> results, const HeadId& head) const;
};

}  // namespace vantage
