// Labels and places of tokens in a growing text. Each is made once, so that a picture costs what is new and visible.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/picture/shown_text.h"
#include "viewer/draw/fonts.h"
#include "viewer/panels/layout.h"

namespace vantage::view {

/// The tokens of a run. Later pictures only add tokens.
struct TextNow {
    std::uint64_t run = 0;
    const std::vector<std::string>& texts;
};

/// Labels of rows and columns.
class TextLabels {
public:
    void update(const TextNow& now, const Fonts& fonts);
    const std::vector<std::string>& all() const { return labels_; }

private:
    std::uint64_t run_ = 0;
    WordPieces pieces_;
    std::vector<std::string> labels_;
};

/// Places of tokens in lines.
class RunningText {
public:
    struct Token {
        Box box;  ///< from the text's upper left corner
        std::string text;
    };
    /// Lines are at most `wide` pixels; a line break in the text ends one. Another width or size places all tokens
    /// again.
    void update(const TextNow& now, const Fonts& fonts, float scale, float wide);
    const std::vector<Token>& tokens() const { return tokens_; }
    /// First and end of the tokens between two heights.
    std::pair<std::int64_t, std::int64_t> between(float top, float bottom) const;

private:
    void place(const std::string& text, const Fonts& fonts);
    struct Form {
        std::uint64_t run = 0;
        float size = 0, scale = 0, wide = 0;
        bool operator==(const Form&) const = default;
    } form_;
    float x_ = 0, y_ = 0;  ///< where the next token goes
    std::vector<Token> tokens_;
};

}  // namespace vantage::view
