// Device memory that several plans share, by the name of the graph's value: weights by model, states by session.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/base/background.h"
#include "runtime/gpu/buffer.h"

namespace vantage::internal {

struct Bindings {
    std::map<std::string, gpu::Buffer> buffers;
    /// What still fills buffers: plans are compiled beside it, and wait for it before they run. Nothing: all are full.
    std::shared_ptr<const Background> pending_upload = {};
};

}  // namespace vantage::internal
