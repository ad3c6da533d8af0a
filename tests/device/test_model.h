// The built-in model on the tests' device, loaded once.
#pragma once

#include <cstdint>
#include <vector>

#include "test_device.h"
#include "vantage/model.h"

/// Token ids below `vocab`; none comes twice before all have been.
inline std::vector<std::int32_t> some_ids(std::int64_t count, std::int64_t vocab = 1900) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * 37 + 11) % vocab));
    return ids;
}

inline const vantage::Model& mini_world() {
    static const vantage::Model model = vantage::Model::load(test_device(), VANTAGE_ROOT "/assets/models/mini-world");
    return model;
}
