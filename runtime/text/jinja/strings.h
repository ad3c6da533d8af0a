// Python's str methods on UTF-8. All strings are valid UTF-8; positions and lengths count characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::text::jinja {

std::size_t character_count(std::string_view text);
std::string_view character(std::string_view text, std::size_t place);
std::vector<std::string_view> characters(std::string_view text);

/// str.isspace(): Unicode's White_Space, and the separators U+001C to U+001F.
bool is_python_space(char32_t c);
enum class Side { left, right, both };
/// Strips white space, or the characters in `removed` if given.
std::string_view strip(std::string_view text, Side side, const std::string* removed = nullptr);
/// str.split: at white space, or at `separator`. A negative `max_splits` means no limit.
std::vector<std::string_view> split(std::string_view text, std::int64_t max_splits);
std::vector<std::string_view> split(std::string_view text, std::string_view separator, std::int64_t max_splits);
/// Non-overlapping occurrences of `old`, from the left. An empty one occurs around every character.
std::size_t occurrences(std::string_view text, std::string_view old);
std::string replace(std::string_view text, std::string_view old, std::string_view with, std::size_t max_splits);

/// Unicode's simple case mappings: one character to one (ß stays, where Python gives SS).
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
/// str.title(): each run of letters starts with a capital.
std::string title(std::string_view text);
/// The filter `title`: capitalises each word after white space, -, (, {, [ and <.
std::string title_words(std::string_view text);

}  // namespace vantage::text::jinja
