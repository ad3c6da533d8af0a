// Two runs side by side: what the second one reads, and which of its tokens stand where which of the first one's do.
#pragma once

#include <string>
#include <unordered_map>

#include "viewer/data/alignment.h"
#include "viewer/data/view_data.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

/// Whether every token is the same text in both, so that one model can read what another has written.
bool same_vocabulary(const Model& a, const Model& b);

/// Version and tokens of a run, as far as somebody has read them.
struct RunNow {
    const Version& version;
    const LiveTokens& tokens;
};

/// A is the first run, B the second. B reads what A writes, token by token: rows then mean the same in both. With a prompt of its own,
/// or another vocabulary, B writes its own text, drawn with the same seed, and the two are aligned.
class RunComparison {
public:
    RunComparison(LiveModel& a, LiveModel& b);

    /// Begins B anew, as A has been or will be. Commands to A are given by the caller.
    void start(const ViewState& state);
    /// Gives B what A has written since, and aligns what both have read.
    void update(const RunNow& a, const RunNow& b);

    /// Counts up with every text.
    std::uint64_t runs() const { return run_b_; }
    bool own_text() const { return own_text_; }
    /// B has nothing more to do: it has read what A has, or its text has ended.
    bool settled(const Version& a, const Version& b) const;
    /// Of the tokens that have rows. Without a table while B reads A's text: then both have the first `rows`.
    const Alignment& own() const { return own_.now(); }
    const Alignment& source() const { return source_.now(); }
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
