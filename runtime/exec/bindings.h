// Device memory that several plans share, by the name of the graph's value: weights by model, states by session.
#pragma once

#include <map>
#include <string>

#include "runtime/gpu/memory.h"

namespace vantage {

struct Bindings {
    std::map<std::string, gpu::Buffer> buffers;
};

}  // namespace vantage
