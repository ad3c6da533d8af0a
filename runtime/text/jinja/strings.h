// Python's methods of str on UTF-8. All texts here are valid UTF-8; places and lengths count characters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::text::jinja {

std::size_t character_count(std::string_view text);
std::string_view character(std::string_view text, std::size_t place);
std::vector<std::string_view> characters(std::string_view text);

/// Of str.isspace(): Unicode's White_Space, and the separators U+001C to U+001F.
bool is_python_space(char32_t c);
enum class Side { left, right, both };
/// Takes white space off, or all `removed` characters where they are given.
std::string_view strip(std::string_view text, Side side);
std::string_view strip(std::string_view text, Side side, std::string_view removed);
/// str.split: at white space, or at `separator`; `most` cuts at most, negative for all.
std::vector<std::string_view> split(std::string_view text, std::int64_t max_splits);
std::vector<std::string_view> split(std::string_view text, std::string_view separator, std::int64_t max_splits);
/// Occurrences of `old`, from the left, not overlapping; an empty one stands around every character.
std::size_t occurrences(std::string_view text, std::string_view old);
std::string replace(std::string_view text, std::string_view old, std::string_view with, std::size_t max_splits);

/// Unicode's simple mappings: a letter for a letter (ß stays, where Python has SS).
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
/// str.title(): each run of letters begins with a capital.
std::string title(std::string_view text);
/// The filter `title`: each word between white space, -, (, {, [ and < does.
std::string title_words(std::string_view text);

}  // namespace vantage::text::jinja
