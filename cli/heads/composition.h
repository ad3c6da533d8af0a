// `heads --composition`: how much the heads of a model read what heads of earlier layers write. It reads the weights
// alone.
#pragma once

#include <string>

#include "vantage/model.h"

namespace vantage::cli {

/// Prints the strongest pairs, or with `json` all of them, and writes composition-q.png, -k and -v to the folder
/// `pictures`, unless it is empty.
void print_composition(const Model& model, const std::string& pictures, bool json);

}  // namespace vantage::cli
