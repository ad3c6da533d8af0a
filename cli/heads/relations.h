// `heads --relations FILE`: which heads find the syntactic relations of annotated sentences.
#pragma once

#include <string>

#include "vantage/session.h"

namespace vantage::cli {

/// Runs all sentences of a CoNLL-U file. Prints for each relation the head that finds it best in either direction, or
/// with `json` all heads. Throws bad_file with the line for a file that is damaged and for a sentence that is too long,
/// usage for a model that reads no text.
void print_relations(const Model& model, const std::string& file, SessionOptions options, bool json);

}  // namespace vantage::cli
