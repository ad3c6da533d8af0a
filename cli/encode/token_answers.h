// What `vantage classify` prints for models that judge every token.
#pragma once

#include <cstddef>
#include <string>

#include "vantage/session.h"
#include "vantage/tokenizer.h"

namespace vantage::cli {

/// The entities of `text`, and with `json` the label of each token. `encoding` is that of the session's tokens.
void print_entities(const Session& session, const Tokenizer::Encoding& encoding, const std::string& text, bool json);

struct AnswerOptions {
    std::size_t top = 5, max_tokens = 15;
    bool json = false;
};
/// The parts of `text`, the second one of the pair `encoding`, that answer the first one.
void print_answers(const Session& session, const Tokenizer::Encoding& encoding, const std::string& text,
                   const AnswerOptions& options);

}  // namespace vantage::cli
