// Tokenizers of a few words, for tests.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/tokenizer.h"

namespace vantage::test {

/// A BPE tokenizer of the given words; merges are "a b". `more` is spliced into the file.
inline std::string small_file(const std::vector<std::string>& words, const std::vector<std::string>& merges,
                              const std::string& more = "", const std::string& model_more = "") {
    Json vocabulary = Json::object();
    for (const std::string& word : words) vocabulary[word] = vocabulary.size();
    return R"({"model": {"type": "BPE", "vocab": )" + vocabulary.dump() + R"(, "merges": )" + Json(merges).dump() +
           (model_more.empty() ? "" : ", " + model_more) + "}" + (more.empty() ? "" : ", " + more) + "}";
}
inline Tokenizer small(const std::vector<std::string>& words, const std::vector<std::string>& merges,
                       const std::string& more = "", const std::string& model_more = "") {
    return Tokenizer::parse(small_file(words, merges, more, model_more), "small.json");
}

}  // namespace vantage::test
