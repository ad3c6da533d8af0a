#include "runtime/inspect/token_kinds.h"

#include <algorithm>

#include "shaders/params/head_statistics.h"

namespace vantage::internal {

namespace {

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
/// Letters, digits and all bytes that are not ASCII, because a token may hold only a part of a character.
bool is_letter(char c) {
    return !is_ascii(c) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool has_letters(const std::string& text) { return std::ranges::any_of(text, is_letter); }

}  // namespace

std::vector<bool> words_among(std::span<const std::string> token_texts) {
    std::vector<bool> words;
    bool letters_before = false;
    for (const std::string& text : token_texts) {
        const bool letters = has_letters(text);
        // scripts beyond ASCII may have no spaces between words
        words.push_back(letters && (!letters_before || text.front() == ' ' || !is_ascii(text.front())));
        letters_before = letters;
    }
    return words;
}

std::vector<bool> separators_among(std::span<const std::string> token_texts) {
    std::vector<bool> separators;
    for (const std::string& text : token_texts) separators.push_back(!has_letters(text));
    return separators;
}

std::vector<std::int32_t> TokenSequence::marks() const {
    std::vector<std::int32_t> marks;
    for (int i = 0; i < size(); ++i)
        marks.push_back((is_separator(i) ? MARK_DELIMITER : 0) | (is_word(i) ? MARK_WORD : 0));
    return marks;
}

std::vector<std::int32_t> HeadTexts::marks() const {
    std::vector<std::int32_t> all = keys.marks();
    if (!queries) return all;
    const std::vector<std::int32_t> others = queries->marks();
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

}  // namespace vantage::internal
