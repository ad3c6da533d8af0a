// What encoders that judge every token say about a text: entities, and parts of the text that answer a question.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// A part of a text: its tokens [first, last).
struct TextAnswer {
    std::string label;  ///< of an entity; empty for answers
    std::size_t first = 0, last = 0;
    double probability = 0;
    bool operator==(const TextAnswer&) const = default;
};

/// Entities of labels by token (…ForTokenClassification). `logits` [tokens, labels]; the tokens outside [first, last)
/// are special ones. Neighbours with the same label are one entity, whose probability is their mean; a label "B-x"
/// begins another one, "I-x" continues an entity x, and "O" is none. ("simple" aggregation of transformers.)
std::vector<TextAnswer> entities(std::span<const std::string> labels, std::span<const float> logits, std::size_t first,
                                 std::size_t last);

/// The `count` most probable answers of …ForQuestionAnswering, best first. `logits` [tokens, 2] are those of the
/// answer's first and last token, which are among [first, last), at most `max_tokens` apart. The probability is
/// softmax(first)_i softmax(last)_j over these tokens and token 0; that of i = j = 0, which has no tokens here, is that
/// there is no answer (Devlin et al. 2018).
std::vector<TextAnswer> best_answers(std::span<const float> logits, std::size_t first, std::size_t last,
                                     std::size_t max_tokens, std::size_t count);

}  // namespace vantage::internal
