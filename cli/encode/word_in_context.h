// `embed --word`: the vectors of one word in several texts, layer by layer.
#pragma once

#include <string>
#include <vector>

#include "vantage/session.h"

namespace vantage::cli {

struct WordOptions {
    std::string word;
    std::vector<std::string> texts;  ///< at least two, each with the word
    std::string save, chart;         ///< files for the vectors and for a chart; may be empty
    bool json = false;
    SessionOptions session = {};
};

/// Runs the texts, prints the cosine similarities and writes the files. Throws usage for a text without the word.
void compare_word(const Model& model, const WordOptions& options);

}  // namespace vantage::cli
