// Configurations of the models in tests/data/oracle and of the built-in one.
#pragma once

#include <string>

#include "runtime/base/files.h"
#include "runtime/models/config.h"

namespace vantage::test {

/// "mini-world", or a folder of tests/data/oracle/models.
inline std::string folder_of(const std::string& model) {
    return std::string(VANTAGE_ROOT) +
           (model == "mini-world" ? "/assets/models/mini-world" : "/tests/data/oracle/models/" + model);
}
inline ModelConfig config_of(const std::string& model) {
    const std::string path = folder_of(model) + "/config.json";
    return parse_model_config(read_file(path), path);
}

}  // namespace vantage::test
