// Accuracy and calibration of a model that classifies.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "vantage/train.h"

namespace vantage::internal {

class LabelCounter {
public:
    void add(std::span<const float> logits, std::int32_t label);
    LabelQuality quality() const;

private:
    struct Bin {
        double count = 0, right = 0, confidence = 0;  ///< sums
    };
    std::array<Bin, 15> bins_;
};

}  // namespace vantage::internal
