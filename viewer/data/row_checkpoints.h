// Checkpoints of sums over the first rows of a text, so that going back in time recomputes few rows.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "vantage/session.h"

namespace vantage::view {

/// Number of rows shown: of the model's tokens, and of those of an encoder–decoder's encoder.
struct ShownRows {
    std::int64_t own = 0, source = 0;
    std::int64_t of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source : own; }
};

template <class Sums>
class RowCheckpoints {
public:
    /// Forgets all; `none`: of no row.
    void begin(Sums none) {
        kept_.clear();
        kept_.emplace(0, std::move(none));
        step_ = first_step, furthest_ = 0;
    }
    /// Called after each row. The number of checkpoints is limited: in a long text they are farther apart.
    void note(std::int64_t rows, const Sums& sums) {
        if (rows % step_ != 0) return;
        kept_.emplace(rows, sums);
        if (kept_.size() <= max_kept) return;
        step_ *= 2;
        std::erase_if(kept_, [&](const auto& one) { return one.first % step_ != 0 && one.first != furthest_; });
    }
    /// Replaces sums over `rows` rows with the checkpoint nearest to the first `wanted` rows, if one is nearer. Returns
    /// whether they changed.
    bool approach(std::int64_t& rows, Sums& sums, std::int64_t wanted) {
        if (rows > wanted && rows > furthest_) keep_furthest(rows, sums);
        const auto nearest = std::prev(kept_.upper_bound(wanted));
        if (rows <= wanted && nearest->first <= rows) return false;
        rows = nearest->first, sums = nearest->second;
        return true;
    }

private:
    static constexpr std::int64_t first_step = 64;
    static constexpr std::size_t max_kept = 64;
    void keep_furthest(std::int64_t rows, const Sums& sums) {
        if (furthest_ % step_ != 0) kept_.erase(furthest_);
        kept_.emplace(rows, sums);
        furthest_ = rows;
    }
    std::map<std::int64_t, Sums> kept_;
    std::int64_t step_ = first_step, furthest_ = 0;
};

}  // namespace vantage::view
