// Whether a training run diverges.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace vantage::internal {

/// Follows the losses of a run. It diverges when they stay above three times the level that they had reached, and at
/// least 1 nat above it, for `steps` steps in a row. The level is the lowest median of so many losses.
class LossLevel {
public:
    static constexpr std::int64_t steps = 50;

    /// Takes the loss of the next step. True with the last of such steps, and again only after losses have come down.
    bool diverges(double loss);
    double best() const { return best_; }  ///< the level; infinite before there are enough losses
    double limit() const;
    std::int64_t above() const { return above_; }  ///< the last steps in a row with a loss above it

private:
    std::vector<double> last_;  ///< ring of the last `steps` losses
    std::size_t next_ = 0;
    double best_ = INFINITY;
    std::int64_t above_ = 0;
};

}  // namespace vantage::internal
