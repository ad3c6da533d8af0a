// Two runs: what the second one reads, and the alignment of their tokens.
#pragma once

#include <string>
#include <unordered_map>

#include "viewer/data/alignment.h"
#include "viewer/data/view_data.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

/// Whether both models have the same tokens, so that one can read the ids that the other generates.
bool same_vocabulary(const Model& a, const Model& b);

/// Version and tokens of a run, as the caller has read them.
struct RunNow {
    const Version& version;
    const LiveTokens& tokens;
};

/// A is the first run, B the second. B reads the tokens that A generates, so that rows mean the same in both. With its
/// own prompt or another vocabulary B generates its own text with the same seed, and the texts are aligned.
class RunComparison {
public:
    RunComparison(LiveModel& a, LiveModel& b);

    /// Restarts B. The caller starts A.
    void start(const ViewState& state);
    /// Passes A's new tokens to B and aligns what both have read.
    void update(const RunNow& a, const RunNow& b);

    /// Number of B's text.
    std::uint64_t runs() const { return run_b_; }
    bool own_text() const { return own_text_; }
    /// Whether B has read all that A has, or its own text has ended.
    bool settled(const Version& a, const Version& b) const;
    /// Alignments of the tokens that have rows; plain while B reads A's text.
    const Alignment& own() const { return own_.now(); }
    const Alignment& source() const { return source_.now(); }
    const Alignment& row_slots(AttentionKind kind) const { return kind == AttentionKind::encoder ? source() : own(); }
    const Alignment& key_slots(AttentionKind kind) const { return kind == AttentionKind::self ? own() : source(); }
    /// Rows of maps of this attention, in slots.
    std::int64_t rows_of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source_rows_ : rows_; }
    std::int64_t keys_of(AttentionKind kind) const { return kind == AttentionKind::self ? rows_ : source_rows_; }
    /// For ViewData::set_slots.
    const SideSlots& slots(bool of_b) const { return of_b ? slots_b_ : slots_a_; }

private:
    void start_b(LivePrompt prompt, std::int64_t tokens);
    void teach(const RunNow& a);
    bool align(const RunNow& a, const RunNow& b);
    std::vector<std::int64_t> numbers_of(const std::vector<std::int32_t>& ids, const std::vector<std::string>& texts,
                                         std::int64_t count);

    LiveModel &a_, &b_;
    bool same_vocabulary_, own_text_ = false, started_ = false;
    Sampling sampling_;
    std::uint64_t run_b_;           // that B is to be in
    std::uint64_t taught_run_ = 0;  // of A
    std::int64_t taught_ = 0;       // tokens of A that B was given
    Aligner own_, source_;
    struct Seen {
        std::uint64_t run_a = 0, run_b = 0;
        std::int64_t rows_a = 0, rows_b = 0, source_a = 0, source_b = 0;
        bool complete = false;
        bool operator==(const Seen&) const = default;
    };
    Seen aligned_;
    std::unordered_map<std::string, std::int64_t> numbers_;
    std::int64_t rows_ = 0, source_rows_ = 0;
    SideSlots slots_a_, slots_b_;
};

}  // namespace vantage::view
