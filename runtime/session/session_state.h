// What a session is made of: the runner of one sequence, and what looks into its attention. Its member functions are in
// session*.cpp.
#pragma once

#include "runtime/session/runner.h"
#include "runtime/session/tap.h"

namespace vantage {

struct Session::State : Runner {
    Sequence& sequence;
    Tap tap;
    std::unique_ptr<Session> replay;  // the same tokens, with the layer watched that was asked for last

    State(const Model& m, const SessionOptions& o)
        : Runner(m, o, 1), sequence(sequences.front()), tap(m.device().state()) {}

    /// Tokens of the text that the encoder of an encoder–decoder has read.
    std::int64_t source_read() const { return sequence.source_waits ? 0 : std::ssize(sequence.source); }
    /// Tokens that attend this way, and that are attended to.
    std::int64_t queries_of(AttentionKind kind) const {
        return kind == AttentionKind::encoder ? source_read() : sequence.processed;
    }
    std::int64_t keys_of(AttentionKind kind) const {
        return kind == AttentionKind::self ? sequence.processed : source_read();
    }
    TapSource tap_source(std::int64_t layer, AttentionKind kind, const std::string& keys);
    std::int64_t global_rows(std::int64_t layer) const;
    std::vector<std::int32_t> marked_tokens(TapSource& tapped, std::span<const std::int32_t> marks,
                                            AttentionKind kind) const;
    std::vector<float> output_projection(std::int64_t layer, std::int64_t width, AttentionKind kind) const;
    Session& replay_recording(std::int64_t layer);
    void check_head(std::int64_t layer, std::int64_t head, AttentionKind kind) const;
    void check_positions(std::int64_t first, std::int64_t count, std::int64_t there, const char* what) const;
};

}  // namespace vantage
